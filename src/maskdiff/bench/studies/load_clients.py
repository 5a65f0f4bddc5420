"""Clients that ask a service for single rows and compare the answers.

They speak plain HTTP over sockets: a library for it would need more of the processors than the service. Nothing heavy
is imported, since they run in a process of their own.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from dataclasses import dataclass
from typing import Any

# Scores of a row in one batch or another agree to this share of them: networks compute with seven digits.
_TOLERANCE = 1e-6


@dataclass
class Load:
    """What clients saw: milliseconds of each answer, answers with another status than 200, and wrong ones."""

    milliseconds: list[float]
    errors: int = 0
    wrong: int = 0


@dataclass
class Questions:
    """Where to ask, the bodies of the requests, each of one row, and the scores that are right."""

    port: int
    path: str
    bodies: list[bytes]
    scores: list[float]


def ask(
    port: int,
    path: str,
    bodies: list[bytes],
    scores: list[float],
    clients: int,
    requests: int | None,
    seconds: float | None,
) -> Load:
    """Let so many clients ask at the same time, each so many requests, or for so many seconds."""
    return asyncio.run(_all(Questions(port, path, bodies, scores), clients, requests, seconds))


async def _all(questions: Questions, clients: int, requests: int | None, seconds: float | None) -> Load:
    load = Load([])
    end = None if seconds is None else time.perf_counter() + seconds
    await asyncio.gather(*(_client(questions, at, load, requests, end) for at in range(clients)))
    return load


async def _client(questions: Questions, number: int, load: Load, requests: int | None, end: float | None) -> None:
    """One connection that asks again as soon as it is answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", questions.port)
    done, first = 0, 37 * number
    while (requests is None or done < requests) and (end is None or time.perf_counter() < end):
        place = (first + done) % len(questions.bodies)
        began = time.perf_counter()
        status, answer = await _asked(reader, writer, questions.path, questions.bodies[place])
        load.milliseconds.append(1000 * (time.perf_counter() - began))
        if status != 200:
            load.errors += 1
        elif not math.isclose(
            answer["rows"][0]["anomaly_score"], questions.scores[place], rel_tol=_TOLERANCE, abs_tol=_TOLERANCE
        ):
            load.wrong += 1
        done += 1
    writer.close()


async def _asked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: bytes) -> tuple[int, Any]:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
    length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
    return int(lines[0].split()[1]), json.loads(await reader.readexactly(length))
