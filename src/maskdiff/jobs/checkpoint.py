"""The state of a training in a file beside the model, so that an interrupted one can go on."""

from __future__ import annotations

import glob
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from maskdiff.errors import ModelFileError, SettingError
from maskdiff.io.outputs import FileContent
from maskdiff.io.streams import open_output

if TYPE_CHECKING:
    from torch import Tensor


_HEAD = 1 << 16


def _is_checkpoint(file: BinaryIO) -> bool:
    return b'"run"' in file.read(_HEAD)


CHECKPOINT_FILE = FileContent("a checkpoint", _is_checkpoint)


class Checkpoint:
    """Keeps the state of a run in a file, at most once every so many seconds.

    Unless it is to `resume`, what an earlier run kept is not looked at. Call `done` when the model is safe.
    """

    def __init__(self, path: str, *, resume: bool = False, seconds: float = 10.0) -> None:
        self.path = Path(path)
        self.resume = resume
        self.seconds = seconds
        self.resumed_at: int | None = None
        self.kept = False
        self._last = time.monotonic()

    def __str__(self) -> str:
        return str(self.path)

    @property
    def files(self) -> list[Path]:
        """The file, where it is there."""
        return [self.path] if self.path.is_file() else []

    @property
    def resumable(self) -> bool:
        """Whether this run left something to resume."""
        return self.kept or self.resumed_at is not None

    def load(self, run: str) -> dict[str, Tensor] | None:
        """What was kept of this run."""
        from safetensors import SafetensorError, safe_open

        if not self.resume or not self.path.is_file():
            return None
        try:
            with safe_open(self.path, framework="pt") as file:
                kept_of = (file.metadata() or {}).get("run")
                state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise ModelFileError(
                f"the checkpoint {self.path} is damaged ({error}). Begin anew: resume=False.", setting="resume"
            ) from error
        if kept_of != run:
            raise SettingError(
                f"the checkpoint {self.path} is of another training: other rows, settings or seed. "
                "Fit as you did then, or begin anew: resume=False.",
                setting="resume",
            )
        self.resumed_at = int(state["step"])
        return state

    def save(self, run: str, state: Callable[[], dict[str, Tensor]]) -> None:
        """Write the state down, if the last time was long enough ago."""
        from safetensors.torch import save as to_bytes

        if time.monotonic() - self._last < self.seconds:
            return
        parts = {name: part.detach().cpu().contiguous().clone() for name, part in state().items()}
        with open_output(str(self.path)) as file:
            file.write(to_bytes(parts, metadata={"run": run}))
        self._last, self.kept = time.monotonic(), True

    def done(self) -> None:
        """Nothing is left to resume."""
        self.path.unlink(missing_ok=True)


class Checkpoints:
    """The states of all trainings of a search, each in a file of its own beside `path`."""

    def __init__(self, path: str, *, resume: bool = False, seconds: float = 10.0) -> None:
        self.path = Path(path)
        self.resume = resume
        self.seconds = seconds
        self.made: list[Checkpoint] = []

    def of(self, round: int, fold: int) -> Checkpoint:
        """The store of one training."""
        self.made.append(Checkpoint(f"{self.path}.{round}-{fold + 1}", resume=self.resume, seconds=self.seconds))
        return self.made[-1]

    def __str__(self) -> str:
        return f"{self.path}.*"

    @property
    def resumable(self) -> bool:
        """Whether this run left something to resume."""
        return any(one.resumable for one in self.made)

    @property
    def files(self) -> list[Path]:
        """The files that are there."""
        return sorted(self.path.parent.glob(f"{glob.escape(self.path.name)}.*-*"))

    def done(self) -> None:
        """Nothing is left to resume."""
        for path in self.files:
            path.unlink(missing_ok=True)
