"""How surprised a reconstructor is by the cells of a row, each hidden among others by a grid of probes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import torch

from maskdiff.codes import Codes, Schema
from maskdiff.errors import SettingError
from maskdiff.evidence.base import State
from maskdiff.masking import Schedule
from maskdiff.probes import ProbeGrid
from maskdiff.progress import Callback
from maskdiff.reconstructors import RECONSTRUCTORS, Reconstructor, abilities
from maskdiff.score import CellScores, score_cells
from maskdiff.state import check, from_plain, look_up, to_plain
from maskdiff.state.tensors import Tensors


@dataclass(frozen=True, eq=False)
class MaskedSurprise:
    """Mean surprise in nats of a reconstructor that is probed. `leave_one_out`: each row as if not learned from."""

    reconstructor: Reconstructor
    probes: ProbeGrid
    schedule: Schedule
    device: Any = "cpu"
    leave_one_out: bool = False

    def cells(self, codes: Codes, *, stage: str, callback: Callback | None = None) -> CellScores:
        """Surprise and weight of every cell, each (N, F)."""
        return score_cells(
            self.reconstructor,
            codes,
            probes=self.probes,
            schedule=self.schedule,
            device=self.device,
            leave_one_out=self.leave_one_out,
            callback=callback,
            stage=stage,
        )

    def left_out(self) -> MaskedSurprise:
        """The same where the reconstructor can leave a row out."""
        left_out = abilities(self.reconstructor).left_out
        if left_out is None:
            raise SettingError(f"{self.reconstructor!r} cannot leave single rows out: it has no left_out().")
        return replace(self, reconstructor=left_out(), leave_one_out=True)

    def describe(self) -> str:
        """What it is, in words."""
        describe = abilities(self.reconstructor).describe
        return type(self.reconstructor).__name__ if describe is None else describe()

    def to_state(self) -> State:
        """The reconstructor's own state, the probes and the schedule."""
        name, able = type(self.reconstructor).__name__, abilities(self.reconstructor)
        if able.to_state is None or RECONSTRUCTORS.get(name) is not type(self.reconstructor):
            raise SettingError(
                f"a detector with {self.reconstructor!r} cannot be saved: only reconstructors with to_state that are "
                "listed in maskdiff.reconstructors.RECONSTRUCTORS can."
            )
        plain, tensors = able.to_state()
        kept = {"reconstructor": name, "state": plain, "probes": self.probes, "schedule": self.schedule}
        return kept | {key: to_plain(kept[key]) for key in ("probes", "schedule")}, tensors

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, *, schema: Schema, device: torch.device) -> Self:
        """The source that `to_state` described."""
        wanted = {"reconstructor", "state", "probes", "schedule"}
        check(isinstance(plain, dict) and set(plain) == wanted, "it does not describe a masked surprise completely")
        named: Any = look_up(plain["reconstructor"], RECONSTRUCTORS, "reconstructor")
        reconstructor = named.from_state(plain["state"], tensors, schema=schema, device=device)
        probes, schedule = from_plain(plain["probes"], ProbeGrid), from_plain(plain["schedule"], Schedule)
        return cls(reconstructor, probes, schedule, device)
