"""Promises of `maskdiff find`: the odd rows of a file, said in a few lines and written with reasons."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from maskdiff.io import open_rows

from .conftest import connections
from .running import Said, call

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
    assert {int(line.split()[1]) for line in others[:4:2]} == {11, 21}
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


def made(folder: Path, n: int = 40, **columns: object) -> Path:
    """A small file, its columns `letter`, `twice` and `number`, and those given."""
    path, rng = folder / "rows.csv", np.random.default_rng(0)
    table = pd.DataFrame({"letter": rng.choice(["a", "b", "c"], n), "number": rng.integers(1, 9, n)})
    table.assign(twice=table["letter"] * 2, **columns).to_csv(path, index=False)
    return path


def found(path: Path, *more: object) -> Said:
    return call("find", path, "-o", path.parent / "found.csv", *KERNEL, *more)


def test_twenty_rows_are_searched_and_nineteen_refused(tmp_path):
    said = found(made(tmp_path, 20))
    assert said.status == 0
    assert said.out.startswith("20 rows, ")
    said = found(made(tmp_path, 19))
    assert said.is_refusal
    assert "at least 20 rows are needed to say which of them are odd; there are 19" in said.err


def test_of_equal_rows_none_is_odder_than_another(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "x,1\n" * 50)
    said = found(tmp_path / "rows.csv", "--report", tmp_path / "page.html")
    assert said.status == 0
    assert said.out.splitlines()[0] == "50 rows; all have the same score, so none is odder than another"
    assert len(said.out.splitlines()) == 2


def test_one_column_is_searched_for_its_rare_values(tmp_path):
    (tmp_path / "rows.csv").write_text("a\n" + "x\ny\n" * 50 + "z\n")
    said = found(tmp_path / "rows.csv")
    assert said.status == 0
    assert "  row    101  score " in said.out.splitlines()[2]


def test_where_every_value_is_different_nothing_is_left_to_learn_from(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n" + "".join(f"x{k},{7 * k}\n" for k in range(60)))
    said = found(tmp_path / "rows.csv")
    assert said.is_refusal
    assert "rows.csv: no column is left to learn from. Left out: 'a' (a row id" in said.err
    assert "--categorical NAME" in said.err


def test_a_file_without_rows_is_named(tmp_path):
    for content, message in (("", "is empty"), ("a,b\n", "there are no rows to learn from")):
        (tmp_path / "rows.csv").write_text(content)
        said = found(tmp_path / "rows.csv")
        assert said.is_refusal
        assert "rows.csv" in said.err
        assert message in said.err


def test_groups_are_needed_in_the_plural_and_rows_without_one_stand_alone(tmp_path):
    said = found(made(tmp_path, customer="K1"), "--group", "customer")
    assert said.is_refusal
    assert "all rows are of one group" in said.err
    assert found(made(tmp_path, customer=[None, *["K1", "K2", "K3"] * 13]), "--group", "customer").status == 0
    said = found(made(tmp_path), "--group", "customer")
    assert said.is_refusal
    assert "has no column 'customer'; it has 'letter', 'number', 'twice'" in said.err


def test_rows_without_a_date_come_last_and_texts_have_no_order(tmp_path):
    days = [f"{1 + k % 28:02d}.05.2024" for k in range(38)]
    said = found(made(tmp_path, day=[*days, "", "31.02.2024"]), "--order", "day")
    assert said.status == 0
    assert "note: 2 rows have no date or number to be ordered by (1 of them a text such as '31.02.2024')" in said.err
    said = found(made(tmp_path), "--order", "letter")
    assert said.is_refusal
    assert "cannot be ordered by a column that holds texts such as '" in said.err
    assert "no column 'day'" in found(made(tmp_path), "--order", "day").err


def test_a_label_left_in_the_file_is_named_with_the_way_out(tmp_path):
    odd = [k % 20 == 0 for k in range(300)]
    said = found(made(tmp_path, 300, is_fraud=["yes" if one else "no" for one in odd]), "--report", tmp_path / "p.html")
    assert said.status == 0
    assert re.search(r"note: 15 of the 1[56] rows found are mostly due to the column 'is_fraud'. If that is", said.err)
    assert "(On the command line: --drop is_fraud.)" in said.err
    page = " ".join((tmp_path / "p.html").read_text().split())
    assert re.search("<strong>1[56] of 300 rows</strong> are odd", page)
    assert re.search("15 of the 1[56] rows found are mostly due to", page)
    assert 'id="drift"' not in page


def test_columns_that_were_left_out_are_named(tmp_path):
    said = found(made(tmp_path, claim=range(40)))
    assert "note: left out: 'claim' (a row id" in said.err


def test_the_page_says_when_no_row_was_found(tmp_path):
    said = found(made(tmp_path, 60), "--report", tmp_path / "p.html")
    assert "none is so odd that at most 10%" in said.out
    page = " ".join((tmp_path / "p.html").read_text().split())
    assert "<strong>No row of 60</strong> is so odd that at most 10% of those reported would be normal." in page


PETS = "pet,says\n" + "cat,meow\ndog,woof\n" * 200 + "cat,meo w\n"


def test_odd_cells_are_listed_with_what_was_expected(tmp_path):
    rows, cells = tmp_path / "rows.csv", tmp_path / "cells.csv"
    rows.write_text(PETS)
    said = found(rows, "--cells", cells)
    assert said.status == 0, said.err
    assert "1 cell in 1 row looks wrong (by estimate 10% of them are fine)" in said.out
    assert f"found.csv, {cells} in" in said.out
    (cell,) = pd.read_csv(cells).to_dict("records")
    assert (cell["row"], cell["column"], cell["value"], cell["expected"]) == (401, "says", "meo w", "meow")
    facts = json.loads(found(rows, "--cells", tmp_path / "cells.jsonl", "--json").out)
    assert (facts["odd_cells"], facts["rows_with_odd_cells"]) == (1, 1)
    assert json.loads((tmp_path / "cells.jsonl").read_text())["p_value"] == cell["p_value"]


def test_cells_are_those_of_tables_and_go_to_a_file_of_their_own(tmp_path):
    rows = made(tmp_path)
    before = rows.read_bytes()
    for wrong in (("--cells", rows), ("--cells", tmp_path / "found.csv"), ("--cells", tmp_path / "c.xls")):
        assert found(rows, *wrong).is_refusal
    said = call("find", rows, "-o", tmp_path / "x.csv", "--text", "letter", "--cells", tmp_path / "c.csv")
    assert said.is_refusal
    assert "only tables have cells" in said.err
    assert rows.read_bytes() == before


@pytest.mark.parametrize(("ending", "out"), [("parquet", "jsonl"), ("xlsx", "parquet"), ("jsonl", "arrow")])
def test_every_kind_of_file_is_searched_and_written(tmp_path, ending, out):
    table, rows = pd.read_csv(made(tmp_path)), tmp_path / f"rows.{ending}"
    {
        "parquet": lambda: table.to_parquet(rows, index=False),
        "xlsx": lambda: table.to_excel(rows, index=False),
        "jsonl": lambda: table.to_json(rows, orient="records", lines=True),
    }[ending]()
    path = tmp_path / f"found.{out}"
    said = call("find", rows, "-o", path, *KERNEL, "--top", 5, "--explain", 1)
    assert said.status == 0, said.err
    with open_rows(str(path)) as file:
        found = pa.Table.from_batches(file.batches())
    assert found.column_names[:6] == ["letter", "number", "twice", "row", "anomaly_score", "p_value"]
    assert found.num_rows == 5
    assert table["letter"][found["row"][0].as_py() - 1] == found["letter"][0].as_py()


def test_what_is_missing_and_how_numbers_are_written_can_be_said_as_to_fit(tmp_path):
    ages = [text for number in range(40) for text in (f"{number},5", "?" if number % 2 else "-")]
    table = pd.DataFrame({"age": ages, "kind": ["a", "b"] * 40})
    table.to_csv(tmp_path / "rows.csv", index=False, sep=";")
    options = ("--missing", "?,-", "--decimal", ",", "--model", tmp_path / "m", "-o", tmp_path / "f.csv")
    assert call("find", tmp_path / "rows.csv", *options, *KERNEL).status == 0
    age = json.loads(call("inspect", tmp_path / "m", "--json").out)["columns"][0]
    assert (age["name"], age["type"]) == ("age", "number")
    assert 0.4 < age["missing"] < 0.6  # of the rows learned from
