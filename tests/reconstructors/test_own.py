"""A reconstructor from outside: two methods are enough; with more it can do more."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from maskdiff import TableDetector, load, save
from maskdiff.errors import SettingError
from maskdiff.evidence import MaskedSurprise
from maskdiff.masking import Linear
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import RECONSTRUCTORS, KernelReconstructor, Reconstructor, abilities
from maskdiff.state.tensors import check_names, check_tensor


class Even:
    """Takes every value of a column for as likely as any other; learns nothing, and can do nothing else."""

    def log_prob(self, views):
        return torch.full((views.n_rows, views.n_views, views.codes_BF.shape[1]), -1.0)

    def most_likely(self, views):
        log_prob = self.log_prob(views)
        return torch.zeros_like(log_prob, dtype=torch.int64), log_prob


class Rates(Even):
    """Answers with how often each value occurs; can be fitted, described and kept."""

    def fit(self, codes, **settings):
        self.log_rates = [torch.tensor(field.counts).div(sum(field.counts)).log() for field in codes.schema]
        return self

    def log_prob(self, views):
        columns = [rates[views.codes_BF[:, j]] for j, rates in enumerate(self.log_rates)]
        return torch.stack(columns, dim=1)[:, None].expand(-1, views.n_views, -1)

    def describe(self):
        return "how often values occur"

    def to_state(self):
        return {}, {str(j): rates for j, rates in enumerate(self.log_rates)}

    @classmethod
    def from_state(cls, plain, tensors, *, schema, device):
        check_names(tensors, *map(str, range(len(schema))))
        made = cls()
        made.log_rates = [
            check_tensor(str(j), tensors[str(j)], (int(size),), torch.float32) for j, size in enumerate(schema.sizes)
        ]
        return made


def test_two_methods_are_enough(normal_rows, odd_rows):
    even = Even()
    assert isinstance(even, Reconstructor)
    detector = TableDetector(even).fit(normal_rows)
    assert detector.reconstructor_ is even
    np.testing.assert_allclose(detector.anomaly_score(odd_rows), 1.0, rtol=1e-6)
    assert detector.evidence_.describe() == ["Even"]


def test_abilities_have_defaults_where_an_object_has_none():
    even, kernel = abilities(Even()), abilities(KernelReconstructor())
    assert (even.uses_level, even.free_up_to, even.fit, even.left_out) == (False, 0, None, None)
    assert kernel.free_up_to == 12
    assert kernel.fit is not None
    assert kernel.left_out is not None


def test_one_that_cannot_leave_rows_out_says_so():
    with pytest.raises(SettingError, match="cannot leave single rows out"):
        MaskedSurprise(Even(), ProbeGrid(), Linear()).left_out()


def test_one_with_a_state_is_saved_and_loaded_once_it_is_registered(normal_rows, odd_rows, monkeypatch, tmp_path):
    detector = TableDetector(Rates()).fit(normal_rows)
    with pytest.raises(SettingError, match=r"listed in maskdiff\.reconstructors\.RECONSTRUCTORS"):
        save(detector, tmp_path / "model")
    monkeypatch.setitem(RECONSTRUCTORS, "Rates", Rates)
    save(detector, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.anomaly_score(odd_rows), detector.anomaly_score(odd_rows))
    assert again.evidence_.describe() == ["how often values occur"]
