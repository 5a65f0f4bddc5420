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
        own[name].copy_(weights[name])
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
