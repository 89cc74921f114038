"""A key's learner as a row of numbers: the same bits as the learner itself, whatever comes in
between.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swordplay.core import checkpoint
from swordplay.estimators.linear_model import LinearModel
from swordplay.keyed.group import HEADER
from swordplay.keyed.key_text import join, split
from swordplay.keyed.record import Form
from swordplay.spark.plan import Plan

pytestmark = pytest.mark.xdist_group("spark")  # one process compiles, and the others need not

KINDS = [("squared", 0), ("huber", 0), ("squared", 3), ("logistic", 0), ("logistic", 2)]


def plan(dim, loss="squared", classes=0, lags=0, buckets=4):
    names = tuple(f"f{j}" for j in range(dim))
    return Plan(names, loss, classes, lags, buckets)


class World:
    """Keys that take turns.

    Their rows have a column of normal numbers, a rare indicator and a far one.
    """

    def __init__(self, loss, seed, keys=7, dim=4):
        self.rng, self.loss, self.keys, self.dim = np.random.default_rng(seed), loss, keys, dim
        self.names = [f"key {k}" for k in range(keys)]

    def turn(self):
        """Some keys, each with some rows: numbers of the keys of all rows, rows, targets."""
        who = np.sort(self.rng.choice(self.keys, self.rng.integers(1, self.keys), replace=False))
        numbers = np.repeat(who, self.rng.integers(1, 40, len(who)))
        rows = self.rng.normal(size=(len(numbers), self.dim))
        rows[:, 1] = self.rng.random(len(rows)) < 0.05
        rows[:, 2] = 1e6 + rows[:, 2]
        targets = 3.0 * rows[:, 0] + numbers + self.rng.standard_t(2, len(rows))
        return (
            numbers,
            rows,
            (targets > numbers).astype(float) if self.loss == "logistic" else targets,
        )


@pytest.mark.parametrize(("loss", "lags"), KINDS)
@pytest.mark.parametrize("resume", [False, True])
def test_keys_in_a_group_say_what_each_says_alone(loss, lags, resume):
    world, settings = (
        World(loss, seed=3),
        plan(4, loss, classes=2 * (loss == "logistic"), lags=lags),
    )
    group, models = settings.group(), [LinearModel(4, loss=loss, lags=lags) for _ in range(7)]
    group.admit(world.names)
    for time in range(25):
        numbers, rows, targets = world.turn()
        scores = group.play(numbers, np.full(len(numbers), time), rows, targets)
        for number in np.unique(numbers):
            mine = numbers == number
            assert np.array_equal(
                scores[mine, 0], models[number].predict_then_learn(rows[mine].copy(), targets[mine])
            )
        if resume:  # by way of bytes, in two pieces that come back in another order
            halves = [world.names[4:], world.names[:4]]
            pieces = [
                (half, group.dumps(np.array([group.places[key] for key in half])))
                for half in halves
            ]
            group = settings.group()
            group.loads(pieces)
            numbered = np.array([group.places[key] for key in world.names])
            back = group.dumps(numbered)
            group = settings.group()
            group.loads([(world.names, back)])
            assert group.dumps() == back


UNCOMPILED = """
import numba, numpy as np
from spark.test_record import World, plan
from swordplay.estimators.linear_model import LinearModel
from swordplay.keyed.kernel import play_keys
assert numba.config.DISABLE_JIT and not hasattr(play_keys, "signatures")
world, group = World("squared", seed=4), plan(4, lags=2).group()
group.admit(world.names)
models = [LinearModel(4, lags=2) for _ in world.names]
for time in range(4):
    numbers, rows, targets = world.turn()
    scores = group.play(numbers, np.full(len(numbers), time), rows, targets)
    for number in np.unique(numbers):
        mine = numbers == number
        assert np.array_equal(scores[mine, 0], models[number].predict_then_learn(rows[mine].copy(), targets[mine]))
"""  # noqa: E501


def test_the_kernel_is_right_as_plain_python():
    path = os.pathsep.join(
        [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", UNCOMPILED],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_record_holds_fewer_numbers_than_a_checkpoint_of_the_model():
    """The sizes that the documentation states, at d = 10."""
    settings = plan(10)
    group, rng = settings.group(), np.random.default_rng(0)
    group.admit(["one"])
    assert len(Form(10, "squared").fresh) == 616
    young = len(group.dumps())
    rows = rng.normal(size=(100, 10))
    group.play(np.zeros(100, dtype=np.int64), np.arange(100), rows, rows[:, 0])
    grown = len(group.dumps())
    around = HEADER.size + 9  # the order, and whether it is young
    assert (young - around, grown - around) == (
        8 * (616 + 32 * 11),
        8 * 616,
    )
    model = LinearModel(10)
    model.predict_then_learn(rows, rows[:, 0])
    assert len(checkpoint.dumps(model.state(), kind="model")) > 2 * grown


def test_classes_have_a_model_each():
    rng, settings = np.random.default_rng(1), plan(3, "logistic", classes=4)
    rows, places = rng.normal(size=(300, 3)), rng.integers(0, 4, 300)
    rows[:, 0] += places
    group = settings.group()
    group.admit(["one"])
    scores = group.play(np.zeros(300, dtype=np.int64), np.arange(300), rows, places.astype(float))
    for k in range(4):
        expected = LinearModel(3, loss="logistic").predict_then_learn(
            rows, (places == k).astype(float)
        )
        assert np.array_equal(scores[:, k], expected)


def test_a_state_of_other_settings_or_a_damaged_one_is_refused():
    group = plan(4).group()
    group.admit(["one", "two"])
    data = group.dumps()
    for other in (
        plan(4, lags=1),
        plan(5),
        plan(4, "huber"),
        plan(4, "logistic", classes=2),
        plan(4, buckets=8),
    ):
        with pytest.raises(ValueError, match="other settings"):
            other.group().loads([(["one", "two"], data)])
    for bad in (data[:-1], data + b"\0", data[: HEADER.size + 3]):
        with pytest.raises(ValueError, match="damaged"):
            plan(4).group().loads([(["one", "two"], bad)])
    with pytest.raises(ValueError, match="damaged"):
        plan(4).group().loads([(["one"], data)])


@given(st.lists(st.text()))
def test_keys_come_back(keys):
    assert split(join(keys)) == keys
