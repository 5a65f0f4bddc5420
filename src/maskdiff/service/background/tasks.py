"""What jobs do: each task is one call of the library. Results appear under their names when they are complete."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from maskdiff.detectors.finding.search import FindOptions
from maskdiff.io.atomic import atomic_write
from maskdiff.jobs import (
    Checkpoint,
    Checkpoints,
    ColumnOptions,
    DetectorSettings,
    FindOutput,
    Labels,
    find_file,
    fit_file,
    update_file,
)
from maskdiff.jobs.view import view_file
from maskdiff.progress import Callback
from maskdiff.service.background.locks import locked
from maskdiff.service.background.store import Job
from maskdiff.service.kept.workspace import Workspace
from maskdiff.storage import save

# Put before the names of added columns in files of results, so that no column of a client is in the way.
PREFIX = "maskdiff_"
# Reasons of a found row, and the number of rows that have them; others are explained when they are looked at.
REASONS, ROWS_WITH_REASONS = 8, 2000


def find_rows(job: Job, work: Workspace, callback: Callback) -> dict[str, Any]:
    """Search a file; the result holds all rows in order, the sections of a report, and a model."""
    file = work.files.get(job.settings["file"])
    rate = job.settings.get("false_discovery_rate") or 0.1
    with work.results.making(job.id) as (id, folder):
        summary = find_file(
            str(work.files.rows(file.id)),
            str(folder / "rows.parquet"),
            detector=_detector(job),
            columns=_columns(job),
            options=FindOptions(job.settings.get("contamination") or "auto", rate),
            group=job.settings.get("group"),
            order=job.settings.get("order"),
            output=FindOutput(
                top=2**62,
                explain=REASONS,
                explain_rows=ROWS_WITH_REASONS,
                model=folder / "model.maskdiff",
                sections=str(folder / "sections.json"),
                prefix=PREFIX,
            ),
            reading=file.reading,
            checkpoints=Checkpoints(str(work.checkpoint(job.id)), resume=True),
            callback=callback,
        )
        odd = summary.estimated_odd
        facts = {
            "task": "find",
            "file": asdict(file),
            "rows": summary.rows,
            "alarms": summary.found,
            "false_discovery_rate": rate,
            "estimated_odd": {"number": odd.number, "low": odd.low, "high": odd.high},
        }
        _describe(folder, facts)
    return {"result": id, "rows": summary.rows, "alarms": summary.found}


def score_rows(job: Job, work: Workspace, callback: Callback) -> dict[str, Any]:
    """Judge a file by a model; the result holds all rows, the sections of a report, and the model as it was."""
    file = work.files.get(job.settings["file"])
    model = work.model(job.settings["model"])
    with work.results.making(job.id) as (id, folder):
        copy = folder / "model.maskdiff"
        copy.write_bytes(model.read_bytes())
        summary = view_file(
            copy,
            str(work.files.rows(file.id)),
            str(folder / "rows.parquet"),
            str(folder / "sections.json"),
            prefix=PREFIX,
            false_alarm_rate=job.settings.get("false_alarm_rate"),
            reading=file.reading,
            callback=callback,
        )
        facts = {"task": "score", "file": asdict(file), "rows": summary.rows, "alarms": summary.anomalies}
        _describe(folder, facts | {"model": job.settings["model"]})
    return {"result": id, "rows": summary.rows, "alarms": summary.anomalies}


def learn_model(job: Job, work: Workspace, callback: Callback) -> dict[str, Any]:
    """Learn a model from the rows of a file, or keep the one of a result under a name."""
    name = job.settings["name"]
    if job.settings.get("result"):
        kept = work.results.path(job.settings["result"]) / "model.maskdiff"
        with locked(work.lock(f"model-{name}")):
            _put(kept, work.model(name, there=False))
        return {"model": name}
    file = work.files.get(job.settings["file"])
    label, normal = job.settings.get("label"), job.settings.get("normal") or ()
    detector = fit_file(
        str(work.files.rows(file.id)),
        detector=_detector(job),
        columns=_columns(job),
        labels=Labels(label, normal) if label else None,
        reading=file.reading,
        checkpoint=_checkpoint(job, work),
        callback=callback,
    )
    with locked(work.lock(f"model-{name}")):
        save(detector, work.model(name, there=False))
    return {"model": name}


def update_model(job: Job, work: Workspace, callback: Callback) -> dict[str, Any]:
    """Let a model learn on from the rows of a file."""
    name, file = job.settings["model"], work.files.get(job.settings["file"])
    with locked(work.lock(f"model-{name}")):
        path = work.model(name)
        summary = update_file(
            path,
            str(work.files.rows(file.id)),
            str(path),
            label=job.settings.get("label"),
            normal=job.settings.get("normal") or (),
            reading=file.reading,
            checkpoint=_checkpoint(job, work),
            callback=callback,
        )
    return {"model": name, "update": summary.to_record()}


Task = Callable[[Job, Workspace, Callback], dict[str, Any]]
TASKS: dict[str, Task] = {"find": find_rows, "score": score_rows, "learn": learn_model, "update": update_model}


def _detector(job: Job) -> DetectorSettings:
    names = ("text", "sequence", "separator", "reconstructor", "steps")
    given = {name: job.settings[name] for name in names if job.settings.get(name) is not None}
    return DetectorSettings(**given, others={"seed": job.settings.get("seed") or 0, "progress": False})


def _columns(job: Job) -> ColumnOptions:
    """The columns by how they are to be read, as `ColumnOptions` wants them."""
    ways: dict[str, list[str]] = {}
    for name, how in (job.settings.get("columns") or {}).items():
        ways.setdefault(how, []).append(name)
    return ColumnOptions(**{how: names for how, names in ways.items() if how != "auto"})


def _checkpoint(job: Job, work: Workspace) -> Checkpoint:
    return Checkpoint(str(work.checkpoint(job.id)), resume=True)


def _describe(folder: Path, facts: dict[str, Any]) -> None:
    (folder / "result.json").write_text(json.dumps(facts), encoding="utf-8")


def _put(source: Path, target: Path) -> None:
    with atomic_write(target) as file:
        file.write(source.read_bytes())
