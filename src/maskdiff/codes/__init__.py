"""Field, Schema, Codes: the alphabet all rooms speak."""

from maskdiff.codes.places import schema_places
from maskdiff.codes.rows import Codes, distinct_rows
from maskdiff.codes.schema import BoolArray, Field, FloatArray, IntArray, Schema

__all__ = ["BoolArray", "Codes", "Field", "FloatArray", "IntArray", "Schema", "distinct_rows", "schema_places"]
