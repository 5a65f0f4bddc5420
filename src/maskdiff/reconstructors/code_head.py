"""From states to probabilities of codes, with rare codes in groups that cost nothing where the true code is another.

Codes are numbered from the most frequent on. The first group holds the frequent ones and a gate for each other group:
p(code) = p(code) within the first group, or p(gate of its group) * p(code | its group). All codes together have
probability one, and most positions of a text need the first group alone: a tenth of the logits of a large vocabulary.

M positions, H width, V codes, G groups.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from maskdiff.reconstructors.growth import begin_rows
from maskdiff.reconstructors.half_products import Linear, linear

# Of the logits behind the first group, about this part is computed: most codes of a text are frequent.
_PART_NEEDED = 4
# The number of logits is rounded up to a multiple of this where a device multiplies other matrices several times slower
# (GPT-2's 50,257 codes on an H200: 20 ms instead of 3). Padding is never likely.
_MULTIPLES = {"cuda": 8}
_NEVER = -1e4


class CodeHead(Linear):
    """A linear layer with one row for each code, and gates to the groups that begin at the `cutoffs`."""

    def __init__(self, width: int, n_codes: int, cutoffs: tuple[int, ...]) -> None:
        super().__init__(width, n_codes)
        self.bounds = (0, *(cutoff for cutoff in cutoffs if cutoff < n_codes), n_codes)
        self.gates = nn.Linear(width, self.n_groups - 1) if self.n_groups > 1 else None

    @property
    def n_groups(self) -> int:
        return len(self.bounds) - 1

    @property
    def logits_per_position(self) -> int:
        """About how many logits a position takes."""
        return self.bounds[1] + (self.out_features - self.bounds[1]) // _PART_NEEDED

    def log_prob(self, states_MH: Tensor, codes_M: Tensor) -> Tensor:
        """log p of these codes, shape (M,)."""
        if self.n_groups == 1:
            return log_prob_of(self._logits(states_MH), codes_M)
        return self._asked(states_MH, codes_M) if states_MH.device.type == "cpu" else self._dense(states_MH, codes_M)

    def best(self, states_MH: Tensor) -> tuple[Tensor, Tensor]:
        """The likeliest code and its log-probability, each (M,)."""
        logits_MV = self._logits(states_MH).float()
        best = [one.max(dim=1) for one in self._split(logits_MV)]
        log_prob_MG = torch.stack([one.values for one in best], dim=1) - self._log_totals(states_MH, logits_MV)
        codes_MG = torch.stack([one.indices + start for one, start in zip(best, self.bounds, strict=False)], dim=1)
        chosen = log_prob_MG.max(dim=1)
        return _at(codes_MG, chosen.indices), chosen.values

    def groups_of(self, codes_M: Tensor) -> Tensor:
        """The group of each code, shape (M,)."""
        group_M = torch.zeros_like(codes_M)
        for start in self.bounds[1:-1]:
            group_M += codes_M >= start
        return group_M

    def _asked(self, states_MH: Tensor, codes_M: Tensor) -> Tensor:
        """Each group asked only at the positions whose code it holds."""
        group_M, (first, *others) = self.groups_of(codes_M), self._rows()
        place_M = torch.where(group_M == 0, codes_M, self.bounds[1] - 1 + group_M)
        answer_M = log_prob_of(torch.cat([linear(states_MH, *first), self._gates(states_MH)], dim=1), place_M)
        for group, rows in enumerate(others, start=1):
            at = (group_M == group).nonzero()[:, 0]
            own = log_prob_of(linear(states_MH[at], *rows), codes_M[at] - self.bounds[group])
            answer_M = answer_M.index_add(0, at, own)
        return answer_M

    def _dense(self, states_MH: Tensor, codes_M: Tensor) -> Tensor:
        """The same without a look at the codes, which an accelerator would be waited for."""
        logits_MV = self._logits(states_MH).float()
        total_MG = self._log_totals(states_MH, logits_MV)
        answer_M: Tensor = _at(logits_MV, codes_M) - _at(total_MG, self.groups_of(codes_M))
        return answer_M

    def _log_totals(self, states_MH: Tensor, logits_MV: Tensor) -> Tensor:
        """What has to be taken from the logits of each group for log-probabilities, shape (M, G)."""
        first, *others = self._split(logits_MV)
        if not others:
            return torch.logsumexp(first, dim=1, keepdim=True)
        gates = self._gates(states_MH).float()
        total_M1 = torch.cat([first, gates], dim=1).logsumexp(dim=1, keepdim=True)
        within = torch.stack([one.logsumexp(dim=1) for one in others], dim=1)
        return torch.cat([total_M1, within - gates + total_M1], dim=1)

    def _logits(self, states_MH: Tensor) -> Tensor:
        """The logits of all codes, padded to a number that the device multiplies fast, (M, V or a few more)."""
        missing = -self.out_features % _MULTIPLES.get(states_MH.device.type, 1)
        if not missing:
            logits: Tensor = self(states_MH)
            return logits
        weight = functional.pad(self.weight, (0, 0, 0, missing))
        return linear(states_MH, weight, functional.pad(self.bias, (0, missing), value=_NEVER))

    def _split(self, logits_MV: Tensor) -> tuple[Tensor, ...]:
        """The logits of each group; padding is in the last."""
        return logits_MV.tensor_split(self.bounds[1:-1], dim=1)

    # Growing ---------------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def begin_new_codes(self, before_V: Tensor, after_V: Tensor) -> None:
        """Make new codes, and the gates of their groups, as likely as they are frequent.

        Given how often each code occurred before and does now. New codes are behind the old ones, whose rows are there.
        """
        if self.gates is None:
            return
        before_V = functional.pad(before_V, (0, len(after_V) - len(before_V)))
        for start, stop in list(pairwise(self.bounds))[1:]:
            here = slice(start, stop)
            begin_rows(self.weight[here], self.bias[here], before_V[here], after_V[here])
        before_C, after_C = self._gated(before_V), self._gated(after_V)
        first = self.bounds[1]
        weight_CH = torch.cat([self.weight[:first], self.gates.weight])
        bias_C = torch.cat([self.bias[:first], self.gates.bias])
        begin_rows(weight_CH, bias_C, before_C, after_C)
        odds = torch.logit(after_C / after_C.sum()) - torch.logit(before_C / before_C.sum())
        bias_C[first:] += torch.where(before_C[first:] > 0, odds[first:], 0.0)
        self.weight[:first], self.gates.weight[:] = weight_CH[:first], weight_CH[first:]
        self.bias[:first], self.gates.bias[:] = bias_C[:first], bias_C[first:]

    def _gated(self, counts_V: Tensor) -> Tensor:
        """How often each code of the first group occurred, then each other group, shape (C,)."""
        first, *others = counts_V.split(self._sizes)
        return torch.cat([first, torch.stack([one.sum() for one in others])])

    @property
    def _sizes(self) -> list[int]:
        return [stop - start for start, stop in pairwise(self.bounds)]

    def _rows(self) -> list[tuple[Tensor, Tensor]]:
        """Weight and bias of each group."""
        return list(zip(self.weight.split(self._sizes), self.bias.split(self._sizes), strict=True))

    def _gates(self, states_MH: Tensor) -> Tensor:
        assert self.gates is not None
        logits: Tensor = self.gates(states_MH)
        return logits


def _at(values_MV: Tensor, places_M: Tensor) -> Tensor:
    return values_MV.gather(1, places_M[:, None])[:, 0]


def log_prob_of(logits_MV: Tensor, codes_M: Tensor) -> Tensor:
    """log p of these codes out of the logits of all, shape (M,)."""
    return -functional.cross_entropy(logits_MV.float(), codes_M, reduction="none")
