from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from maskdiff.reconstructors.layout import Layout

SIZES = st.lists(st.integers(1, 40) | st.integers(41, 700), min_size=1, max_size=8)


def slow_positions(layout, sizes):
    """Field by field, the positions of its codes."""
    start, stride = layout.start_F.tolist(), layout.stride_F.tolist()
    return [[start[j] + code * stride[j] for code in range(size)] for j, size in enumerate(sizes)]


@given(SIZES)
def test_every_code_has_a_place_of_its_own_and_the_rest_is_padding(sizes):
    layout = Layout(np.array(sizes))
    places = slow_positions(layout, sizes)
    taken = [place for field in places for place in field]
    assert len(set(taken)) == sum(sizes)
    assert sorted(taken) == (~layout.padding_P).nonzero()[:, 0].tolist()
    for j, field in enumerate(places):
        assert set(layout.field_P[field].tolist()) == {j}
    assert layout.size < 1.5 * sum(sizes)


@given(SIZES)
def test_reductions_over_codes_agree_with_a_loop_over_fields(sizes):
    layout = Layout(np.array(sizes))
    values = torch.randn(3, layout.size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    values = values.masked_fill(layout.padding_P, -1e4)
    largest, code = layout.largest(values)
    log_sum = layout.log_sum_exp(values)
    for j, places in enumerate(slow_positions(layout, sizes)):
        ours = values[:, places].numpy()
        np.testing.assert_allclose(log_sum[:, j], np.log(np.exp(ours).sum(axis=1)), rtol=1e-9)
        np.testing.assert_array_equal(code[:, j], ours.argmax(axis=1))
        np.testing.assert_array_equal(largest[:, j], ours.max(axis=1))


@given(SIZES, st.data())
def test_a_part_says_where_its_codes_stand_in_the_whole(sizes, data):
    layout = Layout(np.array(sizes))
    fields = sorted(data.draw(st.sets(st.integers(0, len(sizes) - 1))))
    part, places = layout.part(torch.tensor(fields, dtype=torch.int64))
    whole = slow_positions(layout, sizes)
    for j, alone in enumerate(slow_positions(part, [sizes[field] for field in fields])):
        assert places[alone].tolist() == whole[fields[j]]
    assert layout.padding_P[places].equal(part.padding_P)


def test_a_field_far_below_the_others_still_has_its_sum():
    sizes = np.array([3, 2])
    layout = Layout(sizes)
    values = torch.zeros(2, layout.size)
    values[0, layout.positions(torch.tensor([[0, 0], [0, 1]]))[:, 1]] = -500.0
    np.testing.assert_allclose(layout.log_sum_exp(values), np.log([[3, 2], [3, 2]]) - [[0, 500], [0, 0]], rtol=1e-6)


def test_one_hot_has_a_one_at_each_cells_position():
    sizes = np.array([3, 1, 20, 3])
    layout = Layout(sizes)
    codes = torch.tensor([[2, 0, 19, 0], [0, 0, 7, 1]])
    one_hot = layout.one_hot(codes)
    assert one_hot.sum(dim=1).tolist() == [4, 4]
    assert one_hot.gather(1, layout.positions(codes)).tolist() == [[1] * 4] * 2


def test_no_fields_have_no_places():
    layout = Layout(np.array([], dtype=np.int64))
    assert layout.size == 0
    assert layout.one_hot(torch.empty(3, 0, dtype=torch.int64)).shape == (3, 0)


@given(SIZES)
def test_log_probabilities_and_their_gradients_are_those_of_a_softmax_over_each_field(sizes):
    layout, generator = Layout(np.array(sizes)), torch.Generator().manual_seed(0)
    logits = torch.randn(3, layout.size, generator=generator, dtype=torch.float64)
    logits[1, layout.positions(torch.zeros(1, len(sizes), dtype=torch.int64))[0, 0]] = 900.0  # the others vanish
    logits = logits.masked_fill(layout.padding_P, -1e4).requires_grad_()
    codes = torch.stack([torch.randint(size, (3,), generator=generator) for size in sizes], dim=1)
    weight = torch.randn(3, len(sizes), generator=generator, dtype=torch.float64)
    parts = [logits[:, places].log_softmax(dim=1) for places in slow_positions(layout, sizes)]
    expected = torch.stack([part.gather(1, codes[:, [j]])[:, 0] for j, part in enumerate(parts)], dim=1)
    (slow,) = torch.autograd.grad((expected * weight).sum(), logits)

    found = layout.log_prob(logits, codes)
    (gradient,) = torch.autograd.grad((found * weight).sum(), logits)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradient, slow)
    torch.testing.assert_close(layout.log_prob(logits.detach(), codes), expected.detach())
