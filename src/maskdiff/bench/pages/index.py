"""The first page: how good, how fast, where it loses, one picture each."""

from __future__ import annotations

from maskdiff.bench.figures.bars import BLUE, GREY, RED, Bar, bar_chart
from maskdiff.bench.pages.quality import Quality
from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.pages.speed import on, total
from maskdiff.bench.pages.text import OURS as TEXT_METHODS
from maskdiff.bench.pages.text import SETS as TEXT_SETS
from maskdiff.bench.pages.text import of, own_records, published, spread
from maskdiff.bench.pages.text_blocks import command, grid, number, seconds, section, times


def good(quality: Quality) -> str:
    """Average rank, means, and the picture of ranks."""
    ranks = quality.fifteen["overall"]
    second = str(ranks.drop("maskdiff, default").idxmin())
    n = number(len(quality.shared))
    return section(
        "How good",
        f"On the {n} tables of the paper the default has an average rank of {ranks['maskdiff, default']:.2f} among "
        f"fifteen methods (1 is best; the best of the others is {second} with {ranks[second]:.2f}). Its mean "
        f"ROC-AUC is {quality.mean('default', 'roc_auc'):.1f}%, its mean PR-AUC "
        f"{quality.mean('default', 'pr_auc'):.1f}%. It is first, or within one published deviation of the best "
        f"published method, on {number(quality.near_the_best('roc_auc'))} tables for ROC and on "
        f"{number(quality.near_the_best('pr_auc'))} for PR.",
        "![Average rank of the default and fourteen published methods](ranks.svg)",
    )


def ranks_picture(quality: Quality) -> str:
    """The default among the fourteen published methods."""
    ranks = quality.fifteen["overall"]
    bars = [
        Bar(str(name), float(rank), f"{rank:.2f}", BLUE if str(name).startswith("maskdiff") else GREY)
        for name, rank in ranks.items()
    ]
    return bar_chart(f"Average rank on {len(quality.shared)} tables, lower is better", bars)


def fast(records: RecordFolder) -> str:
    """Seconds on a small machine."""
    chosen = on(records["runtime-idle"], "bank")
    record = chosen["default"]
    gpu = on(records["runtime-gpu"], "bank")["default"]
    return section(
        "How fast",
        f"On {record['threads']} idle CPU cores the default learns from {record['n_train']:,} rows of "
        f"{record['n_features']} columns (bank) in {seconds(record['fit_seconds'])} s and scores {record['n_test']:,} "
        f"in {seconds(record['score_seconds'])} s; on an NVIDIA H200 in {seconds(gpu['fit_seconds'])} s and "
        f"{seconds(gpu['score_seconds'])} s. The picture is of one thread, all methods in one run.",
        "![Seconds to fit and score bank, by method, on one thread](speed.svg)",
    )


def speed_picture(records: RecordFolder) -> str:
    """Seconds to fit and score, every method on one thread."""
    chosen = on(records["runtime"], "bank")
    ours = ("default", "mlp", "kernel", "mlp-paper", "kernel-paper")
    bars = [
        Bar(name, total(record), f"{seconds(total(record))} s", BLUE if name in ours else GREY)
        for name, record in chosen.items()
    ]
    return bar_chart("Seconds to fit and score bank, one thread", bars, "blue: maskdiff")


def losses(quality: Quality) -> str:
    """The tables on which the best published method is clearly ahead."""
    table = quality.margins()
    behind = table[table["margin"] < -table["deviation"]].sort_values("margin")
    lines = [
        [name, f"{line['ours']:.1f}", f"{line['best']:.1f} ± {line['deviation']:.1f}", line["method"]]
        for name, line in behind.to_dict("index").items()
    ]
    return section(
        "Where it loses",
        f"On {number(len(lines))} tables the best published method is ahead by more than one published deviation "
        "(ROC-AUC). Which method that is differs from table to table. What was tried against it without a gain: "
        "[tried](tried.md).",
        grid(["table", "default", "best published", "method"], lines),
        "![ROC-AUC of the default less that of the best published method, by table](margins.svg)",
    )


def margins_picture(quality: Quality) -> str:
    """The default less the best published method, by table."""
    table = quality.margins().sort_values("margin", ascending=False)
    bars = [
        Bar(str(name), line["margin"], f"{line['margin']:+.1f}", RED if line["margin"] < -line["deviation"] else GREY)
        for name, line in table.to_dict("index").items()
    ]
    note = "red: further behind than one published deviation"
    return bar_chart("ROC-AUC less that of the best published method, points", bars, note)


def texts(records: RecordFolder) -> str:
    """Texts, in one table."""
    own = own_records(records)
    lines = [
        [title, *(spread(of(own, method, name)) for method in TEXT_METHODS), published("Parametric MaskDiff-AD", name)]
        for name, title in TEXT_SETS.items()
        if of(own, "default", name)
    ]
    record = records["text-speed"][-1]
    ratio = times(record["plain_scoring"]["seconds"] / record["moved_scoring"]["seconds"])
    return section(
        "Texts",
        f"ROC / PR; more: [texts](text.md). At the paper's size scoring is {ratio} as fast as a plain implementation.",
        grid(["set", *TEXT_METHODS.values(), "the paper"], lines),
    )


def index_page(records: RecordFolder) -> list[str]:
    """The blocks of the page."""
    quality = Quality(records)
    return [
        "One set of defaults for all data; labels are used only to measure. Every figure on these pages comes from a "
        "record in `results/`; a test compares the pages with the records.",
        "[Tables](tables.md) · [beside the paper](paper.md) · [baselines](baselines.md) · "
        + ("[which method](choose.md) · " if records["more-tables"] else "")
        + ("[wrong cells](cells.md) · " if records["cells"] else "")
        + ("[one file](find.md) · " if records["find"] else "")
        + "[texts](text.md) · [speed](speed.md) · [what costs what](performance.md) · [tried](tried.md)",
        good(quality),
        fast(records),
        losses(quality),
        texts(records),
        section(
            "Repeating it",
            command(
                "maskdiff bench tables --data DIR --methods ours --seeds 5 --out results/tables.jsonl",
                "maskdiff bench summary --docs docs/results",
            ),
        ),
    ]
