from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from maskdiff.errors import SettingError
from maskdiff.masking import MaskedViews, as_rows
from maskdiff.reconstructors import KernelReconstructor, Reconstructor

from ..handmade import codes_of, random_codes, random_hidden, schema_of, views_of
from ..slow_equations import kernel_probability

CPU = torch.device("cpu")
SIZES = [2, 3, 5, 1, 12]
# path: up to how many fields the lattice is used, up to how many positions per field one-hot rows are dense, how many
# numbers may be kept to look agreements up, and whether loops are compiled.
PATHS = {
    "lattice": (12, 48, 0, False),
    "compiled lattice": (12, 48, 0, True),
    "patterns": (0, 48, 0, True),
    "looked up, dense votes": (0, 48, 1 << 25, False),
    "compared, sparse votes": (0, 0, 0, False),
}


@pytest.fixture(params=PATHS)
def path(request):
    """Each way to compute the same numbers, whatever the table."""
    return dict(zip(("free_up_to", "dense_positions", "floats_kept", "compiles"), PATHS[request.param], strict=True))


@pytest.fixture(scope="module")
def normal():
    """40 rows, some of them equal."""
    codes = random_codes(34, SIZES, seed=1)
    values = np.concatenate([codes.values, codes.values[[0, 0, 3, 7, 7, 7]]])
    return codes_of(values, schema_of(values, SIZES))


def fit(codes, bandwidth=1.0, **sizes):
    sized = type("Sized", (KernelReconstructor,), sizes)
    return sized(bandwidth).fit(codes, device=CPU)


def slow_answers(normal, views, bandwidth):
    """Eq. 7 for every hidden cell, zero elsewhere."""
    references = normal.values.tolist()
    answer = np.zeros((views.n_rows, views.n_views, len(normal.schema)))
    shape = answer.shape
    hidden, visible = views.hidden.expand(shape).tolist(), views.visible.expand(shape).tolist()
    for b, row in enumerate(views.codes_BF.tolist()):
        for k in range(views.n_views):
            for j, code in enumerate(row):
                if hidden[b][k][j]:
                    answer[b, k, j] = kernel_probability(references, row, j, code, visible[b][k], bandwidth)
    return answer


