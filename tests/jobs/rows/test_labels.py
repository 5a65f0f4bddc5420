"""Labels in any writing say which rows are normal."""

from __future__ import annotations

import pyarrow as pa
import pytest

from maskdiff.errors import SettingError
from maskdiff.jobs.rows.labels import Labels


@pytest.mark.parametrize("cells", [["0", "1"], ["false", "true"], ["0.0", "1.0"], [0, 1], [False, True], [0.0, 1.0]])
def test_zero_and_one_are_labels_in_any_writing(cells):
    labels = Labels("y")
    assert labels.is_normal(pa.array(cells)).tolist() == [True, False]
    assert labels.is_anomaly(pa.array(cells)).tolist() == [False, True]


def test_other_labels_have_to_be_explained():
    with pytest.raises(SettingError, match=r"'y' holds 'ok'.*normal="):
        Labels("y").is_normal(pa.array(["ok"]))
    assert Labels("y", ["ok", "fine"]).is_normal(pa.array(["ok", "bad", "fine", None, ""])).tolist() == [1, 0, 1, 0, 0]
