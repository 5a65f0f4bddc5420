"""Fitting on a file is one call, and the detector is the one that Python fits on the same rows."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

import maskdiff
from maskdiff import MLPReconstructor, ProbeGrid, Steps, TableDetector, TextDetector, TransformerReconstructor
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import ColumnError, InputError, ReadingWarning, SettingError, UnknownColumnError
from maskdiff.io import open_rows
from maskdiff.jobs import ColumnOptions, DetectorSettings, Labels, NormalTokenRows, fit_file, fit_summary

from ..conftest import make_connections

QUICK = {"reconstructor": "transformer", "steps": 2, "levels": (0.2, 0.6), "views_per_level": 2}


@pytest.fixture(scope="module")
def normal() -> pd.DataFrame:
    return make_connections(200, seed=7)


@pytest.fixture(scope="module")
def path(normal, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("rows") / "normal.csv"
    normal.assign(odd=[1] * 20 + [0] * 180).to_csv(path, index=False)
    return str(path)


def test_a_file_gives_the_detector_that_its_rows_give(normal, path, tmp_path):
    columns = ColumnOptions(drop=["odd"], category=["bytes"])
    fitted = fit_file(path, tmp_path / "m.maskdiff", detector=TableDetector("kernel"), columns=columns)
    expected = TableDetector("kernel", columns={"bytes": "category"}).fit(normal)
    assert fitted.calibration_.scores.tolist() == expected.calibration_.scores.tolist()
    assert maskdiff.load(tmp_path / "m.maskdiff").threshold() == expected.threshold()


def test_only_normal_rows_are_learned_from_and_never_their_label(normal, path):
    fitted = fit_file(path, detector=TableDetector("kernel"), labels=Labels("odd"))
    expected = TableDetector("kernel").fit(normal[20:])
    assert fitted.calibration_.scores.tolist() == expected.calibration_.scores.tolist()


def test_rows_without_a_label_are_left_out_with_a_notice(normal, tmp_path):
    labelled = normal.assign(odd=[None] * 3 + [1] * 17 + [0] * (len(normal) - 20), note="a b")
    labelled.to_csv(tmp_path / "rows.csv", index=False)
    with pytest.warns(ReadingWarning, match="rows without a label in 'odd' left out: 3") as caught:
        fit_file(str(tmp_path / "rows.csv"), detector=TableDetector("kernel"), labels=Labels("odd"))
    assert len([one for one in caught if one.category is ReadingWarning]) == 1
    with open_rows(str(tmp_path / "rows.csv")) as file, pytest.warns(ReadingWarning, match="left out: 3"):
        assert NormalTokenRows(file, "note", Labels("odd")).n_rows == len(normal) - 20


def test_the_detector_that_was_given_is_left_as_it_was(path):
    given = TableDetector("kernel")
    fitted = fit_file(path, detector=given, columns=ColumnOptions(drop=["odd"]))
    assert fitted is not given
    assert not hasattr(given, "calibration_")
    assert given.columns is None


def test_the_columns_of_a_detector_and_of_the_options_both_count(path):
    given = TableDetector("kernel", columns={"bytes": "category"})
    fitted = fit_file(path, detector=given, columns=ColumnOptions(drop=["odd"]))
    assert fitted.columns == {"bytes": "category", "odd": "drop"}


def test_columns_that_the_encoder_drops_are_never_read(tmp_path):
    (tmp_path / "normal.csv").write_text("a,b,a\n" + "1,x,2\n2,y,3\n" * 50)
    given = TableDetector("kernel", encoder=TableEncoder({"a": "drop"}))
    assert fit_file(str(tmp_path / "normal.csv"), detector=given).encoder_.schema_.names == ["b"]


def test_the_summary_counts_the_rows_that_were_learned_from(path):
    summary = fit_summary(path, detector=TableDetector("kernel"), labels=Labels("odd"))
    assert (summary.rows, summary.source, summary.empty) == (180, path, [])


def test_texts_without_tokens_are_named_by_their_number_in_the_file(tmp_path):
    path = tmp_path / "texts.jsonl"
    lines = ['{"t": "see you soon at nine"}', '{"t": "call me later at ten"}'] * 60 + [
        '{"t": ""}',
        '{"t": "see me"}',
        '{"t": "  "}',
    ]
    path.write_text("\n".join(lines))
    settings = DetectorSettings(text="t", **QUICK)
    with pytest.warns(maskdiff.errors.NoEvidenceWarning):
        summary = fit_summary(str(path), detector=settings)
    assert summary.empty == [121, 123]


def test_the_only_column_of_a_file_needs_no_name(tmp_path):
    (tmp_path / "one.csv").write_text("t\n" + "see you soon at nine\ncall me later at ten\n" * 60)
    (tmp_path / "two.csv").write_text("i,t\n" + "1,see you soon\n2,call me later\n" * 60)
    small = DetectorSettings(text="t", **QUICK).build().set_params(column=None)
    assert fit_file(str(tmp_path / "one.csv"), detector=small).encoder_.schema_.names == ["t"]
    with pytest.raises(UnknownColumnError, match=r"two.csv has 2 columns; .* TextDetector\(column=NAME\)"):
        fit_file(str(tmp_path / "two.csv"), detector=small)


# Settings ------------------------------------------------------------------------------------------------------------


def test_settings_build_the_detector_they_describe():
    assert isinstance(DetectorSettings(text="t").build(), TextDetector)
    assert isinstance(DetectorSettings(sequence="s", separator=";").build(), maskdiff.SequenceDetector)
    table = DetectorSettings(contamination=0.1, others={"seed": 3, "preset": None}).build()
    assert (type(table), table.contamination, table.seed) == (TableDetector, 0.1, 3)


def test_steps_are_those_of_the_reconstructor():
    mlp = DetectorSettings(reconstructor="mlp", steps=7).build().reconstructor
    assert mlp.training == replace(MLPReconstructor().training, stop=Steps(7))
    paper = DetectorSettings(text="t", steps=7, others={"preset": "paper"}).build().reconstructor
    assert paper.training == replace(TransformerReconstructor.paper().training, stop=Steps(7))


def test_probes_change_only_where_they_are_given():
    usual: ProbeGrid = TableDetector("kernel").probe_grid()
    assert DetectorSettings(reconstructor="kernel", views_per_level=3).build().probes == replace(
        usual, views_per_level=3
    )
    assert DetectorSettings(reconstructor="kernel").build().probes is None


WRONG = [
    ({"text": "t", "sequence": "s"}, "not both", None),
    ({"separator": ";"}, "where to split a sequence", "sequence"),
    ({"tokenizer": "bpe"}, "are for texts", "text"),
    ({"embedder": "folder"}, "are for texts", "text"),
    ({"text": "t", "contamination": 0.1}, "is for tables", "label"),
]


@pytest.mark.parametrize(("wrong", "message", "setting"), WRONG)
def test_settings_that_do_not_go_together_are_refused(wrong, message, setting):
    with pytest.raises(SettingError, match=message) as caught:
        DetectorSettings(**wrong)
    assert caught.value.setting == setting


def test_a_device_that_is_not_there_is_refused_before_the_file_is_read():
    with pytest.raises(SettingError, match="the device 'abacus' is not there"):
        fit_file("nowhere.csv", detector=TableDetector(device="abacus"))


def test_columns_are_for_tables_only(path):
    with pytest.raises(SettingError, match="are for tables"):
        fit_file(path, detector=TextDetector(column="flag"), columns=ColumnOptions(drop=["odd"]))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (ColumnOptions(number=["flag"], category=["flag"]), "'flag' cannot be both category and number"),
        (ColumnOptions(only=["flag"], number=["bytes"]), "'bytes' is to be read as number, but is not one of those"),
        (ColumnOptions(drop=["colour"]), "has no column 'colour'"),
    ],
)
def test_columns_that_contradict_each_other_are_refused(columns, message, path):
    with pytest.raises((SettingError, ColumnError), match=message):
        fit_file(path, detector=TableDetector("kernel"), columns=columns)


def test_a_folder_that_is_not_there_is_refused_before_the_file_is_read(tmp_path):
    with pytest.raises(SettingError, match="there is no folder"):
        fit_file("nowhere.csv", tmp_path / "nowhere" / "m.maskdiff")
    with pytest.raises(InputError, match="there is no file"):
        fit_file(str(tmp_path / "nowhere.csv"), tmp_path / "m.maskdiff")
