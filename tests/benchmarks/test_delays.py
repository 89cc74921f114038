"""The benchmark of answers that come late, on a few rows."""

import numpy as np
import pytest
from benchmarks.delays import DELAYS, STREAMS, Line, play, table


@pytest.mark.parametrize(
    ("stream", "delay", "rows"),
    [
        ("sulfur", 0, 500),
        ("electricity", 25, 500),
        pytest.param("bikesharing", 25, 2000, marks=pytest.mark.deep),
    ],
)
def test_learning_late_is_better_than_not_learning(stream, delay, rows):
    line = play(stream, delay, rows=rows)
    assert (line.rows, line.judged, line.delay) == (rows, 9 * rows // 10, delay)
    assert line.late < line.stopped


@pytest.mark.deep
@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("stream", STREAMS)
def test_on_the_shipped_streams_learning_late_is_never_worse_than_not_learning(stream, delay):
    line = play(stream, delay)
    assert line.late <= line.stopped


def test_answers_that_do_not_come_change_nothing():
    line = play("electricity", 400, rows=300)
    assert line.late == line.stopped
    assert np.isnan(line.coverage)


def test_the_table():
    text = table(
        [
            Line("sulfur", 10, 2, 9, 0.5, 0.75, 0.9),
            Line("electricity", 10, 2, 9, 0.25, 0.5, float("nan")),
        ]
    )
    assert text.splitlines()[2] == "| sulfur (RMSE) | 10 | 2 | 9 | 0.5 | 0.75 | 90.0 % |"
    assert text.splitlines()[3] == "| electricity (mistakes) | 10 | 2 | 9 | 25.0 % | 50.0 % |  |"
