"""Progress of long runs, reported through one callback, and shown as bars on a terminal or as lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

# Seconds from one line to the next within a stage.
EVERY = 10.0


@dataclass(frozen=True)
class Progress:
    """Where a long run stands: `done` of `total` in this stage, and the losses while training (None: not measured)."""

    stage: str
    done: int
    total: int
    loss: float | None = None
    held_out_loss: float | None = None


Callback = Callable[[Progress], None]


def renamed(callback: Callback | None, name: str) -> Callback | None:
    """A callback whose stages stand where `name` has braces, such as "{}, part 2 of 5"."""
    if callback is None:
        return None

    def report(progress: Progress) -> None:
        callback(replace(progress, stage=name.format(progress.stage)))

    return report


@contextmanager
def listening(progress: bool | Callback | None) -> Iterator[Callback | None]:
    """The callback to report to: the one given, none for False, one that writes to standard error for True.

    On a terminal that is a bar, which appears after two seconds; elsewhere (a log file, a notebook) plain lines, one at
    the end of every stage and one each ten seconds. None stands for True on a terminal and for False elsewhere.
    """
    if callable(progress):
        yield progress
    elif progress or (progress is None and sys.stderr.isatty()):
        shown = _Bars() if sys.stderr.isatty() else Lines()
        try:
            yield shown
        finally:
            shown.close()
    else:
        yield None


class Lines:
    """Plain lines on standard error: where a stage stands each ten seconds, and where it ended."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.due = clock() + EVERY
        self.last: Progress | None = None
        self.unwritten: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        last = self.last
        # Fewer done than before: the same stage, for other rows.
        if last is None or progress.stage != last.stage or progress.done < last.done:
            self.close()
            self.due = self.clock() + EVERY
        self.last = self.unwritten = progress
        if self.clock() >= self.due:
            self.close()
            self.due = self.clock() + EVERY

    def close(self) -> None:
        """Write what has not been written yet."""
        if self.unwritten is not None:
            print(_line(self.unwritten), file=sys.stderr, flush=True)
        self.unwritten = None


def _line(progress: Progress) -> str:
    total = f" of {progress.total:,} ({progress.done / progress.total:.0%})" if progress.total else ""
    loss = "" if progress.held_out_loss is None else f", held-out loss {progress.held_out_loss:.3f}"
    return f"{progress.stage}: {progress.done:,}{total}{loss}"


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
