"""The package as it is released: built, checked, installed from the wheel into an environment of its own, and tried.

Nothing is downloaded: the environment sees the libraries of this one, but not the checkout.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from pathlib import Path

import pytest

import maskdiff

pytest.importorskip("build", reason="the tools that build the package are not installed")
ROOT = Path(__file__).resolve().parents[1]
NEEDED = ["src", "README.md", "LICENSE", "pyproject.toml", "MANIFEST.in", "CHANGELOG.md", "CITATION.cff", "examples"]


def run(*command: str, cwd: Path) -> str:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the source distribution, built from a copy of the checkout."""
    copy, out = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("dist")
    for name in NEEDED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(ROOT / name, copy / name)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(copy), cwd=copy)
    return out


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel in it, which borrows all other libraries."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, symlinks=True)
    own = Path(sysconfig.get_path("purelib", "venv", {"base": str(home), "platbase": str(home)}))
    (own / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (wheel,) = built.glob("*.whl")
    python = home / "bin" / "python"
    options = ["--no-deps", "--no-index", "--no-compile", "--force-reinstall", "--quiet"]
    run(str(python), "-m", "pip", "install", "--prefix", str(home), *options, str(wheel), cwd=home)
    return home / "bin"


def test_the_lowest_versions_are_those_that_the_package_allows() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    allowed = dict(line.split(">=") for line in project["dependencies"])
    pins = [line for line in (ROOT / "constraints-lowest.txt").read_text().splitlines() if "==" in line]
    pinned = {name.lower(): version for name, version in (line.split("==") for line in pins)}
    assert pinned.keys() == allowed.keys()
    assert [name for name in allowed if not f"{pinned[name]}.0".startswith(f"{allowed[name]}.")] == []


def test_the_wheel_and_the_source_distribution_are_named_by_the_one_version(built: Path) -> None:
    version = maskdiff.__version__
    names = {path.name for path in built.iterdir()}
    assert names == {f"maskdiff-{version}-py3-none-any.whl", f"maskdiff-{version}.tar.gz"}


def test_what_is_uploaded_is_checked(built: Path) -> None:
    pytest.importorskip("twine", reason="the tools that check the package are not installed")
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, built.iterdir()), cwd=built)


def test_the_source_distribution_holds_what_a_test_of_it_needs(built: Path) -> None:
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"CHANGELOG.md", "CITATION.cff", "examples/smiles.py", "src/maskdiff/datasets/catalog.toml"} <= names


def test_the_installed_package_is_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = "import maskdiff; print(maskdiff.__version__, maskdiff.__file__)"
    version, place = run(str(installed / "python"), "-c", code, cwd=tmp_path).split()
    assert version == maskdiff.__version__
    assert Path(place).is_relative_to(installed.parent)
    assert run(str(installed / "maskdiff"), "--version", cwd=tmp_path) == f"maskdiff {version}\n"


def test_the_installed_command_finds_odd_rows(installed: Path, tmp_path: Path) -> None:
    rows = ["city,country", *["Oslo,NO", "Bergen,NO", "Leeds,GB"] * 15, "Oslo,GB"]
    (tmp_path / "orders.csv").write_text("\n".join(rows) + "\n")
    run(str(installed / "maskdiff"), "find", "orders.csv", "-o", "found.csv", "--reconstructor", "kernel", cwd=tmp_path)
    header, first, *_ = (tmp_path / "found.csv").read_text().splitlines()
    assert header.startswith("city,country,row,anomaly_score")
    assert first.startswith("Oslo,GB,46,")
