"""The study of scale runs the real commands, and its page says what the records say."""

from __future__ import annotations

import pytest

from maskdiff.bench.pages.scale import projection, stages, throughput
from maskdiff.bench.studies.scale import busy_seconds, efficiency, stages_run


def settings_of(rows: int, columns: int) -> dict:
    return {"columns": columns, "rows": rows, "files": 2, "bytes_per_row": 50.0, "learned_rows": 100}


def run_of(method: str, cost: float, workers: int, rows: int = 1000, columns: int = 20) -> dict:
    return {
        "method": method,
        "device": "cpu",
        "rows": rows,
        "seconds": 10.0,
        "start_seconds": 2.0,
        "workers": workers,
        "microseconds_per_row": cost,
        "rows_per_core_second": 1e6 / cost,
        "bytes_written_per_row": 50.0,
        "peak_memory_mb": 512.0,
        "settings": settings_of(rows, columns),
    }


RECORDS = [
    run_of("plain", 36.0, 1),
    run_of("ray, 2 workers", 40.0, 2),
    {"method": "stages", "shares": {"reading": 0.1, "method": 0.9}, "settings": settings_of(1000, 20)},
]


def test_a_core_on_ray_is_compared_with_the_plain_run() -> None:
    assert [(record["method"], round(share, 3)) for record, share in efficiency(RECORDS)] == [("ray, 2 workers", 0.9)]
    assert "| 20 | 1,000 | ray, 2 workers | 40.0 | 25,000 | 90% |" in throughput(RECORDS)
    assert "| reading | 10% |" in stages(RECORDS)


def test_each_width_of_rows_is_shown_with_its_most_rows() -> None:
    more = [run_of("plain", 9.0, 1, 5000, 3), run_of("ray, 2 workers", 10.0, 2, 5000, 3)]
    fewer = [run_of("plain", 90.0, 1, 500), run_of("ray, 2 workers", 100.0, 2, 500)]
    page = throughput([*fewer, *more, *RECORDS])
    assert "| 3 | 5,000 | ray, 2 workers | 10.0 | 100,000 | 90% |" in page
    assert "| 20 | 1,000 | plain" in page
    assert "100.0 |" not in page
    assert "1e09 | 11 |" in projection([*more, *RECORDS])


def test_what_workers_load_on_first_use_is_not_the_cost_of_a_row() -> None:
    parts = [
        {"rows": 100, "processor_seconds": 1.5, "first_of_worker": True},
        {"rows": 100, "processor_seconds": 0.5, "first_of_worker": False},
        {"rows": 300, "processor_seconds": 1.5, "first_of_worker": False},
    ]
    assert busy_seconds(parts) == (2.5, 1.0)
    assert busy_seconds(parts[:1]) == (1.5, 0.0)


def test_the_projection_follows_from_the_slowest_run() -> None:
    # 1e9 rows of 40 microseconds are 11,111 core hours, and 100 bytes each are 0.1 TB.
    assert "| 1e09 | 11 |" in projection(RECORDS)
    assert "| 1e11 | 1,111 |" in projection(RECORDS)
    assert "1e11 | 1,111 | 1.1 | 10.00 |" in projection(RECORDS)


@pytest.mark.usefixtures("hardly_trained")
def test_the_stages_of_a_file_are_shares(tmp_path) -> None:
    from maskdiff import TableDetector, save
    from maskdiff.bench.studies.large_file import make_file

    (tmp_path / "in").mkdir()
    make_file(tmp_path / "in" / "rows.parquet", 300)
    import pandas as pd

    detector = TableDetector("kernel", progress=False).fit(pd.read_parquet(tmp_path / "in" / "rows.parquet"))
    save(detector, tmp_path / "model")
    record = stages_run(tmp_path / "in", tmp_path / "model", tmp_path)
    assert sum(record["shares"].values()) == pytest.approx(1.0, abs=0.001)
    assert list(record["shares"]) == ["reading", "encoding", "method", "writing"]
