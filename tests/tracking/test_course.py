"""Stretches: sums, extremes and samples, whatever the number of rows, and never many."""

import numpy as np
import pytest

from swordplay.tracking.contestants import Played, PredictedRows
from swordplay.tracking.course import Recorder
from swordplay.tracking.looks import POOL, CoefficientSample, LearnerSnapshot
from swordplay.tracking.rungs import COUNT
from swordplay.tracking.story import WorstRow
from swordplay.tracking.stretches import EVERY, FEW, FIRST_WIDTH, MOST, Grid, room_for
from tolerances import ROUNDING

NAMES = ("swordplay", "no change", "running mean")


def now(row):
    """A sample that tells its row."""
    return CoefficientSample(np.full(len(POOL), row), row, row, row)


def looked(row):
    """A look that does, too."""
    return LearnerSnapshot(now(row), {0: np.array([row, -row])})


class Looks(dict):
    """At every end that is asked for; after a whole number of stretches with the coefficients."""

    def __init__(self, recorder):
        self.recorder = recorder

    def get(self, row):
        width = self.recorder.width
        return looked(row) if not row % (EVERY * width) else looked(row)._replace(coefficients=None)

    __getitem__ = get


def recorded(losses, largest=10**9, recorder=None, together=None):
    """Put losses on record, in pieces of at most so many rows and, unless ``together`` is said,
    of one stretch.
    """
    recorder, first = recorder or Recorder(NAMES, ("fourfold",), 2), 0
    before = recorder.rows
    while first < len(losses):
        most = min(largest, len(losses) - first)
        piece = losses[
            first : first
            + (recorder.together(most) if together else min(recorder.width - recorder.open, most))
        ]
        places = recorder.rungs_of(len(piece))
        for k, loss in enumerate(piece.tolist()):
            places.losses[(places.open + k) // places.width] += loss * np.arange(1, COUNT + 1)
        errors = piece[:, None] * [1.0, 2.0, 3.0]
        recorder.add(
            Played(
                PredictedRows(piece, piece),
                piece,
                errors,
                4.0 * piece[:, None],
                piece[:, None] * [1.0, -1.0],
            ),
            1000.0 * np.arange(first, first + len(piece)),
            first,
        )
        recorder.close(
            {before + first + len(piece): looked(before + first + len(piece))}
            if not together
            else Looks(recorder)
        )
        first += len(piece)
        if not together or not recorder.open:
            recorder.tell(lambda places: [WorstRow(k, "", "", losses[k], {}) for k in places])
    recorder.tell(lambda places: [WorstRow(k, "", "", losses[k], {}) for k in places])
    return recorder


@pytest.mark.parametrize(
    "rows",
    [1, 15, 16, 17, 1000, MOST * FIRST_WIDTH - 1, MOST * FIRST_WIDTH, 5 * MOST * FIRST_WIDTH + 7],
)
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
    np.testing.assert_allclose(
        course.losses["swordplay"], np.add.reduceat(losses, begins), rtol=ROUNDING
    )
    np.testing.assert_allclose(
        course.losses["running mean"], 3 * np.add.reduceat(losses, begins), rtol=ROUNDING
    )
    np.testing.assert_allclose(
        course.losses["best step size"], np.add.reduceat(losses, begins), rtol=ROUNDING
    )
    np.testing.assert_array_equal(course.highest, np.maximum.reduceat(losses, begins))
    np.testing.assert_array_equal(course.lowest, np.minimum.reduceat(losses, begins))
    np.testing.assert_allclose(
        course.figures["fourfold"], 4 * np.add.reduceat(losses, begins), rtol=ROUNDING
    )
    np.testing.assert_array_equal(course.high[:, 0], np.maximum.reduceat(losses, begins))
    np.testing.assert_array_equal(course.low[:, 1], -np.maximum.reduceat(losses, begins))
    np.testing.assert_array_equal(course.times, np.concatenate([[0.0], 1000.0 * (ends - 1)]))
    np.testing.assert_array_equal(course.effective, ends)
    assert course.marks[-1] == len(ends)
    assert set(course.marks[:-1].tolist()) <= set(range(EVERY, MOST + 1, EVERY))
    np.testing.assert_array_equal(
        course.coefficients[:, 0], np.float32(np.outer(ends[course.marks - 1], [1, -1]))
    )
    np.testing.assert_array_equal(course.weights[:, 0], ends)
    worst = recorder.worst(rows)
    assert worst[0].row == losses.argmax()
    assert len(worst) <= 20


def test_pieces_leave_no_trace():
    losses = np.random.default_rng(1).exponential(size=3 * MOST * FIRST_WIDTH)
    whole, cut = recorded(losses).state(), recorded(losses, largest=7).state()
    np.testing.assert_equal(whole, cut)


@pytest.mark.parametrize("largest", [10**9, 5000, 37])
def test_many_stretches_at_a_time_are_as_one_after_the_other(largest):
    losses = np.random.default_rng(3).exponential(size=3 * MOST * FIRST_WIDTH + 5)
    losses[::97] = 0.0
    one, many = recorded(losses).state(), recorded(losses, largest, together=True).state()
    assert one.keys() == many.keys()
    for name, value in one.items():
        assert np.asarray(value).tobytes() == np.asarray(many[name]).tobytes(), name


def naive(width, closed, opened, rows):
    """Row by row: width, stretches and rows behind them; and where stretches ended on the way."""
    ends, at = [], closed * width + opened
    for _ in range(rows):
        opened, at = opened + 1, at + 1
        if opened == width:
            closed, opened = closed + 1, 0
            ends.append(at)
            while closed >= room_for(width) and not closed % (2 * EVERY):
                closed, width = closed // 2, 2 * width
    return (width, closed, opened), ends


@pytest.mark.parametrize(
    "grid",
    [
        Grid(16, 0, 0),
        Grid(16, 250, 7),
        Grid(32, 255, 31),
        Grid(256, 511, 3),
        Grid(2, 3, 1),
    ],
)
def test_a_grid_counts_as_one_does_row_by_row(grid):
    for rows in (1, 5, 16, 33, 1000, 9999):
        then, ends = naive(*grid, rows)
        assert grid.after(rows) == then
        assert grid.after(rows).rows == grid.rows + rows
        assert grid.after(rows // 3).after(rows - rows // 3) == then
        lasting = grid.after(rows).width
        assert all(
            end in ends
            for end in range(
                -(-(grid.rows + 1) // lasting) * lasting, grid.rows + rows + 1, lasting
            )
        )
    together = grid.together(9999)
    assert together == 9999 or (grid.rows + together) in naive(*grid, 9999)[1]


def test_ends_that_are_none_any_more_need_no_look():
    losses = np.random.default_rng(4).exponential(size=9000)
    lasting = Grid(FIRST_WIDTH, 0, 0).after(len(losses)).width
    recorder, first = Recorder(NAMES, ("fourfold",), 2), 0
    looks = {row: looked(row) for row in range(lasting, len(losses), lasting)}
    while first < len(losses):
        piece = losses[first : first + recorder.together(len(losses) - first)]
        errors, values = piece[:, None] * [1.0, 2.0, 3.0], piece[:, None] * [1.0, -1.0]
        recorder.add(
            Played(PredictedRows(piece, piece), piece, errors, 4.0 * piece[:, None], values),
            None,
            first,
        )
        recorder.close(
            {
                row: one._replace(coefficients=None) if row % (EVERY * lasting) else one
                for row, one in looks.items()
            }
        )
        first += len(piece)
    assert lasting == recorder.width > FIRST_WIDTH
    other = recorded(losses)
    for name in (*CoefficientSample._fields, "errors", "highest"):
        np.testing.assert_array_equal(getattr(recorder, name), getattr(other, name))
    places = slice(0, recorder.closed // EVERY)
    np.testing.assert_array_equal(recorder.paths.kept[places], other.paths.kept[places])


def test_looking_changes_nothing():
    recorder = recorded(np.ones(1000))
    before = recorder.state()
    recorder.course(now(-1), {0: np.zeros(3)})
    np.testing.assert_equal(recorder.state(), before)


def test_short_runs_have_fewer_stretches():
    widths = {width: room_for(width) for width in (16, 32, 128, 256, 512, 1024)}
    assert widths == {16: 256, 32: 256, 128: 256, 256: 512, 512: 1024, 1024: 1024}
    assert (FEW, MOST) == (256, 1024)


def test_memory_is_bounded():
    sizes = [
        sum(
            value.nbytes
            for value in recorded(np.ones(rows)).state().values()
            if isinstance(value, np.ndarray)
        )
        for rows in (MOST * FIRST_WIDTH, 64 * MOST * FIRST_WIDTH, 128 * MOST * FIRST_WIDTH)
    ]
    assert sizes[0] < sizes[1] == sizes[2]
