"""Strings that look like molecules: learn their grammar, find broken ones, and point at the symbol.

A row is a SMILES string; separator="smiles" splits it into atoms, bonds, branches and ring numbers. One wrong symbol
among twenty hardly moves a mean, so the oddest symbol alone is the score: aggregate="max".
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score

from maskdiff import SequenceDetector, Steps, Training
from maskdiff.datasets.molecules import make_molecules
from maskdiff.encoders.tokens.smiles import smiles_symbols
from maskdiff.probes import ProbeGrid
from maskdiff.reconstructors import TransformerReconstructor


def main() -> None:
    normal, _ = make_molecules(1000, seed=0)
    strings, y = make_molecules(150, seed=1, odd=0.3)

    training = Training(Steps(400), batch_size=32, learning_rate=2e-3, warmup=0.1)
    small = TransformerReconstructor(width=64, dropout=0.0, training=training)
    detector = SequenceDetector(
        small, separator="smiles", aggregate="max", probes=ProbeGrid((0.05, 0.2), 6), progress=False
    ).fit(normal)

    scores = detector.anomaly_score(strings)
    print(f"ROC {100 * roc_auc_score(y, scores):.1f}")
    for i in np.argsort(-scores)[:5]:
        odd = detector.explain([strings[i]], top=1).iloc[0]
        place = len("".join(smiles_symbols(strings[i])[: odd["position"]]))
        print(strings[i])
        print(f"{' ' * place}^ {odd['value']!r}, expected {odd['expected']!r}")


if __name__ == "__main__":
    main()
