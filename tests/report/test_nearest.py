"""The nearest normal rows of an alarm: from the rows the model holds, named by where they differ."""

from __future__ import annotations

import numpy as np
import pandas as pd

from maskdiff import TableDetector
from maskdiff.report import ReportBuilder
from maskdiff.report.nearest import N_NEAREST, nearest_rows

from .pages import WHEN, Page, report_on
from .samples import combined_detector, connections_detector, odd_connections


def combined_builder() -> ReportBuilder:
    return ReportBuilder(combined_detector()).add(odd_connections(60))


def test_each_is_a_normal_row_and_none_is_nearer() -> None:
    builder = combined_builder()
    alarms, schema = builder.highest_alarms.alarms, builder.detector.encoder_.schema_
    held = {tuple(row) for row in builder.detector.evidence_.sources["neighbours"].codes_NF.tolist()}
    found = nearest_rows(builder.detector, alarms)
    assert len(found) == len(alarms)
    for alarm, normal_rows in zip(alarms, found, strict=True):
        assert len(normal_rows) == N_NEAREST
        fewest = min(np.sum(np.array(row) != alarm.codes) for row in held)
        assert len(normal_rows[0].differences) >= fewest
        for normal in normal_rows:
            matching = [
                row
                for row in held
                if {j for j in range(4) if row[j] != alarm.codes[j]} == set(dict(normal.differences))
            ]
            assert matching
            assert all(label in schema.fields[j].labels or " to " in label for j, label in normal.differences)


def test_the_page_names_the_columns_in_which_the_nearest_row_differs() -> None:
    builder = combined_builder()
    page = Page(builder.html(when=WHEN))
    first = nearest_rows(builder.detector, builder.highest_alarms.alarms)[0][0]
    said = ", ".join(f"{builder.content.names[j]} {label}" for j, label in first.differences)
    assert f"nearest normal row: {said}" in " ".join(page.text.split())
    assert "It is a row of the training data" in page.text


def test_a_model_without_rows_to_compare_with_shows_none() -> None:
    assert nearest_rows(connections_detector(), ReportBuilder(connections_detector()).highest_alarms.alarms) == []
    page = report_on(odd_connections(40))
    assert page.data["nearest"] == []
    assert "nearest normal row" not in page.text


def test_values_are_labels_and_not_single_numbers() -> None:
    """A bin says less about a person than the number in it."""
    rng = np.random.default_rng(0)
    normal = pd.DataFrame({"pet": rng.choice(["cat", "dog"], 100), "weight": rng.gamma(4, 2, 100)})
    detector = TableDetector(progress=False).fit(normal)
    builder = ReportBuilder(detector).add(pd.DataFrame({"pet": ["cow", "cat"], "weight": [5.0, -900.0]}))
    labels = {
        label
        for rows in nearest_rows(detector, builder.highest_alarms.alarms)
        for r in rows
        for _, label in r.differences
    }
    numbers = {label for label in labels if label not in ("cat", "dog")}
    assert numbers
    assert all(" to " in label for label in numbers)
