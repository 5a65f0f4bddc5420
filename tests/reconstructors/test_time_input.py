"""Diffusion models are given the time as their family expects it.

The models here are trained in the test on rows whose likelihood is known. Eight coins of one row are all tossed with
the same bias, towards a or towards b. A model only sees which of the two are visible, not how often, so what it should
answer depends on how many coins are hidden, and that only the time says.
"""

from __future__ import annotations

import math
from functools import cache

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from torch import nn

from maskdiff.encoders.tokens.text import TextEncoder
from maskdiff.errors import SettingError
from maskdiff.masking import as_rows
from maskdiff.reconstructors import PretrainedReconstructor
from maskdiff.reconstructors.pretrained import TIME_INPUTS

N_COINS, BIAS = 8, 0.7


class Glance(nn.Module):
    """Logits of a and b (ids 1 and 2) from which of them are visible, and the time; the same at all positions."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 32), nn.Tanh(), nn.Linear(32, 3))

    def answer(self, input_ids: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        a, b = ((input_ids == code).any(dim=1) for code in (1, 2))
        flags = torch.stack([a & ~b, b & ~a, a & b, ~a & ~b], dim=1).float()
        return self.body(torch.cat([flags, time[:, None]], dim=1))[:, None].expand(-1, input_ids.shape[1], -1)


class TakesSigma(Glance):
    def forward(self, input_ids, sigma):
        return self.answer(input_ids, sigma)


class TakesTimesteps(Glance):
    def forward(self, input_ids, timesteps):
        return self.answer(input_ids, timesteps)


@cache
def trained_weights(time):
    """Weights trained as authors of such models would: rows masked at random rates, given the time they use."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Glance()
        optimiser = torch.optim.Adam(model.parameters(), 0.05)
        for step in range(250):
            optimiser.param_groups[0]["lr"] = 0.05 * (1 - step / 250)
            bias = torch.where(torch.rand(4096, 1) < 0.5, BIAS, 1 - BIAS)
            ids = torch.where(torch.rand(4096, N_COINS) < bias, 1, 2)
            rate = 0.3 + 0.65 * torch.rand(4096)
            hidden = torch.rand(ids.shape) < rate[:, None]
            logits = model.answer(ids.masked_fill(hidden, 0), TIME_INPUTS[time](rate))
            loss = nn.functional.cross_entropy(logits[hidden], ids[hidden])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return model.state_dict()


def trained(kind, time):
    model = kind()
    model.load_state_dict(trained_weights(time))
    return model.eval()


def known_log_prob(rate):
    """log p(a | some of the other seven coins are visible, and all of those are a), by Bayes."""
    all_a = [(rate + (1 - rate) * p) ** (N_COINS - 1) - rate ** (N_COINS - 1) for p in (BIAS, 1 - BIAS)]
    return math.log((BIAS * all_a[0] + (1 - BIAS) * all_a[1]) / sum(all_a))


def answers(model, rates, **settings):
    """log p(a) at a hidden coin where the visible ones are a, at each rate."""
    tokenizer = Tokenizer(models.WordLevel({"[MASK]": 0, "a": 1, "b": 2}, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.add_special_tokens(["[MASK]"])
    reconstructor = PretrainedReconstructor(model, tokenizer=tokenizer, **settings)
    codes = TextEncoder(tokenizer, whole_vocabulary=True).fit(["a b", "b a"]).encode([" ".join("a" * N_COINS)])
    fitted = reconstructor.fit(codes, seed=0, device=torch.device("cpu"))
    assert fitted.uses_level
    hidden = torch.zeros(1, len(rates), N_COINS, dtype=torch.bool)
    hidden[..., 0] = True
    return fitted.log_prob(as_rows(codes).views(hidden, torch.tensor([rates])))[0, :, 0]


@pytest.mark.parametrize(
    ("kind", "time", "settings", "other"),
    [
        (TakesSigma, "sigma", {}, "rate"),
        (TakesTimesteps, "rate", {}, "sigma"),
        (TakesTimesteps, "sigma", {"time_input": "sigma"}, "rate"),
    ],
    ids=["sigma", "timesteps", "timesteps that mean sigma"],
)
def test_a_model_given_the_time_of_its_family_answers_with_the_known_likelihood(kind, time, settings, other):
    model, rates = trained(kind, time), [0.5, 0.7, 0.9]
    known = torch.tensor([known_log_prob(rate) for rate in rates])
    torch.testing.assert_close(answers(model, rates, **settings), known, atol=0.03, rtol=0)
    astray = answers(model, rates, time_input=other)
    assert abs(float(astray[2] - known[2])) > 0.05


def test_sigma_is_minus_the_log_of_what_is_still_visible_and_has_a_value_where_nothing_is():
    rates = torch.tensor([0.25, 0.9, 1.0])
    sigma = TIME_INPUTS["sigma"](rates)
    torch.testing.assert_close(sigma[:2], -(1 - rates[:2]).log())
    assert sigma[1] < sigma[2] < 10
    assert answers(TakesSigma(), [0.25, 1.0]).isfinite().all()


def test_an_unknown_time_input_is_refused():
    with pytest.raises(SettingError, match="time_input must be None or one of rate, sigma"):
        PretrainedReconstructor("folder", time_input="steps")
