"""The class: one row and many, late truths, several levels, what is refused, and going on from a
saved state.
"""

import copy
import pickle
import threading

import numpy as np
import pytest

import swordplay as sp
from swordplay import datasets
from swordplay.core.checkpoint import CheckpointError
from swordplay.intervals import SwordIntervals
from swordplay.intervals.layout import SCALAR
from swordplay.intervals.state import MAX_PENDING

LEVELS = (0.9, 0.5, 0.99)


def world(rows, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, 3))
    forecasts = rng.normal(size=rows)
    return forecasts, forecasts + rng.normal(size=rows) * np.exp(features[:, 0]), features


def same(one, other):
    mine, theirs = one.state(), other.state()
    return mine.keys() == theirs.keys() and all(
        np.array_equal(mine[name], theirs[name]) for name in mine
    )


@pytest.mark.parametrize("with_features", [False, True])
def test_one_row_at_a_time_gives_the_same_bits_as_all_at_once(with_features):
    forecasts, truths, features = world(300)
    whole, single = SwordIntervals(LEVELS), SwordIntervals(LEVELS)
    bounds = whole.interval_then_learn(forecasts, truths, features if with_features else None)
    for t in range(300):
        row = features[t] if with_features else None
        lower, upper = single.interval(forecasts[t], row)
        assert np.array_equal(np.column_stack([lower, upper]), bounds[t])
        single.learn(forecasts[t], truths[t], row)
    assert same(whole, single)
    assert whole.rows == single.rows == 300


def test_cut_anywhere_the_rest_is_the_same():
    forecasts, truths, features = world(200)
    whole = SwordIntervals(0.9)
    bounds = whole.interval_then_learn(forecasts, truths, features)
    parts = SwordIntervals(0.9)
    cuts = [slice(0, 3), slice(3, 3), slice(3, 77), slice(77, 200)]
    assert np.array_equal(
        np.concatenate(
            [parts.interval_then_learn(forecasts[c], truths[c], features[c]) for c in cuts]
        ),
        bounds,
    )
    assert same(whole, parts)


def test_shapes_and_kinds_of_answers():
    one, several = SwordIntervals(0.9), SwordIntervals([0.8, 0.9])
    lower, upper = one.interval(1)
    assert (type(lower), type(upper)) == (float, float)
    assert one.interval_then_learn([1.0, 2.0], [1.5, 2.5]).shape == (2, 2)
    assert one.intervals([1.0, 2.0, 3.0]).shape == (3, 2)
    assert [end.shape for end in several.interval(1.0)] == [(2,), (2,)]
    assert several.interval_then_learn([1.0], [1.5]).shape == (1, 2, 2)
    assert several.balances.shape == (2,)
    assert one.interval_then_learn([], []).shape == (0, 2)
    assert SwordIntervals().level == 0.9
    assert repr(several) == "SwordIntervals(level=(0.8, 0.9))"


def test_intervals_of_several_levels_never_cross_and_come_in_the_order_of_the_levels():
    forecasts, truths, _ = world(3000, seed=1)
    truths[1000:1100] += 50.0
    levels = (0.9, 0.1, 0.99, 0.5, 0.8)
    bounds = SwordIntervals(levels).interval_then_learn(forecasts, truths)
    narrow_first = bounds[:, np.argsort(levels)]
    assert (narrow_first[:, 1:, 0] <= narrow_first[:, :-1, 0]).all()
    assert (narrow_first[:, 1:, 1] >= narrow_first[:, :-1, 1]).all()
    covered = ((bounds[:, :, 0] <= truths[:, None]) & (truths[:, None] <= bounds[:, :, 1])).mean(
        axis=0
    )
    np.testing.assert_allclose(covered, levels, atol=0.01)


def test_a_wider_level_holds_a_narrower_one_that_lies_elsewhere():
    """Where residuals go on, intervals lie beside their forecasts.

    Hits too many draw those of one level nearer than others.
    """
    rng = np.random.default_rng(3)
    for sign in (1.0, -1.0):
        truths = sign * rng.exponential(size=4000)
        truths[rng.random(4000) < 0.4] = 0.0
        bounds = SwordIntervals((0.3, 0.45, 0.5, 0.55, 0.6)).interval_then_learn(
            np.zeros(4000), truths
        )
        assert (bounds[:, 1:, 0] <= bounds[:, :-1, 0]).all()
        assert (bounds[:, 1:, 1] >= bounds[:, :-1, 1]).all()


