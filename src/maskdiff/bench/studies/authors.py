"""How long the authors' published code takes on the same rows, timed as every other method is.

Nothing of it is kept here: its two classes are imported from a checkout, given the codes of our encoder, and run with
the settings of the authors' scripts.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from maskdiff.bench.baselines.encoded import Matrix
from maskdiff.bench.baselines.networks import torch_device
from maskdiff.bench.runs.measure import Run, Split
from maskdiff.bench.runs.methods import Method, chosen, on_codes
from maskdiff.bench.runs.sets import cut_table, load_set, table_names
from maskdiff.codes import FloatArray
from maskdiff.errors import DataNotFoundError

MODULE = "models.mdad"


class AuthorsDetector:
    """One of the authors' detectors on integer codes."""

    class_name: ClassVar[str]
    model: ClassVar[dict[str, Any]]
    fitting: ClassVar[dict[str, Any]] = {}
    scoring: ClassVar[dict[str, Any]]

    def __init__(self, checkout: str, *, seed: int = 0, device: str = "auto") -> None:
        self.checkout = checkout
        self.seed = seed
        self.device = device

    def fit(self, X: Matrix) -> Self:
        """Learn from normal rows; each column gets one code more than it shows, for values never seen."""
        codes = np.asarray(X, dtype=np.int64)
        self.sizes_ = codes.max(axis=0) + 2
        settings = {**self.model, "eps": 1e-12, "device": str(torch_device(self.device)), "seed": self.seed}
        build = getattr(import_from(self.checkout), self.class_name)
        self.model_ = build(cardinalities=self.sizes_.tolist(), **settings)
        self.model_.fit(codes, **self.fitting)
        return self

    def anomaly_score(self, X: Matrix) -> FloatArray:
        """How odd each row is, shape (N,); higher = more anomalous."""
        codes = np.minimum(np.asarray(X, dtype=np.int64), self.sizes_ - 1)
        return np.asarray(self.model_.score_samples(codes, verbose=False, **self.scoring), dtype=np.float64)


class AuthorsNetwork(AuthorsDetector):
    """Their network: 20 epochs, nine levels of 16 views."""

    class_name = "ParametricMDADRec"
    model: ClassVar = {
        "mask_schedule": tuple(level / 10 for level in range(10)),
        "d_model": 256,
        "hidden_dim": 512,
        "layers": 3,
        "dropout": 0.1,
    }
    fitting: ClassVar = {"epochs": 20, "batch_size": 512, "lr": 1e-3, "weight_decay": 1e-5, "verbose": False}
    scoring: ClassVar = {"probe_times": tuple(range(1, 10)), "n_probe_views": 16, "batch_size": 1024}


class AuthorsKernel(AuthorsDetector):
    """Their kernel: four levels of 8 views, all normal rows as references."""

    class_name = "NonParametricMDADRec"
    model: ClassVar = {"mask_schedule": (0.0, 0.15, 0.3, 0.45, 0.6), "lambda_kernel": 1.0}
    scoring: ClassVar = {
        "probe_times": (1, 2, 3, 4),
        "n_probe_views": 8,
        "batch_size": 512,
        "ref_chunk_size": 4096,
    }


def import_from(checkout: str) -> Any:
    """The authors' module with both classes."""
    folder = Path(checkout).resolve()
    if not folder.joinpath(*MODULE.split("."), "__init__.py").is_file():
        raise DataNotFoundError(f"{checkout!r} is no checkout of the authors' code: it lacks models/mdad.")
    loaded = sys.modules.get(MODULE)
    if loaded is not None and Path(str(loaded.__file__)).is_relative_to(folder):
        return loaded
    for name in [name for name in sys.modules if name.split(".")[0] == "models"]:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    try:
        invalidate_caches()
        return import_module(MODULE)
    finally:
        sys.path.remove(str(folder))


@dataclass(frozen=True)
class AuthorsCode:
    """Tables from the folder `data`, measured with the code in the folder `checkout`."""

    checkout: str
    data: str | None = None
    name: str = "authors"
    warm_up: int = 500

    def set_names(self, wanted: Iterable[str]) -> list[str]:
        return table_names(wanted)

    def method_names(self, wanted: Iterable[str]) -> list[str]:
        import_from(self.checkout)  # before the long part
        return chosen(wanted, self._methods())

    def split(self, run: Run) -> Split:
        return cut_table(load_set(run.set, self.data), run.seed)

    def method(self, run: Run) -> Method:
        return self._methods()[run.method]

    def _methods(self) -> dict[str, Method]:
        return {
            "authors-mlp": on_codes(partial(AuthorsNetwork, self.checkout)),
            "authors-kernel": on_codes(partial(AuthorsKernel, self.checkout)),
        }
