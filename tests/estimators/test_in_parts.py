"""Rows that are learned some at a time with arrays for all of them: the same bits as one call
for each part.
"""

from __future__ import annotations

import functools
from itertools import pairwise

import numpy as np
import pytest

from swordplay.estimators.in_parts import InParts
from swordplay.estimators.model import LinearModel

OPTIONS = [
    {},
    {"loss": "huber"},
    {"curves": "auto"},
    {"curves": "auto", "lags": "auto"},
    {"curves": "auto", "lags": 0},
]


def rows(count=300, dim=4, seed=1):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(count, dim)) * [1.0, 1e3, 1e-3, 1.0]
    return table, table @ [1.0, 1e-3, 1e3, 0.0] + 5.0 + 0.1 * rng.normal(size=count)


def same(one, other):
    assert one.keys() == other.keys()
    return all(
        np.asarray(value).tobytes() == np.asarray(other[name]).tobytes()
        for name, value in one.items()
    )


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("edges", [[0, 300], [0, 1, 2, 17, 300], [*range(0, 300, 16), 300]])
def test_the_same_as_one_call_for_each_part(options, edges):
    table, targets = rows()
    one, other = LinearModel(4, **options), LinearModel(4, **options)
    said, plans, scaled = [], [], []

    def beside(scratch, _):
        plans.append(scratch.rounds[:, 3:5].copy())
        scaled.append(scratch.scaled)

    parts = InParts.of(other, table, targets)
    for first, stop in pairwise(edges):
        said.append(one.predict_then_learn(table[first:stop], targets[first:stop], beside=beside))
        parts.learn(first, stop)
        assert same(one.state(), other.state())
    assert parts.scores.tobytes() == np.concatenate(said).tobytes()
    assert parts.plan.tobytes() == np.concatenate(plans).tobytes()
    assert parts.scratch.scaled.tobytes() == np.concatenate(scaled).tobytes()


def test_whatever_is_not_usual_is_left_to_others():
    table, targets = rows()
    gap, unknown = table.copy(), targets.copy()
    gap[250, 2] = unknown[99] = np.nan
    assert InParts.of(LinearModel(4), table, targets) is not None
    assert InParts.of(LinearModel(4), gap, targets) is None
    assert InParts.of(LinearModel(4), table, unknown) is None
    assert InParts.of(LinearModel(4, standardize=False), table, targets) is None
    assert InParts.of(LinearModel(4, lags=2), table, targets) is None
    assert InParts.of(LinearModel(3, grows=True), table, targets) is None


def test_more_rows_than_a_call_takes_are_left_to_others():
    model = LinearModel(4)
    many = model.heads.at_once + 1
    assert InParts.of(model, np.zeros((many, 4)), np.zeros(many)) is None
    assert InParts.of(model, np.zeros((many - 1, 4)), np.zeros(many - 1)) is not None


def test_a_row_that_would_overflow_is_named(monkeypatch):
    """None that a table may hold does; a kernel that says so is believed."""
    table, targets = rows(40)
    model = LinearModel(4)
    parts = InParts.of(model, table, targets)
    parts.learn(0, 30)
    monkeypatch.setattr(type(model.heads), "learning", lambda *given: functools.partial(lambda: 3))
    with pytest.raises(ValueError, match=r"^row 33 .* The 33 row\(s\) before it are learned\.$"):
        parts.learn(30, 40)
