"""Promises of a search through a file: its odd rows come out ranked, with their numbers and reasons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import maskdiff
from maskdiff import MLPReconstructor, Steps, TableDetector, Training
from maskdiff.detectors.finding.finder import fit_find_batches
from maskdiff.detectors.finding.search import FindOptions
from maskdiff.errors import OrderWarning, SettingError, UnknownColumnError
from maskdiff.io import ReadOptions
from maskdiff.jobs import Checkpoints, ColumnOptions, FindOutput, find, find_file

from ..conftest import make_connections

ODD = [3, 71, 200, 201, 299]
KERNEL = TableDetector("kernel", progress=False)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rows = make_connections(400, seed=2)
    for place in ODD:
        rows.loc[place, ["protocol", "service", "flag"]] = [f"p{place}", f"s{place}", f"f{place}"]
    return rows


@pytest.fixture(scope="module")
def path(table, tmp_path_factory) -> str:
    file = tmp_path_factory.mktemp("find") / "rows.csv"
    table.to_csv(file, index=False)
    return str(file)


@pytest.fixture(scope="module")
def done(path, tmp_path_factory):
    folder = tmp_path_factory.mktemp("found")
    output = FindOutput(top=20, report=str(folder / "r.html"), model=folder / "m.maskdiff")
    summary = find_file(path, str(folder / "found.csv"), detector=KERNEL, output=output)
    return summary, pd.read_csv(folder / "found.csv"), folder


def test_the_oddest_rows_are_written_first_with_their_numbers_and_reasons(done, table):
    summary, found, _ = done
    assert sorted(found["row"][:5] - 1) == ODD
    assert (np.diff(found["p_value"]) >= 0).all()
    assert len(found) == summary.written == 20
    first = found["row"][0] - 1
    assert found["service"][0] == table["service"][first]
    assert str(table.loc[first, found["reason_1_column"][0]]) in found["reason_1"][0]
    assert summary.first[0]["row"] == found["row"][0]


def test_a_file_is_searched_as_the_table_in_memory(done, table):
    summary, found, _ = done
    findings = maskdiff.find(table, detector=KERNEL)
    np.testing.assert_allclose(found["anomaly_score"], findings.ranked().anomaly_score[:20])
    assert summary.estimated_odd == findings.estimated_odd
    assert summary.found == findings.is_anomaly.sum()


def test_how_the_file_is_cut_into_batches_does_not_matter(done, path, tmp_path):
    out = tmp_path / "found.csv"
    reading = ReadOptions(rows_at_once=70)
    find_file(path, str(out), detector=KERNEL, output=FindOutput(top=20), reading=reading)
    pd.testing.assert_frame_equal(pd.read_csv(out), done[1])


def test_the_page_and_the_model_are_written_too(done, table):
    _, _, folder = done
    assert "maskdiff" in (folder / "r.html").read_text()
    loaded = maskdiff.load(folder / "m.maskdiff")
    assert loaded.is_anomaly(table.iloc[ODD], 0.05).mean() > 0.7


def test_unless_a_number_is_given_at_least_a_hundred_rows_are_written(path, tmp_path):
    summary = find_file(path, str(tmp_path / "found.csv"), detector=KERNEL, output=FindOutput(explain=0))
    found = pd.read_csv(tmp_path / "found.csv")
    assert len(found) == summary.written == 100
    assert list(found)[-4:] == ["row", "anomaly_score", "p_value", "is_anomaly"]


def test_nothing_that_is_read_is_written_over(path, tmp_path):
    for output in (FindOutput(), FindOutput(report=path), FindOutput(model=path)):
        with pytest.raises(SettingError, match="is read and cannot be written"):
            find_file(path, path if output == FindOutput() else str(tmp_path / "x.csv"), output=output)
    assert not (tmp_path / "x.csv").exists()


def test_a_column_called_row_asks_for_a_prefix(table, tmp_path):
    file, out = tmp_path / "rows.csv", tmp_path / "found.csv"
    table[:100].assign(row=1).to_csv(file, index=False)
    with pytest.raises(UnknownColumnError, match="prefix"):
        find_file(str(file), str(out), detector=KERNEL)
    find_file(str(file), str(out), detector=KERNEL, output=FindOutput(prefix="new_", top=3))
    assert "new_row" in pd.read_csv(out)


def test_groups_and_times_are_columns_of_the_file_that_are_not_learned_from(table, tmp_path):
    file, out = tmp_path / "rows.csv", tmp_path / "found.csv"
    dated = table[:120].assign(who=np.arange(120) // 4, when=pd.date_range("2024-01-01", periods=120))
    dated.to_csv(file, index=False)
    for named in ({"group": "who"}, {"order": "when"}, {"group": "who", "order": "when"}):
        columns = ColumnOptions(drop=[name for name in ("who", "when") if name not in named.values()])
        summary = find_file(str(file), str(out), detector=KERNEL, columns=columns, **named, output=FindOutput(top=3))
        assert summary.detector.encoder_.schema_.names == list(table)
    with pytest.raises(UnknownColumnError, match="no column 'whom'"):
        find_file(str(file), str(out), detector=KERNEL, group="whom")


def test_the_page_lists_the_rows_found_and_not_those_that_were_only_left_out(path, tmp_path):
    out, page = tmp_path / "found.csv", tmp_path / "page.html"
    output = FindOutput(report=str(page))
    summary = find_file(path, str(out), detector=KERNEL, options=FindOptions(0.05), output=output)
    assert 0 < summary.found < summary.left_out
    assert f": {summary.found} anomalies (this report)" in page.read_text()


def test_the_report_shows_alarms_in_the_order_asked_for(table, tmp_path):
    """By a column that is not learned from, before all other columns of dates."""
    file, page = tmp_path / "rows.csv", tmp_path / "page.html"
    born = pd.date_range("1950-01-01", periods=120, freq="90D")
    dated = table[:120].assign(born=born, when=[f"{1 + k % 28}.03.2024" for k in range(120)])
    dated.loc[5, "when"] = ""
    dated.to_csv(file, index=False)
    output = FindOutput(report=str(page), explain=0)
    with pytest.warns(OrderWarning, match="1 row has no date"):
        find_file(str(file), str(tmp_path / "found.csv"), detector=KERNEL, order="when", output=output)
    text = " ".join(page.read_text().split())
    assert "Anomalies by day of <span" in text
    assert "Not shown: 1 row without a date" in text
    assert text.index(">2024-03-01<") < text.index("1950")


def test_a_label_left_in_the_file_is_named(tmp_path, monkeypatch):
    """Where nearly all rows found are due to one column, a notice names it."""
    rows = make_connections(200, seed=5).assign(is_fraud="no")
    rows.loc[:11, "is_fraud"] = [f"yes, case {k}" for k in range(12)]
    rows.to_csv(tmp_path / "rows.csv", index=False)

    def labelled(*args, **kwargs):
        return replace(fit_find_batches(*args, **kwargs), is_anomaly=np.arange(200) < 12)

    monkeypatch.setattr(find, "fit_find_batches", labelled)
    summary = find_file(str(tmp_path / "rows.csv"), str(tmp_path / "found.csv"), detector=KERNEL)
    assert [check.details["column"] for check in summary.checks] == ["is_fraud"]


def test_settings_that_make_no_sense_are_refused(path):
    with pytest.raises(SettingError, match="top >= 1"):
        FindOutput(top=0)
    with pytest.raises(SettingError, match="most_learned"):
        FindOptions(most_learned=3)


def test_the_odd_cells_of_a_file_are_those_of_the_table_in_memory(table, tmp_path):
    rows = table[:250].assign(note=["fine"] * 249 + ["fien"])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    output = FindOutput(top=5, cells=str(tmp_path / "cells.csv"))
    reading = ReadOptions(rows_at_once=40)
    summary = find_file(
        *(str(tmp_path / "rows.csv"), str(tmp_path / "found.csv")), detector=KERNEL, output=output, reading=reading
    )
    listed = pd.read_csv(tmp_path / "cells.csv").fillna("")
    expected = (
        maskdiff.find(rows, detector=KERNEL).odd_cells(rows).sort_values(["oddness", "row"], ascending=[False, True])
    )
    assert summary.odd_cells.cells == len(listed) == len(expected) > 0
    assert (listed["row"] - 1).tolist() == expected["row"].tolist()
    for name in ("column", "value", "expected"):
        assert listed[name].astype(str).tolist() == expected[name].tolist()
    np.testing.assert_allclose(listed["oddness"], expected["oddness"])


def test_of_large_files_a_sample_is_learned_from_and_all_rows_are_judged(path, tmp_path):
    options = FindOptions(most_learned=150)
    summary = find_file(path, str(tmp_path / "f.csv"), detector=KERNEL, options=options, output=FindOutput(top=5))
    assert summary.rows == 400
    assert sum(summary.detector.encoder_.schema_.fields[0].counts) <= 150
    assert len(set(pd.read_csv(tmp_path / "f.csv")["row"] - 1) & set(ODD)) >= 4


def test_a_search_that_was_killed_goes_on_where_it_was(table, tmp_path):
    """In the second round, say; trainings that were done are not repeated, and the rows found are the same."""
    path = str(tmp_path / "rows.csv")
    table[:60].to_csv(path, index=False)
    network = MLPReconstructor(8, 2, training=Training(Steps(4), look_every=2))
    detector = TableDetector(network, progress=False)

    def search(name, *, resume=False, callback=None):
        stores = Checkpoints(str(tmp_path / name), resume=resume, seconds=0)
        out = str(tmp_path / f"{name}.csv")
        find_file(path, out, detector=detector, checkpoints=stores, callback=callback, output=FindOutput(top=20))
        return stores

    def killed(progress):
        if progress.stage.startswith("round 2") and "part 3" in progress.stage:
            raise KeyboardInterrupt

    search("whole")
    with pytest.raises(KeyboardInterrupt):
        search("killed", callback=killed)
    left = [file.name for file in Checkpoints(str(tmp_path / "killed")).files]
    assert left[:2] == ["killed.1-1", "killed.1-2"]
    stores = search("killed", resume=True)
    assert [one.resumed_at for one in stores.made[:6]] == [4] * 6
    assert (tmp_path / "killed.csv").read_text() == (tmp_path / "whole.csv").read_text()
    assert not stores.files
