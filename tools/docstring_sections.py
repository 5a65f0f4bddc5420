"""Docstrings as Markdown, for the reference pages: an extension of griffe, named in mkdocs.yml.

Docstrings are written to be read in a terminal. Three things in them mean something else in Markdown: the underlined
`Parameters` with one line a parameter, doctests, and trees drawn with lines.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

UNDERLINED = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
PARAMETER = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : ", re.MULTILINE)


def to_markdown(docstring: str) -> str:
    """The same text, with parameters as a list and with doctests and trees as code."""
    text = UNDERLINED.sub(lambda found: f"**{found[1]}**\n\n", docstring)
    return "\n\n".join(_paragraph(part) for part in re.split(r"\n{2,}", text))


def _paragraph(text: str) -> str:
    if text.startswith(">>> "):
        return f"```pycon\n{text}\n```"
    if "\n├──" in text or text.startswith("├──"):
        return f"```text\n{text}\n```"
    return PARAMETER.sub(r"- **\1**: ", text)


class DocstringSections(griffe.Extension):
    """Rewrites every docstring as it is read."""

    def on_instance(self, *, obj: Any, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = to_markdown(obj.docstring.value)
