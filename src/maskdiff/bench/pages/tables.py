"""The page on tables: quality beside the published values, evidence, alarm rates, contamination, other tables."""

from __future__ import annotations

import numpy as np

from maskdiff.bench.pages.contamination import contamination, contamination_auto
from maskdiff.bench.pages.quality import (
    KERNEL,
    MORE_TABLES,
    NETWORK,
    OURS,
    Quality,
    added_evidence,
    best_of_others,
    mean_pair,
    more_groups,
    published_mean,
    rank_of,
)
from maskdiff.bench.pages.records import RecordFolder
from maskdiff.bench.pages.text_blocks import (
    command,
    grid,
    means,
    number,
    pair,
    places,
    section,
    seeds,
    with_deviation,
)
from maskdiff.bench.published.values import METRICS, published_results
from maskdiff.bench.runs.measure import Record
from maskdiff.bench.tables.alarms_and_evidence import alarm_table


def ranks(quality: Quality) -> str:
    """Average ranks of ours among the published methods."""
    lines = [
        [line["method"], *(f"{line[column]:.2f}" for column in ("overall", *METRICS))]
        for line in quality.ranks.reset_index().to_dict("records")
    ]
    n_sets = number(len(quality.shared))
    return section(
        "Average rank beside the fourteen published methods",
        f"Each line in turn as a fifteenth method, on the {n_sets} sets that are published too; 1 is best.",
        grid(["method", "overall", "ROC", "PR"], lines),
        f"The default is first, or within one published deviation of the best published method, on "
        f"{number(quality.near_the_best('roc_auc'))} of {n_sets} sets for ROC and on "
        f"{number(quality.near_the_best('pr_auc'))} for PR.",
    )


def large_table(quality: Quality, metric: str) -> str:
    """One metric, sets x methods, with the published values."""
    known = published_results().query("metric == @metric").set_index(["method", "set"])
    lines = []
    for name in [*quality.shared, *quality.others]:
        line = [name, *(with_deviation(*quality.value(method, name, metric)) for method in OURS)]
        if name in quality.shared:
            line += [with_deviation(*known.loc[(method, name), ["mean", "std"]]) for method in (NETWORK, KERNEL)]
            best, method = best_of_others(metric, [name])
            line.append(f"{best:.2f} ({method})")
        lines.append([*line, *[""] * (len(OURS) + 4 - len(line))])
    best, method = best_of_others(metric, quality.shared)
    last = [f"mean of the {len(quality.shared)} published sets", *(f"{quality.mean(m, metric):.2f}" for m in OURS)]
    last += [f"{published_mean(m, metric, quality.shared):.2f}" for m in (NETWORK, KERNEL)]
    head = ["set", *OURS, "published: mlp", "kernel", "best of the twelve others"]
    return section(METRICS[metric], grid(head, [*lines, [*last, f"{best:.2f} ({method})"]]))


def evidence(records: list[Record], shared: list[str]) -> str:
    """ROC / PR as the terms of evidence are added."""
    table = added_evidence(records)
    terms = list(table["term"].unique())
    cells = {(line["term"], line["set"]): pair(line["roc_auc"], line["pr_auc"]) for line in table.to_dict("records")}
    lines = [[name, *(cells[term, name] for term in terms)] for name in table["set"].unique()]
    published = table[table["set"].isin(shared)]
    overall = published.groupby("term")[["roc_auc", "pr_auc"]].mean().to_dict("index")
    lines.append(
        [
            f"mean of the {len(shared)} published sets",
            *(pair(overall[term]["roc_auc"], overall[term]["pr_auc"]) for term in terms),
        ]
    )
    by_term = {term: rank_of(part.drop(columns="term")) for term, part in published.groupby("term")}
    lines.append(["average rank among the published", *(f"{by_term[term]:.2f}" for term in terms)])
    return section(
        "One term of evidence after the other",
        "The default is a weighted sum of four terms. ROC / PR of the first, the first two, and so on, from the "
        "same runs.",
        grid(["set", *(f"+ {term}" for term in terms)], lines),
    )


def alarms(records: list[Record]) -> str:
    """Alarm rates of the default."""
    table = alarm_table(records)
    rates, kept = ([str(name) for name in table if str(name).startswith(start)] for start in ("at ", "kept"))
    columns = [name for both in zip(rates, kept, strict=True) for name in both]
    lines = [
        [line["set"], line["runs"], *(f"{line[name]:.2f}" if name in rates else line[name] for name in columns)]
        for line in table.to_dict("records")
    ]
    n_kept, n_runs = int(table[kept].to_numpy().sum()), int(table["runs"].sum()) * len(kept)
    means = " and ".join(f"{np.average(table[name], weights=table['runs']):.2f}% {name}" for name in rates)
    return section(
        "Alarm rates",
        "The share of normal test rows that raise an alarm, in percent, and how many runs keep within what "
        "calibration promises, up to a chance of 1% (beta-binomial: the threshold is itself estimated). Over all runs "
        f"it is {means}. {n_kept} of {n_runs} keep; if all rows were distinct, chance alone would break about "
        f"{round(0.01 * n_runs)}. Equal rows raise an alarm together, so that in tables with few distinct rows the "
        "counts vary more than the interval allows for.",
        grid(["set", "runs", *columns], lines),
    )


