"""Nothing of the user's is lost: no output over an input, nor over something else; Ctrl-C says what was written."""

from __future__ import annotations

import os
import shutil

import pytest

from maskdiff.cli import output
from maskdiff.detectors import TableDetector
from maskdiff.progress import Progress
from maskdiff.written_files import WrittenFiles

from .running import call

COMMANDS = {
    "fit": "fit {rows} -o {rows} --reconstructor kernel",
    "fit by a link": "fit {rows} -o {link} --reconstructor kernel",
    "fit by a hard link": "fit {rows} -o {hard} --reconstructor kernel",
    "fit, forced": "fit {rows} -o {rows} --reconstructor kernel --force",
    "report": "report {model} {rows} -o {rows}",
    "report over the model": "report {model} {rows} -o {model}",
    "report by a link": "report {model} {link} -o {rows} --force",
    "score": "score {model} {rows} -o {rows} --top 1",
    "score over the model": "score {model} {rows} -o {model} --out-format csv",
    "score by a link": "score {model} {rows} -o {link} --top 1",
    "score by a hard link": "score {model} {rows} -o {hard} --out-format csv",
    "evaluate": "evaluate {model} {rows} --label y --plot {rows}",
    "evaluate over the model": "evaluate {model} {rows} --label y --plot {model}",
}


@pytest.fixture
def files(home, model, tmp_path):
    """Copies of rows and model, and two more names of the rows."""
    shutil.copy(home / "labelled.csv", tmp_path / "rows.csv")
    shutil.copy(model, tmp_path / "m.maskdiff")
    os.symlink(tmp_path / "rows.csv", tmp_path / "link.csv")
    os.link(tmp_path / "rows.csv", tmp_path / "hard")
    names = {"rows": "rows.csv", "model": "m.maskdiff", "link": "link.csv", "hard": "hard"}
    return {name: tmp_path / file for name, file in names.items()}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_an_output_that_is_also_an_input_is_refused(command, files):
    before = {path: path.read_bytes() for path in files.values()}
    said = call(*command.format(**files).split())
    assert said.is_refusal, said
    assert "is read and cannot be written as well" in said.err
    assert {path: path.read_bytes() for path in files.values()} == before


def test_it_is_refused_before_anything_is_read(tmp_path):
    (tmp_path / "m").write_text("not a model")
    said = call("report", tmp_path / "m", tmp_path / "m", "-o", tmp_path / "m")
    assert "is read and cannot be written" in said.err


def test_a_checkpoint_is_not_written_over_the_rows(tmp_path, home):
    rows = tmp_path / "m.checkpoint"
    shutil.copy(home / "normal.csv", rows)
    said = call("fit", rows, "--format", "csv", "-o", tmp_path / "m")
    assert said.is_refusal
    assert "is read and cannot be written" in said.err


OTHERS = {
    "fit": ("fit {home}/normal.csv -o {out} --reconstructor kernel", "is not a model"),
    "report": ("report {model} {home}/new.csv -o {out}", "is not a report"),
    "evaluate": ("evaluate {model} {home}/labelled.csv --label y --plot {out}.png", "is not a picture"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_something_else_is_replaced_only_by_force(name, home, model, tmp_path):
    command, why = OTHERS[name]
    for other in (tmp_path / "notes", tmp_path / "notes.png"):
        other.write_text("my notes")
    arguments = command.format(home=home, model=model, out=tmp_path / "notes").split()
    out = tmp_path / ("notes.png" if name == "evaluate" else "notes")
    refused = call(*arguments)
    assert refused.is_refusal, refused
    assert why in refused.err
    assert "--force" in refused.err
    assert out.read_text() == "my notes"
    assert call(*arguments, "--force").status == 0
    assert call(*arguments).status == 0  # now it is what it is replaced by


def test_an_ending_that_promises_something_else_is_refused_with_the_way_out(home, model, tmp_path):
    said = call("report", model, home / "new.csv", "-o", tmp_path / "x.pdf")
    assert said.is_refusal
    assert "name it .html, and print it as PDF from a browser" in said.err
    said = call("fit", home / "normal.csv", "-o", tmp_path / "model.csv")
    assert said.is_refusal
    assert "such as claims.maskdiff" in said.err
    said = call("score", model, home / "nothing.csv", "-o", tmp_path / "x.pdf")
    assert said.is_refusal
    assert "--out-format" in said.err


def test_the_demo_writes_over_no_files_but_its_own(tmp_path):
    (tmp_path / "normal.csv").write_text("a,b\n1,2\n")
    said = call("demo", tmp_path, "--rows", "1000")
    assert said.is_refusal
    assert (tmp_path / "normal.csv").read_text() == "a,b\n1,2\n"


# Interruptions -------------------------------------------------------------------------------------------------------


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_an_interruption_after_the_model_was_saved_says_so(home, monkeypatch, tmp_path):
    monkeypatch.setattr("maskdiff.cli.fit._show", interrupt)
    said = call("fit", home / "normal.csv", "-o", tmp_path / "m", "--reconstructor", "kernel")
    assert said.status == 130
    assert said.err == f"interrupted: {tmp_path / 'm'} was written\n"


def test_an_interruption_between_two_files_names_both(home, monkeypatch, tmp_path):
    monkeypatch.setattr("maskdiff.jobs.find_file", interrupt)
    said = call("demo", tmp_path, "--rows", "1000", "--quiet")
    assert said.status == 130
    written, missing = said.err.removeprefix("interrupted: ").strip().split("; ")
    assert written == f"{tmp_path / 'normal.csv'} and {tmp_path / 'new.csv'} were written"
    assert missing.endswith(f"{tmp_path / 'scored.csv'} and {tmp_path / 'report.html'} were not written")


def test_an_interruption_while_rows_go_to_a_pipe_says_they_may_be_incomplete(home, model, monkeypatch):
    judge = TableDetector.judge

    def interrupted(self, *arguments):
        judge(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(TableDetector, "judge", interrupted)
    said = call("score", model, home / "new.csv")
    assert said.err == "interrupted: what went to standard output may be incomplete\n"


def test_of_the_many_stages_of_a_search_the_latest_are_shown(monkeypatch):
    bars = output._bars()
    monkeypatch.setattr(output, "_bars", lambda: bars)
    monkeypatch.setattr(output.Output, "shows_bars", True)
    with output.Output().progress() as draw:
        for number in range(9):
            draw(Progress(f"stage {number}", 1, 2))
        assert [task.description for task in bars.tasks if task.visible] == [f"stage {n}" for n in range(5, 9)]


def test_of_many_files_that_an_interruption_left_the_first_are_named(tmp_path):
    paths = [tmp_path / f"checkpoint.{number}" for number in range(12)]
    for path in paths:
        path.touch()
    said = output.Output().interrupted(WrittenFiles([*map(str, paths)]))
    assert said == f"{paths[0]}, {paths[1]}, {paths[2]} and 9 others were written"
