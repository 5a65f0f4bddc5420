"""What to learn from a file: which detector, from which columns. Plain settings, which a door fills in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from maskdiff.detectors import Detector, SequenceDetector, TableDetector, TextDetector
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.errors import SettingError
from maskdiff.io.rows import RowFile
from maskdiff.jobs.rows.table import check_present
from maskdiff.reconstructors import MLPReconstructor, PretrainedReconstructor, TransformerReconstructor
from maskdiff.training import Steps

_TRAINED: dict[str, Any] = {"mlp": MLPReconstructor, "transformer": TransformerReconstructor}


@dataclass(frozen=True)
class ColumnOptions:
    """Which columns of a table are learned from, and how single ones are read; all that are not named, as they look.

    Names may come one by one or with commas between them.
    """

    only: Sequence[str] = ()
    drop: Sequence[str] = ()
    category: Sequence[str] = ()
    number: Sequence[str] = ()
    date: Sequence[str] = ()
    text: Sequence[str] = ()

    def __bool__(self) -> bool:
        return any((self.only, self.drop, self.category, self.number, self.date, self.text))

    def for_file(self, rows: RowFile, label: str | None = None) -> dict[str, str]:
        """Column -> how to read it, as in `TableDetector(columns=...)`; the column of labels is dropped."""
        reading: dict[str, str] = {}
        for how in ("category", "number", "date", "text", "drop"):
            for name in _names(rows, getattr(self, how)):
                if reading.setdefault(name, how) != how:
                    raise SettingError(f"column {name!r} cannot be both {reading[name]} and {how}. Name it once.")
        kept = _names(rows, self.only) or rows.schema.names
        others = [name for name in rows.schema.names if name not in kept] + ([label] if label else [])
        clash = next((name for name in others if reading.get(name, "drop") != "drop"), None)
        if clash is not None:
            raise SettingError(
                f"column {clash!r} is to be read as {reading[clash]}, but is not one of those to learn from."
            )
        return reading | dict.fromkeys(others, "drop")


def _names(rows: RowFile, given: Sequence[str]) -> list[str]:
    """Names of columns, one by one or with commas between; each has to be there."""
    there = set(rows.schema.names)
    found = [name for text in given for name in ([text] if text in there else text.split(","))]
    names = [name if name in there else name.strip() for name in found]
    check_present(rows, names)
    return names


@dataclass(frozen=True)
class DetectorSettings:
    """Which detector is fitted: one of texts or of sequences where a column of them is named, else one of tables.

    `reconstructor` is a name, or for texts the folder of a pre-trained masked model; `steps` is how long it trains.
    `levels` and `views_per_level` change the probes that go with it. `others` go to the detector as they are: seed,
    preset, aggregate, ... `day_first`, `decimal` and `missing` are those of the table's encoder. None always means the
    detector's own default.

    >>> DetectorSettings(text="message", others={"seed": 7}).build()
    TextDetector(column='message', seed=7)
    """

    text: str | None = None
    sequence: str | None = None
    separator: str | None = None
    tokenizer: str | None = None
    embedder: str | None = None
    reconstructor: str | None = None
    contamination: float | str | None = None
    steps: int | None = None
    levels: tuple[float, ...] | None = None
    views_per_level: int | None = None
    day_first: bool | None = None
    decimal: str | None = None
    missing: Sequence[str] | None = None
    others: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.text is not None and self.sequence is not None:
            raise SettingError("a row is either a text or a sequence; name the column of one, not both.")
        if self.separator is not None and self.sequence is None:
            raise SettingError(
                "a separator says where to split a sequence; say which column holds it.", setting="sequence"
            )
        if self.text is None and (self.tokenizer is not None or self.embedder is not None):
            raise SettingError(
                "a tokenizer and an embedder are for texts; say which column holds them.", setting="text"
            )
        if self.column is not None and self._of_encoder():
            raise SettingError(
                "the order of day and month, the decimal sign and what is missing are for tables, not for texts or "
                "sequences."
            )
        if self.column is not None and self.contamination is not None:
            raise SettingError(
                "contamination is for tables; leave odd rows out of the file, or mark them by a label.", setting="label"
            )

    @property
    def column(self) -> str | None:
        """The one column of texts or sequences; None for a table."""
        return self.text if self.text is not None else self.sequence

    def build(self) -> Detector:
        """The detector, not yet fitted."""
        given = {**self.others, **self._of_rows()}
        if self.reconstructor is not None or self.steps is not None:
            given["reconstructor"] = self._reconstructor()
        make = TableDetector if self.column is None else TextDetector if self.text is not None else SequenceDetector
        detector: Detector = make(**{name: value for name, value in given.items() if value is not None})
        probes = {"levels": self.levels, "views_per_level": self.views_per_level}
        changed: dict[str, Any] = {name: value for name, value in probes.items() if value is not None}
        return detector.set_params(probes=replace(detector.probe_grid(), **changed)) if changed else detector

    def _of_rows(self) -> dict[str, Any]:
        """The settings that only a detector of such rows has."""
        if self.text is not None:
            return {"column": self.text, "tokenizer": self.tokenizer, "embedder": self.embedder}
        if self.sequence is not None:
            return {"column": self.sequence, "separator": self.separator}
        return {"contamination": self.contamination, "encoder": self._encoder()}

    def _encoder(self) -> TableEncoder | None:
        """None for the one that goes with the detector."""
        if not self._of_encoder():
            return None
        encoder = TableEncoder(**self._of_encoder())
        return replace(encoder, tails=0, free_text=False) if self.others.get("preset") == "paper" else encoder

    def _of_encoder(self) -> dict[str, Any]:
        given = {"day_first": self.day_first, "decimal": self.decimal, "missing": self.missing}
        return {name: value for name, value in given.items() if value is not None}

    def _reconstructor(self) -> Any:
        """By its name; made here where it is a pre-trained model or trains for a number of steps."""
        name = self.reconstructor or ("transformer" if self.column else "combined")
        if self.text is not None and Path(name).is_dir():
            return PretrainedReconstructor(name)
        if self.steps is None or name not in _TRAINED:
            return name
        made = _TRAINED[name].paper() if self.others.get("preset") == "paper" else _TRAINED[name]()
        return replace(made, training=replace(made.training, stop=Steps(self.steps)))
