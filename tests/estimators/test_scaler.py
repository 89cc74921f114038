"""The robust scaler against a naive twin, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swordplay.engine.scaling import PACE, WARM_UP
from swordplay.estimators.scaler import Locator, Scaler
from tolerances import ROUNDING


def naive(column, clip):
    """Centre and spread before each value of one column, straight from the description."""
    seen, center, spread, answer = [], 0.0, 0.0, []
    for value in column:
        answer.append((center, spread))
        if np.isnan(value):
            continue
        seen.append(value)
        if len(seen) <= WARM_UP:
            center = float(np.median(seen))
            far = np.sort(np.abs(np.array(seen) - center))
            middle = 1.4826 * far[len(far) // 2]
            others = far[far > 0]
            if middle <= 1e-300:
                middle = others[(len(others) - 1) // 2] if len(others) else np.inf
            spread = float(np.sqrt(np.mean(np.minimum(far, clip * middle) ** 2)))
        elif spread <= 1e-300:
            spread = abs(value - center)
        else:
            pace = max(1 / len(seen), PACE)
            off = float(np.clip((value - center) / spread, -clip, clip))
            center += pace * spread * off
            spread *= float(np.sqrt(1 + pace * (off**2 - 1)))
    return answer


def columns(seed):
    rng = np.random.default_rng(seed)
    T = 120
    table = {
        "normal": rng.normal(3.0, 2.0, size=T),
        "heavy": rng.standard_t(1.5, size=T),
        "rare": (rng.random(T) < 0.05).astype(float),
        "constant, then not": np.where(np.arange(T) < 60, 7.0, rng.normal(size=T)),
        "first row an outlier": np.concatenate([[1e6], rng.normal(size=T - 1)]),
        "scale jumps": rng.normal(size=T) * np.where(np.arange(T) < 50, 1.0, 1e4),
    }
    table["missing"] = np.where(rng.random(T) < 0.3, np.nan, table["normal"])
    return np.column_stack(list(table.values()))


@pytest.mark.parametrize("seed", range(5))
def test_scaler_does_what_it_says(seed):
    rows = columns(seed)
    scaler = Scaler(rows.shape[1], clip=5.0)
    ours, norms = scaler.scale_and_follow(rows)
    assert (ours[:, -1] == 1.0).all()
    for j, column in enumerate(rows.T):
        for t, (center, spread) in enumerate(naive(column, 5.0)):
            known = spread > 1e-300 and not np.isnan(column[t])
            expected = np.clip((column[t] - center) / spread, -5.0, 5.0) if known else 0.0
            assert ours[t, j] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert np.abs(norms - np.square(ours).sum(axis=1)).max() <= ROUNDING * norms.max()


def test_pieces_make_the_whole_bit_by_bit():
    rows = columns(3)
    whole, parts = Scaler(rows.shape[1]), Scaler(rows.shape[1])
    expected = whole.scale_and_follow(rows)[0]
    pieces = [parts.scale_and_follow(rows[:7])[0]]
    saved = parts.state()
    resumed = Scaler(rows.shape[1])
    resumed.load_state(saved)
    pieces.append(resumed.scale_and_follow(rows[7:])[0])
    assert np.array_equal(np.vstack(pieces), expected)


def test_scaling_without_learning_changes_nothing():
    rows = columns(4)
    scaler = Scaler(rows.shape[1])
    scaler.scale_and_follow(rows[:50])
    before = scaler.state()
    scaler.scale(rows[50:])
    after = scaler.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_an_outlier_in_the_first_row_is_forgotten_at_once():
    rng = np.random.default_rng(1)
    column = rng.normal(size=200)
    column[0] = 1e6
    scaled = Scaler(1, intercept=False).scale_and_follow(column[:, None])[0][:, 0]
    assert 0.7 < scaled[5:].std() < 1.5


def test_a_change_of_scale_is_caught_up_with():
    rng = np.random.default_rng(2)
    column = rng.normal(size=6000) * np.where(np.arange(6000) < 1000, 1.0, 1e3)
    scaled = Scaler(1, intercept=False).scale_and_follow(column[:, None])[0][:, 0]
    assert 0.5 < scaled[-1000:].std() < 1.5


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=100))
def test_scaled_numbers_are_finite_and_clipped(values):
    scaled, norms = Scaler(1, clip=5.0).scale_and_follow(np.array(values)[:, None])
    assert (np.abs(scaled) <= 5.0).all()
    assert np.isfinite(norms).all()


def test_the_locator_keeps_the_largest_spread():
    rng = np.random.default_rng(5)
    values = rng.normal(size=3000) * np.where(np.arange(3000) < 500, 10.0, 0.1)
    where = Locator(clip=10.0).locate_and_follow(values)
    settled = where[WARM_UP:]
    assert np.array_equal(settled[:, 2], np.maximum.accumulate(settled[:, 1]))
    assert where[-1, 2] > 2 * where[-1, 1]  # the spread has shrunk since
