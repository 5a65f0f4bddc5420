"""The library names settings, the command line the flags that set them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import typer

import maskdiff
from maskdiff.checks import Check
from maskdiff.cli.app import app
from maskdiff.cli.hints import CHECK_HINTS, HINTS, check_with_hint, with_hint
from maskdiff.errors import BadLineError, SettingError
from maskdiff.io.formats import FORMATS, WRITTEN
from maskdiff.score import AGGREGATES

SRC = Path(maskdiff.__file__).parent


def settings_named_in_errors() -> set[str]:
    """The values of `setting=` in every call of the package."""
    calls = [
        node
        for path in SRC.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    ]
    found = [keyword.value for call in calls for keyword in call.keywords if keyword.arg == "setting"]
    return {value.value for value in found if isinstance(value, ast.Constant) and isinstance(value.value, str)}


def flags_of(parameter):
    return [*parameter.opts, *parameter.secondary_opts]


def test_every_setting_that_an_error_names_has_a_flag():
    named = settings_named_in_errors()
    assert {"on_bad_lines", "out_format", "force", "normal", "prefix", "resume", "encoding", "drop"} <= named
    assert named <= set(HINTS)


def test_every_flag_of_a_hint_is_an_option_of_a_command():
    commands = typer.main.get_command(app).commands.values()
    options = {flag for command in commands for parameter in command.params for flag in flags_of(parameter)}
    hints = [*HINTS.values(), *CHECK_HINTS.values()]
    hinted = {word for hint in hints for word in hint.replace(",", " ").split() if word.startswith("-")}
    assert hinted <= options


def test_an_error_without_a_setting_is_shown_as_it_is():
    assert with_hint(SettingError("no.")) == "no."
    assert with_hint(BadLineError("line 3.", setting="on_bad_lines")).endswith("--on-bad-lines skip.)")


def test_a_check_names_the_flag_with_what_to_set_it_to():
    found = Check("few_calibration_rows", "few.", {"higher_rate": 0.05})
    assert check_with_hint(found) == "few. (On the command line: --false-alarm-rate 0.05.)"
    assert check_with_hint(Check("few_calibration_rows", "few.", {"higher_rate": None})) == "few."
    assert check_with_hint(Check("unknown_columns", "x.", {"columns": ["x"]})) == "x."


@pytest.mark.parametrize(
    ("option", "names"), [("--format", FORMATS), ("--out-format", WRITTEN), ("--aggregate", AGGREGATES)]
)
def test_help_names_what_is_registered(option, names):
    commands = typer.main.get_command(app).commands.values()
    metavars = {one.metavar for command in commands for one in command.params if option in one.opts}
    assert metavars == {"|".join(names)}
