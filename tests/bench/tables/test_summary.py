from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from maskdiff.bench.tables.critical_difference import Diagram, critical_difference
from maskdiff.bench.tables.ranks import average_ranks, comparable
from maskdiff.bench.tables.results import results, runtime_results, text_results
from maskdiff.bench.tables.summary import summary

from ..made_records import failed, record


def test_a_set_that_a_method_lacks_is_left_out_of_the_ranks_and_named() -> None:
    records = [record("bank", "mlp", 0, 0.9), record("bank", "kernel", 0, 0.8), record("solar", "kernel", 0, 0.7)]
    assert average_ranks(results(records))["roc_auc"].to_dict() == {"mlp": 1.0, "kernel": 2.0}
    text = summary(records).markdown
    assert "Over 1 sets: bank. Left out, as not every method has a result there: solar." in text
    assert "| mlp | 90.00 | - |" in text


def test_a_method_on_few_sets_does_not_take_the_others_sets_away() -> None:
    records = [record(name, method, 0, 0.9) for name in ("a", "b", "c") for method in ("mlp", "kernel")]
    ranked, few, partial = comparable(results([*records, record("a", "icl", 0, 0.8)]))
    assert (sorted(ranked["set"].unique()), few, partial) == (["a", "b", "c"], ["icl"], [])


def test_a_mean_far_from_the_published_one_is_listed() -> None:
    records = [record("solar", "hamming-knn", 0, 0.5), record("u2r", "hamming-knn", 0, 0.8787)]
    far = summary(records).markdown.split("## Far")[1].split("## Failed")[0]
    assert "| hamming-knn | solar | roc_auc |" in far
    assert "| hamming-knn | u2r | roc_auc |" not in far


def test_failed_runs_are_listed_and_never_filled_in() -> None:
    text = summary([record("bank", "mlp", 0, 0.9), failed("bank", "icl", "MemoryError: too wide\nand more")]).markdown
    assert "- bank, icl, seed 0: MemoryError: too wide" in text
    assert "| icl |" not in text


def test_our_ranks_stand_beside_the_published_ones() -> None:
    records = [record("bank", "mlp-paper", 0, 0.9, 0.9), record("bank", "iforest", 0, 0.8, 0.8)]
    text = summary(records).markdown
    assert "| mlp-paper | 1.000 | 1.000 | 1.000 | 3.929 | 3.714 | 4.143 |" in text
    assert "| iforest | 2.000 | 2.000 | 2.000 | 10.714 | 9.929 | 11.500 |" in text


def test_texts_stand_beside_the_published_ones_and_are_not_mixed_with_tables() -> None:
    texts = [record("sms", "copod", 0, 0.85, 0.3, task="text"), record("sms", "mini+lof", 0, 0.7, 0.2, task="text")]
    text = summary([*texts, record("bank", "copod", 0, 0.6)]).markdown
    assert "| copod | 85.00 (86.77) | 30.00 (31.76) |" in text
    assert "| mini+lof | 70.00 | 20.00 |" in text
    assert "| published: DATE | 93.98 | 61.12 |" in text
    assert "| copod | 60.00 (59.31" in text
    assert text_results(texts)["published_mean"].notna().sum() == 2


def test_runtimes_count_only_where_they_were_asked_for() -> None:
    timed = record("bank", "copod", 0, 0.6, task="runtime", fit_seconds=0.5, score_seconds=0.25)
    text = summary([timed, record("bank", "copod", 0, 0.6)]).markdown
    assert "| copod | 0.50 (0.01) | 0.25 (0.02) | 0.75 (0.03) |" in text
    assert len(runtime_results([timed])) == 3


def test_files_are_written_for_people_and_programs_with_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    records = [
        record("bank", "mlp", 0, 0.9),
        record("bank", "kernel", 0, 0.8),
        record("sms", "ecod", 0, 1, task="text"),
    ]
    written = summary(records).write(tmp_path / "folder")
    assert sorted(path.name for path in written) == sorted(path.name for path in (tmp_path / "folder").iterdir())
    assert pd.read_csv(tmp_path / "folder" / "average_ranks.csv")["method"].tolist() == ["mlp", "kernel"]
    assert pd.read_csv(tmp_path / "folder" / "roc_auc.csv")["bank"].tolist() == [90.0, 80.0]
    picture = (tmp_path / "folder" / "critical_difference.svg").read_text()
    assert picture.count("<svg") == 1
    summary(records).write(tmp_path / "again")
    assert (tmp_path / "again" / "critical_difference.svg").read_text() == picture


@pytest.mark.parametrize(("n_methods", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_follows_the_usual_table(n_methods: int, q: float) -> None:
    expected = q * (n_methods * (n_methods + 1) / (6 * 25)) ** 0.5
    assert critical_difference(n_methods, 25) == pytest.approx(expected, rel=1e-3)


def test_methods_closer_than_the_critical_difference_are_alike_and_each_run_is_told_once() -> None:
    difference = critical_difference(4, 13)
    ranks = pd.Series({"a": 1.0, "b": 1.0 + 0.9 * difference, "c": 1.0 + 1.1 * difference, "d": 1.0 + 3 * difference})
    assert Diagram(ranks, 13).alike() == [(ranks["a"], ranks["b"]), (ranks["b"], ranks["c"])]
    assert Diagram(pd.Series({"a": 1.0, "b": 1.1, "c": 1.2}), 13).alike() == [(1.0, 1.2)]
