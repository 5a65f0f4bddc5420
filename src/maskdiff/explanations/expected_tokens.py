"""Which expected tokens of a text say something. C cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray, Field, FloatArray

# Less likely, a token is one of many that would do; and a token that is likely anywhere says nothing about this place.
_LEAST, _TIMES_ITS_SHARE = 0.2, 2.0


def says_something(field: Field, expected: NDArray[np.int64], probability: FloatArray) -> BoolArray:
    """Whether to name these expected tokens, (C,): words that are likely here, and likelier than anywhere else.

    >>> field = Field("text", "token", (".", "the", "cash", "you"), (40, 40, 10, 10))
    >>> says_something(field, np.array([0, 1, 2, 3]), np.array([0.9, 0.6, 0.6, 0.1]))
    array([False, False,  True, False])
    """
    counts = np.array([*field.counts, sum(field.counts)], dtype=np.float64)  # an unseen token is none to name
    share = (counts / max(counts[-1], 1.0))[expected]
    is_word = np.array([any(map(str.isalnum, field.label(code))) for code in expected.tolist()], dtype=np.bool_)
    likely: BoolArray = (probability >= _LEAST) & (probability >= _TIMES_ITS_SHARE * share)
    return is_word & likely
