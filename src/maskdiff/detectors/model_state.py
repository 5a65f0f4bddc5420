"""The part of a detector that a model file holds: everything that was set and learned, as plain values and tensors."""

from __future__ import annotations

from typing import Any, Self

import torch

from maskdiff.calibration import Calibration
from maskdiff.codes.stored import check_schema
from maskdiff.detectors.dismissals import Dismissals
from maskdiff.detectors.fingerprint import Fingerprint
from maskdiff.detectors.learning import MAIN, Learner
from maskdiff.errors import SettingError
from maskdiff.evidence import Evidence, MaskedSurprise
from maskdiff.evidence.base import State
from maskdiff.probes import ProbeGrid
from maskdiff.state import arguments_from_plain, arguments_to_plain, check, from_plain, to_plain
from maskdiff.state.tensors import Tensors, check_names, named, under

# Settings that say nothing about the scores are not stored.
_NOT_STORED = ("progress", "device")
# What a model file holds with tensors of its own.
_WITH_TENSORS = ("evidence", "fingerprint", "cells", "kept", "looks")


class ModelState(Learner):
    """Is stored in a model file, and made again from one."""

    _encoder: type[Any]

    def to_state(self) -> State:
        """Everything that was set and learned, as plain values and tensors; see `maskdiff.save`."""
        if not hasattr(self, "calibration_"):
            raise SettingError(f"{self!r} has learned nothing yet: fit it before saving it.")
        evidence, tensors = self.evidence_.to_state()
        fingerprint, hashes = self.fingerprint_.to_state()
        cells, of_cells = self._cells_to_state()
        updates, of_kept = self._updates_to_state()
        plain = {
            "settings": arguments_to_plain(self, without=_NOT_STORED),
            "probes": to_plain(self.probes_),
            "encoder": self.encoder_.to_state(),
            "evidence": evidence,
            "fingerprint": fingerprint,
            "dismissals": self.dismissals_.to_state(),
            "cells": cells,
            **updates,
        }
        parts = named(tensors, "evidence") | named(hashes, "fingerprint") | named(of_cells, "cells")
        parts |= named(of_kept, "kept")
        looks, of_looks = self._looks_to_state()
        scores = torch.from_numpy(self.whole_grid_calibration_.scores.copy())
        return plain | {"looks": looks}, parts | named(of_looks, "looks") | {"calibration": scores}

    def _cells_to_state(self) -> State:
        """What was learned about single cells: here nothing."""
        return {}, {}

    def _cells_from_state(self, plain: Any, tensors: Tensors) -> None:
        """Take up what `_cells_to_state` gave."""
        check(plain == {} and not tensors, "it holds alarms of cells, which a row of tokens cannot have")

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors) -> Self:
        """The detector that `to_state` described; everything is checked, nothing is taken on trust."""
        wanted = {"settings", "probes", "encoder", *_WITH_TENSORS, "dismissals", "updates"}
        check(isinstance(plain, dict) and set(plain) == wanted, "it does not describe a detector completely")
        parts, hashes, of_cells, of_kept, of_looks = (under(tensors, name) for name in _WITH_TENSORS)
        inside = (name for name in tensors if name.partition(".")[0] in _WITH_TENSORS)
        check_names(tensors, "calibration", *inside)
        detector = cls(**arguments_from_plain(cls, plain["settings"], without=_NOT_STORED))
        detector._check_settings()
        detector.encoder_ = cls._encoder.from_state(plain["encoder"])
        detector.probes_ = from_plain(plain["probes"], ProbeGrid)
        device, schema = detector.torch_device(), check_schema(detector.encoder_.schema_)
        detector.fingerprint_ = Fingerprint.from_state(plain["fingerprint"], hashes, schema)
        of_tokens = detector.encoder_.parts != "columns"
        detector.dismissals_ = Dismissals.from_state(plain["dismissals"], schema, of_tokens=of_tokens)
        detector.evidence_ = Evidence.from_state(plain["evidence"], parts, schema=schema, device=device)
        main = detector.evidence_.sources.get(MAIN)
        check(isinstance(main, MaskedSurprise), f"its evidence lacks a masked surprise called {MAIN}")
        assert isinstance(main, MaskedSurprise)
        detector.reconstructor_ = main.reconstructor
        detector._check_learned()
        detector._cells_from_state(plain["cells"], of_cells)
        detector._updates_from_state(plain, of_kept)
        calibration = Calibration.from_state(tensors["calibration"])
        detector.adopt_calibration(calibration, detector._looks_from_state(plain["looks"], of_looks, len(calibration)))
        return detector
