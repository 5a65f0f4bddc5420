"""`maskdiff dismiss`: a rule in the model, listed, applied and undone; nothing but a model is written."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from .running import call


@pytest.fixture
def scored(home, model, tmp_path):
    """The alarms among new.csv as `score` writes them, and a model of one's own."""
    mine = tmp_path / "mine.maskdiff"
    mine.write_bytes(model.read_bytes())
    said = call("score", mine, home / "new.csv", "-o", tmp_path / "alarms.csv", "--only-anomalies", "--explain", "1")
    assert said.status == 0, said.err
    return mine, tmp_path / "alarms.csv"


def alarms(model, home, tmp_path, *more):
    said = call("score", model, home / "new.csv", "-o", tmp_path / "again.csv", *more)
    assert said.status == 0, said.err
    return pd.read_csv(tmp_path / "again.csv"), said


def test_an_alarm_is_dismissed_listed_and_brought_back(home, scored, tmp_path):
    mine, path = scored
    before = pd.read_csv(path)
    said = call("dismiss", mine, path, "--row", "1")
    assert said.status == 0, said.err
    assert said.out.startswith("row 1 is dismissed by rule 1, same cells: ")
    assert f"wrote {mine}" in said.out
    found, score = alarms(mine, home, tmp_path)
    assert found["is_anomaly"].sum() == len(before) - 1
    assert found["dismissed_by"].sum() == 1
    assert found.loc[found["dismissed_by"] == 1, "id"].tolist() == [before["id"][0]]
    assert f"note: 1 of {len(before)} alarms are dismissed" in score.err
    assert "dismisses alarms with" in call("inspect", mine).out
    facts = json.loads(call("inspect", mine, "--json").out)
    assert [rule["number"] for rule in facts["dismissals"]] == [1]
    undone = call("dismiss", mine, "--undo", "1")
    assert "rule 1 is taken back" in undone.out
    again, _ = alarms(mine, home, tmp_path)
    assert "dismissed_by" not in again
    assert again["is_anomaly"].sum() == len(before)


def test_rules_hold_for_selected_alarms_reports_explanations_and_evaluations(home, scored, tmp_path):
    mine, path = scored
    facts = json.loads(call("dismiss", mine, path, "--row", "1", "--row", "2", "--like", "--json").out)
    assert [one["rule"]["scope"] for one in facts["dismissed"]] == ["same pattern"] * 2
    found, _ = alarms(mine, home, tmp_path, "--false-discovery-rate", "0.5", "--explain", "2")
    assert (found["dismissed_by"].notna() & found["is_anomaly"]).sum() == 0
    assert found["dismissed_by"].notna().sum() >= 2
    number = int(pd.read_csv(path)["id"][0])
    assert "dismissed by rule" in call("explain", mine, home / "new.csv", "--where", f"id={number}").out
    report = json.loads(call("report", mine, home / "new.csv", "-o", tmp_path / "r.html", "--json").out)
    assert "dismissed_alarms" in [check["name"] for check in report["checks"]]
    fewer = json.loads(call("evaluate", mine, home / "labelled.csv", "--label", "y", "--normal", "False", "--json").out)
    undone = [
        call("dismiss", mine, "--undo", str(k)).status for k in {one["rule"]["number"] for one in facts["dismissed"]}
    ]
    assert not any(undone)
    more = json.loads(call("evaluate", mine, home / "labelled.csv", "--label", "y", "--normal", "False", "--json").out)
    assert fewer["alarms"] < more["alarms"]
    assert fewer["roc_auc"] == more["roc_auc"]


def test_the_model_goes_where_it_is_wanted_and_nothing_else_is_written_over(scored, tmp_path):
    mine, path = scored
    before, rows = mine.read_bytes(), path.read_bytes()
    assert call("dismiss", mine, path, "--row", "1", "-o", tmp_path / "two.maskdiff").status == 0
    assert mine.read_bytes() == before
    assert call("dismiss", mine, path, "--row", "1", "-o", path).status == 2
    (tmp_path / "notes").write_text("mine")
    assert "is not a model" in call("dismiss", mine, path, "--row", "1", "-o", tmp_path / "notes").err
    assert path.read_bytes() == rows
    assert (tmp_path / "notes").read_text() == "mine"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ((), "name the rows to dismiss"),
        (("--undo", "7"), "there is no rule 7 to undo"),
        (("ALARMS",), "say which row"),
        (("ALARMS", "--row", "999"), "has no row 999"),
        (("ALARMS", "--undo", "1"), "name the rows to dismiss"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(scored, more, said):
    mine, path = scored
    before = mine.read_bytes()
    found = call("dismiss", mine, *(path if one == "ALARMS" else one for one in more))
    assert found.status == 2
    assert said in found.err
    assert mine.read_bytes() == before


def test_a_text_is_dismissed(inbox, tmp_path):
    out = tmp_path / "text.maskdiff"
    said = call("dismiss", inbox / "text.maskdiff", inbox / "new.csv", "--where", "id=m21", "-o", out)
    assert said.status == 0, said.err
    assert "row 22 is dismissed by rule 1, same cells: message = " in said.out