def small_tables(records: list[Record], note: str) -> str:
    """Alarm rates of few rows, by how they are calibrated."""
    if not records:
        return ""
    lines = []
    for name in dict.fromkeys(record["set"] for record in records):
        for method in dict.fromkeys(record["method"] for record in records):
            runs = [record for record in records if (record["set"], record["method"]) == (name, method)]
            shares = [[100 * run["false_alarms"][rate] / run["n_normal"] for run in runs] for rate in ("0.01", "0.05")]
            alarms = [f"{np.mean(share):.2f} ± {np.std(share, ddof=1):.2f}" for share in shares]
            roc, pr = (100 * np.mean([run[metric] for run in runs]) for metric in METRICS)
            lines.append([name.replace("@", ", "), method, *alarms, pair(roc, pr)])
    return section(
        "Small tables",
        "The default, learning from 300 or 900 rows: the share of normal test rows that raise an alarm, in percent, "
        f"mean and deviation over {number(seeds(records))} seeds, which also draw the rows. All rows calibrate, each "
        "judged by a network that did not learn from it, or a hundred rows are kept back.",
        command(
            f"maskdiff bench small-tables --data DIR --seeds {seeds(records)} --out results/more/small-tables.jsonl"
        ),
        note,
        grid(["table, rows", "calibration", "at 1%", "at 5%", "ROC / PR"], lines),
    )


FREE_TEXT_SETS = {
    "claims-notes": "claims, odd notes",
    "claims-cells": "claims, odd cells",
    "sms": "text messages, spam",
    "agnews": "news, another topic",
}


def free_text(records: list[Record], note: str) -> str:
    """Tables with a column of free text, read or left out."""
    if not records:
        return ""
    table, methods = means(records), list(dict.fromkeys(record["method"] for record in records))
    n = seeds(records)
    found = {(line["set"], line["method"]): pair(line["roc_auc"], line["pr_auc"]) for line in table.to_dict("records")}
    lines = [[title, *(found.get((name, method), "") for method in methods)] for name, title in FREE_TEXT_SETS.items()]
    return section(
        "Free text",
        "The default on tables with a column of sentences, read as text or left out; ROC / PR, "
        f"{number(n)} seed{'s' if n != 1 else ''}. Generated claims have notes; the odd ones are about another issue "
        "than the claim, about something else, in another language, copied boilerplate or gibberish. Where cells are "
        "odd and the notes are not, reading them costs what the second line shows. Published texts are beside four "
        "columns that say nothing.",
        command(f"maskdiff bench free-text --data DIR --seeds {n} --out results/more/free-text.jsonl"),
        note,
        grid(["table, anomalies", *methods], lines),
    )


def _held_out(n: dict[str, int]) -> str:
    if "held_out" not in n:
        return ""
    return f"{n['held_out']} others, of numbers and one of each source that was left, took no part in any choice."


def more_tables(records: list[Record], note: str) -> str:
    """Tables that are not in the paper."""
    if not records:
        return ""
    table = means(records)
    groups = more_groups(records)
    lines = []
    for method in table["method"].unique():
        of_method = table[table["method"] == method]
        parts = [of_method[of_method["set"].isin(names)] for names in groups.values()]
        lines.append([method, *(mean_pair(part) for part in parts)])
    n = {group: len(names) for group, names in groups.items()}
    return section(
        "More tables",
        f"{n['categories'] + n['numbers']} tables of the KEEL repository that the benchmark does not know, "
        f"{n['categories']} of categories with a few numbers among them and {n['numbers']} of numbers; "
        f'{number(seeds(records))} seeds, ROC / PR. "Plain bins" is the default with ten quantile bins and no tails; '
        'the forest and the neighbours "on numbers" see the numbers themselves. The tables were picked before '
        "anything was measured on them, and then used to choose how numbers are cut and how far apart they lie, how "
        "much the network counts in small tables, how many nearest rows are looked at where rows repeat, and into how "
        f"many parts a search cuts small tables. {_held_out(n)}".rstrip(),
        command(
            "maskdiff bench more-tables --data DIR --out results/more/more-tables.jsonl",
            "maskdiff bench more-tables --data DIR --sets held_out --out results/more/more-tables.jsonl",
        ),
        note,
        grid(["method", *(f"{n[group]} {MORE_TABLES[group]}" for group in groups)], lines),
    )


def tables_page(records: RecordFolder) -> list[str]:
    """The blocks of the page."""
    quality = Quality(records)
    own = [record for record in records["tables"] if record["method"] == "default"]
    return [
        "Tables are split 70/30, stratified by label; only the normal rows of the training part are fitted on. ROC-AUC "
        f"and PR-AUC (average precision) in percent, mean of {number(seeds(records['tables']))} seeds ± sample "
        "deviation. One set of defaults for all data; labels are used only to measure.",
        command(
            "maskdiff bench tables --data DIR --methods ours --seeds 5 --out results/tables.jsonl",
            "maskdiff bench summary --docs docs/results",
        ),
        " ".join([f"Measured on {places(records['tables'])}.", records.note("tables")]).strip(),
        ranks(quality),
        *(large_table(quality, metric) for metric in METRICS),
        evidence(own, quality.shared),
        alarms(own),
        small_tables(records["small-tables"], records.note("small-tables")),
        free_text(records["free-text"], records.note("free-text")),
        contamination(records["contamination"], records.note("contamination")),
        contamination_auto(records["contamination-auto"]),
        more_tables(records["more-tables"], records.note("more-tables")),
    ]
