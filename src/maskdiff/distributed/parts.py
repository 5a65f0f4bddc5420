"""How the files of a job become units of work: a large Parquet file is several, many small files are one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from maskdiff.distributed.places import SourceFile

PARQUET = (".parquet", ".pq")
# A bundle of small files is not larger than this, and has at most so many of them: what is lost with a worker.
_BUNDLE_BYTES, _BUNDLE_FILES = 1 << 25, 64
# So many bundles for each worker, so that none is left with a long one at the end.
_BUNDLES_PER_WORKER = 8


@dataclass(frozen=True)
class FilePart:
    """A file, or the part of it in these row groups (the first, and the one behind the last): `number` of `of`."""

    file: SourceFile
    number: int = 1
    of: int = 1
    row_groups: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """A name that no other part has."""
        return output_name(self.file) if self.of == 1 else f"{output_name(self.file)}.{self.number:05d}-of-{self.of}"

    @property
    def size(self) -> int:
        """About how many bytes it has."""
        return max(1, self.file.size // self.of)


def output_name(file: SourceFile) -> str:
    """The name of a file's results: its own where it is Parquet, else with that ending behind it."""
    return file.name if file.name.lower().endswith(PARQUET) else f"{file.name}.parquet"


def cut_into_parts(file: SourceFile, part_bytes: int) -> list[FilePart]:
    """The parts of a file: of Parquet files that are larger than `part_bytes` some row groups each."""
    if file.size <= part_bytes or not file.name.lower().endswith(PARQUET):
        return [FilePart(file)]
    ends = [0, *_ends(_row_group_bytes(file), part_bytes)]
    groups = list(pairwise(ends))
    if len(groups) < 2:
        return [FilePart(file)]
    return [FilePart(file, number, len(groups), group) for number, group in enumerate(groups, start=1)]


def _row_group_bytes(file: SourceFile) -> list[int]:
    """The size of each row group; none of a file that cannot be read, which the worker that reads it will say."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    system, inside = file.place.opened_store()
    try:
        with system.open_input_file(inside) as source, pq.ParquetFile(source) as opened:
            metadata = opened.metadata
            return [metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups)]
    except (pa.ArrowException, OSError):
        return []


def _ends(sizes: Sequence[int], at_once: int) -> Iterator[int]:
    """Where to cut row groups of these sizes: each time after so many bytes, and at the end."""
    held = 0
    for at, size in enumerate(sizes, start=1):
        held += size
        if held >= at_once or at == len(sizes):
            yield at
            held = 0


def bundled(parts: Iterable[FilePart], workers: int) -> list[list[FilePart]]:
    """Parts that one call of a worker takes together, in order.

    >>> from maskdiff.distributed.places import Place
    >>> parts = [FilePart(SourceFile(Place(f"/{n}.csv"), f"{n}.csv", 10, 0.0)) for n in range(100)]
    >>> [len(bundle) for bundle in bundled(parts, workers=1)]
    [13, 13, 13, 13, 13, 13, 13, 9]
    """
    parts = list(parts)
    bound = min(_BUNDLE_BYTES, max(1, sum(part.size for part in parts) // (_BUNDLES_PER_WORKER * workers)))
    bundles: list[list[FilePart]] = []
    held = bound
    for part in parts:
        if held >= bound or len(bundles[-1]) >= _BUNDLE_FILES:
            bundles.append([])
            held = 0
        bundles[-1].append(part)
        held += part.size
    return bundles
