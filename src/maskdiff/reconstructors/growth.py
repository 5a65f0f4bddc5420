"""A network for more codes takes over the weights of one for fewer, so that it begins where the other one was.

What belongs to an old code stays with it, wherever the code is now. A new code begins as the mean of the old codes of
its field, weighted by their shares: where the answer is the usual one, its logit then is that of the field less the
entropy H of the shares. So a bias of H plus the log odds of the new code makes it as likely as it is frequent.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from maskdiff.codes.schema_change import SchemaChange


class CodedNetwork(Protocol):
    """A network whose input and output have one row for each code.

    `input_rows` is the name of the weight with the rows of the input; those of the output are a linear layer, `head`.
    """

    input_rows: str

    def code_places(self, field: int, codes: Tensor) -> Tensor:
        """The rows of these codes of a field."""

    def state_dict(self) -> dict[str, Tensor]:
        """All weights by name, sharing memory with the network."""


@torch.no_grad()
def take_over(network: CodedNetwork, old: CodedNetwork, change: SchemaChange) -> None:
    """Give `network` the weights of `old`, where only the codes changed; both are on the CPU."""
    own, weights = network.state_dict(), old.state_dict()
    of_codes = (network.input_rows, "head.weight", "head.bias")
    for name in set(weights) - set(of_codes):
        own[name][: len(weights[name])] = weights[name]  # gates to groups of codes may become more
    for field in range(len(change.after)):
        before = old.code_places(field, torch.arange(change.before.fields[field].size))
        kept = network.code_places(field, torch.from_numpy(change.kept_codes(field)))
        new = network.code_places(field, torch.from_numpy(change.new_codes(field)))
        shares = torch.from_numpy(change.old_shares(field)).float()
        for name in of_codes:
            rows = weights[name][before]
            own[name][kept] = rows
            own[name][new] = torch.tensordot(shares, rows, dims=1)
        entropy = -(shares * shares.log()).sum()
        own["head.bias"][new] += entropy + torch.from_numpy(change.new_log_odds(field)).float()


def begin_rows(weight_CH: Tensor, bias_C: Tensor, before_C: Tensor, after_C: Tensor) -> None:
    """The same for one softmax over C codes, in place, given how often each occurred before and does now."""
    new_C = before_C == 0
    log_odds_C = after_C.log() - (after_C.sum() - after_C).log()
    if new_C.all():
        weight_CH.zero_()
        bias_C.copy_(after_C.log())
        return
    shares = before_C[~new_C] / before_C.sum()
    entropy = -(shares * shares.log()).sum()
    weight_CH[new_C] = shares @ weight_CH[~new_C]
    bias_C[new_C] = shares @ bias_C[~new_C] + entropy + log_odds_C[new_C]
