"""Models in a folder, and one server for all tests of this room that change nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from maskdiff import TableDetector, save

from ..conftest import make_connections
from .running import Running, serving


@pytest.fixture(scope="session")
def connections_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of network connections that needed no training."""
    path = tmp_path_factory.mktemp("made") / "connections.maskdiff"
    save(TableDetector("kernel").fit(make_connections(600, seed=7)), path)
    return path


@pytest.fixture
def folder(tmp_path: Path, connections_model: Path) -> Path:
    """A folder of its own with the model in it."""
    made = tmp_path / "models"
    made.mkdir()
    shutil.copy(connections_model, made)
    return made


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, connections_model: Path) -> Iterator[Running]:
    """A server with the usual limits."""
    made = tmp_path_factory.mktemp("served") / "models"
    made.mkdir()
    shutil.copy(connections_model, made)
    with serving(made) as running:
        yield running
