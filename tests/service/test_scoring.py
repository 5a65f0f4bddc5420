"""Rows in, verdicts out: the same numbers as in Python, whatever the rows come in, alone or with many others."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import maskdiff
from maskdiff.jobs import score_batch

from ..conftest import make_connections
from .running import Running

CSV, LINES, PARQUET = "text/csv", "application/x-ndjson", "application/vnd.apache.parquet"


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    new = make_connections(40, seed=3)
    new.loc[:3, "service"] = ["gopher", "dns", "http", "echo"]
    return new


@pytest.fixture(scope="module")
def expected(rows: pd.DataFrame, connections_model: Path) -> pd.DataFrame:
    batch = pa.RecordBatch.from_pandas(rows, preserve_index=False)
    return score_batch(connections_model, batch).to_pandas()


def test_json_rows_get_the_verdicts_python_gives(server: Running, rows: pd.DataFrame, expected: pd.DataFrame) -> None:
    answer = server.http.post("/models/connections/score", json={"rows": rows.to_dict("records")}).json()
    found = pd.DataFrame(answer["rows"])
    np.testing.assert_allclose(found["anomaly_score"], expected["anomaly_score"], atol=1e-6)
    np.testing.assert_allclose(found["p_value"], expected["p_value"], atol=1e-6)
    assert found["is_anomaly"].tolist() == expected["is_anomaly"].tolist()
    assert found["is_anomaly"].any()
    assert answer["threshold"] == pytest.approx(maskdiff.load(server.folder / "connections.maskdiff").threshold())


@pytest.mark.parametrize("media_type", [CSV, LINES, PARQUET])
def test_a_file_comes_back_in_its_own_format_with_verdicts(
    server: Running, rows: pd.DataFrame, expected: pd.DataFrame, media_type: str
) -> None:
    body, read = {
        CSV: (rows.to_csv(index=False).encode(), pd.read_csv),
        LINES: (rows.to_json(orient="records", lines=True).encode(), lambda file: pd.read_json(file, lines=True)),
        PARQUET: (rows.to_parquet(index=False), pd.read_parquet),
    }[media_type]
    answer = server.http.post("/models/connections/score", content=body, headers={"Content-Type": media_type})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith(media_type)
    found = read(io.BytesIO(answer.content))
    assert found.columns.tolist() == expected.columns.tolist()
    np.testing.assert_allclose(found["anomaly_score"], expected["anomaly_score"], atol=1e-6)


def test_reasons_are_those_of_python(server: Running, rows: pd.DataFrame) -> None:
    few = rows.head(4)
    detector = maskdiff.load(server.folder / "connections.maskdiff")
    answer = server.http.post(
        "/models/connections/explain", params={"top": 2, "nearest": True}, json={"rows": few.to_dict("records")}
    ).json()
    wanted = detector.judge(few).to_records(detector.explain(few, top=2))
    for found, reason in zip(answer["rows"], wanted, strict=True):
        assert found["anomaly_score"] == pytest.approx(reason["anomaly_score"], abs=1e-6)
        assert [cell["column"] for cell in found["cells"]] == [cell["column"] for cell in reason["cells"]]
        assert found["cells"][0]["expected"] == reason["cells"][0]["expected"]


def test_a_file_can_be_explained(server: Running, rows: pd.DataFrame) -> None:
    headers = {"Content-Type": CSV}
    body = rows.to_csv(index=False).encode()
    answer = server.http.post("/models/connections/explain", params={"top": 1}, content=body, headers=headers)
    assert "reason_1" in answer.text.splitlines()[0]


def test_requests_that_come_together_get_the_answers_they_get_alone(server: Running, rows: pd.DataFrame) -> None:
    records = rows.to_dict("records")

    def ask(record: dict[str, object]) -> float:
        answer = server.http.post("/models/connections/score", json={"rows": [record]})
        return float(answer.json()["rows"][0]["anomaly_score"])

    alone = [ask(record) for record in records]
    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(ask, records * 3))
    np.testing.assert_allclose(together, alone * 3, atol=1e-6)
    batches = server.http.get("/metrics").text
    assert 'maskdiff_batch_requests_bucket{le="1.0"}' in batches
    most = [line for line in batches.splitlines() if line.startswith("maskdiff_batch_requests_sum")]
    count = [line for line in batches.splitlines() if line.startswith("maskdiff_batch_requests_count")]
    assert float(most[0].split()[1]) > float(count[0].split()[1])  # some were scored together


def test_one_bad_request_among_many_fails_alone(server: Running, rows: pd.DataFrame) -> None:
    good, bad = rows.head(1).to_dict("records"), [{"protocol": "tcp"}]

    def ask(records: list[dict[str, object]]) -> int:
        return server.http.post("/models/connections/score", json={"rows": records}).status_code

    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(ask, [good, bad] * 12))
    assert found == [200, 400] * 12


def test_another_false_alarm_rate_moves_the_threshold(server: Running, rows: pd.DataFrame) -> None:
    asked = {"rows": rows.to_dict("records")}
    low, high = (
        server.http.post("/models/connections/score", params={"false_alarm_rate": rate}, json=asked).json()
        for rate in (0.01, 0.2)
    )
    assert high["threshold"] < low["threshold"]
    assert sum(row["is_anomaly"] for row in high["rows"]) >= sum(row["is_anomaly"] for row in low["rows"])


def test_a_rate_that_cannot_be_promised_is_refused(server: Running) -> None:
    answer = server.http.post(
        "/models/connections/score", params={"false_alarm_rate": 1e-9}, json={"rows": [{"protocol": "tcp"}]}
    )
    assert answer.status_code == 400
    assert "calibration" in answer.json()["error"]


def test_models_are_listed_and_described(server: Running) -> None:
    listed = server.http.get("/models").json()["models"]
    assert "connections" in [one["name"] for one in listed]
    facts = server.http.get("/models/connections").json()
    assert [column["name"] for column in facts["columns"]] == ["protocol", "service", "flag", "bytes"]
    assert facts["calibration"]["rows"] > 0


def test_metrics_count_rows_alarms_latency_and_drift(server: Running, rows: pd.DataFrame) -> None:
    server.http.post("/models/connections/score", json={"rows": rows.to_dict("records")})
    said = server.http.get("/metrics").text
    for name in ("maskdiff_rows_total", "maskdiff_alarms_total", "maskdiff_column_drift"):
        assert f"{name}{{" in said
        assert 'model="connections"' in said
    assert 'route="/models/{name}/score",status="200"' in said


def test_health_and_readiness(server: Running) -> None:
    assert server.http.get("/health").json()["status"] == "ok"
    n_models = len(server.http.get("/models").json()["models"])
    assert server.http.get("/ready").json() == {"status": "ready", "models": n_models}
