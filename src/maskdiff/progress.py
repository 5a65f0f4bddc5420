"""Progress of long runs, reported through one callback; a bar on the terminal is one way to show it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """Where a long run stands: `done` of `total` in this stage, and the losses while training (None: not measured)."""

    stage: str
    done: int
    total: int
    loss: float | None = None
    held_out_loss: float | None = None


Callback = Callable[[Progress], None]


@contextmanager
def listening(progress: bool | Callback | None) -> Iterator[Callback | None]:
    """The callback to report to: the one given, a bar for True, none for False.

    None stands for a bar on standard error if that is a terminal; it appears after two seconds.
    """
    if callable(progress):
        yield progress
    elif progress or (progress is None and sys.stderr.isatty()):
        bars = _Bars()
        try:
            yield bars
        finally:
            bars.close()
    else:
        yield None


class _Bars:
    """One bar per stage."""

    def __init__(self) -> None:
        self.stage = ""
        self.bar: Any = None

    def __call__(self, progress: Progress) -> None:
        from tqdm.auto import tqdm

        if progress.stage != self.stage:
            self.close()
            self.stage = progress.stage
            self.bar = tqdm(total=progress.total, desc=progress.stage, delay=2, leave=False)
        if progress.held_out_loss is not None:
            self.bar.set_postfix(held_out_loss=f"{progress.held_out_loss:.3f}", refresh=False)
        self.bar.update(progress.done - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
