"""Answers that take too long are given up, and the service goes on."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from maskdiff.service import Limits, ServiceSettings, create_app
from maskdiff.service.scoring import PendingRows

from ...conftest import make_connections

SCORE = "/models/connections/score"


def test_an_answer_that_takes_too_long_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(ServiceSettings(folder, limits=Limits(answer_seconds=1, file_seconds=1)))
    service, go_on = app.state.service, threading.Event()
    answer, rows = service.scorer._answer, make_connections(3, seed=1)

    def held_up(group: list[PendingRows]) -> None:
        go_on.wait()
        answer(group)

    monkeypatch.setattr(service.scorer, "_answer", held_up)
    service.bulk.pool.submit(go_on.wait)

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60) as client:
            as_file = {"content": rows.to_csv(index=False).encode(), "headers": {"Content-Type": "text/csv"}}
            as_json = {"json": {"rows": rows.to_dict("records")}}
            late = await asyncio.gather(client.post(SCORE, **as_json), client.post(SCORE, **as_file))
            go_on.set()
            return [*late, await client.post(SCORE, **as_json), await client.post(SCORE, **as_file)]

    try:
        with ThreadPoolExecutor(1) as own_thread:  # tests in a browser leave a running event loop in this one
            answers = own_thread.submit(asyncio.run, ask()).result()
    finally:
        go_on.set()
        service.close()
    assert [one.status_code for one in answers] == [503, 503, 200, 200]
    for late in answers[:2]:
        assert late.json()["error"] == "the answer took longer than 1 s."
        assert late.headers["retry-after"] == "10"
    assert list((folder / ".service" / "scratch").iterdir()) == []
