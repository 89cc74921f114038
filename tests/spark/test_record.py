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
from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.class_probabilities import probabilities_of
from swordplay.estimators.linear_model import LinearModel
from swordplay.keyed.key_bytes import HEADER
from swordplay.keyed.record_layout import KeyModel, RecordLayout
from swordplay.spark.pages import keys_to_bytes, split_keys
from swordplay.spark.plan import QueryPlan

pytestmark = pytest.mark.xdist_group("spark")  # one process compiles, and the others need not

KINDS = [("squared", 0), ("huber", "auto"), ("squared", 3), ("logistic", "auto"), ("logistic", 2)]
CHEAP = {"lags": 0, "curves": None}


def plan(dim, loss="squared", classes=0, lags="auto", buckets=4, curves="auto"):
    names = tuple(f"f{j}" for j in range(dim))
    return QueryPlan(names, loss, classes, lags, buckets, curves=curves)


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
@pytest.mark.parametrize("curves", [None, "auto"])
@pytest.mark.parametrize("resume", [False, True])
def test_keys_in_a_table_predict_what_each_predicts_alone(loss, lags, curves, resume):
    lags = 0 if curves is None and lags == "auto" else lags
    world, classes = World(loss, seed=3), 2 * (loss == "logistic")
    settings = plan(4, loss, classes=classes, lags=lags, curves=curves)
    models = [LinearModel(4, loss=loss, lags=lags, curves=curves) for _ in range(7)]
    table = settings.table()
    table.add(world.names)
    for time in range(25):
        numbers, rows, targets = world.turn()
        answers = table.learn(numbers, np.full(len(numbers), time), rows, targets)
        for number in np.unique(numbers):
            mine = numbers == number
            expected = models[number].predict_then_learn(rows[mine].copy(), targets[mine])
            if classes:
                expected = probabilities_of(expected[:, None], 2)[:, 1]
            assert np.array_equal(answers[mine, -1], expected)
        if resume:  # by way of bytes, in two pieces that come back in another order
            halves = [world.names[4:], world.names[:4]]
            pieces = [
                (half, table.to_bytes([table.numbers[key] for key in half])) for half in halves
            ]
            table = settings.table()
            table.from_bytes(pieces)
            back = table.to_bytes([table.numbers[key] for key in world.names])
            table = settings.table()
            table.from_bytes([(world.names, back)])
            assert table.to_bytes() == back


UNCOMPILED = """
import numba, numpy as np
from spark.test_record import World, plan
from swordplay.estimators.linear_model import LinearModel
from swordplay.keyed.kernels import learn_keys
assert numba.config.DISABLE_JIT and not hasattr(learn_keys, "signatures")
world, table = World("squared", seed=4), plan(4, lags="auto").table()
table.add(world.names)
models = [LinearModel(4, lags="auto", curves="auto") for _ in world.names]
for time in range(4):
    numbers, rows, targets = world.turn()
    scores = table.learn(numbers, np.full(len(numbers), time), rows, targets)
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


SIZES = [(5, 456, 1565), (10, 616, 2060), (20, 936, 3350)]
"""Columns, and the numbers of a record in the cheap form and in the full one."""


def test_a_record_holds_fewer_numbers_than_a_checkpoint_of_the_model():
    """The sizes that the documentation states."""
    for dim, cheap, full in SIZES:
        assert RecordLayout(KeyModel(dim, "squared", **CHEAP)).size == cheap
        assert RecordLayout(KeyModel(dim, "squared")).size == full
    table, rng = plan(10, **CHEAP).table(), np.random.default_rng(0)
    table.add(["one"])
    rows = rng.normal(size=(100, 10))
    zeros = np.zeros(100, dtype=np.int64)
    table.learn(zeros[:20], np.arange(20), rows[:20], rows[:20, 0])
    young = len(table.to_bytes())
    table.learn(zeros[20:], np.arange(20, 100), rows[20:], rows[20:, 0])
    grown = len(table.to_bytes())
    around = HEADER.size + 16  # the order, and the number of first rows
    assert (young - around, grown - around) == (8 * (616 + 20 * 11), 8 * 616)
    model = LinearModel(10)
    model.predict_then_learn(rows, rows[:, 0])
    assert len(checkpoint.dumps(model.state(), kind="model")) > 2 * grown


@pytest.mark.parametrize("settings", [CHEAP, {}])
def test_classes_have_a_model_each(settings):
    rng, of_table = np.random.default_rng(1), plan(3, "logistic", classes=4, **settings)
    rows, places = rng.normal(size=(300, 3)), rng.integers(0, 4, 300)
    rows[:, 0] += places
    table = of_table.table()
    table.add(["one"])
    zeros = np.zeros(300, dtype=np.int64)
    found = table.learn(zeros, np.arange(300), rows, places.astype(float))
    settings = settings or {"lags": "auto", "curves": "auto"}
    model = ClassModel(lambda: LinearModel(3, loss="logistic", **settings), 4)
    expected = model.predict_then_learn(rows, places)
    np.testing.assert_allclose(found, expected, 0.0, 1e-12)


def test_a_state_of_other_settings_or_a_damaged_one_is_refused():
    table = plan(4).table()
    table.add(["one", "two"])
    data = table.to_bytes()
    for other in (
        plan(4, lags=1),
        plan(4, curves=None),
        plan(5),
        plan(4, "huber"),
        plan(4, "logistic", classes=2),
        plan(4, buckets=8),
    ):
        with pytest.raises(ValueError, match="other settings"):
            other.table().from_bytes([(["one", "two"], data)])
    for bad in (data[:-1], data + b"\0", data[: HEADER.size + 3]):
        with pytest.raises(ValueError, match="damaged"):
            plan(4).table().from_bytes([(["one", "two"], bad)])
    with pytest.raises(ValueError, match="damaged"):
        plan(4).table().from_bytes([(["one"], data)])


@given(st.lists(st.text()))
def test_keys_come_back(keys):
    assert split_keys(keys_to_bytes(keys) + b"rest") == (keys, b"rest")
