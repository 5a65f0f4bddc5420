"""The same texts in every format, and as a DataFrame, are read the same way and give the same scores."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.errors import MaskdiffWarning
from maskdiff.jobs import fit_file, score_file

from .case import Case
from .catalog import TABLES

NEW_ROWS = 25


def write_csv(rows: pd.DataFrame, path: Path) -> None:
    rows.to_csv(path, index=False)


def write_parquet(rows: pd.DataFrame, path: Path) -> None:
    rows.to_parquet(path, index=False)


def write_jsonl(rows: pd.DataFrame, path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows.to_dict("records")))


def write_json(rows: pd.DataFrame, path: Path) -> None:
    path.write_text(json.dumps(rows.to_dict("records")))


def write_xlsx(rows: pd.DataFrame, path: Path) -> None:
    rows.to_excel(path, index=False)


FORMATS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    "parquet": write_parquet,
    "jsonl": write_jsonl,
    "json": write_json,
    "xlsx": write_xlsx,
}


def everything(n: int) -> pd.DataFrame:
    """All columns of this many cells, of all cases, side by side; the texts of a cell that is empty are "" there."""
    chosen = [case for case in TABLES if case.n_rows == n and not case.missing]
    return pd.DataFrame({f"{case.name}.{name}": cells for case in chosen for name, cells in own(case).items()})


def own(case: Case) -> dict[str, list[str]]:
    """The columns that the case is about, which are its first ones."""
    return dict(list(case.texts.items())[:1]) if len(case.columns) < 4 else case.texts


def learned(detector: Any) -> dict[str, tuple[Any, Any]]:
    """What each column was read as, or why it was left out."""
    return {column["name"]: (column["type"], column["left_out"]) for column in detector.encoder_.summary()}


def fitted(rows: pd.DataFrame, folder: Path, ending: str) -> tuple[Any, Any]:
    """A detector that learned from the rows in this format, and its scores of the first rows in this format."""
    write = {"csv": write_csv, **FORMATS}[ending]
    normal, new, scored = folder / f"normal.{ending}", folder / f"new.{ending}", folder / f"scored_{ending}.parquet"
    write(rows, normal)
    write(rows.head(NEW_ROWS), new)
    detector = fit_file(str(normal), detector=TableDetector("kernel"))
    score_file(detector, str(new), str(scored))
    return detector, pd.read_parquet(scored)["anomaly_score"].to_numpy()


@pytest.fixture(scope="module", params=sorted({case.n_rows for case in TABLES}))
def rows(request: pytest.FixtureRequest) -> pd.DataFrame:
    return everything(request.param)


@pytest.fixture(scope="module")
def from_csv(rows: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MaskdiffWarning)
        return fitted(rows, tmp_path_factory.mktemp("csv"), "csv")


@pytest.mark.filterwarnings("ignore::maskdiff.errors.MaskdiffWarning")
@pytest.mark.parametrize("ending", FORMATS)
def test_a_file_of_another_format_gives_the_same_answer(
    ending: str, rows: pd.DataFrame, from_csv: tuple[Any, Any], tmp_path: Path
) -> None:
    detector, scores = fitted(rows, tmp_path, ending)
    assert learned(detector) == learned(from_csv[0])
    np.testing.assert_allclose(scores, from_csv[1], rtol=1e-6)


@pytest.mark.filterwarnings("ignore::maskdiff.errors.MaskdiffWarning")
@pytest.mark.parametrize("dtype", [object, "string"], ids=["objects", "strings"])
def test_a_dataframe_gives_the_same_answer(dtype: Any, rows: pd.DataFrame, from_csv: tuple[Any, Any]) -> None:
    detector = TableDetector("kernel").fit(rows.astype(dtype))
    assert learned(detector) == learned(from_csv[0])
    np.testing.assert_allclose(detector.anomaly_score(rows.astype(dtype).head(NEW_ROWS)), from_csv[1], rtol=1e-6)


@pytest.mark.filterwarnings("ignore::maskdiff.errors.MaskdiffWarning")
@pytest.mark.parametrize("ending", FORMATS)
def test_numbers_that_are_dates_give_the_same_answer_as_numbers_and_as_texts(ending: str, tmp_path: Path) -> None:
    moments = pd.date_range("2024-01-01", periods=60, freq="31h")
    seconds = moments.astype("datetime64[s]").astype(np.int64)
    rows = pd.DataFrame({"created_at": seconds, "booked": moments.strftime("%Y%m%d").astype(np.int64), "n": range(60)})
    detector, scores = fitted(rows, tmp_path, ending)
    expected, wanted = fitted(rows, tmp_path, "csv")
    assert learned(detector) == learned(expected)
    np.testing.assert_allclose(scores, wanted, rtol=1e-6)
