from __future__ import annotations

import re
from pathlib import Path

import pytest

from maskdiff import datasets
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


def test_no_table_stands_in_two_groups() -> None:
    named = [name for names in keel_names().values() for name in names]
    assert len(named) == len(set(named))


def test_tables_held_out_come_from_other_sources_than_those_choices_were_made_on() -> None:
    """KEEL cuts one source into several tables, such as glass0, glass2 and glass-0-4_vs_5."""
    groups = keel_names()
    used = {_source(name) for name in [*groups["categories"], *groups["numbers"], *datasets.names()]}
    assert not used & {_source(name) for name in groups["held_out"]}


def _source(name: str) -> str:
    return re.split(r"[-\d]", name)[0]
