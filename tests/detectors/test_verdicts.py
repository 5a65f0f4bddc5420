"""Verdicts can be taken apart by rows, and handed out as plain records."""

from __future__ import annotations

import json

import numpy as np
import pytest

from maskdiff import ProbeGrid, Steps, TableDetector, TextDetector, Training, TransformerReconstructor
from maskdiff.errors import NoEvidenceWarning


def test_records_are_plain_values(normal_rows, odd_rows):
    detector = TableDetector("kernel").fit(normal_rows)
    verdicts = detector.judge(odd_rows)
    records = json.loads(json.dumps(verdicts.to_records()))
    assert [record["anomaly_score"] for record in records] == verdicts.anomaly_score.tolist()
    assert [record["p_value"] for record in records] == verdicts.p_value.tolist()
    assert [record["is_anomaly"] for record in records] == verdicts.is_anomaly.tolist()


def test_records_hold_the_cells_of_their_rows(normal_rows, odd_rows):
    detector = TableDetector("kernel").fit(normal_rows)
    verdicts = detector.judge(odd_rows)
    cells = detector.explain(odd_rows, 2, verdicts=verdicts)
    records = json.loads(json.dumps(verdicts.to_records(cells)))
    for row, record in enumerate(records):
        own = cells[cells["row"] == row].drop(columns="row")
        assert record["cells"] == own.to_dict("records")


def test_a_row_without_evidence_has_no_score_and_no_cells():
    small = TransformerReconstructor(width=16, heads=2, feed_forward=32, training=Training(Steps(2), batch_size=16))
    normal = ["see you soon at nine", "call me later at ten"] * 60
    detector = TextDetector(small, probes=ProbeGrid((0.2, 0.6), 2), progress=False).fit(normal)
    texts = ["see me later at ten", ""]
    with pytest.warns(NoEvidenceWarning):
        verdicts = detector.judge(texts)
    records = verdicts.to_records(detector.explain(texts, 1, verdicts=verdicts))
    assert records[1] == {"anomaly_score": None, "p_value": 1.0, "is_anomaly": False, "cells": []}
    assert len(records[0]["cells"]) == 1
    assert np.isnan(verdicts.take(np.array([1])).anomaly_score).all()
