"""A pre-trained text embedder: its token vectors are the model's own, whatever is beside them."""

from __future__ import annotations

import copy
import sys

import numpy as np
import pytest
import torch

from maskdiff.encoders.tokens.embedder import TextEmbedder
from maskdiff.errors import InputError, MissingExtraError

from ...embedder_folder import save_embedder

transformers = pytest.importorskip("transformers")

CPU = torch.device("cpu")
TEXTS = ["see you at nine", "call", "See  YOU, at ten?", "", "\x00", "boats sail far", "see 😀 you"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_embedder(tmp_path_factory.mktemp("embedder"), [*TEXTS, "a b c d e f g"], longest=8)


@pytest.fixture(scope="module")
def embedder(folder):
    return TextEmbedder(folder).load(CPU)


def per_text(embedder, texts):
    """The vectors and spans of each text."""
    found = []
    for part in embedder.embed(texts):
        for number in range(part.n_texts):
            here = part.text == number
            found.append((part.vectors_TH[torch.from_numpy(here)].numpy(), part.span[here]))
    return found


def test_vectors_are_the_models_own(folder, embedder):
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    for text, (vectors, _) in zip(TEXTS, per_text(embedder, TEXTS), strict=True):
        with torch.no_grad():
            expected = model(torch.tensor([tokenizer(text)["input_ids"]])).last_hidden_state[0]
        np.testing.assert_allclose(vectors, expected, atol=1e-5)


@pytest.mark.parametrize(("at_once", "held"), [(1, 1), (9, 12)])
def test_how_many_tokens_are_computed_at_once_does_not_matter(embedder, at_once, held):
    careful = copy.copy(embedder)
    careful.tokens_at_once, careful.tokens_held = at_once, held
    pairs = zip(per_text(careful, TEXTS), per_text(embedder, TEXTS), strict=True)
    for (vectors, span), (same, same_span) in pairs:
        np.testing.assert_allclose(vectors, same, atol=1e-5)
        assert span.tolist() == same_span.tolist()


def test_spans_are_those_of_the_text_and_special_tokens_have_none(embedder):
    ((_, span),) = per_text(embedder, ["See  YOU,"])
    assert span.tolist() == [[-1, -1], [0, 3], [5, 8], [8, 9], [-1, -1]]


def test_a_long_text_is_read_in_windows_and_no_token_is_left_out(embedder):
    text = "a b c d e f g " * 3
    ((vectors, span),) = per_text(embedder, [text])
    inside = span[span[:, 0] >= 0]
    assert "".join(text[a:b] for a, b in inside) == "abcdefg" * 3
    assert len(vectors) == 21 + 2 * 4  # windows of 6 tokens, each with its special ones
    ((first, _),) = per_text(embedder, ["a b c d e f"])
    np.testing.assert_allclose(vectors[:8], first, atol=1e-5)


def test_it_comes_back_from_its_weights_without_its_folder(embedder):
    plain, tensors = embedder.to_state()
    kept = TextEmbedder.from_state(plain | {"folder": "nowhere"}, tensors, device=CPU)
    for (vectors, _), (same, _) in zip(per_text(kept, TEXTS), per_text(embedder, TEXTS), strict=True):
        np.testing.assert_allclose(vectors, same, atol=1e-6)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be read as a text embedder"):
        TextEmbedder(tmp_path / "nothing").load(CPU)


def test_without_transformers_the_remedy_is_named(monkeypatch, folder):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"maskdiff\[pretrained\]"):
        TextEmbedder(folder).load(CPU)