@pytest.mark.parametrize("column", ["nswprice", "transfer"])
def test_truths_that_stand_still_are_made_up_for_where_that_is_possible(column):
    """Of 45,312 prices 15.5 % equal the last one.

    Of the transfers 42 %, too many in a row for a level of a half.
    """
    electricity = datasets.electricity()
    truths = electricity.features[:, electricity.names.index(column)]
    bounds = SwordIntervals(0.5).interval_then_learn(truths[:-1], truths[1:])
    covered = np.mean((bounds[:, 0] <= truths[1:]) & (truths[1:] <= bounds[:, 1]))
    assert covered == pytest.approx({"nswprice": 0.5, "transfer": 0.6955}[column], abs=0.002)


def test_the_first_five_rows_get_everything_and_the_sixth_does_not():
    bounds = SwordIntervals(0.9).interval_then_learn(np.zeros(7), np.arange(1.0, 8.0))
    assert np.isinf(bounds[:5]).all()
    # The median of five, times the quantile of exponential scores, times the response to half a
    # miss too few, which is 1.16 times that to half a miss too many.
    half = 3.0 * np.log(10.0) * (1.0 - 1.16 * 0.02 * 0.5 * (1.0 + 4.0 * (0.5 / 9.5) ** 2))
    np.testing.assert_allclose(bounds[5], [-half, half])
    assert 0.0 < bounds[6, 1] < np.inf
    assert bounds[6, 0] < 0.0


def test_the_largest_of_the_first_residuals_is_reached_before_a_quantile_can_be_known():
    bounds = SwordIntervals(0.9).interval_then_learn(
        np.zeros(6), np.array([1.0, 1.0, 1.0, 1.0, 9.0, 0.0])
    )
    np.testing.assert_allclose(bounds[5], [-9.0, 9.0])
    bounds = SwordIntervals(0.9).interval_then_learn(
        np.zeros(6), np.array([1.0, 1.0, 1.0, 1.0, 90.0, 0.0])
    )
    np.testing.assert_allclose(bounds[5], [-20.0, 20.0])  # of an outlier 20 usual ones


def test_what_a_forecaster_leaves_on_the_table_that_does_not_look_at_the_last_truth():
    """Truths that wander around a forecast of noise: the last truth says where the next one
    lies.
    """
    rng = np.random.default_rng(6)
    truths = rng.normal(size=3000).cumsum() * 0.1
    forecasts = truths + rng.normal(size=3000)
    width = np.diff(SwordIntervals(0.9).interval_then_learn(forecasts, truths), axis=1)[1000:, 0]
    # The interval holds the forecast, which lies 0.8 from the truth in the mean, and reaches beyond
    # the last truth.
    assert width.mean() < 1.6 < 2 * 1.645


def test_the_forecast_itself_may_say_how_unsure_it_is():
    rng = np.random.default_rng(7)
    forecasts = rng.uniform(1.0, 20.0, size=4000)
    truths = forecasts * (1.0 + 0.1 * rng.normal(size=4000))
    width = np.diff(SwordIntervals(0.9).interval_then_learn(forecasts, truths), axis=1)[1000:, 0]
    high, low = forecasts[1000:] > 15.0, forecasts[1000:] < 5.0
    assert width[high].mean() / width[low].mean() > 3.0


def test_a_stream_that_stands_still_after_its_first_rows_gets_a_point_in_the_end():
    truths = np.concatenate([np.arange(1.0, 6.0), np.full(300, 5.0)])
    forecasts = np.concatenate([[0.0], truths[:-1]])
    bounds = SwordIntervals(0.9).interval_then_learn(forecasts, truths)
    assert np.isfinite(bounds[5:]).all()
    assert (bounds[110:] == 5.0).all()


def test_before_a_quantile_can_be_known_the_widest_so_far_is_given():
    rng = np.random.default_rng(0)
    truths = rng.normal(size=99)
    bounds = SwordIntervals(0.99).interval_then_learn(np.zeros(99), truths)
    assert ((bounds[40:, 0] <= truths[40:]) & (truths[40:] <= bounds[40:, 1])).mean() > 0.93
    assert np.median(bounds[40:, 1] - bounds[40:, 0]) > 3.0


