"""The manifest for Kubernetes: what KubeRay's own schema says of it, and that its command is one of ours."""

from __future__ import annotations

import copy
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")

SCHEMA = json.loads((Path(__file__).parent / "kuberay" / "rayjob_v1.json").read_text())
MANIFEST = Path(__file__).resolve().parents[2] / "examples" / "cluster" / "rayjob.yaml"


@pytest.fixture
def manifest() -> Any:
    return yaml.safe_load(MANIFEST.read_text())


def test_the_manifest_fits_the_schema_of_kuberay(manifest) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(manifest)


@pytest.mark.parametrize(("name", "value"), [("entrypoints", "maskdiff"), ("ttlSecondsAfterFinished", "soon")])
def test_a_manifest_with_a_mistake_does_not(manifest, name, value) -> None:
    wrong = copy.deepcopy(manifest)
    wrong["spec"][name] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(wrong)


def test_its_command_is_understood(manifest, monkeypatch) -> None:
    from maskdiff import distributed
    from maskdiff.cli import main

    called: dict[str, Any] = {}

    def score_files(model: str, rows: str, out: str, options: Any, **settings: Any) -> Any:
        called.update(model=model, rows=rows, out=out, rate=options.false_alarm_rate, **settings)
        return distributed.FilesSummary(threshold=1.0, false_alarm_rate=0.001)

    monkeypatch.setattr(distributed, "score_files", score_files)
    program, *arguments = shlex.split(manifest["spec"]["entrypoint"])
    assert (program, main([*arguments, "--quiet"])) == ("maskdiff", 0)
    assert (called["rows"], called["out"]) == ("s3://claims/2026/*.parquet", "s3://claims/scored")
    assert (called["cluster"].address, called["rate"]) == ("auto", 0.001)


def test_every_node_is_given_the_credentials_of_the_store(manifest) -> None:
    cluster = manifest["spec"]["rayClusterSpec"]
    templates = [group["template"] for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])]
    containers = [container for template in templates for container in template["spec"]["containers"]]
    assert len(containers) == 2
    assert all(container["envFrom"] == [{"secretRef": {"name": "object-store"}}] for container in containers)
