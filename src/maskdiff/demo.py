"""The demo: claims are made up, a detector learns the normal ones and shows the oddest of the others, with reasons.

`python -m maskdiff.demo [FOLDER]` writes the claims, the model, the scored claims and the report into a folder.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskdiff.errors import LeftOutWarning, MaskdiffError

if TYPE_CHECKING:
    import pandas as pd

    from maskdiff.detectors import TableDetector

LABEL = "is_odd"
_SHOWN = 8


def run_demo(
    folder: str = "maskdiff-demo",
    *,
    rows: int = 10_000,
    seed: int = 0,
    say: Callable[[str], None] = print,
    progress: Any = None,
) -> dict[str, Any]:
    """Run it; what was measured and written."""
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    normal, new = make_files(home, rows, seed)
    say(f"{rows:,} insurance claims were made up. Learning from {len(normal):,} normal ones ...")
    began = time.monotonic()
    detector = learn(normal, seed, progress)
    say(f"... took {time.monotonic() - began:.0f} s. Scoring {len(new):,} new claims. The oddest, and why:")
    found = show_oddest(detector, new, say)
    say(
        f"\n{found['anomalies']:,} of the new claims are called anomalies. By the labels, which were never shown: "
        f"ROC-AUC {found['roc_auc']:.3f}, average precision {found['average_precision']:.3f}; false alarms "
        f"{found['false_alarm_rate_seen']:.1%} of normal claims, {found['false_alarm_rate_promised']:.0%} promised."
    )
    written = write_files(detector, home)
    say(f"\nwrote {', '.join(map(str, written))}\nThe same by hand:\n{by_hand(home)}")
    return {**found, "files": [str(path) for path in written]}


def make_files(home: Path, rows: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Normal claims to learn from, and new ones with their labels, both also as CSV files."""
    from maskdiff.datasets import make_claims

    claims, odd = make_claims(rows, seed)
    claims = claims.round(2)
    half = rows // 2
    normal, new = claims[:half][odd[:half] == 0], claims[half:].assign(**{LABEL: odd[half:]})
    normal.to_csv(home / "normal.csv", index=False)
    new.to_csv(home / "new.csv", index=False)
    return normal, new.reset_index(drop=True)


def learn(normal: pd.DataFrame, seed: int, progress: Any) -> TableDetector:
    from maskdiff.detectors import TableDetector

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftOutWarning)
        # The label is no column to learn from; said here, it may stand in the files to be scored.
        return TableDetector(columns={LABEL: "drop"}, seed=seed, progress=progress).fit(normal)


def show_oddest(detector: TableDetector, new: pd.DataFrame, say: Callable[[str], None]) -> dict[str, Any]:
    """Say which claims are oddest and why; how well odd claims are told apart."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    from maskdiff.jobs.verdict_columns import reason

    verdicts, odd = detector.judge(new), new[LABEL].to_numpy()
    oddest = (-verdicts.anomaly_score).argsort(kind="stable")[:_SHOWN]
    cells = detector.explain(new.iloc[oddest], 2, verdicts=verdicts.take(oddest))
    for rank, row in enumerate(oddest):
        why = "; ".join(reason(cell) for cell in cells[cells["row"] == rank].itertuples(index=False))
        say(f"  claim {row + 1:>5,}  score {verdicts.anomaly_score[row]:5.2f}  {why}")
    return {
        "roc_auc": float(roc_auc_score(odd, verdicts.anomaly_score)),
        "average_precision": float(average_precision_score(odd, verdicts.anomaly_score)),
        "anomalies": int(verdicts.is_anomaly.sum()),
        "false_alarm_rate_seen": float(verdicts.is_anomaly[odd == 0].mean()),
        "false_alarm_rate_promised": detector.calibration_.rate_or_default(detector.false_alarm_rate),
    }


def write_files(detector: TableDetector, home: Path) -> list[Path]:
    """The model, the scored claims and the report; all that is in the folder now."""
    from maskdiff.jobs import ScoreOptions, report_file, score_file
    from maskdiff.storage import save

    detector.set_params(progress=False)
    save(detector, home / "claims.maskdiff")
    new = str(home / "new.csv")
    score_file(detector, new, str(home / "scored.csv"), ScoreOptions(explain=3))
    report_file(home / "claims.maskdiff", new, str(home / "report.html"))
    return [home / name for name in ("normal.csv", "new.csv", "claims.maskdiff", "scored.csv", "report.html")]


def by_hand(home: Path) -> str:
    lines = (
        "fit {0}/normal.csv -o {0}/claims.maskdiff",
        "score {0}/claims.maskdiff {0}/new.csv -o {0}/scored.csv --explain 3",
        "report {0}/claims.maskdiff {0}/new.csv -o {0}/report.html",
        f"evaluate {{0}}/claims.maskdiff {{0}}/new.csv --label {LABEL}",
    )
    return "\n".join(f"  maskdiff {line.format(home)}" for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m maskdiff.demo", description="Find the odd ones among claims.")
    parser.add_argument("folder", nargs="?", default="maskdiff-demo", help="where to write (default %(default)s)")
    parser.add_argument("--rows", type=int, default=10_000, help="claims to make up (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="equal seeds give equal claims")
    given = parser.parse_args(arguments)
    try:
        run_demo(given.folder, rows=given.rows, seed=given.seed)
    except (MaskdiffError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
