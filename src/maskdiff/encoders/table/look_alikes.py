"""Categories that differ from a known one only in case or blanks, or by one letter: still odd, but said so."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

# Shorter texts are one letter apart by right: yes and yet, AB and AC.
_SHORTEST = 4


@dataclass(frozen=True)
class LookAlikes:
    """Known texts, to be found by others that look like them; the first of several that are alike."""

    known: tuple[str, ...]

    @cached_property
    def _by_bare(self) -> dict[str, str]:
        return {bare(text): text for text in reversed(self.known)}

    @cached_property
    def _by_part(self) -> dict[str, list[str]]:
        """Known texts by what is left of them without one letter: a slip of one letter leaves such a part alike."""
        parts: dict[str, list[str]] = {}
        for text in self._by_bare:
            for part in _parts(text):
                parts.setdefault(part, []).append(text)
        return parts

    def note(self, text: str) -> str:
        """The words for a text that is not known, but like one that is; otherwise nothing.

        >>> LookAlikes(("North", "Female")).note(" north")
        'differs from North only in case or blanks'
        >>> LookAlikes(("North", "Female")).note("Femal"), LookAlikes(("North",)).note("South")
        ('one letter away from Female', '')
        """
        same = self._by_bare.get(bare(text))
        if same is not None:
            return f"differs from {same} only in case or blanks"
        near = next(self._near(bare(text), one_letter_apart), None) if len(bare(text)) >= _SHORTEST else None
        return "" if near is None else f"one letter away from {self._by_bare[near]}"

    def meant(self, text: str) -> list[str]:
        """The known texts that this one may stand for: the same but for case or blanks, or one character apart.

        >>> LookAlikes(("26 to 30", "21 to 30", "over 30")).meant("2x to 30")
        ['21 to 30', '26 to 30']
        """
        same = self._by_bare.get(bare(text))
        near = dict.fromkeys(self._near(bare(text), one_character_apart))
        return [same] if same is not None else [self._by_bare[each] for each in near]

    def _near(self, text: str, apart: Callable[[str, str], bool]) -> Iterator[str]:
        """The bare known texts that are apart from this one in that way."""
        found = (known for part in _parts(text) for known in self._by_part.get(part, ()))
        return (known for known in found if apart(text, known))


def alike_notes(texts: Sequence[str], known: Container[Any], alike: LookAlikes) -> list[str]:
    """For each text that is not known, but like one that is, the words for that; for all others nothing.

    >>> alike_notes([" north", "North", "South"], {"North"}, LookAlikes(("North",)))
    ['differs from North only in case or blanks', '', '']
    """
    notes = {text: "" if text in known else alike.note(text) for text in set(texts)}
    return [notes[text] for text in texts]


def one_letter_apart(text: str, other: str) -> bool:
    """Whether one letter was changed, dropped, added, or swapped with the next; digits are no letters.

    >>> [one_letter_apart("female", other) for other in ("femule", "femal", "feemale", "feamle", "female", "fem4le")]
    [True, True, True, True, False, False]
    """
    left, right = _difference(text, other)
    return _is_slip(left, right) and (left + right).isalpha()


def one_character_apart(text: str, other: str) -> bool:
    """The same for any characters.

    >>> one_character_apart("female", "fem4le"), one_character_apart("12", "122")
    (True, True)
    """
    return _is_slip(*_difference(text, other))


def _is_slip(left: str, right: str) -> bool:
    swapped = len(left) == len(right) == 2 and left == right[::-1]
    return swapped or (max(len(left), len(right)) == 1 and left != right)


def _difference(text: str, other: str) -> tuple[str, str]:
    """What is left of both without what they begin and end with alike."""
    start = next((at for at, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))
    end = 0
    while end < min(len(text), len(other)) - start and text[-1 - end] == other[-1 - end]:
        end += 1
    return text[start : len(text) - end], other[start : len(other) - end]


def _parts(text: str) -> Iterator[str]:
    """The text, and what is left of it without one of its letters."""
    yield text
    yield from (text[:at] + text[at + 1 :] for at in range(len(text)))


def bare(text: str) -> str:
    """A text without case, without blanks around it, and with single blanks in it.

    >>> bare("  New   York ") == bare("NEW YORK")
    True
    """
    return " ".join(text.casefold().split())
