"""Whether the alarms of a run can be believed: what to know before looking at them, found while rows are judged.

    counts = CheckCounts(detector)
    for rows in batches:
        counts.add(detector.judge(rows))
    for check in run_checks(counts):
        print(check.message)

`maskdiff.jobs` does so after every file, and the report shows what was found.
"""

from maskdiff.checks.base import Check, CheckSettings
from maskdiff.checks.counts import CheckCounts
from maskdiff.checks.learned_from import LEARNED_FROM
from maskdiff.checks.rules import RULES, run_checks

__all__ = ["LEARNED_FROM", "RULES", "Check", "CheckCounts", "CheckSettings", "run_checks"]
