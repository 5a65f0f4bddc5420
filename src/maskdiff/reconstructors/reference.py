"""Normal rows kept as they are, equal ones once with their number. N distinct rows, F fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskdiff.codes import Codes, Schema
from maskdiff.state import check
from maskdiff.state.tensors import Tensors, check_names, check_tensor

# More rows cannot be counted exactly in the double precision of the kernel's sums.
_MOST_ROWS = 1 << 53


@dataclass(frozen=True, eq=False)
class ReferenceRows:
    """The distinct rows (N, F) and how many normal rows each stands for (N,)."""

    codes_NF: Tensor
    counts_N: Tensor

    @classmethod
    def of(cls, codes: Codes, device: Any) -> ReferenceRows:
        distinct, _inverse, counts = codes.distinct()
        values = torch.from_numpy(distinct.values.astype(np.int64))
        # A copy: these counts are kept with the rows, and other references to them count the same.
        return cls(values.to(device), torch.from_numpy(counts.copy()).to(device))

    def to_tensors(self) -> dict[str, Tensor]:
        """The rows in as few bytes as their codes need."""
        small = self.codes_NF.to(torch.int32)
        return {"codes": small.to(torch.uint8) if int(small.max()) < 256 else small, "counts": self.counts_N}

    @classmethod
    def from_tensors(cls, tensors: Tensors, schema: Schema, device: Any) -> ReferenceRows:
        """The rows that `to_tensors` gave, if all of their codes are the schema's."""
        check_names(tensors, "codes", "counts")
        codes_NF = check_tensor("codes", tensors["codes"], (None, len(schema)), torch.uint8, torch.int32).long()
        counts_N = check_tensor("counts", tensors["counts"], (len(codes_NF),), torch.int64)
        inside = (codes_NF >= 0) & (codes_NF < torch.from_numpy(schema.sizes))
        check(bool(inside.all()), "its reference rows hold codes that their columns do not have")
        # Each one first: a sum of large numbers may wrap around.
        few = bool(((counts_N > 0) & (counts_N < _MOST_ROWS // len(counts_N))).all())
        check(few, "the numbers of its reference rows are not positive, or too large")
        return cls(codes_NF.to(device), counts_N.clone().to(device))


def compact_codes(codes: Tensor, sizes: NDArray[np.int64]) -> NDArray[Any]:
    """Codes of fields of these sizes, in as few bytes as they need."""
    return np.ascontiguousarray(codes.numpy().astype(np.min_scalar_type(int(sizes.max(initial=1)) - 1)))
