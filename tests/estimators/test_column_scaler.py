"""The robust scaler against a naive twin, and what it promises."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swordplay.compile import uncompiled
from swordplay.engine.column_stats import (
    MAX_CONSTANT_ROWS,
    MIN_DEVIATION,
    MIN_RATE,
    MIN_TARGETS,
    WARM_UP,
    WARMED_UP,
    median_deviation,
)
from swordplay.estimators.column_scaler import ColumnStats, TargetStats
from tolerances import ROUNDING


def naive(column, clip):
    """Centre and spread before each value of one column, straight from the description."""
    first, seen, center, spread, answer = [], 0, 0.0, 0.0, []
    for value in column:
        answer.append((center, spread))
        if np.isnan(value):
            continue
        seen += 1
        usual = max(set(first), key=first.count, default=None)
        if len(first) < WARM_UP:
            first.append(value)
            center, spread = measured(first, len(first), clip)
        elif first.count(usual) <= WARM_UP // 2 + 1:
            pace = max(1 / seen, MIN_RATE)
            off = float(np.clip((value - center) / spread, -clip, clip))
            center += pace * spread * off
            if abs(off) > MIN_DEVIATION:
                spread *= float(np.sqrt(1 + pace * (off**2 - 1)))
        elif value != usual:
            first[first.index(usual)] = value
            center, spread = measured(first, min(seen, MAX_CONSTANT_ROWS), clip)
    return answer


def measured(values, rows, clip):
    """Median, and root of the mean squared distance from it, over so many rows.

    Far values count as near the others.
    """
    center = float(np.median(values))
    far = np.sort(np.abs(np.array(values) - center))
    middle = 1.4826 * far[len(far) // 2]
    others = far[far > 0]
    if middle <= 1e-300:
        middle = others[(len(others) - 1) // 2] if len(others) else np.inf
    return center, float(np.sqrt(np.sum(np.minimum(far, clip * middle) ** 2) / rows))


def columns(seed):
    rng = np.random.default_rng(seed)
    T = 300
    table = {
        "normal": rng.normal(3.0, 2.0, size=T),
        "heavy": rng.standard_t(1.5, size=T),
        "rare": (rng.random(T) < 0.05).astype(float),
        "rare, of two signs": (rng.random(T) < 0.2) * rng.normal(size=T),
        "at rest for long": np.where(np.arange(T) < 250, 0.0, rng.normal(size=T)),
        "still constant": np.full(T, 3.0),
        "constant, then not": np.where(np.arange(T) < 60, 7.0, rng.normal(size=T)),
        "first row an outlier": np.concatenate([[1e6], rng.normal(size=T - 1)]),
        "scale jumps": rng.normal(size=T) * np.where(np.arange(T) < 50, 1.0, 1e4),
    }
    table["missing"] = np.where(rng.random(T) < 0.3, np.nan, table["normal"])
    return np.column_stack(list(table.values()))


@pytest.mark.parametrize("seed", range(5))
def test_scaler_does_what_it_says(seed):
    rows = columns(seed)
    scaler = ColumnStats(rows.shape[1], clip=5.0)
    ours, norms = scaler.scale_and_update(rows)
    assert (ours[:, -1] == 1.0).all()
    for j, column in enumerate(rows.T):
        for t, (center, spread) in enumerate(naive(column, 5.0)):
            known = spread > 1e-300 and not np.isnan(column[t])
            expected = np.clip((column[t] - center) / spread, -5.0, 5.0) if known else 0.0
            assert ours[t, j] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert np.abs(norms - np.square(ours).sum(axis=1)).max() <= ROUNDING * norms.max()


def test_the_median_deviation_is_that_of_sorted_distances():
    """From any centre, below and above all values too, and with values that are alike."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        values = np.sort(
            rng.normal(size=rng.integers(1, WARM_UP + 1)).round(int(rng.integers(0, 3)))
        )
        center, half = rng.normal() * 3.0, len(values) - len(values) // 2
        expected = sorted(abs(values - center))[-half]
        assert uncompiled(median_deviation)(values, len(values), center) == expected


