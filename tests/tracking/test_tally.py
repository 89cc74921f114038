"""The last rows, who was taken for whom, and how sure it was."""

import numpy as np
import pytest

from swordplay.tracking.tally import BINS, LAST_ROWS, Learned, Tally


def rows(count, labels, seed=0):
    rng = np.random.default_rng(seed)
    said, truth = (
        rng.integers(0, 3, size=count).astype(float) if labels else rng.normal(size=count)
        for _ in range(2)
    )
    return Learned(
        np.arange(1, count + 1),
        said,
        truth,
        rng.uniform(1 / 3, 1.0, size=count),
        *np.full((3, count), np.nan),
    )


def tallied(all_rows, labels, cuts):
    tally = Tally(labels)
    for first, stop in zip([0, *cuts], [*cuts, len(all_rows.numbers)], strict=True):
        tally.add(Learned(*(part[first:stop] for part in all_rows)))
    return tally


def test_who_was_taken_for_whom():
    told = rows(500, labels=True)
    tally = tallied(told, True, [])
    for truth in range(3):
        for said in range(3):
            together = np.count_nonzero((told.targets == truth) & (told.predictions == said))
            assert tally.confusion[truth, said] == together


def test_how_sure_and_how_often_right():
    told = rows(500, labels=True)
    counts, said, right = tallied(told, True, []).sureness
    for k in range(BINS):
        here = (told.probabilities >= k / BINS) & (told.probabilities < (k + 1) / BINS)
        assert counts[k] == np.count_nonzero(here)
        assert said[k] == pytest.approx(told.probabilities[here].sum())
        assert right[k] == np.count_nonzero(here & (told.predictions == told.targets))


def test_being_certain_counts_in_the_last_bin():
    certain = Learned(np.array([1]), np.zeros(1), np.zeros(1), np.ones(1), *np.zeros((3, 1)))
    assert tallied(certain, True, []).sureness.right.tolist() == [0.0] * (BINS - 1) + [1.0]


@pytest.mark.parametrize("labels", [False, True])
def test_cuts_and_resuming_leave_no_trace(labels):
    told = rows(3 * LAST_ROWS, labels)
    whole = tallied(told, labels, [])
    assert whole.last.numbers.tolist() == list(range(2 * LAST_ROWS + 1, 3 * LAST_ROWS + 1))
    cut = tallied(told, labels, [1, 2, 50, 700])
    np.testing.assert_equal(cut.state(), whole.state())
    resumed = Tally(labels)
    resumed.load_state(tallied(Learned(*(part[:300] for part in told)), labels, [7]).state())
    resumed.add(Learned(*(part[300:] for part in told)))
    np.testing.assert_equal(resumed.state(), whole.state())


def test_no_rows_change_nothing():
    tally = tallied(rows(10, labels=True), True, [])
    before = tally.state()
    tally.add(rows(0, labels=True))
    np.testing.assert_equal(tally.state(), before)
