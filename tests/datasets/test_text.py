from __future__ import annotations

import gzip
import json
import zipfile

import numpy as np
import pytest

from maskdiff.datasets.molecules import make_molecules
from maskdiff.datasets.text import labelled_anomalies, load_text, split_text, text_names
from maskdiff.errors import DataNotFoundError, InputError, SettingError


@pytest.fixture
def folder(tmp_path):
    """Small files written as the published ones are, in the folders they are looked for in."""
    text, logs = tmp_path / "text", tmp_path / "logs"
    text.mkdir()
    logs.mkdir()
    messages = [f"ham\tsee you at {n}" for n in range(40)] + ["ham\tsee you at 1"]
    messages += [f"spam\twin {n} £ now" for n in range(9)]
    (text / "SMSSpamCollection").write_text("\n".join(messages) + "\n", encoding="utf-8")
    table = "n,label,text,label_num\n" + "".join(f'{n},ham,"Subject: a ,\nb {n}",0\n' for n in range(20))
    with zipfile.ZipFile(text / "spam_ham_dataset.zip", "w") as file:
        file.writestr("spam_ham_dataset.csv", table + '7,spam,"NA",1\n')
    news = [{"text": f"news {n}", "label_name": "Sports" if n % 4 else "World"} for n in range(400)]
    for path, records in [
        (text / "ag_news_merged.jsonl.gz", news),
        (logs / "HDFS_100k_sessions_train.jsonl.gz", [{"events": ["a", "b"], "label": n % 5 == 0} for n in range(10)]),
        (logs / "HDFS_100k_sessions_test.jsonl.gz", [{"events": ["a"], "label": 1}, {"events": [], "label": 0}]),
    ]:
        lines = [json.dumps({**record, "label": int(record.get("label", 0))}) for record in records]
        path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return tmp_path


def test_texts_come_as_published_with_their_labels(folder):
    texts, y = load_text("sms", folder)
    assert (len(texts), y.sum(), y.dtype) == (50, 9, np.int8)
    assert texts[0] == "see you at 0"
    assert texts.iloc[-1] == "win 8 £ now"


def test_a_text_may_span_lines_and_look_like_a_missing_value(folder):
    texts, y = load_text("email", folder)
    assert texts[0] == "Subject: a ,\nb 0"
    assert (texts.iloc[-1], y[-1]) == ("NA", 1)


def test_sequences_come_as_lists(folder):
    sessions, y = load_text("hdfs_test", folder)
    assert sessions.tolist() == [["a"], []]
    assert y.tolist() == [1, 0]


def test_the_test_set_is_three_tenths_of_the_normal_texts_and_the_anomalies(folder):
    train, test, y = split_text("sms", folder, seed=3)
    assert (len(train), len(test), y.sum()) == (28, 12 + 9, 9)
    assert set(train).isdisjoint(test)
    assert len(set(train) | set(test)) == 40 + 9
    assert all(text.startswith("win") == bool(label) for text, label in zip(test, y, strict=True))


def test_of_many_anomalies_only_the_benchmarks_share_is_kept(folder):
    _, test, y = split_text("agnews", folder)
    assert y.sum() == round(300 * 0.0385 / (1 - 0.0385))
    assert len(test) == 90 + y.sum()


def test_long_texts_are_joined_of_texts_with_one_label(folder):
    whole, y_whole = load_text("agnews", folder)
    texts, y = load_text("agnews_long", folder)
    assert all(len(text.split()) >= 360 for text in texts)
    assert 0 < len(texts) < len(whole) / 10
    for label in (0, 1):
        known = set(" ".join(whole[y_whole == label]).split())
        assert all(set(text.split()) <= known for text in texts[y == label])


def test_labelled_anomalies_are_not_in_the_test_set(folder):
    tested = split_text("agnews", folder, seed=3)[1]
    labelled = labelled_anomalies("agnews", folder, number=1, seed=3)
    assert len(labelled) == 1
    assert not set(labelled) & set(tested)
    with pytest.raises(InputError, match="anomalies over; 10000 are needed"):
        labelled_anomalies("agnews", folder, number=10_000, seed=3)