@pytest.mark.parametrize("seed", range(5))
def test_settled_columns_go_together_and_mixed_ones_one_by_one_to_the_same_bits(seed):
    """A column that never settles sends its row the long way; the others must not notice it.

    Some vanish.
    """
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(3000, 7)) * [1.0, 1e-8, 1e8, 1.0, 1.0, 1.0, 1.0]
    rows[:, 3] = 1e3 * rng.standard_cauchy(3000)
    rows[rng.random(3000) < 0.1, 4] = np.nan
    rows[1500:, 5] *= 1e-305
    rows[:60, 6] *= 1e-305  # too close together for a spread
    together, mixed = ColumnStats(7, clip=3.0), ColumnStats(8, clip=3.0)
    ours, _ = together.scale_and_update(rows)
    theirs, _ = mixed.scale_and_update(np.column_stack([rows, np.full(3000, 2.0)]))
    assert np.array_equal(ours[:, :7], theirs[:, :7])
    for one, other in zip(together.arrays, mixed.arrays, strict=True):
        assert np.array_equal(one, other[..., :7])
    assert (together.arrays[3][WARM_UP // 2] == WARMED_UP).all()
    assert (mixed.arrays[3][WARM_UP // 2] == WARMED_UP).sum() == 7


def test_pieces_make_the_whole_bit_by_bit():
    rows = columns(3)
    whole, parts = ColumnStats(rows.shape[1]), ColumnStats(rows.shape[1])
    expected = whole.scale_and_update(rows)[0]
    pieces = [parts.scale_and_update(rows[:7])[0]]
    saved = parts.state()
    resumed = ColumnStats(rows.shape[1])
    resumed.load_state(saved)
    pieces.append(resumed.scale_and_update(rows[7:])[0])
    assert np.array_equal(np.vstack(pieces), expected)


def test_scaling_without_learning_changes_nothing():
    rows = columns(4)
    scaler = ColumnStats(rows.shape[1])
    scaler.scale_and_update(rows[:50])
    before = scaler.state()
    scaler.scale(rows[50:])
    after = scaler.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_an_outlier_in_the_first_row_is_forgotten_at_once():
    rng = np.random.default_rng(1)
    column = rng.normal(size=200)
    column[0] = 1e6
    scaled = ColumnStats(1, intercept=False).scale_and_update(column[:, None])[0][:, 0]
    assert 0.7 < scaled[5:].std() < 1.5


def test_a_change_of_scale_is_caught_up_with():
    rng = np.random.default_rng(2)
    column = rng.normal(size=6000) * np.where(np.arange(6000) < 1000, 1.0, 1e3)
    scaled = ColumnStats(1, intercept=False).scale_and_update(column[:, None])[0][:, 0]
    assert 0.5 < scaled[-1000:].std() < 1.5


@pytest.mark.parametrize("rest", [100, 10_000])
@pytest.mark.parametrize("outlier", [1e6, -1e20])
def test_a_first_move_that_is_an_outlier_is_forgotten_with_the_second(rest, outlier):
    """Whether it came long before the column wakes up, or just before."""
    rng = np.random.default_rng(3)
    for place in (10, rest - 1):
        column = np.concatenate([np.full(rest, 7.0), rng.normal(7.0, 2.0, size=300)])
        column[place] = outlier
        scaled = ColumnStats(1, intercept=False).scale_and_update(column[:, None])[0][:, 0]
        assert 0.5 < scaled[rest + 30 :].std() < 4.0


def test_a_column_at_rest_keeps_its_spread_within_reach():
    """However long it rests: a column that has moved, and will again, is not mistaken for one
    that never does.
    """
    rng = np.random.default_rng(4)
    spreads = []
    for rest in (100_000, 1_000_000):
        column = np.concatenate([rng.normal(size=1000), np.full(rest, 0.5)])
        scaler = ColumnStats(1)
        scaler.scale_and_update(column[:, None])
        spreads.append(scaler.places[1][0])
    assert spreads[1] == pytest.approx(spreads[0], rel=0.5)
    assert spreads[1] > MIN_DEVIATION / 2


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=100))
def test_scaled_numbers_are_finite_and_clipped(values):
    scaled, norms = ColumnStats(1, clip=5.0).scale_and_update(np.array(values)[:, None])
    assert (np.abs(scaled) <= 5.0).all()
    assert np.isfinite(norms).all()


def test_the_locator_keeps_the_largest_spread():
    rng = np.random.default_rng(5)
    values = rng.normal(size=3000) * np.where(np.arange(3000) < 500, 10.0, 0.1)
    where = TargetStats(clip=10.0).track(values)
    settled = where[WARM_UP:]
    assert np.array_equal(settled[:, 2], np.maximum.accumulate(settled[:, 1]))
    assert where[-1, 2] > 2 * where[-1, 1]  # the spread has shrunk since


def test_the_locator_trusts_no_few_values():
    where = TargetStats(clip=10.0).track(np.array([1e6, -1e6, 1.0, 2.0, 3.0, 2.0, 1.0]))
    assert (where[:MIN_TARGETS, 1:] == 0.0).all()
    assert 0.0 < where[MIN_TARGETS, 1] < 100.0


def odd_columns(rows, seed):
    """Columns of every kind: numbers, rare and common indicators, constants, gaps, few values,
    huge and tiny ones.
    """
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(rows, 4))
    table = np.column_stack(
        [
            normal,
            rng.random(rows) < 0.03,
            rng.random(rows) < 0.5,
            np.full(rows, 7.0),
            np.where(rng.random(rows) < 0.6, np.nan, normal[:, 0]),
            rng.integers(0, 3, rows),
            1e60 * normal[:, 1],
            1e-200 * normal[:, 2],
            np.where(np.arange(rows) < 100, -1.0, normal[:, 3]),
        ]
    )
    return np.ascontiguousarray(table, dtype=np.float64)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_rows_lead_to_can_be_loaded(seed):
    table = odd_columns(170, seed)
    scaler, locators = ColumnStats(table.shape[1]), [TargetStats(clip=5.0) for _ in table.T]
    for row in table:
        scaler.scale_and_update(row[None])
        ColumnStats(table.shape[1]).load_state(scaler.state())
        for locator, value in zip(locators, row, strict=True):
            if not np.isnan(value):
                locator.track(np.array([value]))
                TargetStats(clip=5.0).load_state(locator.state())


@pytest.mark.parametrize("rows", [7, WARM_UP])
def test_first_values_that_do_not_lead_to_what_is_known_are_refused(rows):
    scaler = ColumnStats(2)
    scaler.scale_and_update(np.random.default_rng(0).normal(size=(rows, 2)))
    for name, change in [
        ("first_values", lambda first: np.vstack([first[1::-1], first[2:]])),  # not sorted
        ("first_values", lambda first: first + 1.0),
        ("first_values", np.zeros_like),
        ("centers", lambda centers: centers + 1e-9),
        ("spreads", lambda spreads: 10.0 * spreads),
    ]:
        saved = scaler.state()
        saved[name] = change(saved[name])
        with pytest.raises(
            ValueError,
            match=r"state\['first_values'\] has values in column 0 that do not lead to its centre",
        ):
            ColumnStats(2).load_state(saved)


@pytest.mark.parametrize("dim", [0, 1, 2, 5])
def test_arrays_are_of_the_same_types_whatever_the_width(dim):
    """Or the largest kernel would be compiled again for models that begin without columns."""
    scaler = ColumnStats(dim)
    assert not scaler.arrays.first_values.flags.c_contiguous
    scaler.widen(dim + 3)
    assert not scaler.arrays.first_values.flags.c_contiguous
    assert not pickle.loads(pickle.dumps(scaler)).arrays.first_values.flags.c_contiguous
