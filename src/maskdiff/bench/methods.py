"""Every method that can be measured, by name: ours, and the baselines with the paper's settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from maskdiff.bench.baselines import drl, dte, goad, icl, isotree, mcm, neighbours, pyod
from maskdiff.bench.baselines.encoded import Encoded
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
    """How to make a detector from a seed and a device, whose it is, and its name in the paper's tables, if any."""

    build: Callable[[int, str], Detector]
    group: str
    published: str | None = None


def _ours(published: str | None = None, **settings: Any) -> Method:
    def build(seed: int, device: str) -> Detector:
        return TableDetector(**settings, seed=seed, device=device, progress=False)

    return Method(build, "ours", published)


def _one_hot(build: Callable[..., Any], published: str, *arguments: str) -> Method:
    return Method(
        lambda seed, device: Encoded(build(*arguments, seed=seed, device=device), "one-hot"), "baselines", published
    )


METHODS: dict[str, Method] = {
    "default": _ours(),
    "mlp": _ours(reconstructor="mlp"),
    "kernel": _ours(reconstructor="kernel"),
    "mlp-paper": _ours("Parametric MaskDiff-AD", reconstructor="mlp", preset="paper"),
    "kernel-paper": _ours("Non-parametric MaskDiff-AD", reconstructor="kernel", preset="paper"),
    "copod": Method(lambda seed, device: Encoded(pyod.copod(), "ordinal", whole_batch=True), "baselines", "COPOD"),
    "ecod": Method(lambda seed, device: Encoded(pyod.ecod(), "ordinal", whole_batch=True), "baselines", "ECOD"),
    "iforest": Method(
        lambda seed, device: Encoded(pyod.isolation_forest(seed=seed), "one-hot"), "baselines", "IForest"
    ),
    "deep-svdd": Method(lambda seed, device: Encoded(pyod.deep_svdd(seed=seed), "one-hot"), "baselines", "DeepSVDD"),
    "hamming-knn": Method(
        lambda seed, device: Encoded(neighbours.HammingNeighbours(25, device=device), "ordinal"),
        "baselines",
        "Hamming-kNN",
    ),
    "dte-categorical": _one_hot(dte.diffusion_time, "DTE-Categorical", "categorical"),
    "dte-inverse-gamma": _one_hot(dte.diffusion_time, "DTE-InvGamma", "inverse-gamma"),
    "dte-gaussian": _one_hot(dte.diffusion_time, "DTE-Gaussian", "gaussian"),
    "goad": _one_hot(goad.transformation_classifier, "GOAD"),
    "icl": _one_hot(icl.internal_contrast, "ICL"),
    "mcm": _one_hot(mcm.masked_cells, "MCM"),
    "drl": _one_hot(drl.decomposition, "DRL"),
    "isotree": Method(lambda seed, device: isotree.CategoricalForest(seed=seed), "extra"),
}


def chosen(wanted: Iterable[str], methods: Mapping[str, Method] = METHODS) -> list[str]:
    """The methods meant, in order, each once; "all" and the groups "ours", "baselines", ... stand for several.

    >>> chosen(["mlp", "ours"])
    ['mlp', 'default', 'kernel', 'mlp-paper', 'kernel-paper']
    """
    groups = {"all": list(methods)}
    for name, method in methods.items():
        groups.setdefault(method.group, []).append(name)
    named = [name for word in wanted for name in groups.get(word, [word])]
    unknown = [name for name in named if name not in methods]
    if unknown:
        known = ", ".join([*groups, *methods])
        raise SettingError(f"there is no method {unknown[0]!r}; known are {known}.")
    return list(dict.fromkeys(named))
