"""Molecules as symbols."""

from __future__ import annotations

import pytest

from maskdiff import SequenceDetector
from maskdiff.encoders.tokens.sequence import SequenceEncoder
from maskdiff.encoders.tokens.smiles import smiles_symbols


@pytest.mark.parametrize(
    ("text", "symbols"),
    [
        ("CC(=O)O", ["C", "C", "(", "=", "O", ")", "O"]),
        ("ClCBr", ["Cl", "C", "Br"]),
        ("[Na+].[Cl-]", ["[Na+]", ".", "[Cl-]"]),
        ("C%10CC%10", ["C", "%10", "C", "C", "%10"]),
        ("F/C=C\\F", ["F", "/", "C", "=", "C", "\\", "F"]),
        ("[13C@@H](N)C#N", ["[13C@@H]", "(", "N", ")", "C", "#", "N"]),
        ("[broken", ["[", "b", "r", "o", "k", "e", "n"]),
        ("", []),
    ],
)
def test_atoms_bonds_branches_and_ring_numbers_are_symbols(text, symbols):
    assert smiles_symbols(text) == symbols
    assert "".join(symbols) == text


def test_sequences_are_split_as_molecules_and_kept_so():
    encoder = SequenceEncoder("smiles").fit(["CCl", "CBr"])
    assert encoder.schema_.fields[0].labels == ("C", "Br", "Cl")
    assert SequenceEncoder.from_state(encoder.to_state()).encode(["ClC"]).values.tolist() == [[2, 0]]


def test_a_detector_names_the_atom_that_is_wrong():
    class Valence:
        """Fluorine is odd where something follows it."""

        def log_prob(self, views):
            inside = (views.codes_BF[:, :-1] == 1).float()
            odd = inside.new_zeros(views.codes_BF.shape)
            odd[:, :-1] = inside
            return -(0.1 + 5 * odd.unsqueeze(1)) * views.hidden

        def most_likely(self, views):
            shape = (views.n_rows, views.n_views, views.codes_BF.shape[1])
            return views.codes_BF.unsqueeze(1).expand(shape) * 0, self.log_prob(views)

    detector = SequenceDetector(Valence(), separator="smiles", progress=False).fit(["CCF", "CCC"] * 50)
    (found,) = detector.explain(["CFC"], top=1)[["position", "value"]].values.tolist()
    assert found == [1, "F"]
