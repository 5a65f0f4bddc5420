"""The page on one file without labels: whole tables searched, and what is reported of generated claims."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.pages.text_blocks import command, grid, number, pair, places, section, seeds
from maskdiff.bench.runs.measure import Record
from maskdiff.bench.studies.find import COMPARED, SETS, SHARES

NAMES = {"iforest": "isolation forest", "copod": "COPOD", "ecod": "ECOD", "hamming-knn": "25 nearest rows"}


def _runs(records: Iterable[Record], name: str, method: str) -> list[Record]:
    return [record for record in records if (record["set"], record["method"]) == (name, method)]


def _mean_pair(runs: list[Record]) -> tuple[float, float]:
    roc, pr = (100 * float(np.mean([run[measure] for run in runs])) for measure in ("roc_auc", "pr_auc"))
    return roc, pr


def tables(records: list[Record]) -> str:
    """Every method on every whole table."""
    methods = [name for name in COMPARED if any(record["method"] == name for record in records)]
    names = [name for name in SETS if all(_runs(records, name, method) for method in methods)]
    by_set = {name: [_mean_pair(_runs(records, name, method)) for method in methods] for name in names}
    lines = [[name, *(pair(*each) for each in found)] for name, found in by_set.items()]
    overall = np.mean(list(by_set.values()), axis=0) if by_set else []
    lines.append([f"mean of {len(names)}", *(pair(*each) for each in overall)])
    return section(
        "Whole tables",
        "Every method is given all rows of a table, at most 40,000, and scores the same rows; ROC-AUC / PR-AUC.",
        grid(["set", *(NAMES.get(method, method) for method in methods)], lines),
    )


def reported(records: list[Record]) -> str:
    """What a search reports of the same tables."""
    lines = []
    for name in SETS:
        for run in _runs(records, name, "find")[:1]:
            odd = f"{run['estimated']:,} ({run['low']:,} to {run['high']:,})"
            lines.append([name, f"{run['n_rows']:,}", f"{run['n_odd']:,}", f"{run['reported']:,}", run["false"], odd])
    return section(
        "What is reported of them",
        "Rows selected at a false-discovery rate of 10%, and the estimate of the number of odd rows, seed 0. Most "
        "anomalies of these tables are no outliers, and some normal rows are: a search does not know what the label is "
        "about.",
        grid(["set", "rows", "anomalies", "reported", "of these normal", "estimate"], lines),
    )


def rates(records: list[Record]) -> str:
    """Generated claims, of which a known share is odd."""
    methods = dict.fromkeys(record["method"] for record in records)
    lines = []
    for method in methods:
        for share in SHARES:
            runs = _runs(records, f"claims@{share:.0%}", method)
            if runs:
                lines.append([method, f"{share:.0%}", len(runs), *_rates_of(runs)])
    return section(
        "False discoveries",
        "5,000 generated claims of which this share is odd, searched at a false-discovery rate of 10%: how many of "
        "those reported are normal, in percent, on average over the repetitions, which share of the odd ones is found, "
        "how many the same order of rows gives at most to somebody who knows the labels and stops where 10% of the "
        "rows are normal, and how often their number is within the interval of the estimate.",
        grid(
            ["method", "odd", "repetitions", "reported", "of these normal", "odd ones found", "at most", "in interval"],
            lines,
        ),
    )


def costs(records: list[Record]) -> str:
    """How long a search takes beside a plain fit and score."""
    lines = [
        [
            f"{record['method']}, {record['set']}",
            f"{record['device']}, {number(record['threads'])} {'thread' if record['threads'] == 1 else 'threads'}",
            *(f"{record[step]:.1f}" for step in ("fit_seconds", "score_seconds", "find_seconds", "ratio")),
        ]
        for record in records
    ]
    return section(
        "Cost",
        "Seconds of a fit and of a score of the same rows, of a search, and how many times as long that takes.",
        grid(["search", "on", "fit", "score", "find", "ratio"], lines),
    )


def _rates_of(runs: list[Record]) -> list[str]:
    false = np.mean([100 * run["false"] / max(run["reported"], 1) for run in runs])
    found = [100 * (run["reported"] - run["false"]) / run["n_odd"] for run in runs if run["n_odd"]]
    inside = sum(run["low"] <= run["n_odd"] <= run["high"] for run in runs)
    mean = f"{np.mean([run['reported'] for run in runs]):.1f}"
    most = [100 * run["possible"] / run["n_odd"] for run in runs if run["n_odd"] and "possible" in run]
    shares = [f"{np.mean(each):.1f}" if each else "" for each in (found, most)]
    return [mean, f"{false:.1f}", *shares, f"{inside} of {len(runs)}"]


def find_page(records: RecordFolder) -> list[str]:
    """The blocks of the page; none where nothing was measured."""
    found = records["find"]
    if not found:
        return []
    timed = [record for record in found if "ratio" in record]
    whole = [record for record in found if "@" not in record["set"] and record not in timed]
    generated = [record for record in found if "@" in record["set"]]
    return [
        "One file, and nobody knows which rows are normal: `maskdiff find`, the default, on whole tables without "
        f"labels; {number(seeds(whole))} {'seed' if seeds(whole) == 1 else 'seeds'}.",
        command("maskdiff bench find --data DIR", "maskdiff bench find --part rates --methods ours --seeds 40"),
        f"Measured on {places(found)}.",
        records.note("find"),
        tables(whole) if whole else "",
        reported(whole) if whole else "",
        rates(generated) if generated else "",
        costs(timed) if timed else "",
    ]
