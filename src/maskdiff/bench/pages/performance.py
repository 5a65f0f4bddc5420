"""The page on performance: what costs what, how it grows, what bounds it, and what each effort keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.pages.text_blocks import command, grid, places, seconds, section, threads
from maskdiff.bench.runs.measure import Record
from maskdiff.bench.studies.speed.operations import single_cells, training, whole_grid
from maskdiff.bench.studies.speed.start import MACHINE, START
from maskdiff.bench.studies.speed.study import exponent
from maskdiff.cascade import ALARMS, AUTO, FULL
from maskdiff.detectors.split import MOST_TO_CALIBRATE, MOST_TO_TUNE

_LARGE = 10_000_000
# Methods that fit the default, and from how many rows on its steps are all taken.
_FITTED, _MANY = ("default", "alarms", "whole-grid"), 40_000
# Methods of the study whose operations are known, and those of one row.
_COUNTED: Mapping[str, Callable[[int, int], int]] = {"alarms": single_cells, "whole-grid": whole_grid}


def performance_page(records: RecordFolder) -> list[str]:
    """The blocks of the page; none where nothing was measured."""
    speed, note = records["speed"], records.note("speed")
    blocks = [growth(speed, note), bounds(speed), started(speed), efforts(records["efforts"], records.note("efforts"))]
    return [block for block in blocks if block]


def growth(records: list[Record], note: str = "") -> str:
    """Time by rows and by columns, with the power by which it grows."""
    sized = [record for record in records if "rows" in record]
    if not sized:
        return ""
    learned = max(record["learned_rows"] for record in sized)
    tables = [_table(sized, fixed, varied) for fixed, varied in (("columns", "rows"), ("rows", "columns"))]
    return section(
        "How time and memory grow",
        f"Made-up tables on {places(sized)}, {threads(sized[0]['threads'])}; each run is a process of its own. At most "
        f"{learned:,} rows are learned from, all are scored: by default with the effort for Python, by alarms with "
        "the one of `maskdiff score`. The power is that of rows or columns by which the time to score grows; peak is "
        f"the most memory of the largest table. {note}".rstrip(),
        command(
            "maskdiff bench speed --rows 1e3,1e4,1e5,1e6 --columns 20 --out results/more/speed.jsonl",
            "maskdiff bench speed --rows 2000 --columns 5,20,100,500,1500 --out results/more/speed.jsonl",
        ),
        *(block for blocks in tables for block in blocks),
        *_extrapolated(sized),
    )


def _table(records: list[Record], fixed: str, varied: str) -> list[str]:
    """A table for each size of one kind that several sizes of the other were measured with."""
    blocks = []
    for size in sorted({record[fixed] for record in records}):
        chosen = [record for record in records if record[fixed] == size]
        others = sorted({record[varied] for record in chosen})
        if len(others) > 1 or len({record[fixed] for record in records}) == 1:
            head = [f"{size:,} {fixed}", "power", *(f"{n:,} {varied}: fit / score" for n in others), "one row", "peak"]
            blocks.append(grid(head, _lines(chosen, varied, others)))
    return blocks


def _lines(records: list[Record], varied: str, sizes: list[int]) -> list[list[str]]:
    """One line for each method, the one that scores the largest table quickest first."""
    lines = []
    order = sorted(records, key=lambda record: (-record[varied], record["score_seconds"]))
    for method in dict.fromkeys(record["method"] for record in order):
        own = {record[varied]: record for record in records if record["method"] == method}
        power = exponent(list(own), [record["score_seconds"] for record in own.values()])
        cells = [
            f"{seconds(own[n]['fit_seconds'])} / {seconds(own[n]['score_seconds'])}" if n in own else "" for n in sizes
        ]
        last = own[max(own)]
        ends = (f"{last['one_row_ms']:.1f} ms", f"{last['peak_memory_mb']:,.0f} MB")
        lines.append([method, "" if np.isnan(power) else f"{round(power, 2) + 0.0:.2f}", *cells, *ends])
    return lines


def _extrapolated(records: list[Record]) -> list[str]:
    """How long ten million rows would take at the rate of the largest table that was scored."""
    own = [record for record in records if record["method"] == "alarms" and record["rows"] >= 100_000]
    if not own or any(record["rows"] >= _LARGE for record in own):
        return []
    last = max(own, key=lambda record: record["rows"])
    minutes = _LARGE / last["rows_per_second"] / 60
    return [
        f"{_LARGE:,} rows of {last['columns']} columns were not measured. At the rate of {last['rows']:,} rows they "
        f'would take {minutes:.0f} minutes with "alarms"; memory does not grow, for rows come in parts of 100,000.'
    ]


def bounds(records: list[Record]) -> str:
    """What the network's arithmetic alone takes, beside what was measured."""
    rates = {record["method"]: record["gflops"] for record in records if "gflops" in record}
    sized = [record for record in records if record.get("rows", 0) >= 10_000 and record["method"] in _COUNTED]
    if not rates or not sized:
        return ""
    rate, lines = max(rates.values()), []
    for method, count in _COUNTED.items():
        for record in [one for one in sized if one["method"] == method][-1:]:
            operations = count(record["columns"], record["codes"])
            least, took = operations / rate / 1e3, 1e6 * record["score_seconds"] / record["rows"]
            lines.append([method, f"{operations / 1e6:.1f} million", f"{least:.0f} us", f"{took:.0f} us"])
    said = ", ".join(f"{value:,.0f} GFLOP/s ({_threads_of(name)})" for name, value in rates.items())
    return section(
        "What bounds it",
        "A row's time is the network's products. The whole grid asks it about 144 views of a row; the first look of "
        f'"alarms" asks about every cell alone, and a few percent of the rows get the whole grid besides. Products of '
        f"1,024 x 256 with 256 x 256 numbers reach {said}, which bounds a row from below; kernel and nearest rows, "
        "sums and logarithms come on top.",
        grid([f"{sized[0]['columns']} columns", "operations a row", "at that rate", "measured"], lines),
        *_fit_bound(records, rates),
    )


