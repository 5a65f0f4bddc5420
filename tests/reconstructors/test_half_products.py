"""Training on a processor multiplies in bfloat16 where it can; answers do not."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from maskdiff.reconstructors import half_products
from maskdiff.reconstructors.half_products import Linear, linear

# Numbers of bfloat16 have 8 binary digits.
ROUNDING = 2**-8


@pytest.fixture(params=[True, False], ids=["half", "single"])
def processor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """A processor with or without such instructions, for which no product is too small."""
    monkeypatch.setattr(half_products, "has_half_products", lambda: request.param)
    monkeypatch.setattr(half_products, "_FEWEST_MULTIPLICATIONS", 0)
    return bool(request.param)


def made(*, positive: bool = False) -> tuple[torch.Tensor, Linear]:
    torch.manual_seed(0)
    layer = Linear(24, 7)
    x = torch.rand(3, 5, 24) if positive else torch.randn(3, 5, 24)
    return x.requires_grad_(True), layer


def test_training_rounds_products_where_the_processor_has_them(processor: bool) -> None:
    x, layer = made()
    exact = functional.linear(x, layer.weight, layer.bias)
    assert torch.equal(layer(x), exact) is not processor


def test_a_small_product_is_not_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(half_products, "has_half_products", lambda: True)
    layer = Linear(256, 256)
    for n_rows, rounded in ((16, False), (256, True)):
        x = torch.randn(n_rows, 256)
        assert torch.equal(layer(x), functional.linear(x, layer.weight, layer.bias)) is not rounded


def test_a_trained_layer_answers_in_single_precision(processor: bool) -> None:
    x, layer = made()
    exact = functional.linear(x, layer.weight, layer.bias)
    with torch.no_grad():
        assert torch.equal(layer(x), exact)
    layer.requires_grad_(False)
    assert torch.equal(layer(x), exact)


def test_gradients_are_those_of_a_linear_layer_up_to_rounding(processor: bool) -> None:
    x, layer = made(positive=True)
    parts = (x, layer.weight, layer.bias)
    given = torch.rand(3, 5, 7)
    exact = torch.autograd.grad(functional.linear(*parts), parts, given)
    found = torch.autograd.grad(linear(*parts), parts, given)
    for ours, theirs in zip(found, exact, strict=True):
        assert ours.shape == theirs.shape
        assert ours.dtype == torch.float32
        # Two factors and the result are rounded; sums of positive numbers add no error of their own.
        torch.testing.assert_close(ours, theirs, rtol=4 * ROUNDING, atol=4 * ROUNDING * float(theirs.abs().max()))
    torch.testing.assert_close(found[2], exact[2])  # sums are taken in single precision


def test_no_positions_are_no_error(processor: bool) -> None:
    x, layer = made()
    none = x[:0, 0]
    (gradient,) = torch.autograd.grad(layer(none).sum(), layer.weight)
    assert not gradient.any()
