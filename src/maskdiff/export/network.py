"""The network of a table as an ONNX graph: visible cells in, logits of every code out. R masked rows, P positions."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from maskdiff.errors import MissingExtraError
from maskdiff.reconstructors import MLPReconstructor

# What onnxruntime has read since 2022.
_OPSET, _IR = 17, 8
_HIDDEN_PADDING = -1e4


class Graph:
    """Collects the operations and weights of a graph."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def add(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """One more operation; the name of its answer."""
        from onnx import helper

        name = f"{operation.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, list(inputs), [name], **attributes))
        return name

    def weight(self, values: Tensor) -> str:
        """A weight; its name."""
        from onnx import numpy_helper

        name = f"weight_{len(self.weights)}"
        array = np.ascontiguousarray(values.detach().cpu().float().numpy())
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def linear(self, x: str, layer: Any, bias: Tensor | None = None) -> str:
        """A linear layer."""
        weights = self.weight(layer.weight), self.weight(layer.bias if bias is None else bias)
        return self.add("Gemm", x, *weights, transB=1)


def network_graph(reconstructor: MLPReconstructor) -> bytes:
    """The network as an ONNX file: `visible` (R, P), ones where a visible cell holds that code, to `logits` (R, P).

    Where the network reads the mask rate, it is a second input, `rate` (R, 1).
    """
    try:
        from onnx import TensorProto, helper
    except ImportError as error:
        raise MissingExtraError("export", needs="onnx") from error
    network, graph = reconstructor.network_, Graph()
    (table_PH, base_H), size = reconstructor.first_, network.layout.size
    inputs = [helper.make_tensor_value_info("visible", TensorProto.FLOAT, ["R", size])]
    x = graph.add("Gemm", "visible", graph.weight(table_PH), graph.weight(base_H))
    if network.level is not None:
        inputs.append(helper.make_tensor_value_info("rate", TensorProto.FLOAT, ["R", 1]))
        inner = graph.linear("rate", network.level[0])
        inner = graph.add("Mul", inner, graph.add("Sigmoid", inner))
        x = graph.add("Add", x, graph.linear(inner, network.level[2]))
    x = graph.add("Relu", x)
    for layer in network.hidden:
        x = graph.add("Relu", graph.linear(x, layer))
    bias = torch.where(network.layout.padding_P, _HIDDEN_PADDING, network.head.bias)
    graph.nodes.append(helper.make_node("Identity", [graph.linear(x, network.head, bias)], ["logits"]))
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["R", size])]
    made = helper.make_graph(graph.nodes, "maskdiff", inputs, outputs, graph.weights)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR)
    content: bytes = model.SerializeToString()
    return content
