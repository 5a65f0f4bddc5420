"""Tokenizers of model files: what the library that reads them aborts on is refused before."""

from __future__ import annotations

import json

import pytest
from tokenizers import Tokenizer, processors

from maskdiff.encoders.tokens.stored_tokenizer import check_labels, stored_tokenizer
from maskdiff.encoders.tokens.tokenizers import train_bpe
from maskdiff.errors import ModelFileError

TEXTS = ["see you at nine", "call me at ten"] * 5


@pytest.fixture(scope="module")
def text():
    tokenizer = train_bpe(TEXTS, 100)
    unknown = tokenizer.token_to_id("[UNK]")
    around = {"single": "[UNK] $A", "special_tokens": [("[UNK]", unknown)]}
    tokenizer.post_processor = processors.TemplateProcessing(**around)
    return tokenizer.to_str()


def test_a_tokenizer_comes_back_as_it_was(text):
    assert stored_tokenizer(text).encode(TEXTS[0]).ids == Tokenizer.from_str(text).encode(TEXTS[0]).ids


def changes():
    yield "ids", lambda described: described["model"]["vocab"].update({"see": 1 << 40})
    yield "an id twice", lambda described: described["model"]["vocab"].update({"see": 0})
    yield "no integers", lambda described: described["model"]["vocab"].update({"see": 0.5})
    yield "no vocabulary", lambda described: described["model"].update(vocab=None)
    yield "merges tokens", lambda described: described["model"]["merges"].append(["zz", "##z"])
    yield "merges tokens", lambda described: described["model"]["merges"].append(["s", "e"])
    yield "no pairs", lambda described: described["model"]["merges"].append(["s"])
    yield "special tokens", lambda described: described["post_processor"].update(special_tokens={})
    yield "leaves the text out", lambda described: described["post_processor"].update(single=[])
    yield "cannot be read", lambda described: described.update(version=3)
    yield "not described", lambda described: described.clear()


@pytest.mark.parametrize(("message", "change"), list(changes()))
def test_a_tokenizer_that_would_not_work_is_refused_in_one_line(text, message, change):
    described = json.loads(text)
    change(described)
    with pytest.raises(ModelFileError, match=message) as refused:
        stored_tokenizer(json.dumps(described))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", [None, 3, "", "nonsense", "[]"])
def test_what_is_no_tokenizer_is_refused(text):
    with pytest.raises(ModelFileError, match="its tokenizer"):
        stored_tokenizer(text)


def test_a_tokenizer_that_drops_all_words_is_refused(text):
    described = json.loads(text)
    described["normalizer"] = {"type": "Replace", "pattern": {"Regex": r"\w"}, "content": ""}
    check_labels(stored_tokenizer(text), ["see", "you"])
    with pytest.raises(ModelFileError, match="gives no tokens"):
        check_labels(stored_tokenizer(json.dumps(described)), ["see", "you"])
