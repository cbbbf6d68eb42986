"""What a training run leaves besides its network: figures, and what wandb shows."""
