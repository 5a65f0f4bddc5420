"""With a made-up checkout: the same two classes, whose scores are easy to foretell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from maskdiff.bench.runs import sets
from maskdiff.bench.runs.records import read_records
from maskdiff.cli import main

CODE = """
class Base:
    def __init__(self, cardinalities, mask_schedule, **settings):
        self.sizes, self.levels, self.settings = cardinalities, mask_schedule, settings

    def score_samples(self, codes, probe_times, n_probe_views, batch_size, verbose, **settings):
        assert max(probe_times) < len(self.levels)
        assert (codes < self.sizes).all()
        return (codes != self.usual).sum(axis=1)


class ParametricMDADRec(Base):
    def fit(self, codes, epochs, batch_size, lr, weight_decay, verbose):
        self.usual = codes[0]


class NonParametricMDADRec(Base):
    def fit(self, codes):
        self.usual = codes[0]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    package = tmp_path / "code" / "models" / "mdad"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(CODE)
    return tmp_path / "code"


def test_both_of_the_authors_detectors_are_timed_on_the_benchmarks_splits(
    checkout: Path, labelled: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sets.GENERATED, "claims", lambda: labelled)
    sets.load_set.cache_clear()
    out = tmp_path / "out.jsonl"
    arguments = [str(checkout), "--sets", "claims", "--device", "cpu", "--out", str(out), "--quiet"]
    assert main(["bench", "authors", *arguments]) == 0
    sets.load_set.cache_clear()
    records = read_records(out)
    assert [record["method"] for record in records] == ["authors-mlp", "authors-kernel"]
    assert all(record["roc_auc"] == 1.0 and record["fit_seconds"] >= 0 for record in records)


def test_a_folder_without_the_code_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "authors", str(tmp_path), "--out", str(tmp_path / "out.jsonl")]) == 2
    assert "is no checkout of the authors' code" in capsys.readouterr().err
