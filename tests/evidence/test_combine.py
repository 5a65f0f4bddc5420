"""Evidence: several terms on one scale, still adding up."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import maskdiff
from maskdiff import TableDetector
from maskdiff.codes import Codes, Field, Schema
from maskdiff.detectors import KERNEL, MAIN, NEIGHBOURS
from maskdiff.detectors.split import fold_splits
from maskdiff.evidence import Evidence, EvidenceTerm
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import MLPReconstructor
from maskdiff.score import CellScores
from maskdiff.training import Steps, Training


class Planted:
    """A source that says of every cell its code times a factor."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.n_calls = 0

    def cells(self, codes, *, stage, callback=None):
        self.n_calls += 1
        surprise = codes.values * self.factor
        return CellScores(surprise, np.full(surprise.shape, 1 / surprise.shape[1]))


@pytest.fixture
def codes() -> Codes:
    field = Field("a", "category", tuple("01234"), (5, 5, 5, 5, 5))
    values = np.random.default_rng(0).integers(0, 5, (200, 3))
    return Codes(values, Schema((field,) * 3))


def test_one_term_alone_is_taken_as_it_is(codes):
    evidence = Evidence({"a": Planted(2.0)}, (EvidenceTerm("a", "mean"),))
    np.testing.assert_allclose(evidence.weigh(codes).score, 2 * codes.values.mean(axis=1))


def deviation(scores):
    """What the standard deviation of a normal distribution with the same mean absolute deviation would be."""
    return np.sqrt(np.pi / 2) * np.abs(scores - scores.mean(axis=0)).mean(axis=0)


def test_on_one_scale_every_term_deviates_by_one_in_the_average(codes):
    evidence = Evidence(
        {"a": Planted(2.0), "b": Planted(300.0)}, (EvidenceTerm("a", "mean"), EvidenceTerm("b", "mean"))
    )
    scaled = evidence.on_one_scale(codes)
    # The two say the same on scales of their own, so on one scale their average deviates by one.
    assert deviation(scaled.weigh(codes).score) == pytest.approx(1.0)
    for term in scaled.terms:
        assert deviation(Evidence(scaled.sources, (term,)).weigh(codes).score) == pytest.approx(0.5)


def test_a_few_normal_rows_far_off_hardly_change_how_much_a_term_counts():
    schema = Schema((Field("a", "category", tuple(map(str, range(51))), (1,) * 51),))
    rows = np.random.default_rng(0).integers(0, 2, (1000, 1))
    few_far_off = np.where(np.arange(1000)[:, None] < 5, 50, rows)
    alone = Evidence({"a": Planted(1.0)}, (EvidenceTerm("a", "mean"),))
    near, far = (alone.on_one_scale(Codes(values, schema)).terms[0].scale for values in (rows, few_far_off))
    assert near < far < 2 * near
    assert few_far_off.std() > 6 * rows.std()


def test_a_term_counts_as_much_as_its_weight(codes):
    terms = (EvidenceTerm("a", "mean"), EvidenceTerm("b", "mean", weight=3.0))
    scaled = Evidence({"a": Planted(2.0), "b": Planted(300.0)}, terms).on_one_scale(codes).weigh(codes)
    np.testing.assert_allclose(deviation(scaled.by_term), [0.25, 0.75])
    np.testing.assert_allclose(scaled.by_term.sum(axis=1), scaled.score)


def test_a_source_read_by_several_terms_looks_at_the_rows_once(codes):
    source = Planted(1.0)
    Evidence(
        {"a": source}, (EvidenceTerm("a", "mean"), EvidenceTerm("a", "max"), EvidenceTerm("a", "log_mean_exp"))
    ).weigh(codes)
    assert source.n_calls == 1


def test_a_term_that_never_varies_over_normal_rows_is_scaled_by_how_many_there_were(codes):
    flat = codes.take(np.zeros(50, dtype=np.int64))
    scaled = Evidence({"a": Planted(1.0)}, (EvidenceTerm("a", "mean"),)).on_one_scale(flat)
    assert scaled.terms[0].scale == 1 / 50
    assert np.isfinite(scaled.weigh(codes).score).all()


