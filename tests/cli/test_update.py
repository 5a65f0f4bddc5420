"""`maskdiff update`: more normal rows of a file join a model, and what changed is said."""

from __future__ import annotations

import json

import pandas as pd

from .conftest import connections
from .messages import sessions, write_lines
from .running import call


def test_a_model_learns_on_and_says_what_changed(model, tmp_path):
    more = connections(80, seed=9)
    more.loc[:39, "port"] = "999"
    more.assign(y=(more.index >= 70).astype(int)).to_csv(tmp_path / "more.csv", index=False)
    before = model.read_bytes()
    out = tmp_path / "two.maskdiff"
    said = call("update", model, tmp_path / "more.csv", "-o", out, "--label", "y")
    assert said.status == 0, said.err
    assert said.out.startswith("70 rows learned; ")
    assert "new in port: 999\n" in said.out
    assert f"wrote {out}" in said.out
    assert model.read_bytes() == before
    shown = call("inspect", out).out
    assert "update 1: 70 rows learned; " in shown
    assert "  new in port: 999\n" in shown
    assert json.loads(call("inspect", out, "--json").out)["updates"][0]["new_values"] == {"port": ["999"]}
    more[:20].to_csv(tmp_path / "like.csv", index=False)
    facts = [
        json.loads(call("score", m, tmp_path / "like.csv", "-o", tmp_path / "s.csv", "--json").out)
        for m in (model, out)
    ]
    assert facts[0]["anomalies"] == 20 > 5 > facts[1]["anomalies"]
    connections(80, seed=10).to_csv(tmp_path / "later.csv", index=False)
    assert json.loads(call("update", out, tmp_path / "later.csv", "-o", out, "--json").out)["rows"] == 80
    again = call("update", out, tmp_path / "later.csv", "-o", out).err
    assert "learned from before" in again
    assert "a file without the rows of earlier fits and updates" in again
    assert "judge(" not in again


def test_files_that_cannot_be_used_are_refused(model, tmp_path):
    connections(5, seed=9).head(0).to_csv(tmp_path / "none.csv", index=False)
    assert "no row to learn from" in call("update", model, tmp_path / "none.csv", "-o", tmp_path / "m.maskdiff").err
    pd.DataFrame({"a": [1]}).to_csv(tmp_path / "rows.csv", index=False)
    assert call("update", model, tmp_path / "rows.csv", "-o", tmp_path / "rows.csv").status == 2
    assert not (tmp_path / "m.maskdiff").exists()
    connections(50, seed=9).drop(columns="port").to_csv(tmp_path / "less.csv", index=False)
    assert "port" in call("update", model, tmp_path / "less.csv", "-o", tmp_path / "m.maskdiff").err
    assert not (tmp_path / "m.maskdiff").exists()


def test_a_model_of_sequences_learns_on(inbox, tmp_path):
    more = [{"block": i, "events": [*events, "archived"]} for i, events in enumerate(sessions(30, 7))]
    write_lines(tmp_path / "more.jsonl", more)
    said = call("update", inbox / "logs.maskdiff", tmp_path / "more.jsonl", "-o", tmp_path / "s.maskdiff")
    assert said.status == 0, said.err
    assert "new in events: archived\n" in said.out
