"""The first rows of a run are looked at once more where that can be, and it is said why where it
cannot.
"""

import re

import numpy as np
import pyarrow as pa
import pytest

from swordplay.comparison import LeftOut, field, perspective_of_run
from swordplay.comparison.looking_back import game_of_run
from swordplay.comparison.perspective import ROWS
from swordplay.tracking import Job, Settings, run
from swordplay.tracking.ordered import Order
from tracking.files import write


@pytest.fixture
def path(tmp_path):
    """Sixty rows, one of them without a target."""
    x, z = np.random.default_rng(4).normal(size=(2, 60)).round(3)
    y = [None if k == 30 else float(x[k] - 2.0 * z[k]) for k in range(60)]
    colours = [("red", "blue")[k % 2] for k in range(60)]
    return str(
        write(tmp_path / "table.csv", pa.record_batch({"x": x, "z": z, "colour": colours, "y": y}))
    )


def test_the_same_rows_as_a_comparison_looks_at(path):
    game = game_of_run(Job(path, Settings("y", features=("x", "z"))))
    assert game.rows.shape == (59, 2)
    again = field(game.rows, game.targets)
    assert (again.streams[0].features == game.streams[0].features).all()
    assert (
        game_of_run(Job(path, Settings("y", features=("x",)), rows=20)).rows == game.rows[:20, :1]
    ).all()
    backwards = game_of_run(Job(path, Settings("y", features=("x",)), order=Order(reverse=True)))
    assert (backwards.rows[:, 0] == game.rows[::-1, 0]).all()
    assert ROWS == 3000


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (Job("-", Settings("y")), "came through a pipe"),
        (Job("{path}", Settings("y"), rows=9), "fewer than 10 rows"),
        (Job("{path}", Settings("nothing")), "cannot be looked at: .*nothing"),
    ],
)
def test_why_not(path, job, why):
    found = game_of_run(job._replace(source=job.source.format(path=path)))
    assert isinstance(found, LeftOut)
    assert re.search(why, found.why)


def test_all_rows_that_were_learned_are_counted(path):
    job = Job(path, Settings("y", features=("x",)))
    found = run(job)
    view = perspective_of_run(job._replace(rows=20), found.tracker)
    assert (view.rows, view.of) == (20, 59)
