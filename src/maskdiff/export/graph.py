"""An ONNX graph in the making: operations and weights, then the bytes of a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from maskdiff.errors import MissingExtraError

# What onnxruntime has read since 2022.
_OPSET, _IR = 17, 8


class Graph:
    """Collects the operations and weights of a graph."""

    def __init__(self) -> None:
        try:
            import onnx  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("export", needs="onnx") from error
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.inputs: list[Any] = []

    def input(self, name: str, shape: Sequence[str | int], *, integer: bool = False) -> str:
        """One more input; its name."""
        from onnx import TensorProto, helper

        number = TensorProto.INT64 if integer else TensorProto.FLOAT
        self.inputs.append(helper.make_tensor_value_info(name, number, list(shape)))
        return name

    def add(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """One more operation; the name of its answer."""
        from onnx import helper

        name = f"{operation.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, list(inputs), [name], **attributes))
        return name

    def weight(self, values: Tensor) -> str:
        """A weight; its name."""
        array = np.ascontiguousarray(values.detach().cpu().float().numpy())
        return self._constant(array)

    def integers(self, *values: int) -> str:
        """A list of integers; its name."""
        return self._constant(np.array(values, dtype=np.int64))

    def scalar(self, value: int) -> str:
        """One integer; its name."""
        return self._constant(np.array(value, dtype=np.int64))

    def _constant(self, array: NDArray[Any]) -> str:
        from onnx import numpy_helper

        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def linear(self, x: str, layer: Any, bias: Tensor | None = None) -> str:
        """A linear layer."""
        weights = self.weight(layer.weight), self.weight(layer.bias if bias is None else bias)
        return self.add("Gemm", x, *weights, transB=1)

    def content(self, answer: str, name: str, shape: Sequence[str | int]) -> bytes:
        """The graph as a file that gives this answer under that name."""
        from onnx import TensorProto, helper

        self.nodes.append(helper.make_node("Identity", [answer], [name]))
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))]
        made = helper.make_graph(self.nodes, "maskdiff", self.inputs, outputs, self.weights)
        model = helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
        content: bytes = model.SerializeToString()
        return content
