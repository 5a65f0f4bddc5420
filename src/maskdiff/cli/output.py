"""What the command line prints: results on standard output, notes and bars on standard error, colours on terminals."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from maskdiff.cli.hints import with_hint

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from maskdiff.checks import Check
    from maskdiff.explanations.shading import Piece
    from maskdiff.io import SkippedLines
    from maskdiff.progress import Progress
    from maskdiff.written_files import WrittenFiles

# Where nobody reads along, lines are not cut to the width of a screen.
_WIDE = 200
# A search has dozens of stages; the latest are shown.
_STAGES = 4
# So many files are named after an interruption.
_NAMED = 3


@dataclass
class Output:
    """Set by --quiet, --json and --debug; `to_stderr`: standard output is taken by rows.

    `outputs` are the files a command is to write, so that an interruption can name those that are not there yet.
    """

    quiet: bool = False
    json: bool = False
    debug: bool = False
    to_stderr: bool = False
    if_interrupted: str | None = None
    outputs: list[str] = field(default_factory=list)
    warnings: list[warnings.WarningMessage] = field(default_factory=list)
    lines: dict[str, Any] | None = None

    def will_write(self, *files: str | None) -> None:
        """Name the files that a command writes, None for one that is not wanted. Standard output is none of them."""
        from maskdiff.errors import SettingError

        self.outputs = [path for path in files if path is not None]
        if "-" in self.outputs:
            raise SettingError("this cannot go to standard output; name a file with -o.")

    def will_write_rows(self, out: str, *files: str | None) -> None:
        """As `will_write`, and rows to `out`, which may be standard output."""
        from maskdiff.errors import SettingError

        if self.json and out == "-":
            raise SettingError("the rows and --json both want standard output. Name a file for the rows: -o FILE.")
        self.will_write(*files)
        self.to_stderr, self.outputs = out == "-", [out, *self.outputs]

    def say(self, *what: RenderableType) -> None:
        """For people, unless --quiet or --json is set."""
        if not self.quiet and not self.json:
            file = sys.stderr if self.to_stderr else sys.stdout
            for part in what:
                with (screen := console(file)).capture() as printed:
                    screen.print(part, markup=False)
                print("\n".join(line.rstrip() for line in printed.get().splitlines()), file=file)

    def note(self, what: str) -> None:
        """Something to know, beside the result."""
        if not self.quiet:
            print(f"note: {printable(what)}", file=sys.stderr)

    def facts(self, **facts: Any) -> None:
        """The result for machines: one JSON object, with what was noted so far."""
        if self.json:
            lines = {} if self.lines is None else {"lines": self.lines}
            more = {**lines, "notes": _texts_of(self.warnings)}
            print(json.dumps(_plain(facts | more), ensure_ascii=False))

    def shaded(self, pieces: Sequence[Piece]) -> Text:
        """A text with its odd pieces shaded, or in brackets where there are no colours."""
        from rich.text import Text

        from maskdiff.explanations.shading import to_plain, to_terminal

        screen = console(sys.stderr if self.to_stderr else sys.stdout)
        plain = screen.color_system is None or screen.no_color
        return Text(to_plain(pieces)) if plain else Text.assemble(*to_terminal(pieces))

    def empty(self, number: int) -> None:
        if number:
            rows, they = counted(number, "row"), "it has" if number == 1 else "they have"
            self.note(f"{rows} without a single token: {they} no score and a p-value of 1, and can be no anomaly")

    def left_out(self, rows: Sequence[int]) -> None:
        if len(rows):
            self.note(f"{counted(len(rows), 'row')} without a single token left out; the first is row {rows[0]:,}")

    def skipped(self, skipped: SkippedLines) -> None:
        """The lines of a file that did not become rows: lines and rows are reconciled."""
        if skipped.total is not None:
            self.lines = {name: value for name, value in vars(skipped).items() if name != "first"}
            others = {
                "without a value": skipped.blank,
                "with the names of the columns once more": skipped.headers,
                "that ended inside a quoted cell": skipped.in_cells,
            }
            if any(others.values()):
                parts = [f"{number:,} {what}" for what, number in others.items() if number]
                lines = f"{counted(skipped.total, 'line')} gave {counted(skipped.rows, 'row')}"
                self.note(f"{lines}; beside the header: {', '.join(parts)}")
        if skipped.lines:
            self.note(f"{counted(skipped.lines, 'line')} could not be read and left out; the first is {skipped.first}")

    def checks(self, checks: Sequence[Check]) -> None:
        """What to know before the alarms are believed, with the flag that is the way out."""
        from maskdiff.cli.hints import check_with_hint

        for check in checks:
            self.note(check_with_hint(check))

    def interrupted(self, written: WrittenFiles) -> str:
        """What an interruption left: which files were written, and which were not."""
        if self.if_interrupted is not None:
            return self.if_interrupted
        complete = [path for path in dict.fromkeys(written.complete) if Path(path).exists()]
        parts = [f"{_and(complete)} {_was(complete)} written"] if complete else []
        if written.begun:
            streams = ["standard output" if path == "-" else path for path in dict.fromkeys(written.begun)]
            parts.append(f"what went to {_and(streams)} may be incomplete")
        missing = [path for path in self.outputs if path not in (*complete, "-")]
        if parts and missing:
            parts.append(f"{_and(missing)} {_was(missing)} not written")
        return printable("; ".join(parts)) or "no file was written or changed"

    @property
    def shows_bars(self) -> bool:
        return sys.stderr.isatty() and not self.quiet and not self.json

    @contextmanager
    def progress(self) -> Iterator[Any]:
        """A callback for `Progress` that draws bars on a terminal, False where there is none to draw on."""
        if not self.shows_bars:
            yield False
            return
        with _bars() as bars:
            tasks: dict[str, Any] = {}

            def draw(progress: Progress) -> None:
                if progress.stage not in tasks:
                    tasks[progress.stage] = bars.add_task(progress.stage, total=None, loss="")
                    for task in [*tasks.values()][:-_STAGES]:
                        bars.update(task, visible=False)
                loss = "" if progress.held_out_loss is None else f"held-out loss {progress.held_out_loss:.4f}"
                total = progress.total or None
                bars.update(tasks[progress.stage], completed=progress.done, total=total, loss=loss)

            yield draw

    @contextmanager
    def noting_warnings(self) -> Iterator[None]:
        """What the library warns of is noted once each; columns left out and empty rows are noted by the commands."""
        from maskdiff.errors import LeftOutWarning, NoEvidenceWarning

        with warnings.catch_warnings(record=True) as caught:
            self.warnings = caught
            warnings.simplefilter("default")
            for category in (LeftOutWarning, NoEvidenceWarning):
                warnings.simplefilter("ignore", category)
            yield
        for text in _texts_of(caught):
            self.note(text)


def _texts_of(caught: Iterable[warnings.WarningMessage]) -> list[str]:
    """What was warned of, once each, with the flag that overrules it."""
    return list(dict.fromkeys(with_hint(one.message) for one in caught if isinstance(one.message, Exception)))


def _and(names: Sequence[str]) -> str:
    """The names, or the first of them and how many others there are: a search may leave a dozen checkpoints."""
    shown = [*names[:_NAMED], f"{len(names) - _NAMED} others"] if len(names) > _NAMED + 1 else names
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def _was(names: Sequence[str]) -> str:
    return "was" if len(names) == 1 else "were"


def _bars() -> Any:
    from rich import progress

    return progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[loss]}"),
        progress.TimeRemainingColumn(),
        console=console(sys.stderr),
        transient=True,
    )


def console(file: TextIO) -> Console:
    from rich.console import Console

    return Console(file=file, highlight=False, width=None if file.isatty() else _WIDE, soft_wrap=not file.isatty())


def table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[str] = (), whole: Collection[str] = ()
) -> Table:
    """Rows under their heads, some set to the right, some never cut; cells are shown as they are."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for head in heads:
        made.add_column(head, justify="right" if head in right else "left", overflow="fold", no_wrap=head in whole)
    for row in rows:
        made.add_row(*(Text(printable(cell)) for cell in row))
    return made


