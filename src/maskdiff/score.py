"""Surprises become contributions, contributions become the score (Eq. 5, 6).

For every view the surprise of the hidden cells is shared among them; averaged over views this gives each cell a mean
surprise and a weight. An aggregate says how a row's cells become one number and how that number is shared out again:
the row sum of the contributions is the score. B rows, K views, F fields; a long token row is several lines, its
windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskdiff.codes import Codes, FloatArray
from maskdiff.codes.windows import Windows, narrowed
from maskdiff.errors import SettingError
from maskdiff.masking import RowBatch, Schedule, as_rows
from maskdiff.probes import Masks, ProbeGrid
from maskdiff.progress import Callback, Progress
from maskdiff.reconstructors.base import Reconstructor, abilities
from maskdiff.reconstructors.loops import runs_in_order, runs_in_threads, runs_of, runs_to_share
from maskdiff.state import storable

PROBABILITY_FLOOR = 1e-12
# Beyond this a typical cell would outweigh every row.
_MOST = 1e6
# Cells of views at once: few enough to stay in a processor's cache, and more where rows would be too few to share their
# masks. An accelerator is called less often: what a kernel counts for one row it counts for all.
CELLS_AT_ONCE, MOST_CELLS_AT_ONCE, CELLS_ON_A_DEVICE = 1 << 21, 1 << 24, 1 << 27
# Each token is a vector to a network; so few of them are shared evenly among threads.
TOKENS_AT_ONCE = 1 << 15
_FEWEST_AT_ONCE = 256
# The places of a row's windows follow each other.
_ROOM_FOR_STARTS = 32


@dataclass(frozen=True, eq=False)
class CellScores:
    """For each cell, (N, F): its mean surprise in nats over the views that hid it, and the weight of those views.

    The weights of a row add up to one (to less where empty views count as zero surprise). `row` (N,) says which row
    each line is part of, rising, where rows may have several (None: every line is a row). The surprise of a row without
    any cell is NaN. `own_fields` are those that no other source of evidence looks into.
    """

    surprise: FloatArray
    weight: FloatArray
    row: NDArray[np.int64] | None = None
    own_fields: tuple[int, ...] = ()

    def rows(self, run: slice) -> CellScores:
        """The same of a run of rows, where every line is a row."""
        return CellScores(self.surprise[run], self.weight[run], None, self.own_fields)

    def contributions(self, aggregate: str, typical: Typical | None = None) -> FloatArray:
        """What each cell adds to its row's score, shape (N, F); `typical` steadies the scores of short rows."""
        combine = aggregate_named(aggregate) if typical is None else typical.steadied(aggregate)
        if self.row is None:
            return combine(self.surprise, self.weight)
        shared = np.full_like(self.surprise, np.nan)
        n_lines = np.bincount(self.row)[self.row]
        for n in np.unique(n_lines):  # rows of n lines, each laid out as one
            here, width = n_lines == n, int(n) * self.surprise.shape[1]
            wide = combine(self.surprise[here].reshape(-1, width), self.weight[here].reshape(-1, width))
            shared[here] = wide.reshape(-1, self.surprise.shape[1])
        # A row without any cell holds no evidence. A zero would make it look calm.
        return np.where(np.isnan(self.surprise), np.nan, shared)


def row_sums(contributions: FloatArray, row: NDArray[np.int64] | None) -> FloatArray:
    """The rows' scores: what all of their cells add, over all lines of a row (`row` as in CellScores)."""
    by_line: FloatArray = contributions.sum(axis=1)
    return by_line if row is None else np.bincount(row, weights=by_line).astype(np.float64)


@storable
@dataclass(frozen=True)
class Typical:
    """How surprising the cells of normal rows are, and how many such cells a row is judged with besides its own.

    A row of few cells tells little: chance alone makes its mean high or low. Judged as if it held `cells` more,
    each as surprising as a normal row's, it is odd only as far as its own cells can show.
    """

    surprise: float
    cells: float = 20.0

    def __post_init__(self) -> None:
        if not 0 <= self.surprise <= _MOST or not 0 <= self.cells <= _MOST:
            raise SettingError(f"surprise and cells must be from 0 to {_MOST:g}; got {self}.")

    def steadied(self, aggregate: str) -> Callable[[FloatArray, FloatArray], FloatArray]:
        """The aggregate over a row's own cells and these; what these add is shared among its own."""
        combine, power = aggregate_named(aggregate), _power(aggregate)

        def steadied(surprise: FloatArray, weight: FloatArray) -> FloatArray:
            own = (weight > 0).sum(axis=1, keepdims=True)
            trust = own / np.maximum(own + self.cells, 1e-30)
            drawn = (trust * surprise**power + (1 - trust) * self.surprise**power) ** (1 / power)
            return combine(drawn, weight)

        return steadied

    @classmethod
    def of(cls, cells: CellScores, aggregate: str) -> Typical:
        """Learned from normal rows: the aggregate over all of their cells, those of long and short rows alike."""
        power, surprise = _power(aggregate), cells.surprise[cells.weight > 0]
        if not len(surprise):
            raise SettingError("no view hides a cell of these rows; probe with more views, or more levels.")
        return cls(float((surprise**power).mean() ** (1 / power)))


