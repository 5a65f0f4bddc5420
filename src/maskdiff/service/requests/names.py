"""Names that clients send: checked here before anything of them becomes a path."""

from __future__ import annotations

import re
import secrets

from maskdiff.service.requests.problems import Problem

MODEL_NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$"
ID = r"^[0-9a-f]{32}$"


def check_model_name(name: str) -> str:
    """The name of a model: letters, digits, - and _; never a path."""
    if re.fullmatch(MODEL_NAME, name) is None:
        raise Problem(404, "a model is named by up to 100 letters, digits, - and _, the first a letter or digit.")
    return name


def check_id(given: str, what: str) -> str:
    """The id of a file, job or result."""
    if re.fullmatch(ID, given) is None:
        raise Problem(404, f"there is no such {what}.")
    return given


def new_id() -> str:
    """An id that nobody can guess."""
    return secrets.token_hex(16)


def shown_name(given: str | None) -> str:
    """What a client calls its file, for showing it: printable, short, without folders.

    >>> shown_name("C:\\\\data\\\\claims.csv"), shown_name(None)
    ('claims.csv', 'rows')
    """
    last = re.split(r"[/\\]", given or "")[-1]
    return "".join(part for part in last if part.isprintable())[:120].strip() or "rows"
