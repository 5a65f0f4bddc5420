"""Groups of rare codes answer as one softmax would, are asked only where needed, and take in new codes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from maskdiff.reconstructors import code_head
from maskdiff.reconstructors.code_head import CodeHead

WIDTH = 6


def head_of(n_codes, cutoffs, seed=0):
    torch.manual_seed(seed)
    return CodeHead(WIDTH, n_codes, cutoffs)


def states(n=9):
    return torch.randn(n, WIDTH, generator=torch.Generator().manual_seed(1))


def all_log_probs(head, states_MH):
    """log p of every code, (M, V)."""
    n = len(states_MH)
    return torch.stack([head.log_prob(states_MH, torch.full((n,), code)) for code in range(head.out_features)], dim=1)


CUTOFFS = [(), (50,), (4,), (4, 7), (1, 2, 3)]


@pytest.mark.parametrize("cutoffs", CUTOFFS)
@torch.no_grad()
def test_all_codes_together_have_probability_one(cutoffs):
    head = head_of(10, cutoffs)
    np.testing.assert_allclose(all_log_probs(head, states()).exp().sum(dim=1), 1, atol=1e-6)


@pytest.mark.parametrize("cutoffs", CUTOFFS)
@torch.no_grad()
def test_the_best_code_is_the_likeliest(cutoffs):
    head = head_of(10, cutoffs)
    wanted = all_log_probs(head, states()).max(dim=1)
    codes, log_prob = head.best(states())
    np.testing.assert_array_equal(codes, wanted.indices)
    np.testing.assert_allclose(log_prob, wanted.values, atol=1e-6)


@pytest.mark.parametrize("cutoffs", [(4,), (4, 7)])
def test_an_accelerator_is_answered_alike_with_the_same_gradient(cutoffs):
    codes, found = torch.tensor([0, 3, 4, 9, 7, 6, 1, 2, 8]), []
    for way in ("_asked", "_dense"):
        head = head_of(10, cutoffs)
        answer = getattr(head, way)(states(), codes)
        answer.sum().backward()
        found.append((answer.detach(), *(weights.grad for weights in head.parameters())))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("cutoffs", [(), (4, 7)])
def test_padding_to_a_fast_number_of_logits_changes_no_answer_and_no_gradient(cutoffs, monkeypatch):
    codes, found, shapes = torch.tensor([0, 3, 4, 9, 7, 6, 1, 2, 8]), [], []
    for multiples in ({}, {"cpu": 8}):
        monkeypatch.setattr(code_head, "_MULTIPLES", multiples)
        head = head_of(10, cutoffs)
        shapes.append(head._logits(states()).shape)
        answer = head._dense(states(), codes) if cutoffs else head.log_prob(states(), codes)
        answer.sum().backward()
        found.append((answer.detach(), *head.best(states()), *(weights.grad for weights in head.parameters())))
    assert shapes == [(9, 10), (9, 16)]
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one.detach(), other.detach(), atol=1e-6)


def test_a_group_that_holds_none_of_the_codes_is_not_asked():
    head = head_of(10, (4, 7))
    head.log_prob(states(3), torch.tensor([0, 5, 6])).sum().backward()
    assert not head.weight.grad[7:].any()
    assert head.weight.grad[:7].any(dim=1).all()


@pytest.mark.parametrize("n_before", [3, 4, 6, 8])
@torch.no_grad()
def test_new_codes_are_as_likely_as_they_are_frequent(n_before):
    counts = torch.tensor([40.0, 30.0, 20.0, 10.0, 8.0, 6.0, 4.0, 3.0, 2.0, 2.0])
    old, head = head_of(n_before, (4, 7), seed=3), head_of(10, (4, 7), seed=4)
    for own in (old, *([] if old.gates is None else [old.gates]), head):
        own.weight.zero_()  # where nothing is known of the context, the answer is the share
    old.bias.copy_(counts[:n_before].log())
    head.bias[:n_before] = old.bias
    if old.gates is not None:
        old.gates.bias.copy_(old._gated(counts[:n_before])[4:].log())
        head.gates.weight.zero_()
        head.gates.bias[: len(old.gates.bias)] = old.gates.bias
    head.begin_new_codes(counts[:n_before], counts)
    np.testing.assert_allclose(all_log_probs(head, states(1))[0].exp(), counts / counts.sum(), atol=0.02)
