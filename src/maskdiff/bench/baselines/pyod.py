"""Detectors as PyOD has them: three with the paper's settings for tables, the others with PyOD's own for embeddings.

PyOD's COPOD and ECOD put the rows to score together with the normal ones and look at the joint empirical distribution:
a row's score depends on the rows it comes with. That is kept as it is. Those three compute on the
CPU, whatever device is given, and COPOD and ECOD draw nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Any, Self

import numpy as np

from maskdiff.bench.baselines.encoded import Matrix
from maskdiff.codes import FloatArray
from maskdiff.errors import MissingExtraError

TREES = 300


class PyodDetector:
    """One of PyOD's detectors; `build(n_columns)` makes it, `sign` turns its scores so that higher = odder."""

    def __init__(self, build: Callable[[int], Any], *, seed: int = 0, sign: int = 1) -> None:
        self.build = build
        self.seed = seed
        self.sign = sign

    def fit(self, X: Matrix) -> Self:
        """Learn from normal rows."""
        rows = np.asarray(X, dtype=np.float64)
        with _private_randomness(self.seed), redirect_stdout(StringIO()):  # some print every epoch
            self.model_ = self.build(rows.shape[1]).fit(rows)
        return self

    def anomaly_score(self, X: Matrix) -> FloatArray:
        """How odd each row is, shape (N,); higher = more anomalous."""
        with _private_randomness(self.seed):  # the variational autoencoder draws when it scores
            scores = self.model_.decision_function(np.asarray(X, dtype=np.float64))
        return self.sign * np.asarray(scores, dtype=np.float64)


def copod(*, seed: int = 0, device: str = "cpu") -> PyodDetector:
    """COPOD with PyOD's defaults."""
    model = _model("copod", "COPOD")
    return PyodDetector(lambda width: model())


def ecod(*, seed: int = 0, device: str = "cpu") -> PyodDetector:
    """ECOD with PyOD's defaults."""
    model = _model("ecod", "ECOD")
    return PyodDetector(lambda width: model())


def isolation_forest(*, trees: int = TREES, seed: int = 0, device: str = "cpu") -> PyodDetector:
    """Isolation forest of 300 trees on 256 rows each."""
    # The contamination only places PyOD's threshold, which is not used; the scores are those of "auto".
    model = _model("iforest", "IForest")
    return PyodDetector(lambda width: model(n_estimators=trees, random_state=seed), seed=seed)


def deep_svdd(*, seed: int = 0, device: str = "cpu", **settings: Any) -> PyodDetector:
    """Deep SVDD with hidden layers of 64 and 32."""
    model = _model("deep_svdd", "DeepSVDD")
    chosen = {"random_state": seed, "verbose": 0, **settings}
    return PyodDetector(lambda width: model(n_features=width, **chosen), seed=seed)


def lof(*, seed: int = 0) -> PyodDetector:
    """Local outlier factor among the normal rows, 20 neighbours."""
    model = _model("lof", "LOF")
    return PyodDetector(lambda width: model(novelty=True))


def lunar(*, seed: int = 0, **settings: Any) -> PyodDetector:
    """LUNAR: a network learns to read the distances to the 5 nearest normal rows."""
    model = _model("lunar", "LUNAR")
    return PyodDetector(lambda width: model(**{"random_state": seed, **settings}), seed=seed)


def so_gaal(*, seed: int = 0, **settings: Any) -> PyodDetector:
    """SO-GAAL: a generator makes up anomalies, a discriminator learns to separate them from normal rows.

    PyOD hands out the discriminator's probability that a row is a real one, which is low for anomalies; its authors
    score by the opposite, and so do we.
    """
    model = _model("so_gaal", "SO_GAAL")
    return PyodDetector(lambda width: model(**settings), seed=seed, sign=-1)


def auto_encoder(*, seed: int = 0, **settings: Any) -> PyodDetector:
    """How badly an autoencoder of hidden layers 64 and 32 gives a row back."""
    model = _model("auto_encoder", "AutoEncoder")
    return PyodDetector(lambda width: model(**{"random_state": seed, "verbose": 0, **settings}), seed=seed)


def vae(*, seed: int = 0, **settings: Any) -> PyodDetector:
    """The same with a variational autoencoder of hidden layers 128, 64 and 32 and two latent numbers."""
    model = _model("vae", "VAE")
    return PyodDetector(lambda width: model(**{"random_state": seed, "verbose": 0, **settings}), seed=seed)


def _model(module: str, name: str) -> Any:
    """One of PyOD's classes, imported before anything is timed."""
    from importlib import import_module

    try:
        return getattr(import_module(f"pyod.models.{module}"), name)
    except ImportError as error:
        raise MissingExtraError("baselines", needs="pyod") from error


@contextmanager
def _private_randomness(seed: int) -> Iterator[None]:
    """PyOD shuffles with the global generators; they are left as they were found."""
    import torch

    before = np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(before)  # noqa: NPY002
