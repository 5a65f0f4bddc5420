"""The compiled way to the kernel's answers, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from maskdiff.reconstructors import KernelReconstructor, kernel, kernel_lattice, kernel_patterns
from maskdiff.reconstructors.loops import load_loops
from maskdiff.reconstructors.reference import compact_codes

from ..handmade import codes_of, random_codes, random_hidden, schema_of, views_of
from .test_kernel import assert_same_where_hidden, left_out_views, refitted_answers, slow_answers

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def no_products(monkeypatch):
    """So that nothing else can have answered."""

    def refuse(*_):
        raise AssertionError("answered by products")

    monkeypatch.setattr(KernelReconstructor, "_from_agreements", refuse)


class Patterns(KernelReconstructor):
    free_up_to = 0


def fit(codes, bandwidth=1.0):
    return Patterns(bandwidth).fit(codes, device=CPU)


def table(n_rows, n_fields, n_codes, seed=0):
    values = np.random.default_rng(seed).integers(0, n_codes, (n_rows, n_fields))
    return codes_of(values, schema_of(values, [n_codes] * n_fields))


@pytest.mark.parametrize(
    ("n_rows", "n_fields", "n_codes", "n_views"),
    [
        (200, 17, 2, 5),  # nearly every row has patterns of its own
        (200, 17, 9, 5),  # many rows have their patterns in common
        (30, 40, 2, 35),  # three parts, and more views than are answered at once
        (12, 1, 3, 2),
        (600, 3, 500, 3),  # more codes than a byte has
    ],
)
def test_answers_are_equation_7(n_rows, n_fields, n_codes, n_views):
    normal = table(n_rows, n_fields, n_codes)
    views = views_of(normal.take(slice(0, 4)), random_hidden(4, n_views, n_fields))
    assert_same_where_hidden(fit(normal, 0.7).log_prob(views), slow_answers(normal, views, 0.7), views)


def test_parts_of_fewer_fields_answer_the_same(monkeypatch):
    normal = table(60, 40, 2)
    views = views_of(normal.take(slice(0, 6)), random_hidden(1, 5, 40))
    whole = fit(normal).log_prob(views)
    monkeypatch.setattr(kernel_patterns, "_MOST_PATTERNS", 1)
    torch.testing.assert_close(fit(normal).log_prob(views), whole)


def test_answers_are_exact_to_single_precision_over_many_reference_rows():
    """Sums over thousands of rows lose nothing."""
    normal = table(4000, 18, 3)
    views = views_of(normal.take(slice(0, 1)), random_hidden(1, 2, 18))
    found = fit(normal).log_prob(views).double().exp().numpy()
    expected, hidden = slow_answers(normal, views, 1.0), views.hidden.numpy()
    np.testing.assert_allclose(found[hidden], expected[hidden], rtol=5e-7)


def test_a_row_left_out_is_answered_as_if_fitted_without_it():
    values = np.random.default_rng(0).integers(0, 2, (30, 18))
    normal = codes_of(np.concatenate([values, values[:9]]))
    views = left_out_views(normal, random_hidden(1, 4, 18))
    assert_same_where_hidden(fit(normal).left_out().log_prob(views), refitted_answers(normal, views, 1.0), views)


def test_the_number_of_threads_does_not_matter():
    normal = table(50, 14, 3)
    views = views_of(normal.take(slice(0, 7)), random_hidden(7, 3, 14))
    n_threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = fit(normal).log_prob(views)
        torch.set_num_threads(3)
        assert fit(normal).log_prob(views).equal(alone)
    finally:
        torch.set_num_threads(n_threads)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_table_with_equal_rows_and_unseen_values_is_answered_by_equation_7(data):
    n_fields, n_codes = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
    row = st.lists(st.integers(0, n_codes - 1), min_size=n_fields, max_size=n_fields)
    values = np.array([*data.draw(st.lists(row, min_size=1, max_size=12)), *[[v] * n_fields for v in range(n_codes)]])
    normal = codes_of(values, schema_of(values, [n_codes] * n_fields))
    unseen = st.lists(st.integers(0, n_codes), min_size=n_fields, max_size=n_fields)
    new = codes_of(data.draw(st.lists(unseen, min_size=1, max_size=3)), normal.schema)
    hidden = random_hidden(data.draw(st.sampled_from([1, len(new)])), 3, n_fields, seed=data.draw(st.integers(0, 9)))
    views = views_of(new, hidden)
    assert_same_where_hidden(fit(normal).log_prob(views), slow_answers(normal, views, 1.0), views)


def test_without_numba_products_answer_the_same(monkeypatch):
    normal = table(60, 14, 3)
    views = views_of(normal.take(slice(0, 6)), random_hidden(1, 5, 14))
    compiled = fit(normal).log_prob(views)
    monkeypatch.undo()
    monkeypatch.setattr(kernel, "load_loops", lambda _: None)
    products, hidden = fit(normal).log_prob(views), views.hidden.expand_as(compiled)
    torch.testing.assert_close(products[hidden], compiled[hidden], rtol=1e-5, atol=1e-5)


def test_subsets_are_counted_alike_for_each_row_and_for_all_at_once():
    normal = table(90, 6, 3)
    rows_BF = torch.from_numpy(table(20, 6, 3, seed=1).values.astype(np.int64))
    fitted, sizes = fit(normal), normal.schema.sizes
    at_once = kernel_lattice.subset_counts(fitted.codes_NF, fitted.counts_N, rows_BF, sizes)
    loops = load_loops("maskdiff.reconstructors.lattice_loops")
    each = kernel_lattice.compiled_subset_counts(*fitted._compact(), compact_codes(rows_BF, sizes), loops)
    assert each.equal(at_once)
    assert kernel_lattice.counts_by_field(fitted.codes_NF, fitted.counts_N, rows_BF, sizes).equal(at_once)
    assert kernel_lattice.one_by_one_is_less(10, 10_000, 1)
    assert not kernel_lattice.one_by_one_is_less(10, 10_000, 10**6)


@pytest.mark.parametrize("sizes", [[2], [7, 1, 4], [3, 2, 5, 2, 9, 2, 3, 4]])
def test_all_subsets_of_some_fields_are_split_at_once(sizes):
    reference_NF, rows_BF = (random_codes(n, sizes, seed=n).values.astype(np.int64) for n in (400, 30))
    given = (torch.from_numpy(reference_NF), torch.arange(1, 401), torch.from_numpy(rows_BF), np.array(sizes))
    found = kernel_lattice.counts_by_field(*given)
    assert found.equal(kernel_lattice.counts_by_subset(*given))
    agree = (reference_NF == rows_BF[:1]).all(axis=1)
    assert found[0, -1] == np.arange(1, 401)[agree].sum()
