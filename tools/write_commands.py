"""The command reference of the guide, from the commands themselves: docs/reference/commands.md.

    python tools/write_commands.py

A test compares the page with the commands, so that neither changes alone.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import typer

from maskdiff.cli.app import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "commands.md"
HEAD = """# Commands

<!-- Written from the commands by `python tools/write_commands.py`. Do not edit. -->

Every command reads and writes [files of many formats](../files.md). All of them share:

- **Exit status**: 0 when done, 2 for a mistake in the command or its input, 1 for a fault of maskdiff, 130
  after Ctrl-C.
- **Errors** are one line on standard error: what is wrong, where, and the way out. See
  [troubleshooting](troubleshooting.md).
- **Notes** (`note: ...`, standard error) tell what to know about the input or the answer.
- `maskdiff COMMAND --help` prints what is written here.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(block for path, command in _walk((), _root()) for block in _section(path, command))])


def _root() -> Any:
    return typer.main.get_command(app)


def _walk(path: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, those of a group behind it."""
    for name, one in getattr(command, "commands", {}).items():
        if not getattr(one, "hidden", False):
            yield (*path, name), one
            yield from _walk((*path, name), one)


def _section(path: tuple[str, ...], command: Any) -> Iterator[str]:
    yield f"{'#' * (1 + len(path))} maskdiff {' '.join(path)}\n"
    yield _plain(inspect.cleandoc(command.help or "")) + "\n"
    if getattr(command, "commands", None):
        return
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    wanted = " ".join(_metavar(one) if one.required else f"[{_metavar(one)}]" for one in arguments)
    yield f"```\nmaskdiff {' '.join(path)} {wanted}{' ' if wanted else ''}[OPTIONS]\n```\n"
    rows = [f"| {_usage(one)} | {_cell(one)} |" for one in command.params if not getattr(one, "hidden", False)]
    if rows:
        yield "\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n"


def _metavar(one: Any) -> str:
    return str(one.metavar or one.name).upper()


def _usage(one: Any) -> str:
    if one.param_type_name == "argument":
        return f"`{_metavar(one)}`"
    names = ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))
    return names if one.is_flag else f"{names} {_type(one)}"


def _type(one: Any) -> str:
    """What has to follow a flag: its name in the help, the choices, or the type."""
    wanted = one.type_descriptor.annotation
    if one.metavar:
        return f"`{one.metavar}`".replace("|", "\\|")
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return " \\| ".join(f"`{choice.value}`" for choice in wanted)
    return "`NUMBER`" if wanted in (int, float) else "`TEXT`"


def _value(default: Any) -> str:
    return str(getattr(default, "value", default))


def _cell(one: Any) -> str:
    said = _plain(one.help or "")
    default = one.default
    if one.required and one.param_type_name == "option":
        said += " Required."
    shown = default is not None and not isinstance(default, bool) and default not in ("", (), [])
    return (said + (f" Default: `{_value(default)}`." if shown else "")).replace("|", "\\|")


def _plain(text: str) -> str:
    """Without the marks of rich, in one paragraph for each paragraph; names of flags as code."""
    text = re.sub(r"\[/?(bold|dim|italic|cyan|green)\]", "", text).replace("\b", "")
    text = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
    return re.sub(r"(?<![`\w-])(--[a-z][\w-]*)", r"`\1`", text.replace("<", "&lt;").replace("*", "\\*"))


def main() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
