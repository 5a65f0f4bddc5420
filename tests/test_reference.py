"""Pages of the reference that name things of the package: what they name is there, and nothing is missing."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

from maskdiff import errors
from maskdiff.jobs.cells import CELL_SCHEMA
from maskdiff.jobs.verdict_columns import VerdictColumns

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"


def named_in(page: str) -> set[str]:
    """What stands between backticks on a page."""
    return set(re.findall(r"`([^`\n]+)`", (REFERENCE / page).read_text()))


def test_every_column_that_is_written_is_explained() -> None:
    written = set(CELL_SCHEMA.names)
    for places in ((), ("position",), ("start", "end")):
        columns = VerdictColumns(pa.schema([]), 1, "", places, rules=True, oddity=not places)
        written |= set(columns.schema.names)
    assert written - named_in("columns.md") == set()


def test_every_error_and_warning_is_on_the_page() -> None:
    raised = {name for name, one in vars(errors).items() if inspect.isclass(one)}
    bases = {"MaskdiffError", "MaskdiffWarning"}
    page = (REFERENCE / "troubleshooting.md").read_text()
    assert {name for name in raised - bases if name not in page} == set()


@cache
def texts_of_the_source() -> str:
    """Every text in the source; a blank control character stands for what an f-string fills in."""
    return "\n".join(text for path in (ROOT / "src").rglob("*.py") for text in texts_in(ast.parse(path.read_text())))


def texts_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def messages() -> list[str]:
    page = (REFERENCE / "troubleshooting.md").read_text()
    return [line.split("`")[1] for line in page.splitlines() if line.startswith("| `") and " " in line.split("`")[1]]


@pytest.mark.parametrize("message", messages())
def test_a_message_on_the_page_is_one_the_source_can_give(message: str) -> None:
    parts = [part.strip() for part in message.split("...") if part.strip(" ;:,")]
    assert [part for part in parts if part not in texts_of_the_source()] == []


def test_the_glossary_is_sorted() -> None:
    terms = re.findall(r"^\| \*\*([^*]+)\*\*", (REFERENCE / "glossary.md").read_text(), re.MULTILINE)
    assert len(terms) > 30
    assert terms == sorted(terms)
