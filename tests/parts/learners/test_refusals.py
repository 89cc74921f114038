"""Bad settings and bad losses are refused in words, before anything changes."""

import math

import numpy as np
import pytest

import swordplay as sp

BALL = sp.Ball(2)
GOOD = {"horizon": 10, "gradient_bound": 1.0, "smoothness": 1.0}
TUNED = [sp.SwordVar, sp.SwordSmall, sp.SwordBest]


@pytest.mark.parametrize("learner", TUNED)
@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("horizon", 0, "horizon must be at least 1, got 0"),
        ("horizon", -5, "horizon must be at least 1, got -5"),
        ("horizon", 2.5, "horizon must be a whole number, got 2.5"),
        ("horizon", None, "horizon must be a whole number, got None"),
        ("gradient_bound", 0.0, "gradient_bound must be greater than 0, got 0.0"),
        ("gradient_bound", math.nan, "gradient_bound must be finite, got nan"),
        ("gradient_bound", "1", "gradient_bound must be a real number, got '1'"),
        ("smoothness", -1.0, "smoothness must be greater than 0, got -1.0"),
        ("smoothness", math.inf, "smoothness must be finite, got inf"),
        ("learning_rate", 0.1, "learning_rate must be a rate"),
        ("learning_rate", 0.0, "learning_rate must be a rate"),
    ],
)
def test_bad_constants_of_a_sword(learner, name, value, message):
    with pytest.raises((ValueError, TypeError), match=message):
        learner(BALL, **{**GOOD, name: value})


@pytest.mark.parametrize("pool", [[], [0.0], [-0.1, 0.1], [math.nan], [math.inf], [[0.1]], ["a"]])
@pytest.mark.parametrize(
    ("learner", "name"),
    [
        (sp.SwordVar, "pool"),
        (sp.SwordSmall, "pool"),
        (sp.SwordBest, "variation_pool"),
        (sp.SwordBest, "small_loss_pool"),
    ],
)
def test_bad_pools(learner, name, pool):
    with pytest.raises((ValueError, TypeError), match=f"{name} must"):
        learner(BALL, **GOOD, **{name: pool})


@pytest.mark.parametrize("rate", [0.0, -2.0, math.nan, "2"])
def test_bad_optimism_rates(rate):
    with pytest.raises((ValueError, TypeError), match="optimism_rate must"):
        sp.SwordBest(BALL, **GOOD, optimism_rate=rate)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("horizon", 0, "horizon must be at least 1, got 0"),
        ("gradient_bound", 0.0, "gradient_bound must be greater than 0"),
        ("pool", [0.0], "pool must be greater than 0"),
        ("learning_rate", 1.0, "learning_rate must be a rate"),
    ],
)
def test_bad_constants_of_ader(name, value, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sp.Ader(BALL, **{"horizon": 10, "gradient_bound": 1.0, name: value})


@pytest.mark.parametrize("learner", [sp.OGD, sp.OEGD])
@pytest.mark.parametrize(
    ("step_size", "message"),
    [
        (0.0, "greater than 0, got 0.0"),
        (-1.0, "greater than 0"),
        (math.inf, "finite, got inf"),
        ([0.1], "a real number"),
    ],
)
def test_bad_step_sizes(learner, step_size, message):
    with pytest.raises((ValueError, TypeError), match=f"step_size must be {message}"):
        learner(BALL, step_size)


@pytest.mark.parametrize(
    "make",
    [
        lambda domain: sp.OGD(domain, 0.1),
        lambda domain: sp.OEGD(domain, 0.1),
        lambda domain: sp.Ader(domain, horizon=10, gradient_bound=1.0),
        lambda domain: sp.SwordVar(domain, **GOOD),
        lambda domain: sp.SwordSmall(domain, **GOOD),
        lambda domain: sp.SwordBest(domain, **GOOD),
        sp.Sword,
    ],
)
@pytest.mark.parametrize("domain", [2, None, "ball", np.zeros(2), sp.Ball])
def test_what_is_not_a_domain(make, domain):
    with pytest.raises(TypeError, match="domain must be a domain such as"):
        make(domain)


def learners():
    makes = [
        lambda: sp.OGD(BALL, 0.1),
        lambda: sp.OEGD(BALL, 0.1),
        lambda: sp.Ader(BALL, horizon=10, gradient_bound=1.0),
        lambda: sp.SwordVar(BALL, **GOOD),
        lambda: sp.SwordSmall(BALL, **GOOD),
        lambda: sp.SwordBest(BALL, **GOOD),
        lambda: sp.Sword(BALL),
    ]
    return pytest.mark.parametrize(
        "make", makes, ids=["OGD", "OEGD", "Ader", "SwordVar", "SwordSmall", "SwordBest", "Sword"]
    )


def started(make):
    learner = make()
    for target in (0.5, -0.3, 0.2):
        learner.observe(sp.SquaredLoss([1.0, 0.4], target))
    return learner


class OnlyGradient:
    """A loss of a stranger who does not check his answers."""

    smoothness = None

    def __init__(self, answer):
        self.answer = answer

    def value(self, points):
        return np.zeros(points.shape[:-1])

    def gradient(self, points):
        return self.answer(points)


BAD = {
    "NaN": (
        OnlyGradient(lambda x: np.full(x.shape, np.nan)),
        "loss.gradient's answer must be finite, got nan",
    ),
    "infinity": (
        OnlyGradient(lambda x: np.full(x.shape, -np.inf)),
        "loss.gradient's answer must be finite, got -inf",
    ),
    "one number": (
        OnlyGradient(lambda x: 1.0),
        r"loss.gradient returned shape \(\) for points of shape",
    ),
    "too wide": (
        OnlyGradient(lambda x: np.zeros((*x.shape[:-1], 3))),
        r"loss.gradient returned shape \(.*3",
    ),
    "another dimension": (
        sp.SquaredLoss([1.0, 1.0, 1.0], 0.0),
        r"points must have shape \(..., 3\)",
    ),
    "text": (OnlyGradient(lambda x: "uphill"), "loss.gradient"),
    "too large": (OnlyGradient(lambda x: np.full(x.shape, 1e200)), "loss.gradient"),
    "not a loss": (0.5, "loss must have value, gradient and smoothness"),
    "a function": (lambda x: x, "loss must have value, gradient and smoothness"),
    "the class": (sp.Ball(2), "loss must have value, gradient and smoothness"),
}


@learners()
@pytest.mark.parametrize(("loss", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_loss_leaves_no_trace(make, loss, message):
    learner, untouched = started(make), started(make)
    with pytest.raises((ValueError, TypeError), match=message):
        learner.observe(loss)
    assert learner.rounds == 3
    assert learner.decision.tobytes() == untouched.decision.tobytes()
    before, after = untouched.state(), learner.state()
    assert before.keys() == after.keys()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@learners()
def test_nothing_a_learner_shows_can_be_written_into(make):
    learner = started(make)
    shown = [learner.decision, learner.step_sizes]
    if isinstance(learner, sp.Sword | sp.SwordBest | sp.SwordVar | sp.SwordSmall | sp.Ader):
        shown += [learner.weights, learner.points]
    for values in shown:
        with pytest.raises(ValueError, match="read-only"):
            values[...] = 0.0


@learners()
@pytest.mark.parametrize("path_length", [-1.0, math.nan, math.inf, "2"])
def test_bad_path_lengths(make, path_length):
    with pytest.raises((ValueError, TypeError), match="path_length must"):
        make().certificate(path_length)
