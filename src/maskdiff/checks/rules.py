"""The rules: each looks at the counts of a run and says one thing, or nothing."""

from __future__ import annotations

import math
from collections.abc import Callable

from maskdiff.checks.base import Check, CheckSettings
from maskdiff.checks.chance import alarms_by_chance
from maskdiff.checks.counts import CheckCounts
from maskdiff.checks.drifted import DriftedColumn, drift_sentence, drifted_columns
from maskdiff.checks.learned_from import rows_learned_from
from maskdiff.checks.one_cause import one_column, one_token


def unknown_columns(counts: CheckCounts, settings: CheckSettings) -> Check | None:
    """Columns of the file that the model never saw."""
    if not counts.unknown:
        return None
    message = f"columns ignored, because the model has never seen them: {', '.join(counts.unknown)}."
    return Check("unknown_columns", message, {"columns": counts.unknown})


def dismissed_alarms(counts: CheckCounts, settings: CheckSettings) -> Check | None:
    """Alarms that rules of the model dismissed."""
    n = counts.dismissed.total()
    if not n:
        return None
    by_rule = ", ".join(f"rule {number}: {times:,}" for number, times in sorted(counts.dismissed.items()))
    message = f"{n:,} of {counts.raised:,} alarms are dismissed, for people judged their like fine ({by_rule})."
    return Check("dismissed_alarms", message, {"dismissed": n, "rules": dict(sorted(counts.dismissed.items()))})


def few_calibration_rows(counts: CheckCounts, settings: CheckSettings) -> Check | None:
    """A threshold that rests on so few calibration rows that hardly any row scores above it."""
    rate, n = counts.false_alarm_rate, len(counts.calibration)
    if rate is None:
        return _few_for_discoveries(counts, settings)
    above = counts.n_above(rate)
    if above >= settings.fewest_above:
        return None
    finest = counts.calibration.finest_rate
    better = next((r for r in settings.higher_rates if r > rate and counts.n_above(r) >= settings.fewest_above), None)
    highest = "the highest" if above == 1 else f"the {above} highest"
    higher = "" if better is None else f" A promise of {_percent(better)} rests on {counts.n_above(better)}."
    ways = "Learn from more normal rows" + ("." if better is None else ", or promise the higher rate.")
    message = (
        f"the threshold rests on {highest} of only {n:,} calibration rows, so that few odd rows score above it and "
        f"other normal rows would move it. With {n:,} rows {_percent(finest)} is the finest rate that can be promised, "
        f"and {_percent(rate)} is promised.{higher} {ways}"
    )
    details = {"calibration_rows": n, "rows_above": above, "finest_rate": finest, "rate": rate, "higher_rate": better}
    return Check("few_calibration_rows", message, details)


def _few_for_discoveries(counts: CheckCounts, settings: CheckSettings) -> Check | None:
    """Benjamini-Hochberg reports nothing unless enough rows have the smallest p-value there is."""
    rate, n = counts.false_discovery_rate, len(counts.calibration)
    assert rate is not None
    needed = math.ceil(counts.rows * counts.calibration.finest_rate / rate)
    if needed <= max(settings.fewest_alarms, settings.largest_needed_share * counts.rows):
        return None
    message = (
        f"with only {n:,} calibration rows nothing is reported unless at least {needed:,} of the {counts.rows:,} rows "
        f"score above all of them. Learn from more normal rows, or promise a false-alarm rate instead."
    )
    return Check("few_calibration_rows", message, {"calibration_rows": n, "rows_needed": needed, "rate": rate})


def number_of_alarms(counts: CheckCounts, settings: CheckSettings) -> Check | None:
    """Far more, or far fewer, alarms than promised, and the columns that drifted."""
    rate = counts.false_alarm_rate
    if rate is None or not counts.rows:
        return None
    expected, (fewest, most) = rate * counts.rows, alarms_by_chance(counts, rate, settings.interval)
    drifted = drifted_columns(counts.codes, settings.most_named) if counts.codes is not None else []
    many = counts.raised > most and counts.raised >= max(settings.times_promised * expected, settings.fewest_alarms)
    few = counts.raised < fewest and counts.raised * settings.times_promised <= expected
    if not few and not (many and _other_rows(counts, settings, drifted)):
        return None
    if few and rows_learned_from(counts, settings) is not None:  # which says why
        return None
    name = "more_alarms_than_promised" if many else "fewer_alarms_than_promised"
    details = {
        "rows": counts.rows,
        "alarms": counts.raised,
        "expected": expected,
        "share_that_looks_normal": counts.normal_share,
        "drift": [column.to_record() for column in drifted],
    }
    return Check(name, (_many if many else _few)(counts, expected, drift_sentence(drifted)), details)


def _other_rows(counts: CheckCounts, settings: CheckSettings, drifted: list[DriftedColumn]) -> bool:
    """Whether many alarms may come from rows that are not like those learned from, rather than from odd ones."""
    strong = any(column.level == "strong" for column in drifted)
    return counts.labelled_normal or strong or counts.normal_share < settings.least_normal_share


def _many(counts: CheckCounts, expected: float, drift: str) -> str:
    rows = "rows labelled normal" if counts.labelled_normal else "rows"
    many = f"About {counts.normal_share:.0%}" if counts.normal_share >= 0.01 else "Hardly any"
    share = f"{many} of them look like the rows that were learned from. "
    either = "" if counts.labelled_normal else "Either many rows are odd, or normal rows have changed. "
    return (
        f"{counts.raised:,} of {counts.rows:,} {rows} are alarms, far more than the {_about(expected)} that "
        f"{_percent(expected / counts.rows)} of normal rows are. {share}{drift}"
        f"{either}If these rows are normal, learn again from such rows."
    )


def _few(counts: CheckCounts, expected: float, drift: str) -> str:
    rows = "rows labelled normal" if counts.labelled_normal else "rows"
    return (
        f"{counts.raised:,} of {counts.rows:,} {rows} are alarms, far fewer than the {_about(expected)} that "
        f"{_percent(expected / counts.rows)} of normal rows are: these vary less than the rows of the calibration. "
        f"They may be only a part of what is normal. {drift}".rstrip()
    )


def _about(expected: float) -> str:
    return f"{expected:.1g}" if expected < 1 else f"{expected:,.0f}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


# In the order in which they are read.
RULES: tuple[Callable[[CheckCounts, CheckSettings], Check | None], ...] = (
    unknown_columns,
    rows_learned_from,
    dismissed_alarms,
    few_calibration_rows,
    one_column,
    one_token,
    number_of_alarms,
)


def run_checks(counts: CheckCounts, settings: CheckSettings | None = None) -> list[Check]:
    """What there is to know about the rows counted so far.

    >>> from maskdiff import TableDetector
    >>> detector = TableDetector("kernel").fit([["cat", "meow"], ["dog", "woof"]] * 50)
    >>> counts = CheckCounts(detector).add(detector.judge([["cat", "woof"], ["cat", "meow"]]))
    >>> [check.name for check in run_checks(counts)]
    ['few_calibration_rows']
    """
    found = (rule(counts, settings or CheckSettings()) for rule in RULES)
    return [check for check in found if check is not None]
