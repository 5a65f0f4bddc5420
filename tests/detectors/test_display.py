"""What notebooks show of a detector."""

from __future__ import annotations

import pytest
import sklearn
from sklearn.pipeline import make_pipeline

from maskdiff import KernelReconstructor, ProbeGrid, TableDetector
from maskdiff.detectors import display
from maskdiff.errors import LeftOutWarning

from ..wrong_cells import contract_detector


@pytest.fixture
def detector(normal_rows):
    return TableDetector("kernel", false_alarm_rate=0.05).fit(normal_rows)


def test_a_fitted_detector_says_what_it_reads_and_when_it_raises_an_alarm(detector):
    page = detector._repr_html_()
    assert "reads 4 columns, calibrated on 600 normal rows" in page
    assert f"Alarm above a score of {detector.threshold():.4g}, which at most 5% of normal rows reach." in page
    assert "<td>protocol</td><td>category</td><td>3</td>" in page
    assert all(source in page for source in detector.evidence_.describe())


def test_the_other_way_to_an_alarm_is_named_where_one_cell_is_enough():
    detector = contract_detector()
    both = f"Alarm above a score of {detector.threshold():.4g}, or where one cell is odder than"
    assert f"{both} {detector.cell_threshold():.4g}, which" in detector._repr_html_()


def test_scikit_learns_own_display_is_still_there(detector):
    settings = TableDetector("kernel", false_alarm_rate=0.05)._repr_html_()
    assert "sk-container" in settings
    assert "fitted: reads" not in settings
    assert "sk-container" in detector._repr_html_()


def test_every_way_a_notebook_asks_gets_the_same(detector):
    shown = detector._repr_mimebundle_()
    assert "fitted: reads" in shown["text/html"]
    assert shown["text/plain"] == repr(detector)
    with sklearn.config_context(display="text"):
        assert list(detector._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(detector, "_repr_html_")


def test_a_detector_made_of_objects_and_one_in_a_pipeline_are_shown(normal_rows):
    detector = TableDetector(KernelReconstructor(), probes=ProbeGrid()).fit(normal_rows)
    assert "KernelReconstructor" in detector._repr_html_()
    assert "TableDetector" in make_pipeline(detector)._repr_html_()


def test_names_of_columns_are_escaped_and_columns_left_out_are_named(normal_rows):
    rows = normal_rows.assign(**{"<script>": [f"{n}\u202e" for n in range(600)]})
    with pytest.warns(LeftOutWarning):
        page = display.summary_html(TableDetector("kernel").fit(rows))
    assert "<script>" not in page
    assert "<td>&lt;script&gt;</td><td>left out: " in page
    assert "reads 4 columns" in page


def test_of_many_columns_only_the_first_are_listed(normal_rows, monkeypatch):
    monkeypatch.setattr(display, "MOST_COLUMNS", 2)
    page = display.summary_html(TableDetector("kernel").fit(normal_rows))
    assert page.count("<tr>") == 3
    assert "and 2 more" in page
