"""What reconstructors share that train a network of their own: fitting, answering with it, and its stored state."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

import torch
from torch import nn

from maskdiff.codes import Codes, Schema
from maskdiff.codes.schema_change import SchemaChange
from maskdiff.errors import SettingError
from maskdiff.reconstructors.base import State
from maskdiff.state import Parameters, arguments_from_plain, arguments_to_plain
from maskdiff.state.tensors import Tensors, rebuilt
from maskdiff.training import StopPart, Training, seeded, train_network


class TrainedReconstructor(Parameters):
    """Settings of a network; a copy that is fitted holds it as `network_`. Subclasses define `build`."""

    training: Training
    network_: Any

    @property
    def tunes(self) -> bool:
        """Whether held-out rows decide when training ends."""
        return self.training.tunes

    def build(self, schema: Schema) -> nn.Module:
        """The untrained network for this schema."""
        raise SettingError(f"{type(self).__name__} does not say what its network is: define build(schema).")

    def fit(self, codes: Codes, *, seed: int, device: torch.device, **how: Any) -> Self:
        """A copy with a network trained on these rows; `how` is what `training.train` takes."""
        network = seeded(seed, lambda: self.build(codes.schema))
        return self._answering(train_network(network, codes, settings=self.training, seed=seed, device=device, **how))

    def train_on(
        self, codes: Codes, change: SchemaChange, *, part: StopPart, seed: int, device: torch.device, **how: Any
    ) -> Self:
        """A copy whose network was trained further, on rows with the codes of the changed schema.

        `part` says for how long; `how` is what `training.train` takes.
        """
        network = seeded(seed, lambda: self.build(codes.schema))
        network.take_over(copy.deepcopy(self.network_).cpu(), change)  # type: ignore[operator]
        settings = replace(self.training, stop=part.of(self.training.stop))
        return self._answering(train_network(network, codes, settings=settings, seed=seed, device=device, **how))

    def _answering(self, network: nn.Module) -> Self:
        """A copy that answers with this network."""
        fitted = copy.copy(self)
        fitted.network_ = network.eval()
        return fitted

    def to_state(self) -> State:
        """The settings, and the network's weights."""
        return arguments_to_plain(self), self.network_.state_dict()

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, *, schema: Schema, device: torch.device) -> Self:
        """The reconstructor that `to_state` described."""
        bare = cls(**arguments_from_plain(cls, plain))
        return bare._answering(rebuilt(lambda: bare.build(schema), tensors).to(device))
