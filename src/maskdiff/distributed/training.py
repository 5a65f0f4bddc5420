"""One training by several workers at a time, through Ray Train: each takes its share of every batch."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import dataclass
from typing import Any

import torch
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from torch import nn

from maskdiff.codes import Codes
from maskdiff.detectors import Detector, TokenDetector
from maskdiff.distributed.cluster import ClusterOptions, import_ray
from maskdiff.errors import MaskdiffError
from maskdiff.jobs.checkpoint import Checkpoint
from maskdiff.progress import Callback, Progress
from maskdiff.training import WorkerGroup, train

# A training that lost a worker more often is given up.
RETRIES = 3
# Of the card of its node, the rest goes to a worker.
CARD_OF_THE_FIT = 0.1


def import_ray_train() -> tuple[Any, Any]:
    """Ray, and its library for training."""
    ray = import_ray()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Ray deprecates of itself
        import ray.train as ray_train
        import ray.train.torch
    return ray, ray_train


@dataclass(frozen=True)
class GroupTrainer:
    """Trains a network in `workers` processes, each with `cpus` processors, and a graphics card where there are enough.

    A worker that dies ends the others too; all are started again and go on from the checkpoint.
    """

    workers: int
    cpus: float = 1.0
    has_cards: bool = False

    @classmethod
    def of(cls, detector: Detector, cluster: ClusterOptions, cards: float) -> GroupTrainer | None:
        """Who trains the network of a detector; None where one worker does: for tables, and unless more are wanted."""
        if not isinstance(detector, TokenDetector) or (cluster.workers or 1) == 1 or cluster.n_workers() == 1:
            return None
        workers = cluster.n_workers()
        return cls(workers, cluster.cpus, cards >= workers and detector.device != "cpu")

    @property
    def resources(self) -> dict[str, float]:
        """What Ray reserves for each worker."""
        return {"CPU": self.cpus, **({"GPU": 1 - CARD_OF_THE_FIT} if self.has_cards else {})}

    def __call__(
        self,
        network: nn.Module,
        codes: Codes,
        *,
        device: torch.device,
        callback: Callback | None = None,
        checkpoint: Checkpoint | None = None,
        **how: Any,
    ) -> nn.Module:
        """As `training.train`; progress is reported once the training has ended."""
        ray, ray_train = import_ray_train()
        stored = None if checkpoint is None else (str(checkpoint.path), checkpoint.seconds)
        job = TrainingJob(network.cpu(), codes, how, stored, callback is not None)
        scaling = {"num_workers": self.workers, "use_gpu": self.has_cards, "resources_per_worker": self.resources}
        with tempfile.TemporaryDirectory(prefix="maskdiff-") as folder:
            again = ray_train.FailureConfig(max_failures=RETRIES)
            trainer = ray_train.torch.TorchTrainer(
                train_share,
                train_loop_config={"job": ray.put(job)},
                scaling_config=ray_train.ScalingConfig(**scaling),
                run_config=ray_train.RunConfig(storage_path=folder, failure_config=again),
            )
            outcome = trainer.fit().return_value
        if isinstance(outcome, MaskdiffError):
            raise outcome
        content, looks = outcome
        for look in looks:
            if callback is not None:
                callback(look)
        network.load_state_dict(from_bytes(content))
        return network.to(device).eval().requires_grad_(False)


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """What every worker is given; `stored` is the path of the checkpoint, and how often it is written."""

    network: nn.Module
    codes: Codes
    how: dict[str, Any]
    stored: tuple[str, float] | None
    reports: bool


def train_share(config: dict[str, Any]) -> tuple[bytes, list[Progress]] | MaskdiffError:
    """The part of one worker; the trained weights and the progress, or the error that all workers meet."""
    ray, ray_train = import_ray_train()
    job: TrainingJob = ray.get(config["job"])
    context, device = ray_train.get_context(), ray_train.torch.get_device()
    group = WorkerGroup(context.get_world_rank(), context.get_world_size())
    looks: list[Progress] = []
    checkpoint = None if job.stored is None else Checkpoint(job.stored[0], resume=True, seconds=job.stored[1])
    watched: dict[str, Any] = {"callback": looks.append if job.reports else None, "checkpoint": checkpoint}
    try:
        trained = train(job.network, job.codes, **job.how, **watched, device=device, group=group)
    except MaskdiffError as error:  # another attempt would meet it again
        return error
    # Ray Train returns no tensors. Cloned, since weights may share their memory.
    weights = {name: weight.cpu().contiguous().clone() for name, weight in trained.state_dict().items()}
    return to_bytes(weights), looks
