"""What a model remembers of the rows it was fitted on, and what it does not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from maskdiff import SequenceDetector, Steps, TableDetector, TextDetector, Training, load, save
from maskdiff.codes import Codes, Field, Schema
from maskdiff.codes.schema_change import SchemaChange
from maskdiff.datasets import make_claims
from maskdiff.detectors.fingerprint import MOST_REMEMBERED, Fingerprint
from maskdiff.errors import ModelFileError, NoEvidenceWarning
from maskdiff.reconstructors import TransformerReconstructor

from ..handmade import codes_of, random_codes

TINY = TransformerReconstructor(8, 1, 2, 8, training=Training(Steps(2), batch_size=32))


def sentences(n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(list("abcdefgh"), 12)) for _ in range(n)]


@pytest.fixture(scope="module")
def claims() -> pd.DataFrame:
    return make_claims(900, seed=0)[0]


@pytest.fixture(scope="module")
def detector(claims) -> TableDetector:
    return TableDetector("kernel", progress=False).fit(claims[:600])


def test_rows_of_the_fit_are_seen_and_others_are_not(claims, detector):
    assert detector.judge(claims[:600]).seen.all()
    assert detector.judge(claims[600:]).seen.mean() < 0.02


def test_rows_are_recognised_in_every_file_format(claims, detector, tmp_path):
    claims[:600].to_csv(tmp_path / "claims.csv", index=False)
    assert detector.judge(pd.read_csv(tmp_path / "claims.csv")).seen.all()
    assert detector.judge(pd.read_csv(tmp_path / "claims.csv", dtype=str)).seen.all()


@pytest.mark.parametrize("make", [lambda: TextDetector(TINY), lambda: SequenceDetector(TINY, separator=" ")])
def test_texts_and_sequences_are_remembered_too(make):
    learned = sentences(120, seed=1)
    with pytest.warns(NoEvidenceWarning):
        verdicts = make().fit(learned).judge([*learned[:50], *sentences(50, seed=2), ""])
    assert verdicts.seen[:50].all()
    assert not verdicts.seen[50:].any()
    assert verdicts.take(np.arange(0, 100, 2)).seen.sum() == 25


def test_rows_that_were_held_out_are_remembered_like_those_learned_from(claims):
    detector = TableDetector("kernel", contamination=0.1, progress=False).fit(claims[:600])
    left_out = ~detector.judge(claims[:600]).seen
    assert 0 < left_out.sum() <= 60
    assert TableDetector("kernel", progress=False).fit(claims[:600]).judge(claims[:600]).seen.all()


def test_a_model_file_holds_the_fingerprint(claims, detector, tmp_path):
    save(detector, tmp_path / "m.maskdiff")
    again = load(tmp_path / "m.maskdiff")
    assert (again.judge(claims).times_learned == detector.judge(claims).times_learned).all()


def test_equal_fits_have_equal_fingerprints_and_seeds_salt_them(claims):
    prints = [TableDetector("kernel", seed=seed, progress=False).fit(claims[:600]).fingerprint_ for seed in (0, 0, 1)]
    assert prints[0].to_state()[0] == prints[1].to_state()[0]
    assert prints[0].salt != prints[2].salt
    assert np.intersect1d(prints[0].once, prints[2].once).size == 0


def test_once_repeated_and_new_rows_are_told_apart():
    codes = codes_of([[0, 1], [1, 0], [1, 0], [2, 1]])
    print_ = Fingerprint.of([codes], seed=0)
    assert print_.times(codes_of([[0, 1], [1, 0], [2, 1], [2, 0]], codes.schema)).tolist() == [1, 2, 1, 0]
    assert (print_.n_rows, print_.pairs, print_.expected_seen) == (4, 1, 0.5)


def test_how_rows_come_in_parts_does_not_matter():
    codes = random_codes(4000, (9, 9, 9, 9))
    whole = Fingerprint.of([codes], seed=0, most=500)
    parts = Fingerprint.of([codes.take(slice(0, 900)), codes.take(slice(900, None))], seed=0, most=500)
    assert (whole.once.tolist(), whole.repeated.tolist()) == (parts.once.tolist(), parts.repeated.tolist())
    assert whole.to_state()[0] == parts.to_state()[0]


def test_of_many_rows_a_uniform_share_is_remembered_and_the_others_are_not_known():
    codes = random_codes(6000, (30, 30, 30, 30))
    print_ = Fingerprint.of([codes], seed=0, most=1000)
    assert 990 <= len(print_.once) + len(print_.repeated) <= 1000
    times = print_.times(codes)
    assert not (times == 0).any()
    assert (times > 0).mean() == pytest.approx(print_.n_rows / 6000)
    other = print_.times(random_codes(6000, (30, 30, 30, 30), seed=1))
    assert (other == -1).mean() == pytest.approx(1 - print_.n_rows / 6000, abs=0.05)


def test_new_rows_are_seen_about_as_often_as_the_rows_of_the_fit_say():
    rng = np.random.default_rng(0)
    values = rng.zipf(1.3, (8000, 2)).clip(0, 400)
    codes = codes_of(values)
    print_ = Fingerprint.of([codes.take(slice(0, 4000))], seed=0)
    times = print_.times(codes.take(slice(4000, None)))
    assert (times > 0).mean() == pytest.approx(print_.expected_seen, abs=0.03)
    assert (times == 1).mean() == pytest.approx(print_.expected_once, abs=0.03)


def test_it_stays_small():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 200, (3 * MOST_REMEMBERED, 8))
    tensors = Fingerprint.of([Codes(values, codes_of(values[:9]).schema)], seed=0).to_state()[1]
    assert sum(4 * tensor.numel() for tensor in tensors.values()) <= 4 * MOST_REMEMBERED == 262_144


def test_rows_that_join_are_remembered_beside_the_old_ones_though_codes_have_moved():
    rng = np.random.default_rng(0)
    old = codes_of(np.column_stack([rng.integers(0, 3, 500), rng.integers(0, 200, 500)]))
    # A code before all others is new in the first field.
    after = Schema((Field("f0", "category", ("new", "v0", "v1", "v2"), (9, 9, 9, 9)), old.schema.fields[1]))
    change = SchemaChange(old.schema, after, (np.array([1, 2, 3, 4]), np.arange(len(old.schema.fields[1].labels) + 1)))
    new = Codes(np.column_stack([np.zeros(100, np.int64), np.arange(100)]), after)
    before = Fingerprint.of([old], seed=0)
    joined = before.joined(new, change)
    moved = Codes(change.moved(old.values), after)
    np.testing.assert_array_equal(joined.times(moved), before.times(old))
    assert (joined.times(new) == 1).all()
    assert joined.n_rows == 600
    again = joined.joined(new, SchemaChange(after, after, tuple(np.arange(f.size + 1) for f in after)))
    assert (again.times(new) == 2).all()
    assert again.pairs == joined.pairs + 100
    plain, tensors = again.to_state()
    stored = Fingerprint.from_state(plain, tensors, after)
    np.testing.assert_array_equal(stored.times(moved), again.times(moved))
    with pytest.raises(ModelFileError, match="hashed as"):
        Fingerprint.from_state(plain, tensors | {"ids": tensors["ids"] * 0}, after)


def test_more_rows_than_can_be_remembered_are_thinned_out_evenly():
    codes = random_codes(3000, [40, 40, 40])
    same = SchemaChange(codes.schema, codes.schema, tuple(np.arange(41) for _ in range(3)))
    joined = Fingerprint.of([codes.take(slice(0, 1000))], 0).joined(codes.take(slice(1000, None)), same, most=500)
    times = joined.times(codes)
    assert len(joined.once) + len(joined.repeated) == 500
    assert 0.1 < (times > 0).mean() < 0.25
    assert set(times.tolist()) <= {-1, 1, 2}


@pytest.mark.parametrize("change", [{"cutoff": 0}, {"n_rows": 3}, {"pairs": -1}, {"salt": 0.5}, {"extra": 1}])
def test_what_makes_no_sense_is_refused(change):
    codes = codes_of([[0, 1], [1, 0], [1, 0], [2, 1]])
    (plain, tensors), schema = Fingerprint.of([codes], seed=0).to_state(), codes.schema
    Fingerprint.from_state(plain, tensors, schema)
    with pytest.raises(ModelFileError, match="learned"):
        Fingerprint.from_state(plain | change, tensors, schema)
