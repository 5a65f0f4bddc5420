"""Promises of a search through one table: its odd rows are found, each by a model that did not see it."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
import torch

import maskdiff
from maskdiff import (
    MLPReconstructor,
    ProbeGrid,
    SequenceDetector,
    Steps,
    TableDetector,
    TextDetector,
    Training,
    TransformerReconstructor,
)
from maskdiff.detectors.finding.cross_fit import CrossFit, rows_chosen
from maskdiff.detectors.finding.folds import cut_folds
from maskdiff.detectors.finding.search import FindOptions, RowTies, search
from maskdiff.errors import InputError, NoEvidenceWarning, SettingError, UnknownColumnError

from ...conftest import make_connections

N_ODD = 20


def table_with_odd_rows(n=800, seed=0):
    rows = make_connections(n, seed=seed)
    rng = np.random.default_rng(seed)
    odd = np.sort(rng.choice(n, N_ODD, replace=False))
    for place in odd:  # each odd in its own way, so that none vouches for another
        rows.loc[place, ["protocol", "service", "flag"]] = [f"p{place}", f"s{place}", f"f{place}"]
    return rows, odd


@pytest.fixture(scope="module")
def rows_and_odd():
    return table_with_odd_rows()


@pytest.fixture(scope="module")
def findings(rows_and_odd):
    return maskdiff.find(rows_and_odd[0], detector=TableDetector("kernel"), false_discovery_rate=0.2)


def test_the_odd_rows_are_ranked_first_and_selected(findings, rows_and_odd):
    _, odd = rows_and_odd
    assert sorted(findings.ranked().labels[:N_ODD]) == odd.tolist()
    assert findings.is_anomaly[odd].all()
    assert findings.is_anomaly.sum() <= N_ODD / (1 - findings.false_discovery_rate)
    assert findings.estimated_odd.low <= N_ODD <= findings.estimated_odd.high


def test_fit_and_score_on_the_same_rows_would_miss_them(rows_and_odd):
    """What `find` is for: the rows learned from look normal to the model that learned them."""
    rows, odd = rows_and_odd
    assert TableDetector("kernel").fit(rows).is_anomaly(rows)[odd].sum() < N_ODD


def test_odd_rows_are_left_out_of_what_is_learned_and_kept_out_of_the_model(findings, rows_and_odd):
    rows, odd = rows_and_odd
    assert findings.left_out[odd].mean() > 0.7
    assert findings.left_out.sum() <= 2 * N_ODD
    kept = findings.detector
    learned = sum(field.counts[0] for field in [kept.encoder_.schema_.fields[0]])
    assert learned <= (~findings.left_out).sum()
    assert kept.is_anomaly(rows.iloc[odd], 0.05).mean() > 0.7


def test_contributions_add_up_to_the_score_and_name_the_cells(findings, rows_and_odd):
    rows, odd = rows_and_odd
    np.testing.assert_allclose(findings.contributions.sum(axis=1), findings.anomaly_score)
    top = findings.explain(rows, top=1)
    assert set(top[top["row"].isin(odd)]["column"]) <= {"protocol", "service", "flag"}


def test_findings_have_frames_records_and_parts(findings):
    frame = findings.to_frame()
    assert list(frame) == ["anomaly_score", "p_value", "is_anomaly", "left_out"]
    assert len(frame) == 800
    few = findings.take(np.array([5, 3]))
    assert few.labels.tolist() == [5, 3]
    assert few.to_records()[0]["anomaly_score"] == findings.anomaly_score[5]
    assert few.estimated_odd == findings.estimated_odd


def test_the_search_repeats_and_the_detector_given_stays_as_it_was(findings, rows_and_odd):
    detector = TableDetector("kernel")
    again = maskdiff.find(rows_and_odd[0], detector=detector)
    np.testing.assert_array_equal(again.anomaly_score, findings.anomaly_score)
    assert not hasattr(detector, "calibration_")


def test_a_table_without_odd_rows_has_next_to_none():
    found = [TableDetector("kernel", seed=seed).fit_find(make_connections(400, seed=seed)) for seed in range(4)]
    assert sum(findings.is_anomaly.sum() for findings in found) <= 4
    assert all(findings.estimated_odd.low <= 4 for findings in found)


def test_p_values_of_rows_not_left_out_are_their_ranks(findings):
    kept = ~findings.left_out
    order = np.argsort(-findings.anomaly_score[kept])
    p_value = findings.p_value[kept][order]
    assert (np.diff(p_value) >= 0).all()
    assert p_value[-1] == pytest.approx(1.0)
    assert p_value[kept.sum() // 2] == pytest.approx(0.5, abs=0.03)


def test_a_share_is_taken_as_given(rows_and_odd):
    findings = TableDetector("kernel", contamination=0.1).fit_find(rows_and_odd[0])
    assert (findings.estimated_odd.number, findings.estimated_odd.low, findings.estimated_odd.high) == (80, 80, 80)
    assert 60 <= findings.left_out.sum() <= 80
    assert not (TableDetector("kernel").fit_find(rows_and_odd[0], contamination=0).left_out).any()
    with pytest.raises(SettingError, match="contamination"):
        TableDetector("kernel").fit_find(rows_and_odd[0], contamination="all")
    with pytest.raises(SettingError, match="false_discovery_rate"):
        TableDetector("kernel").fit_find(rows_and_odd[0], false_discovery_rate=2)


def test_scores_of_all_folds_are_on_one_scale():
    rows = make_connections(1200, seed=3)
    small = MLPReconstructor(16, 2, training=Training(Steps(60), learning_rate=3e-3))
    detector, table = TableDetector(small, progress=False), TableDetector()._read(rows)
    detector._look(lambda: [table], None)
    fold = cut_folds(np.arange(1200, dtype=np.uint64), 3, seed=0)
    learned = CrossFit.learn(detector, lambda: [table], fold, np.ones(1200, bool))
    scores = learned.on_one_scale().scores(lambda: [table])
    quantiles = np.array([np.quantile(scores[fold == k], [0.25, 0.5, 0.75, 0.9]) for k in range(3)])
    assert (np.ptp(quantiles, axis=0) < 0.35 * np.ptp(quantiles, axis=1).mean()).all()


def test_no_fold_scores_higher_because_of_the_few_rows_that_put_its_model_on_a_scale(monkeypatch):
    monkeypatch.setattr(Steps, "steps", lambda self, n_rows, batch_size: 40)
    rows = make_connections(240, seed=3)
    detector, table = TableDetector(progress=False, device="cpu"), TableDetector()._read(rows)
    detector._look(lambda: [table], None)
    fold = cut_folds(np.arange(240, dtype=np.uint64), 4, seed=0)
    apart = CrossFit.learn(detector, lambda: [table], fold, np.ones(240, bool))
    common = apart.on_one_scale()
    assert len({tuple(term.scale for term in model.evidence_.terms) for model in apart.models}) == 4
    assert len({tuple(term.scale for term in model.evidence_.terms) for model in common.models}) == 1
    medians = [[np.median(one.scores(lambda: [table])[fold == k]) for k in range(4)] for one in (apart, common)]
    assert np.ptp(medians[1]) < 0.7 * np.ptp(medians[0])


@pytest.mark.parametrize("threads", [1, 2])
def test_models_trained_side_by_side_are_those_trained_one_after_the_other(threads):
    rows = make_connections(240, seed=3)
    small = MLPReconstructor(8, 2, training=Training(Steps(10)))
    detector, table = TableDetector(small, device="cpu", progress=False), TableDetector()._read(rows)
    detector._look(lambda: [table], None)
    fold, before = cut_folds(np.arange(240, dtype=np.uint64), 2, seed=0), torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        learned = CrossFit.learn(detector, lambda: [table], fold, np.ones(240, bool))
    finally:
        torch.set_num_threads(before)
    for number, model in enumerate(learned.models):
        alone = copy.copy(detector).learn_uncalibrated(
            rows_chosen(lambda: [table], fold != number), int((fold != number).sum()), None
        )
        for own, other in zip(
            model.reconstructor_.network_.parameters(), alone.reconstructor_.network_.parameters(), strict=True
        ):
            torch.testing.assert_close(own, other)


def test_a_search_judges_by_half_the_views_unless_probes_are_set():
    asked = ProbeGrid((0.2, 0.5), views_per_level=3)
    detectors = [TableDetector(), TableDetector("kernel"), TableDetector(probes=asked)]
    views = [one._search_probes(one._resolve()[1]).views_per_level for one in detectors]
    assert views == [ProbeGrid().views_per_level // 2, 8, 3]


def test_rows_of_a_group_never_vouch_for_each_other():
    """A group that shares an odd habit is usual where its rows are learned from, and odd where they are not."""
    rows = make_connections(300, seed=1)
    rows["customer"] = np.arange(300) // 10
    rows.loc[rows["customer"] == 7, ["service", "flag"]] = ["gopher", "S9"]
    alone = maskdiff.find(rows.drop(columns="customer"), detector=TableDetector("kernel"))
    grouped = maskdiff.find(rows, detector=TableDetector("kernel"), group="customer")
    theirs = rows["customer"] == 7
    of_them = set(rows.index[theirs])
    assert of_them <= set(grouped.ranked().labels[:20])
    assert not of_them & set(alone.ranked().labels[:15])
    assert grouped.anomaly_score[theirs].min() > alone.anomaly_score[theirs].min()
    assert "customer" not in grouped.codes.schema.names


def test_order_makes_blocks_in_time_and_its_column_is_not_learned_from():
    rows = make_connections(200, seed=1)
    rows["when"] = pd.date_range("2024-01-01", periods=200).strftime("%d.%m.%Y")
    shuffled = rows.sample(frac=1, random_state=0)
    findings = maskdiff.find(shuffled, detector=TableDetector("kernel"), order="when")
    assert "when" not in findings.codes.schema.names
    assert (findings.labels == shuffled.index).all()


def test_columns_and_values_that_do_not_fit_are_refused():
    rows = make_connections(100, seed=1)
    with pytest.raises(UnknownColumnError, match="no column 'customer'"):
        maskdiff.find(rows, group="customer")
    with pytest.raises(InputError, match="one value for each of the 100 rows"):
        maskdiff.find(rows, detector=TableDetector("kernel"), group=[1, 2])
    with pytest.raises(InputError, match="all rows are of one group"):
        maskdiff.find(rows, detector=TableDetector("kernel"), group=np.ones(100))


def test_too_few_rows_are_refused_and_equal_or_distinct_ones_are_not_odd():
    with pytest.raises(InputError, match="at least 20 rows"):
        maskdiff.find(make_connections(19, seed=0))
    equal = maskdiff.find([["cat", "meow"]] * 50, detector=TableDetector("kernel"))
    assert not equal.is_anomaly.any()
    assert equal.estimated_odd.number == 0
    distinct = pd.DataFrame({"a": np.arange(200) * 1.7, "b": np.random.default_rng(0).normal(size=200)})
    assert maskdiff.find(distinct, detector=TableDetector("kernel")).is_anomaly.mean() < 0.03


def test_one_column_is_searched_for_its_rare_values():
    one = pd.DataFrame({"colour": ["red", "blue"] * 150 + ["rde"]})
    findings = maskdiff.find(one, detector=TableDetector("kernel"))
    assert findings.ranked().labels[0] == 300


def test_twenty_rows_are_searched():
    rows = make_connections(20, seed=0)
    assert len(maskdiff.find(rows, detector=TableDetector("kernel")).anomaly_score) == 20


def test_fit_predict_marks_the_odd_rows_of_the_table_itself(rows_and_odd):
    rows, odd = rows_and_odd
    found = TableDetector("kernel", contamination=N_ODD / len(rows)).fit_predict(rows)
    assert sorted(np.unique(found)) == [-1, 1]
    assert (found[odd] == -1).all()
    assert (found == -1).sum() == N_ODD


QUICK = TransformerReconstructor(
    width=16, heads=2, feed_forward=32, training=Training(Steps(15), batch_size=32, learning_rate=0.02)
)


def test_sequences_are_searched_too():
    rows = [["open", "read", "close"], ["open", "write", "close"]] * 20 + [["close", "burn", "open"], []]
    with pytest.warns(NoEvidenceWarning):
        findings = SequenceDetector(QUICK, progress=False).fit_find(rows)
    assert findings.ranked().labels[0] == 40
    assert np.isnan(findings.anomaly_score[41])
    assert findings.p_value[41] == 1
    top = findings.take(np.array([40])).explain([rows[40]], top=3)
    assert "burn" in top["value"].tolist()
    assert findings.detector.anomaly_score(rows[:2]).shape == (2,)


def test_texts_are_searched_too():
    rows = ["see you at nine", "see you at ten", "call me at ten"] * 15 + ["win cash prizes now"]
    findings = TextDetector(QUICK, progress=False).fit_find(rows)
    assert findings.ranked().labels[0] == 45
    sums = np.bincount(findings.codes.row, weights=findings.contributions.sum(axis=1))
    np.testing.assert_allclose(sums, findings.anomaly_score)


@pytest.mark.parametrize(
    ("n_rows", "quick", "folds"), [(1500, False, 4), (1501, False, 2), (4999, True, 4), (5000, True, 2)]
)
def test_small_files_are_cut_into_more_folds_and_larger_ones_too_where_trainings_are_quick(n_rows, quick, folds):
    class Kernel(TableDetector):
        trains_side_by_side = quick

    counted = []

    def learn(detector, batches, fold, learnable, **others):
        counted.append(int(fold.max()) + 1)
        return CrossFit.learn(detector, batches, fold, learnable, **others)

    detector, table = Kernel("kernel", progress=False), TableDetector()._read(make_connections(n_rows, seed=1))
    detector._look(lambda: [table], n_rows)
    keys = np.arange(n_rows, dtype=np.uint64)
    search(detector, lambda: [table], RowTies(keys), FindOptions(), learn_folds=learn)
    assert counted == [folds] * (4 if quick else 3)
