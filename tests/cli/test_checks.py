"""What to know before the alarms are believed is a note on the terminal, a list in --json, and on the page."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from .conftest import connections
from .running import call


@pytest.fixture(scope="module")
def other_ports(tmp_path_factory):
    """Rows of which a third have a port that the model never saw, and one more column."""
    rows = connections(120, seed=5).drop(columns="id")
    rows.loc[:39, "port"] = "999"
    path = tmp_path_factory.mktemp("rows") / "other.csv"
    rows.assign(seen=1, y=0).to_csv(path, index=False)
    extra = pd.read_csv(path, dtype=str)
    extra.loc[119, "y"] = "1"
    extra.to_csv(path.with_name("labelled.csv"), index=False)
    return path


def test_score_notes_what_it_found_with_the_flag_that_is_the_way_out(model, other_ports, tmp_path):
    said = call("score", model, other_ports, "-o", tmp_path / "s.csv")
    assert said.status == 0
    assert "note: columns ignored, because the model has never seen them: seen, y." in said.err
    assert "mostly due to the column 'port'" in said.err
    assert "(On the command line: fit with --drop port.)" in said.err


def test_score_says_how_many_anomalies_would_come_from_normal_rows_alone(model, other_ports, tmp_path):
    out = ("-o", tmp_path / "s.csv")
    assert "; about 1 would come from normal rows alone\n" in call("score", model, other_ports, *out).out
    more = ("--false-alarm-rate", "0.1")
    assert "; about 12 would come from normal rows alone\n" in call("score", model, other_ports, *out, *more).out
    facts = json.loads(call("score", model, other_ports, *out, *more, "--json").out)
    assert facts["expected_false_alarms"] == pytest.approx(12)
    discoveries = call("score", model, other_ports, *out, "--false-discovery-rate", "0.5")
    assert "normal rows alone" not in discoveries.out


def test_json_lists_what_was_found(model, other_ports, tmp_path):
    facts = json.loads(call("score", model, other_ports, "-o", tmp_path / "s.csv", "--json").out)
    found = {check["name"]: check for check in facts["checks"]}
    assert {"unknown_columns", "one_column"} <= set(found)
    assert found["one_column"]["details"]["column"] == "port"
    assert found["one_column"]["message"].startswith(f"{found['one_column']['details']['alarms']} of ")


def test_the_report_says_it_before_anything_else(model, other_ports, tmp_path):
    facts = json.loads(call("report", model, other_ports, "-o", tmp_path / "r.html", "--json").out)
    assert "one_column" in [check["name"] for check in facts["checks"]]
    page = (tmp_path / "r.html").read_text()
    assert page.index("Before you look") < page.index('id="scores"')
    assert "mostly due to the column &#39;port&#39;" in page


def test_a_page_with_nothing_to_say_has_no_such_section(model, home, tmp_path):
    facts = json.loads(call("report", model, home / "new.csv", "-o", tmp_path / "r.html", "--json").out)
    assert facts["checks"] == []
    assert "Before you look" not in (tmp_path / "r.html").read_text()


def test_evaluate_looks_at_rows_labelled_normal(model, other_ports):
    said = call("evaluate", model, other_ports.with_name("labelled.csv"), "--label", "y")
    assert "mostly due to the column 'port'" in said.err
    assert "rows labelled normal are alarms, far more than the 1 that 1% of normal rows are" in said.err
    assert "never seen them: seen." in said.err


def test_evaluate_prints_figures_of_learned_rows_only_beside_the_sentence_that_says_so(home, model, tmp_path):
    rows = pd.read_csv(home / "normal.csv", dtype=str).assign(y=0)
    rows.loc[:4, ["port", "y"]] = ["999", 1]
    rows.to_csv(tmp_path / "learned.csv", index=False)
    said = call("evaluate", model, tmp_path / "learned.csv", "--label", "y")
    assert said.out.index("395 rows labelled normal equal rows the model learned from") < said.out.index("ROC-AUC")
    facts = json.loads(call("evaluate", model, tmp_path / "learned.csv", "--label", "y", "--json").out)
    assert "rows_learned_from" in [check["name"] for check in facts["checks"]]
    assert (
        "equal rows the model learned from" in call("score", model, home / "normal.csv", "-o", tmp_path / "s.csv").err
    )
