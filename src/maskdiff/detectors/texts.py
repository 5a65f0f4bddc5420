"""Rows that are texts."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskdiff.cascade import Effort
from maskdiff.codes import BoolArray, Codes, FloatArray
from maskdiff.detectors.efforts import LearnedLooks
from maskdiff.detectors.tokens import TokenDetector
from maskdiff.detectors.updating.holding_out import RowsToLearn
from maskdiff.encoders.tokens.embedder import TextEmbedder
from maskdiff.encoders.tokens.stored_tokenizer import check_labels
from maskdiff.encoders.tokens.text import TextEncoder
from maskdiff.encoders.tokens.tokenized import TokenWindows
from maskdiff.errors import SettingError
from maskdiff.evidence import Evidence, EvidenceTerm, NearestTexts
from maskdiff.explanations import CellPlaces
from maskdiff.explanations.expected_tokens import says_something
from maskdiff.masking import Schedule
from maskdiff.probes import ProbeGrid
from maskdiff.progress import Callback
from maskdiff.reconstructors import PretrainedReconstructor, Reconstructor

# The name of the evidence that an embedder brings.
NEAREST_TEXTS = "nearest_texts"


class TextDetector(TokenDetector):
    """Finds odd texts, and the words that make them odd.

    `fit(normal)`, then `anomaly_score`, `p_value`, `is_anomaly`, `explain` as for tables; an explanation has the
    columns `start` and `end`, the characters of the text that the token stands for. Scores are in nats; with an
    embedder they count standard deviations of held-out normal texts.

    A text without tokens (empty, blank or missing) holds no evidence: its score is NaN, its p-value is 1, and it is
    never an alarm, at any false-alarm rate. A NoEvidenceWarning names such rows; fitting leaves them out.

    Parameters
    ----------
    reconstructor : "transformer", a `PretrainedReconstructor`, or an object with `log_prob` and `most_likely`.
    tokenizer : "bpe" (learned from the normal texts), "gpt2" (extra `maskdiff[gpt2]`), or a tokenizer.json file.
        None: the reconstructor's own where it brings one, "gpt2" with its whole vocabulary for preset="paper", else
        "bpe".
    vocab_size : how many tokens "bpe" may learn.
    embedder : the folder of a pre-trained text embedder (such as all-MiniLM-L6-v2), which sees odd topics in ordinary
        words: the distance of a text's vector to the nearest normal texts counts beside the masked surprise, each in
        standard deviations of held-out normal texts, and the one that finds a text odder weighs more. It is stored in
        the model file. None: masked surprise alone.
    column : the column that holds the texts, where rows come as a table.
    max_length, overlap : longer texts are looked at in windows of at most so many that overlap; every token counts
        once. None: 256 and 64, or what the reconstructor can see. With preset="paper" texts are cut off after
        `max_length` tokens, as in the paper; a TruncatedWarning says how many were.
    aggregate : "auto": root mean square, since few odd words make a long text odd; each text is judged as if it held
        20 more tokens, as surprising as those of held-out normal texts, so that two rare words do not make a short
        text an alarm; with preset="paper" it is "mean". Or "mean" (Eq. 6), "rms", "max" or "log_mean_exp", as they are.
    preset, probes, objective, schedule, leave_out_labelled, effort, false_alarm_rate, device, seed, progress : as for
        TableDetector.

    Examples
    --------
    >>> from maskdiff import Steps, Training
    >>> from maskdiff.reconstructors import TransformerReconstructor
    >>> quick = Training(Steps(60), batch_size=32, learning_rate=0.01)
    >>> small = TransformerReconstructor(width=16, heads=2, feed_forward=32, training=quick)
    >>> normal = ["see you at nine", "see you at ten", "call me at ten"] * 60
    >>> detector = TextDetector(small).fit(normal)
    >>> detector.explain(["see you at zoo"], top=1)[["start", "end", "value"]].values.tolist()
    [[11, 14, 'zoo']]
    """

    encoder_: TextEncoder

    def __init__(
        self,
        reconstructor: str | Reconstructor = "transformer",
        *,
        tokenizer: str | os.PathLike[str] | None = None,
        vocab_size: int = 50_000,
        embedder: str | os.PathLike[str] | None = None,
        column: str | None = None,
        max_length: int | None = None,
        overlap: int | None = None,
        preset: str | None = None,
        probes: ProbeGrid | None = None,
        objective: Any = "reconstruction",
        schedule: str | Schedule = "linear",
        aggregate: str = "auto",
        leave_out_labelled: bool = False,
        effort: Effort = "auto",
        false_alarm_rate: float | None = None,
        device: str = "auto",
        seed: int = 0,
        progress: bool | Callback | None = None,
    ) -> None:
        self.reconstructor = reconstructor
        self.tokenizer = tokenizer
        self.vocab_size = vocab_size
        self.embedder = embedder
        self.column = column
        self.max_length = max_length
        self.overlap = overlap
        self.preset = preset
        self.probes = probes
        self.objective = objective
        self.schedule = schedule
        self.aggregate = aggregate
        self.leave_out_labelled = leave_out_labelled
        self.effort = effort
        self.false_alarm_rate = false_alarm_rate
        self.device = device
        self.seed = seed
        self.progress = progress

    _encoder = TextEncoder

    def _read(self, X: Any) -> Any:
        return TextEncoder(column=self.column).read(X)

    def _new_encoder(self) -> TextEncoder:
        if not isinstance(self.reconstructor, PretrainedReconstructor):
            as_in_paper = self.preset == "paper" and self.tokenizer is None
            named = self.tokenizer or ("gpt2" if as_in_paper else "bpe")
            truncate = self.preset == "paper"
            return TextEncoder(named, self.vocab_size, as_in_paper, self.column, *self._window(), truncate)
        if self.tokenizer is not None:
            raise SettingError(
                f"{self.reconstructor!r} brings its own tokenizer; leave tokenizer=None, got {self.tokenizer!r}."
            )
        window = self._window(self.reconstructor.most_tokens())
        read = (self.reconstructor.load_tokenizer(), self.vocab_size, True, self.column)
        return TextEncoder(*read, *window)

    def _says_something(
        self, codes: Codes, cells: CellPlaces, expected: NDArray[np.int64], probability: FloatArray
    ) -> BoolArray:
        return says_something(codes.schema.fields[0], expected, probability)

    def _check_learned(self) -> None:
        check_labels(self.encoder_.tokenizer_, self.encoder_.schema_.fields[0].labels)

    def _check_folders(self) -> None:
        if self.embedder is not None:
            TextEmbedder(self.embedder).load(self.torch_device())

    def _fits_on_texts(self) -> bool:
        return self.embedder is not None

    def _tunes(self, reconstructor: Any) -> bool:
        return self.embedder is not None or super()._tunes(reconstructor)

    def _gather(
        self, codes: Codes, tuning: Codes, callback: Callback | None, *, looks: bool = False
    ) -> tuple[Evidence, LearnedLooks]:
        alone, learned = super()._gather(codes, tuning, callback, looks=looks and self.embedder is None)
        if self.embedder is None:
            return alone, learned
        assert isinstance(codes, TokenWindows)
        embedder = TextEmbedder(self.embedder).load(self.torch_device())
        nearest = NearestTexts(embedder).fit(codes.tokens.texts[np.unique(codes.row)].tolist(), callback=callback)
        return self._beside(alone, nearest, tuning, callback)

    def _gather_on(self, rows: RowsToLearn, tuning: Codes, callback: Callback | None) -> tuple[Evidence, LearnedLooks]:
        if self.embedder is None:
            return super()._gather_on(rows, tuning, callback)
        alone, _ = TokenDetector._gather(self, tuning, tuning, callback)  # surprise alone needs no rows learned from
        nearest = self.evidence_.sources[NEAREST_TEXTS]
        assert isinstance(nearest, NearestTexts)
        new = [text for text in (rows.new.texts or {}).get(0, ()) if text is not None]
        return self._beside(alone, nearest.joined(new, callback=callback), tuning, callback)

    def _beside(
        self, alone: Evidence, nearest: NearestTexts, tuning: Codes, callback: Callback | None
    ) -> tuple[Evidence, LearnedLooks]:
        """Both on one scale."""
        sources = {**alone.sources, NEAREST_TEXTS: nearest}
        both = Evidence(sources, (*alone.terms, EvidenceTerm(NEAREST_TEXTS, "mean")), softmax_weighted=True)
        return both.on_one_scale(tuning, callback=callback), {}
