"""The pinball loss in the engine: the readable learners' numbers, quantiles that are found, and
a certificate that holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import swordplay as sp
from engine.duels import gap
from swordplay.compile import uncompiled
from swordplay.engine import scalar_functions
from swordplay.engine.layout import PINBALL
from swordplay.theory import hindsight
from tolerances import DRIVEN, LAST_BIT, ROUNDING, TWIN

LEARNERS: dict[str, Callable[[Any, float], Any]] = {
    "OGD": lambda domain, G: sp.OGD(domain, 0.05),
    "Ader": lambda domain, G: sp.Ader(domain, horizon=200, gradient_bound=G),
    "Sword": lambda domain, G: sp.Sword(domain),
}


def world(
    domain: Any, level: float, rounds: int = 120, seed: int = 0, *, sparse: bool = False
) -> sp.LinearStream:
    """Targets whose quantiles walk, with skewed noise."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(rounds, domain.dim)) * (
        rng.random(size=(rounds, domain.dim)) < 0.5 if sparse else 1.0
    )
    planted = domain.center + np.cumsum(
        rng.normal(size=(rounds, domain.dim)), axis=0
    ) * 0.3 / np.sqrt(rounds)
    targets = np.einsum("ij,ij->i", rows, planted) + 0.3 * (rng.exponential(size=rounds) - 1.0)
    return sp.LinearStream(
        scipy.sparse.csr_matrix(rows) if sparse else rows, targets, "pinball", level=level
    )


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_value_and_slope_are_those_of_the_loss(level: float) -> None:
    for prediction in (-3.0, 0.0, 0.25, np.nextafter(0.25, 1.0), 7.0):
        loss = sp.PinballLoss([1.0], 0.25, level)
        value = uncompiled(scalar_functions.loss_value)(PINBALL, level, prediction, 0.25)
        assert abs(value - loss.value([prediction])) <= ROUNDING * max(1.0, abs(value))
        assert (
            uncompiled(scalar_functions.loss_value_in_loop)(PINBALL, level, prediction, 0.25)
            == value
        )  # by which a certificate goes
        assert uncompiled(scalar_functions.loss_slope)(
            PINBALL, level, prediction, 0.25
        ) == loss.slope(np.array(prediction))


def test_by_hand() -> None:
    """Level 0.9, target 2, prediction 0: the loss is 0.9 * 2; one step of 0.5 goes 0.45 up."""
    learner = sp.OGD(sp.Ball(1, radius=5.0), 0.5)
    model = sp.engine.online(learner, "pinball", level=0.9)
    assert model.learn([1.0], 2.0) == pytest.approx(1.8, rel=LAST_BIT * 4)
    assert model.predict([1.0]) == pytest.approx(0.45, rel=LAST_BIT * 4)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("level", [0.1, 0.8])
@pytest.mark.parametrize(
    ("domain", "sparse"),
    [
        (sp.Ball(4), False),
        (sp.Ball(3, radius=0.3, center=[1.0, 0.0, -1.0]), False),
        (sp.Ball(5), True),
        (sp.Simplex(3), False),
    ],
    ids=["ball", "elsewhere", "sparse", "simplex"],
)
def test_engine_and_readable_learner_agree(
    learner: str, level: float, domain: Any, sparse: bool
) -> None:
    stream = world(domain, level, sparse=sparse)
    twins = [LEARNERS[learner](domain, stream.gradient_bound(domain)) for _ in range(2)]
    ours, theirs = (
        sp.play(one, stream, engine=engine, keep=("losses", "decisions"))
        for one, engine in zip(twins, ("compiled", "python"), strict=True)
    )
    assert gap(ours.losses, theirs.losses) <= TWIN
    assert gap(ours.decisions, theirs.decisions) <= TWIN
    assert gap(twins[0].certificate(1.0), twins[1].certificate(1.0)) <= TWIN
    seen, other = (one.assumptions.seen for one in twins)
    assert seen.gradient_norm <= other.gradient_norm * (
        1 + ROUNDING
    )  # the readable one also asks where its experts stand
    assert seen.smoothness == other.smoothness == np.inf


