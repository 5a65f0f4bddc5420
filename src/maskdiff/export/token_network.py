"""The transformer as an ONNX graph: shown tokens in, states of the hidden ones out.

R masked rows of one length, F positions, H width, D half the width of a head, M hidden positions.
"""

from __future__ import annotations

import math
from typing import Any, cast

import torch

from maskdiff.export.graph import Graph
from maskdiff.reconstructors import TransformerReconstructor
from maskdiff.reconstructors.transformer import Block, rotation_speed


def token_graph(reconstructor: TransformerReconstructor) -> bytes:
    """The network as an ONNX file: `states` (M, H), from which the rows of the codes give the logits.

    Inputs: `shown` (R, F), the code of each visible token and the number of codes elsewhere; `position` (F,), from 0
    on; `places` (M,), the hidden positions, counted over all rows; `rate` (R, 1) where the network reads it.
    """
    network, graph = reconstructor.network_, Graph()
    shown, position = graph.input("shown", ["R", "F"], integer=True), graph.input("position", ["F"], integer=True)
    places = graph.input("places", ["M"], integer=True)
    x = graph.add("Gather", graph.weight(network.tokens.weight), shown)
    turn = None
    if network.places is None:
        turn = _rotation(graph, position, network.head_width)
    else:
        x = graph.add("Add", x, graph.add("Gather", graph.weight(network.places.weight), position))
    if network.level is not None:
        inner = graph.linear(graph.input("rate", ["R", 1]), network.level[0])
        inner = graph.linear(graph.add("Mul", inner, graph.add("Sigmoid", inner)), network.level[2])
        x = graph.add("Add", x, graph.add("Unsqueeze", inner, graph.integers(1)))
    *first, last = cast(list[Block], list(network.blocks))
    for block in first:
        x = _feed(graph, block, _attend(graph, block, x, turn))
    x = graph.add("Reshape", _attend(graph, last, x, turn), graph.integers(-1, reconstructor.width))
    x = _feed(graph, last, graph.add("Gather", x, places))
    return graph.content(_norm(graph, network.norm, x), "states", ["M", reconstructor.width])


def _rotation(graph: Graph, position: str, width: int) -> tuple[str, str]:
    """Cosine and sine of the angle of each pair of numbers at each position, each (F, D)."""
    number = graph.add("Unsqueeze", graph.add("Cast", position, to=1), graph.integers(1))
    angle = graph.add("Mul", number, graph.weight(rotation_speed(width, torch.device("cpu"))))
    return graph.add("Cos", angle), graph.add("Sin", angle)


def _turned(graph: Graph, x: str, turn: tuple[str, str], half: int) -> str:
    cos, sin = turn
    first = graph.add("Slice", x, graph.integers(0), graph.integers(half), graph.integers(3))
    second = graph.add("Slice", x, graph.integers(half), graph.integers(2 * half), graph.integers(3))
    left = graph.add("Sub", graph.add("Mul", first, cos), graph.add("Mul", second, sin))
    right = graph.add("Add", graph.add("Mul", first, sin), graph.add("Mul", second, cos))
    return graph.add("Concat", left, right, axis=3)


def _attend(graph: Graph, block: Block, x: str, turn: tuple[str, str] | None) -> str:
    """Every position looks at all of its row, (R, F, H)."""
    width = block.mix_out.out_features // block.heads
    mixed = _dense(graph, _norm(graph, block.norm_in, x), block.mix_in)
    mixed = graph.add("Reshape", mixed, graph.integers(0, 0, 3, block.heads, width))
    mixed = graph.add("Transpose", mixed, perm=[2, 0, 3, 1, 4])  # query, key, value, each (R, heads, F, 2 D)
    query, key, value = (graph.add("Gather", mixed, graph.scalar(at), axis=0) for at in range(3))
    if turn is not None:
        query, key = (_turned(graph, one, turn, width // 2) for one in (query, key))
    scaled = graph.add("Mul", query, graph.weight(torch.tensor(1 / math.sqrt(width))))
    attention = graph.add("MatMul", scaled, graph.add("Transpose", key, perm=[0, 1, 3, 2]))
    seen = graph.add("MatMul", graph.add("Softmax", attention, axis=-1), value)
    seen = graph.add("Reshape", graph.add("Transpose", seen, perm=[0, 2, 1, 3]), graph.integers(0, 0, -1))
    return graph.add("Add", x, _dense(graph, seen, block.mix_out))


def _feed(graph: Graph, block: Block, x: str) -> str:
    """Each position on its own, (..., H)."""
    inner = _dense(graph, _norm(graph, block.norm_out, x), block.up)
    part = graph.add("Erf", graph.add("Mul", inner, graph.weight(torch.tensor(math.sqrt(0.5)))))
    half = graph.add("Mul", inner, graph.weight(torch.tensor(0.5)))
    inner = graph.add("Add", half, graph.add("Mul", half, part))
    return graph.add("Add", x, _dense(graph, inner, block.down))


def _dense(graph: Graph, x: str, layer: Any) -> str:
    """A linear layer over the last axis, however many there are."""
    return graph.add("Add", graph.add("MatMul", x, graph.weight(layer.weight.T)), graph.weight(layer.bias))


def _norm(graph: Graph, layer: Any, x: str) -> str:
    weights = graph.weight(layer.weight), graph.weight(layer.bias)
    return graph.add("LayerNormalization", x, *weights, axis=-1, epsilon=layer.eps)
