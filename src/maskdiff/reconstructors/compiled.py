"""Loops that numba compiles when they are first called. Only modules that `loops.load_loops` loads import this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

_Loop = TypeVar("_Loop", bound=Callable[..., object])


def compiled(loop: _Loop) -> _Loop:
    """The loop as machine code that other threads need not wait for; products and sums may be fused.

    The code is kept on disk, where a folder can be written to, so that it is compiled once on a machine. What is kept
    is renewed when the file of the loop changes; a change of another file that the loop calls is not noticed.
    """
    settings: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    try:
        return cast(_Loop, numba.njit(cache=True, **settings)(loop))
    except RuntimeError:  # no such folder
        return cast(_Loop, numba.njit(**settings)(loop))
