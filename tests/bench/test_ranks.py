from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from maskdiff.bench import sets
from maskdiff.bench.__main__ import main
from maskdiff.bench.methods import METHODS
from maskdiff.bench.ranks import average_ranks, published, published_results, ranks_among_published, results
from maskdiff.bench.records import RecordFile, read_records
from maskdiff.bench.summary import summary
from maskdiff.datasets import make_claims


def record(set_name: str, method: str, seed: int, roc_auc: float, pr_auc: float = 0.5, **more: Any) -> dict[str, Any]:
    return {
        **{"set": set_name, "method": method, "seed": seed, "status": "ok", "roc_auc": roc_auc, "pr_auc": pr_auc},
        **{"fit_seconds": 2.0, "score_seconds": 1.0, "device": "cpu", "threads": 1, "versions": {"python": "3"}},
        **more,
    }


def test_ranks_of_the_published_tables_are_the_published_ranks() -> None:
    """But for ties: the tables are rounded to two digits, the paper ranked what was behind them."""
    told = published("average_ranks").set_index("method").drop(columns="overall")
    best, middle, worst = (
        average_ranks(published_results(), ties=ties).loc[told.index].round(3) for ties in ("min", "average", "max")
    )
    for metric in told:
        assert (told[metric] >= best[metric]).all()
        assert (told[metric] <= worst[metric]).all()
        without_ties = best[metric] == worst[metric]
        assert without_ties.sum() >= 9
        assert (told[metric] == middle[metric])[without_ties].all()


def test_the_published_overall_rank_is_the_mean_of_both() -> None:
    told = published("average_ranks").set_index("method")
    assert (told[["roc_auc", "pr_auc"]].mean(axis=1) - told["overall"]).abs().max() < 1e-3


@pytest.mark.parametrize("metric", ["roc_auc", "pr_auc"])
def test_the_published_tables_are_whole(metric: str) -> None:
    table = published(metric)
    assert table.groupby("method")["dataset"].nunique().tolist() == [14] * 14
    named = {method.published for method in METHODS.values() if method.published}
    assert named == set(table["method"])


def test_average_ranks_by_hand() -> None:
    lines = [("a", "s", 90), ("b", "s", 80), ("c", "s", 80), ("a", "t", 10), ("b", "t", 30), ("c", "t", 20)]
    table = pd.DataFrame(
        [{"method": m, "set": s, "metric": metric, "mean": v} for metric in ("roc_auc", "pr_auc") for m, s, v in lines]
    )
    assert average_ranks(table)["overall"].to_dict() == {"b": 1.75, "a": 2.0, "c": 2.25}


def test_a_set_that_a_method_lacks_is_left_out_of_the_ranks_and_named() -> None:
    records = [record("bank", "mlp", 0, 0.9), record("bank", "kernel", 0, 0.8), record("solar", "kernel", 0, 0.7)]
    assert average_ranks(results(records))["roc_auc"].to_dict() == {"mlp": 1.0, "kernel": 2.0}
    text = summary(records).markdown
    assert "Over 1 sets: bank. Left out, as not every method has a result there: solar." in text
    assert "| mlp | 90.00 | - |" in text


def test_results_are_means_and_sample_deviations_in_percent_beside_the_published() -> None:
    table = results([record("solar", "hamming-knn", seed, roc) for seed, roc in enumerate((0.80, 0.90))])
    line = table[table["metric"] == "roc_auc"].iloc[0]
    assert line["mean"] == pytest.approx(85)
    assert line["std"] == pytest.approx(7.0711, abs=1e-4)
    assert line["runs"] == 2
    assert (line["published_mean"], line["published_std"]) == (83.67, 5.76)
    assert line["deviations"] == pytest.approx((85 - 83.67) / 5.76)


def test_a_mean_far_from_the_published_one_is_listed() -> None:
    records = [record("solar", "hamming-knn", 0, 0.5), record("u2r", "hamming-knn", 0, 0.8787)]
    far = summary(records).markdown.split("## Far")[1].split("## Failed")[0]
    assert "| hamming-knn | solar | roc_auc |" in far
    assert "| hamming-knn | u2r | roc_auc |" not in far


def test_failed_runs_are_listed_and_never_filled_in() -> None:
    failed = {**record("bank", "icl", 0, 0.0), "status": "failed", "error": "MemoryError: too wide\nand more"}
    text = summary([record("bank", "mlp", 0, 0.9), failed]).markdown
    assert "- bank, icl, seed 0: MemoryError: too wide" in text
    assert "| icl |" not in text


def test_a_method_better_than_all_published_ranks_first_among_them() -> None:
    table = results([record("bank", "default", 0, 1.0, 1.0), record("claims", "default", 0, 0.1, 0.1)])
    assert ranks_among_published(table).loc["default"].to_dict() == {
        "overall": 1.0,
        "roc_auc": 1.0,
        "pr_auc": 1.0,
        "sets": 1.0,
    }


def test_a_hair_above_the_papers_own_method_has_its_published_rank() -> None:
    told = published_results()
    own = told[(told["method"] == "Parametric MaskDiff-AD") & (told["metric"] == "roc_auc")]
    records = [record(line.set, "mlp-paper", 0, line.mean / 100 + 1e-6) for line in own.itertuples()]
    ranks = ranks_among_published(results(records))
    assert ranks.loc["mlp-paper", "roc_auc"] == pytest.approx(3.714, abs=1e-3)
    assert ranks.loc["mlp-paper", "sets"] == 14


def test_the_command_measures_then_summarises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sets.GENERATED, "tiny", lambda: make_claims(n=300, seed=0))
    out, folder = tmp_path / "tables.jsonl", tmp_path / "tables"
    measuring = ["--sets", "tiny", "--methods", "hamming-knn", "--seeds", "2", "--out", str(out), "--device", "cpu"]
    assert main(measuring) == 0
    assert "[2/2] tiny hamming-knn seed 1: ROC " in capsys.readouterr().err
    assert len(read_records(out)) == 2
    assert main(["summary", str(out), "--out", str(folder)]) == 0
    assert capsys.readouterr().out == (folder / "summary.md").read_text(encoding="utf-8")
    assert pd.read_csv(folder / "results.csv")["method"].unique().tolist() == ["hamming-knn"]


def test_the_command_says_what_is_wrong_without_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--methods", "nonsense", "--out", str(tmp_path / "out.jsonl")]) == 2
    assert capsys.readouterr().err.startswith("error: there is no method 'nonsense'")


def test_the_commands_status_tells_of_failed_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    out = tmp_path / "out.jsonl"
    chosen = ["--sets", "solar", "--methods", "hamming-knn", "--seeds", "1", "--device", "cpu"]
    assert main([*chosen, "--data", str(empty), "--out", str(out)]) == 1
    assert "failed, DataNotFoundError" in capsys.readouterr().err
    RecordFile(out).add(record("solar", "hamming-knn", 0, 0.8))
    assert main([*chosen, "--data", str(empty), "--out", str(out)]) == 0
