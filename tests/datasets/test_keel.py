from __future__ import annotations

from pathlib import Path

import pytest

from maskdiff.datasets.keel import keel_names, load_keel
from maskdiff.errors import DataNotFoundError


def test_header_missing_cells_and_numbers_are_read(tmp_path: Path) -> None:
    rows = ["1.5, 'a', negative", "?, b, negative", "<null>, ?, positive", *["2, a, negative"] * 17]
    (tmp_path / "made.dat").write_text("@relation made\n@data\n" + "\n".join(rows))
    table, y = load_keel("made", tmp_path)
    assert table["c0"].dtype == float
    assert table["c1"].tolist()[:2] == ["a", "b"]
    assert table.isna().sum().tolist() == [2, 1]
    assert y.tolist() == [0, 0, 1] + [0] * 17


def test_the_smallest_class_is_the_anomaly_unless_the_catalogue_names_one(tmp_path: Path) -> None:
    lines = ["1,big"] * 20 + ["2,very_recom"] * 2 + ["3,recommend"]
    for name in ("nursery", "made"):
        (tmp_path / f"{name}.dat").write_text("\n".join(lines))
    table, y = load_keel("nursery", tmp_path)
    assert set(table["c0"][y == 1]) == {2}
    table, y = load_keel("made", tmp_path)
    assert set(table["c0"][y == 1]) == {3}


def test_anomalies_are_at_most_a_tenth(tmp_path: Path) -> None:
    (tmp_path / "made.dat").write_text("\n".join(["1,negative"] * 90 + ["2,positive"] * 50))
    _, y = load_keel("made", tmp_path)
    assert (len(y), y.sum()) == (100, 10)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataNotFoundError, match=r"pima\.dat"):
        load_keel("pima", tmp_path)


def test_no_table_stands_in_both_groups() -> None:
    names = keel_names()
    assert not set(names["categories"]) & set(names["numbers"])
