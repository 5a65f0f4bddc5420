"""Promises of the speed study: every run is a record, limits hold, and what was measured is not measured again."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from maskdiff.bench.baselines.plain_equations import PlainEquations
from maskdiff.bench.pages.performance import bounds, growth, started
from maskdiff.bench.runs.measure import Run, failure
from maskdiff.bench.runs.records import read_records
from maskdiff.bench.studies.speed import start, study
from maskdiff.bench.studies.speed.one_run import SPEED_METHODS, measure_one
from maskdiff.bench.studies.speed.tables import make_table
from maskdiff.cli import main

from ....slow_equations import kernel_probability, row_score


def made_record(run: Run, rows: int, columns: int, limit: float, device: str) -> dict[str, object]:
    """What a run gives; methods called slow take as long as the limit."""
    if run.method == "mlp" and rows > 100:
        return failure(run, device, f"took more than {limit:g} s")
    return {**study.identity(run, device), "status": "ok", **measured(rows, columns)}


def measured(rows: int, columns: int) -> dict[str, object]:
    times = {"fit_seconds": 1.0, "score_seconds": rows / 100, "rows_per_second": 100.0}
    memory = {"first_row_ms": 2.0, "one_row_ms": 1.0, "peak_memory_mb": 300.0}
    return {"rows": rows, "columns": columns, "learned_rows": rows, "codes": 90, **times, **memory}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "run_limited", made_record)


def test_one_run_says_how_long_it_took_and_how_much_memory() -> None:
    record = measure_one("plain-equations", 60, 4)
    assert (record["rows"], record["columns"], record["learned_rows"]) == (60, 4, 60)
    assert (
        min(record[name] for name in ("score_seconds", "score_processor_seconds", "one_row_ms", "peak_memory_mb")) > 0
    )


def test_a_run_in_a_process_of_its_own_is_stopped_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "ONE_RUN", "timeit")  # it is given no statement, and fails at once
    record = study.run_limited(Run("9 x 3", "ecod", 0), 9, 3, 60.0, "cpu")
    assert record["status"] == "failed"
    record = study.run_limited(Run("9 x 3", "ecod", 0), 9, 3, 0.001, "cpu")
    assert "took more than 0.001 s" in record["error"]


def test_records_are_added_once_and_larger_tables_are_not_tried_after_the_limit(tmp_path: Path, quick: None) -> None:
    out, sizes = tmp_path / "speed.jsonl", [(100, 5), (1000, 5), (10000, 5)]
    records = study.measure_speed(["kernel", "mlp"], sizes, out, limit=7)
    assert [record["status"] for record in records] == ["ok", "ok", "ok", "failed", "ok", "failed"]
    assert "a smaller table took more than 7 s" in records[-1]["error"]
    study.measure_speed(["kernel"], sizes, out, limit=7)
    assert len(read_records(out)) == 6


def test_the_command_prints_a_table_and_the_page_shows_the_power(tmp_path: Path, quick: None, capfd) -> None:
    out = tmp_path / "speed.jsonl"
    arguments = ["--rows", "100,1e3", "--columns", "5", "--methods", "kernel,mlp", "--out", str(out), "--no-start"]
    assert main(["bench", "speed", *arguments]) == 0
    printed = capfd.readouterr()
    assert "kernel" in printed.out
    assert "mlp, 1000 x 5: took more than" in printed.err
    assert main(["bench", "speed", *arguments, "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["runs"] == 4
    page = growth([record for record in read_records(out) if record["status"] == "ok"])
    assert "| kernel | 1.00 |" in page
    assert main(["bench", "speed", "--rows", "many", "--out", str(out)]) == 2


def test_a_power_is_the_slope_of_logarithms() -> None:
    assert study.exponent([10, 100], [1, 1]) == pytest.approx(0)
    assert math.isnan(study.exponent([10], [1]))


def test_the_plain_equations_are_those_of_the_paper() -> None:
    """One level of one view: the mean surprise of its hidden cells under the kernel."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (30, 4))
    plain = PlainEquations(levels=(0.5,), views=1).fit(codes)
    draw = np.random.default_rng(0)
    hidden = draw.random(4) < 0.5
    references = plain.references_.tolist()
    row = codes[0].tolist()

    def log_prob(j: int, view: object) -> float:
        return math.log(kernel_probability(references, row, j, row[j], [not one for one in hidden], 1.0))

    expected = row_score([hidden.tolist()], log_prob, skip_empty=True)
    assert plain.anomaly_score(codes[:1])[0] == pytest.approx(expected)


