"""Training steps that are recorded once and replayed from then on, and the packed batches they read.

The networks here are small and so are their batches: on a GPU, starting the hundreds of operations of a step takes far
longer than computing them. A CUDA graph starts them all at once.

Shapes: B rows, F fields (positions of token rows), M cells whose values are predicted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

import torch
from torch import Generator, Tensor
from torch.nn import functional

from maskdiff.codes import Codes
from maskdiff.masking import MaskedViews
from maskdiff.training.batches import MaskedBatch, round_width

Step = Callable[..., Tensor]
# Records a step without running it; returns what replays it, and the tensor each replay leaves the loss in.
Record = Callable[[Callable[[], Tensor]], tuple[Callable[[], None], Tensor]]
Key = tuple[Hashable, ...]
Adam = TypeVar("Adam", bound=torch.optim.Optimizer)

_STEPS_BEFORE_RECORDING = 2


class ReplayedStep:
    """A step that takes tensors and returns the loss, recorded for each set of shapes and each value of its options.

    The first steps with each shape are taken as they are: libraries set themselves up then, which cannot be recorded,
    and a shape that comes up only twice is not worth a recording. They count like all others, so nothing has to be
    undone. The loss returned is overwritten by the next step.
    """

    def __init__(self, step: Step, record: Record) -> None:
        self.step = step
        self.record = record
        self.taken: Counter[Key] = Counter()
        self.recorded: dict[Key, tuple[tuple[Tensor, ...], Callable[[], None], Tensor]] = {}

    def __call__(self, *tensors: Tensor, **options: Hashable) -> Tensor:
        key = (*(tensor.shape for tensor in tensors), *options.items())
        self.taken[key] += 1
        if self.taken[key] <= _STEPS_BEFORE_RECORDING:
            return self.step(*tensors, **options)
        if key not in self.recorded:
            inputs = tuple(tensor.clone() for tensor in tensors)
            self.recorded[key] = (inputs, *self.record(lambda: self.step(*inputs, **options)))
        inputs, replay, loss = self.recorded[key]
        for recorded_input, tensor in zip(inputs, tensors, strict=True):
            recorded_input.copy_(tensor)
        replay()
        return loss


class CudaGraphRecorder:
    """Records steps that are replayed one at a time, and so can share their memory; called within `side_stream`.

    Random numbers come from the device's own generator or from the one given.
    """

    def __init__(self, generator: Generator | None = None) -> None:
        self.generator = generator
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, step: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        graph = torch.cuda.CUDAGraph()
        # From 2.14 on graphs find their generators by themselves, and warn where one is registered.
        if self.generator is not None and torch.__version__ < "2.14":
            graph.register_generator_state(self.generator)
        with torch.cuda.graph(graph, pool=self.pool, stream=torch.cuda.current_stream()):
            loss = step()
        return graph.replay, loss


# Device type -> what records steps there.
RECORDERS: dict[str, Callable[[], Record]] = {"cuda": CudaGraphRecorder}


def choose_recorder(device: torch.device, *parts: object) -> Record | None:
    """What records steps on this device; None where steps are taken as they are.

    A part of the step (network, objective, schedule) that looks at values to decide what to do cannot be recorded. So
    the class of each part has to say `can_be_recorded`; a subclass, which may compute something else, says it again.
    """
    recordable = all(vars(type(part)).get("can_be_recorded", False) for part in parts)
    return RECORDERS[device.type]() if recordable and device.type in RECORDERS else None


def without_capture_warning(optimiser: Adam) -> Adam:
    """An optimiser made with `capturable`, which no longer warns about steps that are not recorded."""
    optimiser._warned_capturable_if_run_uncaptured = True
    return optimiser


@contextmanager
def side_stream(device: torch.device) -> Iterator[None]:
    """On a GPU, work beside its default stream, where nothing can be recorded, and wait for the end; else nothing."""
    if device.type != "cuda":
        yield
        return
    stream = _stream(device)
    stream.wait_stream(torch.cuda.current_stream(device))
    with torch.cuda.stream(stream):
        yield
    stream.synchronize()


@cache  # libraries keep memory for every stream they have seen
def _stream(device: torch.device) -> torch.cuda.Stream:
    return torch.cuda.Stream(device)


# Packed batches ------------------------------------------------------------------------------------------------------


def replay_packed(
    step: Callable[[MaskedBatch], Tensor], record: Record, codes: Codes, device: torch.device
) -> Callable[[MaskedBatch], Tensor]:
    """The same step, recorded for each shape of the batches of these rows; each batch is sent in one piece."""
    widest = None if codes.real is None else codes.values.shape[1]

    def step_on_packed(packed: Tensor, *, shape: PackedShape) -> Tensor:
        return step(unpack(packed, shape))

    replayed = ReplayedStep(step_on_packed, record)

    def take_step(batch: MaskedBatch) -> Tensor:
        packed, shape = pack(batch, widest=widest)
        return replayed(_send(packed, device), shape=shape)

    return take_step


@dataclass(frozen=True)
class PackedShape:
    """All that distinguishes one recorded step from another. `n_places` is the length of `MaskedViews.places_M`, 0 for
    tables, which have none.
    """

    n_rows: int
    width: int
    n_places: int

    @property
    def parts(self) -> list[tuple[torch.dtype, tuple[int, ...]]]:
        """The tensors in packing order: the widest numbers first, so that each starts at a multiple of its own size."""
        cells, rows = (self.n_rows, self.width), (self.n_rows,)
        numbers = [(torch.int64, cells), (torch.int64, (self.n_places,)), (torch.float32, rows), (torch.float32, rows)]
        return [*numbers, *[(torch.bool, cells)] * 3]


def pack(batch: MaskedBatch, *, widest: int | None) -> tuple[Tensor, PackedShape]:
    """A masked batch as one run of bytes, which takes one copy to a device, and the shape that `unpack` needs.

    Token rows (at most `widest` tokens; None for tables) are padded, so that they come in few shapes: in width, and in
    the number of places to predict, the hidden ones first, others behind them as filling.
    """
    views = batch.views
    codes_BF, hidden_BF, visible_BF = views.codes_BF, views.hidden[:, 0], views.visible[:, 0]
    real_BF = torch.ones_like(hidden_BF) if views.real_BF is None else views.real_BF
    places_M = torch.empty(0, dtype=torch.int64)
    if widest is not None:
        padding = (0, round_width(codes_BF.shape[1], widest) - codes_BF.shape[1])
        cells = (codes_BF, hidden_BF, visible_BF, real_BF)
        codes_BF, hidden_BF, visible_BF, real_BF = (functional.pad(part, padding) for part in cells)
        real_BF[:, 0] = True  # attention over nothing would give NaN; nothing is predicted in an empty row
        places_M = hidden_BF.flatten().logical_not().to(torch.uint8).argsort(stable=True)
        places_M = places_M[: _round_places(int(hidden_BF.sum()), hidden_BF.numel())]
    tensors = (codes_BF, places_M, views.mask_rate, batch.time_B, hidden_BF, visible_BF, real_BF)
    shape = PackedShape(codes_BF.shape[0], codes_BF.shape[1], len(places_M))
    pairs = zip(tensors, shape.parts, strict=True)
    return torch.cat([tensor.to(dtype).flatten().view(torch.uint8) for tensor, (dtype, _) in pairs]), shape


def unpack(packed: Tensor, shape: PackedShape) -> MaskedBatch:
    """The batch that was packed, in the same memory."""
    n_bytes = [dtype.itemsize * torch.Size(size).numel() for dtype, size in shape.parts]
    codes_BF, places_M, rate_B, time_B, hidden_BF, visible_BF, real_BF = (
        part.view(dtype).view(size) for part, (dtype, size) in zip(packed.split(n_bytes), shape.parts, strict=True)
    )
    places = places_M if shape.n_places else None
    masks = (hidden_BF[:, None], visible_BF[:, None], rate_B[:, None])
    return MaskedBatch(MaskedViews(codes_BF, *masks, None, real_BF, places), time_B)


def _send(packed: Tensor, device: torch.device) -> Tensor:
    """The same on the device, without waiting for it."""
    return packed.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else packed.to(device)


def _round_places(n_hidden: int, n_cells: int) -> int:
    """Room for the hidden cells: half are hidden on average, and hardly ever more than five eighths."""
    usual = -(-n_cells * 5 // 8)
    return usual if n_hidden <= usual else n_cells
