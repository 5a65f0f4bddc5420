"""The registry of methods that can be measured on tables: ours, and the baselines with the paper's settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from maskdiff.bench.baselines import deep_svdd, drl, dte, goad, icl, isotree, mcm, neighbours, numbers, pyod
from maskdiff.bench.baselines.encoded import Encoded, MatrixDetector
from maskdiff.codes import FloatArray
from maskdiff.detectors import TableDetector
from maskdiff.errors import SettingError


class Detector(Protocol):
    """What is measured."""

    def fit(self, X: Any) -> Any:
        """Learn from the normal rows of a table."""

    def anomaly_score(self, X: Any) -> FloatArray:
        """How odd each row is, shape (N,); higher = more anomalous."""


@dataclass(frozen=True)
class Method:
    """How to make a detector from a seed and a device, whose it is, and its name in the paper's tables, if any.

    One that learns from labelled anomalies says from how many.
    """

    build: Callable[[int, str], Detector]
    group: str
    published: str | None = None
    labelled: int = 0


def _ours(published: str | None = None, **settings: Any) -> Method:
    def build(seed: int, device: str) -> Detector:
        return TableDetector(**settings, seed=seed, device=device, progress=False)

    return Method(build, "ours", published)


def on_codes(
    build: Callable[..., MatrixDetector], published: str | None = None, *, whole_batch: bool = False
) -> Method:
    """A baseline that is given the encoder's codes; `build(seed=, device=)` makes its detector."""
    return _encoded(build, "ordinal", published, whole_batch)


def on_one_hot(build: Callable[..., MatrixDetector], published: str | None = None) -> Method:
    """A baseline that is given one-hot columns."""
    return _encoded(build, "one-hot", published, False)


def on_tables(build: Callable[..., Detector], group: str = "extra") -> Method:
    """A baseline that is given the table as it is."""
    return Method(lambda seed, device: build(seed=seed, device=device), group)


def _encoded(build: Callable[..., MatrixDetector], form: str, published: str | None, whole_batch: bool) -> Method:
    return Method(
        lambda seed, device: Encoded(build(seed=seed, device=device), form, whole_batch=whole_batch),
        "baselines",
        published,
    )


# The registry: a baseline is a file of its own in `baselines` and one line here.
METHODS: dict[str, Method] = {
    "default": _ours(),
    "mlp": _ours(reconstructor="mlp"),
    "kernel": _ours(reconstructor="kernel"),
    "mlp-paper": _ours("Parametric MaskDiff-AD", reconstructor="mlp", preset="paper"),
    "mlp-diffusion": _ours(reconstructor="mlp", preset="paper", objective="diffusion"),
    "kernel-paper": _ours("Non-parametric MaskDiff-AD", reconstructor="kernel", preset="paper"),
    "copod": on_codes(pyod.copod, "COPOD", whole_batch=True),
    "ecod": on_codes(pyod.ecod, "ECOD", whole_batch=True),
    "iforest": on_one_hot(pyod.isolation_forest, "IForest"),
    "deep-svdd": on_one_hot(deep_svdd.hypersphere, "DeepSVDD"),
    "hamming-knn": on_codes(neighbours.hamming_neighbours, "Hamming-kNN"),
    "dte-categorical": on_one_hot(partial(dte.diffusion_time, "categorical"), "DTE-Categorical"),
    "dte-inverse-gamma": on_one_hot(partial(dte.diffusion_time, "inverse-gamma"), "DTE-InvGamma"),
    "dte-gaussian": on_one_hot(partial(dte.diffusion_time, "gaussian"), "DTE-Gaussian"),
    "goad": on_one_hot(goad.transformation_classifier, "GOAD"),
    "icl": on_one_hot(icl.internal_contrast, "ICL"),
    "mcm": on_one_hot(mcm.masked_cells, "MCM"),
    "drl": on_one_hot(drl.decomposition, "DRL"),
    "isotree": on_tables(isotree.categorical_forest),
    "lof": on_tables(numbers.NumbersLof),
}


class Grouped(Protocol):
    """What is chosen among: each belongs to a group."""

    @property
    def group(self) -> str: ...


def chosen(wanted: Iterable[str], methods: Mapping[str, Grouped] = METHODS) -> list[str]:
    """The methods meant, in order, each once; "all" and the groups "ours", "baselines", ... stand for several.

    >>> chosen(["mlp", "ours"])
    ['mlp', 'default', 'kernel', 'mlp-paper', 'mlp-diffusion', 'kernel-paper']
    """
    groups = {"all": list(methods)}
    for name, method in methods.items():
        groups.setdefault(method.group, []).append(name)
    named = [name for each in wanted for name in groups.get(each, [each])]
    unknown = [name for name in named if name not in methods]
    if unknown:
        known = ", ".join([*groups, *methods])
        raise SettingError(f"there is no method {unknown[0]!r}; known are {known}.")
    return list(dict.fromkeys(named))