def planted(codes, factor, *aggregates):
    """Evidence by one source, on the scale of these rows."""
    terms = tuple(EvidenceTerm("a", aggregate, weight=1.0 + n) for n, aggregate in enumerate(aggregates))
    return Evidence({"a": Planted(factor)}, terms).on_one_scale(codes)


def test_on_a_common_scale_models_that_say_the_same_give_the_same_scores(codes):
    few, others = codes.take(slice(0, 12)), codes.take(slice(12, 40))
    models = [planted(rows, 2.0, "mean", "max") for rows in (few, others)]
    apart, common = models, Evidence.on_common_scale(models)
    assert not np.allclose(*(one.weigh(codes).score for one in apart))
    np.testing.assert_allclose(*(one.weigh(codes).score for one in common))
    deviations = [[term.scale for term in one.terms] for one in apart]
    np.testing.assert_allclose([term.scale for term in common[0].terms], np.mean(deviations, axis=0))


def test_a_common_scale_leaves_out_terms_that_not_all_models_have(codes):
    models = [planted(codes, 2.0, "mean"), planted(codes, 2.0, "mean", "max")]
    common = Evidence.on_common_scale(models)
    assert [[term.aggregate for term in one.terms] for one in common] == [["mean"], ["mean"]]
    for one in common:
        assert deviation(one.weigh(codes).score) == pytest.approx(1.0)


def test_models_in_nats_stay_in_nats_on_a_common_scale(codes):
    models = [Evidence({"a": Planted(factor)}, (EvidenceTerm("a", "mean"),)) for factor in (1.0, 2.0)]
    for one, same in zip(models, Evidence.on_common_scale(models), strict=True):
        np.testing.assert_array_equal(one.weigh(codes).score, same.weigh(codes).score)


class Quick(TableDetector):
    """The default with a small network, hardly trained."""

    small = MLPReconstructor(width=8, training=Training(Steps(5)))
    _presets = {None: TableDetector._presets[None] | {"combined": (lambda: Quick.small, ProbeGrid())}}  # noqa: RUF012


@pytest.fixture(scope="module")
def combined():
    rng = np.random.default_rng(0)
    pet = rng.choice(["cat", "dog", "cow"], 150)
    says = pd.Series(pet).map({"cat": "meow", "dog": "woof", "cow": "moo"})
    rows = pd.DataFrame({"pet": pet, "says": says, "age": rng.integers(1, 15, 150)})
    return TableDetector(seed=1).fit(rows), rows


def test_the_default_weighs_four_terms_of_evidence_and_a_network_that_saw_few_rows_less(combined):
    detector, rows = combined
    learned_from = len(fold_splits(len(rows), seed=1)[-1].train)
    assert [(term.source, term.aggregate, term.weight) for term in detector.evidence_.terms] == [
        (MAIN, "mean", learned_from / 1000),
        (MAIN, "log_mean_exp", learned_from / 1000),
        (KERNEL, "mean", 1.25),
        (NEIGHBOURS, "mean", 1.5),
    ]


def test_rows_are_combined_in_runs_with_the_same_result_to_the_last_bit(combined, monkeypatch):
    detector, rows = combined
    together = detector.judge(rows)
    monkeypatch.setattr("maskdiff.reconstructors.loops._NUMBERS_AT_ONCE", 3)
    in_runs = detector.judge(rows)
    for name in ("contributions", "by_term", "alarm_score"):
        np.testing.assert_array_equal(getattr(in_runs, name), getattr(together, name))


def test_a_network_that_saw_enough_rows_counts_in_full(combined):
    _, rows = combined
    enough = pd.concat([rows] * 9, ignore_index=True)
    weights = [term.weight for term in Quick(seed=1).fit(enough).evidence_.terms]
    assert weights == [1, 1, 1.25, 1.5]


def test_contributions_of_the_combination_add_up_and_point_at_the_odd_cell(combined):
    detector, rows = combined
    odd = rows.head(20).assign(says="quack")
    contributions = detector.contributions(odd)
    np.testing.assert_allclose(contributions.sum(axis=1), detector.anomaly_score(odd))
    assert (contributions.argmax(axis=1) == 1).all()
    assert detector.is_anomaly(odd).all()
    assert set(detector.explain(odd, top=1)["column"]) == {"says"}


