"""Rows of JSON requests through models: those that wait at the same time are scored together.

One thread scores. Nothing waits for company: a request that comes alone is scored at once, and those that come
meanwhile are its successor. A row's verdict depends on no other row, so that batches change no answer.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from maskdiff.io.rows import BatchRows
from maskdiff.jobs import ScoreOptions
from maskdiff.jobs.explain import explain_batch
from maskdiff.jobs.score import Scoring
from maskdiff.service.kept.models import ServedModel
from maskdiff.service.metrics import Metrics
from maskdiff.service.requests.problems import busy

log = logging.getLogger("maskdiff.service")

Records = list[dict[str, Any]]
# Requests are put together up to so many rows.
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class RowOptions:
    """What an answer holds: verdicts, or with `explain` the `top` reasons too, and the `nearest` normal rows."""

    false_alarm_rate: float | None = None
    explain: bool = False
    top: int | None = None
    nearest: bool = False


@dataclass(eq=False)
class PendingRows:
    """Rows that wait to be scored, and where the answer goes."""

    model: ServedModel
    batch: pa.RecordBatch
    options: RowOptions
    answer: asyncio.Future[Records]
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)

    @property
    def key(self) -> Hashable:
        """Requests with equal keys can be answered together."""
        model = (self.model.name, self.model.stamp)
        return model, self.options, tuple(zip(self.batch.schema.names, map(str, self.batch.schema.types), strict=True))

    def settle(self, outcome: Records | BaseException) -> None:
        self.loop.call_soon_threadsafe(_settle, self.answer, outcome)


def _settle(answer: asyncio.Future[Records], outcome: Records | BaseException) -> None:
    if answer.done():  # the client has gone, or the time is over
        return
    if isinstance(outcome, BaseException):
        answer.set_exception(outcome)
    else:
        answer.set_result(outcome)


class Scorer:
    """Answers requests in a thread of its own; at most `most_waiting` of them wait."""

    def __init__(self, metrics: Metrics, most_waiting: int) -> None:
        self.metrics, self.most_waiting = metrics, most_waiting
        self.waiting: deque[PendingRows] = deque()
        self.changed = threading.Condition()
        self.closing = False
        self.thread = threading.Thread(target=self._run, name="scoring", daemon=True)
        self.thread.start()

    def submit(self, model: ServedModel, batch: pa.RecordBatch, options: RowOptions) -> asyncio.Future[Records]:
        """The answer to come; refused where too many wait."""
        answer: asyncio.Future[Records] = asyncio.get_running_loop().create_future()
        with self.changed:
            if len(self.waiting) >= self.most_waiting:
                raise busy()
            self.waiting.append(PendingRows(model, batch, options, answer))
            self.changed.notify()
        return answer

    def close(self) -> None:
        """Answer what waits, then stop."""
        with self.changed:
            self.closing = True
            self.changed.notify()
        self.thread.join()

    def _run(self) -> None:
        while (requests := self._take()) is not None:
            groups: dict[Hashable, list[PendingRows]] = defaultdict(list)
            for request in requests:
                groups[request.key].append(request)
            for group in groups.values():
                self._answer(group)

    def _take(self) -> list[PendingRows] | None:
        """All that wait, up to a number of rows; None when there will be no more."""
        with self.changed:
            while not self.waiting and not self.closing:
                self.changed.wait()
            if not self.waiting:
                return None
            taken: list[PendingRows] = []
            rows = 0
            while self.waiting and (not taken or rows + self.waiting[0].batch.num_rows <= _ROWS_AT_ONCE):
                request = self.waiting.popleft()
                if not request.answer.done():
                    taken.append(request)
                    rows += request.batch.num_rows
            return taken

    def _answer(self, group: Sequence[PendingRows]) -> None:
        self.metrics.batches.observe(len(group))
        batch = group[0].batch
        if len(group) > 1:
            table = pa.Table.from_batches([request.batch for request in group]).combine_chunks()
            batch = table.to_batches()[0] if len(table) else batch
        try:
            records = self._records(group[0].model, batch, group[0].options)
        except Exception as error:
            if len(group) == 1:
                group[0].settle(error)
                return
            for request in group:  # one of them is at fault, and the others are not to know it
                self._answer([request])
            return
        done = 0
        for request in group:
            request.settle(records[done : done + request.batch.num_rows])
            done += request.batch.num_rows

    def _records(self, model: ServedModel, batch: pa.RecordBatch, options: RowOptions) -> Records:
        if options.explain:
            rate, nearest = options.false_alarm_rate, options.nearest
            return explain_batch(model.detector, batch, top=options.top, false_alarm_rate=rate, nearest=nearest)
        of_rows = ScoreOptions(false_alarm_rate=options.false_alarm_rate)
        # What is counted over time is about the model's own rate; at another one there are more or fewer alarms.
        counts = model.counts if options.false_alarm_rate is None else None
        scoring = Scoring(model.detector, BatchRows(batch), of_rows, counts=counts)
        added = [at for at, name in enumerate(scoring.schema.names) if at >= batch.num_columns and name]
        parts = [one.select(added) for one in scoring.batches()]
        self.metrics.judged(model.name, scoring.summary.rows, scoring.summary.anomalies)
        return [record for part in parts for record in part.to_pylist()]