def test_equal_seeds_cut_alike_and_others_do_not(folder):
    assert split_text("sms", folder, seed=1)[0] == split_text("sms", folder, seed=1)[0]
    assert split_text("sms", folder, seed=1)[0] != split_text("sms", folder, seed=2)[0]


def test_sessions_are_cut_as_they_are_published(folder):
    train, test, y = split_text("hdfs", folder)
    assert (len(train), len(test), y.tolist()) == (8, 2, [1, 0])


def test_files_may_lie_in_the_folder_itself(folder, monkeypatch):
    (folder / "text" / "SMSSpamCollection").rename(folder / "SMSSpamCollection")
    monkeypatch.setenv("MASKDIFF_DATA", str(folder))
    assert len(load_text("sms")[0]) == 50


def test_a_file_that_is_not_there_is_named_with_its_source(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"SMSSpamCollection.*UCI"):
        load_text("sms", tmp_path)


def test_an_unknown_set_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(SettingError, match="agnews_long, email"):
        load_text("yelp", tmp_path)
    assert "sms" in text_names()


@pytest.mark.parametrize(
    ("name", "file", "content", "message"),
    [
        ("sms", "SMSSpamCollection", b"ham see you\n", "line 1: expected a label, a tab"),
        ("sms", "SMSSpamCollection", b"eggs\tsee you\n", "is 'eggs' in one place; expected one of ham, spam"),
        ("agnews", "ag_news_merged.jsonl.gz", gzip.compress(b"{", mtime=0), "line 1 is not JSON"),
        ("agnews", "ag_news_merged.jsonl.gz", gzip.compress(b'{"text": "a"}', mtime=0), "line 1 has not both"),
    ],
)
def test_a_file_that_is_not_the_published_one_is_refused(tmp_path, name, file, content, message):
    (tmp_path / file).write_bytes(content)
    with pytest.raises(InputError, match=message):
        load_text(name, tmp_path)


def test_a_table_without_the_columns_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "spam_ham_dataset.zip", "w") as file:
        file.writestr("spam_ham_dataset.csv", "a,label\n1,ham\n")
    with pytest.raises(InputError, match="has no column 'text'"):
        load_text("email", tmp_path)


@pytest.mark.parametrize(
    ("name", "n", "anomalies"),
    [("sms", 5574, 747), ("email", 5171, 1499), ("agnews", 45536, 11071), ("hdfs_train", 6352, 256)],
)
def test_the_real_files_hold_what_they_are_known_to_hold(data_dir, name, n, anomalies):
    texts, y = load_text(name, data_dir)
    assert (len(texts), y.sum()) == (n, anomalies)


@pytest.mark.parametrize(("name", "train", "test", "anomalies"), [("sms", 3163, 1509, 154), ("hdfs", 6096, 1588, 57)])
def test_the_real_files_are_cut_as_in_the_benchmark(data_dir, name, train, test, anomalies):
    learned, tested, y = split_text(name, data_dir)
    assert (len(learned), len(tested), y.sum()) == (train, test, anomalies)


# Molecules -----------------------------------------------------------------------------------------------------------


def is_whole(text):
    """Whether branches and rings close, and halogens end their chain."""
    depth = 0
    for at, symbol in enumerate(text):
        depth += (symbol == "(") - (symbol == ")")
        ends = text[at + 1 : at + 2] in ("", ")")
        if depth < 0 or (symbol in "Flr" and not ends):
            return False
    return depth == 0 and text.count("1") % 2 == 0


def test_normal_molecules_keep_the_rules_and_broken_ones_do_not():
    strings, y = make_molecules(400, seed=5, odd=0.4)
    assert [not is_whole(text) for text in strings] == y.astype(bool).tolist()
    assert 100 < y.sum() < 220


def test_equal_seeds_give_equal_molecules():
    assert make_molecules(20, seed=1, odd=0.5)[0] == make_molecules(20, seed=1, odd=0.5)[0]
    assert make_molecules(20, seed=1)[0] != make_molecules(20, seed=2)[0]


@pytest.mark.parametrize("settings", [{"n": -1}, {"odd": 1.5}])
def test_molecules_refuse_nonsense(settings):
    with pytest.raises(SettingError, match="molecules want"):
        make_molecules(**settings)
