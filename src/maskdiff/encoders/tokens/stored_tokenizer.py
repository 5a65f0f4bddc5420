"""Tokenizers from model files. The library that reads them aborts, or takes memory without end, on some mistakes:
what leads to these is looked for first.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from maskdiff.errors import ModelFileError
from maskdiff.state import check, fits

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# The library keeps a table of all ids up to the largest: ids may have gaps, but not arbitrary ones.
_MOST_GAPS = 100_000
# So many labels of the alphabet are tried.
_TRIED = 100


def stored_tokenizer(text: Any) -> Tokenizer:
    """The tokenizer that a model file holds as JSON."""
    from tokenizers import Tokenizer

    try:
        check(isinstance(text, str), "its tokenizer is no text")
        _check_description(json.loads(text))
        tokenizer = Tokenizer.from_str(text)
        for special in (False, True):
            tokenizer.encode("a tokenizer that works, 1 2 3", add_special_tokens=special)
    except (KeyboardInterrupt, SystemExit, ModelFileError):
        raise
    except BaseException as error:  # the library raises bare Exception, and BaseException where it aborts
        raise ModelFileError(
            f"the model file cannot be used: its tokenizer cannot be read ({error!r})."[:300]
        ) from error
    return tokenizer


def check_labels(tokenizer: Tokenizer, labels: Sequence[str]) -> None:
    """Refuse a tokenizer that gives no tokens for any of the words it is said to have given."""
    words = [label for label in labels[: 10 * _TRIED] if label.isalnum()][:_TRIED]
    try:
        found = [bool(one.ids) for one in tokenizer.encode_batch(words, add_special_tokens=False)]
    except Exception as error:
        raise ModelFileError(f"the model file cannot be used: its tokenizer does not work ({error}).") from error
    check(not words or any(found), "its tokenizer gives no tokens")


def _check_description(tokenizer: Any) -> None:
    check(isinstance(tokenizer, dict) and isinstance(tokenizer.get("model"), dict), "its tokenizer is not described")
    model, added = tokenizer["model"], tokenizer.get("added_tokens") or []
    vocabulary = model.get("vocab")
    check(isinstance(vocabulary, dict | list) and isinstance(added, list), "its tokenizer has no vocabulary")
    extra = [one["id"] for one in added]
    ids = list(vocabulary.values()) if isinstance(vocabulary, dict) else list(range(len(vocabulary)))
    check(fits((*ids, *extra), tuple[int, ...]), "its tokenizer has ids that are no integers")
    check(len(set(ids)) == len(ids) and len(set(extra)) == len(extra), "its tokenizer has an id twice")
    check(all(0 <= one < len(ids) + len(extra) + _MOST_GAPS for one in (*ids, *extra)), "its tokenizer lacks many ids")
    _check_merges(model, vocabulary)
    _check_template(tokenizer.get("post_processor"))


def _check_merges(model: dict[str, Any], vocabulary: dict[str, int] | list[Any]) -> None:
    """Every merge joins two tokens into a third; what continues a word begins with the prefix that says so."""
    prefix = model.get("continuing_subword_prefix") or ""
    for merge in model.get("merges") or ():
        pair = merge.split(" ") if isinstance(merge, str) else merge
        check(isinstance(pair, list) and len(pair) == 2, "its tokenizer has merges that are no pairs")
        first, second = pair
        known = first in vocabulary and second in vocabulary and second.startswith(prefix)
        check(known and first + second[len(prefix) :] in vocabulary, "its tokenizer merges tokens it does not have")


def _check_template(processor: Any) -> None:
    """Special tokens are put around texts, and not in their place; every one is described."""
    if not isinstance(processor, dict) or processor.get("type") != "TemplateProcessing":
        return
    check(any("Sequence" in piece for piece in processor["single"]), "its tokenizer leaves the text out")
    pieces = [*processor["single"], *processor["pair"]]
    named = {piece["SpecialToken"]["id"] for piece in pieces if "SpecialToken" in piece}
    check(named <= set(processor["special_tokens"]), "its tokenizer does not describe its special tokens")
