"""Rows that the model learned from: their scores say little about new rows."""

from __future__ import annotations

from maskdiff.checks.base import Check, CheckSettings
from maskdiff.checks.counts import CheckCounts

LEARNED_FROM = "rows_learned_from"


def rows_learned_from(counts: CheckCounts, settings: CheckSettings) -> Check | None:
    """Rows that the model learned from, which it finds less odd than they are.

    Where rows repeat, new ones equal some of them by right. So those equal to a single row of the fit decide: there
    have to be more of them than among new rows, or not fewer where more rows are seen altogether.
    """
    learned, n, once = counts.detector.fingerprint_, counts.compared, int(counts.matched.sum())
    least = max(settings.fewest_seen, settings.least_seen_share * n)
    if once < least or not learned.is_overlap(n, counts.seen, once, settings.interval):
        return None
    expected = learned.expected_seen
    share = min(1.0, (counts.seen / n - expected) / (1 - expected))
    rows = "rows labelled normal" if counts.labelled_normal else "rows"
    them = f"{n:,} {rows}" if n == counts.rows else f"{n:,} {rows} that can be compared"
    message = (
        f"{counts.seen:,} of {them} equal rows the model learned from; of new rows about {expected:.0%} would. It has "
        f"seen about {share:.0%} of these rows and finds them less odd than they are, so that nothing here holds for "
        "new rows. Judge rows it has not learned from; to search the rows it was fitted on, find(X) judges each by a "
        "model that has not seen it."
    )
    details = {"rows": n, "seen": counts.seen, "once": once, "expected_share": expected, "learned_share": share}
    return Check(LEARNED_FROM, message, details)
