from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.errors import SettingError
from maskdiff.masking import Cosine, Linear, Polynomial, as_rows
from maskdiff.probes import PAPER_KERNEL_LEVELS, PAPER_LEVELS, ProbeGrid

from .handmade import codes_of, random_codes, schema_of
from .slow_equations import all_views, forward_probability, mixture_probability

LEVELS = (0.15, 0.4, 0.8)


def masks_of(grid, n_fields, schedule=None, per_level=False, free_up_to=0):
    return grid.masks(n_fields, schedule or Linear(), per_level=per_level, free_up_to=free_up_to)


def hidden_of(grid, codes):
    """The hidden cells of these rows as booleans, (B or 1, K, F)."""
    return masks_of(grid, codes.values.shape[1]).hidden(as_rows(codes)).numpy()


@pytest.fixture(scope="module")
def wide():
    """4,000 different rows of twelve fields."""
    values = np.unique(random_codes(5000, [6] * 12).values, axis=0)
    return codes_of(np.random.default_rng(0).permutation(values)[:4000])


# Balanced ------------------------------------------------------------------------------------------------------------


@given(
    n_fields=st.integers(8, 30),  # fewer, and all masks would be enumerated instead
    views=st.integers(1, 40),
    levels=st.lists(st.integers(1, 99), min_size=1, max_size=4, unique=True),
    seed=st.integers(0, 10**6),
)
def test_balanced_masks_hide_every_field_in_its_share_of_each_levels_views(n_fields, views, levels, seed):
    levels = tuple(sorted(level / 100 for level in levels))
    masks = masks_of(ProbeGrid(levels, views, seed=seed), n_fields)
    hidden_LF = masks.shared_KF.reshape(len(levels), views, n_fields).sum(dim=1)
    for level, times_hidden in zip(levels, hidden_LF.tolist(), strict=True):
        share = round(level * views, 6)
        assert all(math.floor(share) <= times <= math.ceil(share) for times in times_hidden)


def test_balanced_masks_follow_the_schedule_not_the_time():
    masks = masks_of(ProbeGrid((0.5,), 100), 12, Cosine())
    rate = 1 - math.cos(math.pi / 4)
    np.testing.assert_allclose(masks.rate_K, rate, rtol=1e-6)
    assert set(masks.shared_KF.sum(dim=0).tolist()) <= {29, 30}
    assert 29 < 100 * rate < 30


def test_balanced_masks_are_shared_by_all_rows(wide):
    assert hidden_of(ProbeGrid(LEVELS, 8), wide).shape == (1, 24, 12)


def test_fields_are_balanced_one_by_one_and_not_in_step():
    hidden = masks_of(ProbeGrid((0.5,), 1000), 12).shared_KF.double()
    correlations = np.corrcoef(hidden.T.numpy())[np.triu_indices(12, 1)]
    assert np.abs(correlations).max() < 5 / math.sqrt(1000)


@given(n_fields=st.integers(21, 3000), beyond=st.integers(20, 200), views=st.integers(1, 20), levels=st.integers(1, 9))
def test_long_rows_have_fewer_views_that_hide_about_as_many_cells(n_fields, beyond, views, levels):
    grid = ProbeGrid(PAPER_LEVELS[:levels], views, fewer_views_beyond=beyond)
    long = grid.for_fields(n_fields)
    assert long.n_views == len(masks_of(grid, n_fields)) <= grid.n_views
    if n_fields <= beyond:
        assert long == grid
        return
    wanted = grid.n_views * beyond / n_fields
    assert long.n_views >= min(3, grid.n_views)
    assert long.n_views < max(1.5 * wanted + 1, 4)  # a whole number of views at each level
    assert set(long.levels) <= set(grid.levels)


def test_few_views_are_at_low_middle_and_high_levels():
    assert ProbeGrid(fewer_views_beyond=1).for_fields(5000).levels == (0.2, 0.5, 0.8)


# Independent ---------------------------------------------------------------------------------------------------------


def test_independent_masks_hide_each_cell_at_the_levels_rate(wide):
    hidden = hidden_of(ProbeGrid(LEVELS, 6, "independent"), wide)
    assert hidden.shape == (4000, 18, 12)
    for level, views in zip(LEVELS, np.split(hidden, 3, axis=1), strict=True):
        spread = math.sqrt(level * (1 - level) / len(wide))
        assert np.abs(views.mean(axis=0) - level).max() < 5 * spread


