"""Which levels are probed, with how many views, and which cells each view hides (Eq. 4).

Masks come from a hash of (seed, level, view, field). Where rows have masks of their own, the hash is also of the row's
place in the table that is handed in and of its cells. So they depend on nothing else: the same table gets the same
masks again, the rows beside a row do not matter, and equal rows have independent masks.

Shapes: B rows, K views over all levels, F fields.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

import torch
from torch import Tensor

from maskdiff.errors import SettingError
from maskdiff.masking import RowBatch, Schedule
from maskdiff.state import Parameters, storable

Design = Literal["independent", "balanced", "exact"]
EmptyViews = Literal["skip", "zero"]

PAPER_LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
PAPER_KERNEL_LEVELS = (0.15, 0.30, 0.45, 0.60)
_EXACT_LIMIT = 20
# Beyond this the masks of a single row fill the memory.
_MOST_VIEWS = 100_000
# Rows of many fields have this many at least, so that they are seen at low, middle and high levels.
_FEWEST_VIEWS = 3
# Seeds are added and hashed in 64 bits.
_SEEDS = 1 << 62


@storable
@dataclass(frozen=True)
class ProbeGrid(Parameters):
    """The probe levels tau_1 .. tau_L, the K views at each, and the design that draws them.

    design
        "independent": every row draws its own masks, equal rows different ones, as in the paper.
        "balanced": one set of masks for all rows. Over the views of a level each field's random numbers are
        stratified (a Latin hypercube), so every field is hidden in about tau * K of them: less noise per view. Where
        there are at most as many masks as views in the grid, they are enumerated instead, as in "exact".
        "exact": every mask with its probability; no noise at all, for narrow tables.
    empty_views
        What a view that hides nothing counts for. "skip": nothing, it is left out of the average. "zero": zero
        surprise, as in the paper, so that a row which drew many such views gets a low score by luck.
    fewer_views_beyond
        Rows of more fields than this have fewer views, so that in all about as many cells are hidden as in a row of so
        many: one view hides more of them. Views are taken from every level first, then whole levels are left out,
        evenly; three views stay. None: rows of any length have all views.
    """

    levels: tuple[float, ...] = PAPER_LEVELS
    views_per_level: int = 16
    design: Design = "balanced"
    empty_views: EmptyViews = "skip"
    seed: int = 0
    fewer_views_beyond: int | None = None

    def __post_init__(self) -> None:
        levels = tuple(self.levels)
        object.__setattr__(self, "levels", levels)
        if not levels or not all(0 < low < 1 for low in levels) or list(levels) != sorted(set(levels)):
            raise SettingError(f"levels must rise strictly within (0, 1); got {levels}.")
        if not 1 <= self.views_per_level <= _MOST_VIEWS:
            raise SettingError(f"views_per_level must lie from 1 to {_MOST_VIEWS:,}; got {self.views_per_level}.")
        if not abs(self.seed) < _SEEDS:
            raise SettingError(f"seed must be below {_SEEDS:,}; got {self.seed}.")
        if self.design not in ("independent", "balanced", "exact"):
            raise SettingError(f'design must be "independent", "balanced" or "exact"; got {self.design!r}.')
        if self.empty_views not in ("skip", "zero"):
            raise SettingError(f'empty_views must be "skip" or "zero"; got {self.empty_views!r}.')
        if self.fewer_views_beyond is not None and not 1 <= self.fewer_views_beyond < _SEEDS:
            raise SettingError(f"fewer_views_beyond must be None or at least 1; got {self.fewer_views_beyond}.")

    @property
    def n_views(self) -> int:
        return len(self.levels) * self.views_per_level

    def for_fields(self, n_fields: int) -> ProbeGrid:
        """The grid for rows of this many fields.

        >>> grid = ProbeGrid((0.2, 0.4, 0.5, 0.6, 0.8), views_per_level=4, fewer_views_beyond=64)
        >>> [grid.for_fields(n).n_views for n in (64, 128, 256, 2000)], grid.for_fields(2000).levels
        ([20, 10, 5, 3], (0.2, 0.5, 0.8))
        """
        if self.fewer_views_beyond is None or n_fields <= self.fewer_views_beyond:
            return self
        n_views = max(min(_FEWEST_VIEWS, self.n_views), math.ceil(self.n_views * self.fewer_views_beyond / n_fields))
        n_levels = min(len(self.levels), n_views)
        levels = tuple(self.levels[(2 * n + 1) * len(self.levels) // (2 * n_levels)] for n in range(n_levels))
        return replace(self, levels=levels, views_per_level=round(n_views / n_levels), fewer_views_beyond=None)

    def masks(self, n_fields: int, schedule: Schedule, *, per_level: bool, free_up_to: int = 0) -> Masks:
        """The masks for rows of this many fields.

        `per_level` keeps the masks of each level apart (a reconstructor that reads the level needs that);
        `free_up_to` says up to how many fields a reconstructor answers all masks at no extra cost.
        """
        grid = self.for_fields(n_fields)
        rates = tuple(schedule.mask_rate(torch.tensor(grid.levels, dtype=torch.float64)).tolist())
        return _masks(grid, n_fields, rates, per_level, free_up_to)


@lru_cache(maxsize=256)
def _masks(grid: ProbeGrid, n_fields: int, rates: tuple[float, ...], per_level: bool, free_up_to: int) -> Masks:
    """See `ProbeGrid.masks`; drawn once for all calls, so that a single row does not wait for them."""
    rate_L = torch.tensor(rates, dtype=torch.float64).float()
    n_exact = 2**n_fields * (len(rates) if per_level else 1) if n_fields <= _EXACT_LIMIT else None
    cheap = n_exact is not None and (n_exact <= grid.n_views or n_fields <= free_up_to)
    if grid.design == "exact" or (grid.design == "balanced" and cheap):
        if n_exact is None:
            raise SettingError(
                f'design="exact" looks at all 2^{n_fields} masks of {n_fields} fields; the limit is '
                f'{_EXACT_LIMIT} fields. Use design="balanced".'
            )
        return _exact_masks(grid, n_fields, rate_L, per_level)
    rate_K = rate_L.repeat_interleave(grid.views_per_level)
    weight_K = torch.full_like(rate_K, 1 / len(rate_K))
    shared = _balanced_masks(grid, n_fields, rate_L) if grid.design == "balanced" else None
    return Masks(grid, rate_K, weight_K, shared)


@dataclass(frozen=True, eq=False)
class Masks:
    """Masks to apply to rows: each view's mask rate, its weight, and its hidden cells where shared."""

    grid: ProbeGrid
    rate_K: Tensor
    weight_K: Tensor
    shared_KF: Tensor | None

    def __len__(self) -> int:
        return len(self.rate_K)

    def hidden(self, rows: RowBatch) -> Tensor:
        """Which cells each view hides: (1, K, F) where shared, else (B, K, F)."""
        device = rows.codes_BF.device
        if self.shared_KF is not None:
            return self._shared_on(device)[0]
        views = torch.arange(len(self), device=device)[:, None]
        fields = torch.arange(rows.codes_BF.shape[1], device=device)
        place_KF = _mix(_mix(views + _mix(_key(self.grid.seed, device))) + fields)
        return _uniform(_row_key(rows)[:, None, None] ^ place_KF) < self.rate_K.to(device)[:, None]

    def shares(self, hidden: Tensor) -> Tensor:
        """The part of each hidden cell in the average over all views, (1 or B, K, F)."""
        kept = self._kept.get(str(hidden.device))
        return kept[1] if kept is not None and kept[0] is hidden else self._shares(hidden)

    def _shares(self, hidden: Tensor) -> Tensor:
        n_hidden = hidden.sum(dim=2, keepdim=True).clamp_min(1)
        return self.counting(hidden).unsqueeze(2) * hidden / n_hidden

    def _shared_on(self, device: torch.device) -> tuple[Tensor, Tensor]:
        """The masks that rows share, (1, K, F), and the parts of their cells; kept, for a single row would wait."""
        assert self.shared_KF is not None
        if str(device) not in self._kept:
            hidden = self.shared_KF.to(device).unsqueeze(0)
            self._kept[str(device)] = hidden, self._shares(hidden)
        return self._kept[str(device)]

    @cached_property
    def _kept(self) -> dict[str, tuple[Tensor, Tensor]]:
        return {}

    def counting(self, hidden: Tensor) -> Tensor:
        """How much each view counts, (1 or B, K), adding up to one per row unless empty views count as zero."""
        weight = self.weight_K.to(hidden.device).expand(hidden.shape[:2])
        if self.grid.empty_views == "zero":
            return weight
        weight = weight * hidden.any(dim=-1)
        return weight / weight.sum(dim=1, keepdim=True).clamp_min(1e-30)