def test_one_wild_first_residual_does_no_harm():
    rng = np.random.default_rng(0)
    truths = 40_000.0 + rng.normal(size=400)
    forecasts = np.concatenate([[0.0], np.full(399, 40_000.0)])
    bounds = SwordIntervals(0.9).interval_then_learn(forecasts, truths)
    assert (bounds[10:, 1] - bounds[10:, 0]).max() < 20.0


def test_a_forecaster_that_jumps_is_followed_within_a_few_rows():
    rng = np.random.default_rng(0)
    forecasts, truths = np.zeros(600), rng.normal(size=600)
    forecasts[300:] = 1e6
    bounds = SwordIntervals(0.9).interval_then_learn(forecasts, truths)
    missed = (truths < bounds[:, 0]) | (truths > bounds[:, 1])
    assert missed[300:330].sum() <= 12
    assert np.median((bounds[:, 1] - bounds[:, 0])[400:]) < 2e6


# Truths that come late.


def test_the_interval_that_was_given_is_what_counts():
    intervals = SwordIntervals(0.9)
    rng = np.random.default_rng(0)
    intervals.interval_then_learn(np.zeros(200), rng.normal(size=200))
    _, upper = intervals.interval(100.0)
    intervals.interval_then_learn(np.zeros(100), 50.0 * rng.normal(size=100))  # far wider by now
    before = intervals.balances[0]
    intervals.learn(100.0, np.nextafter(upper, np.inf))
    assert intervals.balances[0] == pytest.approx(before + 0.9)


def test_late_truths_in_another_order_find_their_own_intervals():
    intervals, twin = SwordIntervals(0.9), SwordIntervals(0.9)
    forecasts, truths, _ = world(200)
    bounds = [intervals.interval(p) for p in forecasts[:20]]
    for k in reversed(range(20)):
        intervals.learn(forecasts[k], truths[k])
        twin.learn(forecasts[k], truths[k], given=bounds[k], late=19 - k)
    assert same(intervals, twin)
    assert len(intervals._pending) == 0


def test_of_two_intervals_for_the_same_forecast_the_newest_is_taken_first():
    intervals = SwordIntervals(0.9)
    intervals.interval_then_learn(np.zeros(300), np.random.default_rng(0).normal(size=300))
    first = intervals.interval(5.0)
    intervals.learn(0.0, 40.0)
    second = intervals.interval(5.0)
    assert first != second
    assert [tuple(intervals._pending.take(5.0).bounds[0].tolist()) for _ in range(2)] == [
        second,
        first,
    ]


def test_without_an_interval_the_one_that_would_be_given_counts():
    one, other = SwordIntervals(0.9), SwordIntervals(0.9)
    forecasts, truths, _ = world(100)
    for p, y in zip(forecasts, truths, strict=True):
        one.learn(p, y)
        other.interval(p)
        other.learn(p, y)
    assert same(one, other)


def test_intervals_whose_truths_never_come_are_forgotten_in_the_end():
    intervals = SwordIntervals(0.9)
    for k in range(MAX_PENDING + 10):
        intervals.interval(float(k))
    assert len(intervals._pending) == MAX_PENDING
    assert intervals._pending.take(9.0) is None
    assert intervals._pending.take(10.0) is not None


def test_asking_for_many_intervals_remembers_and_changes_nothing():
    intervals = SwordIntervals(0.9)
    forecasts, truths, features = world(100)
    intervals.interval_then_learn(forecasts, truths, features)
    before = copy.deepcopy(intervals)
    bounds = intervals.intervals(forecasts, features)
    assert same(intervals, before)
    assert np.array_equal(bounds[0], intervals.interval(forecasts[0], features[0]))


# What is refused.

