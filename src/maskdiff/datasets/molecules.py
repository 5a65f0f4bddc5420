"""Strings that look like SMILES, the line notation of molecules, from a small grammar; and broken ones.

Normal strings close every branch and every ring, and hold halogens only at the end of a chain. An odd one breaks one
of these rules at one place, so that only the context gives it away: each of its symbols is common.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from maskdiff.errors import SettingError

_ATOMS, _SHARES = ("C", "N", "O", "S"), (0.72, 0.12, 0.12, 0.04)
_HALOGENS = ("F", "Cl", "Br")
_RINGS = ("c1ccccc1", "C1CCCCC1", "C1CCOC1")


def make_molecules(n: int = 1000, seed: int = 0, *, odd: float = 0.0) -> tuple[list[str], NDArray[np.int8]]:
    """`n` strings, and which of them are broken, about the share `odd` (1 = anomaly).

    >>> strings, y = make_molecules(3, seed=2)
    >>> strings
    ['N(C1CCCCC1CC)SCN', 'OC(OCO)=CC', 'C(c1ccccc1OC)NC1CCOC1(CC1CCOC1Br)CCS']
    """
    if n < 0 or not 0 <= odd <= 1:
        raise SettingError(f"molecules want n >= 0 and odd from 0 to 1; got n={n}, odd={odd}")
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < odd).astype(np.int8)
    strings = [_chain(rng, depth=0) for _ in range(n)]
    return [_broken(text, rng) if label else text for text, label in zip(strings, y, strict=True)], y


def _chain(rng: np.random.Generator, depth: int) -> str:
    """Atoms and rings in a row, some of them with a branch."""
    text = ""
    for at in range(int(rng.integers(2, 4)) if depth else int(rng.integers(2, 6))):
        text += _part(rng, first=at == 0)
        if depth == 0 and rng.random() < 0.25:
            text += f"({_chain(rng, depth + 1)})"
    closes = rng.random() < 0.3
    return text + (str(rng.choice(_HALOGENS)) if closes else str(rng.choice(_ATOMS, p=_SHARES)))


def _part(rng: np.random.Generator, *, first: bool) -> str:
    if rng.random() < 0.2:
        return str(rng.choice(_RINGS))
    bond = "" if first or rng.random() < 0.85 else "="
    return bond + str(rng.choice(_ATOMS, p=_SHARES))


def _open_ring(text: str, rng: np.random.Generator) -> str:
    """A ring that is opened and never closed."""
    return _inserted(text, "1", rng)


def _unopened_branch(text: str, rng: np.random.Generator) -> str:
    """A branch that is closed and was never opened."""
    return _inserted(text, ")", rng)


def _halogen_inside(text: str, rng: np.random.Generator) -> str:
    """A halogen with two neighbours."""
    return _inserted(text, str(rng.choice(_HALOGENS)), rng)


def _inserted(text: str, symbol: str, rng: np.random.Generator) -> str:
    """The symbol behind one of the atoms outside of rings and branches, or in front."""
    places = [at for at, atom in enumerate(text[:-2], start=1) if atom in "CNOS" and text[at] in "CNOS="]
    at = int(rng.choice(places or [0]))
    return text[:at] + symbol + text[at:]


def _broken(text: str, rng: np.random.Generator) -> str:
    """The same string with one rule broken."""
    ways: tuple[Callable[[str, np.random.Generator], str], ...] = (_open_ring, _unopened_branch, _halogen_inside)
    return ways[int(rng.integers(len(ways)))](text, rng)
