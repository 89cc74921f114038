"""Rows that were asked earlier: the meta is judged by what was said then, and everything else is
a round like any other.
"""

import numpy as np
import pytest

from swordplay.engine.layout import EXPERT, SCALAR, SCRATCH, SETTING, VECTOR, declarations
from swordplay.estimators.linear_model import LinearModel
from tolerances import ROUNDING

EXPERTS = 28


def asked_earlier(ages, scores):
    """What the kernel takes: the age of each row, then its scores of shape ``(1, T, 1 + N)``."""
    return np.concatenate([np.reshape(ages, (1, -1, 1)), scores], axis=2)


def learn_late(model, rows, targets, late_scores):
    """Scores of rows before they were learned."""
    parts = model.learn(rows, targets, late_scores=late_scores)
    return np.concatenate([part.mixed for part in parts])


def taught(loss="squared", rows=60, lags=0):
    rng = np.random.default_rng(4)
    heads = LinearModel(3, loss=loss, lags=lags)
    X = rng.normal(size=(rows, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=rows) + 7.0
    heads.predict_then_learn(X, y if loss != "logistic" else (y > 7.0).astype(float))
    return heads, rng.normal(size=3)


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic"])
@pytest.mark.parametrize("lags", [0, 2])
def test_the_decision_is_the_weighted_mean_of_the_experts(loss, lags):
    heads, row = taught(loss, lags=lags)
    said = heads.expert_scores(row[None])
    assert said.shape == (1, 1, 1 + EXPERTS)
    assert said[0, 0, 0] == pytest.approx(heads.predict(row[None])[0], rel=ROUNDING)
    assert heads.head.weights @ said[0, 0, 1:] == pytest.approx(said[0, 0, 0], rel=ROUNDING)


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic"])
def test_said_just_now_it_is_a_round_like_any_other(loss):
    (late, row), (plain, _) = taught(loss), taught(loss)
    # As if a moment ago: by how much losses are late counts for the rate, and nearly nothing here.
    asked = asked_earlier([1e-12], late.expert_scores(row[None]).transpose(1, 0, 2))
    target = np.array([1.0])
    assert learn_late(late, row[None], target, asked) == pytest.approx(
        plain.predict_then_learn(row[None], target), rel=ROUNDING
    )
    kept = {
        name: [k for k, said in enumerate(declarations(indices).values()) if said != SCRATCH]
        for name, indices in (("experts", EXPERT), ("vectors", VECTOR), ("scalars", SCALAR))
    }
    for name, one in late.heads.arrays._asdict().items():
        other, places = getattr(plain.heads.arrays, name), kept.get(name, slice(None))
        assert np.allclose(one[:, places], other[:, places], rtol=1e-9, atol=1e-12), name


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_meta_adds_up_what_was_said_and_nothing_else_changes(loss):
    (late, row), (plain, _) = taught(loss), taught(loss)
    said = np.random.default_rng(1).normal(size=1 + EXPERTS) + (7.0 if loss == "squared" else 0.0)
    target = 8.0 if loss == "squared" else 1.0
    before = {name: array.copy() for name, array in late.heads.arrays._asdict().items()}
    center = late.target.center if loss == "squared" else 0.0
    learn_late(late, row[None], np.array([target]), asked_earlier([3.0], said[None, None]))
    plain.predict_then_learn(row[None], np.array([target]))
    numbers, live, config = (
        getattr(late.heads.arrays, name)[0] for name in ("experts", "scalars", "settings")
    )
    off = (
        said[0] - center - (target - center)
        if loss == "squared"
        else 1 / (1 + np.exp(-said[0])) - 1.0
    )
    told = live[SCALAR.loss_weight] * off  # w times the slope at what the decision said
    retained = config[SETTING.decay] * (
        before["experts"][0][EXPERT.cumulative] - before["scalars"][0][SCALAR.least_cumulative]
    )
    wanted = retained[:EXPERTS] + told * (said[1:] - center)
    assert numbers[EXPERT.cumulative, :EXPERTS] == pytest.approx(wanted, rel=1e-9)
    assert live[SCALAR.rounds_late] == 0.0
    wrong = told * (said[1:] - center) - before["experts"][0][EXPERT.optimism, :EXPERTS]
    total = config[SETTING.decay] * before["scalars"][0][SCALAR.rate_total] + 0.25 * (
        wrong.max() - wrong.min()
    ) ** 2 * (1 + 2 * 3)
    assert live[SCALAR.rate_total] == pytest.approx(total, rel=1e-9)
    other = plain.heads.arrays
    assert np.array_equal(
        late.heads.arrays.coordinates, other.coordinates
    )  # the experts take the same steps
    for name in (
        "lookahead_scale",
        "lookahead_step",
        "scale",
        "pending_update",
        "squared_norm",
        "linear_regret",
        "step_cost",
    ):
        place = getattr(EXPERT, name)
        assert np.array_equal(numbers[place], other.experts[0][place]), name
    assert not np.array_equal(numbers[EXPERT.weight], other.experts[0][EXPERT.weight])


def test_rows_that_were_asked_just_now_are_rows_like_any_other():
    late, plain = (taught()[0] for _ in range(2))
    X, y = np.random.default_rng(2).normal(size=(5, 3)), np.arange(5.0)
    asked = asked_earlier(np.zeros(5), np.ones((1, 5, 1 + EXPERTS)))
    assert np.array_equal(learn_late(late, X, y, asked), plain.predict_then_learn(X, y))
    for one, other in zip(late.shared_state().values(), plain.shared_state().values(), strict=True):
        assert np.array_equal(one, other, equal_nan=True)


def test_many_rows_are_one_after_the_other():
    together, single = (taught()[0] for _ in range(2))
    rng = np.random.default_rng(3)
    X, y, said = rng.normal(size=(9, 3)), rng.normal(size=9), rng.normal(size=(1, 9, 1 + EXPERTS))
    late = np.array([1.0, 2.0, 5.0, 1.0, 0.0, 7.0, 1.0, 2.0, 3.0])
    asked = asked_earlier(late, said)
    learn_late(together, X, y, asked)
    for k in range(9):
        learn_late(single, X[k : k + 1], y[k : k + 1], asked[:, k : k + 1])
    assert np.array_equal(together.head.weights, single.head.weights)


def test_a_row_that_overflows_leaves_no_trace():
    model = LinearModel(2, standardize=False)
    model.predict_then_learn(np.ones((3, 2)), np.arange(3.0))
    asked = asked_earlier([1.0], np.zeros((1, 1, 1 + EXPERTS)))
    before = model.state()
    with pytest.raises(ValueError, match="would overflow"):
        learn_late(model, np.full((1, 2), 1e80), np.array([1e50]), asked)
    assert model.heads.arrays.scalars[0][SCALAR.rounds_late] == 0.0
    after = model.state()
    assert all(
        np.array_equal(after[name], before[name]) for name in before if name.startswith("engine.")
    )
