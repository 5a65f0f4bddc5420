"""What detectors of tables do; the promises that all detectors keep are in tests/contract."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from sklearn.base import clone

import maskdiff
from maskdiff import Epochs, KernelReconstructor, MLPReconstructor, ProbeGrid, Steps, TableDetector, Training
from maskdiff.datasets import NoisyCopiesOracle, make_noisy_copies
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import CalibrationError, SettingError
from maskdiff.probes import PAPER_KERNEL_LEVELS, PAPER_LEVELS

from ..conftest import make_connections


def small(steps=120, **settings):
    """A network that trains in a moment."""
    return MLPReconstructor(width=32, layers=2, training=Training(Steps(steps), learning_rate=3e-3), **settings)


@cache
def fitted(name):
    """A named detector, fitted once on `normal_rows`, as many as it needs; no test may change it."""
    return TableDetector(name).fit(make_connections(600, seed=7).head(600 if name == "kernel" else 300))


@pytest.fixture
def kernel():
    return fitted("kernel")


@pytest.fixture(params=["combined", "mlp", "kernel"])
def detector(request):
    return fitted(request.param)


# Alarms and input types -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["combined", "mlp"])
def test_the_named_detectors_alarm_at_every_broken_rule(name, normal_rows, odd_rows):
    detector = fitted(name)
    assert detector.is_anomaly(odd_rows, 0.02).all()
    assert detector.is_anomaly(normal_rows, 0.02).mean() < 0.05
    best = detector.explain(odd_rows, top=1)
    assert best["column"].tolist()[1:] == ["protocol", "flag", "bytes"]


def test_the_kernel_alarms_at_every_broken_rule_where_no_number_is_odd_by_itself(normal_rows, odd_rows):
    detector = TableDetector("kernel", encoder=TableEncoder(tails=0), false_alarm_rate=0.02).fit(normal_rows)
    assert detector.is_anomaly(odd_rows).all()
    assert detector.is_anomaly(normal_rows).mean() < 0.05
    assert detector.explain(odd_rows, top=1)["column"].tolist()[1:] == ["protocol", "flag", "bytes"]


def test_the_kernel_finds_some_broken_rules_no_odder_than_an_unusual_number(normal_rows, odd_rows):
    detector = TableDetector("kernel", false_alarm_rate=0.075).fit(normal_rows)
    assert detector.is_anomaly(odd_rows).tolist() == [False, True, True, True]
    assert detector.explain(odd_rows, top=1)["column"].tolist()[1:] == ["protocol", "flag", "bytes"]


def test_every_type_of_table_gets_equal_scores(detector, odd_rows):
    scores = detector.anomaly_score(odd_rows)
    tables = (
        pl.from_pandas(odd_rows),
        pa.Table.from_pandas(odd_rows),
        odd_rows.to_numpy(),
        odd_rows.to_numpy().tolist(),
    )
    for table in tables:
        np.testing.assert_array_equal(detector.anomaly_score(table), scores)
        assert detector.explain(table)["value"].tolist() == detector.explain(odd_rows)["value"].tolist()


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas, pd.DataFrame.to_numpy])
def test_every_type_of_table_teaches_the_same(convert, normal_rows, odd_rows):
    taught = TableDetector("kernel").fit(convert(normal_rows))
    expected = TableDetector("kernel").fit(normal_rows).anomaly_score(odd_rows)
    np.testing.assert_array_equal(taught.anomaly_score(convert(odd_rows)), expected)


# What a score means --------------------------------------------------------------------------------------------------


def test_fit_predict_is_a_search_through_the_rows_themselves(normal_rows):
    findings = TableDetector("kernel").fit_find(normal_rows)
    np.testing.assert_array_equal(TableDetector("kernel").fit_predict(normal_rows) == -1, findings.is_anomaly)


def fresh_false_alarms(detector, make_rows, rate):
    """The share of alarms on normal rows, over four fits of 400 rows and 400 fresh rows each."""
    return np.mean([clone(detector).fit(make_rows(seed)).is_anomaly(make_rows(100 + seed), rate) for seed in range(4)])


def wide_rows(seed):
    """Thirteen bits and a customer; a third of the rows have one that no other row has."""
    X, _ = make_noisy_copies(400, seed=seed, length=13)
    customers = np.random.default_rng(seed).pareto(0.8, 400) * 20
    return X.assign(customer=[f"c{int(number)}" for number in customers])


def narrow_rows(seed):
    """The customer and four of the bits."""
    return wide_rows(seed)[["bit_0", "bit_1", "bit_2", "bit_3", "customer"]]


@pytest.mark.parametrize("make_rows", [wide_rows, narrow_rows])
@pytest.mark.parametrize("name", ["mlp", "kernel"])
def test_fresh_normal_rows_are_alarmed_no_more_often_than_promised(name, make_rows):
    """Where a row is left out, so are the values only it had; else the calibration rows would look too calm."""
    settings = {"mlp": small(steps=20), "kernel": "kernel"}
    found = fresh_false_alarms(TableDetector(settings[name], columns={"customer": "category"}), make_rows, 0.1)
    # Four calibrations of 400 rows each, which are not quite independent.
    assert found <= 0.1 + 4 * math.sqrt(0.1 * 0.9 / 1000)
    assert found > 0.03


def test_the_network_is_calibrated_on_rows_it_never_saw(normal_rows):
    detector = TableDetector(small(), cross_fit_up_to=0).fit(normal_rows)
    assert len(detector.calibration_) == 100
    assert sum(detector.encoder_.schema_.fields[0].counts) == 450  # 50 more say what is usual


def test_the_kernel_is_calibrated_on_all_its_rows(kernel):
    assert len(kernel.calibration_) == 600
    assert int(kernel.reconstructor_.counts_N.sum()) == 600


# Explanations --------------------------------------------------------------------------------------------------------


def test_an_explanation_names_the_cells_that_carry_each_row(detector, odd_rows):
    table = detector.explain(odd_rows, top=2)
    assert list(table) == [
        *("row", "column", "value", "contribution", "share"),
        *("surprise", "expected", "expected_probability", "contradicts", "oddity", "note"),
    ]
    contributions = detector.contributions(odd_rows)
    assert (table.groupby("row").size() <= 2).all()
    for line in table.itertuples():
        j = list(odd_rows).index(line.column)
        assert line.value == str(odd_rows.iloc[line.row, j])
        assert line.contribution == pytest.approx(contributions[line.row, j])
        assert line.share == pytest.approx(line.contribution / contributions[line.row].sum())
        assert line.expected in detector.encoder_.schema_.fields[j].labels
        assert 0 < line.expected_probability <= 1 + 1e-6
    strongest = table.groupby("row")["contribution"].first().to_numpy()
    np.testing.assert_allclose(strongest, contributions.max(axis=1))


def test_what_is_expected_fits_the_rest_of_the_row(kernel, odd_rows):
    table = kernel.explain(odd_rows, top=4).set_index(["row", "column"])["expected"]
    assert table[0, "protocol"] == "tcp"
    assert table[1, "protocol"] == "udp"
    assert table[2, "flag"] == "SF"
    low, high = table[3, "bytes"].strip("([]").split(", ")
    assert 1000 < int(low) < int(high) < 5000  # an interval, in bytes


# Unseen and missing values -------------------------------------------------------------------------------------------


def test_a_row_of_unseen_values_alone_is_scored_and_explained(detector, normal_rows):
    row = pd.DataFrame({"protocol": ["sctp"], "service": ["gopher"], "flag": [None], "bytes": ["many"]})
    score = detector.anomaly_score(row)
    assert np.isfinite(score).all()
    assert score[0] > np.quantile(detector.anomaly_score(normal_rows), 0.98)
    assert detector.is_anomaly(row, 0.02).all()
    table = detector.explain(row, top=4).set_index("column")
    assert {"protocol": "tcp", "flag": "SF"}.items() >= {
        name: table["expected"].get(name) for name in ("protocol", "flag") if name in table.index
    }.items()
    assert set(table["value"]) <= {"sctp", "gopher", "missing", "many"}


def test_an_unseen_value_is_never_calmer_than_the_rarest_seen_one(normal_rows):
    detector = TableDetector("kernel", probes=ProbeGrid((0.2, 0.5), 4, "exact")).fit(normal_rows)
    for j, column in enumerate(["protocol", "service", "flag"]):
        rarest = normal_rows[column].value_counts().index[-1]
        rows = normal_rows.head(50).drop_duplicates()
        seen = detector.judge(rows.assign(**{column: rarest})).surprise[:, j]
        unseen = detector.judge(rows.assign(**{column: "never seen"})).surprise[:, j]
        assert (unseen >= seen - 1e-5).all()


def test_missing_values_are_values_where_normal_rows_have_them(normal_rows):
    rows = normal_rows.assign(flag=normal_rows["flag"].where(normal_rows["protocol"] != "udp"))
    detector = TableDetector("kernel").fit(rows)
    udp, tcp = (rows[rows["protocol"] == name].head(1).assign(flag=None) for name in ("udp", "tcp"))
    surprise = [detector.judge(row).surprise[0, 2] for row in (udp, tcp)]
    assert surprise[0] < 1 < surprise[1]


# Somebody's own reconstructor ----------------------------------------------------------------------------------------


class Oracle:
    """The true conditionals of noisy copies: nothing to fit, and no class of ours."""

    def log_prob(self, views):
        answers = NoisyCopiesOracle(12).log_prob(views.codes_BF.numpy(), views.visible.numpy())
        return torch.from_numpy(answers).float()

    def most_likely(self, views):
        as_it_is = self.log_prob(views).exp()
        codes = views.codes_BF.unsqueeze(1).expand(as_it_is.shape)
        return torch.where(as_it_is >= 0.5, codes, 1 - codes), torch.maximum(as_it_is, 1 - as_it_is).log()


def test_a_reconstructor_of_ones_own_works():
    normal, _ = make_noisy_copies(300, length=12)
    rows, y = make_noisy_copies(200, seed=1, mixture=0.5, length=12)
    detector = TableDetector(Oracle()).fit(normal)
    learned = TableDetector("kernel").fit(normal)
    scores = detector.anomaly_score(rows)
    assert np.corrcoef(scores, learned.anomaly_score(rows))[0, 1] > 0.9
    assert scores[y == 1].mean() > scores[y == 0].mean()
    assert detector.explain(rows, top=1).shape == (200, 11)
    assert detector.is_anomaly(normal, 0.05).mean() < 0.05 + 4 * math.sqrt(0.05 / 100)


# Settings ------------------------------------------------------------------------------------------------------------


def test_the_papers_preset_is_exactly_the_papers(normal_rows):
    normal_rows = normal_rows.head(100)
    network = TableDetector(preset="paper").fit(normal_rows)
    assert network.probes_ == ProbeGrid(PAPER_LEVELS, 16, "independent", "zero")
    found = network.reconstructor_
    assert (found.embedding, found.width, found.layers, found.dropout, found.uses_level) == (256, 512, 3, 0.1, True)
    assert found.training.stop == Epochs(20)
    assert (found.training.learning_rate, found.training.weight_decay) == (1e-3, 1e-5)
    kernel = TableDetector("kernel", preset="paper").fit(normal_rows)
    assert kernel.probes_ == ProbeGrid(PAPER_KERNEL_LEVELS, 8, "independent", "zero")
    assert kernel.reconstructor_.bandwidth == 1.0


def mixed_pets(odd):
    """Two kinds of pets in several colours, and rows that are not like them."""
    rng = np.random.default_rng(0)
    normal = pd.DataFrame({"pet": ["cat", "dog"] * 200, "says": ["meow", "woof"] * 200, "eats": ["fish", "bone"] * 200})
    odd = pd.DataFrame(odd, columns=["pet", "says", "eats"])
    colour = rng.choice(["black", "white", "brown"], len(normal) + len(odd))
    return pd.concat([normal, odd], ignore_index=True).assign(colour=colour)


@pytest.mark.parametrize("name", ["mlp", "kernel"])
@pytest.mark.parametrize(
    ("contamination", "cells", "times"),
    [
        (0.1, [["cat", "woof", "fish"]] * 12 + [["dog", "meow", "bone"]] * 12, 1.1),
        ("auto", [["cat", "woof", "newspaper"]] * 12 + [["dog", "meow", "newspaper"]] * 12, 1.02),
    ],
)
def test_anomalies_among_the_rows_to_learn_from_can_be_left_out(name, contamination, cells, times):
    mixed = mixed_pets(cells)
    normal, odd = mixed[:400], mixed[400:]
    reconstructor = small() if name == "mlp" else name
    cleaned = TableDetector(reconstructor, contamination=contamination).fit(mixed)
    misled = TableDetector(reconstructor).fit(mixed)
    ahead = [d.anomaly_score(odd).mean() - d.anomaly_score(normal).mean() for d in (cleaned, misled)]
    assert ahead[0] > ahead[1] * times
    assert maskdiff.TableDetector.from_state(*cleaned.to_state()).contamination == contamination


def test_what_only_odd_rows_hold_is_new_to_a_model_that_left_them_out():
    """A value that is known, but that nothing was learned about, would be odder than any new one."""
    mixed = mixed_pets([["cat", "meow", "newspaper"]] * 12)
    values = {
        contamination: TableDetector("kernel", contamination=contamination).fit(mixed).encoder_.schema_.fields[2].labels
        for contamination in (0.0, 0.05)
    }
    assert "newspaper" in values[0.0]
    assert "newspaper" not in values[0.05]


def test_rows_left_out_of_learning_still_count_for_the_alarm_rate(normal_rows):
    rate = TableDetector("kernel", contamination=0.2, false_alarm_rate=0.1).fit(normal_rows)
    assert rate.is_anomaly(normal_rows).mean() < 0.2


def test_columns_can_be_read_otherwise_or_dropped(normal_rows, odd_rows):
    detector = TableDetector("kernel", columns={"bytes": "drop", "flag": "category"}).fit(normal_rows)
    assert detector.encoder_.schema_.names == ["protocol", "service", "flag"]
    assert detector.contributions(odd_rows).shape == (4, 3)
    np.testing.assert_array_equal(
        detector.anomaly_score(odd_rows.drop(columns="bytes")), detector.anomaly_score(odd_rows.assign(bytes="any"))
    )


def test_progress_is_reported_through_one_callback(normal_rows, odd_rows):
    seen = []
    detector = TableDetector(small(steps=60), cross_fit_up_to=0, progress=seen.append).fit(normal_rows)
    assert [each.stage for each in seen] == ["training"] * 2 + ["calibrating"] * 5
    assert seen[1].held_out_loss is not None
    detector.anomaly_score(odd_rows)
    assert seen[-1].stage == "scoring"
    assert seen[-1].done == seen[-1].total == 4


def test_fitting_again_forgets_the_first_table(normal_rows, odd_rows):
    detector = TableDetector("kernel").fit(normal_rows)
    other = make_noisy_copies(100, length=5)[0].to_numpy()
    detector.fit(other)
    np.testing.assert_array_equal(
        detector.anomaly_score(other), TableDetector("kernel").fit(other).anomaly_score(other)
    )
    assert detector.n_features_in_ == 5
    assert not hasattr(detector, "feature_names_in_")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reconstructor": "forest"}, "'forest'; choose one of combined, mlp, kernel"),
        ({"reconstructor": 3}, r"must have log_prob\(views\) and most_likely\(views\)"),
        ({"preset": "best"}, "preset must be None or \"paper\"; got 'best'"),
        ({"aggregate": "median"}, "'median'; choose one of mean, rms, max"),
        ({"contamination": 0.5}, r"contamination, the share .* must lie in \[0, 0.5\) or be \"auto\"; got 0.5"),
        ({"schedule": "sudden"}, "'sudden'; choose one of linear"),
        ({"objective": "hinge"}, "'hinge'; choose one of reconstruction, diffusion"),
        ({"columns": {"flag": "colour"}}, "'flag'.* must be one of category, text, number, date, drop; got 'colour'"),
    ],
)
def test_settings_that_make_no_sense_are_refused_at_fit(settings, message, normal_rows):
    detector = TableDetector(**({"reconstructor": "kernel"} | settings))
    with pytest.raises(SettingError, match=message):
        detector.fit(normal_rows)


def test_a_false_alarm_rate_too_fine_says_how_many_rows_it_needs(normal_rows, odd_rows, kernel):
    with pytest.raises(CalibrationError, match="needs at least 9,999 calibration rows; there are 600"):
        TableDetector("kernel", false_alarm_rate=0.0001).fit(normal_rows)
    with pytest.raises(CalibrationError, match="needs at least 9,999 calibration rows; there are 600"):
        kernel.is_anomaly(odd_rows, 0.0001)


def test_constructing_stores_and_checks_nothing():
    nonsense = TableDetector(reconstructor=3, preset="best", seed="no")
    assert (nonsense.reconstructor, nonsense.preset, nonsense.seed) == (3, "best", "no")
    assert isinstance(TableDetector(KernelReconstructor(2.0)).reconstructor, KernelReconstructor)
