from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from maskdiff.errors import SettingError
from maskdiff.masking import Cosine, Linear, as_rows
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import KernelReconstructor
from maskdiff.score import AGGREGATES, TOKENS_AT_ONCE, CellScores, aggregate_named, score_cells

from .handmade import codes_of, random_codes, schema_of, windows_of
from .scoring import CPU, LEVELS, fit_mlp, scores_of
from .slow_equations import cell_contributions, expected_score, kernel_probability, row_score

SIZES = [2, 3, 4, 2]
DESIGNS = ["independent", "balanced", "exact"]
POLICIES = ["skip", "zero"]


@pytest.fixture(scope="module")
def normal():
    return random_codes(40, SIZES)


@pytest.fixture(scope="module")
def kernel(normal):
    return KernelReconstructor().fit(normal, device=CPU)


@pytest.fixture(scope="module")
def new(normal):
    """Rows to score, the first two of them equal."""
    values = random_codes(10, SIZES, seed=5).values
    values[1] = values[0]
    return codes_of(values, normal.schema)


def slow_kernel(normal, row):
    """Eq. 7 as log_prob(j, view) for one row."""

    def log_prob(j, view):
        visible = [not hidden for hidden in view]
        return math.log(kernel_probability(normal.values.tolist(), row, j, row[j], visible, 1.0))

    return log_prob


# Equations 5 and 6 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("design", ["independent", "balanced"])
def test_scores_and_contributions_are_equations_5_and_6_over_the_views_drawn(normal, kernel, new, design, policy):
    grid = ProbeGrid(LEVELS, 4, design, policy)
    # The kernel answers all masks of four fields for free; a reconstructor that does not say so gets the drawn views.
    plain = Delegating(kernel)
    masks = grid.masks(4, Linear(), per_level=False).hidden(as_rows(new))
    views = masks.expand(len(new), -1, -1).tolist()
    cells = score_cells(plain, new, probes=grid, schedule=Linear())
    contributions = cells.contributions("mean")
    for i, row in enumerate(new.values.tolist()):
        log_prob = slow_kernel(normal, row)
        skip = policy == "skip"
        np.testing.assert_allclose(contributions[i], cell_contributions(views[i], log_prob, skip_empty=skip), rtol=1e-5)
        assert contributions[i].sum() == pytest.approx(row_score(views[i], log_prob, skip_empty=skip), rel=1e-5)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("schedule", [Linear(), Cosine()])
def test_exact_scores_are_the_expectation_over_all_views(normal, kernel, new, schedule, policy):
    scores = scores_of(kernel, new, ProbeGrid(LEVELS, 1, "exact", policy), schedule)
    alphas = [float(schedule.alpha(torch.tensor(level))) for level in LEVELS]
    for row, found in zip(new.values.tolist(), scores, strict=True):
        slow = expected_score(alphas, 4, slow_kernel(normal, row), skip_empty=policy == "skip")
        assert found == pytest.approx(slow, rel=1e-5)


class Delegating:
    """Somebody's own reconstructor: the two methods of the protocol and nothing more."""

    def __init__(self, inner, **attributes):
        self.inner = inner
        self.seen = []
        vars(self).update(attributes)

    def log_prob(self, views):
        self.seen.append(views)
        return self.inner.log_prob(views)

    def most_likely(self, views):
        return self.inner.most_likely(views)


@pytest.mark.parametrize("design", ["independent", "balanced"])
def test_many_drawn_views_approach_the_exact_score(kernel, new, design):
    exact = scores_of(kernel, new, ProbeGrid(LEVELS, 1, "exact"))
    # Fifteen views at a time: with sixteen, balanced would enumerate all masks itself.
    drawn = np.mean(
        [scores_of(Delegating(kernel), new, ProbeGrid(LEVELS, 5, design, seed=seed)) for seed in range(150)], axis=0
    )
    np.testing.assert_allclose(drawn, exact, rtol=0.1)


def test_a_reconstructor_told_the_level_is_asked_every_mask_at_every_level(kernel, new):
    with_level = Delegating(kernel, uses_level=True)
    exact = ProbeGrid(LEVELS, 1, "exact")
    np.testing.assert_allclose(scores_of(with_level, new, exact), scores_of(kernel, new, exact), rtol=1e-5)
    assert with_level.seen[0].n_views == 3 * 16


