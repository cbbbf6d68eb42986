"""wandb's sweep files, run on this machine without a server."""
