"""Where the service listens, who may use it, and how much it accepts."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from maskdiff.errors import SettingError

_SHORTEST_TOKEN = 16


@dataclass(frozen=True)
class Limits:
    """How much the service accepts; what is beyond is refused before it costs anything.

    `body_bytes` of a request that is answered at once, `upload_bytes` of a file for a job, `unpacked_bytes` of either
    once decompressed; `json_rows` of one JSON request, `rows` of a file, `columns` of both. At most `waiting` requests
    and `waiting_jobs` jobs wait for their turn. Headers have to arrive within `receive_seconds`, and so has a body. An
    answer about JSON rows is given up after `answer_seconds`, one about a file after `file_seconds`. `jobs_at_once`
    jobs run side by side. Uploads and results that nobody used for `keep_days` are removed; models never are.
    """

    body_bytes: int = 64 << 20
    upload_bytes: int = 1 << 30
    unpacked_bytes: int = 2 << 30
    json_rows: int = 10_000
    rows: int = 2_000_000
    columns: int = 2_000
    waiting: int = 512
    waiting_jobs: int = 32
    receive_seconds: int = 30
    answer_seconds: int = 60
    file_seconds: int = 600
    jobs_at_once: int = 1
    keep_days: int = 30

    def __post_init__(self) -> None:
        wrong = next((one.name for one in fields(self) if getattr(self, one.name) < 1), None)
        if wrong is not None:
            raise SettingError(f"the limit {wrong} must be at least 1; got {getattr(self, wrong)}.")

    def changed(self, given: list[str]) -> Limits:
        """With other values, each given as NAME=VALUE.

        >>> Limits().changed(["rows=500"]).rows
        500
        """
        known = [one.name for one in fields(self)]
        values = {}
        for text in given:
            name, _, value = text.partition("=")
            if name not in known or not value.isdecimal():
                raise SettingError(f"a limit is NAME=NUMBER with one of the names {', '.join(known)}; got {text!r}.")
            values[name] = int(value)
        return replace(self, **values)


@dataclass(frozen=True)
class ServiceSettings:
    """A folder of models, an address, the token that requests have to carry (None: none), limits.

    Without a token the service listens on loopback addresses only. `log_values`: the log may name values of cells.
    """

    folder: Path
    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    limits: Limits = field(default_factory=Limits)
    log_values: bool = False

    def __post_init__(self) -> None:
        if not self.folder.is_dir():
            raise SettingError(f"there is no folder {self.folder} for the models.")
        if self.token is None and not is_loopback(self.host):
            raise SettingError(
                f"{self.host} can be reached from other machines: that needs a token, so that not everyone can use the "
                "service. Give one, or listen on 127.0.0.1.",
                setting="token",
            )

    @property
    def work(self) -> Path:
        """Where uploads, jobs and results are kept."""
        return self.folder / ".service"


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches that address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_token(path: str) -> str:
    """The token in a file: one line of at least 16 characters."""
    file = Path(path)
    if not file.is_file():
        raise SettingError(f"there is no file {path} with a token.", setting="token")
    token = file.read_text(encoding="utf-8").strip()
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or any(part.isspace() for part in token):
        raise SettingError(
            f"the token in {path} has to be one line of at least {_SHORTEST_TOKEN} ASCII characters without blanks.",
            setting="token",
        )
    return token
