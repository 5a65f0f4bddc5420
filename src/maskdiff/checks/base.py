"""What a check finds, and from where on it says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from maskdiff.errors import SettingError


@dataclass(frozen=True)
class Check:
    """Something to know before the alarms are believed.

    `name` says what it is about, `message` what was found and the way out, `details` the numbers behind it.
    """

    name: str
    message: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name as words.

        >>> Check("one_column", "all due to 'id'.").title
        'One column'
        """
        return self.name.replace("_", " ").capitalize()

    def to_record(self) -> dict[str, Any]:
        """As a dict of plain values."""
        return {"name": self.name, "message": self.message, "details": dict(self.details)}


@dataclass(frozen=True)
class CheckSettings:
    """From where on a check says something.

    Fewer than `fewest_alarms` alarms say nothing about their number or their columns. One column is named where
    there are more alarms than chance gives, `one_column_share` of them are mostly due to it, and most of these share a
    value there (all unseen values count as one) or it adds `least_growth` times as much to them as to other rows. So
    is one token of texts or sequences, where it is the strongest `least_growth` times as often in alarms as elsewhere.
    The number of alarms is far off where it is outside the `interval` that chance allows, `times_promised` times
    too high or too low; as odd rows are what is looked for, too many also need a column that drifted strongly, or a
    share of rows that look normal below `least_normal_share`. A threshold rests on too few calibration rows where
    fewer than `fewest_above` are as high; then the first of `higher_rates` that does better is named. A false-discovery
    rate does so where more than `fewest_alarms` rows, and more than `largest_needed_share` of all, would have to score
    above every calibration row. Rows were learned from where at least `fewest_seen` of them, and `least_seen_share`,
    equal single rows of the fit, and that is more than chance gives in the same `interval`. At most
    `most_named` columns are named as those that drifted most.
    """

    fewest_alarms: int = 10
    one_column_share: float = 0.9
    least_growth: float = 1.5
    interval: float = 0.999
    times_promised: float = 3.0
    least_normal_share: float = 0.5
    fewest_above: int = 3
    largest_needed_share: float = 0.01
    fewest_seen: int = 10
    least_seen_share: float = 0.05
    higher_rates: tuple[float, ...] = (0.05, 0.1, 0.2)
    most_named: int = 3

    def __post_init__(self) -> None:
        shares = (self.one_column_share, self.interval, self.least_normal_share, self.largest_needed_share)
        if not all(0 < share <= 1 for share in (*shares, self.least_seen_share, *self.higher_rates)):
            raise SettingError(f"shares and rates must be above 0 and at most 1; got {self}.")
        factors = (self.fewest_alarms, self.least_growth, self.times_promised, self.fewest_above, self.most_named)
        if min(*factors, self.fewest_seen) < 1:
            raise SettingError(f"numbers and factors must be at least 1; got {self}.")