BAD = [
    (lambda: SwordIntervals(0.0), ValueError, "level must lie between 0 and 1, got 0.0"),
    (lambda: SwordIntervals(1.0), ValueError, "level must lie between 0 and 1, got 1.0"),
    (lambda: SwordIntervals(-0.5), ValueError, "got -0.5"),
    (lambda: SwordIntervals(90), ValueError, "got 90.0. Give 0.9 for 90 %"),
    (lambda: SwordIntervals(float("nan")), ValueError, "level must be finite, got nan"),
    (lambda: SwordIntervals("0.9"), TypeError, "level must be a real number, got '0.9'"),
    (lambda: SwordIntervals(None), TypeError, "level must be a real number, got None"),
    (lambda: SwordIntervals([]), ValueError, "level must name a level"),
    (lambda: SwordIntervals([0.9, 0.9]), ValueError, "each level once"),
    (lambda: SwordIntervals([0.9, 1.5]), ValueError, "got 1.5"),
]


@pytest.mark.parametrize(("make", "kind", "words"), BAD)
def test_bad_levels_are_refused_in_words(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


NAN, INF = float("nan"), float("inf")
BAD_ROWS = [
    (lambda s: s.interval(NAN, [1.0, 2.0, 3.0]), ValueError, "prediction must be finite, got nan"),
    (
        lambda s: s.interval(1e300, [1.0, 2.0, 3.0]),
        ValueError,
        r"prediction must lie between -1e\+60 and 1e\+60, got 1e\+300",
    ),
    (lambda s: s.interval("1", [1.0, 2.0, 3.0]), TypeError, "prediction must be a real number"),
    (lambda s: s.interval(0.0, [1.0, 2.0]), ValueError, r"features must have 3 column\(s\).*got 2"),
    (lambda s: s.interval(0.0), ValueError, r"features must have 3 column\(s\).*got 0"),
    (
        lambda s: s.interval(0.0, [[1.0, 2.0, 3.0]]),
        ValueError,
        r"features must have shape \(d,\), got \(1, 3\)",
    ),
    (lambda s: s.interval(0.0, [1.0, INF, 3.0]), ValueError, "features must lie between"),
    (lambda s: s.interval(0.0, ["a", "b", "c"]), TypeError, "features must hold real numbers"),
    (lambda s: s.learn(0.0, NAN, [1.0, 2.0, 3.0]), ValueError, "target must be finite, got nan"),
    (lambda s: s.learn(0.0, -INF, [1.0, 2.0, 3.0]), ValueError, "target must be finite, got -inf"),
    (
        lambda s: s.learn(0.0, 1e300, [1.0, 2.0, 3.0]),
        ValueError,
        r"target must lie between.*got 1e\+300",
    ),
    (lambda s: s.learn(0.0, 1.0), ValueError, r"features must have 3 column\(s\)"),
    (
        lambda s: s.learn(0.0, 1.0, [1.0, 2.0, 3.0], given=(2.0, 1.0)),
        ValueError,
        "lower end above the upper",
    ),
    (lambda s: s.learn(0.0, 1.0, [1.0, 2.0, 3.0], given=(NAN, 1.0)), ValueError, "nor NaN"),
    (
        lambda s: s.learn(0.0, 1.0, [1.0, 2.0, 3.0], given=5.0),
        TypeError,
        r"given must be a pair \(lower, upper\), got 5.0",
    ),
    (
        lambda s: s.learn(0.0, 1.0, [1.0, 2.0, 3.0], given=([0.0, 1.0], [2.0, 3.0])),
        ValueError,
        r"1 lower and upper end",
    ),
    (
        lambda s: s.interval_then_learn([0.0, NAN], [1.0, 1.0], np.zeros((2, 3))),
        ValueError,
        "predictions must be finite",
    ),
    (
        lambda s: s.interval_then_learn([0.0, 1e300], [1.0, 1.0], np.zeros((2, 3))),
        ValueError,
        "predictions must lie between",
    ),
    (
        lambda s: s.interval_then_learn([0.0, 1.0], [1.0, NAN], np.zeros((2, 3))),
        ValueError,
        "targets must be finite",
    ),
    (
        lambda s: s.interval_then_learn([0.0, 1.0], [1.0], np.zeros((2, 3))),
        ValueError,
        "one entry per prediction",
    ),
    (
        lambda s: s.interval_then_learn([0.0], [1.0], np.zeros((2, 3))),
        ValueError,
        r"shape \(T, d\) with T = 1, got \(2, 3\)",
    ),
    (
        lambda s: s.interval_then_learn([[0.0]], [1.0]),
        ValueError,
        "predictions must have 1 dimension",
    ),
    (
        lambda s: s.interval_then_learn(["a"], [1.0]),
        TypeError,
        "predictions must hold real numbers",
    ),
    (
        lambda s: s.interval_then_learn(np.ma.masked_array([0.0], [True]), [1.0]),
        TypeError,
        "predictions must not be masked",
    ),
    (lambda s: s.widen(2), ValueError, "columns must be more than before, got 2 where there are 3"),
    (lambda s: s.load_state({}), ValueError, r"state lacks \['pending.bounds'"),
    (lambda s: s.load_state([]), TypeError, "state must be the dictionary"),
]


@pytest.mark.parametrize(("call", "kind", "words"), BAD_ROWS)
def test_bad_rows_are_refused_in_words_and_change_nothing(call, kind, words):
    intervals = SwordIntervals(0.9)
    intervals.interval_then_learn(*world(20))
    intervals.interval(7.0, [1.0, 2.0, 3.0])
    before = copy.deepcopy(intervals)
    with pytest.raises(kind, match=words):
        call(intervals)
    assert same(intervals, before)


def test_the_largest_numbers_that_are_taken_do_not_overflow():
    intervals = SwordIntervals(LEVELS)
    forecasts = np.tile([1e60, -1e60, 0.0, 1e-300], 100)
    bounds = intervals.interval_then_learn(
        forecasts, forecasts[::-1].copy(), np.outer(forecasts, [1.0, 1e-60])
    )
    assert not np.isnan(bounds).any()
    twin = SwordIntervals(LEVELS)
    twin.load_state(intervals.state())


def test_the_smallest_numbers_do_not_either():
    truths = np.tile([5e-324, 0.0, 1e-310, -1e-300], 100)
    bounds = SwordIntervals(LEVELS).interval_then_learn(np.zeros(400), truths)
    assert not np.isnan(bounds).any()


# Saved and loaded.


def grown(rows=150):
    intervals = SwordIntervals(LEVELS)
    forecasts, truths, features = world(rows)
    intervals.interval_then_learn(forecasts, truths, features)
    intervals.interval(3.0, [0.1, 0.2, 0.3])
    return intervals


def test_a_loaded_one_goes_on_bit_by_bit(tmp_path):
    intervals = grown()
    intervals.save(tmp_path / "intervals.ckpt")
    other = SwordIntervals(LEVELS)
    other.load(tmp_path / "intervals.ckpt")
    forecasts, truths, features = world(100, seed=9)
    for each in (intervals, other):
        each.learn(3.0, 4.0, [0.1, 0.2, 0.3])
    assert np.array_equal(
        intervals.interval_then_learn(forecasts, truths, features),
        other.interval_then_learn(forecasts, truths, features),
    )
    assert same(intervals, other)


def test_a_fresh_one_can_be_saved_too(tmp_path):
    fresh = SwordIntervals(0.9)
    fresh.interval(1.0)
    fresh.save(tmp_path / "fresh.ckpt")
    other = SwordIntervals(0.9)
    other.load(tmp_path / "fresh.ckpt")
    assert same(fresh, other)
    assert (other.rows, len(other._pending)) == (0, 1)


def test_other_levels_are_refused(tmp_path):
    grown().save(tmp_path / "intervals.ckpt")
    other = SwordIntervals(0.9)
    with pytest.raises(CheckpointError, match="saved with other settings: level was"):
        other.load(tmp_path / "intervals.ckpt")
    sp.Sword(sp.Ball(2)).save(tmp_path / "sword.ckpt")
    with pytest.raises(CheckpointError, match="Sword"):
        other.load(tmp_path / "sword.ckpt")
    assert other.rows == 0


DAMAGE = [
    ("scalars", SCALAR.rows, -1.0, "scalars: rows"),
    ("scalars", SCALAR.rows, 1.5, "scalars: rows"),
    ("scalars", SCALAR.typical_size, -1.0, "scalars: typical_size"),
    ("scalars", SCALAR.last_residual, 1e80, "scalars: last_residual"),
    ("newest_sizes", 0, -1.0, "newest_sizes"),
    ("recent_sizes", 1, -1.0, "recent_sizes"),
    ("scalars", SCALAR.mean_score, -1.0, "scalars: mean_score"),
    ("scalars", SCALAR.largest_score, -1.0, "scalars: largest_score"),
    ("scalars", SCALAR.mean_score, 1e-308, "scalars: mean_score"),
    ("scalars", SCALAR.largest_size, -1.0, "scalars: largest_size"),
    ("scalars", SCALAR.last_target, 1e80, "scalars: last_target"),
    ("location", (0, 0, 0), np.inf, "location"),
    ("spread", (0, 0, 0), 1e100, "spread"),
    ("location_losses", (0, 0), -1.0, "location_losses"),
    ("spread_losses", (0, 0), 1e6, "spread_losses"),
    ("quantiles", (0, 0), -1.0, "quantiles"),
    ("quantile_losses", (0, 0), -1.0, "quantile_losses"),
    ("balances", 0, 1e5, "balances"),
    ("centers", 0, 1e100, "centers"),
    ("spreads", 0, -1.0, "spreads"),
    ("counts", 0, 0.5, "counts"),
    ("first_values", (0, 0), 1e200, "first_values"),
    ("pending.bounds", (0, 0, 1), -50.0, "lacks its prediction"),
    ("pending.predictions", 0, 1e80, "pending.predictions"),
    ("location", (0, 0, 0), np.nan, "got nan"),
]


@pytest.mark.parametrize(("name", "place", "value", "words"), DAMAGE)
def test_numbers_that_no_rows_lead_to_are_refused(name, place, value, words):
    saved = grown().state()
    saved[name][place] = value
    other = SwordIntervals(LEVELS)
    with pytest.raises(ValueError, match=words):
        other.load_state(saved)
    assert other.rows == 0


def test_entries_that_are_missing_or_misshapen_are_refused():
    saved = grown().state()
    for name in saved:
        if not name.startswith("settings."):
            with pytest.raises(ValueError, match=r"state|lacks"):
                SwordIntervals(LEVELS).load_state(
                    {key: value for key, value in saved.items() if key != name}
                )
    for name in ("quantiles", "location", "spread_bins", "first_values", "pending.bounds"):
        with pytest.raises(ValueError, match="shape"):
            SwordIntervals(LEVELS).load_state(
                saved
                | {name: saved[name][:-1] if name != "pending.bounds" else np.zeros((1, 1, 2))}
            )


def test_copies_and_pickles_go_their_own_way():
    intervals = grown()
    for other in (copy.deepcopy(intervals), pickle.loads(pickle.dumps(intervals))):
        assert same(intervals, other)
        other.learn(1.0, 2.0, [0.0, 0.0, 0.0])
        assert other.rows == intervals.rows + 1


def test_columns_that_appear_late_change_nothing_until_they_move():
    forecasts, truths, features = world(200)
    narrow, wide = SwordIntervals(0.9), SwordIntervals(0.9)
    for each in (narrow, wide):
        each.interval_then_learn(forecasts[:100], truths[:100], features[:100])
    wide.widen(5)
    padded = np.hstack([features[100:], np.full((100, 2), np.nan)])
    assert np.array_equal(
        wide.interval_then_learn(forecasts[100:], truths[100:], padded),
        narrow.interval_then_learn(forecasts[100:], truths[100:], features[100:]),
    )


def test_threads_take_turns():
    intervals = SwordIntervals(0.9)
    forecasts, truths, _ = world(200)
    workers = [
        threading.Thread(target=intervals.interval_then_learn, args=(forecasts, truths))
        for _ in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    alone = SwordIntervals(0.9)
    for _ in range(8):
        alone.interval_then_learn(forecasts, truths)
    assert same(intervals, alone)


def test_arrays_that_cannot_be_written_compile_nothing_new():
    from swordplay.intervals.kernel import play

    rng = np.random.default_rng(0)
    arrays = rng.normal(size=20), rng.normal(size=20), rng.normal(size=(20, 2))
    expected = SwordIntervals().interval_then_learn(*arrays)
    compiled = len(play.signatures)
    for array in arrays:
        array.flags.writeable = False
    np.testing.assert_array_equal(SwordIntervals().interval_then_learn(*arrays), expected)
    assert len(play.signatures) == compiled
