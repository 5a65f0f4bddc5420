"""Real files through the real command: whatever the format, the rows come back untouched with the same verdicts."""

from __future__ import annotations

import gzip
import io
import json
import sqlite3
from contextlib import closing
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import maskdiff

from .conftest import connections
from .running import call, run, same_model

VERDICT = ["anomaly_score", "p_value", "is_anomaly"]
READERS = {
    "csv": lambda path: pd.read_csv(path, dtype={"port": str}),
    "parquet": pd.read_parquet,
    "jsonl": lambda path: pd.DataFrame(map(json.loads, path.read_text().splitlines())),
    "arrow": pd.read_feather,
}


@pytest.mark.parametrize("kind", READERS)
def test_rows_come_back_untouched_in_the_format_they_came_in(kind, home, model, tmp_path):
    said = call("score", model, home / f"new.{kind}", "-o", tmp_path / f"scored.{kind}")
    assert said.status == 0, said.err
    before, after = READERS[kind](home / f"new.{kind}"), READERS[kind](tmp_path / f"scored.{kind}")
    assert after.columns.tolist() == [*before.columns, *VERDICT]
    pd.testing.assert_frame_equal(after[before.columns], before)
    assert after["is_anomaly"].to_numpy().nonzero()[0].tolist() == [57, 58, 59]


def test_cells_of_csv_come_back_letter_by_letter(home, model):
    said = run("score", model, "-", stdin=(home / "new.csv").read_bytes())
    assert said.status == 0
    before = (home / "new.csv").read_text().splitlines()
    assert [line.rsplit(",", 3)[0] for line in said.out.splitlines()] == before
    assert said.err.startswith("60 rows, 3 anomalies (5%)")


def test_the_same_rows_get_the_same_scores_through_python_and_every_format(home, model, tmp_path):
    detector = maskdiff.load(model)
    expected = detector.anomaly_score(pd.read_csv(home / "new.csv", dtype={"port": str}))
    for kind, read in READERS.items():
        said = call("score", model, home / f"new.{kind}", "-o", tmp_path / f"scored.{kind}")
        assert said.status == 0, said.err
        np.testing.assert_allclose(read(tmp_path / f"scored.{kind}")["anomaly_score"], expected, rtol=1e-12)