# Promises about rows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("design", ["balanced", "exact"])
def test_a_rows_score_depends_neither_on_order_nor_batch_nor_neighbours(kernel, new, design):
    grid = ProbeGrid(LEVELS, 3, design)
    together = scores_of(Delegating(kernel), new, grid)
    np.testing.assert_allclose(scores_of(Delegating(kernel), new.take(slice(None, None, -1)), grid)[::-1], together)
    np.testing.assert_allclose(scores_of(Delegating(kernel), new.take([4]), grid), together[[4]])
    np.testing.assert_allclose(scores_of(Delegating(kernel), new, grid, cells_at_once=1), together)


def test_threads_change_no_score():
    rows, before = random_codes(700, (9, 8, 7, 6, 5), seed=5), torch.get_num_threads()
    network = fit_mlp(rows, 3)
    try:
        found = []
        for n_threads in (1, 2):
            torch.set_num_threads(n_threads)
            found.append(score_cells(network, rows, probes=ProbeGrid(LEVELS, 2), schedule=Linear()))
    finally:
        torch.set_num_threads(before)
    np.testing.assert_allclose(found[0].surprise, found[1].surprise, rtol=1e-5)


@pytest.mark.parametrize("design", ["balanced", "exact"])
def test_equal_rows_are_scored_once_and_get_equal_scores(kernel, new, design):
    plain = Delegating(kernel)
    scores = scores_of(plain, new.take([0, 1, 2, 0, 2, 1, 0]), ProbeGrid(LEVELS, 3, design))
    assert sum(views.n_rows for views in plain.seen) == 2
    assert len(set(scores[[0, 1, 3, 5, 6]])) == 1
    assert scores[2] == scores[4]


def test_equal_rows_with_masks_of_their_own_are_probed_one_by_one(kernel, new):
    plain, grid = Delegating(kernel), ProbeGrid(LEVELS, 3, "independent")
    scores = scores_of(plain, new.take([0] * 7), grid)
    assert sum(views.n_rows for views in plain.seen) == 7
    assert len(set(scores)) > 1
    in_parts = scores_of(Delegating(kernel), new.take([0] * 7), grid, cells_at_once=1)
    np.testing.assert_allclose(in_parts, scores)
    np.testing.assert_allclose(scores_of(Delegating(kernel), new.take([0] * 3), grid), scores[:3])


def test_rows_that_differ_only_in_how_long_they_are_are_told_apart(kernel, normal):
    """Padding has some code too; two rows may share all codes and not the cells that are real."""
    values = np.zeros((2, 4), dtype=int)
    real = np.array([[True, True, True, True], [True, True, False, False]])
    grid = ProbeGrid(LEVELS, 1, "exact")
    both = score_cells(kernel, codes_of(values, normal.schema, real), probes=grid, schedule=Linear())
    for i in (0, 1):
        alone = score_cells(kernel, codes_of(values[[i]], normal.schema, real[[i]]), probes=grid, schedule=Linear())
        np.testing.assert_allclose(both.surprise[i], alone.surprise[0], rtol=1e-6)
    assert both.weight[0].all()
    assert both.weight[1].astype(bool).tolist() == [True, True, False, False]


