"""A kind of evidence from outside: one class and one line, through everything that a detector does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from maskdiff import KernelReconstructor, TableDetector, load, save
from maskdiff.detectors import DETECTORS
from maskdiff.errors import ModelFileError, SettingError
from maskdiff.evidence import SOURCES, Evidence, EvidenceTerm
from maskdiff.report import write_report
from maskdiff.score import CellScores
from maskdiff.state import check
from maskdiff.state.tensors import check_names, check_tensor


@dataclass(frozen=True, eq=False)
class Rarity:
    """How rare each value is among normal rows, whatever stands beside it."""

    rates: tuple[torch.Tensor, ...]

    def cells(self, codes, *, stage, callback=None):
        columns = [rates.numpy()[codes.values[:, j]] for j, rates in enumerate(self.rates)]
        surprise = -np.log(np.stack(columns, axis=1))
        return CellScores(surprise, np.full_like(surprise, 1 / surprise.shape[1]))

    def left_out(self):
        return self

    def describe(self):
        return f"how rare single values are, in {len(self.rates)} columns"

    def to_state(self):
        return {"columns": len(self.rates)}, {str(j): rates for j, rates in enumerate(self.rates)}

    @classmethod
    def from_state(cls, plain, tensors, *, schema, device):
        check(plain == {"columns": len(schema)}, "its rarities are of other columns")
        check_names(tensors, *map(str, range(len(schema))))
        sized = ((str(j), (int(size) + 1,)) for j, size in enumerate(schema.sizes))
        return cls(tuple(check_tensor(name, tensors[name], shape, torch.float64) for name, shape in sized))

    @classmethod
    def of(cls, codes):
        counts = ([*field.counts, 1] for field in codes.schema)  # the last for what is unseen
        return cls(tuple(torch.tensor(one, dtype=torch.float64) / sum(one) for one in counts))


class RarityDetector(TableDetector):
    """The kernel's surprise and the rarity of single values, on one scale."""

    def _gather(self, codes, held_out, callback, *, looks=False):
        alone, _ = super()._gather(codes, held_out, callback)
        sources = {**alone.sources, "rarity": Rarity.of(codes)}
        both = Evidence(sources, (*alone.terms, EvidenceTerm("rarity", "mean")))
        return both.on_one_scale(held_out, callback=callback), {}  # rows get no first look


@pytest.fixture
def detector(normal_rows):
    return RarityDetector(KernelReconstructor()).fit(normal_rows)


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(SOURCES, "rarity", Rarity)
    monkeypatch.setitem(DETECTORS, "RarityDetector", RarityDetector)


def test_it_is_fitted_scored_saved_loaded_explained_and_reported(detector, registered, odd_rows, tmp_path):
    save(detector, tmp_path / "model.maskdiff")
    again = load(tmp_path / "model.maskdiff")
    scores = detector.anomaly_score(odd_rows)
    np.testing.assert_allclose(again.anomaly_score(odd_rows), scores)
    codes = detector.encoder_.encode(odd_rows)
    assert not np.allclose(Evidence(again.evidence_.sources, again.evidence_.terms[:1]).weigh(codes).score, scores)
    cells = again.explain(odd_rows, top=4)
    np.testing.assert_allclose(cells.groupby("row")["contribution"].sum(), scores)
    write_report(again, odd_rows, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "how rare single values are, in 4 columns" in page
    assert "standard deviations" in page


def test_what_is_not_registered_is_not_saved(detector, monkeypatch, tmp_path):
    with pytest.raises(SettingError, match=r"only detectors in maskdiff\.detectors\.DETECTORS can"):
        save(detector, tmp_path / "model")
    monkeypatch.setitem(DETECTORS, "RarityDetector", RarityDetector)
    with pytest.raises(SettingError, match=r"register its class in maskdiff\.evidence\.SOURCES"):
        save(detector, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_a_file_with_a_source_that_is_not_registered_here_is_refused(detector, registered, monkeypatch, tmp_path):
    save(detector, tmp_path / "model")
    monkeypatch.delitem(SOURCES, "rarity")
    with pytest.raises(ModelFileError, match="names the source of evidence 'rarity', but only masked_surprise"):
        load(tmp_path / "model")
