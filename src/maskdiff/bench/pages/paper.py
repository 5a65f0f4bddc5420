"""The page that puts every table of the paper beside ours; a cell that was not run says why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from maskdiff.bench.pages.baselines import own_results
from maskdiff.bench.pages.differences import differences
from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.pages.speed import STEPS
from maskdiff.bench.pages.text_blocks import command, grid, pair, seconds, section, with_deviation
from maskdiff.bench.published.values import METRICS, published_results, published_seconds, published_texts
from maskdiff.bench.runs.measure import Record
from maskdiff.bench.runs.methods import METHODS, Method
from maskdiff.bench.runs.text_methods import TEXT_METHODS
from maskdiff.bench.tables.results import names_by_published, results, text_results

TEXT_SETS = {"sms": "SMS", "email": "Email", "agnews": "AG News", "yelp": "Yelp"}
# Methods on a pre-trained model are named after it in the records.
ON_A_MODEL = {"CVDD": "+cvdd", "FATE": "+fate"}
LARGE = "claims-large"


@dataclass
class Reasons:
    """Why cells are empty, numbered as they come up; `known` has methods, sets and the reason of each, "*" for all."""

    known: list[dict[str, Any]]
    shown: list[str] = field(default_factory=list)

    def cell(self, table: str, method: str, set_name: str) -> str:
        """What stands in the cell instead of a figure."""
        for one in self.known:
            fits = (one["table"] == table, _among(method, one["methods"]), _among(set_name, one["sets"]))
            if all(fits):
                if one["why"] not in self.shown:
                    self.shown.append(one["why"])
                return f"not run ({self.shown.index(one['why']) + 1})"
        return "not run"

    def listed(self) -> str:
        """All reasons that were needed."""
        return "\n".join(f"- ({number}) {why}" for number, why in enumerate(self.shown, start=1))


def _among(name: str, wanted: Iterable[str]) -> bool:
    return any(one in ("*", name) or (one.endswith("*") and name.startswith(one[:-1])) for one in wanted)


def _values(table: pd.DataFrame, metric: str, columns: tuple[str, ...]) -> dict[tuple[str, str], tuple[Any, ...]]:
    chosen = table[table["metric"] == metric].to_dict("records")
    return {(line["method"], line["set"]): tuple(line[name] for name in columns) for line in chosen}


def large_table(metric: str, table: pd.DataFrame, reasons: Reasons) -> str:
    """One of the paper's two large tables, ours / published."""
    known, names = published_results(), names_by_published(METHODS)
    own, theirs = _values(table, metric, ("mean", "std", "runs")), _values(known, metric, ("mean", "std"))
    sets = list(dict.fromkeys(known["set"]))
    lines = []
    for method in dict.fromkeys(known["method"]):
        cells = []
        for one in sets:
            found = own.get((names[method], one))
            ours = reasons.cell("tables", method, one) if found is None else _with_seeds(*found)
            mean, deviation = theirs[method, one]
            cells.append(f"{ours} / {with_deviation(mean, deviation, digits=1)}")
        lines.append([method, *cells])
    return section(METRICS[metric], grid(["method", *sets], lines))


def _with_seeds(mean: float, deviation: float, runs: int) -> str:
    shown = with_deviation(mean, deviation, digits=1)
    return shown if runs >= 5 else f"{shown} ({runs} seed{'s' if runs > 1 else ''})"


def texts(table: pd.DataFrame, reasons: Reasons, note: str) -> str:
    """The paper's table of texts, ROC / PR, ours below each method's published line."""
    known = published_texts()
    theirs = {metric: _values(known, metric, ("mean",)) for metric in METRICS}
    own = {metric: _values(table, metric, ("mean", "runs")) for metric in METRICS}
    lines = []
    for method in dict.fromkeys(known["method"]):
        name = _own_name(method, table["method"].unique())
        published, ours = [], []
        for one in TEXT_SETS:
            published.append(pair(*(theirs[metric][method, one][0] for metric in METRICS)))
            found = [own[metric].get((name, one)) for metric in METRICS]
            ours.append(reasons.cell("text", method, one) if None in found else _text_cell(found))
        lines += [[method, "published", *published], ["", "ours", *ours]]
    return section("Texts", f"ROC / PR. {note}".rstrip(), grid(["method", "", *TEXT_SETS.values()], lines))


def _own_name(published: str, names: Iterable[str]) -> str:
    if published in ON_A_MODEL:
        return next((name for name in names if name.endswith(ON_A_MODEL[published])), "")
    known: Mapping[str, Method] = TEXT_METHODS
    return names_by_published(known).get(published, "")


