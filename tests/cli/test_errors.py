"""Whatever the user does wrong is said in one plain line with exit status 2; what we do wrong has status 1."""

from __future__ import annotations

import resource
import subprocess
import sys
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskdiff.cli.output import printable
from maskdiff.detectors import TableDetector

from ..warm_processes import run_warm
from .running import Said, call, environment

MISTAKES = {
    "no such file": ("score {model} {home}/nothing.csv", "there is no file"),
    "a folder of all sorts": ("score {model} {home}", "is a model"),
    "swapped arguments": ("score {home}/new.csv {model}", "the model comes first, then the rows"),
    "no such model": ("score {home}/nothing.maskdiff {home}/new.csv", "there is no model file"),
    "no model": ("score {home}/new.csv {home}/new.csv", "not a maskdiff model file"),
    "no such folder": ("score {model} {home}/new.csv -o {home}/nowhere/s.csv", "there is no folder"),
    "only read": ("score {model} {home}/new.csv -o {home}/s.xlsx", "--out-format"),
    "unknown ending": ("score {model} {home}/new.csv -o {home}/s.xyz", "--out-format"),
    "unknown command": ("scoer {model}", "No such command"),
    "unknown option": ("score {model} {home}/new.csv --exlpain 3", "No such option"),
    "a model to a pipe": ("fit {home}/normal.csv -o -", "name a file"),
    "no output": ("fit {home}/normal.csv", "--out"),
    "unknown reconstructor": ("fit {home}/normal.csv -o {home}/m --reconstructor magic", "choose one of"),
    "unknown aggregate": ("fit {home}/normal.csv -o {home}/m --aggregate sum", "choose one of"),
    "levels that are no numbers": ("fit {home}/normal.csv -o {home}/m --levels low,high", "such as 0.2,0.5,0.8"),
    "levels that fall": ("fit {home}/normal.csv -o {home}/m --levels 0.5,0.2", "must rise"),
    "no views": ("fit {home}/normal.csv -o {home}/m --views-per-level 0", "--views-per-level"),
    "unknown device": ("fit {home}/normal.csv -o {home}/m --device abacus", "abacus"),
    "unknown column": ("fit {home}/normal.csv -o {home}/m --drop colour", "has no column 'colour'"),
    "two readings": ("fit {home}/normal.csv -o {home}/m --numeric port --categorical port", "cannot be both"),
    "texts as numbers": ("fit {home}/normal.csv -o {home}/m --numeric service", "'service' was to be read as number"),
    "no label": ("fit {home}/normal.csv -o {home}/m --label y", "has no column 'y'"),
    "never normal": ("fit {home}/labelled.csv -o {home}/m --label y --normal maybe", "'y' is never maybe"),
    "normal alone": ("fit {home}/labelled.csv -o {home}/m --normal 0", "--label"),
    "too fine a rate": ("score {model} {home}/new.csv --false-alarm-rate 0.0001", "needs at least"),
    "too fine a rate at fit": ("fit {home}/normal.csv -o {home}/m --false-alarm-rate 0.0001", "needs at least"),
    "two promises": ("score {model} {home}/new.csv --false-alarm-rate 0.1 --false-discovery-rate 0.1", "ask for one"),
    "no false alarms": ("evaluate {model} {home}/labelled.csv --label y --false-alarm-rate 0", "between 0 and 1"),
    "no false alarms in score": ("score {model} {home}/new.csv --false-alarm-rate 0", "between 0 and 1"),
    "no false alarms in a report": (
        "report {model} {home}/new.csv -o r --false-alarm-rate 0",
        "between 0 and 1",
    ),
    "no false alarms in explain": ("explain {model} {home}/new.csv --row 1 --false-alarm-rate 0", "between 0 and 1"),
    "a rate of 2": ("score {model} {home}/new.csv --false-discovery-rate 2", "between 0 and 1"),
    "missing columns": ("score {model} {home}/few.csv", "Missing: "),
    "no row": ("explain {model} {home}/new.csv --row 61", "has no row 61"),
    "which row": ("explain {model} {home}/new.csv", "--row"),
    "no such value": ("explain {model} {home}/new.csv --where id=1000", "no row with id = 1000"),
    "half a condition": ("explain {model} {home}/new.csv --where id", "claim_id=17"),
    "one class": ("evaluate {model} {home}/new.csv --label secure --normal True --normal False", "every row is normal"),
    "JSON and rows": ("score {model} {home}/new.csv --json", "-o FILE"),
    "safe Parquet": ("score {model} {home}/new.csv -o {home}/s.parquet --safe-for-spreadsheets", "only CSV"),
    "a picture of no kind": ("evaluate {model} {home}/labelled.csv --label y --plot {home}/c.xyz", ".png"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_in_one_line_with_status_2(mistake, home, model):
    command, message = MISTAKES[mistake]
    (home / "few.csv").write_text("protocol\ntcp\n")
    before = sorted(home.iterdir())
    said = call(*command.format(home=home, model=model).split())
    assert said.is_refusal, said
    assert message in said.err
    assert sorted(home.iterdir()) == before


def test_a_mistake_is_one_line_from_the_real_command_too(home, model):
    """Threads that still read ahead used to abort the process on its way out, more often than not."""
    for _ in range(2):
        done = run_warm("explain", model, home / "new.csv", "--row", "999")
        said = Said(done.returncode, done.stdout, done.stderr)
        assert said.is_refusal, said
        assert said.out == ""


def test_a_fault_of_ours_has_status_1_and_debug_shows_where(home, model, monkeypatch):
    def fault(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("maskdiff.storage.load", fault)
    said = call("inspect", model)
    assert said.status == 1
    assert said.err == "error: ZeroDivisionError: oops. This is a fault of maskdiff; --debug shows where.\n"
    with pytest.raises(ZeroDivisionError):
        call("inspect", model, "--debug")


def test_help_imports_nothing_heavy():
    code = "import sys; from maskdiff.cli import main; main(['--help'])\n"
    code += "assert not {'torch', 'pandas', 'pyarrow', 'sklearn', 'numpy'} & set(sys.modules), sys.modules.keys()"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "fit" in done.stdout


def test_ctrl_c_leaves_the_old_file_and_no_other(home, model, monkeypatch, tmp_path):
    out = tmp_path / "scored.csv"
    out.write_text("old")
    judge = TableDetector.judge

    def interrupted(self, *arguments):
        judge(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(TableDetector, "judge", interrupted)
    said = call("score", model, home / "new.csv", "-o", out)
    assert said.status == 130
    assert said.err == "interrupted: no file was written or changed\n"
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


@contextmanager
def files_of_at_most(size):
    """What is written to a file beyond this many bytes fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_full_disk_leaves_the_old_file_and_no_other(kind, home, model, tmp_path):
    out = tmp_path / f"scored.{kind}"
    out.write_text("old")
    with files_of_at_most(1000):
        said = call("score", model, home / "new.csv", "-o", out)
    assert said.is_refusal, said
    assert "File too large" in said.err
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


# Fuzz ----------------------------------------------------------------------------------------------------------------

ODD_CELLS = ("", "1", "2.5", "-0", "1e999", "inf", "NA", "true", "2024-01-01", '"', 'a"b', "=1", "\x00", "é", "0x1")
CELL = st.one_of(st.text(max_size=4), st.sampled_from(ODD_CELLS))
LINE = st.lists(CELL, min_size=1, max_size=4).map(",".join)
FILE = st.one_of(
    st.binary(max_size=60),
    st.lists(LINE, max_size=8).map(lambda lines: "\n".join(lines).encode("utf-8", "replace")),
    st.lists(st.lists(CELL, min_size=3, max_size=3).map(",".join), min_size=1, max_size=30).map(
        lambda lines: "\r\n".join(["a,b,c", *lines]).encode("utf-8", "replace")
    ),
)


@settings(max_examples=20)
@given(content=FILE, skip=st.booleans())
def test_no_csv_file_makes_fit_crash(content, skip, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "rows.csv").write_bytes(content)
    options = ["--on-bad-lines", "skip"] if skip else []
    said = call("fit", folder / "rows.csv", "-o", folder / "m", "--reconstructor", "kernel", *options)
    assert said.status == 0 or said.is_refusal, said
    if said.status == 0:
        again = call("score", folder / "m", folder / "rows.csv", "--explain", "1", *options)
        assert again.status == 0, again


@settings(max_examples=20)
@given(content=st.lists(st.lists(CELL, min_size=9, max_size=9).map(",".join), max_size=5))
def test_no_csv_file_makes_score_crash(content, home, model, tmp_path_factory):
    header = (home / "new.csv").read_text().splitlines()[0]
    rows = "\n".join([header, *content]).encode("utf-8", "replace")
    said = call("score", model, "-", "--explain", "2", stdin=rows)
    assert said.status == 0 or said.is_refusal, said


@given(st.text())
def test_what_is_printed_is_printable(text):
    assert printable(text).isprintable()
