"""SMILES, the line notation of molecules, as symbols: atoms, bonds, branches and ring numbers."""

from __future__ import annotations

import re

# Atoms in brackets with all that belongs to them (isotope, charge, hydrogens); chlorine and bromine; ring numbers of
# two digits; anything else is one character: other atoms (aromatic ones in small letters), bonds, branches, digits.
_SYMBOL = re.compile(r"\[[^\]]*\]|Br|Cl|%\d\d|\S")


def smiles_symbols(text: str) -> list[str]:
    """The symbols of a SMILES string, which joined give the string again; blanks are left out.

    >>> smiles_symbols("C[C@H](N)c1ccc(Cl)cc1")
    ['C', '[C@H]', '(', 'N', ')', 'c', '1', 'c', 'c', 'c', '(', 'Cl', ')', 'c', 'c', '1']
    """
    return _SYMBOL.findall(text)
