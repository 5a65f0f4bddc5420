"""How progress is shown: bars on a terminal, plain lines elsewhere, nothing unless wanted."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import pytest

from maskdiff import MLPReconstructor, Steps, TableDetector, Training
from maskdiff.progress import Lines, Progress, listening


def lines_of(reports: Iterable[tuple[float, Progress]], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What is printed for reports at these seconds."""
    now = 0.0
    lines = Lines(clock=lambda: now)
    for at, progress in reports:
        now = at
        lines(progress)
    lines.close()
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err.splitlines()


def test_every_stage_ends_with_a_line(capsys):
    reports = [(0, Progress("training", n, 1000, 1.0, 2.0 - n / 1000)) for n in (1, 500, 1000)]
    reports += [(1, Progress("calibrating", 50, 50))]
    assert lines_of(reports, capsys) == [
        "training: 1,000 of 1,000 (100%), held-out loss 1.000",
        "calibrating: 50 of 50 (100%)",
    ]


def test_a_long_stage_has_a_line_every_ten_seconds(capsys):
    reports = [(second, Progress("scoring", second + 1, 36)) for second in range(36)]
    assert lines_of(reports, capsys) == [
        "scoring: 11 of 36 (31%)",
        "scoring: 21 of 36 (58%)",
        "scoring: 31 of 36 (86%)",
        "scoring: 36 of 36 (100%)",
    ]


def test_a_stage_that_begins_again_is_another_one(capsys):
    reports = [(0, Progress("scoring", n, 2)) for n in (1, 2, 1, 2)]
    assert lines_of(reports, capsys) == ["scoring: 2 of 2 (100%)"] * 2


def test_an_unknown_total_is_not_named(capsys):
    assert lines_of([(0, Progress("reading", 1200, 0))], capsys) == ["reading: 1,200"]


def test_true_prints_plain_lines_without_a_terminal(normal_rows, capsys):
    network = MLPReconstructor(8, 2, training=Training(Steps(4)))
    TableDetector(network, progress=True).fit(normal_rows)
    printed = capsys.readouterr().err
    assert "\r" not in printed
    stages = [line.partition(":")[0].partition(",")[0] for line in printed.splitlines()]
    assert set(stages) == {"training", "calibrating"}


@pytest.mark.parametrize("progress", [None, False])
def test_nothing_is_printed_without_a_terminal_unless_wanted(normal_rows, capsys, progress):
    TableDetector("kernel", progress=progress).fit(normal_rows).anomaly_score(normal_rows)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("progress", [None, True])
def test_a_terminal_gets_a_bar(monkeypatch, progress):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with listening(progress) as callback:
        assert not isinstance(callback, Lines)
        assert callback is not None
