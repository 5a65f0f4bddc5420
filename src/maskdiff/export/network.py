"""The network of a table as an ONNX graph: visible cells in, logits of every code out. R masked rows, P positions."""

from __future__ import annotations

import torch

from maskdiff.export.graph import Graph
from maskdiff.reconstructors import MLPReconstructor

_HIDDEN_PADDING = -1e4


def network_graph(reconstructor: MLPReconstructor) -> bytes:
    """The network as an ONNX file: `visible` (R, P), ones where a visible cell holds that code, to `logits` (R, P).

    Where the network reads the mask rate, it is a second input, `rate` (R, 1).
    """
    network, graph = reconstructor.network_, Graph()
    (table_PH, base_H), size = reconstructor.first_, network.layout.size
    x = graph.add("Gemm", graph.input("visible", ["R", size]), graph.weight(table_PH), graph.weight(base_H))
    if network.level is not None:
        inner = graph.linear(graph.input("rate", ["R", 1]), network.level[0])
        inner = graph.add("Mul", inner, graph.add("Sigmoid", inner))
        x = graph.add("Add", x, graph.linear(inner, network.level[2]))
    x = graph.add("Relu", x)
    for layer in network.hidden:
        x = graph.add("Relu", graph.linear(x, layer))
    bias = torch.where(network.layout.padding_P, _HIDDEN_PADDING, network.head.bias)
    return graph.content(graph.linear(x, network.head, bias), "logits", ["R", size])
