"""Notes for a person whose training is interrupted, or resumed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from maskdiff.cli.output import Output, printable

if TYPE_CHECKING:
    from maskdiff.jobs import Checkpoint, Checkpoints


@contextmanager
def saying_how_to_resume(checkpoint: Checkpoint | Checkpoints | None, output: Output) -> Iterator[None]:
    """Say how to go on if what runs in here is interrupted; None where nothing is stored."""
    path = printable(str(checkpoint))
    if checkpoint is not None and checkpoint.resume and not checkpoint.files:
        output.note(f"there is no checkpoint {path}; the training begins at the beginning")
    try:
        yield
    except KeyboardInterrupt:
        if checkpoint is not None and checkpoint.resumable:
            output.note(f"the training so far is kept in {path}; the same command with --resume goes on from there")
        raise
