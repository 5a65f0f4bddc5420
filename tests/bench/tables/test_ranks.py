from __future__ import annotations

import pandas as pd
import pytest

from maskdiff.bench.published.values import published, published_results
from maskdiff.bench.runs.methods import METHODS
from maskdiff.bench.tables.ranks import average_ranks, ranks_among_published
from maskdiff.bench.tables.results import results

from ..made_records import record


def test_ranks_of_the_published_tables_are_the_published_ranks() -> None:
    """But for ties: the tables are rounded to two digits, the paper ranked what was behind them."""
    known = published("average_ranks").set_index("method").drop(columns="overall")
    best, middle, worst = (
        average_ranks(published_results(), ties=ties).loc[known.index].round(3) for ties in ("min", "average", "max")
    )
    for metric in known:
        assert (known[metric] >= best[metric]).all()
        assert (known[metric] <= worst[metric]).all()
        without_ties = best[metric] == worst[metric]
        assert without_ties.sum() >= 9
        assert (known[metric] == middle[metric])[without_ties].all()


def test_the_published_overall_rank_is_the_mean_of_both() -> None:
    known = published("average_ranks").set_index("method")
    assert (known[["roc_auc", "pr_auc"]].mean(axis=1) - known["overall"]).abs().max() < 1e-3


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


def test_results_are_means_and_sample_deviations_in_percent_beside_the_published() -> None:
    table = results([record("solar", "hamming-knn", seed, roc) for seed, roc in enumerate((0.80, 0.90))])
    line = table[table["metric"] == "roc_auc"].iloc[0]
    assert line["mean"] == pytest.approx(85)
    assert line["std"] == pytest.approx(7.0711, abs=1e-4)
    assert line["runs"] == 2
    assert (line["published_mean"], line["published_std"]) == (83.67, 5.76)
    assert line["deviations"] == pytest.approx((85 - 83.67) / 5.76)


def test_a_method_better_than_all_published_ranks_first_among_them() -> None:
    table = results([record("bank", "default", 0, 1.0, 1.0), record("claims", "default", 0, 0.1, 0.1)])
    assert ranks_among_published(table).loc["default"].to_dict() == {
        "overall": 1.0,
        "roc_auc": 1.0,
        "pr_auc": 1.0,
        "sets": 1.0,
    }


def test_a_hair_above_the_papers_own_method_has_its_published_rank() -> None:
    known = published_results()
    own = known[(known["method"] == "Parametric MaskDiff-AD") & (known["metric"] == "roc_auc")]
    records = [record(line.set, "mlp-paper", 0, line.mean / 100 + 1e-6) for line in own.itertuples()]
    ranks = ranks_among_published(results(records))
    assert ranks.loc["mlp-paper", "roc_auc"] == pytest.approx(3.714, abs=1e-3)
    assert ranks.loc["mlp-paper", "sets"] == 14
