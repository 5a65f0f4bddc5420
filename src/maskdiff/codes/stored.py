"""Checks on a schema that came from a model file."""

from __future__ import annotations

import numpy as np

from maskdiff.codes.places import schema_places
from maskdiff.codes.schema import Field, Schema
from maskdiff.state import check, fits

# More rows cannot be counted exactly in double precision.
_MOST_ROWS = 1 << 53


def check_schema(schema: Schema) -> Schema:
    """This schema, if every field has codes, each seen at least once, and everything that follows is finite."""
    check(len(schema) > 0, "it has no columns")
    for field in schema:
        _check_field(field)
    derived = np.concatenate([schema.unseen_charge, schema_places(schema)[1]])
    check(np.isfinite(derived).all(), "the counts of its columns lead to numbers that are not finite")
    return schema


def _check_field(field: Field) -> None:
    what = f"column {field.name!r}"[:100]
    check(fits(field.name, str) and fits(field.labels, tuple[str, ...]), f"{what} has names that are no texts")
    check(len(field.labels) == len(field.counts) > 0, f"{what} has {len(field.labels)} labels")
    check(fits(field.counts, tuple[int, ...]) and min(field.counts) > 0, f"{what} has counts that are not positive")
    check(sum(field.counts) < _MOST_ROWS, f"{what} counts more rows than can be counted")
    check(fits(field.singletons, int) and 0 <= field.singletons <= sum(field.counts), f"{what} has too many singletons")