def test_tables_have_the_size_asked_for_and_all_methods_are_known() -> None:
    assert make_table(50, 9).shape == (50, 9)
    ours = {"default", "alarms", "mlp", "kernel", "whole-grid", "whole-grid-cells"}
    assert ours | {"iforest", "isotree", "ecod", "hamming-knn", "plain-equations"} == set(SPEED_METHODS)


def test_single_cells_can_be_measured_apart_from_the_score(hardly_trained: None) -> None:
    table = make_table(300, 4)
    score, judged = (SPEED_METHODS[name].build(0, "cpu").fit(table) for name in ("whole-grid", "whole-grid-cells"))
    assert (judged.anomaly_score(table) >= score.anomaly_score(table)).all()
    assert (judged.anomaly_score(table[:1].assign(c0="new")) > score.anomaly_score(table[:1].assign(c0="new"))).all()


def test_time_grows_with_columns_too_and_ten_million_rows_are_extrapolated(tmp_path: Path, quick: None) -> None:
    sizes = [(1000, 5), (1000, 50), (100_000, 5)]
    page = growth(study.measure_speed(["alarms"], sizes, tmp_path / "speed.jsonl"))
    assert "| 1,000 rows | power | 5 columns: fit / score | 50 columns: fit / score |" in page
    assert "| alarms | 0.00 | 1.0 / 10.0 | 1.0 / 10.0 | 1.0 ms | 300 MB |" in page
    assert "take 1667 minutes" in page
    assert growth([]) == ""


def test_the_page_says_what_products_alone_take(tmp_path: Path, quick: None) -> None:
    records = study.measure_speed(["alarms", "whole-grid"], [(10_000, 20)], tmp_path / "speed.jsonl")
    rate = {"set": "machine", "method": "products, 2 threads", "gflops": 100.0}
    page = bounds([*records, rate])
    assert "| alarms | 5.3 million | 53 us | 10000 us |" in page
    assert "100 GFLOP/s (2 threads)" in page
    assert bounds(records) == ""


def test_the_page_says_what_of_a_fit_is_arithmetic(tmp_path: Path, quick: None) -> None:
    sizes = [(10_000, 20), (40_000, 20)]
    records = study.measure_speed(["alarms"], sizes, tmp_path / "speed.jsonl")
    rates = [{"set": "machine", "method": f"products, {n} threads", "gflops": 1000.0 * n} for n in (1, 2)]
    page = bounds([*records, *rates])
    # 1,000 steps of 256 rows, three passes: 272 billion operations on one thread, and 3,000 rows by the whole grid.
    assert "A fit of 40,000 rows and 20 columns took 1.0 s" in page
    assert "272 billion operations" in page
    assert "this is 0.3 s, 34% of the time" in page
    assert "A fit of" not in bounds([*records[:1], *rates])


def test_starting_and_a_busy_machine_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process prints counts; the busy one is ended."""
    calls: list[object] = []
    monkeypatch.setattr(start, "_command", lambda *arguments: calls.append(arguments[0]))
    monkeypatch.setattr(start, "_printed", lambda code, *arguments, **environment: 2.0)
    others = []
    opened = start.subprocess.Popen
    monkeypatch.setattr(start.subprocess, "Popen", lambda *a, **k: others.append(opened(*a, **k)) or others[-1])
    records = start.measure_start(tmp_path / "speed.jsonl", reconstructor="kernel")
    assert calls == ["fit", *["--version"] * 3, *["score"] * 3]
    assert others
    assert all(other.poll() is not None for other in others)
    assert [record["seconds"] for record in records if record["set"] == "machine" and "seconds" in record] == [2.0, 2.0]
    page = started(read_records(tmp_path / "speed.jsonl"))
    assert "| score 400 rows beside a busy process | 2.00 s |" in page


def test_what_a_process_prints_last_is_its_number() -> None:
    assert start._printed("import os, sys; print('x', sys.argv[1], os.environ['A'])", 5, A="7") == 7.0
