"""The normal rows nearest to an alarm, where the model holds normal rows to compare with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maskdiff.codes import Codes, Field
from maskdiff.detectors import Detector
from maskdiff.evidence import NearestRows
from maskdiff.masking import as_rows
from maskdiff.report.alarms import Alarm
from maskdiff.report.formatting import label_text

# Only the highest alarms are compared, each with a few normal rows: these are rows of the training data.
MAX_COMPARED, N_NEAREST = 200, 3


@dataclass(frozen=True)
class NormalRow:
    """A normal row as the model holds it: where it differs from an alarm, as fields and labels."""

    differences: tuple[tuple[int, str], ...]


def nearest_rows(detector: Detector, alarms: Sequence[Alarm]) -> list[tuple[NormalRow, ...]]:
    """The nearest normal rows of the highest alarms, the nearest first; none where the model holds no rows."""
    codes = [alarm.codes for alarm in alarms[:MAX_COMPARED] if alarm.codes is not None]
    return nearest_to(detector, Codes(np.stack(codes), detector.encoder_.schema_)) if codes else []


def nearest_to(detector: Detector, rows: Codes) -> list[tuple[NormalRow, ...]]:
    """The normal rows nearest to each of these, the nearest first; none where the model holds no rows."""
    source = next((one for one in detector.evidence_.sources.values() if isinstance(one, NearestRows)), None)
    if source is None or not len(rows):
        return []
    schema = detector.encoder_.schema_
    places, _ = source.nearest(as_rows(rows, device=source.codes_NF.device))
    near = source.codes_NF[places[:, :N_NEAREST]].cpu().numpy()
    texts = [_texts(field) for field in schema]
    return [
        tuple(NormalRow(tuple((j, texts[j][one[j]]) for j in np.flatnonzero(one != row).tolist())) for one in found)
        for row, found in zip(rows.values, near, strict=True)
    ]


def _texts(field: Field) -> list[str]:
    """The labels of a field as the page shows them.

    The first bin of many numbers holds the lowest alone: that of one row, so that the bin above stands for both.

    >>> _texts(Field("age", "number", ("18", "(18, 30]", "(30, 99]"), (1, 5, 5), ordered=True))
    ['18 to 30', '18 to 30', '30 to 99']
    """
    texts = [label_text(field, label) for label in field.labels]
    if field.ordered and len(texts) > 1 and " to " in texts[1] and " to " not in texts[0]:
        texts[0] = texts[1]
    return texts
