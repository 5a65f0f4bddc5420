"""Which rows a model was fitted on, remembered without their cells, so that nobody is misled by scores of learned rows.

A row is remembered as 31 bits of a salted hash of its codes, so that it is recognised in every file format. Whether it
was there once or more often is remembered too: where rows repeat, a new normal row equals a learned one by right, and
its score is no better for it. Rows that were there once tell more: by Good and Turing, a new row equals one of these
about as often as two rows of the fit were each other's only equal.

Of very many distinct rows a uniform share is kept, those with the smallest hashes; about the others nothing is known.
Whoever has the model can test whether a row they already know in full was learned from. They cannot read rows from it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.codes import Codes, Schema
from maskdiff.codes.hashes import Hashes, row_hashes
from maskdiff.codes.schema_change import SchemaChange
from maskdiff.state import check, fits
from maskdiff.state.tensors import Tensors, check_names, check_tensor

if TYPE_CHECKING:
    from torch import Tensor

# Distinct rows that are remembered, 4 bytes each. A new row is taken for one of them by mistake with a probability of
# at most this number over 2^31: one in 32,768; more often where a model learned on, by as many times as rows were
# added to those of a fit that held more.
MOST_REMEMBERED = 1 << 16
# The upper half of a hash decides whether a row is among those remembered, 31 bits of the lower half are kept.
_ALL, _MOST_KEPT = 1 << 32, 1 << 31
_LOWER = np.uint64(_MOST_KEPT - 1)
_NUMBERS = ("salt", "cutoff", "kept_cutoff", "n_rows", "pairs")
# Hashes that are sorted together, which bounds the memory for millions of rows.
_ROWS_AT_ONCE = 1 << 20

# What `Fingerprint.times` says of a row.
NOT_KNOWN, NOT_SEEN, ONCE, REPEATED = -1, 0, 1, 2


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """The rows of a fit: sorted hashes of those there `once` and of those `repeated`, each (n,).

    Rows whose hash is below `cutoff` are remembered, and of them those whose kept bits are below `kept_cutoff`. There
    were `n_rows` of them, and `pairs` distinct ones were there exactly twice.

    Where a model learned on, its codes have moved, and the hashes have not: `ids` has for each code of each field,
    *unseen* last, the number that it is hashed as; None: its own.
    """

    salt: int
    cutoff: int
    kept_cutoff: int
    n_rows: int
    pairs: int
    once: NDArray[np.int32]
    repeated: NDArray[np.int32]
    ids: tuple[NDArray[np.int64], ...] | None = None

    @classmethod
    def of(cls, parts: Iterable[Codes], seed: int, most: int = MOST_REMEMBERED) -> Fingerprint:
        """The fingerprint of the rows of these codes, which share one schema."""
        found, salt = _Smallest(most), 0
        for codes in parts:
            salt = salt or _salt(codes.schema, seed)
            new = row_hashes(codes, salt)
            for at in range(0, len(new), _ROWS_AT_ONCE):
                found.add(new[at : at + _ROWS_AT_ONCE])
        once, repeated = (_kept(found.hashes[chosen]) for chosen in (found.counts == 1, found.counts > 1))
        pairs, n_rows = int((found.counts == 2).sum()), int(found.counts.sum())
        return cls(salt, found.cutoff, _MOST_KEPT, n_rows, pairs, once, repeated)

    def joined(self, codes: Codes, change: SchemaChange, most: int = MOST_REMEMBERED) -> Fingerprint:
        """The fingerprint of these rows too, which have the codes of a schema that knows more.

        Which rows were there exactly twice is not remembered, so `pairs` is an estimate from here on.
        """
        ids = moved_ids(self.ids, change)
        low, compared = replace(self, ids=ids)._looked_up(codes)
        new, counts = np.unique(low[compared], return_counts=True)
        was_once, was_repeated = _among(new, self.once), _among(new, self.repeated)
        fresh = ~was_once & ~was_repeated
        once = np.union1d(np.setdiff1d(self.once, new), new[fresh & (counts == 1)])
        repeated = np.union1d(self.repeated, new[was_once | (fresh & (counts > 1))])
        usual = self.pairs / max(1, len(self.repeated))  # so many of the repeated rows were pairs
        new_pairs = (fresh & (counts == 2)) | (was_once & (counts == 1))
        pairs = round(self.pairs - usual * was_repeated.sum()) + int(new_pairs.sum())
        n_rows = self.n_rows + int(counts.sum())
        return replace(self, ids=ids, once=once, repeated=repeated, pairs=pairs, n_rows=n_rows)._thinned(most)

    def _thinned(self, most: int) -> Fingerprint:
        """The same with at most so many distinct rows, those whose kept bits are the smallest."""
        every = np.sort(np.concatenate([self.once, self.repeated]))
        if len(every) <= most:
            return self
        cutoff, share = int(every[most]), most / len(every)
        once, repeated = (hashes[hashes < cutoff] for hashes in (self.once, self.repeated))
        pairs = int(share * self.pairs)
        n_rows = max(int(share * self.n_rows), len(once) + 2 * len(repeated), 2 * pairs)
        return replace(self, kept_cutoff=cutoff, once=once, repeated=repeated, n_rows=n_rows, pairs=pairs)

    def times(self, codes: Codes) -> NDArray[np.int8]:
        """How often each row was there, shape (N,): 0, 1, 2 for more than once, -1 for a row that is not remembered."""
        low, compared = self._looked_up(codes)
        found = np.where(_among(low, self.once), ONCE, np.where(_among(low, self.repeated), REPEATED, NOT_SEEN))
        return np.where(compared, found, NOT_KNOWN).astype(np.int8)

    def matched_once(self, codes: Codes) -> NDArray[np.bool_]:
        """Which of the rows that were there once are among these, shape (len(once),)."""
        low, compared = self._looked_up(codes)
        found: NDArray[np.bool_] = np.isin(self.once, low[compared])
        return found

    def _looked_up(self, codes: Codes) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        """What would be kept of these rows, and which of them would be remembered, each (N,)."""
        hashes = row_hashes(codes if self.ids is None else with_ids(codes, self.ids), self.salt)
        low = (hashes & _LOWER).astype(np.int32)
        return low, _below(hashes, self.cutoff) & (low < self.kept_cutoff)

    @property
    def expected_once(self) -> float:
        """The share of new normal rows that equal a row that was there once."""
        return 2 * self.pairs / max(1, self.n_rows)

    @property
    def expected_seen(self) -> float:
        """The share of new normal rows that equal a row of the fit."""
        return 1 - len(self.once) / max(1, self.n_rows)

    def is_overlap(self, n: int, seen: int, once: int, interval: float) -> bool:
        """Whether n rows hold more rows of the fit than chance gives new rows in this interval.

        Of them `seen` equal some row of the fit, and `once` different ones equal a single row. Where rows repeat, new
        ones equal some of them by right. So those equal to a single row decide: there have to be more of them than
        among new rows, or not fewer where more rows are seen altogether.
        """
        # Both rows of a pair are one piece of evidence, hence the half.
        usual = _most_of(n, self.pairs, self.n_rows // 2, interval)
        usual_seen = _most_of(n, self.n_rows - len(self.once), self.n_rows, interval)
        return once > usual or (seen > usual_seen and once / n > self.expected_once)

    def to_state(self) -> tuple[dict[str, int], dict[str, Tensor]]:
        """As plain numbers and tensors."""
        import torch

        tensors = {name: torch.from_numpy(getattr(self, name).copy()) for name in ("once", "repeated")}
        if self.ids is not None:
            tensors["ids"] = torch.from_numpy(np.concatenate(self.ids))
        return {name: getattr(self, name) for name in _NUMBERS}, tensors

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, schema: Schema) -> Fingerprint:
        """The fingerprint that `to_state` described, checked."""
        complete = isinstance(plain, dict) and set(plain) == set(_NUMBERS) and all(fits(n, int) for n in plain.values())
        check(complete, "it does not describe the rows it learned from")
        check_names({name: one for name, one in tensors.items() if name != "ids"}, "once", "repeated")
        once, repeated = (_checked(name, tensors[name]) for name in ("once", "repeated"))
        fewest = max(len(once) + 2 * len(repeated), 2 * plain["pairs"])
        counts = plain["pairs"] >= 0 and plain["n_rows"] >= fewest
        cutoffs = 0 < plain["cutoff"] <= _ALL and 0 < plain["kept_cutoff"] <= _MOST_KEPT
        check(counts and cutoffs and plain["salt"] >= 0, "its counts of learned rows are wrong")
        ids = _checked_ids(tensors["ids"], schema) if "ids" in tensors else None
        return cls(**plain, once=once, repeated=repeated, ids=ids)


class _Smallest:
    """Distinct hashes with the number of rows of each; only the smallest once there are too many."""

    def __init__(self, most: int) -> None:
        self.most, self.cutoff = most, _ALL
        self.hashes, self.counts = np.empty(0, np.uint64), np.empty(0, np.int64)

    def add(self, hashes: Hashes) -> None:
        new = hashes[_below(hashes, self.cutoff)]
        self.hashes, place = np.unique(np.concatenate([self.hashes, new]), return_inverse=True)
        of_new = np.ones(len(new), np.int64)
        self.counts = np.bincount(place, np.concatenate([self.counts, of_new])).astype(np.int64)
        if len(self.hashes) > self.most:
            self.cutoff = int(self.hashes[self.most] >> np.uint64(32))
            kept = _below(self.hashes, self.cutoff)
            self.hashes, self.counts = self.hashes[kept], self.counts[kept]


def moved_ids(ids: tuple[NDArray[np.int64], ...] | None, change: SchemaChange) -> tuple[NDArray[np.int64], ...]:
    """What the codes are hashed as once they have moved: old ones as before, new ones as numbers not in use."""
    moved = []
    for at, (field, places) in enumerate(zip(change.after, change.places, strict=True)):
        old = np.arange(len(places)) if ids is None else ids[at]
        new = np.full(field.size + 1, -1, dtype=np.int64)
        new[places] = old
        new[new < 0] = old.max() + 1 + np.arange((new < 0).sum())
        moved.append(new)
    return tuple(moved)


def with_ids(codes: Codes, ids: tuple[NDArray[np.int64], ...]) -> Codes:
    """The codes as the numbers they are hashed as; what is padding does not matter."""
    if codes.is_tokens or len(ids) == 1:
        return replace(codes, values=np.append(ids[0], 0)[np.minimum(codes.values, len(ids[0]))])
    return replace(codes, values=np.stack([own[codes.values[:, at]] for at, own in enumerate(ids)], axis=1))


def _most_of(n: int, found: int, of: int, interval: float) -> float:
    """The most of n rows that chance gives of what `found` rows were `of` all before."""
    from scipy.stats import betabinom

    return float(betabinom.ppf(interval, n, found + 1, max(1, of - found)))


def _below(hashes: Hashes, cutoff: int) -> NDArray[np.bool_]:
    """Which hashes are those of rows that are remembered; rows without cells have the hash 0."""
    found: NDArray[np.bool_] = (hashes > 0) & (hashes >> np.uint64(32) < np.uint64(cutoff))
    return found


def _salt(schema: Schema, seed: int) -> int:
    """A number of the model's own: equal rows have other hashes in other models."""
    learned = repr([(field.name, field.labels, field.counts) for field in schema])
    return int.from_bytes(hashlib.blake2b(f"{seed} {learned}".encode(), digest_size=7).digest())


