"""What a search of one file says about all of its rows together, as its page shows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from maskdiff.checks import Check
from maskdiff.detectors.finding.tail import OddEstimate


@dataclass(frozen=True)
class SearchFacts:
    """How many rows were found at which false-discovery rate, about how many are odd, and how many were left out.

    No model of normal rows was there before: the rows not left out say what is usual. `checks` is what to know before
    the rows found are believed. Rows found score above the `threshold`; None: none was found.
    """

    found: int
    false_discovery_rate: float
    odd: OddEstimate
    left_out: int
    checks: list[Check] = field(default_factory=list)
    threshold: float | None = None
