"""ICL: internal contrastive learning (Shenkar & Wolf, "Anomaly detection for tabular data with internal contrastive
learning", 2022).

Every run of k consecutive columns of a row is matched with the rest of the row: two networks map both to unit vectors,
and a run must be closer to its own rest than the row's other runs are. A row whose parts do not find each other is odd.
Columns have no natural order, so narrow tables are read in several random orders. B rows, S runs, Z features.
"""

from __future__ import annotations

import math

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from maskdiff.bench.baselines.networks import Fitting, NetworkDetector, Scorer, leaky
from maskdiff.errors import InputError
from maskdiff.progress import Callback

FITTING = Fitting(epochs=100, batch_size=64, learning_rate=1e-3)
HIDDEN = (100, 50)
FEATURES = 128
TEMPERATURE = 0.1


def run_length(n_columns: int) -> int:
    """How many columns a run has: the paper's rule, which keeps the number of runs near 150 at most.

    >>> run_length(30), run_length(100), run_length(1000)
    (2, 10, 850)
    """
    if n_columns <= 40:
        return 2
    return 10 if n_columns <= 160 else n_columns - 150


def n_orders(n_rows: int, n_columns: int) -> int:
    """How many random column orders are averaged.

    >>> n_orders(1000, 20), n_orders(1000, 500)
    (4, 1)
    """
    return math.floor(100 / (math.log(n_rows) + n_columns)) + 1


class RunMatcher(nn.Module):
    """The contrastive loss of each row, for one order of the columns."""

    runs_SK: Tensor
    rests_SR: Tensor

    def __init__(self, order: Tensor) -> None:
        super().__init__()
        n_columns = len(order)
        length = run_length(n_columns)
        n_runs = n_columns - length + 1
        inside = torch.arange(n_columns) - torch.arange(n_runs)[:, None]
        inside = (inside >= 0) & (inside < length)
        columns = order.expand(n_runs, -1)
        self.register_buffer("runs_SK", columns[inside].view(n_runs, length))
        self.register_buffer("rests_SR", columns[~inside].view(n_runs, n_columns - length))
        first, second = HIDDEN
        # Normalised run by run: the inputs of different runs are different columns.
        self.read_rest = nn.Sequential(
            *(nn.Linear(n_columns - length, first), nn.Tanh(), nn.BatchNorm1d(n_runs)),
            *(nn.Linear(first, second), leaky(), nn.BatchNorm1d(n_runs)),
            *(nn.Linear(second, FEATURES), leaky()),
        )
        self.read_run = nn.Sequential(
            *(nn.Linear(length, first // 2), leaky(), nn.BatchNorm1d(n_runs)),
            *(nn.Linear(first // 2, second // 2), leaky()),
            *(nn.Linear(second // 2, FEATURES), leaky()),
        )

    def forward(self, rows_BW: Tensor) -> Tensor:
        """How badly the runs of each row find their rests, shape (B,)."""
        runs_BSZ = functional.normalize(self.read_run(rows_BW[:, self.runs_SK]), dim=2)
        rests_BSZ = functional.normalize(self.read_rest(rows_BW[:, self.rests_SR]), dim=2)
        likeness_BSS = rests_BSZ @ runs_BSZ.transpose(1, 2) / TEMPERATURE
        return -likeness_BSS.log_softmax(dim=2).diagonal(dim1=1, dim2=2).mean(dim=1)


class InternalContrast(Scorer):
    """The mean contrastive loss over all orders of the columns."""

    equal_rows_once = False

    def __init__(self, n_rows: int, n_columns: int) -> None:
        super().__init__()
        if n_columns < 4:
            raise InputError(f"at least 4 columns are needed to match parts of a row with each other; got {n_columns}.")
        self.matchers = nn.ModuleList(RunMatcher(torch.randperm(n_columns)) for _ in range(n_orders(n_rows, n_columns)))

    def loss(self, rows_BW: Tensor, share_B: Tensor, *, generator: Generator) -> Tensor:
        # The sum trains every order as if it were alone: they share no weights.
        return torch.stack([share_B @ matcher(rows_BW) for matcher in self.matchers]).sum()

    def score(self, rows_BW: Tensor) -> Tensor:
        return torch.stack([matcher(rows_BW) for matcher in self.matchers]).mean(dim=0)


def internal_contrast(
    *, fitting: Fitting = FITTING, seed: int = 0, device: str = "auto", callback: Callback | None = None
) -> NetworkDetector:
    """ICL with the paper's run lengths and numbers of column orders."""
    return NetworkDetector(InternalContrast, fitting, seed=seed, device=device, callback=callback)
