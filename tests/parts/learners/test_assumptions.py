"""What learners were told beside what they see, on both engines.

Bounds that refuse to speak where it does not hold.
"""

import math

import numpy as np
import pytest

import swordplay as sp
from swordplay.parts.learners.assumptions import (
    Assumptions,
    DeclaredConstants,
    LossExtremes,
    split_extremes,
)
from tolerances import ROUNDING

BALL = sp.Ball(2)
STREAM = sp.LinearStream([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]], [1.0, -2.0, 0.5])
ENGINES = ["python", "compiled"]


def best(horizon=3, gradient_bound=30.0, smoothness=25.0):
    return sp.SwordBest(BALL, horizon=horizon, gradient_bound=gradient_bound, smoothness=smoothness)


def test_constants_that_hold():
    learner = best()
    sp.play(learner, STREAM, engine="python")
    assert learner.assumptions.hold
    assert learner.assumptions.broken == learner.assumptions.unknown == ()
    assert repr(learner.assumptions) == "Assumptions(hold, observed 3 of 3 rounds)"


@pytest.mark.parametrize("engine", ENGINES)
def test_the_extremes_are_those_of_the_rounds(engine):
    learner = sp.OGD(BALL, 0.01)
    ledger = sp.play(learner, STREAM, engine=engine)
    gradients = [
        np.linalg.norm(f.gradient(x)) for f, x in zip(STREAM, ledger.decisions, strict=True)
    ]
    seen = learner.assumptions.seen
    assert seen.gradient_norm == pytest.approx(max(gradients), rel=ROUNDING)
    assert seen == LossExtremes(3, seen.gradient_norm, 25.0, ledger.losses.min())


TOLD = {"horizon": 20, "gradient_bound": 30.0, "smoothness": 25.0}
EVERYBODY = {
    "OGD": lambda: sp.OGD(BALL, 0.1),
    "OEGD": lambda: sp.OEGD(BALL, 0.01),
    "Ader": lambda: sp.Ader(BALL, horizon=20, gradient_bound=30.0),
    "SwordVar": lambda: sp.SwordVar(BALL, **TOLD),
    "SwordSmall": lambda: sp.SwordSmall(BALL, **TOLD),
    "SwordBest": lambda: sp.SwordBest(BALL, **TOLD),
    "SwordPlusPlus": lambda: sp.SwordPlusPlus(BALL, **TOLD),
    "Sword": lambda: sp.Sword(BALL),
    "SwordAgeless": lambda: sp.SwordAgeless(BALL, smoothness=25.0),
    "on a simplex": lambda: sp.SwordBest(sp.Simplex(2), **TOLD),
}


@pytest.mark.parametrize("make", EVERYBODY.values(), ids=EVERYBODY)
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_engines_see_the_same(loss, make):
    """Of gradients the longest of all that a round asks for: at the decision, at the experts,
    and where they are replayed.
    """
    rng = np.random.default_rng(0)
    targets = rng.integers(0, 2, 20) if loss == "logistic" else 3 * rng.normal(size=20)
    stream = sp.LinearStream(rng.normal(size=(20, 2)), targets, loss, threshold=0.7)
    both = [make() for _ in ENGINES]
    for learner, engine in zip(both, ENGINES, strict=True):
        sp.play(learner, stream, engine=engine)
    np.testing.assert_allclose(both[0].assumptions.seen, both[1].assumptions.seen, rtol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gradient_that_is_replayed_counts(engine):
    """By hand: from 0 a step of 3 leads to 3, where the gradient is 2.

    All others are at most 1, also the last.
    """
    stream = sp.LinearStream([[1.0], [0.1], [0.1]], [1.0, -0.3, 0.0])
    learner = sp.OEGD(sp.Ball(1, 10.0), 3.0)
    sp.play(learner, stream, engine=engine)
    assert learner.assumptions.seen.gradient_norm == pytest.approx(2.0, rel=ROUNDING)


@pytest.mark.parametrize("engine", ["auto", *ENGINES])
def test_an_expert_that_meets_a_longer_gradient_breaks_the_bound(engine):
    """The decisions themselves meet none above 1.5: both engines see those of the experts, and
    the bound is refused.
    """
    stream = sp.LinearStream(np.ones((50, 1)), np.where(np.arange(50) % 2, 1.0, -1.0))
    learner = sp.SwordBest(sp.Ball(1), horizon=50, gradient_bound=1.5, smoothness=1.0)
    ledger = sp.play(learner, stream, engine=engine)
    assert max(abs(x[0] - f.target) for x, f in zip(ledger.decisions, stream, strict=True)) < 1.5
    assert learner.assumptions.seen.gradient_norm == pytest.approx(1.75, abs=0.01)
    assert learner.assumptions.broken


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"horizon": 2}, "horizon=2 was declared, but 3 rounds were played"),
        ({"gradient_bound": 4.0}, "gradient_bound=4 was declared, but a gradient of norm "),
        (
            {"smoothness": 24.0},
            "smoothness=24 was declared, but a loss of smoothness 25 was observed",
        ),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_constants_that_do_not_hold_are_named(changes, words, engine):
    learner = best(**changes)
    ledger = sp.play(learner, STREAM, engine=engine)
    assert not learner.assumptions.hold
    assert any(words in sentence for sentence in learner.assumptions.broken)
    given = {
        "diameter": 2.0,
        "gradient_bound": 30.0,
        "smoothness": 25.0,
        "path_length": 0.0,
        "experts": 4,
    }
    bounds = {
        sp.bounds.sword_var: {"variation": 1.0},
        sp.bounds.sword_small: {"comparator_loss": 1.0},
        sp.bounds.sword_best: {"variation": 1.0, "comparator_loss": 1.0},
    }
    for bound, more in bounds.items():
        with pytest.raises(
            ValueError, match=rf"bounds.{bound.__name__} does not hold: .*{next(iter(changes))}="
        ):
            bound(**given, **more, assumptions=learner.assumptions)
    with pytest.raises(ValueError, match=r"the bound does not hold.*learner.certificate"):
        ledger.regret_curve(learner, bound=lambda P, F: 0.0)


