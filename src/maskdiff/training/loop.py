"""The one training loop: steps, averaged weights, held-out loss, stop rule, progress and checkpoints.

Shapes: B rows, F fields.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TypeVar

import torch
from torch import Generator, Tensor, nn

from maskdiff.codes import Codes
from maskdiff.codes.windows import narrowed
from maskdiff.errors import SettingError
from maskdiff.masking import Schedule, as_rows
from maskdiff.objectives import Objective
from maskdiff.progress import Callback, Progress
from maskdiff.training.adamw import AdamW, FusedAdamW
from maskdiff.training.batches import MaskedBatch, ShuffledBatches, mask_rows
from maskdiff.training.checkpoint import CheckpointStore, RunState, run_name
from maskdiff.training.cuda_graphs import choose_recorder, replay_packed, side_stream
from maskdiff.training.groups import ALONE, Group
from maskdiff.training.halves import in_halves
from maskdiff.training.memory import keep_large_blocks
from maskdiff.training.orthogonal import Optimiser, OrthogonalSteps
from maskdiff.training.settings import Training
from maskdiff.training.side_by_side import check_wanted

_SMALL_NETWORK = 1_000_000
_HELD_OUT_ROWS = 1000
# Where torch has a fused step of AdamW.
_FUSED_ON = ("cpu", "cuda")
# The global generator has one state for all threads.
_ONE_AT_A_TIME = Lock()

Made = TypeVar("Made")


def seeded(seed: int, make: Callable[[], Made]) -> Made:
    """What `make` makes from the global generator, started at this seed and put back as it was."""
    with _ONE_AT_A_TIME, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # the CPU's, where weights start; devices keep theirs
        return make()


def train(
    network: nn.Module,
    codes: Codes,
    *,
    objective: Objective,
    schedule: Schedule,
    settings: Training,
    seed: int,
    device: torch.device,
    held_out: Codes | None = None,
    callback: Callback | None = None,
    checkpoint: CheckpointStore | None = None,
    group: Group = ALONE,
) -> nn.Module:
    """Train `network`, whose `log_prob(views)` answers (B, K, F), and return it with its averaged weights.

    A run resumed from what the `checkpoint` stored ends with the same weights as one that was never interrupted. Where
    several processes train together, each calls this with the same arguments and its own place in the `group`.
    """
    network = network.to(device).train()
    if device.type == "cpu" and not _is_small(network):
        keep_large_blocks()
    record = choose_recorder(device, network, objective, schedule, group)
    # A batch for a recorded step is packed on the CPU, and sent in one piece.
    batch_device = device if record is None else torch.device("cpu")
    generator, tokens = Generator().manual_seed(seed), settings.batch_tokens
    batches = ShuffledBatches(codes, settings.batch_size, batch_device, generator, tokens=tokens)
    size = batches.n_rows, batches.mean_size
    n_steps = settings.stop.steps(*size)
    optimiser = _optimiser(network, settings, settings.orthogonal_factor(*size), recordable=record is not None)
    average = copy.deepcopy(network).eval().requires_grad_(False) if settings.average else None
    trained = average or network
    # Where nobody is shown the loss and it decides nothing, it is not computed.
    wanted = callback is not None or settings.tunes
    held_out_loss = _held_out_loss(held_out, objective, schedule, seed, device) if wanted else None
    checkpoint = group.stored(checkpoint)
    run = "" if checkpoint is None else run_name(network, codes, device, settings, objective, schedule, seed)
    with (
        in_halves(group, network, objective, device) as group,
        _drawing(network, seed, device) as dropout,
        side_stream(device),
        _threads_for(network, device),
    ):
        eager_step = _TrainingStep(network, optimiser, objective, schedule, group, settings.clip)
        take_step = eager_step if record is None else replay_packed(eager_step, record, codes, device)
        state = RunState(network, average, optimiser, batches, device, dropout)
        stored = None if checkpoint is None else checkpoint.load(run)
        done = 0 if stored is None else state.restore(stored)
        follow = _averaging(average, network, settings.average)
        for step in range(done + 1, n_steps + 1):
            check_wanted()
            _set_rate(optimiser, settings.rate(step, n_steps))
            group.start_step(dropout, seed, step)
            loss = take_step(mask_rows(batches.next(), objective, schedule, batches.generator))
            follow(step)
            if step % settings.look_every == 0 or step == n_steps:
                measured = None if held_out_loss is None else group.agreed(partial(held_out_loss, trained))
                state.held_out_losses.extend([] if measured is None else [measured])
                if callback is not None:
                    callback(Progress("training", step, n_steps, float(loss), measured))
                if settings.stop.done(state.held_out_losses):
                    break
                if checkpoint is not None:
                    checkpoint.save(run, partial(state.to_tensors, step))
    optimiser.zero_grad(set_to_none=True)
    _check_finite(trained, settings)
    return trained.eval().requires_grad_(False)


def _check_finite(network: nn.Module, settings: Training) -> None:
    """Refuse a network whose answers would all be NaN."""
    if not all(weight.isfinite().all() for weight in network.parameters()):
        raise SettingError(
            f"training diverged: some weights are not finite. Use a learning_rate below {settings.learning_rate:g}, or "
            "a longer warmup."
        )


@dataclass(frozen=True, eq=False)
class _TrainingStep:
    """One step of AdamW on a masked batch; returns the loss before it."""

    network: nn.Module
    optimiser: Optimiser
    objective: Objective
    schedule: Schedule
    group: Group
    clip: float | None = None

    def __call__(self, batch: MaskedBatch) -> Tensor:
        self.optimiser.zero_grad(set_to_none=True)
        loss = self.group.backward(self.network, self._loss, batch)
        if self.clip is None or self._clipped(self.clip):
            self.optimiser.step()
        return loss

    def _clipped(self, most: float) -> bool:
        """Scale the gradients down to this norm; whether the step is to be taken."""
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), most)
        if norm.device.type != "cuda" or not isinstance(self.optimiser, FusedAdamW):
            return bool(norm.isfinite())
        # A GPU is not waited for: its optimiser skips the step by itself.
        self.optimiser.found_inf = norm.isfinite().logical_not().float()
        return True

    def _loss(self, network: nn.Module, batch: MaskedBatch) -> Tensor:
        return batch_loss(network, batch, self.objective, self.schedule)


def batch_loss(network: nn.Module, batch: MaskedBatch, objective: Objective, schedule: Schedule) -> Tensor:
    """The objective's loss of the network's answers on a masked batch, a scalar."""
    log_prob_BF: Tensor = network.log_prob(batch.views)[:, 0]  # type: ignore[operator]
    return objective.loss(log_prob_BF, batch.views.hidden[:, 0], batch.time_B, schedule)


def _held_out_loss(
    held_out: Codes | None, objective: Objective, schedule: Schedule, seed: int, device: torch.device
) -> Callable[[nn.Module], float] | None:
    """The loss of a network on held-out rows, under masks that stay the same from look to look."""
    if held_out is None or not len(held_out):
        return None
    rows = as_rows(narrowed(held_out.take(slice(0, _HELD_OUT_ROWS))), device=device)

    def loss(network: nn.Module) -> float:
        training = network.training
        network.eval()
        with torch.no_grad():
            batch = mask_rows(rows, objective, schedule, Generator().manual_seed(seed + 1))
            value = batch_loss(network, batch, objective, schedule)
        network.train(training)
        return float(value)

    return loss


def _optimiser(network: nn.Module, settings: Training, orthogonal: float = 0.0, *, recordable: bool) -> Optimiser:
    """The optimiser of a network that is on its device already; `orthogonal` is the factor of such steps, or 0."""
    device = next(network.parameters()).device
    # A recorded step reads the rate from a tensor; a plain number would stay what it was when recorded.
    on_device = recordable and device.type != "cpu"

    def rate() -> float | Tensor:
        return torch.tensor(settings.learning_rate, device=device) if on_device else settings.learning_rate

    matrices: list[nn.Parameter] = getattr(network, "matrices", []) if orthogonal else []
    inside = {id(matrix) for matrix in matrices}
    others = [weight for weight in network.parameters() if id(weight) not in inside]
    known = FusedAdamW if device.type in _FUSED_ON else torch.optim.AdamW
    adamw: AdamW = known(others, rate(), weight_decay=settings.weight_decay)
    return OrthogonalSteps(matrices, rate(), orthogonal, adamw) if matrices else adamw


def _set_rate(optimiser: Optimiser, rate: float) -> None:
    """The learning rate of the next step."""
    for group in optimiser.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


def _averaging(average: nn.Module | None, network: nn.Module, decay: float) -> Callable[[int], None]:
    """What moves the averaged weights towards the network's after each step, where there are any.

    Early on they move faster, so that the first ones are forgotten.
    """
    if average is None:
        return lambda step: None
    # Listed once: to walk through the modules of a small network takes longer than to average its weights.
    averaged, weights = ([weight.detach() for weight in one.parameters()] for one in (average, network))
    return lambda step: torch._foreach_lerp_(averaged, weights, 1 - min(decay, step / (step + 10)))


@contextmanager
def _drawing(network: nn.Module, seed: int, device: torch.device) -> Iterator[Generator | None]:
    """What dropout draws its numbers from: a generator of the network's own where a CPU network takes one, so that
    several can be trained side by side; else None, torch's global ones, which are put back as they were.
    """
    draw_from = getattr(network, "draw_from", None)
    if draw_from is None or device.type != "cpu":
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(seed)
            yield None
        return
    generator = Generator().manual_seed(seed)
    draw_from(generator)
    try:
        yield generator
    finally:
        draw_from(None)


@contextmanager
def _threads_for(network: nn.Module, device: torch.device) -> Iterator[None]:
    """One thread for a small network on the CPU.

    Its steps are too short to share: two threads gain little on an idle machine, and wait for each other many times
    as long as they work on a busy one (300 steps: 2 s with one thread, 37 s with two beside another process).
    """
    threads = torch.get_num_threads()
    small = device.type == "cpu" and _is_small(network)
    torch.set_num_threads(1 if small else threads)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _is_small(network: nn.Module) -> bool:
    return sum(parameter.numel() for parameter in network.parameters()) <= _SMALL_NETWORK
