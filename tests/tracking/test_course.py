"""Stretches: sums, extremes and samples, whatever the number of rows, and never many."""

import numpy as np
import pytest

from swordplay.application.tracking.contestants import Played, Said
from swordplay.application.tracking.course import EVERY, FEW, FIRST_WIDTH, MOST, POOL, Recorder, Sample, room_for
from swordplay.application.tracking.rungs import COUNT
from swordplay.application.tracking.story import Moment
from tolerances import ROUNDING

NAMES = ("swordplay", "no change", "running mean")


def now(row):
    """A sample that tells its row."""
    return Sample(np.full(len(POOL), row), row, row, row)


def recorded(losses, largest=10**9, recorder=None):
    """Put losses on record, in pieces of at most so many rows."""
    recorder, first = recorder or Recorder(NAMES, ("fourfold",), 2), 0
    while first < len(losses):
        piece = losses[first : first + min(recorder.room, largest)]
        recorder.open_rungs[:] += piece.sum() * np.arange(1, COUNT + 1)
        errors = piece[:, None] * [1.0, 2.0, 3.0]
        recorder.add(
            Played(Said(piece, piece), piece, errors, 4.0 * piece[:, None], piece[:, None] * [1.0, -1.0]),
            1000.0 * np.arange(first, first + len(piece)),
            lambda k, at=first, piece=piece: Moment(at + k, "", "", piece[k], {}),
        )
        first += len(piece)
        if not recorder.room:
            recorder.close(now(first), lambda at=first: {0: np.array([at, -at])})
    return recorder


@pytest.mark.parametrize("rows", [1, 15, 16, 17, 1000, MOST * FIRST_WIDTH - 1, MOST * FIRST_WIDTH, 5 * MOST * FIRST_WIDTH + 7])
def test_stretches(rows):
    losses = np.random.default_rng(rows).exponential(size=rows)
    recorder = recorded(losses)
    course = recorder.course(now(rows), {0: np.array([rows, -rows])})
    assert recorder.rows == rows
    assert len(course.ends) <= MOST
    assert len(course.ends) >= min(rows / FIRST_WIDTH, room_for(recorder.width) / 4)
    assert len(course.ends) <= room_for(recorder.width)
    ends = course.ends.astype(int)
    begins = np.concatenate([[0], ends[:-1]])
    assert (ends[:-1] % recorder.width == 0).all()
    assert ends[-1] == rows
    np.testing.assert_allclose(course.losses["swordplay"], np.add.reduceat(losses, begins), rtol=ROUNDING)
    np.testing.assert_allclose(course.losses["running mean"], 3 * np.add.reduceat(losses, begins), rtol=ROUNDING)
    np.testing.assert_allclose(course.losses["best step size"], np.add.reduceat(losses, begins), rtol=ROUNDING)
    np.testing.assert_array_equal(course.highest, np.maximum.reduceat(losses, begins))
    np.testing.assert_array_equal(course.lowest, np.minimum.reduceat(losses, begins))
    np.testing.assert_allclose(course.figures["fourfold"], 4 * np.add.reduceat(losses, begins), rtol=ROUNDING)
    np.testing.assert_array_equal(course.high[:, 0], np.maximum.reduceat(losses, begins))
    np.testing.assert_array_equal(course.low[:, 1], -np.maximum.reduceat(losses, begins))
    np.testing.assert_array_equal(course.times, np.concatenate([[0.0], 1000.0 * (ends - 1)]))
    np.testing.assert_array_equal(course.effective, ends)
    assert course.marks[-1] == len(ends)
    assert set(course.marks[:-1].tolist()) <= set(range(EVERY, MOST + 1, EVERY))
    np.testing.assert_array_equal(course.coefficients[:, 0], np.float32(np.outer(ends[course.marks - 1], [1, -1])))
    np.testing.assert_array_equal(course.weights[:, 0], ends)
    worst = recorder.worst(rows)
    assert worst[0].row == losses.argmax()
    assert len(worst) <= 20


def test_pieces_leave_no_trace():
    losses = np.random.default_rng(1).exponential(size=3 * MOST * FIRST_WIDTH)
    whole, cut = recorded(losses).state(), recorded(losses, largest=7).state()
    for name in whole.keys() - {"rungs"}:  # sums of the single step sizes are made piece by piece above
        np.testing.assert_array_equal(whole[name], cut[name])


def test_looking_changes_nothing():
    recorder = recorded(np.ones(1000))
    before = recorder.state()
    recorder.course(now(-1), {0: np.zeros(3)})
    np.testing.assert_equal(recorder.state(), before)


def test_short_runs_have_fewer_stretches():
    widths = {width: room_for(width) for width in (16, 32, 128, 256, 512, 1024)}
    assert widths == {16: 256, 32: 256, 128: 256, 256: 512, 512: 1024, 1024: 1024}
    assert (FEW, MOST) == (256, 1024)


def test_a_run_of_before_with_many_short_stretches_goes_on():
    """As it was saved when every run had room for MOST stretches."""
    losses = np.random.default_rng(2).exponential(size=20 * FIRST_WIDTH)
    recorder = Recorder(NAMES, ("fourfold",), 2)
    recorder.closed = 700
    recorder.effective[:700] = FIRST_WIDTH * np.arange(1.0, 701.0)
    recorder.errors[:700] = 1.0
    recorder.moments = [None] * 701
    added = recorded(losses, recorder=recorder)
    assert added.rows == 720 * FIRST_WIDTH
    assert (added.width, added.closed, added.open) == (4 * FIRST_WIDTH, 180, 0)
    np.testing.assert_array_equal(added.effective[:175], 4.0 * FIRST_WIDTH * np.arange(1.0, 176.0))
    assert added.errors[:176, 0].tolist()[:175] == [4.0] * 175
    assert added.errors[:180, 0].sum() == pytest.approx(700.0 + losses.sum(), rel=ROUNDING)


def test_memory_is_bounded():
    sizes = [
        sum(value.nbytes for value in recorded(np.ones(rows)).state().values() if isinstance(value, np.ndarray))
        for rows in (MOST * FIRST_WIDTH, 64 * MOST * FIRST_WIDTH, 128 * MOST * FIRST_WIDTH)
    ]
    assert sizes[0] < sizes[1] == sizes[2]
