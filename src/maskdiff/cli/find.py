"""`maskdiff find`: one file whose odd rows nobody knows; the odd ones out, ranked and with reasons."""

from __future__ import annotations

import time
import warnings
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff.cli import groups, options
from maskdiff.cli.odd_cells import cell_facts, cell_sentence
from maskdiff.cli.output import Output, counted, grid, percent, place
from maskdiff.cli.resuming import saying_how_to_resume

if TYPE_CHECKING:
    from rich.console import RenderableType

    from maskdiff.detectors.finding.tail import OddEstimate
    from maskdiff.jobs import FindSummary

# The number of rows shown, the oddest first, and of their reasons.
_SHOWN, _REASONS = 5, 2


def find(
    ctx: typer.Context,
    rows: options.Rows,
    out: Annotated[str, typer.Option("--out", "-o", metavar="FILE", help="The odd rows; - or nothing: a pipe.")] = "-",
    report: Annotated[str | None, typer.Option(metavar="HTML", help="Write a page about all rows too.")] = None,
    model: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Write a model too, learned from the rows that are not odd.")
    ] = None,
    false_discovery_rate: Annotated[
        float, typer.Option(metavar="SHARE", help="Share of the rows found that may be normal.")
    ] = 0.1,
    contamination: Annotated[
        str, typer.Option(metavar="auto|SHARE", help="How many rows are odd; auto: their scores decide.")
    ] = "auto",
    group: Annotated[
        str | None, options.named("Rows with one value here are judged by models that saw none of them.")
    ] = None,
    order: Annotated[str | None, options.named("Time: rows are judged by those of other times.")] = None,
    cells: Annotated[
        str | None,
        typer.Option(
            "--cells", metavar="FILE", help="List the cells of a table that look wrong, and what was expected."
        ),
    ] = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Write N rows; unless given those found, at least 100.")
    ] = None,
    explain: Annotated[int, typer.Option(metavar="N", min=0, help="Name the N cells or tokens to blame.")] = 3,
    prefix: options.Prefix = "",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a search that was interrupted.")] = False,
    checkpoint_seconds: options.CheckpointSeconds = 10.0,
    threads: options.Threads = None,
    *,
    detector: groups.Detector,
    columns: groups.Columns,
    cluster: groups.Cluster,
    reading: groups.Reading,
    force: options.Force = False,
) -> None:
    """Find the odd rows of one file, where nobody knows which are normal: ranked, with the cells or tokens to blame."""
    from maskdiff.detectors.finding.search import FindOptions
    from maskdiff.errors import LeftOutWarning
    from maskdiff.jobs import Checkpoints, FindOutput, find_file

    output: Output = ctx.obj
    output.will_write_rows(out, cells, report, model)
    began = time.monotonic()
    checkpoints = None if out == "-" else Checkpoints(f"{out}.checkpoint", resume=resume, seconds=checkpoint_seconds)
    warnings.simplefilter("default", LeftOutWarning)  # there is no table of columns here that says it
    with output.progress() as progress, saying_how_to_resume(checkpoints, output):
        if cluster is None:
            search: Any = find_file
        else:
            from maskdiff.distributed import find_files

            search = partial(find_files, cluster=cluster)
        summary = search(
            rows,
            out,
            detector=detector,
            columns=columns,
            options=FindOptions(options.share_of_odd_rows(contamination) or 0.0, false_discovery_rate),
            group=group,
            order=order,
            output=FindOutput(top, explain, report, model, prefix, force, cells),
            reading=reading,
            checkpoints=checkpoints,
            callback=progress or None,
        )
    _show(output, summary, time.monotonic() - began)


def _show(output: Output, summary: FindSummary, seconds: float) -> None:
    odd = summary.estimated_odd
    output.checks(summary.checks)
    output.skipped(summary.skipped)
    output.empty(summary.empty)
    output.facts(
        command="find",
        rows=summary.rows,
        found=summary.found,
        written=summary.written,
        estimated_odd={"number": odd.number, "low": odd.low, "high": odd.high},
        left_out_of_learning=summary.left_out,
        rounds=summary.rounds,
        false_discovery_rate=summary.false_discovery_rate,
        empty_rows=summary.empty,
        **({} if summary.odd_cells is None else cell_facts(summary.odd_cells)),
        first=summary.first[:_SHOWN],
        outputs=output.outputs,
        skipped_lines=summary.skipped.lines,
        checks=[check.to_record() for check in summary.checks],
        seconds=round(seconds, 3),
    )
    places = ", ".join(map(place, output.outputs))
    cells = [] if summary.odd_cells is None else [cell_sentence(summary.odd_cells)]
    output.say(*described(summary), *cells, f"wrote {places} in {seconds:.1f} s")


def described(summary: FindSummary) -> list[RenderableType]:
    """What was found, in a few lines."""
    if summary.all_alike:
        return [f"{counted(summary.rows, 'row')}; all have the same score, so none is odder than another"]
    rate = percent(summary.false_discovery_rate)
    found = f"found {counted(summary.found, 'row')}; on average at most {rate} of those found are normal. The oddest:"
    none = f"none is so odd that at most {rate} of those reported would be normal; the oddest are these:"
    return [
        f"{counted(summary.rows, 'row')}, {_estimate(summary.estimated_odd)}",
        found if summary.found else none,
        _oddest(summary),
    ]


def _estimate(odd: OddEstimate) -> str:
    """
    >>> from maskdiff.detectors.finding.tail import OddEstimate
    >>> _estimate(OddEstimate(30, 12, 90)), _estimate(OddEstimate(0, 0, 4))
    ('about 30 of them odd (12 to 90)', 'none of which stands out (up to 4 may be odd)')
    """
    if odd.number:
        return f"about {odd.number:,} of them odd ({odd.low:,} to {odd.high:,})"
    return f"none of which stands out (up to {odd.high:,} may be odd)" if odd.high else "none of which stands out"


def _oddest(summary: FindSummary) -> RenderableType:
    """The first few rows with their strongest reasons, each on a line of its own.

    They are ordered by p-value, which a number far outside of its column lowers whatever the score.
    """
    lines = []
    for row in summary.first[:_SHOWN]:
        score = "no score" if row["anomaly_score"] is None else f"score {row['anomaly_score']:.2f}"
        reason, *more = row["reasons"][:_REASONS] or [""]
        lines.append((f"  row {row['row']:>6,}", score, f"p {row['p_value']:.1g}", reason))
        lines += [("", "", "", other) for other in more]
    return grid(lines)
