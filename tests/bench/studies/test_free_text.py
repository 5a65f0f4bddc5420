"""The study of tables with a column of free text."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskdiff.bench.pages.tables import FREE_TEXT_SETS, free_text
from maskdiff.bench.runs.measure import Run
from maskdiff.bench.runs.records import read_records
from maskdiff.bench.studies import free_text as study
from maskdiff.bench.studies.free_text import SETS, FreeText
from maskdiff.cli import main
from maskdiff.errors import SettingError


@pytest.fixture(autouse=True)
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "N_LEARNED", 60)
    monkeypatch.setattr(study, "N_NORMAL", 20)
    monkeypatch.setattr(study, "N_ODD", 10)


def test_anomalies_are_odd_in_their_notes_alone() -> None:
    split = FreeText().split(Run("claims-notes", "read as text", 0))
    assert (len(split.normal), len(split.unlabelled), split.y.sum()) == (60, 30, 10)
    assert not set(split.unlabelled["note"][split.y == 1]) & set(split.normal["note"])


def test_the_same_rows_are_read_with_and_without_their_notes() -> None:
    first, second = (FreeText().split(Run("claims-cells", method, 3)) for method in study.READ_AS)
    assert first.unlabelled.equals(second.unlabelled)


def test_an_unknown_set_is_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"'poems'.*claims-notes"):
        FreeText().set_names(["poems"])


def test_records_become_a_section_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "RECONSTRUCTOR", "kernel")
    out = tmp_path / "free-text.jsonl"
    assert main(["bench", "free-text", "--sets", "claims-notes", "--seeds", "1", "--out", str(out), "--quiet"]) == 0
    page = free_text(read_records(out), "")
    assert "| table, anomalies | read as text | left out |" in page
    assert "claims, odd notes" in page


def test_every_set_has_a_title() -> None:
    assert set(FREE_TEXT_SETS) == set(SETS)