def _text_cell(found: list[Any]) -> str:
    (roc, runs), (pr, _) = found
    return pair(roc, pr) + ("" if runs >= 5 else f" ({runs} seed{'s' if runs > 1 else ''})")


def runtimes(records: RecordFolder, reasons: Reasons) -> str:
    """The paper's table of runtimes: seconds to fit and score, ours / published."""
    own = {(r["method"], r["set"]): _seconds(r) for r in records.of("runtime-gpu", "runtime-large")}
    own |= {(r["method"], r["set"]): f"over {r['stopped_after']:g} s" for r in records.stopped("runtime-large")}
    table, names = published_seconds(), names_by_published(METHODS)
    known = {metric: _values(table, metric, ("mean",)) for metric in STEPS}
    lines = []
    for method in dict.fromkeys(table["method"]):
        cells = []
        for one in ("bank", LARGE):
            ours = own.get((names[method], one)) or reasons.cell("runtime", method, one)
            cells.append(f"{ours} / " + " + ".join(f"{known[step][method, one][0]:.1f}" for step in STEPS))
        lines.append([method, *cells])
    return section(
        "Runtimes",
        "Seconds to fit + score on a GPU, ours / published; the paper's is another GPU. For Vehicle Claims stand as "
        f"many generated claims (268,255 rows). {records.note('runtime-large')}".rstrip(),
        grid(["method", "bank", "Vehicle Claims"], lines),
    )


def _seconds(record: Record) -> str:
    return " + ".join(seconds(record[step]) for step in STEPS)


def losses(table: pd.DataFrame, note: str) -> str:
    """Networks trained with Eq. 8 and with Eq. 2, on every table that has both."""
    own = {metric: _values(table, metric, ("mean", "std")) for metric in METRICS}
    eq8, eq2 = "mlp-paper", "mlp-diffusion"
    sets = [one for one in dict.fromkeys(table["set"]) if (eq2, one) in own["roc_auc"] and (eq8, one) in own["roc_auc"]]
    if not sets:
        return ""
    lines, apart = [], []
    for one in sets:
        ours = [[own[metric][method, one] for metric in METRICS] for method in (eq8, eq2)]
        apart.append([ours[0][m][0] - ours[1][m][0] for m in (0, 1)])
        lines.append([one, *(" / ".join(with_deviation(m, d, digits=1) for m, d in part) for part in ours)])
    means = [sum(part) / len(part) for part in zip(*apart, strict=True)]
    ahead = [sum(one > 0 for one in part) for part in zip(*apart, strict=True)]
    return section(
        "The two losses",
        'The paper remarks that Eq. 8 is "occasionally marginally better" than the diffusion loss, Eq. 2. The same '
        "network trained with each, all levels, 16 views, ROC / PR. Eq. 8 is ahead on "
        f"{ahead[0]} of {len(sets)} tables by ROC and on {ahead[1]} by PR, by {means[0]:+z.2f} and {means[1]:+z.2f} "
        f"points on average. Single levels and few views: [the benchmark](../benchmark.md#figures). {note}".rstrip(),
        grid(["set", "mlp-paper (Eq. 8)", "mlp-diffusion (Eq. 2)"], lines),
    )


def paper_page(records: RecordFolder) -> list[str]:
    """The blocks of the page."""
    table = own_results(records)
    both = table if not records["diffusion"] else results([*records.of("tables"), *records["diffusion"]])
    reasons = Reasons(records.reasons)
    blocks = [
        *(large_table(metric, table, reasons) for metric in METRICS),
        texts(text_results(records.of("text", "text-baselines", "text-paper")), reasons, records.note("text-paper")),
        runtimes(records, reasons),
    ]
    return [
        "Every table of the paper beside ours, mean of five seeds ± sample deviation, on the same splits. Ranks: "
        "[tables](tables.md).",
        command(
            "maskdiff bench tables --data DIR --methods all --seeds 5 --device cuda --out results/tables.jsonl",
            "maskdiff bench text --data DIR --embedder all-MiniLM-L6-v2/ --methods paper,date,pretrained --seeds 5 \\",
            "    --out results/text-paper.jsonl",
            "maskdiff bench summary --docs docs/results",
        ),
        *blocks,
        section("Why cells were not run", reasons.listed()),
        differences(table, records.differences),
        losses(both[both["metric"].isin(METRICS)], records.note("diffusion")),
    ]
