"""ICL: internal contrastive learning (Shenkar & Wolf, "Anomaly detection for tabular data with internal contrastive
learning", 2022), as the library DeepOD has it, whose settings the paper took.

Every run of k consecutive columns of a row is matched with the rest of the row: two networks map both to vectors, and a
run must be closer to its own rest than the row's other runs are. A row whose parts do not find each other is odd.
Different from the authors of ICL, the library reads columns in the order they have, has longer runs in wide tables, and
scales vectors over the runs instead of over the features. B rows, S runs, Z features.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from maskdiff.bench.baselines.networks import Fitting, NetworkDetector, Scorer
from maskdiff.errors import InputError
from maskdiff.progress import Callback

FITTING = Fitting(epochs=100, batch_size=64, learning_rate=1e-3)
HIDDEN = (100, 50)
FEATURES = 128
TEMPERATURE = 0.01


def run_length(n_columns: int) -> int:
    """How many columns a run has; there are at most 401 runs.

    >>> run_length(30), run_length(100), run_length(200), run_length(300), run_length(1000)
    (2, 10, 50, 100, 600)
    """
    if n_columns <= 40:
        return 2
    if n_columns <= 160:
        return 10
    return n_columns - (150 if n_columns <= 240 else 200 if n_columns <= 480 else 400)


class InternalContrast(Scorer):
    """The contrastive loss of each row."""

    # Layers are normalised over the batch.
    equal_rows_once = False
    runs_SK: Tensor
    rests_SR: Tensor

    def __init__(self, n_columns: int) -> None:
        super().__init__()
        if n_columns < 4:
            raise InputError(f"at least 4 columns are needed to match parts of a row with each other; got {n_columns}.")
        length = run_length(n_columns)
        n_runs = n_columns - length + 1
        inside = torch.arange(n_columns) - torch.arange(n_runs)[:, None]
        inside = (inside >= 0) & (inside < length)
        columns = torch.arange(n_columns).expand(n_runs, -1)
        self.register_buffer("runs_SK", columns[inside].view(n_runs, length))
        self.register_buffer("rests_SR", columns[~inside].view(n_runs, n_columns - length))
        self.read_rest = _network(n_runs, (n_columns - length, *HIDDEN, FEATURES), nn.Tanh())
        self.read_run = _network(n_runs, (length, *(width // 2 for width in HIDDEN), FEATURES), nn.LeakyReLU())

    def loss(self, rows_BW: Tensor, share_B: Tensor, *, generator: Generator) -> Tensor:
        return share_B @ self.score(rows_BW)

    def score(self, rows_BW: Tensor) -> Tensor:
        """How badly the runs of each row find their rests, shape (B,)."""
        runs_BSZ = functional.normalize(self.read_run(rows_BW[:, self.runs_SK]), dim=1)
        rests_BSZ = functional.normalize(self.read_rest(rows_BW[:, self.rests_SR]), dim=1)
        likeness_BSS = rests_BSZ @ runs_BSZ.transpose(1, 2) / TEMPERATURE
        return -likeness_BSS.log_softmax(dim=2).diagonal(dim1=1, dim2=2).mean(dim=1)


def _network(n_runs: int, widths: tuple[int, ...], first: nn.Module) -> nn.Sequential:
    """Layers without biases, each activated, then normalised run by run: the inputs of runs are different columns."""
    steps: list[nn.Module] = []
    for width, following in pairwise(widths):
        activation = nn.LeakyReLU() if steps else first
        steps += [nn.Linear(width, following, bias=False), activation, nn.BatchNorm1d(n_runs, affine=False)]
    return nn.Sequential(*steps)


def internal_contrast(
    *, fitting: Fitting = FITTING, seed: int = 0, device: str = "auto", callback: Callback | None = None
) -> NetworkDetector:
    """ICL with the library's run lengths and temperature."""
    return NetworkDetector(
        lambda n, width: InternalContrast(width), fitting, seed=seed, device=device, callback=callback
    )
