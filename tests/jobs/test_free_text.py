"""Files with a column of free text: fitted in batches, scored with reasons."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.datasets.claim_notes import claim_notes
from maskdiff.errors import TextColumnWarning
from maskdiff.jobs import ColumnOptions, ScoreOptions, fit_file, score_file

KERNEL = TableDetector("kernel", progress=False)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """300 claims, and three to be scored, the second with an odd note."""
    folder, rng = tmp_path_factory.mktemp("claims"), np.random.default_rng(0)
    issue = rng.choice(["Flat Tyres", "Windscreen Crack"], 300)
    rows = pd.DataFrame({"issue": issue, "note": claim_notes(issue.tolist(), rng)})
    rows.to_csv(folder / "normal.csv", index=False)
    new = rows[:3].assign(note=[rows["note"][0], "Stone hit qzxv wwkjq, photos were sent.", ""])
    new.to_csv(folder / "new.csv", index=False)
    return str(folder / "normal.csv"), str(folder / "new.csv")


def test_reasons_of_scored_rows_quote_the_note(files: tuple[str, str], tmp_path: Path) -> None:
    with pytest.warns(TextColumnWarning):
        detector = fit_file(files[0], detector=KERNEL)
    out = tmp_path / "scored.csv"
    score_file(detector, files[1], str(out), ScoreOptions(explain=1))
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[1]["is_anomaly"] == "true"
    assert rows[1]["reason_1"].startswith("note = Stone hit [[qzxv]] [[wwkjq]]")
    assert "expected" not in rows[1]["reason_1"]


def test_a_column_can_be_named_as_free_text(files: tuple[str, str]) -> None:
    detector = fit_file(files[0], detector=KERNEL, columns=ColumnOptions(text=["note"]))
    assert detector.encoder_.summary()[1]["type"] == "text"
