"""The references of a kernel as a uniform sample of the rows it learned from."""

from __future__ import annotations

import numpy as np

from maskdiff.codes import Codes, IntArray, Schema
from maskdiff.codes.rows import distinct_rows
from maskdiff.detectors.updating.kept_rows import KeptRows
from maskdiff.detectors.updating.stored_rows import StoredRows
from maskdiff.reconstructors import KernelReconstructor


def reference_rows(kernel: KernelReconstructor, schema: Schema, kept: KeptRows) -> StoredRows:
    """Every reference row as often as it is there, without those kept apart that are compared with."""
    values = kernel.codes_NF.cpu().numpy().astype(schema.code_dtype)
    counts = kernel.counts_N.cpu().numpy()
    for name in kept.compared:
        apart: StoredRows = getattr(kept, name)
        counts = counts_without(values, counts, apart.values.reshape(-1, len(schema))[apart.is_known])
    return StoredRows.of(Codes(values[np.repeat(np.arange(len(values)), counts)], schema))


def counts_without(values: IntArray, counts: IntArray, rows: IntArray) -> IntArray:
    """How often each of these distinct rows is there once others, as far as they are among them, are taken away."""
    _, group, _ = distinct_rows(np.concatenate([values, rows.astype(values.dtype)]))
    taken = np.bincount(group[len(values) :], minlength=int(group.max(initial=0)) + 1)
    left: IntArray = np.maximum(counts - taken[group[: len(values)]], 0)
    return left
