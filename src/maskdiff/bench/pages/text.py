"""The page on texts: quality, alarms, aggregates of the same surprises, baselines."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean, stdev

from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.pages.text_blocks import command, grid, means, number, pair, places, section, seeds
from maskdiff.bench.published.values import published_texts
from maskdiff.bench.runs.measure import Record

SETS = {"sms": "SMS", "email": "Email", "agnews": "AG News", "hdfs": "HDFS sessions"}
# By the methods' names in the records.
OURS = {"default": "default", "encoder": "with an embedder"}
PUBLISHED = {"the paper": "Parametric MaskDiff-AD", "DATE": "DATE"}


def own_records(records: RecordFolder) -> list[Record]:
    """Records of our detectors; the command names a run with an embedder after it, "default+NAME"."""
    return [
        {**record, "method": "encoder"} if record["method"].startswith("default+") else record
        for record in records["text"]
    ]


def of(records: Iterable[Record], method: str, set_name: str) -> list[Record]:
    """The records of one method on one set."""
    return [record for record in records if record["method"] == method and record["set"] == set_name]


def spread(records: list[Record]) -> str:
    """Mean and deviation of ROC / PR."""
    if not records:
        return ""
    roc, pr = ([100 * record[metric] for record in records] for metric in ("roc_auc", "pr_auc"))
    if len(records) < 2:
        return pair(roc[0], pr[0])
    return f"{fmean(roc):.2f} ± {stdev(roc):.2f} / {fmean(pr):.1f} ± {stdev(pr):.1f}"


def published(method: str, set_name: str) -> str:
    """ROC / PR as published."""
    table = published_texts()
    found = table[(table["method"] == method) & (table["set"] == set_name)].set_index("metric")["mean"]
    return pair(found["roc_auc"], found["pr_auc"]) if len(found) else ""


def quality(records: list[Record]) -> str:
    """Ours beside the published."""
    lines = [
        [title, *(spread(of(records, method, name)) for method in OURS)]
        + [published(method, name) for method in PUBLISHED.values()]
        for name, title in SETS.items()
        if of(records, "default", name)
    ]
    return section(
        "Beside the published figures",
        f"ROC / PR, {number(seeds(records))} seeds ± sample deviation. The paper's figures for AG News are of the full "
        "set, ours of a part of it. The embedder is the 6-layer MiniLM.",
        grid(["set", *OURS.values(), *PUBLISHED], lines),
    )


def alarms(records: list[Record]) -> str:
    """What alarms at the calibrated threshold are worth."""
    lines = []
    for name, title in SETS.items():
        for method, label in OURS.items():
            found = [record for record in of(records, method, name) if "f1" in record]
            if found:
                f1, hits, false = (
                    fmean(r[key] for r in found) for key in ("f1", "anomalies_found", "alarms_among_normal")
                )
                lines.append([f"{title}, {label}", f"{f1:.2f}", f"{hits:.0%}", f"{false:.1%}"])
    head = ["", "F1", "anomalies found", "normal rows above it"]
    return section("At the threshold for 1% false alarms", grid(head, lines)) if lines else ""


def aggregates(records: list[Record]) -> str:
    """What other aggregates of the same surprises would give."""
    chosen = {name: [r for r in of(records, "default", name) if r.get("other_aggregates")] for name in SETS}
    chosen = {name: found for name, found in chosen.items() if found}
    if not chosen:
        return ""
    ways = list(dict.fromkeys(way for found in chosen.values() for r in found for way in r["other_aggregates"]))
    lines = [[way, *(_aggregate(found, way) for found in chosen.values())] for way in ways]
    return section(
        "Other aggregates of the same surprises",
        "How a text's token surprises become one number, ROC / PR. `rms+20` is the default for texts: the root mean "
        "square, with 20 typical tokens added to every text so that two rare tokens do not make a short text look odd. "
        "The number 20 was chosen with labels in view.",
        grid(["aggregate", *(SETS[name] for name in chosen)], lines),
    )


def _aggregate(records: list[Record], way: str) -> str:
    found = [record["other_aggregates"][way] for record in records if way in record["other_aggregates"]]
    return pair(*(100 * fmean(each[metric] for each in found) for metric in ("roc_auc", "pr_auc"))) if found else ""


def baselines(records: list[Record], own: list[Record]) -> str:
    """Token codes and embeddings, beside ours."""
    if not records:
        return ""
    names = [name for name in SETS if any(record["set"] == name for record in records)]
    table = {(line["method"], line["set"]): line for line in means([*records, *own]).to_dict("records")}
    methods = sorted({record["method"] for record in records}, key=lambda name: ("+" in name, name))
    lines = []
    for method in [*methods, *OURS]:
        cells = [table.get((method, name)) for name in names]
        lines.append([OURS.get(method, method), *(pair(c["roc_auc"], c["pr_auc"]) if c else "" for c in cells)])
    return section(
        "Baselines",
        "ROC / PR. Without a plus: GPT-2's token codes in 256 columns; with one: embeddings, one seed. The paper does "
        "not say how it makes columns of tokens, and our figures differ from its.",
        command(
            "maskdiff bench text --data DIR --methods copod,ecod,hamming-knn,iforest --seeds 5 \\",
            "    --out results/text-baselines.jsonl",
            "maskdiff bench text --data DIR --embedder all-MiniLM-L6-v2/ --methods embedded --seeds 1 \\",
            "    --out results/text-baselines.jsonl",
        ),
        grid(["method", *(SETS[name] for name in names)], lines),
    )


def text_page(records: RecordFolder) -> list[str]:
    """The blocks of the page."""
    own = own_records(records)
    return [
        "`TextDetector` as it is, 2 layers of width 128 trained on the normal texts, with no pre-trained part; "
        "`SequenceDetector` for HDFS. The test set is 30% of the normal texts and the benchmark's number of anomalies; "
        "HDFS as it is published.",
        command(
            "maskdiff bench text --data DIR --sets sms,email,agnews,hdfs --methods default --out results/text.jsonl",
            "maskdiff bench text --data DIR --embedder all-MiniLM-L6-v2/ --methods default+all-MiniLM-L6-v2 \\",
            "    --out results/text.jsonl",
        ),
        f"Measured on {places(own)}. {records.note('text')}".rstrip(),
        quality(own),
        alarms(own),
        aggregates(own),
        baselines(records["text-baselines"], own),
        "Speed of training and scoring: [speed](speed.md).",
    ]
