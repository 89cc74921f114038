"""The papers' methods and the figures that are told of them: by hand, and on scores that never change."""

import numpy as np
import pytest
from benchmarks.intervals.__main__ import LEVELS, without_free_hits
from benchmarks.intervals.figures import measure
from benchmarks.intervals.peers import BURN_IN, GAMMAS, PEERS, aci, quantile_tracking
from benchmarks.intervals.windows import Window

from swordplay.intervals import SwordIntervals


def test_a_window_has_the_quantiles_of_split_conformal_prediction():
    window = Window(4)
    assert window.quantile(0.5) == np.inf
    for score in (9.0, 3.0, 1.0, 2.0, 4.0):  # the 9 is gone again
        window.add(score)
    assert [window.quantile(alpha) for alpha in (1.0, 0.5, 0.3, 0.2, 0.19, 0.0, -1.0)] == [
        0.0,
        3.0,
        4.0,
        4.0,
        np.inf,
        np.inf,
        np.inf,
    ]
    assert [window.share_at_least(score) for score in (0.0, 2.0, 2.5, 5.0)] == [1.0, 0.75, 0.5, 0.0]


def test_two_of_them_by_hand():
    scores = np.array([1.0, 3.0, 2.0])
    radii = aci(scores, 0.5, gamma=0.1)
    assert radii.tolist() == [np.inf, 1.0, 3.0]  # levels 0.5, 0.55, 0.5: the first of one score, the second of two
    tracked = quantile_tracking(scores, 0.5, rate=1.0)
    np.testing.assert_allclose(tracked, [0.0, 0.5, 2.0])  # + 1 (1 - 0.5), then + 3 (1 - 0.5)
    assert (len(GAMMAS), GAMMAS[3], GAMMAS[-1]) == (30, 1e-4, 0.09)


@pytest.mark.parametrize("name", PEERS)
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
    covered = ((bounds[:, :, 0] <= truths[:, None]) & (truths[:, None] <= bounds[:, :, 1])).mean(axis=0)
    assert covered[2] > 0.94
    assert np.abs(without_free_hits(covered, intervals.balances, 2000) - LEVELS).max() < 0.01


def test_figures_by_hand():
    truths = np.zeros(BURN_IN + 4)
    truths[BURN_IN:] = [0.0, 2.0, -3.0, 1.0]
    bounds = np.tile([-1.0, 1.0], (len(truths), 1))
    bounds[-1] = -np.inf, np.inf
    found = measure(bounds, np.zeros(len(truths)), truths, 0.5, seconds=1e-6 * len(truths))
    assert (found.coverage, found.longest, found.infinite) == (0.5, 2, 0.25)
    assert found.width == pytest.approx((2 + 2 + 2 + 6) / 4)  # the widest residual so far stands for the infinite one
    assert found.median_width == 2.0
    assert found.winkler == pytest.approx((2 + (2 + 4) + (2 + 8) + 6) / 4)
    assert np.isnan(found.worst_100)
    assert found.microseconds == pytest.approx(1.0)