def test_row_by_row_and_in_slices() -> None:
    stream = world(sp.Ball(3), 0.8)
    whole, single = sp.Sword(sp.Ball(3)), sp.Sword(sp.Ball(3))
    for part in (stream[:50], stream[50:]):
        assert part.level == 0.8
        sp.play(whole, part, engine="compiled")
    model = sp.engine.online(single, "pinball", level=0.8)
    for loss in stream:
        model.learn(loss.features, loss.target)
    assert gap(single.decision, whole.decision) <= DRIVEN


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_it_finds_the_quantile(level: float) -> None:
    """Of targets that are uniform between -1 and 1 the quantile is 2 level - 1."""
    targets = np.random.default_rng(5).uniform(-1.0, 1.0, size=20_000)
    learner = sp.Sword(sp.Ball(1))
    sp.play(
        learner,
        sp.LinearStream(np.ones((20_000, 1)), targets, "pinball", level=level),
        engine="compiled",
    )
    assert float(learner.decision[0]) == pytest.approx(2 * level - 1, abs=0.05)


def best_moving_quantile(targets: np.ndarray, level: float, penalty: float) -> tuple[float, float]:
    """Loss and path length of the best sequence in [-1, 1] where a unit of path costs the penalty:
    a linear program.

    Variables: u_t, what it falls short by, what it exceeds by, and how far it moves up and down
    after each round.
    """
    T = len(targets)
    eye, moves = scipy.sparse.identity(T), scipy.sparse.identity(T - 1)
    none, still = scipy.sparse.csr_matrix((T - 1, T)), scipy.sparse.csr_matrix((T, T - 1))
    steps = scipy.sparse.csr_matrix(np.diff(np.eye(T), axis=0))
    rows = scipy.sparse.bmat(
        [[eye, eye, -eye, still, still], [steps, none, none, -moves, moves]], format="csr"
    )
    prices = np.concatenate(
        [np.zeros(T), np.full(T, level), np.full(T, 1 - level), np.full(2 * T - 2, penalty)]
    )
    sizes = [(-1.0, 1.0)] * T + [(0.0, None)] * (4 * T - 2)
    found = scipy.optimize.linprog(
        prices, A_eq=rows, b_eq=np.append(targets, np.zeros(T - 1)), bounds=sizes
    )
    return float(prices[T : 3 * T] @ found.x[T : 3 * T]), float(found.x[3 * T :].sum())


@pytest.mark.parametrize("level", [0.2, 0.9])
def test_the_certificate_holds_against_the_best_moving_quantiles(level: float) -> None:
    rng = np.random.default_rng(7)
    targets = 0.6 * np.sin(np.arange(150) / 20.0) + 0.2 * (rng.exponential(size=150) - 1.0)
    stream = sp.LinearStream(np.ones((150, 1)), targets, "pinball", level=level)
    least = {penalty: best_moving_quantile(targets, level, penalty) for penalty in (0.05, 0.5, 5.0)}
    assert (
        len({round(path, 3) for _, path in least.values()}) == 3
    )  # from a quantile that follows to one that stands
    for make in (sp.Sword, lambda it: sp.Ader(it, horizon=150, gradient_bound=1.0)):
        learner = make(sp.Ball(1))
        ledger = sp.play(learner, stream, engine="compiled")
        for loss, path in least.values():
            assert ledger.total_loss - loss <= learner.certificate(path)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, np.nan])
def test_a_level_outside_is_refused(level: float) -> None:
    for make in (
        lambda: sp.LinearStream([[1.0]], [1.0], "pinball", level=level),
        lambda: sp.engine.online(sp.Sword(sp.Ball(1)), "pinball", level=level),
    ):
        with pytest.raises(ValueError, match="level must"):
            make()


def test_hindsight_does_not_take_it_for_a_squared_loss() -> None:
    """It certifies by slopes, and at a kink there are many: it says that its gap stays open."""
    stream = sp.LinearStream(np.ones((5, 1)), [1.0, 2.0, 3.0, 4.0, 10.0], "pinball")
    with pytest.raises(RuntimeError, match="not smooth"):
        hindsight.best_sequence(stream, sp.Ball(1, radius=20.0), penalty=100.0)
