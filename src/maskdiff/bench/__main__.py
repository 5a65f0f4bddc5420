"""`python -m maskdiff.bench`: measure, or summarise what was measured."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import chain

from maskdiff.errors import MaskdiffError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    act, parser = (summarise, _summary_parser()) if given[:1] == ["summary"] else (measure, _measure_parser())
    try:
        return act(parser.parse_args(given[1:] if act is summarise else given))
    except MaskdiffError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def measure(options: argparse.Namespace) -> int:
    """Measure; the status is 1 if a run failed."""
    from maskdiff.bench.runner import run_bench
    from maskdiff.bench.tasks import Tables

    records = run_bench(
        Tables(options.data),
        options.out,
        sets=options.sets,
        methods=options.methods,
        seeds=range(options.seeds),
        device=options.device,
        jobs=options.jobs,
    )
    return int(any(record["status"] != "ok" for record in records))


def summarise(options: argparse.Namespace) -> int:
    """Print the summary of result files; write it into a folder when asked."""
    from maskdiff.bench.records import read_records
    from maskdiff.bench.summary import summary

    found = summary(chain.from_iterable(map(read_records, options.files)))
    print(found.markdown, end="")
    if options.out:
        found.write(options.out)
    return 0


def _measure_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m maskdiff.bench",
        description="Measure methods on data sets, seed by seed; a run that is in the file already is not repeated.",
        epilog='"python -m maskdiff.bench summary FILE..." makes tables of what was measured.',
    )
    parser.add_argument("--data", default=os.environ.get("MASKDIFF_DATA"), help="folder with the data sets' files")
    parser.add_argument("--sets", nargs="+", default=["all"], help="data sets by name, or all (default)")
    parser.add_argument(
        "--methods", nargs="+", default=["ours"], help="methods by name, or all, ours (default), baselines, extra"
    )
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="seeds 0 to N-1 (default 5)")
    parser.add_argument("--out", default="results/tables.jsonl", help="file of records (default %(default)s)")
    parser.add_argument("--device", default="auto", help="auto (default), cpu, cuda, ...")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, each in a process (default 1)")
    return parser


def _summary_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m maskdiff.bench summary", description="Tables of result files.")
    parser.add_argument("files", nargs="+", help="files of records")
    parser.add_argument("--out", help="folder for summary.md and the CSV files")
    return parser


if __name__ == "__main__":
    sys.exit(main())
