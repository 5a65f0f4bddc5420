"""Promises of `maskdiff find`: the odd rows of a file, said in a few lines and written with reasons."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from .conftest import connections
from .running import call

KERNEL = ("--reconstructor", "kernel")


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("find") / "rows.csv"
    table = connections(300, seed=1)
    table.loc[[10, 20], "service"] = ["gopher", "finger"]
    table.loc[[10, 20], "protocol"] = ["sctp", "dccp"]
    table.loc[[10, 20], "port"] = ["998", "999"]
    table.to_csv(path, index=False)
    return path


def test_the_oddest_rows_are_said_with_reasons_and_written(rows, tmp_path):
    out, page, model = tmp_path / "found.csv", tmp_path / "page.html", tmp_path / "m.maskdiff"
    said = call("find", rows, "-o", out, "--report", page, "--model", model, "--top", 7, *KERNEL)
    assert said.status == 0
    first, second, *others = said.out.splitlines()
    assert first.startswith("300 rows, about ")
    assert "at most 10% of" in second
    assert {int(line.split()[1]) for line in others[:2]} == {11, 21}
    assert "gopher" in said.out
    assert others[-1].startswith(f"wrote {out}, {page}, {model} in ")
    assert len(pd.read_csv(out)) == 7
    assert call("score", model, rows, "-o", tmp_path / "scored.csv").status == 0


def test_json_says_it_for_machines_and_rows_may_go_to_a_pipe(rows, tmp_path):
    facts = json.loads(call("find", rows, "-o", tmp_path / "found.csv", "--json", "--top", 3, *KERNEL).out)
    assert facts["rows"] == 300
    assert set(facts["estimated_odd"]) == {"number", "low", "high"}
    assert facts["first"][0]["row"] in (11, 21)
    piped = call("find", rows, "--top", 3, "--explain", 0, *KERNEL)
    assert len(piped.out.splitlines()) == 4
    assert "300 rows" in piped.err


def test_mistakes_are_said_in_one_line(rows, tmp_path):
    for wrong in (("--contamination", "much"), ("--contamination", "0.7"), ("--group", "nobody"), ("-o", rows)):
        assert call("find", rows, "-o", tmp_path / "found.csv", *KERNEL, *wrong).is_refusal
    few = tmp_path / "few.csv"
    connections(15, seed=1).to_csv(few, index=False)
    said = call("find", few, "-o", tmp_path / "found.csv", *KERNEL)
    assert said.is_refusal
    assert "at least 20 rows" in said.err
