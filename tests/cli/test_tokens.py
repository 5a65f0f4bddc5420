"""Texts and sequences walk through the same commands as tables."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import maskdiff

from ..embedder_folder import save_embedder
from .messages import HASTY, LONG, ODD, messages, sessions, write_csv, write_lines
from .running import Said, call, same_model

PLACES = {"text.maskdiff": ["start", "end"], "logs.maskdiff": ["position"]}


def scored(*arguments: object) -> pd.DataFrame:
    said = call("score", *arguments)
    assert said.status == 0, said.err
    return pd.read_csv(io.StringIO(said.out), keep_default_na=False, na_values=[""])


def fitted(tmp_path: Path, source: Path, *options: object) -> Said:
    return call("fit", source, "-o", tmp_path / "m", *options, *HASTY, "2")


# fit -----------------------------------------------------------------------------------------------------------------


def test_fit_says_how_the_column_was_read(inbox, tmp_path):
    facts = json.loads(fitted(tmp_path, inbox / "normal.csv", "--text", "message", "--json").out)
    detector = maskdiff.load(tmp_path / "m")
    assert isinstance(detector, maskdiff.TextDetector)
    assert facts["columns"] == detector.encoder_.summary()
    assert (facts["rows"], facts["threshold"]) == (300, detector.threshold())
    assert detector.probes_.levels == (0.2, 0.6)
    said = fitted(tmp_path, inbox / "normal.jsonl", "--sequence", "events")
    assert said.out.splitlines()[1].split() == ["events", "sequence", "5", "symbols"]


def test_fit_is_the_same_from_lists_from_json_in_csv_and_from_split_strings(tmp_path):
    rows = [[event.replace(" ", "_") for event in events] for events in sessions(120, 3)]
    write_lines(tmp_path / "lists.jsonl", [{"e": events} for events in rows])
    write_csv(tmp_path / "json.csv", ["e"], [[json.dumps(events)] for events in rows])
    write_csv(tmp_path / "split.csv", ["e"], [[";".join(events)] for events in rows])
    for source, options in (("lists.jsonl", ()), ("json.csv", ()), ("split.csv", ("--separator", ";"))):
        done = call("fit", tmp_path / source, "-o", tmp_path / source[:4], "--sequence", "e", *options, *HASTY, "2")
        assert done.status == 0, done.err
    detectors = [maskdiff.load(tmp_path / name) for name in ("list", "json", "spli")]
    scores = [detector.calibration_.scores.tolist() for detector in detectors]
    assert scores[0] == scores[1] == scores[2]


def test_fit_learns_only_from_texts_that_the_label_calls_normal(inbox, tmp_path):
    lines = [[text, "ham"] for text in messages(120, 4)]
    write_csv(tmp_path / "ham.csv", ["t", "kind"], lines)
    write_csv(tmp_path / "both.csv", ["t", "kind"], [*lines, *([odd, "spam"] for odd in ODD)])
    for name in ("ham", "both"):
        options = ("--text", "t", "--label", "kind", "--normal", "ham", *HASTY, "2")
        assert call("fit", tmp_path / f"{name}.csv", "-o", tmp_path / name, *options).status == 0
    assert same_model(tmp_path / "ham", tmp_path / "both")


def test_an_embedder_counts_beside_the_surprise(inbox, tmp_path):
    pytest.importorskip("transformers")
    (tmp_path / "embedder").mkdir()
    folder = save_embedder(tmp_path / "embedder", [*messages(40, 1), *ODD])
    said = fitted(tmp_path, inbox / "normal.csv", "--text", "message", "--embedder", folder)
    assert said.status == 0, said.err
    table = scored(tmp_path / "m", inbox / "new.csv", "--explain", "1")
    verdicts = maskdiff.load(tmp_path / "m").judge(pd.read_csv(inbox / "new.csv"))
    np.testing.assert_allclose(table["anomaly_score"], verdicts.anomaly_score, rtol=1e-5)
    assert call("report", tmp_path / "m", inbox / "new.csv", "-o", tmp_path / "r.html").status == 0
    page = (tmp_path / "r.html").read_text()
    assert "a pre-trained embedder&#39;s nearest normal texts" in page
    assert "standard deviations" in page


# score, explain, evaluate, inspect -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", PLACES)
def test_score_adds_what_python_says_and_where_odd_tokens_stand(model, inbox):
    detector = maskdiff.load(inbox / model)
    source = inbox / ("new.csv" if model == "text.maskdiff" else "new.jsonl")
    rows = pd.read_csv(source) if model == "text.maskdiff" else pd.read_json(source, lines=True)
    table = scored(inbox / model, source, "--explain", "2", "--out-format", "csv")
    verdicts = detector.judge(rows)
    np.testing.assert_allclose(table["anomaly_score"], verdicts.anomaly_score, rtol=1e-5)
    np.testing.assert_allclose(table["p_value"], verdicts.p_value)
    assert table["is_anomaly"].tolist() == verdicts.is_anomaly.tolist()
    cells = detector.explain(rows, 2, verdicts=verdicts)
    first = cells[cells.groupby("row").cumcount() == 0]
    for part in ("value", "expected", *PLACES[model]):
        shown = table[f"reason_1_{part}"]
        assert (shown.fillna("") if part == "expected" else shown).tolist() == first[part].tolist()
    assert list(table.columns[: len(rows.columns)]) == list(rows.columns)


def test_lists_come_back_as_lists(inbox, tmp_path):
    assert call("score", inbox / "logs.maskdiff", inbox / "new.jsonl", "-o", tmp_path / "s.jsonl").status == 0
    before, after = (
        [json.loads(line)["events"] for line in path.read_text().splitlines()]
        for path in (inbox / "new.jsonl", tmp_path / "s.jsonl")
    )
    assert before == after


def test_texts_score_the_same_from_csv_json_lines_and_parquet(inbox, tmp_path):
    new = pd.read_csv(inbox / "new.csv")
    new.to_json(tmp_path / "new.jsonl", orient="records", lines=True)
    new.to_parquet(tmp_path / "new.parquet", index=False)
    tables = [
        scored(inbox / "text.maskdiff", path, "--out-format", "csv")
        for path in (inbox / "new.csv", tmp_path / "new.jsonl", tmp_path / "new.parquet")
    ]
    assert tables[0]["anomaly_score"].tolist() == tables[1]["anomaly_score"].tolist()
    assert tables[0]["anomaly_score"].tolist() == tables[2]["anomaly_score"].tolist()


def test_explain_marks_odd_tokens_where_there_are_no_colours(inbox):
    said = call("explain", inbox / "text.maskdiff", inbox / "new.csv", "--where", "id=m21")
    lines = said.out.splitlines()
    assert lines[0].startswith(f"row 22 of {inbox / 'new.csv'}: an anomaly, score ")
    assert lines[2] == "ok see you at [[zoo]]"
    assert lines[4].split() == ["start-end", "token", "nats", "surprise", "share", "expected"]
    assert lines[5].split()[:2] == ["14-17", "zoo"]
    session = call("explain", inbox / "logs.maskdiff", inbox / "new.jsonl", "--row", "21").out
    assert "receive [[exception]] stored" in session
    assert "\n2         exception" in session


def test_explain_tells_machines_where_tokens_stand(inbox):
    facts = json.loads(
        call("explain", inbox / "text.maskdiff", inbox / "new.csv", "--row", "22", "--top", "1", "--json").out
    )
    assert [(cell["start"], cell["end"], cell["value"]) for cell in facts["cells"]] == [(14, 17, "zoo")]


def test_a_text_cannot_command_the_terminal(inbox, tmp_path):
    write_csv(tmp_path / "x.csv", ["message"], [["see you \x1b[2J[red]later\u202e"]])
    said = call("explain", inbox / "text.maskdiff", tmp_path / "x.csv", "--row", "1")
    assert said.status == 0
    assert not {"\x1b", "\u202e"} & set(said.out)
    assert "\\x1b" in said.out
    assert "\\u202e" in said.out


def test_inspect_and_evaluate_know_texts(inbox):
    facts = json.loads(call("inspect", inbox / "text.maskdiff", "--json").out)
    assert [(column["name"], column["type"]) for column in facts["columns"]] == [("message", "tokens")]
    measured = json.loads(call("evaluate", inbox / "text.maskdiff", inbox / "new.csv", "--label", "y", "--json").out)
    new = pd.read_csv(inbox / "new.csv")
    scores = maskdiff.load(inbox / "text.maskdiff").anomaly_score(new["message"])
    assert measured["roc_auc"] == pytest.approx(roc_auc_score(new["y"], scores))


# Bad input -----------------------------------------------------------------------------------------------------------


def test_empty_and_missing_texts_are_named_and_have_no_score(inbox, tmp_path):
    texts = ["hey see you later", "", "   ", None, "ok call me tonight"]
    write_lines(tmp_path / "x.jsonl", [{"message": text, "y": 0} for text in texts])
    said = call("score", inbox / "text.maskdiff", tmp_path / "x.jsonl", "-o", tmp_path / "s.csv", "--explain", "1")
    assert said.status == 0
    assert "3 rows without a single token: they have no score" in said.err
    table = pd.read_csv(tmp_path / "s.csv")
    assert table["anomaly_score"].isna().tolist() == [False, True, True, True, False]
    assert table["p_value"][1:4].tolist() == [1, 1, 1]
    assert not table["is_anomaly"][1:4].any()
    assert table["reason_1"].isna().tolist() == [False, True, True, True, False]
    options = ("-o", tmp_path / "s", "--out-format", "csv", "--json")
    facts = json.loads(call("score", inbox / "text.maskdiff", tmp_path / "x.jsonl", *options).out)
    assert facts["empty_rows"] == 3
    shown = call("explain", inbox / "text.maskdiff", tmp_path / "x.jsonl", "--row", "2")
    assert "not a single token, so nothing to judge it by" in shown.out
    top = scored(inbox / "text.maskdiff", tmp_path / "x.jsonl", "--top", "2", "--out-format", "csv")
    assert top["anomaly_score"].notna().all()


def test_fit_leaves_empty_texts_out_and_says_so(tmp_path):
    write_csv(tmp_path / "n.csv", ["i", "t"], [[i, text] for i, text in enumerate([*messages(120, 5), "", "  "])])
    said = fitted(tmp_path, tmp_path / "n.csv", "--text", "t")
    assert said.status == 0
    assert "2 rows without a single token left out; the first is row 121" in said.err


def test_an_empty_text_is_never_an_alarm_and_comes_last_in_an_evaluation(inbox, tmp_path):
    rows = [*((text, 0) for text in messages(30, 6)), *((odd, 1) for odd in ODD), ("", 1)]
    write_csv(tmp_path / "l.csv", ["message", "y"], [list(row) for row in rows])
    facts = json.loads(call("evaluate", inbox / "text.maskdiff", tmp_path / "l.csv", "--label", "y", "--json").out)
    assert (facts["empty_rows"], facts["anomalies"]) == (1, 4)
    assert facts["recall"] <= 0.75
    said = call("evaluate", inbox / "text.maskdiff", tmp_path / "l.csv", "--label", "y")
    assert said.out.splitlines()[-1] == "without a token    1 row: it counts above, as the least odd and never an alarm"


def test_numbers_among_texts_are_read_as_they_are_written(inbox, tmp_path):
    write_lines(tmp_path / "x.jsonl", [{"message": "call me at 7"}, {"message": 7}, {"message": 7.5}])
    write_csv(tmp_path / "x.csv", ["message"], [["call me at 7"], ["7"], ["7.5"]])
    tables = [scored(inbox / "text.maskdiff", tmp_path / name, "--out-format", "csv") for name in ("x.jsonl", "x.csv")]
    assert tables[0]["anomaly_score"].tolist() == tables[1]["anomaly_score"].tolist()


def test_one_megabyte_of_text_is_scored_whole_and_shown_in_parts(inbox, tmp_path):
    text = f"{LONG} " * 5_000 + "zoo " + f"{LONG} " * 9_000
    assert len(text) > 1_000_000
    write_csv(tmp_path / "x.csv", ["message"], [[text], ["hey see you later"]])
    table = scored(inbox / "text.maskdiff", tmp_path / "x.csv", "--explain", "1")
    assert table["anomaly_score"].notna().all()
    assert table["message"][0] == text
    assert table["reason_1_value"][0] == "zoo"
    assert call("report", inbox / "text.maskdiff", tmp_path / "x.csv", "-o", tmp_path / "r.html").status == 0
    assert (tmp_path / "r.html").stat().st_size < 300_000
    said = call("explain", inbox / "text.maskdiff", tmp_path / "x.csv", "--row", "1")
    assert "characters) …" in said.out
    assert len(said.out) < 10_000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("fit {0}/normal.csv -o {1}/m --sequence message", "is a plain string, "),
        ("fit {0}/normal.jsonl -o {1}/m --text events", "is no text but of type list"),
        ("fit {0}/normal.csv -o {1}/m --text messge", "has no column 'messge'; it has 'id', 'message'"),
        ("fit {0}/normal.csv -o {1}/m --text message --sequence message", "not both"),
        ("fit {0}/normal.csv -o {1}/m --text message --drop id", "are for tables"),
        ("fit {0}/normal.csv -o {1}/m --separator ;", "--sequence"),
        ("fit {0}/normal.csv -o {1}/m --tokenizer bpe", "--text"),
        ("fit {0}/normal.csv -o {1}/m --text message --reconstructor kernel", "choose one of transformer"),
        ("fit {0}/normal.csv -o {1}/m --text message --tokenizer nowhere.json", "nowhere.json"),
        ("fit {0}/normal.csv -o {1}/m --text message --embedder {0}/nowhere", "nowhere"),
        ("fit {0}/normal.csv -o {1}/m --text message --contamination 0.1", "is for tables"),
        ("fit {1}/texts.csv -o {1}/m", "Texts alone are for TextDetector. (On the command line: --categorical NAME"),
        ("score {0}/text.maskdiff {0}/new.jsonl", "has no column 'message'"),
        ("score {0}/logs.maskdiff {1}/mixed.jsonl", "row 2 is a plain string, 'allocate receive'"),
    ],
)
def test_mistakes_with_texts_are_named_in_one_line(wrong, message, inbox, tmp_path):
    write_lines(tmp_path / "mixed.jsonl", [{"events": ["allocate"]}, {"events": "allocate receive"}])
    write_csv(tmp_path / "texts.csv", ["t"], [[f"{i} {text}"] for i, text in enumerate(messages(60, 1))])
    said = call(*wrong.format(inbox, tmp_path).split())
    assert said.is_refusal, said
    assert message in said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mixed.jsonl", "texts.csv"]


def test_texts_through_a_pipe(inbox):
    said = call("score", inbox / "text.maskdiff", "-", "--format", "csv", stdin=(inbox / "new.csv").read_bytes())
    assert said.status == 0, said.err
    assert len(said.out.splitlines()) == 24
    assert said.out.splitlines()[0] == "id,message,y,anomaly_score,p_value,is_anomaly"
