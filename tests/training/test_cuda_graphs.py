"""What replayed steps promise; a recording that calls the step again stands in for the GPU's."""

from __future__ import annotations

import torch

from maskdiff.training.cuda_graphs import Replayed

from ..handmade import recorded_on_cpu


class Noting:
    """A step that notes what it is given and where it lies."""

    def __init__(self):
        self.seen = []

    def __call__(self, first, second, *, power=1):
        self.seen.append(first.data_ptr())
        return (first.sum() + second.sum()) ** power


def test_a_step_is_replayed_on_the_newest_tensors_at_the_place_it_was_recorded_with():
    noting = Noting()
    step = Replayed(noting, recorded_on_cpu)
    given = [torch.full((3,), float(n)) for n in range(6)]
    assert [float(step(one, torch.ones(2))) for one in given] == [2, 5, 8, 11, 14, 17]
    assert noting.seen[:2] == [given[0].data_ptr(), given[1].data_ptr()]
    assert len(set(noting.seen[2:])) == 1
    assert noting.seen[2] not in [one.data_ptr() for one in given]


def test_every_shape_of_every_tensor_and_every_other_value_has_a_recording_of_its_own():
    step = Replayed(Noting(), recorded_on_cpu)
    for _ in range(4):
        assert float(step(torch.ones(3), torch.ones(2))) == 5
        assert float(step(torch.ones(3), torch.ones(4))) == 7
        assert float(step(torch.ones(3), torch.ones(2), power=2)) == 25
    assert len(step.recorded) == 3


def test_what_comes_up_twice_is_not_recorded():
    step = Replayed(Noting(), recorded_on_cpu)
    for size in (1, 2, 3, 1, 2, 3, 3):
        step(torch.ones(size), torch.ones(1))
    assert [shape for shape, _ in step.recorded] == [torch.Size([3])]


def test_what_is_given_stays_as_it_is():
    step = Replayed(Noting(), recorded_on_cpu)
    given = [torch.full((2,), float(n)) for n in range(5)]
    for one in given:
        step(one, one)
    assert [one.tolist() for one in given] == [[n, n] for n in range(5)]
