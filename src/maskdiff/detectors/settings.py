"""The settings of a detector: which there are, what they may be, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import torch
from sklearn.base import BaseEstimator

from maskdiff.cascade import check_effort
from maskdiff.detectors.finding.search import check_contamination
from maskdiff.errors import SettingError
from maskdiff.evidence import MaskedSurprise
from maskdiff.masking import Schedule, as_schedule
from maskdiff.objectives import as_objective
from maskdiff.probes import ProbeGrid
from maskdiff.progress import Callback
from maskdiff.reconstructors import Reconstructor
from maskdiff.score import aggregate_named
from maskdiff.state.parameters import changed_setting, split_names

# Seeds are added to those of probes, in 64 bits.
_SEEDS = 1 << 62

# Preset -> name -> how to make the reconstructor, and the probes that go with it.
Presets = dict[str | None, dict[str, tuple[Callable[[], Any], ProbeGrid]]]


class Configured(BaseEstimator):  # type: ignore[misc]
    """Holds the settings that all detectors have. A subclass says which reconstructors have names."""

    reconstructor: str | Reconstructor
    preset: str | None
    probes: ProbeGrid | None
    objective: Any
    schedule: str | Schedule
    aggregate: str
    false_alarm_rate: float | None
    device: str
    seed: int
    progress: bool | Callback | None
    leave_out_labelled: bool
    contamination: float | str = 0.0

    _presets: Presets
    _own_aggregates: tuple[str, ...] = ()  # beside those of score.AGGREGATES

    def _check_settings(self) -> None:
        """Refuse what makes no sense before anything long begins."""
        if self.aggregate not in self._own_aggregates:
            aggregate_named(self.aggregate)
        self.torch_device()
        if not 0 <= self.seed < _SEEDS:
            raise SettingError(f"seed must be 0 or above, and below {_SEEDS:,}; got {self.seed}.")
        if self.probes is not None and not isinstance(self.probes, ProbeGrid):
            raise SettingError(
                f"probes must be a ProbeGrid, such as ProbeGrid(views_per_level=8); got {self.probes!r}."
            )
        check_contamination(self.contamination)
        check_effort(self.effort)
        if self.false_alarm_rate is not None and not 0 < self.false_alarm_rate < 1:
            raise SettingError(f"false_alarm_rate must lie between 0 and 1; got {self.false_alarm_rate}.")
        as_schedule(self.schedule)
        as_objective(self.objective, self._resolve()[1].levels)

    def set_params(self, **settings: Any) -> Self:
        """Change settings by name; `reconstructor__width` is the setting `width` of the reconstructor that was given.

        >>> from maskdiff import MLPReconstructor, TableDetector
        >>> detector = TableDetector(MLPReconstructor()).set_params(reconstructor__training__batch_size=64)
        >>> detector.reconstructor.training.batch_size
        64
        """
        own, nested = split_names(settings)
        known = self.get_params(deep=False)
        # Names that are unknown are refused by scikit-learn, in its own way.
        super().set_params(**own, **{name: None for name in nested if name not in known})
        for name, inner in nested.items():
            setattr(self, name, changed_setting(name, getattr(self, name), inner))
        return self

    def probe_grid(self) -> ProbeGrid:
        """The probes the reconstructor is scored with: those given, or the ones that go with it."""
        return self._resolve()[1]

    def _resolve(self) -> tuple[Any, ProbeGrid]:
        """The reconstructor to fit, and the probes it is scored with."""
        if self.preset not in self._presets:
            raise SettingError(f'preset must be None or "paper"; got {self.preset!r}.')
        named = self._presets[self.preset]
        if isinstance(self.reconstructor, str):
            if self.reconstructor not in named:
                known = ", ".join(named)
                raise SettingError(f"no reconstructor is called {self.reconstructor!r}; choose one of {known}.")
            build, probes = named[self.reconstructor]
            return build(), self.probes or probes
        if not isinstance(self.reconstructor, Reconstructor):
            raise SettingError(f"{self.reconstructor!r} must have log_prob(views) and most_likely(views).")
        matching = [probes for build, probes in named.values() if type(self.reconstructor) is type(build())]
        return self.reconstructor, self.probes or (matching or [probes for _, probes in named.values()])[0]

    def torch_device(self) -> torch.device:
        """Where this detector computes."""
        if self.device != "auto":
            try:
                return torch.device(self.device)
            except RuntimeError as error:
                raise SettingError(f'device must be "auto", "cpu", "cuda" or "mps"; got {self.device!r}.') from error
        mps = torch.backends.mps.is_available()
        return torch.device("cuda" if torch.cuda.is_available() else "mps" if mps else "cpu")

    def masked_surprise(self, reconstructor: Any, probes: ProbeGrid) -> MaskedSurprise:
        """What this reconstructor finds, probed with this detector's schedule, seed and device."""
        seeded = replace(probes, seed=probes.seed + self.seed)
        return MaskedSurprise(reconstructor, seeded, as_schedule(self.schedule), self.torch_device())