def _power(aggregate: str) -> int:
    """Which power of the surprise an aggregate averages."""
    powers = {"mean": 1, "rms": 2}
    if aggregate not in powers:
        raise SettingError(f"only {' and '.join(powers)} can be steadied, which average; got {aggregate!r}.")
    return powers[aggregate]


def _mean(surprise: FloatArray, weight: FloatArray) -> FloatArray:
    """Eq. 6: the weighted mean; each cell brings what it adds to the sum."""
    return surprise * weight


def _rms(surprise: FloatArray, weight: FloatArray) -> FloatArray:
    """Root mean square: few very odd cells count for more; shared out by squares."""
    squares = weight * surprise**2
    score = np.sqrt(squares.sum(axis=1, keepdims=True))
    shared: FloatArray = squares / np.maximum(score, 1e-30)
    return shared


def _max(surprise: FloatArray, weight: FloatArray) -> FloatArray:
    """The oddest cell alone; cells that tie share it."""
    shown = np.where(weight > 0, surprise, 0.0)
    largest = shown.max(axis=1, keepdims=True, initial=0.0)
    oddest = (shown == largest) & (largest > 0)
    shared: FloatArray = oddest * largest / np.maximum(oddest.sum(axis=1, keepdims=True), 1)
    return shared


def _log_mean_exp(surprise: FloatArray, weight: FloatArray) -> FloatArray:
    """log of the mean of exp(surprise), between the mean and the maximum; shared out by exp(surprise) - 1."""
    part = weight / np.maximum(weight.sum(axis=1, keepdims=True), 1e-30)
    share = part * np.expm1(np.minimum(surprise, -np.log(PROBABILITY_FLOOR)))
    excess = share.sum(axis=1, keepdims=True)
    shared: FloatArray = np.log1p(excess) * share / np.maximum(excess, 1e-30)
    return shared


AGGREGATES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "mean": _mean,
    "rms": _rms,
    "max": _max,
    "log_mean_exp": _log_mean_exp,
}


def aggregate_named(name: str) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """The aggregate of that name."""
    if name not in AGGREGATES:
        raise SettingError(f"no aggregate is called {name!r}; choose one of {', '.join(AGGREGATES)}.")
    return AGGREGATES[name]


def score_cells(
    reconstructor: Reconstructor,
    codes: Codes,
    *,
    probes: ProbeGrid,
    schedule: Schedule,
    device: Any = "cpu",
    leave_one_out: bool = False,
    callback: Callback | None = None,
    stage: str = "scoring",
    cells_at_once: int | None = None,
) -> CellScores:
    """Probe every distinct row once and hand the answers back to the rows; rows with masks of their own one by one.

    With `leave_one_out` each row is scored as left out of the normal rows. About
    `cells_at_once` cells of views are held in memory (None: as many as suit the device).
    """
    distinct, inverse, places = _to_probe(codes.without_excess(), probes)
    able = abilities(reconstructor)
    charge_F = torch.from_numpy(codes.schema.unseen_charge).float().to(device)
    surprise, weight = np.zeros(distinct.values.shape), np.zeros(distinct.values.shape)
    masks: dict[int, Masks] = {}
    lines_N, runs = np.empty(0, np.int64), []
    for width, lines in _by_width(distinct):
        masks[width] = probes.masks(width, schedule, per_level=able.uses_level, free_up_to=able.free_up_to)
        n_cells, before = len(masks[width]) * max(width, 1), len(lines_N)
        step = _rows_at_once(n_cells, codes, device) if cells_at_once is None else cells_at_once // n_cells
        cut = runs_to_share if shares_rows(codes, device) else runs_of
        runs += [slice(before + run.start, before + run.stop) for run in cut(len(lines), max(1, step))]
        lines_N = np.concatenate([lines_N, lines])

    def probe(run: slice) -> None:
        here = lines_N[run]
        part = narrowed(distinct.take(here))
        width = part.values.shape[1]
        rows = as_rows(part, device=device, leave_one_out=leave_one_out)
        rows = replace(rows, place_B=torch.from_numpy(places[here]).to(device))
        part_surprise, part_weight = _probe(reconstructor, rows, masks[width], charge_F)
        surprise[here, :width], weight[here, :width] = part_surprise.cpu().numpy(), part_weight.cpu().numpy()

    def report(n_lines: int) -> None:
        if callback is not None:
            callback(Progress(stage, n_lines, len(distinct)))

    (runs_in_threads if torch.device(device).type == "cpu" else runs_in_order)(probe, runs, done=report)
    cells = CellScores(with_excess(surprise[inverse], codes), weight[inverse])
    return _joined(cells, codes) if isinstance(codes, Windows) else cells