def test_padding_adds_nothing_and_the_rest_shares_the_weight(kernel, normal):
    real = np.arange(4) < np.array([[1], [2], [3], [4]])
    codes = codes_of(normal.values[:4], normal.schema, real)
    for design in DESIGNS:
        cells = score_cells(Delegating(kernel), codes, probes=ProbeGrid(LEVELS, 5, design), schedule=Linear())
        assert (cells.contributions("mean")[~real] == 0).all()
        np.testing.assert_allclose(cells.weight.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("design", DESIGNS)
def test_weights_add_up_to_one_where_empty_views_are_skipped(kernel, new, design):
    cells = score_cells(Delegating(kernel), new, probes=ProbeGrid(LEVELS, 4, design), schedule=Linear())
    np.testing.assert_allclose(cells.weight.sum(axis=1), 1, rtol=1e-5)


def test_where_every_view_is_empty_a_row_scores_zero(kernel, new):
    grid = ProbeGrid((0.001,), 1, "independent", seed=1)
    scores = scores_of(Delegating(kernel), new, grid)
    assert np.isfinite(scores).all()
    assert (scores == 0).any()


def test_no_rows_have_no_scores(kernel, new):
    assert scores_of(kernel, new.take([]), ProbeGrid()).shape == (0,)


def test_progress_is_reported_until_all_distinct_rows_are_done(kernel, new):
    said = []
    settings = {"probes": ProbeGrid(LEVELS, 1, "exact"), "schedule": Linear(), "cells_at_once": 1}
    score_cells(kernel, new, **settings, callback=said.append, stage="looking")
    n = len(np.unique(new.values, axis=0))
    assert n < len(new)
    assert [(each.stage, each.done, each.total) for each in said] == [("looking", i + 1, n) for i in range(n)]


# Aggregates ----------------------------------------------------------------------------------------------------------


def slow_aggregate(name, surprise, weight):
    """Each row's score by its definition, without any contributions."""
    return {
        "mean": sum(w * s for s, w in zip(surprise, weight, strict=True)),
        "log_mean_exp": math.log(
            sum(w * math.exp(s) for s, w in zip(surprise, weight, strict=True)) / max(sum(weight), 1e-30)
        ),
        "rms": math.sqrt(sum(w * s * s for s, w in zip(surprise, weight, strict=True))),
        "max": max((s for s, w in zip(surprise, weight, strict=True) if w > 0), default=0.0),
    }[name]


@pytest.mark.parametrize("name", AGGREGATES)
@pytest.mark.parametrize("design", DESIGNS)
def test_contributions_of_every_aggregate_add_up_to_its_score(kernel, new, name, design):
    cells = score_cells(Delegating(kernel), new, probes=ProbeGrid(LEVELS, 3, design), schedule=Linear())
    contributions = cells.contributions(name)
    assert (contributions >= 0).all()
    slow = [slow_aggregate(name, s, w) for s, w in zip(cells.surprise, cells.weight, strict=True)]
    np.testing.assert_allclose(contributions.sum(axis=1), slow, rtol=1e-9)


def test_rms_shares_by_squares_and_max_among_the_oddest():
    cells = CellScores(np.array([[1.0, 3.0, 3.0, 9.0]]), np.array([[0.5, 0.25, 0.25, 0.0]]))
    np.testing.assert_allclose(cells.contributions("mean"), [[0.5, 0.75, 0.75, 0]])
    np.testing.assert_allclose(cells.contributions("rms"), np.array([[0.5, 2.25, 2.25, 0]]) / math.sqrt(5))
    np.testing.assert_allclose(cells.contributions("max"), [[0, 1.5, 1.5, 0]])


@pytest.mark.parametrize("name", AGGREGATES)
def test_a_row_without_any_surprise_scores_zero(name):
    contributions = CellScores(np.zeros((2, 3)), np.array([[0.5, 0.5, 0], [0, 0, 0]])).contributions(name)
    assert contributions.tolist() == [[0, 0, 0]] * 2


def test_an_unknown_aggregate_is_refused_with_the_names_there_are():
    with pytest.raises(SettingError, match="'median'; choose one of mean, rms, max"):
        aggregate_named("median")


# Bounds and unseen values --------------------------------------------------------------------------------------------


class Certain:
    """A reconstructor that answers one thing."""

    def __init__(self, answer):
        self.answer = answer

    def log_prob(self, views):
        return torch.full((views.n_rows, views.n_views, views.codes_BF.shape[1]), self.answer)

    def most_likely(self, views):
        raise NotImplementedError


@pytest.mark.parametrize(("answer", "surprise"), [(-math.inf, -math.log(1e-12)), (-1e9, -math.log(1e-12)), (0.5, 0.0)])
def test_surprise_is_bounded_by_the_probability_floor(new, answer, surprise):
    cells = score_cells(Certain(answer), new, probes=ProbeGrid(LEVELS, 3), schedule=Linear())
    np.testing.assert_allclose(cells.surprise, surprise, rtol=1e-6)


def test_the_bound_holds_for_unseen_values_of_huge_columns():
    schema = schema_of([[0]] * 2 + [[1]] * 3)
    field = schema.fields[0]
    huge = type(field)(field.name, field.type, field.labels, (10**15, 2), 0)
    codes = codes_of([[2]], type(schema)((huge,)))
    cells = score_cells(Certain(-0.1), codes, probes=ProbeGrid(LEVELS, 3), schedule=Linear())
    assert cells.surprise[0, 0] == pytest.approx(-math.log(1e-12), rel=1e-6)


@pytest.mark.parametrize("design", ["balanced", "exact"])
@pytest.mark.parametrize("name", ["kernel", "mlp"])
def test_an_unseen_value_is_never_less_surprising_than_the_rarest_seen_one(normal, new, name, design):
    make = {
        "kernel": lambda: KernelReconstructor().fit(normal, device=CPU),
        "mlp": lambda: fit_mlp(normal, steps=30),
    }[name]
    reconstructor, grid = make(), ProbeGrid(LEVELS, 3, design)
    for j, field in enumerate(normal.schema):
        values = new.values.copy()
        values[:, j] = int(np.argmin(field.counts))
        seen = score_cells(reconstructor, codes_of(values, normal.schema), probes=grid, schedule=Linear())
        values[:, j] = SIZES[j]
        unseen = score_cells(reconstructor, codes_of(values, normal.schema), probes=grid, schedule=Linear())
        assert (unseen.surprise[:, j] >= seen.surprise[:, j] - 1e-5).all()
        assert (unseen.surprise[:, j] >= normal.schema.fields[j].unseen_charge - 1e-5).all()


def test_an_unseen_value_is_charged_at_least_its_columns_good_turing_mass():
    values = np.zeros((100, 2), dtype=int)
    values[90:, 1] = 1
    values[:5, 0] = [1, 2, 3, 4, 5]  # five values seen once: the next one is new with probability 5%
    normal = codes_of(values)
    unseen = codes_of([[6, 0], [0, 2]], normal.schema)
    cells = score_cells(Certain(-0.01), unseen, probes=ProbeGrid(LEVELS, 3), schedule=Linear())
    assert normal.schema.fields[0].unseen_mass == pytest.approx(0.05)
    assert cells.surprise[0, 0] == pytest.approx(-math.log(1 / 100), rel=1e-5)  # the rarest seen one is rarer still
    assert cells.surprise[1, 1] == pytest.approx(-math.log(1 / 101), rel=1e-5)
    assert cells.surprise[0, 1] == pytest.approx(0.01, rel=1e-5)


class CodeDependent:
    """Answers that depend on the true code alone; remembers what it was asked for, and in how many threads."""

    def __init__(self):
        self.asked = []

    def log_prob(self, views):
        self.asked.append((torch.get_num_threads(), views.codes_BF.shape))
        return -(views.codes_BF[:, None].float() + 1) * views.hidden


@pytest.mark.parametrize("n_threads", [1, 2])
def test_threads_share_token_rows_of_all_lengths(n_threads):
    schema = schema_of(np.arange(5)[:, None])
    lines = windows_of([[0, 1, 2], [4] * 7, [3], [1, 2, 3, 4], [2] * 9, []] * 2, schema)
    asked, before = CodeDependent(), torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        cells = score_cells(asked, lines, probes=ProbeGrid(LEVELS, 4), schedule=Linear())
    finally:
        torch.set_num_threads(before)
    assert {n for n, _ in asked.asked} == {1}
    assert sorted(width for _, (_, width) in asked.asked) == [1, 3, 4, 7, 9]
    shown = np.where(cells.weight > 0, cells.surprise, 0)
    np.testing.assert_allclose(shown, np.where(cells.weight > 0, lines.values + 1.0, 0), rtol=1e-6)


def test_long_token_rows_are_probed_a_few_at_a_time():
    schema = schema_of(np.arange(5)[:, None])
    rng = np.random.default_rng(0)
    lines = windows_of(rng.integers(0, 5, (100, 60)), schema)
    asked = CodeDependent()
    score_cells(asked, lines, probes=ProbeGrid(LEVELS, 50), schedule=Linear())
    sizes = [n for _, (n, _) in asked.asked]
    assert sum(sizes) == len(lines.distinct()[0])
    assert max(sizes) * 60 * 50 * len(LEVELS) <= 2 * TOKENS_AT_ONCE