def test_one_format_becomes_another(home, model, tmp_path):
    files = ["new.csv", "a.parquet", "b.jsonl.gz", "c.arrow", "d.tsv", "e.csv.gz"]
    (tmp_path / files[0]).write_bytes((home / files[0]).read_bytes())
    for number, (before, after) in enumerate(pairwise(files)):
        said = call("score", model, tmp_path / before, "-o", tmp_path / after, "--prefix", f"{number}_")
        assert said.status == 0, said.err
    last = pd.read_csv(tmp_path / files[-1], dtype=str, keep_default_na=False)
    first = pd.read_csv(tmp_path / files[0], dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(last[first.columns], first)
    scores = last[[f"{number}_anomaly_score" for number in range(5)]].astype(float)
    assert (scores.nunique(axis=1) == 1).all()


def test_a_model_is_the_same_learned_from_csv_from_parquet_or_in_python(home, tmp_path):
    table = pd.read_csv(home / "normal.csv").drop(columns="day")  # dates: pandas leaves them texts
    table.to_csv(tmp_path / "normal.csv", index=False)
    table.to_parquet(tmp_path / "normal.parquet")
    for kind in ("csv", "parquet"):
        call("fit", tmp_path / f"normal.{kind}", "-o", tmp_path / f"{kind}.maskdiff", "--reconstructor", "kernel")
    python = maskdiff.TableDetector("kernel", progress=False).fit(table.drop(columns="id"))
    maskdiff.save(python, tmp_path / "python.maskdiff")
    models = [maskdiff.load(tmp_path / f"{name}.maskdiff") for name in ("csv", "parquet", "python")]
    states = [model.encoder_.to_state()["columns"] for model in models]
    assert states[0] == states[1] == states[2]
    assert len({tuple(model.calibration_.scores) for model in models}) == 1


def test_a_pipe_may_carry_any_format_in_and_out(home, model):
    said = call("score", model, "-", "--format", "jsonl", stdin=(home / "new.jsonl").read_bytes())
    assert pd.read_csv(io.StringIO(said.out))["is_anomaly"].sum() == 3
    packed = gzip.compress((home / "new.csv").read_bytes())
    said = call("score", model, "-", "--out-format", "jsonl", stdin=packed)
    assert pd.read_json(io.StringIO(said.out), lines=True)["is_anomaly"].sum() == 3


def test_a_model_can_be_learned_from_a_pipe(home, model, tmp_path):
    options = ("--reconstructor", "kernel", "--categorical", "port")
    said = call("fit", "-", "-o", tmp_path / "piped.maskdiff", *options, stdin=(home / "normal.csv").read_bytes())
    assert said.status == 0, said.err
    assert same_model(tmp_path / "piped.maskdiff", model)


WINDOWS = {"line ends": lambda text: text.replace("\n", "\r\n"), "byte-order mark": lambda text: "\ufeff" + text}


@pytest.mark.parametrize("change", WINDOWS.values(), ids=WINDOWS)
def test_files_from_windows_get_the_same_scores(change, home, model, tmp_path):
    text = (home / "new.csv").read_text()
    (tmp_path / "windows.csv").write_bytes(change(text).encode())
    scores = [call("score", model, path).out for path in (tmp_path / "windows.csv", home / "new.csv")]
    assert scores[0] == scores[1]


def test_semicolons_go_out_as_they_came_in(home, model, tmp_path):
    pd.read_csv(home / "new.csv", dtype=str).to_csv(tmp_path / "new.csv", index=False, sep=";")
    said = call("score", model, tmp_path / "new.csv")
    assert said.out.splitlines()[0].endswith(";anomaly_score;p_value;is_anomaly")


def test_another_encoding_is_assumed_with_the_way_to_overrule_it(tmp_path):
    (tmp_path / "rows.csv").write_bytes(("where,what\n" + "café,thé\nbar,bière\n" * 30).encode("cp1252"))
    said = call("fit", tmp_path / "rows.csv", "-o", tmp_path / "m", "--reconstructor", "kernel")
    assert "cp1252 is assumed, which reads 'café' in line 2." in said.err
    assert "(On the command line: --encoding NAME.)" in said.err
    assert call("score", tmp_path / "m", tmp_path / "rows.csv").out.splitlines()[1].startswith("café,thé,")
    other = call("score", tmp_path / "m", tmp_path / "rows.csv", "--encoding", "mac_roman")
    assert other.out.splitlines()[1].startswith("cafÈ,thÈ,")


def test_a_repeated_name_is_refused_only_where_it_is_needed(home, model, tmp_path):
    lines = (home / "new.csv").read_text().splitlines()
    (tmp_path / "extra.csv").write_text("\n".join([f"x,{lines[0]},x", *(f"1,{line},2" for line in lines[1:])]))
    said = call("score", model, tmp_path / "extra.csv")
    assert said.status == 0
    assert said.out.splitlines()[1].startswith(f"1,{lines[1]},2,")
    assert "note: columns ignored, because the model has never seen them: x" in said.err
    (tmp_path / "twice.csv").write_text("\n".join(f"{line},{line.split(',')[1]}" for line in lines))
    refused = call("score", model, tmp_path / "twice.csv")
    assert refused.is_refusal
    assert "columns 2 and 10 are both named 'protocol'" in refused.err


def test_bad_lines_are_refused_by_number_or_skipped_and_counted(home, model, tmp_path):
    lines = (home / "new.csv").read_text().splitlines()
    (tmp_path / "bad.csv").write_text("\n".join([*lines[:5], "1,2", *lines[5:]]))
    refused = call("score", model, tmp_path / "bad.csv", "-o", tmp_path / "out.csv")
    assert refused.is_refusal
    assert "bad.csv, line 6: 2 cells, where the header has 9" in refused.err
    assert not (tmp_path / "out.csv").exists()
    said = call("score", model, tmp_path / "bad.csv", "-o", tmp_path / "out.csv", "--on-bad-lines", "skip", "--json")
    assert '"skipped_lines": 1' in said.out
    assert "note: 1 line could not be read" in said.err
    assert len(pd.read_csv(tmp_path / "out.csv")) == 60


@pytest.mark.parametrize(("command", "out"), [("find", "found.csv"), ("fit", "model")])
def test_a_first_line_that_does_not_fit_is_refused_with_a_way_out_that_works(command, out, home, tmp_path):
    lines = (home / "new.csv").read_text().splitlines()
    (tmp_path / "rows.csv").write_text("\n".join(["60,9,normal,odd", *lines[1:]]))
    refused = call(command, tmp_path / "rows.csv", "-o", tmp_path / out, "--reconstructor", "kernel")
    assert refused.is_refusal
    assert "line 1 has 4 cells, the next lines have 9 each. Remove it, or replace it" in refused.err
    assert "--on-bad-lines" not in refused.err
    (tmp_path / "rows.csv").write_text("\n".join(lines[1:]))
    said = call(command, tmp_path / "rows.csv", "-o", tmp_path / out, "--reconstructor", "kernel")
    assert said.status == 0, said.err


def test_a_thousand_columns_are_no_trouble(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 3, (20, 1000)), columns=[f"c{at}" for at in range(1000)])
    table.assign(c999="").to_csv(tmp_path / "wide.csv", index=False)
    said = call("fit", tmp_path / "wide.csv", "-o", tmp_path / "m", "--reconstructor", "kernel")
    assert said.status == 0
    listed = said.out[: said.out.index(f"; all of them: maskdiff inspect {tmp_path}/m")].splitlines()
    assert [line.split()[0] for line in (listed[1], listed[60], listed[61])] == ["c0", "c59", "c999"]
    assert listed[62:] == ["and 939 more columns"]
    table.head(3).to_csv(tmp_path / "new.csv", index=False)
    said = call("score", tmp_path / "m", tmp_path / "new.csv", "--explain", "1")
    assert said.status == 0
    assert len(said.out.splitlines()[0].split(",")) == 1000 + 4 + 8


