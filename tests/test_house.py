"""Promises of the package as a whole: its public names, what importing it costs, what its files do not hold."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import maskdiff

SRC = Path(__file__).resolve().parents[1] / "src"
HEAVY = ("torch", "numba", "pandas", "pyarrow", "sklearn")

# A folder that exists on one machine only: /home/..., C:\..., or a neighbour of the checkout.
MACHINE_PATH = re.compile(r"(?<![\w./-])(/(home|root|Users|work|mnt|opt|tmp)/|\.\./shared\b)|\b[A-Z]:\\[A-Za-z]")

# A flag of a command line: --format, (--text). Arrows and rules made of dashes are none.
FLAG = re.compile(r"(?<![\w<-])--[a-z][a-z-]*")


def run_python(code: str) -> str:
    """What `code` prints in a fresh interpreter."""
    path = os.pathsep.join([str(SRC), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_public_names_are_sorted_and_unique() -> None:
    assert list(maskdiff.__all__) == sorted(set(maskdiff.__all__))


def test_every_public_name_can_be_imported() -> None:
    missing = [name for name in maskdiff.__all__ if not hasattr(maskdiff, name)]
    assert missing == []


def test_every_room_but_the_command_line_is_public_and_reachable() -> None:
    found = {path.stem for path in (SRC / "maskdiff").iterdir() if not path.name.startswith((".", "__"))}
    rooms = sorted(found - {"cli", "py", "version"})
    # What Python asks where nothing has imported the room yet, as in a fresh interpreter.
    assert [maskdiff.__getattr__(room).__name__ for room in rooms] == [f"maskdiff.{room}" for room in rooms]
    assert set(rooms) <= set(maskdiff.__all__)


def test_dir_lists_every_public_name() -> None:
    assert set(maskdiff.__all__) <= set(dir(maskdiff))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        maskdiff.no_such_name  # noqa: B018


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, maskdiff; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    assert run_python(code).split() == []


def flags_in_texts(code: str) -> list[str]:
    """Flags of a command line in the texts of a module, f-strings included."""
    texts = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    return [flag for text in texts if isinstance(text, str) for flag in FLAG.findall(text)]


@pytest.mark.parametrize("code", ['raise E("say --format csv")', 'f"{x}. Say --drop {y}"', "'(--text)'"])
def test_a_flag_in_a_text_is_recognised(code: str) -> None:
    assert flags_in_texts(code)


def test_no_message_of_the_library_names_a_flag() -> None:
    """Only the command line knows its flags; the library names settings. Studies run commands, and pages show them."""
    doors = [SRC / "maskdiff" / name for name in ("cli", "bench/pages", "bench/studies")]
    files = [path for path in (SRC / "maskdiff").rglob("*.py") if not {*doors} & {*path.parents}]
    hits = {path.relative_to(SRC).as_posix(): flags_in_texts(path.read_text(encoding="utf-8")) for path in files}
    assert {name: flags for name, flags in hits.items() if flags} == {}


@pytest.mark.parametrize("line", ['open("/home/someone/rows.csv")', "see /tmp/x", r"C:\Users\x", "../shared/data"])
def test_a_path_of_one_machine_is_recognised(line: str) -> None:
    assert MACHINE_PATH.search(line)


@pytest.mark.parametrize("line", ["https://example.org/home/page", "a/b", "rows/tmp/x", "p(x|y)/work"])
def test_other_slashes_are_no_machine_path(line: str) -> None:
    assert not MACHINE_PATH.search(line)


def test_no_source_file_mentions_a_path_of_one_machine() -> None:
    files = [path for path in (SRC / "maskdiff").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    hits = {path: MACHINE_PATH.search(path.read_text(encoding="utf-8", errors="ignore")) for path in files}
    assert [f"{path.relative_to(SRC)}: {hit.group()}" for path, hit in hits.items() if hit] == []
    assert SRC / "maskdiff" / "errors.py" in hits
