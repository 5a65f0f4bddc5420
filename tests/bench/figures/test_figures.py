"""The figures: what they measure is right on small cases, and they are drawn."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from maskdiff.bench.figures import FIGURES, levels, make_figure, synthetic
from maskdiff.bench.runs import sets
from maskdiff.cli import main
from maskdiff.datasets import make_claims
from maskdiff.errors import SettingError
from maskdiff.reconstructors import MLPReconstructor
from maskdiff.training import Steps, Training

pytest.importorskip("matplotlib")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's network, but small and hardly trained."""
    small = MLPReconstructor(width=16, training=Training(Steps(20), batch_size=64))
    monkeypatch.setattr(MLPReconstructor, "paper", classmethod(lambda cls: small))


@pytest.fixture(scope="module")
def surprises() -> pd.DataFrame:
    with pytest.MonkeyPatch.context() as patch:
        small = MLPReconstructor(width=16, training=Training(Steps(20), batch_size=64))
        patch.setattr(MLPReconstructor, "paper", classmethod(lambda cls: small))
        return synthetic.measure(n_train=300, n_test=200, rates=(0.1, 0.9), device="cpu", progress=False)


def test_the_oracle_is_surprised_by_a_bit_that_contradicts_its_copies(surprises: pd.DataFrame) -> None:
    oracle = surprises[surprises["reconstructor"] == "oracle"].set_index(["mask_rate", "mixture"])["surprise"]
    # Nearly all copies are visible: a normal bit costs the entropy of an 8% flip, a flipped one its cross-entropy.
    assert oracle[0.1, 1.0] == pytest.approx(-(0.92 * np.log(0.92) + 0.08 * np.log(0.08)), abs=0.1)
    assert oracle[0.1, 0.0] == pytest.approx(-(0.08 * np.log(0.92) + 0.92 * np.log(0.08)), abs=0.1)
    assert oracle[0.9, 0.0] < oracle[0.1, 0.0]


def test_a_mixture_is_as_surprising_as_its_parts(surprises: pd.DataFrame) -> None:
    for _, one in surprises.groupby(["reconstructor", "mask_rate"]):
        of = one.set_index("mixture")["surprise"]
        assert of[0.25] == pytest.approx(0.25 * of[1.0] + 0.75 * of[0.0])


def test_the_kernel_knows_what_the_oracle_knows(surprises: pd.DataFrame) -> None:
    wide = surprises[surprises["mask_rate"] == 0.1].pivot(index="mixture", columns="reconstructor", values="surprise")
    assert wide.loc[0.0, "kernel"] > 2 * wide.loc[1.0, "kernel"]


@pytest.mark.usefixtures("quick")
def test_every_level_and_number_of_views_is_measured_on_every_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sets.GENERATED, "tiny", lambda: make_claims(n=300, seed=0))
    table = levels.measure(sets=["tiny"], levels=(0.2, 0.6), views=(1, 4), n_test=80, device="cpu", progress=False)
    probed = [[level, k] for level in (0.2, 0.6, "all") for k in (1, 4)]
    assert table[["level", "views"]].to_numpy().tolist() == [*probed, *probed]
    assert table["loss"].tolist() == ["reconstruction"] * 6 + ["diffusion"] * 6
    by_loss = table.groupby("loss")["roc_auc"].apply(tuple)
    assert by_loss["reconstruction"] != by_loss["diffusion"]
    assert table["roc_auc"].between(0, 100).all()
    assert table["roc_auc"].nunique() > 2


@cache
def theory() -> pd.DataFrame:
    return FIGURES["theory"].measure(sizes=(1, 4), n_test=120, progress=False)


TABLES = {
    "synthetic": lambda surprises: surprises,
    "levels": lambda surprises: pd.DataFrame(
        [("bank", loss, level, k, 60.0 + k) for loss in levels.LOSSES for level in (0.1, 0.5, "all") for k in (1, 16)],
        columns=["set", "loss", "level", "views", "roc_auc"],
    ),
    "theory": lambda surprises: theory(),
}


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("form", ["png", "svg"])
def test_a_figure_is_drawn(name: str, form: str, surprises: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / f"figure.{form}"
    FIGURES[name].draw(TABLES[name](surprises), path)
    assert path.stat().st_size > 5000


def test_the_command_writes_the_picture_and_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("maskdiff.bench.figures.theory.simulate", lambda sizes, **settings: theory())
    out = tmp_path / "theory.svg"
    assert main(["bench", "figure", "theory", "--out", str(out), "--rows", "50"]) == 0
    assert str(out.with_suffix(".csv")) in capsys.readouterr().out
    assert pd.read_csv(out.with_suffix(".csv"))["size"].tolist() == [1, 4]


@pytest.mark.parametrize(
    ("name", "out", "message"), [("nothing", "a.png", "choose one of"), ("theory", "a.xyz", ".png, .svg or .pdf")]
)
def test_a_figure_that_cannot_be_made_is_refused_at_once(name: str, out: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        make_figure(name, out)
