"""`maskdiff demo`: the whole walk on claims made up on the spot, each step one job that can be repeated by hand."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskdiff.cli import options
from maskdiff.cli.output import Output, grid, percent

if TYPE_CHECKING:
    from maskdiff.jobs import Evaluation, FindSummary

LABEL = "is_odd"
_FILES = ("normal.csv", "new.csv", "found.csv", "claims.maskdiff", "scored.csv", "report.html")
_SHOWN = 5
_BY_HAND = (
    f"find {{0}}/new.csv -o {{0}}/found.csv --drop {LABEL} --reconstructor kernel",
    "fit {0}/normal.csv -o {0}/claims.maskdiff",
    "score {0}/claims.maskdiff {0}/new.csv -o {0}/scored.csv --explain 3",
    "report {0}/claims.maskdiff {0}/new.csv -o {0}/report.html",
    f"evaluate {{0}}/claims.maskdiff {{0}}/new.csv --label {LABEL}",
)


def demo(
    ctx: typer.Context,
    folder: Annotated[str, typer.Argument(help="Where to write the files.")] = "maskdiff-demo",
    rows: Annotated[int, typer.Option(min=1000, help="How many claims to make up.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal claims.")] = 0,
    threads: options.Threads = None,
) -> None:
    """Make up insurance claims; find the odd ones among them, then learn from normal ones and judge the others."""
    from maskdiff.detectors import TableDetector
    from maskdiff.jobs import ScoreOptions, evaluate_file, fit_file, report_file, score_file

    output: Output = ctx.obj
    home = Path(folder)
    output.outputs = [str(home / name) for name in _FILES]
    normal, new, found_rows, model, scored, page = output.outputs
    n_normal, n_new = _make_files(home, rows, seed)
    output.say(f"{rows:,} insurance claims were made up. {n_new:,} of them, and nobody knows which are normal:")
    searched = _find(output, new, found_rows, seed)
    output.say(f"\nThe same with {n_normal:,} normal claims to learn from ...")
    began = time.monotonic()
    # The label is no column to learn from; dropped here, it may stand in the files to be scored.
    unfitted = TableDetector(columns={LABEL: "drop"}, seed=seed, progress=False)
    with output.progress() as progress:
        detector = fit_file(normal, model, detector=unfitted, callback=progress or None)
    output.say(f"... took {time.monotonic() - began:.0f} s. Scoring {n_new:,} new claims. The oddest, and why:")
    summary = score_file(detector, new, scored, ScoreOptions(explain=3))
    _show_oddest(output, scored)
    found = evaluate_file(detector, new, LABEL)
    report_file(model, new, page)
    output.facts(
        command="demo",
        roc_auc=found.roc_auc,
        average_precision=found.average_precision,
        found=searched.found,
        estimated_odd=searched.estimated_odd.number,
        anomalies=summary.anomalies,
        false_alarm_rate_seen=found.false_alarm_rate_seen,
        false_alarm_rate_promised=found.false_alarm_rate_promised,
        files=[str(home / name) for name in _FILES],
    )
    _show_promise(output, found)
    by_hand = "\n".join(f"  maskdiff {line.format(home)}" for line in _BY_HAND)
    output.say(f"\nwrote to {home}: {', '.join(_FILES)}\nThe same by hand:\n{by_hand}")


def _find(output: Output, claims: str, out: str, seed: int) -> FindSummary:
    """The odd claims of one file, which nobody has labelled; a kernel is quick."""
    from maskdiff.cli.find import described
    from maskdiff.detectors import TableDetector
    from maskdiff.jobs import find_file

    quick = TableDetector("kernel", columns={LABEL: "drop"}, seed=seed, progress=False)
    with output.progress() as progress:
        summary = find_file(claims, out, detector=quick, callback=progress or None)
    output.say(*described(summary))
    odd = _labels(out)
    output.say(
        f"By the labels, which were never shown, {odd.sum():,} of the {len(odd):,} oddest claims are odd, and "
        f"{percent(_labels(claims).mean())} of all."
    )
    return summary


def _labels(claims: str) -> Any:
    import pandas as pd

    return pd.read_csv(claims)[LABEL]


def _make_files(home: Path, rows: int, seed: int) -> tuple[int, int]:
    """Normal claims to learn from, and new ones with their labels; how many of each."""
    from maskdiff.datasets import make_claims
    from maskdiff.io.atomic import write_text
    from maskdiff.io.outputs import FileContent, check_output

    claims, odd = make_claims(rows, seed)
    claims, half = claims.round(2), rows // 2
    home.mkdir(parents=True, exist_ok=True)
    header = ",".join(claims.columns).encode()
    made_up = FileContent("made-up claims", lambda file: file.readline().startswith(header))
    for name in _FILES:
        if name.endswith(".csv"):
            check_output(home / name, content=made_up)
    normal, new = claims[:half][odd[:half] == 0], claims[half:].assign(**{LABEL: odd[half:]})
    write_text(home / _FILES[0], normal.to_csv(index=False))
    write_text(home / _FILES[1], new.to_csv(index=False))
    return len(normal), len(new)


def _show_oddest(output: Output, scored: str) -> None:
    import pandas as pd

    claims = pd.read_csv(scored).nlargest(_SHOWN, "anomaly_score", keep="first")
    lines = []
    for row, claim in claims.iterrows():
        lines.append((f"  row {int(str(row)) + 1:>6,}", f"score {claim['anomaly_score']:5.2f}", claim["reason_1"]))
        lines.append(("", "", claim["reason_2"]))
    output.say(grid(lines))


def _show_promise(output: Output, found: Evaluation) -> None:
    output.say(
        f"\n{found.alarms:,} of the new claims are called anomalies. By the labels, which were never shown:",
        f"  ROC-AUC {found.roc_auc:.3f}, average precision {found.average_precision:.3f}",
        f"  false alarms: {found.false_alarm_rate_seen:.1%} of normal claims, "
        f"{percent(found.false_alarm_rate_promised)} promised",
    )
