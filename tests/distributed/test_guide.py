"""What the guide shows of clusters works."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from ..conftest import make_connections
from ..test_docs import ROOT, read_page, run_page


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with the files that the pages name."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(model, "claims.maskdiff")
    for folder in map(Path, ("in", "history", "claims")):
        folder.mkdir()
        for number in range(3):
            make_connections(200, seed=number).to_parquet(folder / f"rows{number}.parquet")


def test_a_dataset_and_files_are_scored_as_the_guide_says(cluster: str) -> None:
    run_page(ROOT / "docs" / "cluster.md", skipping=False)
    assert len(list(Path("out").glob("*.parquet"))) == 3
    assert "anomaly_score" in pd.read_parquet("scored").columns


@pytest.mark.usefixtures("without_ray", "hardly_trained")
def test_files_are_learned_from_and_searched_as_the_reference_says() -> None:
    *_, block = read_page(ROOT / "docs" / "reference" / "doors.md", skipping=False)
    block.evaluate()
    assert len(pd.read_csv("found.csv")) >= 100
