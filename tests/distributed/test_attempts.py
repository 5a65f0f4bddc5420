"""A part of which worker after worker died is refused; all others are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from maskdiff.distributed.attempts import Attempts, begun_beside
from maskdiff.distributed.places import Place
from maskdiff.errors import InputError


@pytest.fixture
def out(tmp_path):
    return Place.of(tmp_path / "out")


def begin_and_die(out: Place, *parts: str) -> None:
    """One attempt at a bundle, whose worker dies of the last part."""
    attempts = Attempts(out, "a", at_most=2)
    for part in parts:
        attempts.begin(part)
        if part != parts[-1]:
            attempts.end(part)


def test_a_part_that_workers_died_of_is_refused_and_others_are_not(out) -> None:
    for _ in range(3):  # the first attempt notes no part
        begin_and_die(out, "a", "b")
    attempts = Attempts(out, "a", at_most=2)
    attempts.begin("a")
    attempts.end("a")
    with pytest.raises(InputError, match="one worker after the other died"):
        attempts.begin("b")
    attempts.begin("c")


def test_a_part_that_is_refused_stays_refused_while_workers_die_of_another(out) -> None:
    for _ in range(3):
        begin_and_die(out, "a")
    for _ in range(2):
        attempts = Attempts(out, "a", at_most=2)
        with pytest.raises(InputError, match="one worker after the other died"), attempts.at("a"):
            pytest.fail("it was begun once more")
        attempts.begin("b")
    attempts = Attempts(out, "a", at_most=2)
    for part in ("a", "b"):
        with pytest.raises(InputError), attempts.at(part):
            pytest.fail("it was begun once more")


def test_a_part_that_cannot_be_read_ended_no_worker(out) -> None:
    begin_and_die(out, "a")
    attempts = Attempts(out, "a", at_most=2)
    for _ in range(3):
        with pytest.raises(InputError, match="damaged"), attempts.at("a"):
            raise InputError("damaged")


def test_a_bundle_that_is_done_leaves_nothing(out) -> None:
    begin_and_die(out, "a")
    attempts = Attempts(out, "a")
    assert not attempts.is_first
    attempts.close()
    assert Attempts(out, "a").is_first
    assert Attempts(out, "b").is_first


def test_a_folder_that_cannot_be_written_to_is_said_by_the_results(tmp_path) -> None:
    (tmp_path / "out").write_text("a file, not a folder")
    Attempts(Place.of(tmp_path / "out"), "a").close()


def test_notes_beside_a_result_are_those_of_one_job(tmp_path) -> None:
    for _ in range(2):  # a job that was killed leaves its notes, which do not count for the next
        with begun_beside(tmp_path / "model") as begun:
            assert Attempts(begun, "a").is_first
            assert not Attempts(begun, "a").is_first
            left = begun
        assert not list(tmp_path.iterdir())
        begin_and_die(left, "a")
    with begun_beside(tmp_path / "other") as begun:
        assert Attempts(begun, "a").is_first


def test_a_result_that_is_printed_has_notes_as_well() -> None:
    with begun_beside("-") as begun:
        assert Attempts(begun, "a").is_first
        assert not Attempts(begun, "a").is_first
    assert not Path(begun.path).exists()
