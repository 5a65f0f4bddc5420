"""Data sets: published ones, read from the user's own copy, and generated ones that need no file.

Every loader and generator gives `(X, y)`: a pandas DataFrame and a 0/1 array, 1 = anomaly.
"""

from maskdiff.datasets.catalog import load, names
from maskdiff.datasets.claims import make_claims
from maskdiff.datasets.synthetic import NoisyCopiesOracle, make_noisy_copies

__all__ = ["NoisyCopiesOracle", "load", "make_claims", "make_noisy_copies", "names"]
