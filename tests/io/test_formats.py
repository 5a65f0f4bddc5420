"""Promises of every format: what was written is read back, and what makes no sense is refused."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from maskdiff.errors import InputError, SettingError
from maskdiff.io import format_of, open_rows

from .written import csv_file, texts, write

FORMATS = ["rows.csv", "rows.csv.gz", "rows.tsv", "rows.parquet", "rows.jsonl", "rows.jsonl.gz", "rows.arrow"]


@pytest.mark.parametrize("name", FORMATS)
def test_texts_come_back_from_every_format(name, tmp_path):
    table = pa.table({"a b": ["x", None, 'q"uo,te'], "c": ["é\n2", " 7 ", "=1"]})
    write(tmp_path / name, table)
    assert texts(tmp_path / name).to_pylist() == table.to_pylist()


@pytest.mark.parametrize("name", ["rows.parquet", "rows.jsonl", "rows.arrow"])
def test_numbers_booleans_and_missing_cells_come_back_from_formats_with_types(name, tmp_path):
    table = pa.table({"n": [1, None, 3], "x": [0.1, 1e300, None], "b": [True, None, False], "t": [None, "a", "b"]})
    write(tmp_path / name, table)
    back = texts(tmp_path / name)
    assert back.to_pylist() == table.to_pylist()
    assert back.schema.types == table.schema.types


def test_batches_cut_a_large_file_without_losing_or_mixing_rows(tmp_path):
    numbers = np.arange(150_000)
    pd.DataFrame({"n": numbers, "word": "w"}).to_csv(tmp_path / "rows.csv", index=False)
    with open_rows(str(tmp_path / "rows.csv")) as rows:
        sizes = [batch.num_rows for batch in rows.batches()]
        again = [int(n) for batch in rows.batches([0]) for n in batch.column(0).to_pylist()]
    assert sizes == [65_536, 65_536, 150_000 - 2 * 65_536]
    assert again == numbers.tolist()


def test_gzip_that_was_cut_off_is_said_to_be_damaged(tmp_path):
    path = csv_file(tmp_path, gzip.compress(b"a,b\n" + b"1,2\n" * 1000)[:-12], "rows.csv.gz")
    with pytest.raises(InputError, match="damaged or cut off"):
        texts(path)


@pytest.mark.parametrize("name", ["rows.parquet", "rows.arrow"])
def test_a_file_that_is_not_what_its_name_says_is_refused_in_one_sentence(name, tmp_path):
    with pytest.raises(InputError, match=r"is not an? (Parquet|Arrow) file, or is damaged") as caught:
        texts(csv_file(tmp_path, "a,b\n1,2\n", name))
    assert "\n" not in str(caught.value)


WRONG = ({"delimiter": ",,"}, {"quote": ""}, {"on_bad_lines": "mend"}, {"format": "xls"}, {"encoding": "klingon"})


@pytest.mark.parametrize("wrong", WRONG)
def test_settings_that_make_no_sense_are_refused(wrong, tmp_path):
    with pytest.raises(SettingError):
        texts(csv_file(tmp_path, "a,b\n1,2\n"), **wrong)


def test_a_name_that_tells_no_format_needs_one_named():
    with pytest.raises(SettingError, match="does not say a format"):
        format_of("rows.xyz")
    with pytest.raises(SettingError, match="gzip"):
        format_of("rows.parquet.gz")
    assert format_of("rows.xyz", "csv") == "csv"
