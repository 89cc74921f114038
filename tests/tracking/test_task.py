"""The task is recognised from the target, and the reason is told."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from swordplay.tracking import TrackingError
from swordplay.tracking.task import recognise

WHOLE = [float(k % 3) for k in range(100)]


@pytest.mark.parametrize(
    ("values", "task", "told"),
    [
        ([0.0, 1.0, 1.0, None], "binary", "0 or 1"),
        ([0.0, 0.0], "binary", "0 or 1"),
        ([3.0, 7.5] * 10, "binary", "two values, 3 and 7.5"),
        ([2.5, 3.25], "regression", "only 2 rows to tell by; --task insists"),
        ([True, False], "binary", "truths"),
        ([True], "binary", "truths"),
        (["up", "down", "up"], "binary", "'down' and 'up'"),
        (["a", "b", "c"], "multi-class", "'a', 'b' and 'c' are words"),
        (WHOLE, "multi-class", "3 different whole numbers, 0, 1 and 2"),
        (WHOLE[:20], "regression", "3 different in the first 20 rows"),
        ([*WHOLE, 0.5], "regression", "not all of them whole"),
        ([float(k) for k in range(1000)], "regression", "1,000 different in"),
        ([5.0], "regression", "1 different in the first 1 rows (only 1 row to tell by"),
    ],
)
def test_recognised(values, task, told):
    found = recognise("y", pa.array(values))
    assert found.task == task
    assert told in found.why


def test_what_the_user_says_counts():
    assert recognise("y", pa.array(WHOLE), "regression").task == "regression"
    assert recognise("y", pa.array([0.5, 1.5, 2.5]), "multi-class").task == "multi-class"


@pytest.mark.parametrize(
    ("values", "wanted", "told"),
    [
        (["up", "down"], "regression", "a regression needs numbers"),
        ([datetime.datetime(2024, 1, 1)], None, "holds dates"),
        ([None, None], None, "missing in all of the first 2 rows"),
    ],
)
def test_refused(values, wanted, told):
    kind = pa.float64() if values == [None, None] else None
    with pytest.raises(TrackingError, match=told):
        recognise("y", pa.array(values, type=kind), wanted)


def test_many_values_are_shortened():
    told = recognise("y", pa.array([f"{k}{'x' * 500}" for k in np.arange(40)] * 2)).why
    assert len(told) < 150
