"""The page on scale: how many rows to learn from, what scoring costs on Ray, and what billions of rows would."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.pages.text_blocks import command, grid, pair, section
from maskdiff.bench.runs.measure import Record
from maskdiff.bench.studies.learned_rows import NUMBERS, SETS
from maskdiff.bench.studies.scale import PLAIN, STAGES, efficiency, largest_runs

# What the projection assumes of a node, and of the files that a job writes.
CORES, NETWORK_BYTES, NODE_MEMORY_GB = 16, 1.25e9, 64
PART_BYTES, RECORD_BYTES, FIND_BYTES = 1 << 28, 400, 40
PROJECTED = (1e9, 1e11)
COMMANDS = (
    "maskdiff bench learned-rows --data DIR --seeds 5",
    "maskdiff bench scale --folder DIR --rows 1000000",
    "maskdiff bench scale --folder DIR --rows 1000000 --columns 3",
)


def learned_rows(records: Sequence[Record]) -> str:
    """ROC and PR by the number of rows learned from, of the splits that were run with every number."""
    found = {name: _by_number(records, name) for name in SETS}
    if not all(len(means) for means, _ in found.values()):
        return ""
    heads = ["set", "rows", "splits", *(number if number == "all" else f"{int(number):,}" for number in NUMBERS)]
    rows = {record["set"].partition("@")[0]: record["n_train"] for record in records if record["set"].endswith("@all")}
    lines = [[name, f"{rows[name]:,}", n, *(pair(*each) for each in means)] for name, (means, n) in found.items()]
    at = NUMBERS.index("100000")
    roc, pr = np.mean([np.subtract(means[-1], means[at]) for means, _ in found.values()], axis=0)
    return section(
        "Rows learned from",
        "ROC-AUC / PR-AUC of the default on 20,000 rows, by how many of the normal rows it learned from.",
        grid(heads, lines),
        f"From 100,000 to all rows the mean of the sets changes by {roc:+.1f} / {pr:+.1f}: on a cluster `fit` trains "
        "on a sample of 100,000 rows. The statistics of the columns are those of all rows.",
    )


def _by_number(records: Sequence[Record], name: str) -> tuple[list[tuple[float, float]], int]:
    """ROC and PR for each number of rows, and how many splits were run with all of them."""
    runs = {(record["set"], record["seed"]): record for record in records}
    seeds = [seed for seed in {seed for _, seed in runs} if all((f"{name}@{n}", seed) in runs for n in NUMBERS)]
    means = []
    for number in NUMBERS if seeds else ():
        measured = [[runs[f"{name}@{number}", seed][one] for one in ("roc_auc", "pr_auc")] for seed in seeds]
        roc, pr = 100 * np.mean(measured, axis=0)
        means.append((float(roc), float(pr)))
    return means, len(seeds)


def throughput(records: Sequence[Record]) -> str:
    """The plain runs and those on Ray, of each width of rows."""
    runs = largest_runs(records)
    plain = _plain(next(iter(runs.values())))
    settings = plain["settings"]
    return section(
        "Scoring",
        f"{settings['files']} Parquet files, scored by the default, which learned from {settings['learned_rows']:,} "
        f"rows ({plain['device']}). A core's time is processor time of the process that scores, without starting it.",
        grid(
            [
                *("columns", "rows", "run", "µs of a core per row", "rows per core and second", "of the plain run"),
                *("seconds", "to start"),
            ],
            [line for alike in runs.values() for line in _throughput_lines(alike)],
        ),
    )


def _throughput_lines(records: Sequence[Record]) -> Iterator[list[str]]:
    shares = {record["method"]: share for record, share in efficiency(records)}
    for record in records:
        if record["method"] != STAGES:
            yield [
                f"{record['settings']['columns']}",
                f"{record['rows']:,}",
                record["method"],
                f"{record['microseconds_per_row']:.1f}",
                f"{record['rows_per_core_second']:,.0f}",
                f"{100 * shares.get(record['method'], 1.0):.0f}%",
                f"{record['seconds']:.0f}",
                f"{record['start_seconds']:.0f}",
            ]


def stages(records: Sequence[Record]) -> str:
    """Where the time of a row goes, for each width of rows."""
    found = {
        f"{number} columns": record["shares"]
        for number, alike in largest_runs(records).items()
        for record in alike
        if record["method"] == STAGES
    }
    if not found:
        return ""
    lines = [
        [stage, *(f"{100 * shares[stage]:.0f}%" for shares in found.values())] for stage in next(iter(found.values()))
    ]
    return section("Where the time goes", "Shares of processor time.", grid(["stage", *found], lines))


def projection(records: Sequence[Record]) -> str:
    """What the measured costs mean for very many rows."""
    records = next(iter(largest_runs(records).values()))
    plain, ray = _plain(records), [record for record, _ in efficiency(records)]
    cost = max(record["microseconds_per_row"] for record in ray) / 1e6
    size, written = plain["settings"]["bytes_per_row"], plain["bytes_written_per_row"]
    lines = [[f"{rows:.0e}".replace("e+", "e"), *_projected(rows, cost, size + written)] for rows in PROJECTED]
    network, memory = CORES * (size + written) / cost, CORES * plain["peak_memory_mb"] / 1024
    return section(
        "Projection",
        f"From the slowest run with 20 columns on Ray, {1e6 * cost:.1f} µs of a core per row, {size:.0f} bytes read "
        f"and {written:.0f} written for each, with nodes of {CORES} cores. Calculated, not measured.",
        grid(
            ["rows", "core hours", "hours on 64 nodes", "TB moved", "parts", "manifest", "`find` on the driver"], lines
        ),
        f"A node moves {network / 1e6:,.1f} MB/s, {100 * network / NETWORK_BYTES:.2g}% of 10 Gbit/s, and holds "
        f"{memory:,.1f} GB ({plain['peak_memory_mb']:,.0f} MB for each worker): processors are used up first, not the "
        f"network nor memory. What breaks first is the driver of `find`, which holds {FIND_BYTES} bytes for each row "
        f"({NODE_MEMORY_GB} GB are full at {NODE_MEMORY_GB * 1e9 / FIND_BYTES:.1e} rows), then the manifest of "
        "`score`, which is written as one file. Scoring and fitting hold nothing that grows with the rows.",
    )


def _projected(rows: float, cost: float, moved: float) -> list[str]:
    hours, parts = rows * cost / 3600, rows * moved / PART_BYTES
    return [
        *(f"{hours:,.0f}", f"{hours / 64 / CORES:,.2g}", f"{rows * moved / 1e12:,.2f}", f"{parts:,.0f}"),
        *(f"{parts * RECORD_BYTES / 1e6:,.1f} MB", f"{rows * FIND_BYTES / 1e9:,.0f} GB"),
    ]


def _plain(records: Sequence[Record]) -> Record:
    return next(record for record in records if record["method"] == PLAIN)


def scale_page(records: RecordFolder) -> list[str]:
    """The blocks of the page."""
    learned, measured = records["learned-rows"], records["scale"]
    blocks = [learned_rows(learned)]
    if measured:
        blocks += [throughput(measured), stages(measured), projection(measured)]
    blocks = [block for block in blocks if block]
    notes = [records.note(name) for name in ("learned-rows", "scale")]
    return [*blocks, *filter(None, notes), command(*COMMANDS)] if blocks else []
