"""Fixtures of all tests."""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_BLOCK = 32768  # bytes; LevelDB's log format
_HEADER = 7


def _read_wandb(path: Path) -> list[Any]:
    """The records of a ``.wandb`` file, each with its checksum compared, as wandb parses them.

    The file is what ``wandb sync`` uploads. wandb reads it in its own Go program; this is a
    second reader of the same format.
    """
    from wandb.proto import wandb_internal_pb2

    data = path.read_bytes()
    assert b":W&B\xe1\xbe\x00".startswith(data[:_HEADER])
    at, whole, records = _HEADER, b"", []
    while at + _HEADER <= len(data):
        if (left := _BLOCK - at % _BLOCK) < _HEADER:  # the end of a block is padded
            at += left
            continue
        checksum, length, kind = struct.unpack("<IHB", data[at : at + _HEADER])
        body = data[at + _HEADER : at + _HEADER + length]
        if len(body) < length:  # still being written
            break
        assert zlib.crc32(bytes([kind]) + body) == checksum
        full, first, _, last = 1, 2, 3, 4
        whole = body if kind in (full, first) else whole + body
        if kind in (full, last):
            record = wandb_internal_pb2.Record()
            record.ParseFromString(whole)
            records.append(record)
        at += _HEADER + length
    return records


@pytest.fixture
def wandb_records() -> Callable[[Path], list[Any]]:
    """Reads the one offline run below a folder, once wandb's own process has written its end."""

    def read(folder: Path) -> list[Any]:
        [file] = folder.glob("wandb/offline-run-*/run-*.wandb")
        deadline = time.monotonic() + 60
        while True:
            records = _read_wandb(file)
            if any(r.WhichOneof("record_type") == "exit" for r in records):
                return records
            assert time.monotonic() < deadline, f"{file}: the run has no end"
            time.sleep(0.1)

    return read
