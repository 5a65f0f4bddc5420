"""The Python reference: every public name is on one of its pages, and has an example that runs.

An example is a doctest of the name itself or of one of its methods, or code that uses it on a page of the guide
(tests/test_docs.py runs both).
"""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import maskdiff

DOCS = Path(__file__).resolve().parents[1] / "docs"
ROOMS = [name for name in maskdiff.__all__ if isinstance(getattr(maskdiff, name), ModuleType)]
FENCE = re.compile(r"^( *)```python\n(.*?)^\1```", re.DOTALL | re.MULTILINE)


def names_of(room: ModuleType) -> list[str]:
    """What a room offers: its `__all__`, or the classes and functions it defines."""
    if hasattr(room, "__all__"):
        return list(room.__all__)
    own = {name for name, one in vars(room).items() if getattr(one, "__module__", "") == room.__name__}
    return sorted(name for name in own if not name.startswith("_") and callable(getattr(room, name)))


PUBLIC = [(room, name) for room in ROOMS for name in names_of(getattr(maskdiff, room))]


def is_called(room: str, name: str) -> bool:
    one = getattr(getattr(maskdiff, room), name)
    return inspect.isclass(one) or inspect.isfunction(one)


CALLED = [(room, name) for room, name in PUBLIC if is_called(room, name)]


@cache
def reference() -> str:
    return "\n".join(page.read_text() for page in sorted((DOCS / "reference").glob("*.md")))


@cache
def used_in_examples() -> set[str]:
    """Every name that code on a page of the guide uses."""
    texts = [page.read_text() for page in DOCS.rglob("*.md")]
    return {name for text in texts for _, code in FENCE.findall(text) for name in names_in(textwrap.dedent(code))}


def names_in(code: str) -> Iterator[str]:
    if code.startswith(">>>"):
        code = "".join(example.source for example in doctest.DocTestParser().get_examples(code))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Name | ast.Attribute):
            yield node.id if isinstance(node, ast.Name) else node.attr


def docstrings(one: Any) -> Iterator[str]:
    yield one.__doc__ or ""
    if inspect.isclass(one):
        for name, member in vars(one).items():
            if not name.startswith("_"):
                yield getattr(member, "__doc__", None) or ""


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_is_on_a_page(room: str) -> None:
    assert re.search(rf"^::: maskdiff\.{room}$", reference(), re.MULTILINE)


def test_every_name_at_the_front_door_is_on_a_page_or_in_a_room_that_is() -> None:
    in_rooms = {name for _, name in PUBLIC}
    alone = set(re.findall(r"^::: maskdiff\.(\w+)$", reference(), re.MULTILINE))
    assert set(maskdiff.__all__) - in_rooms - alone == set()


def test_every_constant_is_named() -> None:
    constants = {name for room, name in PUBLIC if (room, name) not in CALLED}
    assert {name for name in constants if f"`{name}`" not in reference()} == set()


@pytest.mark.parametrize(("room", "name"), CALLED, ids=[".".join(one) for one in CALLED])
def test_a_public_name_says_what_it_is_and_has_an_example(room: str, name: str) -> None:
    one = getattr(getattr(maskdiff, room), name)
    texts = list(docstrings(one))
    assert texts[0].strip()
    assert any(">>> " in text for text in texts) or name in used_in_examples()
