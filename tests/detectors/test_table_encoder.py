"""TableDetector(encoder=TableEncoder(...)): how columns are coded is a setting of the detector."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from maskdiff import TableDetector, load, save
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import SettingError
from maskdiff.jobs.fit import fit_file

RNG = np.random.default_rng(0)
NORMAL = pd.DataFrame({"x": RNG.normal(size=300), "word": RNG.choice(list("abcdef"), 300)})


def sizes(detector: TableDetector) -> list[int]:
    return detector.fit(NORMAL).encoder_.schema_.sizes.tolist()


def test_bins_tails_and_categories_are_those_of_the_encoder() -> None:
    assert sizes(TableDetector("kernel", encoder=TableEncoder(bins=4, tails=0, max_categories=2))) == [4, 3]


@pytest.mark.parametrize("preset", [None, "paper"])
def test_without_an_encoder_the_preset_decides(preset: str | None) -> None:
    tails = 5 if preset is None else 0
    assert sizes(TableDetector("kernel", preset=preset)) == TableEncoder(tails=tails).fit(NORMAL).schema_.sizes.tolist()


def test_a_given_encoder_wins_over_the_preset() -> None:
    encoder = TableEncoder(tails=3)
    assert sizes(TableDetector("kernel", preset="paper", encoder=encoder)) == encoder.fit(NORMAL).schema_.sizes.tolist()


def test_the_encoder_given_is_not_fitted_itself() -> None:
    detector = TableDetector("kernel", encoder=TableEncoder(bins=4)).fit(NORMAL)
    assert detector.encoder_ is not detector.encoder
    assert not hasattr(detector.encoder, "schema_")


def test_columns_of_both_are_put_together() -> None:
    detector = TableDetector("kernel", columns={"word": "drop"}, encoder=TableEncoder({"x": "category"})).fit(NORMAL)
    assert [(field.name, field.type) for field in detector.encoder_.schema_] == [("x", "category")]
    assert detector.encoder.columns == {"x": "category"}


def test_columns_of_both_may_agree_but_not_contradict_each_other() -> None:
    encoder = TableEncoder({"x": "category"})
    assert TableDetector("kernel", columns={"x": "category"}, encoder=encoder).fit(NORMAL)
    with pytest.raises(SettingError, match=r"'x' as 'number', but the columns of encoder= as 'category'"):
        TableDetector("kernel", columns={"x": "number"}, encoder=encoder).fit(NORMAL)


@pytest.mark.parametrize("encoder", ["bins", TableEncoder, {"bins": 4}], ids=str)
def test_what_is_no_encoder_is_refused(encoder: object) -> None:
    with pytest.raises(SettingError, match="encoder must be a TableEncoder"):
        TableDetector("kernel", encoder=encoder).fit(NORMAL)


def test_settings_of_the_encoder_are_reached_through_the_detector() -> None:
    detector = TableDetector("kernel", encoder=TableEncoder(bins=4))
    assert detector.get_params()["encoder__bins"] == 4
    copy = clone(detector).set_params(encoder__bins=7, encoder__tails=0)
    assert (detector.encoder.bins, copy.encoder.bins) == (4, 7)
    assert sizes(copy)[0] == 7
    with pytest.raises(SettingError, match="no setting 'surprise'; it has columns, max_categories, bins"):
        copy.set_params(encoder__surprise=1)


def test_the_encoder_is_saved_and_loaded_as_a_setting(tmp_path) -> None:
    encoder = TableEncoder({"word": "category"}, bins=4, max_distinct=5000)
    detector = TableDetector("kernel", encoder=encoder).fit(NORMAL)
    save(detector, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.encoder.get_params() == encoder.get_params()
    assert again.encoder_.to_state() == detector.encoder_.to_state()
    np.testing.assert_array_equal(again.anomaly_score(NORMAL), detector.anomaly_score(NORMAL))
    assert again.fit(NORMAL).encoder_.to_state() == detector.encoder_.to_state()


def test_columns_of_the_encoder_say_how_a_file_is_read(tmp_path) -> None:
    lines = "\n".join(f"{code},{word}" for code, word in zip(["0123", "123"] * 50, ["a", "b"] * 50, strict=True))
    (tmp_path / "rows.csv").write_text(f"code,word\n{lines}\n")
    detector = TableDetector("kernel", encoder=TableEncoder({"code": "category"}))
    fitted = fit_file(str(tmp_path / "rows.csv"), detector=detector)
    assert fitted.encoder_.schema_.fields[0].labels == ("0123", "123")
