"""Detectors that look once at most rows, and take the whole grid for those that may matter."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.exceptions import NotFittedError

from maskdiff import (
    MLPReconstructor,
    ProbeGrid,
    SequenceDetector,
    Steps,
    TableDetector,
    TextDetector,
    Training,
    TransformerReconstructor,
    load,
    save,
)
from maskdiff.errors import SettingError
from maskdiff.jobs.describe import setting_facts

COLUMNS = [f"c{j}" for j in range(9)]


def rows_of(n: int, seed: int) -> pd.DataFrame:
    """Nine columns that follow from two, with some noise."""
    rng = np.random.default_rng(seed)
    kind, size = rng.integers(0, 4, n), rng.integers(0, 3, n)
    columns = [(kind * (j + 1) + size * (j % 3)) % 5 for j in range(9)]
    noisy = [np.where(rng.random(n) < 0.05, rng.integers(0, 5, n), column) for column in columns]
    return pd.DataFrame(np.stack(noisy, axis=1), columns=COLUMNS).astype("string")


@pytest.fixture(scope="module")
def unfitted():
    network = MLPReconstructor(32, 2, training=Training(Steps(150), learning_rate=3e-3))
    return TableDetector(network, cross_fit_up_to=0, progress=False)


@pytest.fixture(scope="module")
def detector(unfitted):
    return sklearn.clone(unfitted).fit(rows_of(1600, 0))


@pytest.fixture(scope="module")
def rows():
    new = rows_of(400, 1)
    new.loc[:4, "c3"] = "9"
    return new


@pytest.mark.parametrize("effort", ["auto", "alarms", 0.3])
def test_rows_that_got_the_whole_grid_have_its_scores_and_so_have_all_alarms(detector, rows, effort):
    verdicts, whole = detector.with_effort(effort).judge(rows), detector.with_effort("full").judge(rows)
    twice = verdicts.looks == 2
    assert set(verdicts.looks) == {1, 2}
    assert twice.mean() < 0.5
    np.testing.assert_allclose(verdicts.anomaly_score[twice], whole.anomaly_score[twice], rtol=1e-5)
    assert twice[verdicts.is_anomaly].all()
    assert (verdicts.is_anomaly == whole.is_anomaly).mean() >= 0.995
    alarms = verdicts.is_anomaly
    assert (np.argsort(verdicts.alarm_score[alarms]) == np.argsort(whole.alarm_score[alarms])).all()


@pytest.mark.parametrize("effort", ["auto", "alarms"])
def test_first_looks_estimate_the_score_and_their_cells_add_up_to_it(detector, rows, effort):
    verdicts, whole = detector.with_effort(effort).judge(rows), detector.with_effort("full").judge(rows)
    once = verdicts.looks == 1
    assert np.corrcoef(verdicts.anomaly_score[once], whole.anomaly_score[once])[0, 1] > 0.5
    np.testing.assert_allclose(verdicts.contributions.sum(axis=1), verdicts.anomaly_score)


def test_single_cells_are_judged_alike_whatever_the_effort(detector, rows):
    cells = [detector.with_effort(effort).judge(rows).cells.oddness for effort in ("alarms", "auto", "full")]
    np.testing.assert_allclose(cells[0], cells[2], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(cells[1], cells[2], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("effort", ["auto", "alarms"])
def test_a_score_depends_on_the_row_alone(detector, rows, effort):
    judged = detector.with_effort(effort)
    together, back = judged.judge(rows), judged.judge(rows[::-1])
    np.testing.assert_array_equal(together.looks, back.looks[::-1])
    alone = [judged.judge(rows[at : at + 1]) for at in range(12)]
    assert [one.looks[0] for one in alone] == together.looks[:12].tolist()
    np.testing.assert_allclose([one.anomaly_score[0] for one in alone], together.anomaly_score[:12], rtol=1e-4)


def test_rows_with_an_unseen_value_get_the_whole_grid(detector, rows):
    assert (detector.with_effort("alarms").judge(rows).looks[:5] == 2).all()


def test_explanations_are_made_from_the_whole_grid(detector, rows):
    verdicts = detector.with_effort("alarms").judge(rows)
    usual = rows[verdicts.looks == 1].head(3)
    lazy, whole = (detector.with_effort(effort).explain(usual) for effort in ("alarms", "full"))
    pd.testing.assert_frame_equal(lazy.drop(columns="oddity"), whole.drop(columns="oddity"), rtol=1e-4)


def test_the_whole_grid_is_what_a_detector_fitted_for_it_has(unfitted, detector, rows):
    whole = sklearn.clone(unfitted).set_params(effort="full").fit(rows_of(1600, 0))
    verdicts = whole.judge(rows)
    assert verdicts.looks is None
    np.testing.assert_allclose(verdicts.alarm_score, detector.with_effort("full").judge(rows).alarm_score)
    assert whole.with_effort("alarms").judge(rows).looks is None


def test_a_model_file_keeps_every_effort(detector, rows, tmp_path):
    save(detector, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.effort == "auto"
    for effort in ("auto", "alarms", "full", 0.2):
        old, new = (one.with_effort(effort) for one in (detector, again))
        assert old.threshold() == new.threshold()
        np.testing.assert_allclose(old.judge(rows).alarm_score, new.judge(rows).alarm_score)


def test_the_effort_is_said_in_words(detector):
    said = setting_facts(detector.with_effort("alarms"))["effort"]
    assert said.startswith("alarms: a first look (single_cells), the whole grid for rows above ")
    assert setting_facts(detector.with_effort("full"))["effort"] == "full: the whole grid for every row"


def test_where_rows_repeat_the_whole_grid_judges_all_of_them(unfitted):
    few = pd.concat([rows_of(60, 0)] * 20, ignore_index=True)
    assert sklearn.clone(unfitted).fit(few).judge(few.head(3)).looks is None


def test_with_effort_leaves_the_detector_as_it_is(detector):
    threshold = detector.threshold()
    other = detector.with_effort("full")
    assert (other.effort, detector.effort) == ("full", "auto")
    assert detector.threshold() == threshold
    with pytest.raises(SettingError, match="effort must be one of"):
        detector.with_effort("little")
    with pytest.raises(NotFittedError):
        TableDetector().with_effort("full")


def test_a_kernel_alone_and_a_small_table_have_no_first_look():
    rows = rows_of(100, 0)
    assert TableDetector("kernel").fit(rows).judge(rows).looks is None
    with pytest.raises(SettingError, match="effort must be one of"):
        TableDetector("kernel", effort=2).fit(rows)


# Tokens --------------------------------------------------------------------------------------------------------------


def sessions_of(n: int, seed: int) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    names = np.array(["read", "write", "seek"])
    return [["open", *names[rng.integers(0, 3, rng.integers(2, 14))], "close"] for _ in range(n)]


@pytest.fixture(scope="module", params=["sequences", "texts"])
def tokens(request):
    """A detector of tokens that sees eight at once, so that long rows are cut into windows, and new rows."""
    training = Training(Steps(40), batch_size=32, learning_rate=0.01)
    network = TransformerReconstructor(width=16, heads=2, feed_forward=32, training=training)
    settings = {"probes": ProbeGrid((0.2, 0.5, 0.8), 4), "max_length": 8, "progress": False}
    normal, new = sessions_of(1100, 0), [*sessions_of(40, 1), ["close"] * 6, ["open", "delete"] * 5, []]
    if request.param == "sequences":
        return SequenceDetector(network, **settings).fit(normal), new
    return TextDetector(network, **settings).fit([*map(" ".join, normal)]), [*map(" ".join, new)]


@pytest.mark.filterwarnings("ignore::maskdiff.errors.NoEvidenceWarning")
def test_rows_of_tokens_walk_the_same_way(tokens):
    detector, rows = tokens
    verdicts, whole = detector.with_effort("alarms").judge(rows), detector.with_effort("full").judge(rows)
    twice = verdicts.looks == 2
    assert 2 <= twice.sum() < len(rows)
    np.testing.assert_allclose(verdicts.anomaly_score[twice], whole.anomaly_score[twice], rtol=1e-4)
    assert (verdicts.is_anomaly == whole.is_anomaly).mean() >= 0.95
    assert np.isnan(verdicts.anomaly_score[-1])
    sums = np.bincount(verdicts.codes.row, weights=verdicts.contributions.sum(axis=1))
    np.testing.assert_allclose(sums, verdicts.anomaly_score, rtol=1e-6)
    taken = verdicts.take(np.array([41, 0]))
    assert taken.looks.tolist() == verdicts.looks[[41, 0]].tolist()


def test_one_look_at_tokens_serves_every_effort(tokens):
    detector = tokens[0]
    assert detector.looks_["ranking"] is detector.looks_["alarms"]


@pytest.mark.filterwarnings("ignore::maskdiff.errors.NoEvidenceWarning")
def test_reasons_of_tokens_are_found_by_the_whole_grid(tokens):
    detector, rows = tokens
    lazy, whole = (detector.with_effort(effort).explain(rows[:5]) for effort in ("alarms", "full"))
    pd.testing.assert_frame_equal(lazy, whole, rtol=1e-4)


# The first row ------------------------------------------------------------------------------------------------------


def test_warming_up_loads_what_the_first_row_needs_and_changes_nothing(detector, rows, monkeypatch):
    before = detector.judge(rows).alarm_score
    seen = []
    for source in detector.evidence_.sources.values():
        cells = type(source).cells

        def counted(source, codes, cells=cells, **how):
            seen.append(len(codes))
            return cells(source, codes, **how)

        monkeypatch.setattr(type(source), "cells", counted)
    assert detector.warm_up() is detector
    assert set(seen) == {1}
    monkeypatch.undo()
    np.testing.assert_array_equal(detector.judge(rows).alarm_score, before)
    with pytest.raises(NotFittedError):
        TableDetector().warm_up()
