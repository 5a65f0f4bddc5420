"""Units of work through Ray Data, and what becomes of them: results as they come, errors that name the files."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from maskdiff.distributed.worker import BUNDLE, DISK_ERRORS, Recorded
from maskdiff.errors import InputError, MaskdiffError

# At most so many files that could not be scored are named.
_NAMED = 3


def as_dataset(ray: Any, units: Sequence[Any], n_blocks: int | None = None) -> Any:
    """A dataset with one row for each unit of work; each block of it is one task."""
    rows = [{BUNDLE: pickle.dumps(unit)} for unit in units]
    return ray.data.from_items(rows, override_num_blocks=min(n_blocks or len(rows), len(rows)))


def results_of(dataset: Any) -> Iterator[Any]:
    """What became of each unit of work, in the order in which they are done."""
    for batch in dataset.iter_batches(batch_size=None, batch_format="numpy", prefetch_batches=0):
        yield from map(pickle.loads, batch[BUNDLE])


def stop_if_fatal(results: Sequence[Recorded]) -> None:
    """End the job where the disk is full, or may not be written to: all other files would fail too."""
    for result in results:
        if result.fatal:
            raise _stopped(str(result.error))


@contextmanager
def disk_errors_explained() -> Iterator[None]:
    """The same where the job itself cannot write: the list of finished files, or the highest rows."""
    try:
        yield
    except OSError as error:
        if isinstance(error, MaskdiffError) or error.errno not in DISK_ERRORS:
            raise
        raise _stopped(f"{error.filename or 'the output folder'}: {error.strerror}.") from error


def _stopped(reason: str) -> MaskdiffError:
    return MaskdiffError(
        f"{reason} What was finished is kept: make room, or see to it that the folder can be written to, and run the "
        "same again."
    )


def failure(failed: Sequence[Recorded], n_parts: int, verb: str = "scored") -> InputError:
    """The error about files that could not be scored, once all others are done."""
    named = " ".join(str(one.error) for one in failed[:_NAMED])
    more = f" And {len(failed) - _NAMED:,} more." if len(failed) > _NAMED else ""
    return InputError(
        f"{len(failed):,} of {n_parts:,} files or parts could not be {verb}: {named}{more} The others are fine: mend "
        "these or take them away, and run the same again.",
        setting=failed[0].setting,
    )