def assert_same_where_hidden(found, expected, views):
    hidden = views.hidden.expand(found.shape).numpy()
    np.testing.assert_allclose(found.double().exp().numpy()[hidden], expected[hidden], rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize("bandwidth", [0.2, 1.0, 3.0])
def test_answers_are_equation_7(path, normal, bandwidth):
    new = random_codes(12, SIZES, seed=2)
    views = views_of(codes_of(new.values, normal.schema), random_hidden(12, 5, len(SIZES)))
    found = fit(normal, bandwidth, **path).log_prob(views)
    assert found.shape == (12, 5, len(SIZES))
    assert_same_where_hidden(found, slow_answers(normal, views, bandwidth), views)


@pytest.mark.parametrize("at_once", [1 << 25, 1])
def test_masks_shared_by_all_rows_are_answered_too(path, normal, at_once):
    values = normal.values[:12].copy()
    values[::2, 2] = SIZES[2]  # unseen, so no context: what rows show of a shared mask may differ
    hidden = random_hidden(1, 6, len(SIZES), seed=4)
    hidden[0, 0], hidden[0, 1] = True, False
    views = views_of(codes_of(values, normal.schema), hidden)
    assert_same_where_hidden(
        fit(normal, **path, floats_at_once=at_once).log_prob(views), slow_answers(normal, views, 1.0), views
    )


def test_with_all_hidden_the_answer_is_how_often_the_value_occurs(path, normal):
    views = views_of(normal.take(slice(0, 8)), np.ones((1, 1, len(SIZES))))
    found = fit(normal, **path).log_prob(views)[:, 0].exp().numpy()
    for j, field in enumerate(normal.schema):
        frequency = np.array(field.counts)[normal.values[:8, j]] / 40
        np.testing.assert_allclose(found[:, j], frequency, rtol=1e-5)


def test_an_unseen_cell_is_no_context(path, normal):
    values = normal.values[:6].copy()
    values[:, 2] = SIZES[2]
    views = views_of(codes_of(values, normal.schema), random_hidden(6, 4, len(SIZES)))
    assert not views.visible[:, :, 2].any()
    assert_same_where_hidden(fit(normal, **path).log_prob(views), slow_answers(normal, views, 1.0), views)


def test_a_row_far_from_all_others_is_still_answered(path, normal):
    """A bandwidth so large that every weight on its own would vanish: only ratios count."""
    new = codes_of([[1, 2, 4, 0, 11]], normal.schema)
    hidden = np.zeros((1, 1, 5), dtype=bool)
    hidden[0, 0, 0] = True
    views = views_of(new, hidden)
    found = fit(normal, bandwidth=40.0, **path).log_prob(views)
    assert_same_where_hidden(found, slow_answers(normal, views, 40.0), views)


def test_a_value_that_never_occurs_in_this_company_is_nearly_impossible_but_finite(path):
    normal = codes_of([[0, 0]] * 50 + [[1, 1]] * 50)
    views = views_of(codes_of([[0, 1]], normal.schema), [[[False, True]]])
    q = math.exp(-20.0)
    assert float(fit(normal, bandwidth=20.0, **path).log_prob(views)[0, 0, 1].exp()) == pytest.approx(
        q / (1 + q), rel=1e-4
    )
    assert torch.isfinite(fit(normal, bandwidth=500.0, **path).log_prob(views)).all()


def test_the_order_of_the_normal_rows_and_counting_them_does_not_matter(path, normal):
    shuffled = normal.take(np.random.default_rng(0).permutation(40))
    views = views_of(normal.take(slice(0, 6)), random_hidden(6, 3, len(SIZES)))
    torch.testing.assert_close(fit(normal, **path).log_prob(views), fit(shuffled, **path).log_prob(views))
    assert len(fit(normal, **path).counts_N) == len(np.unique(normal.values, axis=0)) < 40
    assert int(fit(normal, **path).counts_N.sum()) == 40


def test_the_likeliest_code_is_the_one_with_most_votes(path, normal):
    views = views_of(normal.take(slice(0, 10)), random_hidden(10, 3, len(SIZES), seed=5))
    guess, log_prob = fit(normal, **path).most_likely(views)
    references = normal.values.tolist()
    for b, row in enumerate(views.codes_BF.tolist()):
        for k in range(3):
            visible = views.visible[b, k].tolist()
            for j in np.flatnonzero(views.hidden[b, k]):
                votes = [kernel_probability(references, row, j, code, visible, 1.0) for code in range(SIZES[j])]
                assert votes[guess[b, k, j]] == pytest.approx(max(votes), rel=1e-5)
                assert float(log_prob[b, k, j].exp()) == pytest.approx(max(votes), rel=1e-5)


# Leaving out ---------------------------------------------------------------------------------------------------------


def left_out_views(codes, hidden):
    """The views of normal rows, each as if it were not among them."""
    masks = torch.as_tensor(hidden)
    return as_rows(codes, leave_one_out=True).views(masks, torch.full((1, masks.shape[1]), 0.5))


def refitted_answers(normal, views, bandwidth):
    """Each row by a kernel fitted without it."""
    answers = []
    for i in range(views.n_rows):
        others = np.delete(np.arange(len(normal)), i)
        answers.append(fit(normal.take(others), bandwidth).log_prob(views.rows(i, i + 1)))
    return torch.cat(answers).double().exp().numpy()


@pytest.mark.parametrize("bandwidth", [0.5, 2.0])
def test_a_row_left_out_is_answered_as_if_fitted_without_it(path, bandwidth):
    normal = codes_of(np.random.default_rng(0).integers(0, 3, (60, 5)))
    assert min(min(field.counts) for field in normal.schema) > 1
    views = left_out_views(normal, random_hidden(60, 4, 5))
    found = fit(normal, bandwidth, **path).left_out().log_prob(views)
    assert_same_where_hidden(found, refitted_answers(normal, views, bandwidth), views)


def test_a_row_left_out_with_values_only_it_had_is_answered_as_if_fitted_without_it(path):
    """Its lone values are unseen to the others: no context, and replaced by the rarest value that others have."""
    values = np.random.default_rng(0).integers(0, 3, (30, 5))
    values[:6, 1] = np.arange(3, 9)
    values[3, 4] = 3
    normal = codes_of(values)
    views = left_out_views(normal, random_hidden(30, 4, 5))
    assert not views.visible[:6, :, 1].any()
    found = fit(normal, **path).left_out().log_prob(views)
    assert_same_where_hidden(found, refitted_answers(normal, views, 1.0), views)


def test_leaving_out_does_not_change_the_kernel_it_came_from(path, normal):
    views = views_of(normal.take(slice(0, 6)), random_hidden(6, 3, len(SIZES)))
    reconstructor = fit(normal, **path)
    before = reconstructor.log_prob(views)
    left_out = reconstructor.left_out().log_prob(views)
    assert not left_out.equal(before)
    assert reconstructor.log_prob(views).equal(before)


# Other promises ------------------------------------------------------------------------------------------------------


def test_it_answers_the_protocol(normal):
    assert isinstance(fit(normal), Reconstructor)


def test_fitting_again_forgets_the_rows_fitted_before(path, normal):
    other = codes_of(normal.values[:15], normal.schema)
    views = views_of(normal.take(slice(0, 6)), random_hidden(6, 3, len(SIZES)))
    once = fit(normal, **path)
    once.log_prob(views), once.most_likely(views)
    again = once.fit(other, device=CPU)
    torch.testing.assert_close(again.log_prob(views), fit(other, **path).log_prob(views))
    torch.testing.assert_close(again.most_likely(views), fit(other, **path).most_likely(views))


def test_wide_tables_take_the_products_and_agree_with_the_lattice():
    normal = codes_of(np.random.default_rng(0).integers(0, 2, (80, 13)))
    views = views_of(normal.take(slice(0, 5)), random_hidden(5, 4, 13))
    products = fit(normal, compiles=False).log_prob(views)
    hidden = views.hidden
    torch.testing.assert_close(
        products[hidden], fit(normal, free_up_to=13).log_prob(views)[hidden], rtol=1e-4, atol=1e-4
    )


def test_answers_do_not_depend_on_how_many_rows_are_asked_at_once(path, normal):
    views = views_of(normal.take(slice(0, 8)), random_hidden(8, 3, len(SIZES)))
    at_once, hidden = fit(normal, **path).log_prob(views), views.hidden
    one_by_one = fit(normal, **path, floats_at_once=1)
    torch.testing.assert_close(one_by_one.log_prob(views)[hidden], at_once[hidden])
    torch.testing.assert_close(one_by_one.log_prob(views.rows(3, 4))[hidden[3:4]], at_once[3:4][hidden[3:4]])


def test_the_level_does_not_matter(path, normal):
    views = views_of(normal.take(slice(0, 4)), random_hidden(4, 2, len(SIZES)))
    other = MaskedViews(views.codes_BF, views.hidden, views.visible, torch.full((1, 2), 0.9))
    assert fit(normal, **path).log_prob(views).equal(fit(normal, **path).log_prob(other))


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("nan")])
def test_a_bandwidth_that_is_not_positive_is_refused(bandwidth):
    with pytest.raises(SettingError, match="bandwidth must be above 0"):
        KernelReconstructor(bandwidth)


def test_the_papers_kernel_has_bandwidth_one():
    assert KernelReconstructor.paper().bandwidth == 1.0
