"""The command, run as users run it or, where a hundred runs are needed, in this process."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from maskdiff.cli import main

SRC = Path(__file__).resolve().parents[2] / "src"


@dataclass(frozen=True)
class Said:
    """The exit status of a command, and what it wrote."""

    status: int
    out: str
    err: str

    @property
    def is_refusal(self) -> bool:
        """Whether it says in one plain line what the user did wrong."""
        return self.status == 2 and self.err.startswith("error: ") and self.err.count("\n") == 1


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(SRC), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}


def run(*arguments: object, stdin: bytes = b"", **more: Any) -> Said:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "maskdiff", *map(str, arguments)]
    done = subprocess.run(command, input=stdin, env=environment(), capture_output=True, check=False, **more)
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


def call(*arguments: object, stdin: bytes = b"") -> Said:
    """The command in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        status = main([str(argument) for argument in arguments])
    return Said(status, out.buffer.getvalue().decode(), err.buffer.getvalue().decode())


def same_model(one: Path, other: Path) -> bool:
    """Whether two model files are the same, byte for byte."""
    return one.read_bytes() == other.read_bytes()
