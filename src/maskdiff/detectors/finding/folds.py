"""Which fold each row belongs to. Rows that would vouch for each other, equal ones or those of a group, stay together.

N rows, K folds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import BoolArray
from maskdiff.codes.hashes import Hashes
from maskdiff.errors import InputError

# A row that makes up more of the file than this is no oddity that vouches for itself: its copies are spread over all
# folds, or those who judge it would never have met what is most common.
MOST_TOGETHER = 0.01
# A row with more copies than this share of all rows, and than this number, is another kind of normal row.
_FREQUENT_SHARE, _FREQUENT = 0.001, 10


def are_frequent(keys: Hashes) -> BoolArray:
    """Which rows have so many copies that they are not odd, however unlike all others they are, shape (N,).

    >>> int(are_frequent(np.repeat([7, 8], [12, 5]).astype(np.uint64)).sum())
    12
    """
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return (counts > max(_FREQUENT, _FREQUENT_SHARE * len(keys)))[inverse.reshape(-1)]


def spread_frequent(keys: Hashes, most_together: float = MOST_TOGETHER) -> Hashes:
    """The same, but copies of a row that is more than this share of all have keys of their own.

    >>> len(set(spread_frequent(np.array([7, 7, 7, 9, 9], np.uint64), most_together=0.5).tolist()))
    4
    """
    distinct, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    frequent = counts[inverse] > max(1.0, most_together * len(keys))
    own = len(distinct) + np.arange(len(keys))
    return np.where(frequent, own, inverse.reshape(-1)).astype(np.uint64)


def cut_folds(keys: Hashes, n_folds: int, seed: int) -> NDArray[np.int8]:
    """The fold of each row, from 0, shape (N,): random ones of about equal size, rows with one key in one of them.

    >>> fold = cut_folds(np.array([1, 2, 3, 1, 2, 3], np.uint64), n_folds=3, seed=0)
    >>> sorted(fold[:3].tolist()), bool((fold[:3] == fold[3:]).all())
    ([0, 1, 2], True)
    """
    distinct, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    order = np.random.default_rng(seed).permutation(len(distinct))
    # The largest first, each into the fold with the fewest rows, as far as it matters; the many small ones in turn.
    order = order[np.argsort(-counts[order], kind="stable")]
    of_keys = np.empty(len(distinct), np.int8)
    of_keys[order] = _filled(counts[order], n_folds)
    fold: NDArray[np.int8] = of_keys[inverse.reshape(-1)]
    return fold


def _filled(counts: NDArray[np.int64], n_folds: int) -> NDArray[np.int8]:
    """The fold of each group, the groups from the largest to the smallest."""
    several = int((counts > 1).sum())
    sizes, folds = np.zeros(n_folds, np.int64), np.empty(len(counts), np.int8)
    for at, count in enumerate(counts[:several].tolist()):
        folds[at] = smallest = int(sizes.argmin())
        sizes[smallest] += count
    # Single rows, from the emptiest fold on, until all are equally full.
    wanted = np.maximum(np.ceil(counts.sum() / n_folds) - sizes, 0).astype(np.int64)
    filled = np.repeat(np.arange(n_folds, dtype=np.int8), wanted)[: len(counts) - several]
    folds[several:] = np.random.default_rng(len(counts)).permutation(filled)
    return folds


def cut_blocks(rank: NDArray[np.int64], n_folds: int, keys: Hashes | None = None) -> NDArray[np.int8]:
    """The fold of each row, shape (N,): blocks of rows that follow each other by `rank`; groups are placed by their
    first row.

    >>> cut_blocks(np.array([3, 0, 1, 2]), n_folds=2).tolist()
    [1, 0, 0, 1]
    """
    if keys is not None:
        _, inverse = np.unique(keys, return_inverse=True)
        first = np.full(inverse.max() + 1, len(rank))
        np.minimum.at(first, inverse, rank)
        rank = first[inverse]
    ranks = np.searchsorted(np.sort(rank), rank)
    fold: NDArray[np.int8] = (ranks * n_folds // max(len(rank), 1)).astype(np.int8)
    return fold


def check_groups(keys: Hashes, n_folds: int) -> int:
    """How many folds there can be: no more than there are groups, which have to be two at least."""
    n_groups = len(np.unique(keys))
    if n_groups < 2:
        raise InputError(
            "all rows are of one group, so that no model could learn from other groups than the one it judges. "
            "Group by a column with more than one value, or by none."
        )
    return min(n_folds, n_groups)
