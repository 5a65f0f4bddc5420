"""What anomalies among the rows to learn from cost: two blocks of the page on tables."""

from __future__ import annotations

import pandas as pd

from maskdiff.bench.pages.text_blocks import command, grid, means, number, pair, places, section, seeds
from maskdiff.bench.runs.measure import Record
from maskdiff.bench.studies.contamination import SHARES, alarm_share, table_and_share

SHOWN = {"default, told the share": "default, given the share"}


def contamination(records: list[Record], note: str) -> str:
    """What anomalies among the training rows cost."""
    if not records:
        return ""
    return section(
        "Contamination",
        "Anomalies among the rows to learn from, in percent of them; ROC / PR, "
        f'{number(seeds(records))} seeds. The rows to score stay the same. "Given the share" is '
        "`TableDetector(contamination=share)`; the plain score is the network's mean surprise.",
        command("maskdiff bench contamination --data DIR --out results/more/contamination.jsonl"),
        note,
        _contaminated(records),
        _alarms_when_contaminated(records),
    )


def contamination_auto(records: list[Record]) -> str:
    """What is won back where the oddest rows of a search are left out: a share given, or as many as stand out."""
    if not records:
        return ""
    n_seeds = seeds(records)
    return section(
        "Contamination, as rows are left out now",
        "The default as it is now; given the share; and where the scores decide which rows are left out, "
        f'`TableDetector(contamination="auto")`; what is empty was not run; {number(n_seeds)} '
        f"{'seed' if n_seeds == 1 else 'seeds'}, on {places(records)}. Half of what anomalies cost was to be won back "
        "without being told how many they are. It is not: [what was tried]"
        "(tried.md#anomalies-among-the-rows-to-learn-from). The command measures more than is shown here.",
        command("maskdiff bench contamination --data DIR --seeds 1 --out results/more/contamination-auto.jsonl"),
        _contaminated(records),
    )


def _contaminated(records: list[Record]) -> str:
    """ROC / PR of each detector by the share of anomalies, and the mean of the tables that were run with all shares."""
    table = means(records)
    table[["table", "share"]] = [table_and_share(name) for name in table["set"]]
    shares = [share for share in SHARES if share in set(table["share"])]
    names, methods = sorted(table["table"].unique()), sorted(table["method"].unique())
    complete = [name for name in names if set(table.query("table == @name")["share"]) == set(shares)]
    lines = []
    for title, of in [*((name, [name]) for name in names), (f"mean of {len(complete)}", complete)]:
        for method in methods:
            part = table[table["table"].isin(of) & (table["method"] == method)]
            lines.append([title, SHOWN.get(method, method), *_by_share(part, shares, len(of))])
    return grid(["set", "detector", *(f"{share:.0%}" for share in shares)], lines)


def _by_share(table: pd.DataFrame, shares: list[float], n_tables: int) -> list[str]:
    """ROC / PR by share, where all of so many tables were run with it."""
    by_share = table.groupby("share")
    found, n_found = by_share[["roc_auc", "pr_auc"]].mean(), by_share["table"].nunique()
    return [pair(*found.loc[share]) if n_found.get(share) == n_tables else "" for share in shares]


def _alarms_when_contaminated(records: list[Record]) -> str:
    most = max(SHARES)
    shares = pd.DataFrame(
        [
            {"set": record["set"], "alarms": alarm_share(record)}
            for record in records
            if record["method"] == "default" and table_and_share(record["set"])[1] == most
        ]
    )
    by_set = 100 * shares.groupby("set")["alarms"].mean()
    return (
        f"With {most:.0%} of anomalies {by_set.min():.1f} to {by_set.max():.1f}% of the normal rows raise an alarm at "
        "a false-alarm rate of 5%."
    )
