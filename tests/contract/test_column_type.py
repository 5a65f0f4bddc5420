"""Column types from outside: one class and one line in the registry each, through every place that asks for a type."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, ip_address

import numpy as np
import pandas as pd
import pytest

from maskdiff import TableDetector, load, save
from maskdiff.codes.places import field_places
from maskdiff.encoders.table.column_types import COLUMN_TYPES, ColumnType, NumericType
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import ColumnTypeError, ModelFileError, SettingError
from maskdiff.io import open_rows
from maskdiff.jobs import NormalTableRows, read_table, report_file, score_file

SIZES = ("S", "M", "L", "XL")


class SizeType(ColumnType):
    """Sizes of clothes, in their order."""

    name = "size"
    key_types = (int,)
    ordered_levels = True
    text_pattern = r"^(?i:S|M|L|XL)$"

    def key(self, text):
        return SIZES.index(text.upper()) if text.upper() in SIZES else None

    def texts(self, keys):
        return [SIZES[key] for key in keys]


class AddressType(NumericType):
    """IP addresses, near to each other where their numbers are."""

    name = "address"
    python_types = (IPv4Address,)
    text_pattern = r"^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$"
    has_tails = False

    def key(self, text):
        try:
            return int(ip_address(text))
        except ValueError:
            return None

    def texts(self, keys):
        return [str(IPv4Address(int(key))) for key in keys]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for column_type in (SizeType(), AddressType()):
        monkeypatch.setitem(COLUMN_TYPES, column_type.name, column_type)


@pytest.fixture
def normal():
    """Large sizes are dear, and addresses are of one network."""
    rng = np.random.default_rng(0)
    size = rng.integers(0, 4, 300)
    return pd.DataFrame(
        {
            "size": [SIZES[at] for at in size],
            "price": np.where(size > 1, "dear", "cheap"),
            "from": [f"10.0.{n}.{m}" for n, m in rng.integers(0, 200, (300, 2))],
        }
    )


ODD = pd.DataFrame(
    {
        "size": ["s", "XL", "M", "XXL", None],
        "price": ["cheap", "cheap", "cheap", "dear", "dear"],
        "from": ["10.0.9.9", "10.0.9.9", "1.2.3.4", "10.0.9.9", "nowhere"],
    }
)
REQUESTED = {"size": "size", "from": "address"}


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_the_texts_of_a_file_are_recognised_learned_saved_scored_and_reported(suffix, normal, tmp_path):
    for name, table in (("normal", normal), ("odd", ODD)):
        if suffix == "csv":
            table.to_csv(tmp_path / f"{name}.csv", index=False)
        else:
            table.to_json(tmp_path / f"{name}.jsonl", orient="records", lines=True)
    with open_rows(str(tmp_path / f"normal.{suffix}"), repeatable=True) as file:
        rows = NormalTableRows(file)
        detector = TableDetector("kernel", seed=1).fit_batches(rows.batches, rows.n_rows)
    assert [line["type"] for line in detector.encoder_.summary()] == ["size", "category", "address"]
    save(detector, tmp_path / "model")
    again = load(tmp_path / "model")
    score_file(again, str(tmp_path / f"odd.{suffix}"), str(tmp_path / "scored.csv"))
    scores = pd.read_csv(tmp_path / "scored.csv")["anomaly_score"]
    np.testing.assert_allclose(scores, detector.anomaly_score(ODD), rtol=1e-9)
    assert scores[0] < scores[[1, 3, 4]].min()
    report_file(again, str(tmp_path / f"odd.{suffix}"), str(tmp_path / "report.html"), false_alarm_rate=0.2)
    assert ">size<" in (tmp_path / "report.html").read_text()


def test_a_table_in_memory_is_read_as_requested_and_explained(normal, tmp_path):
    detector = TableDetector("kernel", columns=REQUESTED).fit(normal)
    size, _, address = detector.encoder_.schema_
    assert (size.type, size.labels, size.ordered, size.n_ordered) == ("size", SIZES, True, 4)
    assert (address.type, address.ordered, address.labels[0].startswith("[10.0.0.")) == ("address", True, True)
    save(detector, tmp_path / "model")
    explained = load(tmp_path / "model").explain(ODD[:3], top=1)
    pd.testing.assert_frame_equal(explained, detector.explain(ODD[:3], top=1))
    assert detector.encoder_.encode(ODD).values.tolist()[0][0] == 0
    assert detector.encoder_.encode(ODD).known[:, 0].tolist() == [True, True, True, False, False]


def test_objects_of_its_class_are_recognised(normal):
    objects = normal.assign(**{"from": [ip_address(text) for text in normal["from"]]})
    by_class, by_name = TableEncoder().fit(objects), TableEncoder({"from": "address"}).fit(normal)
    assert by_class.schema_ == by_name.schema_
    assert by_class.encode(objects).values.tolist() == by_name.encode(normal).values.tolist()


def test_steps_between_ordered_levels_count_as_distance(normal):
    size = TableEncoder({"size": "size"}).fit(normal).schema_.fields[0]
    unordered = TableEncoder({"size": "category"}).fit(normal).schema_.fields[0]
    assert len(field_places(size)[0]) == len(size.labels)
    assert len(field_places(unordered)[0]) == 0


def test_one_cell_that_does_not_fit_leaves_a_file_of_texts_as_categories(normal, tmp_path):
    pd.concat([normal, ODD[3:4]]).to_csv(tmp_path / "rows.csv", index=False)
    with open_rows(str(tmp_path / "rows.csv")) as file:
        types = TableEncoder().fit(read_table(file)).column_types_
    assert {name: one.name for name, one in types.items()} == {
        "size": "category",
        "price": "category",
        "from": "address",
    }


def test_cells_that_cannot_be_read_as_requested_are_refused_at_fit(normal):
    with pytest.raises(ColumnTypeError, match=r"'size' was to be read as size, but 1 of its values cannot be, 'XXL'"):
        TableEncoder({"size": "size"}).fit(pd.concat([normal, ODD[3:4]]))


def test_the_names_there_are_include_what_was_added(normal):
    with pytest.raises(SettingError, match="category, text, number, date, size, address, drop"):
        TableEncoder({"size": "nonsense"}).fit(normal)


def test_a_model_is_refused_where_its_column_type_is_not_registered(normal, tmp_path, monkeypatch):
    state = json.loads(json.dumps(TableEncoder({"size": "size"}).fit(normal).to_state()))
    assert TableEncoder.from_state(state).to_state() == state
    monkeypatch.delitem(COLUMN_TYPES, "size")
    with pytest.raises(ModelFileError, match="size"):
        TableEncoder.from_state(state)