def _threads_of(method: str) -> str:
    """How many threads computed the products.

    >>> _threads_of("products, 1 threads")
    '1 thread'
    """
    return threads(int(method.split(", ")[1].split()[0]))


def _fit_bound(records: list[Record], rates: Mapping[str, float]) -> list[str]:
    """What the arithmetic of a fit takes alone, beside what was measured."""
    fitted = [one for one in records if one["method"] in _FITTED and one.get("learned_rows", 0) >= _MANY]
    if not fitted:
        return []
    record, (first, *_) = min(fitted, key=lambda one: float(one["fit_seconds"])), rates.values()
    judged = MOST_TO_TUNE + MOST_TO_CALIBRATE
    grid_work = judged * whole_grid(record["columns"], record["codes"])
    steps_work = training(record["codes"])
    least = steps_work / first / 1e9 + grid_work / max(rates.values()) / 1e9
    return [
        f"A fit of {record['learned_rows']:,} rows and {record['columns']} columns took "
        f"{record['fit_seconds']:.1f} s. Its 1,000 steps of training are {steps_work / 1e9:,.0f} billion operations, "
        f"on one thread, for their products are too small to share; the whole grid for the {judged:,} rows that tune "
        f"and calibrate is {grid_work / 1e9:,.0f} billion. At the rates above this is {least:.1f} s, "
        f"{least / record['fit_seconds']:.0%} of the time: the rest is reading columns, dropout, sums and logarithms, "
        "the optimiser, kernel and nearest rows."
    ]


def started(records: list[Record]) -> str:
    """Imports, starts, and a machine that is busy."""
    start = [[record["method"], f"{record['seconds']:.2f} s"] for record in records if record["set"] == START]
    timed = [record for record in records if record["set"] == MACHINE and "seconds" in record]
    lines = start + [[f"score {record['method']}", f"{record['seconds']:.2f} s"] for record in timed]
    if not lines:
        return ""
    return section(
        "Starting, and a busy machine",
        "The median of three; 400 rows are judged by the whole grid, alone and while other processes keep half of the "
        "processors busy.",
        grid(["", "seconds"], lines),
    )


def efforts(records: list[Record], note: str = "") -> str:
    """What each effort keeps of the whole grid."""
    if not records:
        return ""
    lines = [_agreement(name, [one for one in records if one["set"] == name]) for name in _sets(records)]
    means = {effort: _mean_metrics(records, effort) for effort in (FULL, AUTO, ALARMS)}
    said = "; ".join(f'"{effort}" {roc:.2f} / {pr:.2f}' for effort, (roc, pr) in means.items())
    return section(
        "What each effort keeps",
        f"Rows of each table judged alike at a false-alarm rate of {records[0]['rate']:.0%}, the lowest of "
        f"{len({one['seed'] for one in records})} seeds, and the share of rows that the whole grid judged, on "
        f"{places(records)}. Mean ROC / PR of these tables: {said}. {note}".rstrip(),
        command("maskdiff bench efforts --data DIR --out results/more/efforts.jsonl"),
        grid(["set", "auto: alike", "whole grid", "alarms: alike", "whole grid"], lines),
    )


def _sets(records: list[Record]) -> list[str]:
    return sorted({record["set"] for record in records})


def _agreement(name: str, records: list[Record]) -> list[str]:
    cells = [name]
    for effort in (AUTO, ALARMS):
        found = [record["efforts"][effort] for record in records]
        share = np.mean([one["whole_grid"] for one in found])
        cells += [f"{100 * min(one['agreement'] for one in found):.2f}%", f"{100 * share:.0f}%"]
    return cells


def _mean_metrics(records: list[Record], effort: str) -> tuple[float, float]:
    """Mean over sets of the means over seeds."""
    found = []
    for name in _sets(records):
        own = [record["efforts"][effort] for record in records if record["set"] == name]
        found.append([np.mean([one[metric] for one in own]) for metric in ("roc_auc", "pr_auc")])
    roc, pr = 100 * np.mean(found, axis=0)
    return float(roc), float(pr)
