"""What each command promises to the one who runs it."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

import maskdiff

from .running import call, same_model


def scored(*arguments: object) -> pd.DataFrame:
    said = call("score", *arguments)
    assert said.status == 0, said.err
    return pd.read_csv(io.StringIO(said.out))


# fit -----------------------------------------------------------------------------------------------------------------


def test_fit_shows_how_each_column_was_read_and_the_threshold(home, tmp_path):
    said = call("fit", home / "normal.csv", "-o", tmp_path / "m.maskdiff", "--reconstructor", "kernel")
    assert said.status == 0
    cells = [line.split() for line in said.out.splitlines() if line]
    lines = {first: " ".join(rest) for first, *rest in reversed(cells)}  # "day weekday" comes behind "day"
    assert lines["id"] == "left out: a row id: integers that are all different"
    assert lines["protocol"] == "category 3 categories"
    assert lines["bytes"] == "number 18 bins"
    assert lines["retries"].startswith("category 4 categories ")
    assert lines["retries"].endswith("%")
    assert lines["day"] == "date 10 bins"
    threshold = maskdiff.load(tmp_path / "m.maskdiff").threshold()
    assert lines["alarm"].startswith(f"above a score of {threshold:.4g}: at most 1% of normal rows")
    assert "\x1b" not in said.out + said.err
    assert said.err == ""


def test_fit_says_the_same_to_machines(home, tmp_path):
    said = call("fit", home / "normal.csv", "-o", tmp_path / "m", "--reconstructor", "kernel", "--json")
    facts = json.loads(said.out)
    detector = maskdiff.load(tmp_path / "m")
    assert facts["rows"] == 400
    assert facts["threshold"] == detector.threshold()
    assert facts["calibration_rows"] == len(detector.calibration_)
    assert facts["columns"] == detector.encoder_.summary()


def test_fit_says_how_many_odd_rows_it_left_out(home, tmp_path):
    options = ("-o", tmp_path / "m", "--reconstructor", "kernel", "--contamination", "0.1")
    facts = json.loads(call("fit", home / "normal.csv", *options, "--json").out)
    assert 0 < facts["odd_rows_left_out"] <= 40
    assert facts["rows"] + facts["odd_rows_left_out"] == 400
    said = call("fit", home / "normal.csv", *options, "--force").out
    assert re.search(rf"learned from {facts['rows']} rows .*; {facts['odd_rows_left_out']} odd rows left out", said)


def test_fit_probes_as_asked_and_else_as_usual(home, tmp_path):
    options = ("--reconstructor", "kernel", "--drop", "id", "--views-per-level")
    assert call("fit", home / "normal.csv", "-o", tmp_path / "m", *options, "3").status == 0
    usual = maskdiff.TableDetector("kernel").probe_grid()
    assert maskdiff.load(tmp_path / "m").probes_ == replace(usual, views_per_level=3)
    assert call("fit", home / "normal.csv", "-o", tmp_path / "m", *options, "2", "--levels", "0.2, 0.7").status == 0
    assert maskdiff.load(tmp_path / "m").probes_ == replace(usual, levels=(0.2, 0.7), views_per_level=2)


def test_fit_learns_only_from_normal_rows_and_never_from_the_label(home, tmp_path):
    labelled = pd.read_csv(home / "labelled.csv", dtype=str).assign(y=lambda rows: rows["y"] == "True")
    labelled[~labelled["y"]].to_csv(tmp_path / "normal.csv", index=False)
    options = ("--reconstructor", "kernel", "--label", "y")
    for source, name in ((home / "labelled.csv", "a"), (tmp_path / "normal.csv", "b")):
        assert call("fit", source, "-o", tmp_path / name, *options).status == 0
    assert same_model(tmp_path / "a", tmp_path / "b")
    detector = maskdiff.load(tmp_path / "a")
    assert "y" not in detector.encoder_.schema_.names
    flipped = labelled.assign(y=~labelled["y"])
    assert detector.anomaly_score(flipped).tolist() == detector.anomaly_score(labelled).tolist()


def test_fit_reads_columns_as_it_is_told(home, tmp_path):
    options = ("--columns", "protocol,service,port", "--columns", "bytes", "--categorical", "port", "--drop", "service")
    assert call("fit", home / "normal.csv", "-o", tmp_path / "m", "--reconstructor", "kernel", *options).status == 0
    schema = maskdiff.load(tmp_path / "m").encoder_.schema_
    assert schema.names == ["protocol", "bytes", "port"]
    assert schema.fields[2].labels == ("003", "004")


def test_fit_passes_its_settings_on(home, tmp_path):
    options = (
        "--preset",
        "paper",
        "--objective",
        "diffusion",
        "--aggregate",
        "max",
        "--seed",
        "7",
        "--false-alarm-rate",
        "0.05",
        "--device",
        "cpu",
    )
    assert call("fit", home / "normal.csv", "-o", tmp_path / "m", "--reconstructor", "kernel", *options).status == 0
    detector = maskdiff.load(tmp_path / "m")
    settings = (detector.preset, detector.objective, detector.aggregate, detector.seed, detector.false_alarm_rate)
    assert settings == ("paper", "diffusion", "max", 7, 0.05)


# score ---------------------------------------------------------------------------------------------------------------


def test_score_adds_what_python_says(home, model):
    table = scored(model, home / "new.csv", "--explain", "2")
    detector, new = maskdiff.load(model), pd.read_csv(home / "new.csv", dtype={"port": str})
    verdicts = detector.judge(new)
    np.testing.assert_allclose(table["anomaly_score"], verdicts.anomaly_score)
    np.testing.assert_allclose(table["p_value"], verdicts.p_value)
    assert table["is_anomaly"].tolist() == verdicts.is_anomaly.tolist()
    assert table["oddity"].fillna("").tolist() == verdicts.oddity.tolist()
    cells = detector.explain(new, 2, verdicts=verdicts)
    for rank in (0, 1):
        own = cells[cells.groupby("row").cumcount() == rank]
        assert table[f"reason_{rank + 1}_column"].tolist() == own["column"].tolist()
        np.testing.assert_allclose(table[f"reason_{rank + 1}_share"], own["share"])
        assert table[f"reason_{rank + 1}_expected"].astype(str).tolist() == own["expected"].tolist()


def test_reasons_quote_the_cell_as_it_stands_in_the_file(home, model):
    row = scored(model, home / "new.csv", "--top", "1", "--explain", "3").iloc[0]
    reasons = {row[f"reason_{rank}_column"]: row[f"reason_{rank}"] for rank in (1, 2, 3)}
    assert reasons["service"].startswith("service = gopher (expected ")
    assert reasons["service"].endswith("%)")


def test_only_anomalies_leaves_the_others_out(home, model):
    table = scored(model, home / "new.csv")
    only, expected = scored(model, home / "new.csv", "--only-anomalies"), table[table["is_anomaly"]]
    pd.testing.assert_frame_equal(only, expected.reset_index(drop=True), check_dtype=False)


def test_top_gives_the_highest_first(home, model):
    table = scored(model, home / "new.csv").sort_values("anomaly_score", ascending=False, kind="stable")
    highest = scored(model, home / "new.csv", "--top", "4")
    pd.testing.assert_frame_equal(highest, table.head(4).reset_index(drop=True), check_dtype=False)


def test_a_false_alarm_rate_moves_the_threshold(home, model):
    detector = maskdiff.load(model)
    table = scored(model, home / "new.csv", "--false-alarm-rate", "0.2")
    assert table["is_anomaly"].tolist() == (table["anomaly_score"] > detector.threshold(0.2)).tolist()
    assert table["is_anomaly"].sum() > 3


def test_a_false_discovery_rate_selects_as_python_does(home, model):
    table = scored(model, home / "new.csv", "--false-discovery-rate", "0.1")
    expected = maskdiff.load(model).select(pd.read_csv(home / "new.csv", dtype={"port": str}), 0.1)
    assert table["is_anomaly"].tolist() == expected.tolist()
    assert 0 < expected.sum() < 60


def test_spreadsheet_formulas_are_defused_when_asked(home, model, tmp_path):
    (tmp_path / "new.csv").write_text((home / "new.csv").read_text().replace("udp,http", "udp,=HYPERLINK()"))
    plain = scored(model, tmp_path / "new.csv", "--explain", "1")
    safe = scored(model, tmp_path / "new.csv", "--explain", "1", "--safe-for-spreadsheets")
    assert plain["service"][57] == "=HYPERLINK()"
    assert safe["service"][57] == "'=HYPERLINK()"
    assert safe["anomaly_score"].tolist() == plain["anomaly_score"].tolist()


def test_score_tells_machines_what_it_did(home, model, tmp_path):
    facts = json.loads(call("score", model, home / "new.csv", "-o", tmp_path / "s.csv", "--top", "2", "--json").out)
    assert (facts["rows"], facts["anomalies"], facts["written"]) == (60, 3, 2)
    assert facts["false_alarm_rate"] == 0.01


def test_quiet_is_quiet(home, model, tmp_path):
    assert call("score", model, home / "new.csv", "-o", tmp_path / "s.csv", "-q").out == ""
    assert call("inspect", model, "--quiet").out == ""
    piped = call("score", model, home / "new.csv", "--quiet")
    assert len(piped.out.splitlines()) == 61
    assert piped.err == ""


# explain, inspect, evaluate, report, demo ----------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["--row 60", "--where id=60", "--where id=60.0", "--where service=gopher"])
def test_explain_draws_the_cells_of_one_row(which, home, model):
    said = call("explain", model, home / "new.csv", *which.split())
    assert said.status == 0, said.err
    lines = said.out.splitlines()
    assert lines[0].startswith(f"row 60 of {home / 'new.csv'}: an anomaly, rare in itself, score ")
    cells = {line.split()[0]: line for line in lines[3:]}
    assert set(cells) == {"protocol", "service", "bytes", "port", "retries", "secure", "day", "note"}
    assert "gopher" in cells["service"]
    bars = {name: line.count("█") for name, line in cells.items()}
    assert bars["service"] == bars["port"] == max(bars.values())


def test_explain_tells_machines_the_same_cells_as_python(home, model):
    facts = json.loads(call("explain", model, home / "new.csv", "--row", "60", "--top", "2", "--json").out)
    new = pd.read_csv(home / "new.csv", dtype={"port": str})
    cells = maskdiff.load(model).explain(new.iloc[[59]], 2)
    assert [cell["column"] for cell in facts["cells"]] == cells["column"].tolist()
    assert [cell["contribution"] for cell in facts["cells"]] == pytest.approx(cells["contribution"].tolist())


def test_a_cell_cannot_command_the_terminal(home, model, tmp_path):
    (tmp_path / "new.csv").write_text((home / "new.csv").read_text().replace("gopher", "\x1b[2J[red]x"))
    said = call("explain", model, tmp_path / "new.csv", "--row", "60")
    assert "\x1b" not in said.out
    assert "\\x1b[2J[red]x" in said.out


def test_inspect_shows_what_the_model_holds(model):
    facts = json.loads(call("inspect", model, "--json", "--labels").out)
    detector = maskdiff.load(model)
    columns = {column["name"]: column for column in facts["columns"]}
    assert columns["id"]["left_out"].startswith("a row id")
    protocol = detector.encoder_.schema_.fields[0]
    assert columns["protocol"]["labels"] == dict(zip(protocol.labels, protocol.counts, strict=True))
    assert facts["calibration"]["thresholds"]["0.01"] == detector.threshold(0.01)
    assert facts["settings"]["reconstructor"] == "KernelReconstructor(bandwidth=1.0)"
    assert facts["settings"]["evidence"] == "a kernel over normal rows: KernelReconstructor(bandwidth=1.0)"
    assert facts["versions"]["maskdiff"] == maskdiff.__version__
    shown = call("inspect", model).out
    assert all(name in shown for name in columns)


def test_evaluate_measures_as_scikit_learn_does(home, model, tmp_path):
    picture = tmp_path / "curves.png"
    said = call("evaluate", model, home / "labelled.csv", "--label", "y", "--plot", picture, "--json")
    facts = json.loads(said.out)
    labelled = pd.read_csv(home / "labelled.csv", dtype={"port": str})
    detector = maskdiff.load(model)
    scores, odd = detector.anomaly_score(labelled.drop(columns="y")), labelled["y"]
    assert facts["roc_auc"] == pytest.approx(roc_auc_score(odd, scores))
    assert facts["average_precision"] == pytest.approx(average_precision_score(odd, scores))
    alarm = scores > detector.threshold()
    assert facts["precision"] == pytest.approx(odd[alarm].mean())
    assert facts["recall"] == pytest.approx(alarm[odd].mean())
    assert facts["false_alarm_rate_seen"] == pytest.approx(alarm[~odd].mean())
    assert facts["false_alarm_rate_promised"] == 0.01
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_evaluate_takes_any_words_as_labels(home, model, tmp_path):
    labelled = pd.read_csv(home / "labelled.csv", dtype={"port": str})
    labelled.assign(y=labelled["y"].map({True: "attack", False: "fine"})).to_csv(tmp_path / "l.csv", index=False)
    named = call("evaluate", model, tmp_path / "l.csv", "--label", "y", "--normal", "fine", "--json")
    zeros = call("evaluate", model, home / "labelled.csv", "--label", "y", "--json")
    assert json.loads(named.out) == json.loads(zeros.out)


def test_report_writes_a_page_about_the_rows(home, model, tmp_path):
    said = call("report", model, home / "new.csv", "-o", tmp_path / "r.html", "--json")
    assert said.status == 0, said.err
    page = (tmp_path / "r.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "gopher" in page


@pytest.mark.usefixtures("hardly_trained")
def test_the_demo_finds_odd_claims_and_leaves_files_that_can_be_used(tmp_path):
    said = call("demo", tmp_path / "demo", "--rows", "1400")
    assert said.status == 0, said.err
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "claims.maskdiff",
        "found.csv",
        "new.csv",
        "normal.csv",
        "report.html",
        "scored.csv",
    ]
    scored_claims = pd.read_csv(tmp_path / "demo" / "scored.csv")
    assert f"{scored_claims['is_anomaly'].sum()} of the new claims are called anomalies" in said.out
    oddest = scored_claims.nlargest(5, "anomaly_score", keep="first")
    rows = [int(line.split()[1]) for line in said.out.replace(",", "").splitlines() if line.startswith("  row ")]
    assert len(rows) == 10  # five found without a normal row known, and five by a model of normal rows
    assert rows[5:] == [row + 1 for row in oddest.index]
    command = f"evaluate {tmp_path}/demo/claims.maskdiff {tmp_path}/demo/new.csv --label is_odd"
    assert f"  maskdiff {command}" in said.out
    assert json.loads(call(*command.split(), "--json").out)["roc_auc"] > 0.8
