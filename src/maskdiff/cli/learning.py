"""What `maskdiff fit` is asked to learn: which detector, from which columns of the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskdiff.errors import SettingError

if TYPE_CHECKING:
    from maskdiff.detectors import Detector
    from maskdiff.io import RowFile
    from maskdiff.jobs import NormalTableRows, NormalTokenRows
    from maskdiff.jobs.labels import Labels
    from maskdiff.probes import ProbeGrid

Names = list[str] | None
_ONLY = "only"


@dataclass(frozen=True)
class Probing:
    """What of the probes is asked for; the rest stays as it goes with the reconstructor."""

    levels: str | None = None
    views_per_level: int | None = None

    def of(self, detector: Detector) -> ProbeGrid | None:
        """The probes for this detector, None where nothing was asked for."""
        asked = {"levels": self._levels(), "views_per_level": self.views_per_level}
        told: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
        return replace(detector.probe_grid(), **told) if told else None

    def _levels(self) -> tuple[float, ...] | None:
        try:
            return None if self.levels is None else tuple(float(level) for level in self.levels.split(","))
        except ValueError:
            message = f"levels are numbers with commas between, such as 0.2,0.5,0.8; got {self.levels!r}."
            raise SettingError(message) from None


@dataclass(frozen=True)
class Learning:
    """The options of fit that say what to learn. `how` is kind of column -> names, as for `TableDetector(columns=)`.

    `settings` go to the detector; None means the detector's own default.
    """

    text: str | None
    sequence: str | None
    separator: str | None
    tokenizer: str | None
    reconstructor: str | None
    how: Mapping[str, Names]
    steps: int | None
    settings: Mapping[str, Any]
    probing: Probing

    def __post_init__(self) -> None:
        if self.text is not None and self.sequence is not None:
            raise SettingError("a row is either a text or a sequence; give --text or --sequence, not both.")
        if self.separator is not None and self.sequence is None:
            raise SettingError("--separator says where to split a sequence; say which column holds it with --sequence.")
        if self.text is None and (self.tokenizer is not None or self.settings["embedder"] is not None):
            raise SettingError("--tokenizer and --embedder are for texts; say which column holds them with --text.")
        if self.column is not None and self.settings["contamination"] is not None:
            raise SettingError("--contamination is for tables; leave odd rows out of the file, or mark them: --label.")
        if self.column is not None and any(self.how.values()):
            raise SettingError(
                "--columns, --drop, --categorical, --numeric and --dates are for tables; of a file with texts or "
                "sequences only the column that holds them is read."
            )

    @property
    def column(self) -> str | None:
        """The one column of texts or sequences."""
        return self.text if self.text is not None else self.sequence

    def begin(
        self, file: RowFile, labels: Labels | None, progress: Any
    ) -> tuple[Detector, NormalTableRows | NormalTokenRows]:
        """The detector, not yet fitted, and the rows to fit it on."""
        detector: Detector
        found: NormalTableRows | NormalTokenRows
        settings = {name: value for name, value in self.settings.items() if value is not None} | {"progress": progress}
        if self.reconstructor is not None or self.steps is not None:
            settings["reconstructor"] = self._reconstructor()
        if self.column is None:
            detector, found = self._table(file, labels, settings)
        else:
            detector, found = self._tokens(file, labels, settings, self.column)
        return detector.set_params(probes=self.probing.of(detector)), found

    def _table(
        self, file: RowFile, labels: Labels | None, settings: dict[str, Any]
    ) -> tuple[Detector, NormalTableRows]:
        from maskdiff.detectors import TableDetector
        from maskdiff.jobs import NormalTableRows

        how = how_to_read(file, self.how, None if labels is None else labels.column)
        found = NormalTableRows(file, how, labels, settings["progress"] or None)
        return TableDetector(columns=how or None, **settings), found

    def _tokens(
        self, file: RowFile, labels: Labels | None, settings: dict[str, Any], column: str
    ) -> tuple[Detector, NormalTokenRows]:
        from maskdiff.detectors import SequenceDetector, TextDetector
        from maskdiff.jobs import NormalTokenRows

        found = NormalTokenRows(file, column, labels, settings["progress"] or None)
        if self.sequence is not None:
            separator = {"\\t": "\t", "\\n": "\n"}.get(self.separator or "", self.separator)
            return SequenceDetector(column=column, separator=separator, **settings), found
        return TextDetector(column=column, tokenizer=self.tokenizer, **settings), found

    def _reconstructor(self) -> Any:
        """By its name; a folder holds a pre-trained masked model; made here where it trains a number of steps."""
        from maskdiff.reconstructors import MLPReconstructor, PretrainedReconstructor, TransformerReconstructor
        from maskdiff.training import Steps

        name = self.reconstructor or ("transformer" if self.column else "combined")
        if self.text is not None and Path(name).is_dir():
            return PretrainedReconstructor(name)
        makers: dict[str, Any] = {"mlp": MLPReconstructor, "transformer": TransformerReconstructor}
        if self.steps is None or name not in makers:
            return name
        made = makers[name].paper() if self.settings["preset"] == "paper" else makers[name]()
        return replace(made, training=replace(made.training, stop=Steps(self.steps)))


def how_to_read(file: RowFile, asked: Mapping[str, Names], label: str | None) -> dict[str, str]:
    """Column -> how to read it, as in `TableDetector(columns=...)`."""
    how: dict[str, str] = {}
    for kind in (kind for kind in asked if kind != _ONLY):
        for name in _names(file, asked[kind]):
            if how.setdefault(name, kind) != kind:
                raise SettingError(f"column {name!r} cannot be both {how[name]} and {kind}. Name it once.")
    kept = _names(file, asked.get(_ONLY)) or file.schema.names
    others = [name for name in file.schema.names if name not in kept] + ([label] if label else [])
    clash = next((name for name in others if how.get(name, "drop") != "drop"), None)
    if clash is not None:
        raise SettingError(f"column {clash!r} is to be read as {how[clash]}, but is not one of those to learn from.")
    return how | dict.fromkeys(others, "drop")


def _names(file: RowFile, given: Names) -> list[str]:
    """Names of columns, one by one or with commas between; each has to be there."""
    from maskdiff.jobs.table_rows import check_present

    there = set(file.schema.names)
    found = [name for text in given or () for name in ([text] if text in there else text.split(","))]
    names = [name if name in there else name.strip() for name in found]
    check_present(file, names)
    return names
