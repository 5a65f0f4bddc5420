"""The picture of one row: its bars add up to the score, and say which cells they are."""

from __future__ import annotations

import builtins
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot

import maskdiff
from maskdiff import ProbeGrid, Steps, TableDetector, TextDetector, Training, TransformerReconstructor
from maskdiff.errors import InputError, MissingExtraError, NoEvidenceWarning
from maskdiff.explanations.intervals import interval_text
from maskdiff.plot import waterfall


@pytest.fixture
def detector(normal_rows):
    return TableDetector("kernel").fit(normal_rows)


def bars_of(figure):
    """Where each bar begins and ends, from the bottom upwards."""
    return [(bar.get_x(), bar.get_x() + bar.get_width()) for group in figure.axes[0].containers for bar in group]


def texts_of(figure):
    return [text.get_text() for text in figure.axes[0].texts]


@pytest.mark.parametrize("top", [1, 2, 9])
def test_the_bars_lead_from_nothing_to_the_score(detector, odd_rows, top):
    bars = bars_of(waterfall(detector, odd_rows, row=1, top=top))
    assert len(bars) == min(top + 1, 4)
    assert bars[0][0] == 0
    np.testing.assert_allclose([end for _, end in bars[:-1]], [start for start, _ in bars[1:]])
    assert bars[-1][1] == pytest.approx(detector.anomaly_score(odd_rows)[1])


def test_the_strongest_cells_are_named_with_what_was_expected(detector, odd_rows):
    cells = detector.explain(odd_rows.iloc[[2]], top=2)
    texts = texts_of(waterfall(detector, odd_rows, row=2, top=2))
    for cell in cells.to_dict("records"):
        assert f"{cell['column']} = {cell['value']}" in texts
        assert any(f"expected {interval_text(cell['expected'])} (" in text for text in texts)
        assert f"{cell['contribution']:+.2f}" in texts
    assert "2 other columns" in texts


def test_the_title_names_the_row_by_its_label_and_says_whether_it_is_an_alarm(detector, odd_rows):
    titles = [waterfall(detector, odd_rows.set_axis(list("abcd")), row=1).axes[0].get_title()]
    titles += [waterfall(detector, odd_rows.to_numpy(), row=1).axes[0].get_title()]
    assert [title.partition(":")[0] for title in titles] == ["Row b", "Row 1"]
    assert titles[0].endswith("an alarm" if detector.is_anomaly(odd_rows)[1] else "no alarm")


def test_threshold_and_normal_rows_are_shown_and_the_score_is_in_the_picture(detector, odd_rows):
    (axes,) = waterfall(detector, odd_rows).axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["90% of normal rows", f"threshold {detector.threshold():.2f}"]
    assert axes.get_xlim()[1] > max(detector.threshold(), detector.anomaly_score(odd_rows)[0])


def test_odd_characters_and_long_values_are_drawn(normal_rows):
    detector = TableDetector("kernel").fit(normal_rows)
    row = normal_rows.head(1).assign(service="$x^{$ \x07\n" + "y" * 500)
    figure = waterfall(detector, row)
    assert len(figure._repr_png_()) > 1000
    assert max(map(len, texts_of(figure))) < 50


def test_a_waterfall_can_be_drawn_beside_others(detector, odd_rows):
    figure, axes = pyplot.subplots(1, 2)
    assert waterfall(detector, odd_rows, ax=axes[0]) is figure
    assert not axes[1].patches
    pyplot.close(figure)


def test_words_of_a_text_have_bars_too():
    small = TransformerReconstructor(width=16, heads=2, feed_forward=32, training=Training(Steps(2), batch_size=16))
    normal = ["see you soon at nine", "call me later at ten"] * 60
    detector = TextDetector(small, probes=ProbeGrid((0.2, 0.6), 2), progress=False).fit(normal)
    figure = waterfall(detector, ["see you at the zoo", ""], top=2)
    assert bars_of(figure)[-1][1] == pytest.approx(detector.anomaly_score(["see you at the zoo"])[0])
    assert "all others" in texts_of(figure)
    with pytest.raises(InputError, match="row 1 has no tokens"), pytest.warns(NoEvidenceWarning):
        waterfall(detector, ["see you at the zoo", ""], row=1)


@pytest.mark.parametrize("row", [-1, 4])
def test_a_row_that_is_not_there_is_refused(detector, odd_rows, row):
    with pytest.raises(InputError, match="X has 4 rows, counted from 0"):
        waterfall(detector, odd_rows, row=row)


def test_the_extra_is_named_where_matplotlib_is_missing(detector, odd_rows, monkeypatch):
    real_import = builtins.__import__

    def without(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *rest)

    monkeypatch.delitem(sys.modules, "maskdiff.plot.notebook_figure", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"maskdiff\[figures\]"):
        waterfall(detector, odd_rows)


@pytest.mark.usefixtures("hardly_trained")
def test_the_default_counts_standard_deviations(normal_rows, odd_rows):
    detector = TableDetector(progress=False).fit(pd.concat([normal_rows.head(200)]))
    assert "standard deviations" in maskdiff.plot.waterfall(detector, odd_rows).axes[0].get_xlabel()


def test_a_row_that_one_cell_raises_above_the_threshold_says_so(detector, odd_rows, monkeypatch):
    threshold, judge = detector.threshold(), detector.judge

    def raised(X, rate=None):
        low = np.full(1, threshold / 2)
        return replace(judge(X, rate), anomaly_score=low, alarm_score=np.full(1, threshold + 1), is_anomaly=low > 0)

    monkeypatch.setattr(detector, "judge", raised)
    (axes,) = waterfall(detector, odd_rows).axes
    assert axes.get_title().endswith("an alarm by one cell alone")
    assert axes.get_legend_handles_labels()[1][-1] == f"raised to {threshold + 1:.2f} by one cell"
    assert axes.get_xlim()[1] > threshold + 1