def _exact_masks(grid: ProbeGrid, n_fields: int, rate_L: Tensor, per_level: bool) -> Masks:
    """All 2^F masks, each weighted by how likely the levels are to draw it."""
    bits = torch.arange(2**n_fields)[:, None] >> torch.arange(n_fields) & 1
    n_hidden = bits.sum(dim=1, dtype=torch.float64)
    rate = rate_L.double()[:, None]
    weight_LM = rate**n_hidden * (1 - rate) ** (n_fields - n_hidden) / len(rate_L)
    hidden_MF = bits.bool()
    if per_level:
        rate_K, weight_K = rate_L.repeat_interleave(len(hidden_MF)), weight_LM.flatten()
        return Masks(grid, rate_K, weight_K.float(), hidden_MF.repeat(len(rate_L), 1))
    return Masks(grid, (n_hidden / n_fields).float(), weight_LM.sum(dim=0).float(), hidden_MF)


def _balanced_masks(grid: ProbeGrid, n_fields: int, rate_L: Tensor) -> Tensor:
    """One Latin hypercube per level, (K, F): each field's numbers fall once into each of the level's K strata."""
    levels = torch.arange(len(rate_L))[:, None, None]
    views = torch.arange(grid.views_per_level)[:, None]
    key_LKF = _mix(_mix(_mix(levels + _mix(_key(grid.seed))) + views) + torch.arange(n_fields))
    stratum = key_LKF.argsort(dim=1).argsort(dim=1)
    number = (stratum + _uniform(key_LKF + 1)) / grid.views_per_level
    return (number < rate_L[:, None, None]).reshape(-1, n_fields)


