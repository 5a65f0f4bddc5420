"""What the README, the guide and the examples show is run, so it cannot rot.

The blocks of one page share their names and run in order, as one test, in an empty folder. Console blocks run their
commands and compare what is printed; any number stands for any other, and a line of dots for any lines. A block that
cannot run everywhere is preceded by `<!--- skip: next if(condition, reason="...") -->`; those that need a service or a
cluster are run by tests/service and tests/distributed. Doctests of src are collected by pytest.
"""

from __future__ import annotations

import doctest
import re
import runpy
import shlex
import shutil
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from unittest import SkipTest
from unittest.mock import patch

import pytest
from sybil import Document, Example
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

from maskdiff.bench.runs.methods import METHODS

from .cli.running import call

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("**/*.md"))]
# What these pages show is what a network finds once it has learned.
TRAINED = {ROOT / "docs" / "cells.md"}
OTHER_ENGINES = ROOT / "docs" / "other-engines.md"
# What pages on other engines need, None where it is not here.
ENGINES = {
    "dask": lambda: find_spec("dask") and find_spec("pandas"),
    "isotree": lambda: find_spec("isotree"),
    "spark": lambda: find_spec("pyspark") and shutil.which("java"),
}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run_console(example: Example) -> None:
    """Run each `$ maskdiff ...` line and compare what it prints with the lines below it.

    In this process: that the command starts in one of its own is for tests/cli, and takes seconds each time.
    """
    for block in example.parsed.split("$ ")[1:]:
        command, _, shown = block.partition("\n")
        program, *arguments = shlex.split(command)
        assert program == "maskdiff", f"only maskdiff is run here, not {program}"
        said = call(*arguments)
        printed = said.out + "".join(line for line in said.err.splitlines(True) if not line.startswith("note:"))
        assert re.fullmatch(pattern_of(shown), plain(printed)), f"{command} printed:\n{printed}"


def plain(text: str) -> str:
    """Without numbers, bars and trailing blanks."""
    lines = re.sub(r"[█▏▎▍▌▋▊▉]+", "", re.sub(r"\d[\d,.]*", "#", text)).splitlines()
    return "\n".join(re.sub(r" +", " ", line).strip() for line in lines).strip()


def pattern_of(shown: str) -> str:
    return (
        re.escape(plain(shown)).replace(re.escape("...") + "\\\n", r"(?:.*\n)*?").replace(re.escape("..."), r"[\s\S]*")
    )


def read_page(page: Path, *, skipping: bool = True) -> Document:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    parsers = [PythonCodeBlockParser(doctest_optionflags=flags), CodeBlockParser("console", run_console)]
    document = Document.parse(str(page), *parsers, *([SkipParser()] if skipping else []))
    document.namespace["__name__"] = page.stem
    document.namespace |= {name: here() for name, here in ENGINES.items()}
    return document


def run_page(page: Path, *, skipping: bool = True) -> int:
    """Run the page's blocks in order, without `skipping` also those that need more than Python; how many ran."""
    ran = 0
    for example in read_page(page, skipping=skipping):
        try:
            example.evaluate()
        except SkipTest:
            continue
        ran += 1
    return ran


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    if page not in TRAINED:
        request.getfixturevalue("hardly_trained")
    if page == OTHER_ENGINES:
        warnings.simplefilter("ignore")  # Spark and a pandas that is newer than it warn of each other
    with patch.dict(METHODS):
        run_page(page)


def test_the_readme_shows_python() -> None:
    assert list(read_page(ROOT / "README.md"))


@pytest.mark.parametrize("wrong", ["raise RuntimeError('no')", ">>> 1 + 1\n3"], ids=["block", "doctest"])
def test_a_wrong_block_is_noticed(wrong: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n```python\n{wrong}\n```\n")
    with pytest.raises((RuntimeError, AssertionError)):
        run_page(page)


@pytest.mark.parametrize("shown", ["maskdiff 9.9\nmore", "something else"])
def test_a_console_block_that_shows_something_else_is_noticed(shown: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```console\n$ maskdiff --version\n{shown}\n```\n")
    with pytest.raises(AssertionError, match="printed"):
        run_page(page)


def test_blocks_of_a_page_share_their_names(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nx = 1\n```\n\ntext\n\n```python\n>>> x + 1\n2\n```\n")
    assert run_page(page) == 2


@pytest.mark.usefixtures("hardly_trained")
@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_every_example_runs(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example)])
    runpy.run_path(str(example), run_name="__main__")