def test_ader_and_negative_losses():
    ader = sp.Ader(BALL, horizon=1, gradient_bound=1.0)
    sp.play(ader, STREAM, engine="python")
    with pytest.raises(ValueError, match=r"bounds\.ader does not hold"):
        sp.bounds.ader(
            diameter=2.0,
            gradient_bound=1.0,
            path_length=0.0,
            horizon=1,
            assumptions=ader.assumptions,
        )
    small = sp.SwordSmall(BALL, horizon=5, gradient_bound=9.0, smoothness=1.0)
    small.observe(sp.QuadraticLoss(np.eye(2), np.zeros(2), constant=-1.0))
    assert small.assumptions.broken == (
        "losses were declared nonnegative, but a loss of -1 was observed",
    )
    var = sp.SwordVar(BALL, horizon=5, gradient_bound=9.0, smoothness=1.0)
    var.observe(sp.QuadraticLoss(np.eye(2), np.zeros(2), constant=-1.0))
    assert var.assumptions.hold


def test_what_nobody_can_tell():
    learner = best()
    learner.observe(sp.FunctionLoss(lambda x: 0.5 * (x**2).sum(-1), lambda x: x))
    assert learner.assumptions.hold
    assert learner.assumptions.unknown == ("the smoothness of a loss is unknown",)
    unwatched = Assumptions(DeclaredConstants(), LossExtremes(), rounds=7)
    assert unwatched.unknown == ("the losses of 7 of 7 rounds were not observed",)


def test_a_refused_round_is_not_seen():
    learner = best()
    with pytest.raises(ValueError, match="finite"):
        learner.observe(sp.FunctionLoss(lambda x: x.sum(-1), lambda x: x * np.nan))
    assert learner.assumptions.seen == LossExtremes()


def test_files_keep_what_was_seen_and_damaged_ones_are_refused(tmp_path):
    learner, other = best(gradient_bound=4.0), best(gradient_bound=4.0)
    sp.play(learner, STREAM, engine="python")
    learner.save(tmp_path / "it")
    other.load(tmp_path / "it")
    assert other.assumptions.seen == learner.assumptions.seen
    entries = learner.assumptions.seen.entries()
    assert split_extremes(entries | {"rounds": 3}) == ({"rounds": 3}, learner.assumptions.seen)
    for broken in (
        {"seen.rounds": -1},
        {"seen.rounds": 0.5},
        {"seen.gradient_norm": -1.0},
        {"seen.smoothness": math.nan},
    ):
        with pytest.raises(ValueError, match=next(iter(broken))):
            split_extremes(entries | broken)
    with pytest.raises(ValueError, match="must hold all of"):
        split_extremes({"seen.rounds": 3})
    many = {
        "seen.rounds": 3,
        "seen.gradient_norm": 1.0,
        "seen.smoothness": [1.0, 2.0],
        "seen.lowest": 0.0,
    }
    with pytest.raises(
        ValueError, match=r"state\['seen.smoothness'\] must be one number, got \[1.0, 2.0\]"
    ):
        split_extremes(many)


def test_a_state_without_it_starts_watching_anew():
    learner, other = best(), best()
    sp.play(learner, STREAM, engine="python")
    other.load_state(learner.state())
    assert other.assumptions.unknown == ("the losses of 3 of 3 rounds were not observed",)
