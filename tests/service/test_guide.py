"""What the guide shows of the client works with a service."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import maskdiff.client

from ..test_docs import ROOT, read_page
from .running import PATIENCE, Running


def test_the_client_of_the_guide(server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Here(maskdiff.client.Client):
        def __init__(self, url: str, **settings: Any) -> None:
            assert url == "http://127.0.0.1:8000"
            super().__init__(server.url, seconds=PATIENCE, **settings)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(maskdiff.client, "Client", Here)
    first, second = read_page(ROOT / "docs" / "service.md", skipping=False)
    first.evaluate()
    shutil.copy("pets.maskdiff", server.folder)
    second.evaluate()
    assert Path("scored.parquet").exists()
    assert second.namespace["job"]["state"] == "done"
