"""A program that a sweep can run in milliseconds: the minimum of a parabola, epoch by epoch.

    tiny.py x=1.5 [y=2] [epochs=3] [pause=0] [fail=true]

Every start is noted in ``starts.txt`` two folders above its own (that of the sweep's trials).
"""

import json
import os
import sys
import time
from pathlib import Path

settings = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:])
out = Path(os.environ["RAG_RESEARCH_OUT"])
with (out.parents[1] / "starts.txt").open("a") as file:
    file.write(f"{out.name} {os.getpid()}\n")
if settings.get("fail") == "True":
    print("a line")
    raise ValueError("the parabola broke")
loss = (float(settings["x"]) - 2) ** 2 + float(settings.get("y", 0))
epochs = int(settings.get("epochs", 1))
for epoch in range(epochs):
    with (out / "history.jsonl").open("a") as file:
        file.write(json.dumps({"epoch": epoch, "val/loss": loss + 1 / (epoch + 1)}) + "\n")
    time.sleep(float(settings.get("pause", 0)))
(out / "summary.json").write_text(json.dumps({"val/loss": loss}))