def test_the_combination_survives_saving(combined, tmp_path):
    detector, rows = combined
    maskdiff.save(detector, tmp_path / "model.maskdiff")
    loaded = maskdiff.load(tmp_path / "model.maskdiff")
    np.testing.assert_array_equal(loaded.anomaly_score(rows), detector.anomaly_score(rows))
    assert loaded.evidence_.terms == detector.evidence_.terms


def test_the_paper_preset_never_combines_and_has_plain_bins(combined):
    _, rows = combined
    detector = TableDetector(preset="paper").fit(rows.head(60).assign(weight=np.arange(60) / 7))
    assert [(term.source, term.scale) for term in detector.evidence_.terms] == [(MAIN, 1.0)]
    assert detector.encoder_.schema_.fields[-1].size == 10


def test_a_number_far_beyond_the_normal_ones_is_an_anomaly_and_the_reason(combined):
    _, rows = combined
    normal = rows.assign(weight=np.random.default_rng(1).normal(4.0, 1.0, len(rows)))
    detector = TableDetector(seed=1, false_alarm_rate=0.05).fit(normal)
    odd = normal.head(20).assign(weight=40.0)
    assert detector.is_anomaly(odd).all()
    assert set(detector.explain(odd, top=1)["column"]) == {"weight"}


def test_many_distinct_rows_are_compared_with_a_part_of_them():
    class Comparing(Quick):
        most_compared, most_compared_cells = 50, 0

    rows = pd.DataFrame(np.random.default_rng(0).integers(0, 4, (400, 14))).rename(columns=str)
    detector = Comparing().fit(rows)
    assert len(detector.evidence_.sources[NEIGHBOURS].codes_NF) <= 50
    assert len(detector.evidence_.sources[KERNEL].reconstructor.codes_NF) <= 50


@pytest.mark.parametrize(("values", "weight"), [(2, 2.75), (40, 1.25)])
def test_where_all_rows_repeat_the_kernel_counts_for_the_nearest_rows_too(values, weight):
    rows = pd.DataFrame(np.random.default_rng(0).integers(0, values, (1700, 3)).astype(str)).rename(columns=str)
    weights = {term.source: term.weight for term in Quick().fit(rows).evidence_.terms}
    assert (weights[KERNEL], weights[NEIGHBOURS]) == (weight, 1.5)


@pytest.mark.parametrize(("copies", "sources"), [(1, {MAIN, NEIGHBOURS}), (100, {MAIN})])
def test_a_search_asks_no_kernel_and_where_most_rows_repeat_the_network_alone(copies, sources):
    """A hundred copies of most rows: these are equal to all of their 25 nearest, the others are not."""
    distinct = pd.DataFrame(np.random.default_rng(0).integers(0, 40, (1500 // copies, 3)).astype(str))
    others = pd.DataFrame(np.random.default_rng(1).integers(0, 40, (100, 3)).astype(str))
    rows = pd.concat([*[distinct] * copies, others], ignore_index=True).rename(columns=str)
    findings = maskdiff.find(rows, detector=Quick())
    for model in findings.cross_fit.models:
        assert set(model.evidence_.sources) == sources
        read = [term.aggregate for term in model.evidence_.terms if term.source == MAIN]
        assert read == (["mean"] if sources == {MAIN} else ["mean", "log_mean_exp"])
    assert set(findings.detector.evidence_.sources) == {MAIN, KERNEL, NEIGHBOURS}


def test_a_search_looks_at_25_neighbours_where_a_fit_looks_at_5():
    rows = pd.DataFrame(np.random.default_rng(0).integers(0, 6, (600, 12)).astype(str)).rename(columns=str)
    findings = maskdiff.find(rows, detector=Quick())
    assert {model.evidence_.sources[NEIGHBOURS].k for model in findings.cross_fit.models} == {25}
    assert findings.detector.evidence_.sources[NEIGHBOURS].k == 5