def test_a_hundred_thousand_categories_are_no_trouble(tmp_path):
    words = np.array([f"word{number}" for number in range(100_000)])
    rows = pd.DataFrame({"word": np.concatenate([words, words[:20_000]]), "kind": np.tile(["a", "b"], 60_000)})
    rows.to_csv(tmp_path / "words.csv", index=False)
    options = ("--reconstructor", "kernel", "--categorical", "word")
    assert call("fit", tmp_path / "words.csv", "-o", tmp_path / "m", *options).status == 0
    rows.iloc[[7, 8]].assign(word=["word7", "never seen"]).to_csv(tmp_path / "new.csv", index=False)
    scored = pd.read_csv(io.StringIO(call("score", tmp_path / "m", tmp_path / "new.csv").out))
    assert scored["anomaly_score"][1] > scored["anomaly_score"][0]


def test_a_file_without_rows_is_scored_to_a_file_without_rows(home, model, tmp_path):
    (tmp_path / "none.csv").write_text((home / "new.csv").read_text().splitlines()[0])
    said = call("score", model, tmp_path / "none.csv", "--explain", "1")
    assert said.status == 0
    assert len(said.out.splitlines()) == 1


def test_columns_made_of_other_rows_in_another_order_are_found_by_name(home, model, tmp_path):
    new = connections(20, seed=5)
    new.to_csv(tmp_path / "a.csv", index=False)
    new[new.columns[::-1]].to_csv(tmp_path / "b.csv", index=False)
    a, b = (pd.read_csv(io.StringIO(call("score", model, tmp_path / name).out)) for name in ("a.csv", "b.csv"))
    assert a["anomaly_score"].tolist() == b["anomaly_score"].tolist()


