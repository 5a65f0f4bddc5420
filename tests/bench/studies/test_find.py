from __future__ import annotations

from pathlib import Path

import pytest

from maskdiff.bench.runs import sets
from maskdiff.bench.runs.measure import Run
from maskdiff.bench.runs.records import read_records
from maskdiff.bench.studies import find
from maskdiff.bench.studies.find import OneFile
from maskdiff.cli import main
from maskdiff.datasets import make_claims
from maskdiff.errors import SettingError


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(sets.GENERATED, "tiny", lambda: make_claims(n=300, seed=0))
    monkeypatch.setitem(find.COMPARED, "find", find.SEARCHES["find, kernel"])
    sets.load_set.cache_clear()
    yield "tiny"
    sets.load_set.cache_clear()


def test_all_rows_of_a_table_are_searched_without_labels(tiny: str, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    arguments = ["--sets", tiny, "--methods", "find,ecod", "--seeds", "1", "--out", str(out), "--quiet"]
    assert main(["bench", "find", *arguments]) == 0
    records = {record["method"]: record for record in read_records(out)}
    assert records["find"]["n_train"] == records["find"]["n_test"] == records["ecod"]["n_test"] == 300
    assert len(records["find"]["by_round"]) == records["find"]["rounds"]
    assert records["find"]["low"] <= records["find"]["estimated"] <= records["find"]["high"]


def test_false_discoveries_are_counted_where_the_share_is_known(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(find, "RATE_ROWS", 200)
    out = tmp_path / "out.jsonl"
    arguments = ["--part", "rates", "--sets", "claims@0%,claims@5%", "--methods", "find, kernel", "--seeds", "1"]
    assert main(["bench", "find", *arguments, "--out", str(out), "--quiet"]) == 0
    none, some = read_records(out)
    assert (none["n_odd"], some["n_odd"]) == (0, 10)
    assert none["roc_auc"] is None
    assert none["false"] == none["reported"]


def test_a_search_is_timed_beside_a_plain_fit_and_score(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    arguments = ["--part", "cost", "--sets", "150", "--methods", "find, kernel", "--seeds", "1"]
    assert main(["bench", "find", *arguments, "--out", str(out), "--quiet"]) == 0
    (record,) = read_records(out)
    assert (record["set"], record["n_rows"]) == ("150 claims", 150)
    plain = record["fit_seconds"] + record["score_seconds"]
    assert record["ratio"] == pytest.approx(record["find_seconds"] / plain, abs=0.001)
    assert find.outcome(record).startswith("a search takes ")
    assert OneFile(part="cost").set_names(["all"]) == ["40,000 claims"]


def test_large_tables_are_cut_and_other_parts_are_refused() -> None:
    table = find.cut_rows(make_claims(n=100, seed=0), 30)
    assert len(table[0]) == len(table[1]) == 30
    assert OneFile(part="rates").set_names(["all"]) == ["claims@0%", "claims@1%", "claims@5%", "claims@20%"]
    assert OneFile().method(Run("solar", "find", 0)).group == "ours"
    with pytest.raises(SettingError, match="part must be one of tables, rates, cost"):
        OneFile(part="both")
