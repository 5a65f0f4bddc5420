"""Checks on the tensors of a model file, and networks rebuilt from them without trusting a claimed size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.overrides import TorchFunctionMode

from maskdiff.state.types import check

Tensors = Mapping[str, Tensor]
Network = TypeVar("Network", bound=nn.Module)

# Training never comes near this; beyond it a few layers overflow to infinity, and scores become NaN.
LARGEST_WEIGHT = 1e6


def under(tensors: Tensors, name: str) -> dict[str, Tensor]:
    """The tensors whose names begin with `name.`, by the rest of their names."""
    return {key.removeprefix(f"{name}."): one for key, one in tensors.items() if key.startswith(f"{name}.")}


def named(tensors: Tensors, name: str) -> dict[str, Tensor]:
    """The same tensors, each as `name.` and its own name."""
    return {f"{name}.{key}": one for key, one in tensors.items()}


def check_names(tensors: Tensors, *names: str) -> None:
    """Refuse tensors that are missing or that nothing uses."""
    wrong = sorted(set(tensors) ^ set(names))
    check(not wrong, f"it lacks, or should not hold, the tensors {', '.join(wrong[:3])}")


def check_tensor(name: str, tensor: Tensor, shape: tuple[int | None, ...], *types: torch.dtype) -> Tensor:
    """This tensor, if it has this shape (None: any length above 0), one of these types and finite numbers only."""
    lengths = len(tensor.shape) == len(shape) and all(
        n > 0 if wanted is None else n == wanted for n, wanted in zip(tensor.shape, shape, strict=True)
    )
    check(lengths, f"the tensor {name} has the shape {tuple(tensor.shape)}")
    check(tensor.dtype in types, f"the tensor {name} holds {tensor.dtype}")
    check_finite(name, tensor)
    return tensor


def check_finite(name: str, tensor: Tensor, largest: float = LARGEST_WEIGHT) -> None:
    """Refuse NaN, infinity and numbers that would become infinite."""
    if tensor.is_floating_point() and tensor.numel():
        check(bool((tensor.abs() <= largest).all()), f"the tensor {name} holds NaN or numbers above {largest:g}")


def rebuilt(build: Callable[[], Network], tensors: Tensors) -> Network:
    """The network that `build` makes, holding these tensors."""
    with without_memory(tensors):
        network = build()
    check_weights(network.state_dict(), tensors)
    network.load_state_dict({name: one.clone() for name, one in tensors.items()}, assign=True)
    return network.requires_grad_(False)


def check_weights(wanted: Tensors, tensors: Tensors) -> None:
    """Refuse tensors that differ from the wanted ones in names, shapes or types, or are not finite."""
    check_names(tensors, *wanted)
    for name, one in wanted.items():
        check_tensor(name, tensors[name], tuple(one.shape), one.dtype)


@contextmanager
def without_memory(tensors: Tensors) -> Iterator[None]:
    """Networks made here take no memory for their weights, and have hardly more weights than there are tensors.

    A file may claim a width or a number of layers of any size: what does not match its tensors is refused before
    memory is taken. Weights that share memory are stored once, hence twice the number.
    """
    n_made = 0

    def count(module: nn.Module, name: str, weight: nn.Parameter | None) -> None:
        nonlocal n_made
        n_made += 1
        check(n_made <= 2 * len(tensors) + 100, "it describes a network with more weights than it holds")

    handle = register_module_parameter_registration_hook(count)
    try:
        with torch.device("meta"), _Unfilled():
            yield
    except (RuntimeError, OverflowError) as error:  # a size that not even a tensor without memory can have
        check(False, f"it describes a network that cannot be made ({error})"[:200])
    finally:
        handle.remove()


class _Unfilled(TorchFunctionMode):
    """Weights without memory get no starting values: to draw them, torch would load its compiler, for a second."""

    _FILLING = frozenset({Tensor.normal_, Tensor.uniform_, Tensor.mul_, Tensor.div_, nn.init.normal_, nn.init.uniform_})

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in self._FILLING:
            return args[0] if args else kwargs["tensor"]
        return function(*args, **(kwargs or {}))