def test_independent_masks_are_as_likely_as_the_forward_process_says(wide):
    hidden = hidden_of(ProbeGrid((0.3,), 8, "independent"), wide)[:, :, :4]
    drawn = hidden.reshape(-1, 4)
    for view in all_views(4):
        expected = forward_probability(view, 0.7)
        found = (drawn == np.array(view)).all(axis=1).mean()
        assert abs(found - expected) < 5 * math.sqrt(expected * (1 - expected) / len(drawn))


def test_independent_masks_have_no_memory_between_views_and_fields(wide):
    hidden = hidden_of(ProbeGrid((0.5,), 4, "independent"), wide).reshape(len(wide), -1)
    correlations = np.corrcoef(hidden.T)[np.triu_indices(48, 1)]
    assert np.abs(correlations).max() < 5 / math.sqrt(len(wide))


def test_equal_rows_draw_masks_of_their_own(wide):
    hidden = hidden_of(ProbeGrid(LEVELS, 200, "independent"), wide.take([5] * 40))
    first, second = hidden[:20].reshape(20, -1), hidden[20:].reshape(20, -1)
    for level, views in zip(LEVELS, np.split((hidden[:20] & hidden[20:]), 3, axis=1), strict=True):
        # Independent cells are hidden in both rows as often as chance says.
        assert abs(views.mean() - level**2) < 5 * math.sqrt(level**2 * (1 - level**2) / views.size)
    assert all((one != other).any() for one, other in zip(first, second, strict=True))


def test_masks_depend_on_a_rows_place_and_cells_alone(wide):
    grid = ProbeGrid(LEVELS, 8, "independent")
    together = hidden_of(grid, wide)
    np.testing.assert_array_equal(hidden_of(grid, wide), together)
    np.testing.assert_array_equal(hidden_of(grid, wide.take(slice(0, 20))), together[:20])
    others = wide.take([*range(17, 34), 17])  # as far as row 17 is concerned, at its place among other rows
    np.testing.assert_array_equal(hidden_of(grid, others)[17], together[17])
    assert (hidden_of(grid, wide.take([17]))[0] != together[17]).any()


def test_shared_masks_depend_neither_on_order_nor_batch_nor_neighbours(wide):
    grid = ProbeGrid(LEVELS, 8, "balanced")
    np.testing.assert_array_equal(hidden_of(grid, wide.take([17])), hidden_of(grid, wide))


