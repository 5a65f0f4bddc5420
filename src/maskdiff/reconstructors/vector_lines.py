"""Arithmetic on lines of arrays, one number for each of VIEWS views, in vector instructions.

A compiled loop over the numbers of two lines is not made into vectors, since for all the compiler knows they overlap.
These functions say that they do not. They may be called in compiled loops only, which have to be compiled anew when
this file changes (see `compiled`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

# Views at once: two to eight instructions for all of them, depending on the processor.
VIEWS = 32


def _inlined(function: Callable[..., Any]) -> Any:
    return intrinsic(function)


class _Lines:
    """Lines of arrays as vectors. A loop over their numbers is not made into vectors, since lines might overlap."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context, self.builder, self.types, self.args = context, builder, signature.args, args
        self.number = ir.DoubleType() if self.types[0].dtype == types.float64 else ir.FloatType()

    def address(self, n: int) -> Any:
        """Where the line is that arguments n and n + 1, an array and a place in it, name."""
        build, place = self.builder, self.args[n + 1]
        data = self.context.make_array(self.types[n])(self.context, build, self.args[n]).data
        start = build.gep(data, [build.mul(place, ir.Constant(place.type, VIEWS))])
        return build.bitcast(start, ir.VectorType(data.type.pointee, VIEWS).as_pointer())

    def load(self, n: int) -> Any:
        """The line, in the precision of the first array."""
        line, wanted = self.builder.load(self.address(n), align=4), ir.VectorType(self.number, VIEWS)
        return line if line.type == wanted else self.builder.fpext(line, wanted)

    def broadcast(self, n: int) -> Any:
        """A line of argument n, a number."""
        index, empty = ir.IntType(32), ir.Constant(ir.VectorType(self.number, VIEWS), ir.Undefined)
        first = self.builder.insert_element(empty, self.args[n], ir.Constant(index, 0))
        return self.builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(index, VIEWS), [0] * VIEWS))

    def store(self, line: Any) -> Any:
        """Into the first array."""
        self.builder.store(line, self.address(0), align=4)
        return self.context.get_dummy_value()


@_inlined
def set_product(_: Any, out: Any, o: Any, a: Any, i: Any, b: Any, j: Any) -> Any:
    """out[o] = a[i] * b[j]."""

    def write(*given: Any) -> Any:
        lines = _Lines(*given)
        return lines.store(lines.builder.fmul(lines.load(2), lines.load(4)))

    return types.void(out, types.int64, a, types.int64, b, types.int64), write


@_inlined
def add_product(_: Any, out: Any, o: Any, a: Any, i: Any, b: Any, j: Any) -> Any:
    """out[o] += a[i] * b[j]."""

    def write(*given: Any) -> Any:
        lines = _Lines(*given)
        product = lines.builder.fmul(lines.load(2), lines.load(4), flags=("contract",))
        return lines.store(lines.builder.fadd(lines.load(0), product, flags=("contract",)))

    return types.void(out, types.int64, a, types.int64, b, types.int64), write


@_inlined
def add_scaled(_: Any, out: Any, o: Any, a: Any, i: Any, scale: Any) -> Any:
    """out[o] += scale * a[i]."""

    def write(*given: Any) -> Any:
        lines = _Lines(*given)
        scaled = lines.builder.fmul(lines.load(2), lines.broadcast(4), flags=("contract",))
        return lines.store(lines.builder.fadd(lines.load(0), scaled, flags=("contract",)))

    return types.void(out, types.int64, a, types.int64, out.dtype), write
