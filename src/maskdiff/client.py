"""A small client of the service: `maskdiff serve` on the other side. Needs the extra `serve`.

It is a context manager:

    with Client("http://127.0.0.1:8000") as client:
        client.score("claims", [{"amount": 120, "country": "NL"}])
        job = client.find("claims.csv")
        rows = client.rows(job["result"]["result"])
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from maskdiff.errors import MaskdiffError, MissingExtraError

if TYPE_CHECKING:
    import httpx

Row = Mapping[str, Any]
Facts = dict[str, Any]
_MEDIA_TYPES = {".csv": "text/csv", ".jsonl": "application/x-ndjson", ".parquet": "application/vnd.apache.parquet"}


class ServiceError(MaskdiffError):
    """The service refused a request: its `status`, and what it said."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{message} (status {status})")
        self.status = status


class JobError(MaskdiffError):
    """A job failed or was cancelled; `job` is where it stood."""

    def __init__(self, job: Facts) -> None:
        super().__init__(f"the job {job['id']} is {job['state']}: {job['error']}")
        self.job = job


class Client:
    """Speaks to a service at `url`, with a `token` where it asks for one; `seconds` is how long an answer may take."""

    def __init__(self, url: str = "http://127.0.0.1:8000", *, token: str | None = None, seconds: float = 60.0) -> None:
        try:
            import httpx
        except ImportError as error:
            raise MissingExtraError("serve", needs="httpx") from error
        headers = {"X-Maskdiff": "client"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
        self.http: httpx.Client = httpx.Client(base_url=url, headers=headers, timeout=seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.http.close()

    # Models and rows --------------------------------------------------------------------------------------------------

    def models(self) -> list[Facts]:
        """Name, size and time of each model."""
        return list(self._json("GET", "/models")["models"])

    def model(self, name: str) -> Facts:
        """Columns, settings, calibration and rules of a model."""
        return self._json("GET", f"/models/{name}")

    def delete_model(self, name: str) -> None:
        self._ask("DELETE", f"/models/{name}")

    def score(self, model: str, rows: Sequence[Row], *, false_alarm_rate: float | None = None) -> list[Facts]:
        """The verdict on each row: anomaly_score, p_value, is_anomaly. Higher = more anomalous."""
        params = _given(false_alarm_rate=false_alarm_rate)
        return list(self._json("POST", f"/models/{model}/score", params=params, json={"rows": list(rows)})["rows"])

    def explain(
        self,
        model: str,
        rows: Sequence[Row],
        *,
        top: int | None = None,
        nearest: bool = False,
        false_alarm_rate: float | None = None,
    ) -> list[Facts]:
        """The verdict on each row with the cells or tokens that are its reasons."""
        params = _given(top=top, nearest=nearest or None, false_alarm_rate=false_alarm_rate)
        return list(self._json("POST", f"/models/{model}/explain", params=params, json={"rows": list(rows)})["rows"])

    def score_file(
        self, model: str, rows: str | os.PathLike[str], out: str | os.PathLike[str], *, explain: int = 0
    ) -> None:
        """Write a CSV, JSON Lines or Parquet file with verdicts, and so many reasons a row, to `out`."""
        path = Path(rows)
        headers = {"Content-Type": _MEDIA_TYPES.get(path.suffix.lower(), "text/csv")}
        route, params = ("explain", {"top": explain}) if explain else ("score", {})
        answer = self._ask("POST", f"/models/{model}/{route}", params=params, headers=headers, content=_parts(path))
        Path(out).write_bytes(answer.content)

    def dismiss(self, model: str, rows: Sequence[Row], *, like: bool = False) -> list[Facts]:
        """Judge rows fine, alone or with all of their like; the rules that are made of them."""
        scope = "same pattern" if like else "same cells"
        given = {"rows": list(rows), "scope": scope}
        return list(self._json("POST", f"/models/{model}/dismiss", json=given)["dismissed"])

    # Files and jobs ---------------------------------------------------------------------------------------------------

    def upload(self, path: str | os.PathLike[str]) -> Facts:
        """Keep a file for jobs; its id, and how its columns are read."""
        name = Path(path).name
        return self._json("POST", "/files", params={"name": name}, content=_parts(Path(path)))

    def find(
        self, path: str | os.PathLike[str], *, callback: Callable[[Facts], None] | None = None, **given: Any
    ) -> Facts:
        """Search the odd rows of a file; the job once it is done. `given` are settings of `POST /find`."""
        return self.wait(self._json("POST", "/find", json={"file": self.upload(path)["id"], **given}), callback)

    def learn(
        self,
        path: str | os.PathLike[str],
        name: str,
        *,
        callback: Callable[[Facts], None] | None = None,
        **given: Any,
    ) -> Facts:
        """Learn a model from a file of normal rows; the job once it is done."""
        wanted = {"file": self.upload(path)["id"], "name": name, **given}
        return self.wait(self._json("POST", "/models", json=wanted), callback)

    def update(
        self,
        model: str,
        path: str | os.PathLike[str],
        *,
        callback: Callable[[Facts], None] | None = None,
        **given: Any,
    ) -> Facts:
        """Let a model learn on from more normal rows; the job once it is done."""
        wanted = {"file": self.upload(path)["id"], **given}
        return self.wait(self._json("POST", f"/models/{model}/update", json=wanted), callback)

    def job(self, id: str) -> Facts:
        """Where a job stands."""
        return self._json("GET", f"/jobs/{id}")

    def cancel(self, id: str) -> Facts:
        """End a job."""
        return self._json("DELETE", f"/jobs/{id}")

    def events(self, id: str) -> Iterator[Facts]:
        """The job each time it changes, until it has ended."""
        with self.http.stream("GET", f"/jobs/{id}/events", timeout=None) as answer:
            if answer.status_code != 200:
                answer.read()
            _check(answer)
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    def wait(self, job: Facts, callback: Callable[[Facts], None] | None = None) -> Facts:
        """The job once it is done; one that failed or was cancelled is an error."""
        for facts in self.events(job["id"]):
            job = facts
            if callback is not None:
                callback(facts)
        if job["state"] != "done":
            raise JobError(job)
        return job

    def rows(self, result: str, **choice: Any) -> list[Facts]:
        """Rows of a result with their reasons, the oddest first; `choice` as in `GET /results/{id}/rows`."""
        return list(self._json("GET", f"/results/{result}/rows", params=choice)["rows"])

    def _json(self, method: str, path: str, **more: Any) -> Facts:
        answer: Facts = self._ask(method, path, **more).json()
        return answer

    def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        answer = self.http.request(method, path, **more)
        _check(answer)
        return answer


def _given(**settings: Any) -> Facts:
    return {name: value for name, value in settings.items() if value is not None}


def _parts(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(1 << 18):
            yield part


def _check(answer: httpx.Response) -> None:
    if answer.is_error:
        try:
            message = str(answer.json()["error"])
        except (ValueError, KeyError, TypeError):
            message = answer.reason_phrase
        raise ServiceError(answer.status_code, message)