def grid(rows: Iterable[Sequence[str]]) -> Table:
    """Cells under each other; the last of a row is folded where the screen ends."""
    from rich.table import Table
    from rich.text import Text

    made = Table.grid(padding=(0, 2, 0, 0))
    for *left, last in rows:
        if not made.columns:
            for _ in left:
                made.add_column(no_wrap=True)
            made.add_column(overflow="fold")
        made.add_row(*(Text(printable(cell)) for cell in (*left, last)))
    return made


def place(out: str) -> str:
    """Where something was written, as messages name it."""
    return "standard output" if out == "-" else printable(out)


def printable(text: str) -> str:
    """A text that does nothing to a terminal but stand there.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


def counted(number: int, what: str) -> str:
    """
    >>> counted(1, "row"), counted(1200, "row"), counted(0, "anomaly")
    ('1 row', '1,200 rows', '0 anomalies')
    """
    several = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{number:,} {what if number == 1 else several}"


def percent(share: float) -> str:
    """
    >>> percent(0.01), percent(0.0123), percent(1 / 3)
    ('1%', '1.23%', '33.3%')
    """
    return f"{100 * share:.3g}%"


def or_one_cell(above: float | None) -> str:
    """The other way to an alarm beside a row's score, where one cell can raise it.

    >>> or_one_cell(9.12345), or_one_cell(None)
    (', or where one cell is odder than 9.123', '')
    """
    return "" if above is None else f", or where one cell is odder than {above:.4g}"


def _plain(value: Any) -> Any:
    """Values JSON knows; what is no number is null."""
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
