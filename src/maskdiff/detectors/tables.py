"""Rows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from maskdiff.cascade import ALARMS, RANKING, Effort, alarm_look, ranking_look
from maskdiff.codes import Codes
from maskdiff.detectors.cell_alarms import CellAlarms
from maskdiff.detectors.cell_detector import CellDetector
from maskdiff.detectors.cell_reports import CellReports
from maskdiff.detectors.combined_evidence import KERNEL, NEIGHBOURS, CombinedEvidence
from maskdiff.detectors.efforts import LearnedLooks
from maskdiff.detectors.learning import MAIN
from maskdiff.detectors.settings import Presets
from maskdiff.detectors.table_reading import TableReading
from maskdiff.detectors.text_evidence import TEXTS, TableChoice
from maskdiff.detectors.updating.kept_rows import KeptRows
from maskdiff.detectors.updating.references import reference_rows
from maskdiff.detectors.updating.stored_rows import StoredRows
from maskdiff.encoders.table.encoder import TableEncoder
from maskdiff.encoders.table.input import read_table
from maskdiff.errors import SettingError
from maskdiff.evidence import Evidence, MaskedSurprise
from maskdiff.masking import Schedule
from maskdiff.probes import PAPER_KERNEL_LEVELS, PAPER_LEVELS, ProbeGrid
from maskdiff.progress import Callback
from maskdiff.reconstructors import KernelReconstructor, MLPReconstructor, Reconstructor, abilities

# In a search several rounds judge each row: half the views of the whole grid say as much. A quarter is too few, since
# the low levels then leave cells out.
_VIEWS_TO_SEARCH = 8
# With fewer rows a fifth of them says too little.
_FEWEST_TO_CROSS_FIT = 20


class TableDetector(TableReading, CellReports, CombinedEvidence, CellDetector):
    """Finds odd rows in a table, and the cells that make them odd.

    Trained on normal rows only: `fit(normal)`, then `anomaly_score`, `p_value`, `is_anomaly`, `explain`.

    Parameters
    ----------
    reconstructor : "combined" (the network's mean surprise, its log-mean-exp, which a few odd cells raise, the kernel's
        surprise and the distance to the nearest normal rows, all in standard deviations of normal rows, on average;
        the last two count 1.25 and 1.5 times, or the kernel for both where all rows repeat; the network less where it
        learned from under 1,000 rows), "mlp" or "kernel" alone, in nats, or any object with `log_prob` and
        `most_likely`: a `Reconstructor`.
    preset : None for the defaults, "paper" for the settings of the paper; `probes` and `aggregate` still win.
    probes : a `ProbeGrid`, or None for the one that goes with the reconstructor.
    objective : "reconstruction" (Eq. 8) or "diffusion" (Eq. 2), or an object that answers like them.
    schedule : "linear", "cosine", "polynomial", or a `Schedule`.
    aggregate : "mean" (the paper's), "rms", "max" or "log_mean_exp": how a row's cells become one score. "combined"
        reads the network through it, and through log-mean-exp besides.
    columns : how to read single columns: name -> "category", "number", "date", "text" or "drop".
    encoder : a `TableEncoder` that sets bins, tails, the most categories and so on; it is copied, not fitted. None:
        `TableEncoder()`, or `TableEncoder(tails=0)` with the paper's settings. Its `columns` and those above are put
        together, and must not contradict each other.
    contamination : the share of anomalies thought to be among the rows to learn from. So many of the oddest rows, each
        judged by models that did not see it (see `fit_find`), are left out of learning; "auto": as many as stand out;
        0: all rows are taken for normal.
    leave_out_labelled : whether rows that `y` labels as anomalies are left out of `fit(X, y)`; False: `y` is ignored,
        and a warning says how many anomalies it names. Anomalies are True, 1 beside 0, or -1 beside 1.
    cross_fit_up_to : in tables of at most so many rows every row calibrates: of five models, each learned from four
        fifths, one judges it that did not see it, and one is kept, which compares new rows with all. Larger tables keep
        rows back to calibrate. 0: always keep rows back, which makes the promised rate exact.
    cell_share : the part of all false alarms meant for rows that are alarms because of one cell, odd for its column,
        given the rest of its row. 0: rows are alarms by their score alone, as with the paper's settings and with
        reconstructors that have no `log_odds`, such as the kernel alone.
    effort : how much work a row gets. "auto": a first look, and the whole grid of probes for the tenth of normal rows
        that it finds oddest, which keeps the ranking of all rows; "alarms": a cheaper look, and the whole grid for 3%
        of them, which keeps the alarms and their ranking; "full": the whole grid for every row; or a share of normal
        rows. The promised false-alarm rate is exact in every case; see `with_effort` and docs/settings.md.
    false_alarm_rate : the rate `is_anomaly` and `predict` promise; None: 1%, or the finest the rows allow.
    device : "auto", or a torch device.
    seed : an integer; equal seeds give equal models.
    progress : None (a bar on a terminal), True (plain lines elsewhere), False, or a callable given `Progress` values.

    Examples
    --------
    >>> import pandas as pd
    >>> normal = pd.DataFrame({"pet": ["cat", "dog"] * 100, "says": ["meow", "woof"] * 100})
    >>> detector = TableDetector("kernel").fit(normal)
    >>> odd = pd.DataFrame({"pet": ["cat", "cat"], "says": ["meow", "woof"]})
    >>> detector.is_anomaly(odd)
    array([False,  True])
    """

    _presets: Presets = {  # noqa: RUF012
        None: {
            "combined": (MLPReconstructor, ProbeGrid()),
            "mlp": (MLPReconstructor, ProbeGrid()),
            "kernel": (KernelReconstructor, ProbeGrid(PAPER_KERNEL_LEVELS, 8)),
        },
        "paper": {
            "combined": (MLPReconstructor.paper, ProbeGrid(PAPER_LEVELS, 16, "independent", "zero")),
            "mlp": (MLPReconstructor.paper, ProbeGrid(PAPER_LEVELS, 16, "independent", "zero")),
            "kernel": (KernelReconstructor.paper, ProbeGrid(PAPER_KERNEL_LEVELS, 8, "independent", "zero")),
        },
    }

    def __init__(
        self,
        reconstructor: str | Reconstructor = "combined",
        *,
        preset: str | None = None,
        probes: ProbeGrid | None = None,
        objective: Any = "reconstruction",
        schedule: str | Schedule = "linear",
        aggregate: str = "mean",
        columns: Mapping[str, str] | None = None,
        encoder: TableEncoder | None = None,
        contamination: float | str = 0.0,
        leave_out_labelled: bool = False,
        cross_fit_up_to: int = 1500,
        cell_share: float = 0.5,
        effort: Effort = "auto",
        false_alarm_rate: float | None = None,
        device: str = "auto",
        seed: int = 0,
        progress: bool | Callback | None = None,
    ) -> None:
        self.reconstructor = reconstructor
        self.preset = preset
        self.probes = probes
        self.objective = objective
        self.schedule = schedule
        self.aggregate = aggregate
        self.columns = columns
        self.encoder = encoder
        self.contamination = contamination
        self.leave_out_labelled = leave_out_labelled
        self.cross_fit_up_to = cross_fit_up_to
        self.cell_share = cell_share
        self.effort = effort
        self.false_alarm_rate = false_alarm_rate
        self.device = device
        self.seed = seed
        self.progress = progress

    _encoder = TableEncoder
    trains_side_by_side = True
    _kernel_probes = _presets[None]["kernel"][1]

    def _read(self, X: Any) -> Any:
        return read_table(X)

    def _new_encoder(self) -> TableEncoder:
        of_preset = TableEncoder() if self.preset is None else TableEncoder(tails=0, free_text=False)
        return replace(of_preset if self.encoder is None else self.encoder, columns=self.requested_columns)

    @property
    def requested_columns(self) -> Mapping[str, str] | None:
        """How single columns are read: those of `columns` and those of `encoder`."""
        return _joined_columns(None if self.encoder is None else self.encoder.columns, self.columns)

    def _check_settings(self) -> None:
        super()._check_settings()
        if not isinstance(self.encoder, TableEncoder | None):
            raise SettingError(f"encoder must be a TableEncoder, such as TableEncoder(bins=20); got {self.encoder!r}.")
        if not 0 <= self.cell_share < 1:
            raise SettingError(f"cell_share, a part of all false alarms, must lie in [0, 1); got {self.cell_share}.")
        self._new_encoder()

    def _tunes(self, reconstructor: Any) -> bool:
        return self._combines or self._reads_texts or self._lifts(reconstructor) or super()._tunes(reconstructor)

    @property
    def _combines(self) -> bool:
        """Whether the kernel and the nearest rows stand beside the network."""
        return self.reconstructor == "combined" and self.preset is None

    @property
    def _scales_terms(self) -> bool:
        return self._combines

    def _search_probes(self, probes: ProbeGrid) -> ProbeGrid:
        few = self.probes is None and self._combines
        return replace(probes, views_per_level=_VIEWS_TO_SEARCH) if few else probes

    def _cross_fits(self, reconstructor: Any, n_rows: int) -> bool:
        able = abilities(reconstructor)
        apart = able.fit is not None and able.left_out is None and not able.tunes and not self.contamination
        return apart and self.preset is None and _FEWEST_TO_CROSS_FIT <= n_rows <= self.cross_fit_up_to

    def _leaves_one_out(self, reconstructor: Any) -> bool:
        # A row with a damaged number is learned from with another one, and could not be left out.
        damaged = any(found.damaged is not None for found in self._text_types.values())
        return super()._leaves_one_out(reconstructor) and not self._reads_texts and not damaged

    def _choose(self, codes: Codes, held_out: Codes) -> TableChoice:
        texts = self._choose_texts(codes, held_out)
        if not self._combines:
            return TableChoice(texts=texts)
        return replace(self._choose_nearest(codes, held_out), texts=texts)

    def _evidence(self, codes: Codes, choice: TableChoice) -> Evidence:
        alone = super()._evidence(codes, choice)
        evidence = self._combined(alone, codes, choice) if self._combines else alone
        return self._with_texts(evidence, codes, choice.texts, in_nats=not self._combines)

    def _gather(
        self, codes: Codes, tuning: Codes, callback: Callback | None, *, looks: bool = False
    ) -> tuple[Evidence, LearnedLooks]:
        choice = self._choose(codes, tuning)
        evidence = self._evidence(codes, choice)
        if not self._combines and not self._lifts(self.reconstructor_):
            self.cell_alarms_ = CellAlarms(self._single_cells())
            return evidence, {}
        term_scores = evidence.term_scores(tuning, stage="calibrating", callback=callback)
        if self._combines:
            evidence, before = evidence.scaled_by(term_scores), evidence
            term_scores /= [new.scale / old.scale for new, old in zip(evidence.terms, before.terms, strict=True)]
        scores = term_scores.sum(axis=1)
        self.cell_alarms_ = self._learn_cells(evidence, codes, tuning, scores, callback)
        # Before the rows that tune join those compared with: each would find itself there.
        learned = self._learn_looks(evidence, tuning, scores) if looks else {}
        return self._comparing_with(evidence, codes, tuning, choice), learned

    def _bare_looks(self, evidence: Evidence) -> dict[str, Evidence]:
        if self.preset is not None or not self._single_cells().asks:
            return {}
        schema = self.encoder_.schema_
        ranking = ranking_look(evidence, MAIN, (NEIGHBOURS, TEXTS), len(schema))
        return {ALARMS: alarm_look(evidence, NEIGHBOURS, schema)} | ({} if ranking is None else {RANKING: ranking})

    def _fits_on_texts(self) -> bool:
        return self.text_columns() is not None

    def _keeps_sample(self) -> bool:
        return self._reference_kernel() is None

    def _old_rows(self, kept: KeptRows) -> StoredRows:
        kernel = self._reference_kernel()
        return kept.learned if kernel is None else reference_rows(kernel, self.encoder_.schema_, kept)

    def _reference_kernel(self) -> KernelReconstructor | None:
        """The kernel whose references are a sample of the rows learned from; None where there is none, or texts too."""
        beside = self.evidence_.sources.get(KERNEL)
        kernel = beside.reconstructor if isinstance(beside, MaskedSurprise) else self.reconstructor_
        return kernel if isinstance(kernel, KernelReconstructor) and not self._fits_on_texts() else None


def _joined_columns(columns: Mapping[str, str] | None, others: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """How to read single columns, named in two places."""
    if columns is None or others is None:
        return others if columns is None else columns
    clash = next((name for name in columns if others.get(name, columns[name]) != columns[name]), None)
    if clash is not None:
        raise SettingError(
            f"columns= reads {clash!r} as {others[clash]!r}, but the columns of encoder= as {columns[clash]!r}. "
            "Name it in one of them."
        )
    return {**columns, **others}