@pytest.mark.parametrize("design", ["independent", "balanced"])
def test_the_seed_decides_the_masks(wide, design):
    first, again, other = (hidden_of(ProbeGrid(LEVELS, 8, design, seed=seed), wide) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


# Exact ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", [Linear(), Cosine(), Polynomial(3.0)])
def test_exact_masks_are_all_masks_weighted_by_the_product_formula(schedule):
    alphas = [float(schedule.alpha(torch.tensor(level, dtype=torch.float64))) for level in LEVELS]
    masks = masks_of(ProbeGrid(LEVELS, 1, "exact"), 5, schedule)
    found = {
        tuple(view): weight for view, weight in zip(masks.shared_KF.tolist(), masks.weight_K.tolist(), strict=True)
    }
    assert len(found) == len(masks) == 32
    for view in all_views(5):
        assert found[view] == pytest.approx(mixture_probability(view, alphas), rel=1e-5)
    assert sum(found.values()) == pytest.approx(1, rel=1e-6)


def test_a_reconstructor_that_reads_the_level_gets_every_mask_once_per_level():
    masks = masks_of(ProbeGrid(LEVELS, 1, "exact"), 3, per_level=True)
    assert len(masks) == 3 * 8
    for view, rate, weight in zip(
        masks.shared_KF.tolist(), masks.rate_K.tolist(), masks.weight_K.tolist(), strict=True
    ):
        assert weight == pytest.approx(forward_probability(view, 1 - rate) / 3, rel=1e-5)
    assert {round(rate, 6) for rate in masks.rate_K.tolist()} == set(LEVELS)


@pytest.mark.parametrize(
    ("n_fields", "levels", "views", "per_level", "free_up_to", "expected"),
    [
        (4, 2, 8, False, 0, 16),
        (4, 3, 5, False, 0, 15),
        (5, 2, 8, False, 0, 16),
        (3, 2, 8, True, 0, 16),
        (3, 2, 7, True, 0, 14),
        (6, 1, 2, False, 6, 64),
        (7, 1, 2, False, 6, 2),
    ],
    ids=["as many", "one too many", "wider", "per level", "per level, too many", "free", "free no longer"],
)
def test_balanced_enumerates_all_masks_where_that_is_no_dearer(
    n_fields, levels, views, per_level, free_up_to, expected
):
    grid = ProbeGrid(PAPER_LEVELS[:levels], views)
    masks = masks_of(grid, n_fields, per_level=per_level, free_up_to=free_up_to)
    assert len(masks) == expected
    exact = expected == 2**n_fields * (levels if per_level else 1)
    assert exact == (len(set(map(tuple, masks.shared_KF.tolist()))) == 2**n_fields)
    assert float(masks.weight_K.sum()) == pytest.approx(1, rel=1e-6)


def test_independent_views_are_never_replaced_by_all_masks():
    assert len(masks_of(ProbeGrid(LEVELS, 20, "independent"), 2, free_up_to=12)) == 60


def test_exact_on_a_wide_table_is_refused_with_the_way_out():
    with pytest.raises(SettingError, match=r'all 2\^21 masks of 21 fields; the limit is 20 .* design="balanced"'):
        masks_of(ProbeGrid(LEVELS, 8, "exact"), 21)


# Views that hide nothing, and padding --------------------------------------------------------------------------------

HIDDEN = torch.tensor([[[0, 0], [1, 0], [1, 1], [0, 0]], [[0, 0], [0, 0], [0, 0], [0, 1]], [[0, 0]] * 4]).bool()


def test_skipped_empty_views_leave_their_weight_to_the_others():
    masks = masks_of(ProbeGrid((0.5,), 4, "independent", "skip"), 2)
    assert masks.counting(HIDDEN).tolist() == [[0, 0.5, 0.5, 0], [0, 0, 0, 1], [0, 0, 0, 0]]


def test_empty_views_that_count_as_zero_keep_their_weight():
    masks = masks_of(ProbeGrid((0.5,), 4, "independent", "zero"), 2)
    assert masks.counting(HIDDEN).tolist() == [[0.25] * 4] * 3


def test_skipping_keeps_the_proportions_of_the_exact_weights():
    masks = masks_of(ProbeGrid(LEVELS, 1, "exact", "skip"), 3)
    counting = masks.counting(masks.shared_KF[None])[0].tolist()
    alphas = [1 - level for level in LEVELS]
    filled = 1 - mixture_probability((False,) * 3, alphas)
    for view, weight in zip(masks.shared_KF.tolist(), counting, strict=True):
        expected = mixture_probability(view, alphas) / filled if any(view) else 0.0
        assert weight == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("design", ["independent", "balanced", "exact"])
def test_padding_is_never_hidden_nor_visible(design):
    codes = random_codes(20, [3] * 6)
    real = np.arange(6) < np.random.default_rng(0).integers(1, 7, (20, 1))
    rows = as_rows(codes_of(codes.values, codes.schema, real))
    masks = masks_of(ProbeGrid(LEVELS, 8, design), 6)
    views = rows.views(masks.hidden(rows), masks.rate_K[None])
    shown = torch.as_tensor(real)[:, None].expand(views.hidden.shape)
    assert not views.hidden[~shown].any()
    assert not views.visible[~shown].any()
    assert (views.hidden ^ views.visible)[shown].all()


@pytest.mark.parametrize("design", ["independent", "balanced"])
def test_a_rows_masks_do_not_change_with_the_padding_behind_it(design):
    short = random_codes(10, [3] * 8)
    padded = np.pad(short.values, ((0, 0), (0, 4)))
    schema = schema_of(padded, [3] * 12)
    longer = codes_of(padded, schema, np.broadcast_to(np.arange(12) < 8, padded.shape).copy())
    grid = ProbeGrid(LEVELS, 8, design)
    np.testing.assert_array_equal(hidden_of(grid, longer)[:, :, :8], hidden_of(grid, short))


# Settings ------------------------------------------------------------------------------------------------------------


def test_the_papers_levels_are_the_papers():
    assert PAPER_LEVELS == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
    assert PAPER_KERNEL_LEVELS == (0.15, 0.30, 0.45, 0.60)


@pytest.mark.parametrize("levels", [(), (0.0, 0.5), (0.5, 1.0), (0.5, 0.5), (0.6, 0.4), (float("nan"),)])
def test_levels_that_do_not_rise_within_zero_and_one_are_refused(levels):
    with pytest.raises(SettingError, match=r"levels must rise strictly within \(0, 1\)"):
        ProbeGrid(levels)


def test_a_list_of_levels_will_do():
    assert ProbeGrid([0.2, 0.4]) == ProbeGrid((0.2, 0.4))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"views_per_level": 0}, "views_per_level must lie from 1 to 100,000; got 0"),
        ({"design": "random"}, "design must be .*'random'"),
        ({"empty_views": "force"}, "empty_views must be .*'force'"),
    ],
)
def test_a_grid_refuses_nonsense(setting, message):
    with pytest.raises(SettingError, match=message):
        ProbeGrid(**setting)
