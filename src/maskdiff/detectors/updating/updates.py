"""The part of a detector that learns on from more normal rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from maskdiff.cascade import FULL, Effort
from maskdiff.codes import Codes
from maskdiff.detectors.updating.holding_out import RowsToLearn
from maskdiff.detectors.updating.kept_rows import KeptRows
from maskdiff.detectors.updating.stored_rows import StoredRows
from maskdiff.detectors.updating.summary import UpdateSummary
from maskdiff.encoders.base import UnseenValue
from maskdiff.evidence import Evidence
from maskdiff.evidence.base import State
from maskdiff.progress import Callback
from maskdiff.state import check, from_plain, to_plain
from maskdiff.state.tensors import Tensors, check_names
from maskdiff.training import CheckpointStore

if TYPE_CHECKING:
    from maskdiff.detectors.efforts import LearnedLooks


class Updates:
    """Learned: `updates_`, what the last updates changed, and `kept_`, rows to learn on with (None: it cannot)."""

    effort: Effort
    encoder_: Any
    updates_: tuple[UpdateSummary, ...]
    kept_: KeptRows | None

    # What the last `_encode` read in the cells of rows to tune and to calibrate that no code stands for, row after row.
    _unseen: Sequence[UnseenValue] = ()

    if TYPE_CHECKING:

        def _gather(
            self, codes: Codes, tuning: Codes, callback: Callback | None, *, looks: bool = False
        ) -> tuple[Evidence, LearnedLooks]: ...

    def update(self, X: Any, *, checkpoint: CheckpointStore | None = None) -> UpdateSummary:
        """Learn on from more normal rows; what changed.

        The new rows join those compared with, values never seen before get codes, ranges of numbers widen, and the
        network trains on with new rows and old ones, of which the model keeps a sample. Some of the new rows are not
        learned from: with those that were kept apart before they set the threshold anew, so that the promised
        false-alarm rate holds afterwards. Rules made by `dismiss` are kept. If anything fails, the detector stays as
        it was. A `checkpoint` stores the state of a training that may be interrupted.

        >>> from maskdiff import TableDetector
        >>> detector = TableDetector("kernel").fit([["cat", "meow"], ["dog", "woof"]] * 100)
        >>> new = [["cow", "moo"]]
        >>> before = detector.is_anomaly(new)
        >>> detector.update(new * 50).new_values
        {'x0': ('cow',), 'x1': ('moo',)}
        >>> before, detector.is_anomaly(new)
        (array([ True]), array([False]))
        """
        from maskdiff.detectors.updating.learn_on import learn_on

        return learn_on(self, X, checkpoint)  # type: ignore[arg-type]

    def _fits_on_texts(self) -> bool:
        """Whether some evidence learns from the texts behind the codes."""
        return False

    def _keeps_sample(self) -> bool:
        """Whether a sample of the rows learned from is kept to learn on; no, where some evidence keeps them anyway."""
        return True

    def _old_rows(self, kept: KeptRows) -> StoredRows:
        """A uniform sample of the rows learned from."""
        return kept.learned

    def _gather_on(self, rows: RowsToLearn, tuning: Codes, callback: Callback | None) -> tuple[Evidence, LearnedLooks]:
        """What the score is made of after an update, and first looks."""
        return self._gather(rows.sample.codes(self.encoder_), tuning, callback, looks=self.effort != FULL)

    # Keeping ---------------------------------------------------------------------------------------------------------

    def _updates_to_state(self) -> State:
        """What was kept to learn on, and what was learned so."""
        kept, tensors = (None, {}) if self.kept_ is None else self.kept_.to_state()
        return {"kept": kept, "updates": [to_plain(update) for update in self.updates_]}, tensors

    def _updates_from_state(self, plain: Any, tensors: Tensors) -> None:
        """Take up what `_updates_to_state` gave."""
        self.kept_, of_tokens = None, self.encoder_.parts != "columns"
        check(isinstance(plain["updates"], list), "its updates are no list")
        self.updates_ = tuple(from_plain(update, UpdateSummary) for update in plain["updates"])
        if plain["kept"] is None:
            check_names(tensors)
            return
        kept = KeptRows.from_state(plain["kept"], tensors, self.encoder_.schema_, of_tokens=of_tokens)
        texts = all((rows.texts is not None) == self._fits_on_texts() for rows in (kept.tuning, kept.calibration))
        sampled = (len(kept.learned) > 0) == self._keeps_sample()
        check(texts and sampled, "it keeps other rows than such a detector needs to learn on")
        self.kept_ = kept
