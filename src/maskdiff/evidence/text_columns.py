"""What the columns of free text say: one more source of evidence, about the cells of these columns alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from maskdiff.codes import Codes, Schema
from maskdiff.evidence.base import State
from maskdiff.evidence.texts.column import TextColumn
from maskdiff.evidence.texts.usual import TextChoice
from maskdiff.progress import Callback
from maskdiff.score import CellScores
from maskdiff.state import check
from maskdiff.state.tensors import Tensors, named, under

FREE_TEXT = "text"


def text_fields(schema: Schema) -> list[int]:
    """The places of the columns of free text."""
    return [at for at, field in enumerate(schema) if field.type == FREE_TEXT]


@dataclass(frozen=True, eq=False)
class TextColumns:
    """How odd each text is for its column, by the name of the column: see `TextColumn`."""

    columns: Mapping[str, TextColumn]

    @classmethod
    def choose(cls, codes: Codes, held_out: Codes) -> dict[str, TextChoice]:
        """What normal rows that were not learned from decide for each column; one that says nothing is left out."""
        names = codes.schema.names
        found = {names[at]: TextColumn.of(codes, at).choose(held_out) for at in text_fields(codes.schema)}
        return {name: choice for name, choice in found.items() if not choice.is_noise}

    @classmethod
    def of(cls, codes: Codes, choices: Mapping[str, TextChoice]) -> TextColumns:
        """Learned from normal rows, as was decided."""
        places = {codes.schema.names[at]: at for at in text_fields(codes.schema)}
        chosen = {name: choice for name, choice in choices.items() if name in places}
        return cls({name: TextColumn.of(codes, places[name]).decided(one) for name, one in chosen.items()})

    def cells(self, codes: Codes, *, stage: str, callback: Callback | None = None) -> CellScores:
        """Surprise and weight of every cell, each (N, F); no other cell than those of texts counts."""
        surprise, weight = np.zeros(codes.values.shape), np.zeros(codes.values.shape)
        for column in self.columns.values():
            surprise[:, column.at] = column.surprise(codes)
        weight[:, self.fields] = 1 / max(len(self.fields), 1)
        return CellScores(surprise, weight, own_fields=tuple(self.fields))

    @property
    def fields(self) -> list[int]:
        """The places of the columns."""
        return [column.at for column in self.columns.values()]

    def left_out(self) -> Self:
        """The same: texts are only judged where they were not learned from."""
        return self

    def describe(self) -> str:
        """What it is, in words."""
        return f"what is said in {'; '.join(map(_described, self.columns.items()))}"

    def to_state(self) -> State:
        """What was learned about each column."""
        plain: list[Any] = []
        tensors: dict[str, Tensor] = {}
        for number, (name, column) in enumerate(self.columns.items()):
            state, parts = column.to_state()
            plain.append({"column": name, "state": state})
            tensors |= named(parts, f"column{number}")
        return {"columns": plain}, tensors

    @classmethod
    def from_state(cls, plain: Any, tensors: Tensors, *, schema: Schema, device: torch.device) -> Self:
        """The source that `to_state` described."""
        check(isinstance(plain, dict) and set(plain) == {"columns"}, "it does not describe columns of texts")
        check(isinstance(plain["columns"], list) and plain["columns"], "it has no columns of texts")
        places = {schema.names[at]: at for at in text_fields(schema)}
        columns: dict[str, TextColumn] = {}
        for number, one in enumerate(plain["columns"]):
            check(isinstance(one, dict) and set(one) == {"column", "state"}, "a column of texts has no state")
            name = one["column"]
            check(isinstance(name, str) and name in places, "it has texts of a column that holds none")
            check(name not in columns, "it has a column of texts twice")
            parts = under(tensors, f"column{number}")
            columns[name] = TextColumn.from_state(places[name], one["state"], parts, schema)
        used = {f"column{number}" for number in range(len(columns))}
        check({name.split(".")[0] for name in tensors} <= used, "it holds tensors of texts that nothing uses")
        return cls(columns)


def _described(column: tuple[str, TextColumn]) -> str:
    name, learned = column
    beside = ", ".join(context.column for context in learned.contexts)
    size = len(learned.language.vocabulary)
    return f"{name} ({size:,} known words{f', compared with {beside}' if beside else ''})"