def _to_probe(codes: Codes, probes: ProbeGrid) -> tuple[Codes, NDArray[np.int64], NDArray[np.int64]]:
    """The lines to probe, which of them each line is, and their places in the table, from which masks are drawn.

    A window's place is that of its row, and where it begins.
    """
    if probes.design != "independent":
        distinct, inverse, _ = codes.distinct()
        return distinct, inverse, np.zeros(len(distinct), np.int64)
    lines = np.arange(len(codes))
    return codes, lines, (codes.row << _ROOM_FOR_STARTS) + codes.start if isinstance(codes, Windows) else lines


def shares_rows(codes: Codes, device: Any) -> bool:
    """Whether rows of one width are so many that they are shared among threads: those of tables, on a CPU."""
    return torch.device(device).type == "cpu" and not codes.is_tokens


def _rows_at_once(cells: int, codes: Codes, device: Any) -> int:
    """How many rows of so many cells in all views are probed at once."""
    if torch.device(device).type != "cpu":
        return max(1, CELLS_ON_A_DEVICE // cells)
    if codes.is_tokens:
        return max(1, TOKENS_AT_ONCE // cells)
    # Enough rows to share their masks, where that does not take too much memory.
    return max(1, CELLS_AT_ONCE // cells, min(_FEWEST_AT_ONCE, MOST_CELLS_AT_ONCE // cells))


def with_excess(surprise: FloatArray, codes: Codes) -> FloatArray:
    """What numbers beyond the range cost more is the same in every view, so it is added to their mean."""
    if codes.excess is None:
        return surprise
    return np.where(codes.excess > 0, np.minimum(surprise + codes.excess, -np.log(PROBABILITY_FLOOR)), surprise)


def _by_width(codes: Codes) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Rows of one width together: a table's all at once, token rows by their number of tokens.

    So no padding is computed, and a row's masks are those of its own length, whatever rows stand beside it.
    """
    if not codes.is_tokens:
        yield codes.values.shape[1], np.arange(len(codes))
        return
    lengths = codes.lengths
    for length in np.unique(lengths[lengths > 0]):
        yield int(length), np.flatnonzero(lengths == length)


def _joined(cells: CellScores, codes: Windows) -> CellScores:
    """The windows of a row as one row: every token counts once, and a window as much as the tokens it counts."""
    counts = codes.counts
    n_counted = counts.sum(axis=1)
    n_tokens = np.bincount(codes.row, weights=n_counted)[codes.row]
    inside = (cells.weight * counts).sum(axis=1)
    part = cells.weight.sum(axis=1) * n_counted / np.maximum(inside * n_tokens, 1e-30)
    surprise = np.where(n_tokens[:, None] > 0, cells.surprise, np.nan)
    return CellScores(surprise, cells.weight * counts * part[:, None], codes.row)


def _probe(reconstructor: Reconstructor, rows: RowBatch, masks: Masks, charge_F: Tensor) -> tuple[Tensor, Tensor]:
    """Mean surprise of each cell, (B, F), and its weight, (B, F), or (1, F) where all rows share their masks."""
    views = rows.views(masks.hidden(rows), masks.rate_K.to(rows.codes_BF.device).unsqueeze(0))
    surprise = reconstructor.log_prob(views).clamp(np.log(PROBABILITY_FLOOR), 0).neg_()
    if rows.known_BF is not None:
        # An unseen value stands in as the rarest one seen: charged with that one's surprise, or more.
        charge = charge_F.clamp_max(-np.log(PROBABILITY_FLOOR))
        surprise = torch.where(rows.known_BF.unsqueeze(1), surprise, torch.maximum(surprise, charge))
    share = masks.shares(views.hidden)
    weight = share.sum(dim=1)
    total_BF = surprise.mul_(share).sum(dim=1)
    return (total_BF / weight.clamp_min(1e-30)).double(), weight.double()