def test_lines_and_rows_are_reconciled_in_words_and_in_json(home, model, tmp_path):
    lines = (home / "new.csv").read_text().splitlines()
    (tmp_path / "new.csv").write_text("\n".join(["# from the system", *lines[:3], "", *lines[3:]]))
    said = call("score", model, tmp_path / "new.csv", "-o", tmp_path / "out.csv", "--json")
    assert "note: 63 lines gave 60 rows; beside the header: 1 without a value" in said.err
    assert "comment lines above the header left out: 1" in said.err
    found = json.loads(said.out)
    assert (found["lines"]["total"], found["lines"]["rows"], found["lines"]["comments"]) == (63, 60, 1)
    assert any("comment lines" in note for note in found["notes"])


def test_a_stray_quote_costs_no_row(tmp_path):
    lines = ["label\ttext", *["ham\tsee you"] * 90, 'ham\t"So', "spam\tWin", 'ham\tok"', *["ham\tbye"] * 90]
    (tmp_path / "sms.tsv").write_text("\n".join(lines))
    said = call("fit", tmp_path / "sms.tsv", "-o", tmp_path / "m", "--reconstructor", "kernel", "--json")
    assert json.loads(said.out)["rows"] == len(lines) - 1
    assert "do not pair" in said.err
    assert "--quote" in said.err


def test_a_workbook_a_database_a_folder_and_a_pipe_get_the_same_scores(home, model, tmp_path):
    typed = pd.read_csv(home / "new.csv", dtype={"port": str})
    typed.to_excel(tmp_path / "new.xlsx", index=False)
    with closing(sqlite3.connect(tmp_path / "new.db")) as database:
        typed.to_sql("claims", database, index=False)
    (tmp_path / "in").mkdir()
    typed[:30].to_csv(tmp_path / "in" / "1.csv", index=False)
    typed[30:].to_csv(tmp_path / "in" / "2.csv", index=False)
    typed.to_json(tmp_path / "new.json", orient="records")
    query = ("--query", "select * from claims")
    address = f"sqlite:///{tmp_path}/new.db"
    inputs = [(tmp_path / "new.xlsx",), (address, *query), (tmp_path / "in",), (tmp_path / "new.json",), ("-",)]
    expected = pd.read_csv(io.StringIO(call("score", model, home / "new.csv").out))["anomaly_score"]
    for rows, *options in inputs:
        out = tmp_path / "scored.csv"
        said = call("score", model, rows, "-o", out, *options, stdin=(home / "new.parquet").read_bytes())
        assert said.status == 0, said.err
        np.testing.assert_allclose(pd.read_csv(out)["anomaly_score"], expected, err_msg=str(rows))


def test_an_output_among_the_files_of_a_pattern_or_a_database_is_refused(home, model, tmp_path):
    (tmp_path / "1.csv").write_bytes((home / "new.csv").read_bytes())
    for rows, out in ((f"{tmp_path}/*.csv", "1.csv"), (f"sqlite:///{tmp_path}/1.csv", "1.csv"), (tmp_path, "1.csv")):
        refused = call("score", model, rows, "-o", tmp_path / out)
        assert refused.is_refusal
        assert "is read and cannot be written" in refused.err


def test_fit_shows_how_numbers_are_written_and_takes_what_is_missing_and_the_decimal_sign(tmp_path):
    rows = [f'"{n % 37},{n % 7}25","${n},000.50",{"?" if n % 9 == 0 else n % 50 + 0.5}' for n in range(1, 200)]
    (tmp_path / "rows.csv").write_text("weight,price,age\n" + "\n".join(rows) + "\n")
    fit = ("fit", tmp_path / "rows.csv", "--reconstructor", "kernel", "-o", tmp_path / "m")
    said = call(*fit)
    assert "$1,000.50 -> 1000.50" in said.out
    assert "values of their own: ?" in said.out
    assert call(*fit, "--missing", "?,-", "--decimal", ",").status == 0
    weight, _, age = maskdiff.load(tmp_path / "m").encoder_.schema_
    assert (weight.type, weight.labels[0]) == ("number", "0.125")
    assert (age.labels[-1], age.n_marks) == ("missing", 0)
