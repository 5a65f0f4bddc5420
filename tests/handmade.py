"""Schemas, codes and views built by hand, for the rooms that know nothing of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from maskdiff.codes import Codes, Field, Schema
from maskdiff.codes.windows import Windows, cut_rows
from maskdiff.masking import MaskedViews, as_rows


def schema_of(values: Any, sizes: Sequence[int] | None = None) -> Schema:
    """The schema of normal rows with these codes, each field as large as its largest code needs."""
    values = np.asarray(values)
    sizes = values.max(axis=0) + 1 if sizes is None else sizes
    fields = []
    for j, size in enumerate(sizes):
        counts = np.bincount(values[:, j], minlength=size)
        labels = tuple(f"v{code}" for code in range(size))
        fields.append(Field(f"f{j}", "category", labels, tuple(counts.tolist()), int((counts == 1).sum())))
    return Schema(tuple(fields))


def codes_of(values: Any, schema: Schema | None = None, real: Any = None) -> Codes:
    """These rows; the schema is their own unless one is given."""
    values = np.asarray(values)
    schema = schema_of(values) if schema is None else schema
    return Codes(values.astype(schema.code_dtype), schema, real)


def random_codes(n: int, sizes: Sequence[int], seed: int = 0) -> Codes:
    """`n` rows that hold every code of every field; lower codes are more frequent."""
    rng = np.random.default_rng(seed)
    columns = []
    for size in sizes:
        skewed = np.minimum(rng.integers(0, size, n), rng.integers(0, size, n))
        columns.append(rng.permutation(np.concatenate([np.arange(size), skewed])[:n]))
    values = np.stack(columns, axis=1)
    return codes_of(values, schema_of(values, sizes))


def windows_of(rows: Sequence[Sequence[int]], schema: Schema, *, max_length: int = 64, overlap: int = 16) -> Windows:
    """Rows of token codes, each of its own length, cut into windows."""
    codes = np.concatenate([np.empty(0, np.int64), *(np.asarray(row, dtype=np.int64) for row in rows)])
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    return cut_rows(codes, lengths, schema, max_length=max_length, overlap=overlap)


def views_of(codes: Codes, hidden: Any, mask_rate: float = 0.5) -> MaskedViews:
    """These rows through these masks, (B or 1, K, F)."""
    masks = torch.as_tensor(np.asarray(hidden, dtype=bool))
    return as_rows(codes).views(masks, torch.full((1, masks.shape[1]), mask_rate))


def random_hidden(n: int, n_views: int, n_fields: int, seed: int = 0, rate: float = 0.5) -> Any:
    """Masks drawn at one rate, (n, K, F)."""
    return np.random.default_rng(seed).random((n, n_views, n_fields)) < rate


def recorded_on_cpu(step: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
    """Like a CUDA graph: recording changes nothing, and every replay leaves its loss in the same place."""
    loss = torch.full((), torch.nan)
    return lambda: loss.copy_(step()) and None, loss
