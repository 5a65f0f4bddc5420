"""What reconstructors of token rows share: views laid out as masked rows, and answers at hidden positions only.

R masked rows, F positions, M hidden positions, H width, V codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from maskdiff.codes import Schema
from maskdiff.errors import SettingError
from maskdiff.masking import MaskedViews
from maskdiff.reconstructors.code_head import log_prob_of
from maskdiff.reconstructors.trained import TrainedReconstructor


@dataclass(frozen=True, eq=False)
class MaskedTokens:
    """Views laid out as masked rows. `real_RF` is None where there is no padding, `places_M` where the hidden positions
    have yet to be found.
    """

    codes_RF: Tensor
    hidden_RF: Tensor
    visible_RF: Tensor
    rate_R: Tensor
    real_RF: Tensor | None
    places_M: Tensor | None = None

    @classmethod
    def of(cls, views: MaskedViews) -> MaskedTokens:
        shape = (views.n_rows, views.n_views, views.codes_BF.shape[1])

        def laid_out(values: Tensor) -> Tensor:
            return values.expand(shape).reshape(-1, shape[2])

        real = None if views.real_BF is None else laid_out(views.real_BF.unsqueeze(1))
        rate_R = views.mask_rate.expand(shape[:2]).reshape(-1)
        shown = (laid_out(views.codes_BF.unsqueeze(1)), laid_out(views.hidden), laid_out(views.visible))
        return cls(*shown, rate_R, real, views.places_M)

    def parts(self, n_tokens: int) -> Iterator[MaskedTokens]:
        """Runs of masked rows with about this many tokens each."""
        step = max(1, n_tokens // max(self.codes_RF.shape[1], 1))
        for at in range(0, max(len(self.codes_RF), 1), step):
            here = slice(at, at + step)
            real = None if self.real_RF is None else self.real_RF[here]
            shown = (self.codes_RF[here], self.hidden_RF[here], self.visible_RF[here])
            yield MaskedTokens(*shown, self.rate_R[here], real)

    @cached_property
    def hidden_M(self) -> Tensor:
        """Where the hidden positions are, row after row. Counted once: an accelerator is waited for each time."""
        return self.hidden_RF.flatten().nonzero()[:, 0] if self.places_M is None else self.places_M

    def at_hidden(self, values_RF: Tensor) -> Tensor:
        """The values at hidden positions, (M, ...), out of all of them, (R, F, ...)."""
        return values_RF.flatten(0, 1).index_select(0, self.hidden_M)

    def placed(self, answers_M: Tensor, views: MaskedViews) -> Tensor:
        """Answers at their positions, 0 elsewhere, shape (B, K, F)."""
        empty = torch.zeros(self.codes_RF.numel(), dtype=answers_M.dtype, device=answers_M.device)
        shape = (views.n_rows, views.n_views, self.codes_RF.shape[1])
        return empty.index_copy(0, self.hidden_M, answers_M).view(shape)


class TokenNetwork(nn.Module):
    """A network over masked rows. A subclass defines `states`, and `logits` or what is made of them."""

    n_codes: int
    # On a GPU training steps are recorded and replayed. Only where `states` never looks at values to decide what to do,
    # and neither looks nor draws random numbers in `logits`.
    can_be_recorded = False
    # On a processor two copies of the network, which share its weights, take half of each batch. Only where `draw_from`
    # tells a copy what its dropout draws from.
    can_be_halved = False
    # How many tokens run through the network at once when scoring, and how many logits are held at once.
    tokens_at_once = (1 << 11, 1 << 18)  # on a processor, whose cache holds so many, on an accelerator
    logits_at_once = (1 << 24, 1 << 28)

    def states(self, tokens: MaskedTokens) -> Tensor:
        """What the network makes of the hidden positions, (M, H)."""
        raise SettingError(f"{type(self).__name__} must define states(tokens).")

    def logits(self, states_MH: Tensor) -> Tensor:
        """Unnormalised log-probabilities of every code, (M, V)."""
        raise SettingError(f"{type(self).__name__} must define logits(states).")

    def log_prob_of(self, states_MH: Tensor, codes_M: Tensor) -> Tensor:
        """log p of these codes, shape (M,)."""
        return log_prob_of(self.logits(states_MH), codes_M)

    def best(self, states_MH: Tensor) -> tuple[Tensor, Tensor]:
        """The likeliest code and its log-probability, each (M,)."""
        logits_MV = self.logits(states_MH).float()
        best = logits_MV.max(dim=1)
        return best.indices, best.values - logits_MV.logsumexp(dim=1)

    @property
    def logits_per_position(self) -> int:
        """About how many logits are computed at a hidden position."""
        return self.n_codes

    def log_prob(self, views: MaskedViews) -> Tensor:
        """log p(true code | visible tokens) of hidden tokens, 0 elsewhere, shape (B, K, F)."""
        tokens = MaskedTokens.of(views)
        if not torch.is_grad_enabled():
            return tokens.placed(self.log_probs(tokens), views)
        with precision(tokens.codes_RF.device):
            states_MH = self.states(tokens)
        codes_M, most = tokens.at_hidden(tokens.codes_RF), self._most_at_once(tokens)
        if len(codes_M) <= most:
            return tokens.placed(self._true_log_prob(states_MH, codes_M), views)
        # A long text has more logits than memory: each part of them is computed again when its gradient is due.
        parts = zip(states_MH.split(most), codes_M.split(most), strict=True)
        again = partial(checkpoint, use_reentrant=False, preserve_rng_state=not self.can_be_recorded)
        answers = [again(self._true_log_prob, *part) for part in parts]
        return tokens.placed(torch.cat(answers), views)

    def _true_log_prob(self, states_MH: Tensor, codes_M: Tensor) -> Tensor:
        with precision(codes_M.device):
            return self.log_prob_of(states_MH, codes_M)

    def _most_at_once(self, tokens: MaskedTokens) -> int:
        """At how many positions logits are held at once."""
        return max(1, self.logits_at_once[int(tokens.codes_RF.device.type != "cpu")] // self.logits_per_position)

    def answers(self, tokens: MaskedTokens, ask: Callable[[Tensor, Tensor], tuple[Tensor, ...]]) -> list[Tensor]:
        """`ask(states_MH, codes_M)` over all hidden positions, a part at a time, joined."""
        device = tokens.codes_RF.device
        most = self._most_at_once(tokens)
        answers: list[tuple[Tensor, ...]] = []
        for part in tokens.parts(self.tokens_at_once[int(device.type != "cpu")]):
            codes_M = part.at_hidden(part.codes_RF)
            with precision(device):
                states_MH = self.states(part)
                for at in range(0, max(len(codes_M), 1), most):
                    answers.append(ask(states_MH[at : at + most], codes_M[at : at + most]))
        return [torch.cat(parts) for parts in zip(*answers, strict=True)]

    def log_probs(self, tokens: MaskedTokens) -> Tensor:
        """log p(true code) at all hidden positions, (M,)."""
        return self.answers(tokens, lambda states_MH, codes_M: (self.log_prob_of(states_MH, codes_M),))[0]


class TokenReconstructor(TrainedReconstructor):
    """The two answers of a reconstructor, given by a TokenNetwork in `network_`."""

    def log_prob(self, views: MaskedViews) -> Tensor:
        """log p(true code | visible tokens), shape (B, K, F)."""
        tokens = MaskedTokens.of(views)
        with torch.inference_mode():
            return tokens.placed(self.network_.log_probs(tokens), views)

    def most_likely(self, views: MaskedViews) -> tuple[Tensor, Tensor]:
        """The code it would have guessed for each hidden token, and its log-probability, each (B, K, F)."""
        tokens = MaskedTokens.of(views)
        with torch.inference_mode():
            codes_M, log_prob_M = self.network_.answers(tokens, lambda states_MH, _: self.network_.best(states_MH))
            return tokens.placed(codes_M, views), tokens.placed(log_prob_M, views)


def precision(device: torch.device) -> torch.autocast:
    """Half the bits where the device has kernels for them."""
    has = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.autocast(device.type, torch.bfloat16, enabled=has)


def check_alphabet(schema: Schema) -> int:
    """The number of codes, where rows are tokens of one alphabet."""
    if len(schema) != 1:
        raise SettingError(
            f"this reconstructor reads rows of tokens, which share one alphabet; the table has {len(schema)} columns. "
            'Use reconstructor="mlp" or "kernel" for tables.'
        )
    return int(schema.sizes[0])
