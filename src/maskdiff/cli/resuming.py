"""What a person is told where a training is interrupted, or goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from maskdiff.cli.output import Output, printable

if TYPE_CHECKING:
    from maskdiff.jobs import Checkpoint


@contextmanager
def saying_how_to_resume(checkpoint: Checkpoint, output: Output) -> Iterator[None]:
    """Say how to go on if what runs in here is interrupted."""
    path = printable(str(checkpoint.path))
    if checkpoint.resume and not checkpoint.path.is_file():
        output.note(f"there is no checkpoint {path}; the training begins at the beginning")
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint.kept or checkpoint.resumed_at is not None:
            output.note(f"the training so far is kept in {path}; the same command with --resume goes on from there")
        raise
