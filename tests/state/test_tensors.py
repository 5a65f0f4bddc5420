"""Networks from tensors: nothing is made larger than what the file holds."""

from __future__ import annotations

import sys

import pytest
import torch
from torch import nn

from maskdiff.errors import ModelFileError, SettingError
from maskdiff.reconstructors import MLPReconstructor, TransformerReconstructor
from maskdiff.state import arguments_to_plain
from maskdiff.state.tensors import check_names, check_tensor, rebuilt

from ..handmade import schema_of

HUGE = 1 << 40


def linear(n=3):
    return lambda: nn.Linear(n, 2)


def test_a_network_is_rebuilt_with_its_weights_and_owns_them():
    weights = linear()().state_dict()
    again = rebuilt(linear(), weights)
    torch.testing.assert_close(dict(again.state_dict()), dict(weights))
    assert not any(weight.requires_grad for weight in again.parameters())
    weights["bias"].fill_(7.0)
    assert (again.bias != 7.0).all()


@pytest.mark.parametrize(
    "network",
    [
        MLPReconstructor(4, 2),
        MLPReconstructor(4, 2, embedding=3, uses_level=True),
        TransformerReconstructor(8, 1, 2, 8),
    ],
    ids=["mlp", "embedded", "transformer"],
)
def test_starting_values_are_not_drawn_for_weights_that_the_file_holds(network, monkeypatch):
    """To draw them without memory, torch loads its compiler, which takes longer than all the rest."""
    schema = schema_of([[0], [1]], [2])
    weights = network.build(schema).state_dict()
    for module in ("sympy", "torch._dynamo", "torch.fx.experimental.symbolic_shapes"):
        monkeypatch.setitem(sys.modules, module, None)
    again = rebuilt(lambda: network.build(schema), weights)
    torch.testing.assert_close(dict(again.state_dict()), dict(weights))


@pytest.mark.parametrize(
    "build", [linear(4), linear(HUGE), linear(1 << 62), lambda: nn.ModuleList(nn.Linear(3, 2) for _ in range(HUGE))]
)
def test_a_network_of_another_size_is_refused_whatever_size_it_claims(build):
    with pytest.raises(ModelFileError):
        rebuilt(build, linear()().state_dict())


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 1e30])
def test_weights_that_would_give_no_finite_score_are_refused(number):
    weights = linear()().state_dict()
    weights["weight"][0, 0] = number
    with pytest.raises(ModelFileError, match="the tensor weight holds NaN or numbers above"):
        rebuilt(linear(), weights)


@pytest.mark.parametrize(
    "claim", [{"width": HUGE}, {"layers": HUGE}, {"embedding": HUGE}, {"layers": 0}, {"width": -1}, {"dropout": 2.0}]
)
def test_an_mlp_that_claims_another_size_is_refused(claim):
    schema, device = schema_of([[0, 0], [1, 2]], [2, 3]), torch.device("cpu")
    plain, weights = arguments_to_plain(MLPReconstructor(4, 2)), MLPReconstructor(4, 2).build(schema).state_dict()
    MLPReconstructor.from_state(plain, weights, schema=schema, device=device)
    with pytest.raises((ModelFileError, SettingError)):
        MLPReconstructor.from_state(plain | claim, weights, schema=schema, device=device)


@pytest.mark.parametrize("claim", [{"width": HUGE}, {"layers": HUGE}, {"feed_forward": HUGE}])
def test_a_transformer_that_claims_another_size_is_refused(claim):
    small = TransformerReconstructor(width=8, layers=1, heads=2, feed_forward=8)
    schema = schema_of([[0], [1]], [2])
    weights = small.build(schema).state_dict()
    claimed = TransformerReconstructor(**vars(small) | claim)
    with pytest.raises(ModelFileError):
        rebuilt(lambda: claimed.build(schema), weights)


def test_names_shapes_and_types_are_checked():
    good = torch.ones(2, 3)
    check_names({"a": good}, "a")
    assert check_tensor("a", good, (2, None), torch.float32) is good
    for shape, dtype in (((2,), torch.float32), ((3, 3), torch.float32), ((2, 3), torch.int64)):
        with pytest.raises(ModelFileError, match="the tensor a "):
            check_tensor("a", good, shape, dtype)
    with pytest.raises(ModelFileError, match="the tensor a has the shape"):
        check_tensor("a", good[:0], (None, 3), torch.float32)
    for names in ((), ("b",), ("a", "b")):
        with pytest.raises(ModelFileError, match="it lacks, or should not hold, the tensors"):
            check_names({"a": good}, *names)
