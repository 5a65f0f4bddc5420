"""Promises of small tables: every row calibrates, judged by a model that did not learn from it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from maskdiff import MLPReconstructor, ProbeGrid, Steps, TableDetector, Training

from ..conftest import make_connections

QUICK = MLPReconstructor(16, 2, training=Training(Steps(40), learning_rate=5e-3))
NORMAL = make_connections(300, seed=1)


@cache
def fitted(seed=0, **settings):
    """Fitted once for all tests; none of them may change it."""
    return TableDetector(QUICK, seed=seed, **settings).fit(NORMAL)


def test_every_row_calibrates_up_to_the_limit():
    assert len(fitted().calibration_) == len(NORMAL)
    assert len(fitted(cross_fit_up_to=299).calibration_) == 100


def test_the_model_that_is_kept_learned_from_four_fifths_like_all_others():
    assert all(sum(field.counts) == 240 for field in fitted().encoder_.schema_)


def test_new_rows_are_compared_with_all_rows_once_these_have_calibrated(monkeypatch):
    monkeypatch.setitem(TableDetector._presets[None], "combined", (lambda: QUICK, ProbeGrid((0.2, 0.6), 2)))
    detector = TableDetector().fit(NORMAL)
    n_known = detector.encoder_.encode(NORMAL).known.all(axis=1).sum()
    assert n_known > 240
    assert [int(source.counts_N.sum()) for source in compared_with(detector)] == [n_known, n_known]
    assert detector.is_anomaly(make_connections(2000, seed=2), 0.05).mean() < 0.08


def compared_with(detector):
    sources = detector.evidence_.sources
    return sources["kernel"].reconstructor, sources["neighbours"]


@pytest.mark.parametrize("settings", [{"preset": "paper"}, {"contamination": 0.05}, {"reconstructor": "kernel"}])
def test_the_paper_known_anomalies_and_the_kernel_have_calibrations_of_their_own(settings, monkeypatch):
    monkeypatch.setattr(TableDetector, "_learn_crosswise", None)
    TableDetector(**{"reconstructor": QUICK, **settings}).fit(NORMAL)


def test_a_row_calibrates_by_a_model_that_never_saw_it():
    """Values that a single row holds are unseen where that row is judged, so that it scores highest."""
    rows = NORMAL.copy()
    rows.loc[7, ["protocol", "service", "flag"]] = ["sctp", "gopher", "S0"]
    with_it, without = (TableDetector(QUICK, cell_share=0).fit(table).calibration_.scores for table in (rows, NORMAL))
    assert with_it[-1] > without[-1] + 1


def test_fresh_normal_rows_raise_alarms_as_promised():
    fresh = make_connections(2000, seed=2)
    alarms = [fitted(seed).is_anomaly(fresh, 0.05).mean() for seed in range(3)]
    assert np.mean(alarms) < 0.08


def test_the_threshold_hardly_moves_with_the_seed():
    def spread(**settings):
        found = [fitted(seed, **settings).threshold(0.02) for seed in range(4)]
        return np.std(found) / np.mean(found)

    assert spread() < spread(cross_fit_up_to=299)


def test_progress_names_the_part():
    stages = []
    TableDetector(QUICK, progress=lambda progress: stages.append(progress.stage)).fit(NORMAL)
    assert "training, part 1 of 5" in stages
    assert "training, part 5 of 5" in stages
