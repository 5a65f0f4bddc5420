"""The page on single wrong cells: rows found, cells named, values suggested; and cells of one dirty file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.pages.text_blocks import command, grid, number, places, section, seeds, with_deviation
from maskdiff.bench.runs.measure import Record
from maskdiff.bench.studies.cells.planting import DEPENDS, EXPECTED_TOGETHER, PLANTINGS
from maskdiff.bench.studies.cells.study import IN_ROWS, SHARES, TAMPERED, table_and_share, with_share
from maskdiff.bench.tables.alarms_and_evidence import promised

RATE = 0.01
NAMES = {
    "iforest": "isolation forest, z-scores",
    "frequency": "frequency rule",
    "pairs": "counts of pairs",
    "outliertree": "OutlierTree",
}
EXPLAINED = {
    "another row's value": "A value of the same column, drawn from the rows learned from, other than the cell's own. "
    "Much of what is planted this way is as normal as what stood there: no method can find all of it.",
    "contradiction": "A value that is never beside the value of the column it depends on most (normalised mutual "
    f"information of at least {DEPENDS:g}), although chance alone would show at least {EXPECTED_TOGETHER:g} such rows. "
    "Either of the two cells may be the wrong one; the last column counts both.",
    "never seen": "A new text, or a number outside of the column's range by one to ten times that range.",
    "typo": "The cell's own value with one letter, in numbers one digit, changed, dropped or doubled. It may be "
    "a value of other rows.",
    TAMPERED: "The anomalies of the generated claims themselves, whose wrong cells are known: costs and hours that are "
    "several times too high, and impossible values in place of lost ones. Any of a row's wrong cells counts.",
}

Counts = dict[str, Any]
Share = Callable[[Counts], float]
# Columns of a table: shares of what was planted one way, in percent.
COLUMNS: dict[str, Share] = {
    "rows found": lambda found: _percent(found["found"], found["n"]),
    "ROC": lambda found: 100 * found["roc_auc"],
    "cell first": lambda found: _percent(found["first_found"], found["found"]),
    "in three": lambda found: _percent(found["three_found"], found["found"]),
    "first, of all": lambda found: _percent(found["first"], found["n"]),
    "in three, of all": lambda found: _percent(found["three"], found["n"]),
    "value right": lambda found: _percent(found["right_first"], found["first"]),
}
EITHER: dict[str, Share] = {"either cell first": lambda found: _percent(found["pair_found"], found["found"])}


def _percent(part: int | None, whole: int) -> float:
    return float("nan") if part is None or not whole else 100 * part / whole


def _text(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.1f}"


def _mean(values: list[float]) -> str:
    known = [value for value in values if not np.isnan(value)]
    return _text(float(np.mean(known))) if known else ""


def _together(found: list[Counts]) -> Counts:
    """The counts of several runs added up, so that few rows of one run do not count as much as many of another."""
    total = {name: None if value is None else sum(each[name] for each in found) for name, value in found[0].items()}
    return total | {"roc_auc": np.mean([each["roc_auc"] for each in found])}


def _groups(records: list[Record]) -> Iterator[tuple[str, str, list[Record]]]:
    """Runs of one method on one set, sets and methods in the order of the records."""
    for name in dict.fromkeys(record["set"] for record in records):
        for method in dict.fromkeys(record["method"] for record in records):
            runs = [record for record in records if (record["set"], record["method"]) == (name, method)]
            if runs:
                yield name, method, runs


def summary(records: list[Record]) -> str:
    """The default in one sentence; nothing where it was not measured."""
    own = [runs for _, method, runs in _groups(records) if method == "default"]
    if not own:
        return ""
    parts = []
    for way in reversed(PLANTINGS):
        found = [_together(known) for runs in own if (known := _of_way(runs, way))]
        rows, first = (_mean([COLUMNS[name](each) for each in found]) for name in ("rows found", "cell first"))
        if found:
            parts.append(f"{way} {rows}% ({first}%)")
    return (
        "Rows found by the default, mean of the tables, and in brackets how often the wrong cell of a row found is "
        f"named first: {', '.join(parts)}."
    )


def _of_way(runs: list[Record], way: str) -> list[Counts]:
    """What became of errors planted one way, in the runs in which any were."""
    return [run["planted"][way] for run in runs if run["planted"].get(way, {"n": 0})["n"]]


def planted(records: list[Record], way: str) -> str:
    """What became of errors planted one way."""
    columns = COLUMNS | (EITHER if way == "contradiction" else {})
    lines = []
    for name, method, runs in _groups(records):
        found = _of_way(runs, way)
        if found:
            lines.append(
                [name, NAMES.get(method, method), *(_mean([*map(share, found)]) for share in columns.values())]
            )
    title = f"Planted: {way}" if way in PLANTINGS else "Not planted: the table's own anomalies"
    return section(title, EXPLAINED[way], grid(["set", "method", *columns], lines)) if lines else ""


def false_alarms(records: list[Record]) -> str:
    """Alarms among the unseen rows as they were."""
    lines = []
    for name, method, runs in _groups(records):
        alarms = [run["false_alarms"][str(RATE)] for run in runs]
        kept = [
            alarm <= promised(RATE, run["n_calibration"], run["n_normal"])
            for alarm, run in zip(alarms, runs, strict=True)
        ]
        shares = [100 * alarm / run["n_normal"] for alarm, run in zip(alarms, runs, strict=True)]
        deviation = float(np.std(shares, ddof=1)) if len(runs) > 1 else float("nan")
        spread = with_deviation(float(np.mean(shares)), deviation)
        lines.append([name, NAMES.get(method, method), runs[0]["n_normal"], spread, f"{sum(kept)} of {len(runs)}"])
    return section(
        "False alarms",
        "The share of unseen rows without an error that raise an alarm at a false-alarm rate of 1%, in percent, and "
        "how many runs keep within what calibration promises, up to a chance of 1% (beta-binomial: the threshold is "
        "itself estimated).",
        grid(["set", "method", "rows", "alarms", "kept"], lines),
    )


def one_file(records: list[Record]) -> str:
    """All cells of a dirty file in one order."""
    if not records:
        return ""
    tables = dict.fromkeys(table_and_share(record["set"])[0] for record in records)
    methods = dict.fromkeys(record["method"] for record in records)
    runs = {(name, method): found for name, method, found in _groups(records)}
    lines = []
    for table in tables:
        for method in methods:
            cells = [_ranked(runs.get((with_share(table, share), method), [])) for share in SHARES]
            if any(cells):
                lines.append([table, NAMES.get(method, method), *cells])
    return section(
        "One dirty file",
        "Nothing but the file is given; such a share of its cells is wrong, a quarter of them each by the four ways "
        "above. Three detectors each learn from two thirds of the rows, errors included, and judge the rest. All cells "
        "of the file in one order: average precision / the share of wrong ones among the k oddest, k the number of "
        "wrong cells. The default judges cells by its network, so that mlp finds the same ones.",
        grid(["set", "method", *(f"{share:.1%} wrong" for share in SHARES)], lines),
        _by_way(records),
        _reported(records),
    )


def mended_files(records: list[Record]) -> str:
    """Files with errors that were not planted here."""
    if not records:
        return ""
    lines = []
    for name, method, runs in _groups(records):
        n_cells, n_wrong = runs[0]["cells"]["n_cells"], runs[0]["cells"]["n_wrong"]
        lines.append([name, f"{n_wrong:,} of {n_cells:,}", NAMES.get(method, method), _ranked(runs)])
    return section(
        "Dirty files with a clean copy",
        "Nothing is planted: a file with errors, and a copy without them that says what was wrong. Otherwise as above. "
        "Hospital is the table of that name that studies of data cleaning use. In nearly all of its wrong cells "
        "letters are replaced by x, so others have planted them; it shows how typos are found in a table of real "
        "values.",
        command("maskdiff bench cells --sets dirty.csv --clean clean.csv --out results/more/cells.jsonl"),
        grid(["file", "wrong cells", "method", "average precision / among the k oddest"], lines),
        _reported(records),
    )


def _ranked(runs: list[Record]) -> str:
    measures = ("average_precision", "precision_at_k")
    return " / ".join(_mean([100 * run["cells"][name] for run in runs]) for name in measures) if runs else ""


def _by_way(records: list[Record]) -> str:
    """Which errors are among the oddest cells, all shares and tables together, of methods that were run on all."""
    ways, names = list(records[0]["cells"]["by_way"]), {record["set"] for record in records}
    lines = []
    for method in dict.fromkeys(record["method"] for record in records):
        if {record["set"] for record in records if record["method"] == method} != names:
            continue
        runs = [record["cells"]["by_way"] for record in records if record["method"] == method]
        counts = [[sum(run[way][name] for run in runs) for name in ("found", "n")] for way in ways]
        lines.append([NAMES.get(method, method), *(_text(_percent(found, n)) for found, n in counts)])
    said = "Of the errors planted each way, the share that is among the k oddest cells, all files together:"
    return said + "\n\n" + grid(["method", *ways], lines)


def _reported(records: list[Record]) -> str:
    """Cells reported under false-discovery control, where detectors have such a list."""
    lines = []
    for name, method, runs in _groups([record for record in records if "reported" in record["cells"]]):
        cells = [run["cells"] for run in runs]
        found = _mean([_percent(each["reported_wrong"], each["n_wrong"]) for each in cells])
        false = _mean([_percent(each["reported"] - each["reported_wrong"], each["reported"]) for each in cells])
        right = _mean([_percent(each.get("reported_right"), each["reported_wrong"]) for each in cells])
        reported = _mean([each["reported"] for each in cells])
        lines.append([name.replace("+", ", "), method, reported, found, false, right])
    if not lines:
        return ""
    head = ["set", "method", "cells reported", "wrong cells found, %", "of those reported, fine, %", "value right, %"]
    said = (
        "Cells that `find(X).odd_cells` lists at a false-discovery rate of 10%; the file itself calibrates. The value "
        "is right if what is expected in a wrong cell is what stood there before; of numbers, if it is the range:"
    )
    return said + "\n\n" + grid(head, lines)


def cost(records: list[Record]) -> str:
    """How much longer scoring takes where single cells are judged too."""
    used = "score_processor_seconds"
    seconds = {(record["rows"], record["columns"], record["method"]): record[used] for record in records}
    lines = []
    for rows, columns in dict.fromkeys(key[:2] for key in seconds):
        alone, both = (seconds.get((rows, columns, name)) for name in ("whole-grid", "whole-grid-cells"))
        if alone and both:
            lines.append([f"{rows:,}", columns, f"{alone:.1f} s", f"{both:.1f} s", f"{both / alone:.2f} times"])
    if not lines:
        return ""
    return section(
        "Cost",
        "Processor time of scoring all rows of a made-up table with the whole grid, the least of four, without and "
        f"with verdicts on single cells, on {places(records)}, threads: {records[0]['threads']}.",
        command(
            "maskdiff bench speed --rows 5000 --columns 10,17,31 --methods whole-grid,whole-grid-cells \\",
            "    --no-start --out results/more/cell-cost.jsonl",
        ),
        grid(["rows", "columns", "score alone", "with single cells", "ratio"], lines),
    )


def cells_page(records: RecordFolder) -> list[str]:
    """The blocks of the page; none where nothing was measured."""
    found = records["cells"]
    if not found:
        return []
    in_rows = [record for record in found if "planted" in record]
    files = [record for record in found if "by_way" in record.get("cells", {})]
    mended = [record for record in found if "cells" in record and "by_way" not in record["cells"]]
    return [
        "One wrong cell is planted in a copy of every unseen row: detectors learn from four fifths of a table's normal "
        "rows, and the errors are in the others. Rows are found if they are alarms at 1% false alarms; the wrong cell "
        "is named first, or among the first three, in percent of the rows found (or of all rows with an error). The "
        "value is right if what was expected in the wrong cell is what stood there before, of the cells named first; "
        f"of numbers, if it is the range that held them. All seeds together, mostly {number(seeds(found))}.",
        command(
            f"maskdiff bench cells --data DIR --seeds {seeds(found)} --out results/more/cells.jsonl",
            "maskdiff bench cells --sets my.csv --methods default,pairs --out my-cells.jsonl    # a table of your own",
        ),
        f"Measured on {places(found)}.",
        records.note("cells"),
        "Simple methods beside ours: scikit-learn's isolation forest finds the rows and the largest z-score names the "
        "cell; the frequency rule takes the rarest value of a row; counts of pairs take the value that is rarest "
        "beside any other of its row; OutlierTree, where it was measured, has its defaults, and knows no new "
        "categories. Each keeps a tenth of its rows back to set its threshold. In a file the forest's cells are in the "
        "order of their z-scores alone, which serves it best.",
        summary(in_rows),
        *(planted(in_rows, way) for way in IN_ROWS if in_rows),
        false_alarms(in_rows) if in_rows else "",
        one_file(files),
        mended_files(mended),
        cost(records["cell-cost"]),
    ]
