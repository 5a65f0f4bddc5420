"""Nothing half-written is ever found under the name of a file."""

from __future__ import annotations

import stat
from contextlib import suppress

import pytest

from maskdiff.io import open_output


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_file_that_was_not_finished_is_not_there_and_the_old_one_still_is(failure, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("old")
    with suppress(KeyboardInterrupt, OSError), open_output(str(path)) as file:
        file.write(b"half")
        raise failure
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_can_be_read_by_those_who_may_read_others(tmp_path):
    (tmp_path / "plain").write_text("")
    with open_output(str(tmp_path / "rows")) as file:
        file.write(b"x")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("rows", "plain")]
    assert modes[0] == modes[1]


def test_a_link_is_followed_when_its_file_is_replaced(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with open_output(str(tmp_path / "link")) as file:
        file.write(b"new")
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "link").is_symlink()
