"""One reading of all files by all workers: what a step finds out about each part, in the order of the parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from maskdiff.distributed.cluster import ClusterOptions
from maskdiff.distributed.learning import PartFindings, Step
from maskdiff.distributed.parts import FilePart, bundled
from maskdiff.distributed.results import as_dataset, failure, results_of
from maskdiff.progress import Callback, Progress


def each_part(
    ray: Any,
    step: Step,
    parts: Sequence[FilePart],
    cluster: ClusterOptions,
    stage: str = "reading files",
    callback: Callback | None = None,
) -> Iterator[PartFindings]:
    """What a step finds out about each part, in order; parts that cannot be read are named once all were tried."""
    bundles, numbered = bundled(parts, cluster.n_workers()), iter(enumerate(parts))
    units = [[next(numbered) for _ in bundle] for bundle in bundles]
    found = as_dataset(ray, units).map_batches(step, batch_size=1, num_cpus=cluster.cpus)
    waiting, failed, following, done = dict[int, PartFindings](), list[PartFindings](), 0, 0
    for bundle in results_of(found):
        waiting |= {one.number: one for one in bundle}
        failed += [one for one in bundle if one.error is not None]
        done += len(bundle)
        if callback is not None:
            callback(Progress(stage, done, len(parts)))
        while following in waiting and not failed:
            yield waiting.pop(following)
            following += 1
    if failed:
        raise failure(failed, len(parts), "read")
