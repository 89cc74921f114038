"""Workspaces: parts of one give the bits of one call for each part, and a row alone those too."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from swordplay.estimators.linear_model import LinearModel
from swordplay.estimators.workspace import WEIGHT_AND_THRESHOLD, Workspace

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
def test_parts_give_the_bits_of_one_call_for_each(options, edges):
    table, targets = rows()
    one, other = LinearModel(4, **options), LinearModel(4, **options)
    scores, plans, scaled = [], [], []

    def observer(workspace, _):
        plans.append(workspace.rounds[:, WEIGHT_AND_THRESHOLD].copy())
        scaled.append(workspace.scaled)

    whole = Workspace(other, table, targets)
    for first, stop in pairwise(edges):
        part = slice(first, stop)
        scores.append(one.predict_then_learn(table[part], targets[part], observer=observer))
        whole.part(first, stop).learn(first)
        assert same(one.state(), other.state())
    assert whole.mixed.tobytes() == np.concatenate(scores).tobytes()
    assert whole.rounds[:, WEIGHT_AND_THRESHOLD].tobytes() == np.concatenate(plans).tobytes()
    assert whole.scaled.tobytes() == np.concatenate(scaled).tobytes()


@pytest.mark.parametrize("options", [*OPTIONS, {"lags": 2}, {"standardize": False, "lags": 1}])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_rows_alone_give_the_bits_of_a_table(options, missing):
    table, targets = rows()
    table[np.random.default_rng(5).random(table.shape) < missing] = np.nan
    whole, single = LinearModel(4, **options), LinearModel(4, **options)
    wanted = whole.predict_then_learn(table, targets)
    found = []
    for t in range(len(table)):
        ahead = single.predict(table[t : t + 1])
        found.append(single.predict_then_learn(table[t : t + 1], targets[t : t + 1])[0])
        assert ahead[0] == pytest.approx(found[-1], rel=1e-9, abs=1e-9)
    assert np.array_equal(found, wanted)
    assert same(single.state(), whole.state())


def test_a_workspace_is_dropped_when_arrays_are_replaced():
    table, targets = rows(60)
    model = LinearModel(4, curves="auto", lags="auto")
    model.predict_then_learn(table[:50], targets[:50])
    kept = model.workspace
    assert model.workspace is kept
    for change in (
        lambda: model.load_state(model.state()),
        model.add_head,
        lambda: model.widen(5),
        model.drop_second_order,
    ):
        change()
        assert model.workspace is not kept
        kept = model.workspace


def test_a_row_that_would_overflow_is_named(monkeypatch):
    """No row of a table does; a kernel that says so is believed, and the others are learned."""
    from swordplay.engine import row_rounds

    table, targets = rows(40)
    model, other = (LinearModel(4, curves="auto", lags=0) for _ in range(2))
    whole = Workspace(model, table, targets)
    whole.part(0, 30).learn(0)
    other.predict_then_learn(table[:30], targets[:30])
    learn = row_rounds.learn_rows
    monkeypatch.setattr(row_rounds, "learn_rows", lambda *given: min(learn(*given), 3))
    with pytest.raises(ValueError, match=r"^row 33 .* The 33 row\(s\) before it are learned\.$"):
        whole.part(30, 40).learn(30)
    monkeypatch.undo()
    other.predict_then_learn(table[30:33], targets[30:33])
    for name in ("coefficients", "counters", "recent"):
        assert np.array_equal(model.second_order.views[name], other.second_order.views[name]), name
