"""What the commands of `maskdiff bench` share: their options, and how runs are measured and reported."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from maskdiff.cli.options import Device as Device
from maskdiff.cli.output import Output, counted

Names = list[str]
Data = Annotated[
    str | None, typer.Option(metavar="DIR", envvar="MASKDIFF_DATA", help="The folder with the data sets' files.")
]
Sets = Annotated[Names, typer.Option(metavar="NAMES", help="Data sets by name, with commas between, or all.")]
Methods = Annotated[
    Names, typer.Option(metavar="NAMES", help="Methods by name, with commas between, or all, ours, baselines, extra.")
]
Seeds = Annotated[int, typer.Option(min=1, help="How many seeds, from 0.")]
Jobs = Annotated[int, typer.Option(min=1, help="Runs at a time, each in a process of its own.")]
RecordFile = Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The file of records.")]

KEPT = "the runs that ended are kept; the same command goes on from there"


def measure(output: Output, task: Any, out: str, *, sets: Names, methods: Names, **settings: Any) -> int:
    """Measure, say how it went; 1 where a run failed."""
    from maskdiff.bench.runs.runner import run_bench

    output.if_interrupted = KEPT
    say = None if not output.quiet else lambda line: None
    records = run_bench(task, out, sets=names(sets) or [], methods=names(methods) or [], say=say, **settings)
    failed = [record for record in records if record["status"] != "ok"]
    output.facts(command=f"bench {task.name}", out=out, runs=len(records), failed=len(failed))
    output.note(f"{counted(len(records), 'run')} in {out}, {len(failed)} of them failed")
    return int(bool(failed))


def names(given: Names | None) -> Names | None:
    """Names given with commas between, or one at a time; a comma before a space belongs to a name.

    >>> names(["default,default, plain bins", "ecod"])
    ['default', 'default, plain bins', 'ecod']
    """
    return None if given is None else [name for part in given for name in re.split(r",(?! )", part) if name]
