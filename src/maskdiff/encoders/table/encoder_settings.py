"""The settings of a TableEncoder, checked before anything is learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskdiff.encoders.table.column_types import general_names
from maskdiff.encoders.table.missing import MissingTexts
from maskdiff.encoders.table.number_format import SIGNS
from maskdiff.errors import SettingError

if TYPE_CHECKING:
    from maskdiff.encoders.table.encoder import TableEncoder

DROP = "drop"
FEWEST = {"max_categories": 1, "bins": 2, "discrete_up_to": 1, "tails": 0, "max_distinct": 2}


def check_settings(encoder: TableEncoder) -> None:
    """Refuse settings that make no sense."""
    for name, fewest in FEWEST.items():
        value = getattr(encoder, name)
        if not isinstance(value, int) or value < fewest:
            raise SettingError(f"{name} must be an integer of at least {fewest}; got {value!r}.")
    for name in ("derive_dates", "free_text"):
        if not isinstance(getattr(encoder, name), bool):
            raise SettingError(f"{name} must be True or False; got {getattr(encoder, name)!r}.")
    if encoder.day_first not in (None, True, False):
        raise SettingError(f"day_first must be True, False or None; got {encoder.day_first!r}.")
    if encoder.decimal not in (None, *SIGNS):
        raise SettingError(f'decimal must be "." or ","; got {encoder.decimal!r}.')
    MissingTexts.of(encoder.missing)
    allowed = [*general_names(), DROP]
    for name, how in (encoder.columns or {}).items():
        if how not in allowed:
            raise SettingError(f"columns[{name!r}] must be one of {', '.join(allowed)}; got {how!r}.")