def _row_key(rows: RowBatch) -> Tensor:
    """A number for each row that depends on its place and on all of its cells, (B,)."""
    device = rows.codes_BF.device
    fields = torch.arange(rows.codes_BF.shape[1], device=device)
    cells = rows.codes_BF * 2 + (1 if rows.known_BF is None else rows.known_BF)
    cell_key = _mix(_mix(fields) + cells)
    content_B = (cell_key if rows.real_BF is None else cell_key * rows.real_BF).sum(dim=1)
    place_B = torch.arange(len(rows.codes_BF), device=device) if rows.place_B is None else rows.place_B
    return _mix(_mix(content_B) + _mix(place_B))


def _key(seed: int, device: torch.device | str = "cpu") -> Tensor:
    return torch.tensor(seed, dtype=torch.int64, device=device)


def _shift(x: Tensor, bits: int) -> Tensor:
    """Logical right shift; torch's own keeps the sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def _mix(x: Tensor) -> Tensor:
    """A well-scrambled 64-bit number for each one given (the finaliser of splitmix64; products wrap around)."""
    x = x + -0x61C8864680B583EB
    x = (x ^ _shift(x, 30)) * -0x40A7B892E31B1A47
    x = (x ^ _shift(x, 27)) * -0x6B2FB644ECCEEE15
    return x ^ _shift(x, 31)


def _uniform(key: Tensor) -> Tensor:
    """A float in [0, 1) for each key."""
    return _shift(_mix(key), 40).float() / 2**24
