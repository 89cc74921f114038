"""The papers' methods and the figures that are told of them: by hand, and on scores that never
change.
"""

import numpy as np
import pytest
from benchmarks.intervals.coverage import LEVELS, lowest, without_free_hits
from benchmarks.intervals.figures import chance, measure
from benchmarks.intervals.peers import BURN_IN, GAMMAS, PEERS, aci, quantile_tracking
from benchmarks.intervals.windows import add, fresh, quantile, share_at_least

from swordplay.intervals import SwordIntervals


def test_a_window_has_the_quantiles_of_split_conformal_prediction():
    newest, by_size = fresh(4)
    assert quantile(by_size, 0, 0.5) == np.inf
    for seen, score in enumerate((9.0, 3.0, 1.0, 2.0, 4.0)):  # the 9 is gone again
        add(newest, by_size, seen, score)
    assert by_size.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert [quantile(by_size, 5, alpha) for alpha in (1.0, 0.5, 0.3, 0.2, 0.19, 0.0, -1.0)] == [
        0.0,
        3.0,
        4.0,
        4.0,
        np.inf,
        np.inf,
        np.inf,
    ]
    assert [share_at_least(by_size, 5, score) for score in (0.0, 2.0, 2.5, 5.0)] == [
        1.0,
        0.75,
        0.5,
        0.0,
    ]


def test_two_of_them_by_hand():
    scores = np.array([1.0, 3.0, 2.0])
    radii = aci(scores, 0.5, gamma=0.1)
    assert radii.tolist() == [
        np.inf,
        1.0,
        3.0,
    ]  # levels 0.5, 0.55, 0.5: the first of one score, the second of two
    tracked = quantile_tracking(scores, 0.5, rate=1.0)
    np.testing.assert_allclose(tracked, [0.0, 0.5, 2.0])  # + 1 (1 - 0.5), then + 3 (1 - 0.5)
    assert (len(GAMMAS), GAMMAS[3], GAMMAS[-1]) == (30, 1e-4, 0.09)


SLOW_TO_COMPILE = ("AgACI", "SAOCP")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.deep if name in SLOW_TO_COMPILE else ())
        for name in PEERS
    ],
)
def test_each_covers_what_it_says_where_nothing_changes(name):
    scores = np.abs(np.random.default_rng(0).normal(size=3000))
    radii = PEERS[name](scores, 0.1)
    assert radii.shape == (3000,)
    assert np.mean(scores[200:] <= radii[200:]) == pytest.approx(0.9, abs=0.03)
    assert np.median(radii[500:]) == pytest.approx(1.645, rel=0.2)


def test_free_hits_are_left_out_of_coverage():
    truths = np.zeros(2000)
    truths[1000:] = np.random.default_rng(0).normal(size=1000)
    intervals = SwordIntervals(LEVELS)
    bounds = intervals.interval_then_learn(np.zeros(2000), truths)
    covered = ((bounds[:, :, 0] <= truths[:, None]) & (truths[:, None] <= bounds[:, :, 1])).mean(
        axis=0
    )
    assert covered[2] > 0.94
    assert (
        np.abs(
            without_free_hits(covered, intervals.balances, 2000, 1.0 - np.array(LEVELS)) - LEVELS
        ).max()
        < 0.01
    )


def test_figures_by_hand():
    truths = np.zeros(BURN_IN + 4)
    truths[BURN_IN:] = [0.0, 2.0, -3.0, 1.0]
    bounds = np.tile([-1.0, 1.0], (len(truths), 1))
    bounds[-1] = -np.inf, np.inf
    found = measure(bounds, np.zeros(len(truths)), truths, 0.5, seconds=1e-6 * len(truths))
    assert (found.coverage, found.longest, found.infinite) == (0.5, 2, 0.25)
    assert found.width == pytest.approx(
        (2 + 2 + 2 + 6) / 4
    )  # the widest residual so far stands for the infinite one
    assert found.median_width == 2.0
    assert found.winkler == pytest.approx((2 + (2 + 4) + (2 + 8) + 6) / 4)
    assert np.isnan(found.worst_100)
    assert found.microseconds == pytest.approx(1.0)


def test_the_lowest_coverage_that_there_can_be_by_hand():
    exact = np.zeros(1500, dtype=bool)
    assert lowest(exact, 0.9) == pytest.approx(1.0 - 170 / 1500)  # a tenth, and 20 more
    exact[:500] = True  # none of these can be missed
    assert lowest(exact, 0.9) == pytest.approx(1.0 - 120 / 1500)
    exact[:500], exact[500:1000] = False, True  # behind these there may be 20 too many once more
    assert lowest(exact, 0.9) == pytest.approx(1.0 - 140 / 1500)


def test_nobody_who_keeps_to_the_windows_has_a_lower_coverage():
    """Of 14 rows, every choice of misses that leaves no window with more than 20 (here: 1) too
    many is looked at.
    """
    rng = np.random.default_rng(0)
    for _ in range(3):
        exact, fewest = rng.random(14) < 0.4, 14
        for choice in range(2**14):
            missed = np.array([choice >> k & 1 for k in range(14)])
            steps, worst, now = missed - 0.3, 0.0, 0.0
            if (missed & exact).any() or 14 - missed.sum() >= fewest:
                continue
            for step in steps:
                now = max(0.0, now + step)
                worst = max(worst, now)
            fewest = 14 - missed.sum() if worst <= 1.0 else fewest
        assert lowest(exact, 0.7, most=1.0) == pytest.approx(fewest / 14)


def test_the_chance_in_a_ratio_is_that_of_many_ratios():
    rng = np.random.default_rng(0)
    ours, theirs = rng.exponential(size=(300, 2000)), 2.0 + rng.normal(size=(300, 2000))
    found = np.mean([chance(a, b) for a, b in zip(ours, theirs, strict=True)])
    assert found == pytest.approx(np.std(ours.mean(axis=1) / theirs.mean(axis=1)), rel=0.15)
    assert chance(theirs[0], theirs[0]) == 0.0
