"""The summary of result files, for people (markdown and a picture) and for programs (CSV)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pandas as pd

from maskdiff.bench.published.values import METRICS, SECONDS, published_texts
from maskdiff.bench.runs.measure import Record
from maskdiff.bench.runs.records import latest, of_task
from maskdiff.bench.tables.alarms_and_evidence import alarm_table, evidence_table
from maskdiff.bench.tables.critical_difference import Diagram
from maskdiff.bench.tables.markdown import markdown, wide
from maskdiff.bench.tables.ranks import average_ranks, comparable, published_ranks, ranks_among_published
from maskdiff.bench.tables.results import results, runtime_results, text_results
from maskdiff.io.atomic import write_text

FAR = 2.0  # published deviations beyond which a difference is listed


@dataclass(frozen=True)
class Summary:
    """The same results twice: `markdown`, and CSV texts by file name; and the ranks as critical-difference diagrams."""

    markdown: str
    csv: dict[str, str]
    diagrams: dict[str, Diagram]

    def write(self, folder: str | Path, picture: str | None = "svg") -> list[Path]:
        """Write summary.md, the CSV files and, unless it is None, a picture in the format `picture`; their paths."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        texts = {folder / name: text for name, text in {"summary.md": self.markdown, **self.csv}.items()}
        for path, text in texts.items():
            write_text(path, text)
        if picture is None or not self.diagrams:
            return list(texts)
        from maskdiff.bench.figures.critical_difference import draw

        drawn = folder / f"critical_difference.{picture}"
        draw(self.diagrams, drawn)
        return [*texts, drawn]


def summary(records: Iterable[Record]) -> Summary:
    """Average ranks, both large tables, ours beside the published values, texts, runtimes, and what failed."""
    given = list(records)
    tables, texts, runtimes = (latest(of_task(given, task)) for task in ("tables", "text", "runtime"))
    parts: list[str] = []
    csv: dict[str, str] = {}
    diagrams: dict[str, Diagram] = {}
    if tables:
        table = results(tables)
        diagrams = _add_tables(table, parts, csv)
        _add_details(tables, parts, csv)
    if texts:
        _add_texts(text_results(texts), parts, csv)
    if runtimes:
        _add_runtimes(runtime_results(runtimes), parts, csv)
    every = [*tables, *texts, *runtimes]
    parts += ["## Failed runs", _failures(every), "## Where this ran", _places(every)]
    return Summary("\n\n".join(parts) + "\n", csv, diagrams)


def _add_tables(table: pd.DataFrame, parts: list[str], csv: dict[str, str]) -> dict[str, Diagram]:
    ranked, few, partial = comparable(table)
    ranks, among = average_ranks(ranked), ranks_among_published(table)
    beside = ranks.join(published_ranks())
    parts += [
        *("## Average ranks in these runs", _over(ranked, few, partial), markdown(beside.reset_index(), digits=3)),
        *("## Ours among the published results", "Each of our methods in turn beside the paper's fourteen."),
        markdown(among.reset_index(), digits=2),
    ]
    csv |= {
        "results.csv": table.round(4).to_csv(index=False),
        "average_ranks.csv": beside.round(3).to_csv(),
        "ranks_among_published.csv": among.round(3).to_csv(),
    }
    for metric, title in METRICS.items():
        large = wide(table, metric)
        parts += [f"## {title} in percent (published in brackets)", markdown(large)]
        csv[f"{metric}.csv"] = large.to_csv(index=False)
    parts += ["## Far from the published value", f"Means more than {FAR:g} published deviations away.", _far(table)]
    n_sets = ranked["set"].nunique()
    return {title: Diagram(ranks[metric], n_sets) for metric, title in METRICS.items()} if len(ranks) > 1 else {}


def _add_details(records: Sequence[Record], parts: list[str], csv: dict[str, str]) -> None:
    """What only records of our own detectors hold."""
    details = {
        "false_alarms": ("Normal rows that are alarms, in percent", alarm_table(records)),
        "evidence": ("One term of evidence added after the other, ROC / PR in percent", evidence_table(records)),
    }
    for name, (title, table) in details.items():
        if len(table):
            parts += [f"## {title}", markdown(table)]
            csv[f"{name}.csv"] = table.round(4).to_csv(index=False)


def _add_texts(table: pd.DataFrame, parts: list[str], csv: dict[str, str]) -> None:
    """Texts: what was run, and below it what the paper lists."""
    known = published_texts().assign(published_mean=float("nan"), published_std=float("nan"))
    known["method"] = "published: " + known["method"]
    both = pd.concat([table, known[known["set"].isin(table["set"])]])
    parts += ["## Texts, in percent (published in brackets)", markdown(_side_by_side(both, METRICS))]
    csv["text.csv"] = table.round(4).to_csv(index=False)


def _add_runtimes(table: pd.DataFrame, parts: list[str], csv: dict[str, str]) -> None:
    parts += ["## Runtimes in seconds (published in brackets)", markdown(_side_by_side(table, SECONDS))]
    csv["runtime.csv"] = table.round(4).to_csv(index=False)


def _side_by_side(table: pd.DataFrame, titles: Mapping[str, str]) -> pd.DataFrame:
    """Methods x sets, several metrics of a set beside each other."""
    each = {metric: wide(table, metric).set_index("method") for metric in titles}
    pairs = product(table["set"].unique(), titles.items())
    shown = {f"{name}: {title}": each[metric][name] for name, (metric, title) in pairs}
    return pd.DataFrame(shown).loc[table["method"].unique()].reset_index(names="method")


def _over(ranked: pd.DataFrame, few: Sequence[str], partial: Sequence[str]) -> str:
    """Which sets the ranks are over, and what was left out because it is missing somewhere."""
    sets = ranked["set"].unique().tolist()
    text = f"Over {len(sets)} sets: {', '.join(sets)}."
    if few:
        text += f" Left out, as run on fewer than half of the sets: {', '.join(few)}."
    if partial:
        text += f" Left out, as not every method has a result there: {', '.join(partial)}."
    return text


def _far(table: pd.DataFrame) -> str:
    far = table[table["deviations"].abs() > FAR]
    columns = ["method", "set", "metric", "runs", "mean", "published_mean", "published_std", "deviations"]
    return markdown(far[columns].sort_values(["method", "set"]), digits=2)


def _failures(records: Sequence[Record]) -> str:
    failed = [record for record in records if record["status"] != "ok"]
    lines = [f"- {r['set']}, {r['method']}, seed {r['seed']}: {r['error'].splitlines()[0]}" for r in failed]
    return "\n".join(lines) or "None."


def _places(records: Sequence[Record]) -> str:
    """Devices and versions, each combination once."""
    devices = {
        f"- {record['device']}, {record['threads']} threads: "
        + ", ".join(f"{name} {number}" for name, number in record["versions"].items())
        for record in records
    }
    return "\n".join(sorted(devices))
