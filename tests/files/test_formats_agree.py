"""The same texts in every format, and as a DataFrame, are read the same way and give the same scores."""

from __future__ import annotations

import json
import sqlite3
import warnings
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector
from maskdiff.errors import MaskdiffWarning
from maskdiff.io import open_rows
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


# More ways to have the same texts. Each writes into an empty folder, and says how the input is called.


def in_sqlite(rows: pd.DataFrame, folder: Path) -> str:
    with closing(sqlite3.connect(folder / "rows.db")) as database:
        rows.to_sql("rows", database, index=False)
    return f"sqlite:///{folder}/rows.db"


def in_duckdb(rows: pd.DataFrame, folder: Path) -> str:
    with duckdb.connect(str(folder / "rows.duckdb")) as database:
        database.register("given", rows)
        database.execute("create table rows as select * from given")
    return str(folder / "rows.duckdb")


def in_a_titled_sheet(rows: pd.DataFrame, folder: Path) -> str:
    with pd.ExcelWriter(folder / "rows.xlsx") as book:
        rows.to_excel(book, sheet_name="rows", index=False, startrow=3)
        book.book["rows"]["A1"] = "All rows"
        rows.head(1).to_excel(book, sheet_name="more", index=False)
    return str(folder / "rows.xlsx")


def in_a_folder(rows: pd.DataFrame, folder: Path) -> str:
    rows.head(20).to_csv(folder / "1.csv", index=False, encoding="utf-16")
    rows.iloc[20:, ::-1].to_csv(folder / "2.csv.gz", index=False)
    return str(folder)


def in_a_zip(rows: pd.DataFrame, folder: Path) -> str:
    with zipfile.ZipFile(folder / "rows.zip", "w") as packed:
        packed.writestr("rows.csv", rows.to_csv(index=False, sep=";", lineterminator="\r\n").encode("utf-16-le"))
    return str(folder / "rows.zip")


SOURCES = [in_sqlite, in_duckdb, in_a_titled_sheet, in_a_folder, in_a_zip]


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


@pytest.mark.filterwarnings("ignore::maskdiff.errors.MaskdiffWarning")
@pytest.mark.parametrize("make", SOURCES, ids=lambda make: make.__name__)
def test_any_other_source_holds_the_same_texts(
    make: Callable[[pd.DataFrame, Path], str], rows: pd.DataFrame, tmp_path: Path
) -> None:
    with open_rows(make(rows, tmp_path)) as file:
        read = pd.concat([batch.to_pandas() for batch in file.batches()], ignore_index=True)
    blank = {"to_replace": r"^\s+$", "value": "", "regex": True}  # workbooks do not keep cells of blanks alone
    pd.testing.assert_frame_equal(read.fillna("").replace(**blank), rows.replace(**blank), check_dtype=False)