def _kept(hashes: Hashes) -> NDArray[np.int32]:
    return np.unique((hashes & _LOWER).astype(np.int32))


def _among(numbers: NDArray[np.int32], known: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which numbers are in a sorted array."""
    if not len(known):
        return np.zeros(len(numbers), np.bool_)
    at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
    found: NDArray[np.bool_] = known[at] == numbers
    return found


def _checked_ids(tensor: Tensor, schema: Schema) -> tuple[NDArray[np.int64], ...]:
    import torch

    sizes = schema.sizes + 1
    check_tensor("ids", tensor, (int(sizes.sum()),), torch.int64)
    ids = np.split(tensor.numpy().copy(), np.cumsum(sizes)[:-1])
    distinct = all(len(np.unique(own)) == len(own) and own.min() >= 0 for own in ids)
    check(distinct, "the numbers that its codes are hashed as are not distinct")
    return tuple(ids)


def _checked(name: str, tensor: Tensor) -> NDArray[np.int32]:
    import torch

    check(tensor.dtype == torch.int32 and tensor.ndim == 1, f"the tensor {name} is no list of hashes")
    hashes: NDArray[np.int32] = tensor.numpy().copy()
    rising = len(hashes) <= MOST_REMEMBERED and bool((np.diff(hashes) > 0).all()) and hashes.min(initial=0) >= 0
    check(rising, f"the hashes in the tensor {name} are not in order")
    return hashes
