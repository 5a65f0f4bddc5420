"""The commands, and what becomes of errors: one plain line, exit status 2 for the user's mistakes, 1 for ours."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Annotated, Any

import typer

from maskdiff import threads
from maskdiff.cli.bench import bench
from maskdiff.cli.demo import demo
from maskdiff.cli.dismiss import dismiss
from maskdiff.cli.evaluate import evaluate
from maskdiff.cli.explain import explain
from maskdiff.cli.export import export
from maskdiff.cli.find import find
from maskdiff.cli.fit import fit
from maskdiff.cli.hints import with_hint
from maskdiff.cli.inspect import inspect
from maskdiff.cli.output import Output, printable
from maskdiff.cli.registry import Commands
from maskdiff.cli.report import report
from maskdiff.cli.score import score
from maskdiff.cli.serve import serve
from maskdiff.cli.suggest import suggest
from maskdiff.cli.update import update
from maskdiff.errors import MaskdiffError
from maskdiff.written_files import WrittenFiles, recording_written_files

# The last two as shells count processes that Ctrl-C or a closed pipe ended.
OURS, YOURS, INTERRUPTED, UNREAD = 1, 2, 130, 141

app = Commands(
    help="Find odd rows in tables, and odd texts, and what makes them so.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (find, fit, score, explain, suggest, report, dismiss, update, export, inspect, evaluate, serve, demo):
    app.command()(command)
app.add_typer(bench)


def _version(wanted: bool) -> None:
    if wanted:
        from maskdiff import __version__

        print(f"maskdiff {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="And stop.")] = False,
) -> None:
    """Find odd rows in tables, and odd texts, and what makes them so."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; its exit status. Without arguments it is the program, and ends it."""
    if arguments is not None:
        return _run(arguments)
    threads.respect_container()
    status = _run(sys.argv[1:])
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    # Nothing is left to do, and Python's own way out can abort the process: a thread of the CSV reader that asks for
    # the interpreter while it is taken down is ended in the middle of C++.
    os._exit(status)


@cache  # reading the signatures of all commands takes longer than most of them
def _commands() -> Any:
    return typer.main.get_command(app)


def _run(given: Sequence[str]) -> int:
    """Run one command; its exit status."""
    output = Output(debug="--debug" in given)
    with threads.restored(), recording_written_files() as written:
        return _run_recorded(given, output, written)


def _run_recorded(given: Sequence[str], output: Output, written: WrittenFiles) -> int:
    try:
        with _terminating_politely(), output.noting_warnings():
            status = _commands().main(list(given), prog_name="maskdiff", standalone_mode=False, obj=output)
        sys.stdout.flush()
        return _interrupted(output, written) if status == INTERRUPTED else status if isinstance(status, int) else 0
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted(output, written)
    except Exception as error:
        if output.debug:
            raise
        return _status_of(error)


def _status_of(error: Exception) -> int:
    """Say in one line what went wrong; the exit status."""
    if hasattr(error, "format_message"):  # of the parser of arguments
        return _say(f"{error.format_message()} Try --help.", YOURS)
    if isinstance(error, MaskdiffError):
        return _say(with_hint(error), YOURS)
    if isinstance(error, OSError) and error.strerror:
        return _say(f"{error.filename or 'a file'}: {error.strerror}.", YOURS)
    what = str(error).splitlines() or ["no message"]
    return _say(f"{type(error).__name__}: {what[0]}. This is a fault of maskdiff; --debug shows where.", OURS)


def _interrupted(output: Output, written: WrittenFiles) -> int:
    print(f"interrupted: {output.interrupted(written)}", file=sys.stderr)
    return INTERRUPTED


def _say(what: str, status: int) -> int:
    print(f"error: {printable(' '.join(what.split()))}", file=sys.stderr)
    return status


@contextmanager
def _terminating_politely() -> Iterator[None]:
    """A request to end is treated like Ctrl-C, so that temporary files go."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
