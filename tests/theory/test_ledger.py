"""Regret against comparators in the domain, and regret as a curve over path lengths."""

import math
from functools import partial
from itertools import islice

import numpy as np
import pytest

import swordplay as sp
from swordplay.theory.ledger import regret_curve
from tolerances import ROUNDING

WORLD = sp.streams.drift.jumps(400, dim=2, every=80, noise=0.1, seed=0)


BALL = sp.Ball(2)
STREAM = sp.LinearStream([[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]], [1.0, -2.0, 0.5])


def played(learner, stream=WORLD):
    return learner, sp.play(learner, stream)


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_certificate_lies_above_the_curve(engine):
    learner = sp.Sword(WORLD.domain)
    curve = sp.play(learner, WORLD, engine=engine).regret_curve(learner)
    assert (np.diff(curve.path_lengths) >= 0).all()
    assert (curve.regrets + curve.gaps <= curve.certificate).all()
    assert curve.bound is None
    assert curve.regrets[0] < curve.regrets[-1]  # perfect tracking is worth something here


def test_the_ends_are_static_and_worst_case_regret():
    learner, ledger = played(sp.OGD(WORLD.domain, 0.1))
    curve = ledger.regret_curve(learner, points=4)
    static = ledger.regret(sp.hindsight.best_fixed(WORLD, WORLD.domain))
    worst_case = ledger.regret(sp.hindsight.minimizers(WORLD, WORLD.domain))
    assert curve.regrets[0] == pytest.approx(static, rel=1e-6)
    assert curve.regrets[-1] == pytest.approx(worst_case, rel=1e-5)
    assert curve.certificate.tolist() == [learner.certificate(P) for P in curve.path_lengths]


def test_path_lengths_that_are_asked_for_and_a_theorem():
    D, G, T = WORLD.domain.diameter, WORLD.gradient_bound(WORLD.domain), len(WORLD)
    learner, ledger = played(sp.Ader(WORLD.domain, horizon=T, gradient_bound=G))
    theorem = partial(sp.bounds.ader, diameter=D, gradient_bound=G, horizon=T)
    curve = ledger.regret_curve(
        learner, path_lengths=[10, 0, 3], bound=lambda P, F: theorem(path_length=P)
    )
    assert curve.path_lengths.tolist() == [0.0, 3.0, 10.0]
    assert curve.bound.tolist() == [theorem(path_length=P) for P in (0.0, 3.0, 10.0)]
    assert (curve.regrets + curve.gaps <= curve.bound).all()
    exact = [
        ledger.total_loss - sp.hindsight.best_sequence(WORLD, WORLD.domain, path_length=P).loss
        for P in (0, 3, 10)
    ]
    assert (curve.regrets <= np.array(exact) + 1e-5).all()
    assert (np.array(exact) <= curve.regrets + curve.gaps + 1e-5).all()


def test_lists_and_streams_that_were_played_in_part():
    for stream in (WORLD, list(WORLD)):
        learner = sp.Sword(WORLD.domain)
        ledger = sp.play(learner, stream, max_rounds=100)
        curve = ledger.regret_curve(learner, points=2)
        part = list(islice(WORLD, 100))
        assert curve.regrets[0] == pytest.approx(
            ledger.regret(sp.hindsight.best_fixed(part, WORLD.domain)), rel=1e-6
        )


def test_weighted_losses_with_a_certificate_of_their_own():
    """What an estimator's model plays: Huber losses with thresholds and weights of their own,
    round by round.
    """
    rng = np.random.default_rng(0)
    losses = [
        sp.WeightedLoss(sp.HuberLoss(f.features, f.target, threshold), weight)
        for f, threshold, weight in zip(
            WORLD, rng.uniform(0.1, 1, 400), rng.uniform(0.5, 2, 400), strict=True
        )
    ]
    learner, ledger = played(sp.SwordAgeless(WORLD.domain, smoothness=30.0), losses)
    curve = regret_curve(ledger.total_loss, losses, WORLD.domain, learner.certificate, points=6)
    assert (curve.regrets + curve.gaps <= curve.certificate + ROUNDING).all()


def test_refusals():
    learner, ledger = played(sp.Sword(WORLD.domain))
    with pytest.raises(
        ValueError, match=r"learner has observed 0 round\(s\), but the ledger records 400"
    ):
        ledger.regret_curve(sp.Sword(WORLD.domain))
    spent = sp.play(other := sp.Sword(WORLD.domain), iter(WORLD))
    with pytest.raises(ValueError, match="the stream was an iterator and is spent"):
        spent.regret_curve(other)
    with pytest.raises(ValueError, match="path_length must be at least 0"):
        ledger.regret_curve(learner, path_lengths=[-1.0], points=2)


class TestComparatorsOutside:
    @pytest.mark.parametrize("engine", ["python", "compiled"])
    def test_are_refused_unless_asked_for(self, engine):
        ledger = sp.play(sp.Sword(BALL), STREAM, engine=engine)
        outside = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
        with pytest.raises(
            ValueError,
            match=r"the first is comparators\[1\], 1 outside.*anywhere=True",
        ):
            ledger.regret(outside)
        expected = ledger.total_loss - sp.comparator_loss(STREAM, outside)
        assert ledger.regret(outside, anywhere=True) == expected
        with pytest.raises(ValueError, match="must lie in the domain"):
            ledger.regret([0.0, 1.5])

    def test_rounding_is_forgiven_and_a_wrong_width_named(self):
        ledger = sp.play(sp.Sword(BALL), STREAM)
        assert math.isfinite(ledger.regret([1.0 + 1e-12, 0.0]))
        with pytest.raises(ValueError, match="2 coordinate"):
            ledger.regret([0.0, 0.0, 0.0])


def test_a_learner_without_experts_has_no_split():
    learner = sp.OGD(BALL, 0.1)
    ledger = sp.play(learner, STREAM)
    with pytest.raises(TypeError, match="learner must weigh experts, got OGD"):
        ledger.split(learner, np.zeros(2))
