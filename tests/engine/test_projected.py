"""One projection a round, compiled: the same numbers as the readable wrapper, on domains of any
kind and dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import swordplay as sp
from engine.duels import Duel, bouncing, duel, gap, state_gaps
from swordplay.compile import uncompiled
from swordplay.engine import projected_rounds
from tolerances import DRIVEN, TWIN


class Stranger:
    """A box that the engine does not know for one."""

    def __init__(self, inside: Any) -> None:
        self.inside, self.asked = inside, 0
        self.dim, self.center, self.diameter = inside.dim, inside.center, inside.diameter
        self.support, self.contains = inside.support, inside.contains

    def project(self, points: Any) -> Any:
        self.asked += 1
        return self.inside.project(points)


def ader(game: Duel) -> Callable[[sp.Ball], Any]:
    return lambda ball: sp.Ader(
        ball, horizon=game.foresight * game.horizon, gradient_bound=game.gradient_bound
    )


INSIDE: dict[str, Callable[[Duel], Callable[[sp.Ball], Any]]] = {
    "Ader": ader,
    "Sword": lambda game: sp.Sword,
    "SwordBest": lambda game: lambda ball: sp.SwordBest(ball, **game.constants),
}


def agree(inside: str, games: list[Duel]) -> None:
    nothing_proved = bouncing(lambda it: sp.OneProjection(it.domain, INSIDE[inside](it)), games)
    assert 14 * len(nothing_proved) <= len(games), (
        f"too many games that prove nothing: {nothing_proved}"
    )


@pytest.mark.parametrize("inside", INSIDE)
def test_engine_and_readable_learner_agree(inside: str) -> None:
    """Seeds 4, 5, ...: simplex, box, ball, small ball, ball elsewhere, sparse rows."""
    agree(
        inside,
        [
            duel(seed, loss)
            for seed, loss in zip(range(4, 10), ["squared", "logistic", "huber"] * 2, strict=True)
        ],
    )


@pytest.mark.deep
@pytest.mark.parametrize("inside", INSIDE)
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_they_agree_in_many_games(inside: str, loss: str) -> None:
    agree(inside, [duel(seed, loss) for seed in range(120)])


def test_they_agree_where_an_expert_steps_back_to_the_centre() -> None:
    """Where the square of its distance is rounding, its distance would be the root of that, in
    what the certificate adds up.
    """
    agree("Sword", [duel(93, "huber")])


@pytest.mark.parametrize("seeds", [(4,), (5, 11, 17)], ids=["simplex", "box"])
def test_gradients_are_bent_in_these_games(seeds: tuple[int, ...]) -> None:
    """Else agreement would say little: the learner inside leaves the domain."""
    outside = 0
    for seed in seeds:
        game = duel(seed, "squared")
        learner = sp.OneProjection(game.domain, sp.Sword)
        for loss in game.stream:
            learner.observe(loss)
            outside += not game.domain.contains(learner.inner.decision, atol=1e-6)
    assert outside >= 10


def wide(dim: int, rounds: int = 40) -> sp.LinearStream:
    rng = np.random.default_rng(3)
    return sp.LinearStream(rng.normal(size=(rounds, dim)), rng.normal(size=rounds))


@pytest.mark.parametrize(
    "domain", [sp.Simplex(500), sp.Box(-np.ones(500), 0.5 * np.ones(500))], ids=["simplex", "box"]
)
def test_500_coordinates_play_compiled(domain: Any) -> None:
    stream = wide(500)
    game = Duel(domain, stream, "wide")
    agree("Ader", [game])
    with pytest.raises(sp.engine.NotCompilable, match="at most 64"):
        sp.play(sp.Sword(domain), stream, engine="compiled")


def test_a_strangers_domain_is_asked_once_a_round() -> None:
    game = duel(5, "squared")
    strange, known = Stranger(game.domain), game.domain
    ours, theirs = (
        sp.OneProjection(domain, lambda ball: ader(game)(known_ball(known)))
        for domain in (strange, known)
    )
    strange.asked = 0
    ledger, other = (sp.play(learner, game.stream, engine="compiled") for learner in (ours, theirs))
    assert strange.asked == game.horizon
    assert gap(ledger.losses, other.losses) <= DRIVEN
    assert gap(ours.decision, theirs.decision) <= DRIVEN


def known_ball(domain: Any) -> sp.Ball:
    """The box knows its reach better than a stranger does: the same ball for both."""
    return sp.Ball(domain.dim, domain.diameter / 2, domain.center)


def test_one_by_one_is_the_whole_array() -> None:
    game = duel(4, "squared")
    whole, single = (sp.OneProjection(game.domain, ader(game)) for _ in range(2))
    ledger = sp.play(whole, game.stream)
    assert whole.inner.keeper is not None
    model = sp.engine.online(single)
    for t, loss in enumerate(game.stream):
        assert (
            abs(model.predict(loss.features) - loss.features @ ledger.decisions[t])
            <= DRIVEN * game.units["points"]
        )
        model.learn(loss.features, loss.target)
    assert max(state_gaps(game, single.state(), whole.state()).values()) <= DRIVEN
    assert gap(single.decision, whole.decision) <= DRIVEN
    assert gap(model.decision, whole.decision) <= DRIVEN


def test_they_take_turns_and_load_each_other() -> None:
    game = duel(4, "squared")
    turns, whole, loaded = (sp.OneProjection(game.domain, ader(game)) for _ in range(3))
    middle = game.horizon // 2
    sp.play(turns, game.stream[:middle], engine="compiled")
    loaded.load_state(turns.state())
    sp.play(turns, game.stream[middle:], engine="python")
    sp.play(loaded, game.stream[middle:], engine="compiled")
    sp.play(whole, game.stream, engine="python")
    for learner in (turns, loaded):
        assert max(state_gaps(game, learner.state(), whole.state()).values()) <= TWIN
    assert turns.assumptions.seen.rounds == game.horizon
    assert turns.assumptions.seen.gradient == pytest.approx(
        whole.assumptions.seen.gradient, rel=1e-9
    )


def test_a_model_whose_learner_went_on_says_so() -> None:
    learner = sp.OneProjection(sp.Simplex(2), sp.Sword)
    model = sp.engine.online(learner)
    model.learn([1.0, 0.0], 1.0)
    learner.observe(sp.SquaredLoss([0.0, 1.0], 1.0))
    with pytest.raises(RuntimeError, match="went on without this engine"):
        model.learn([1.0, 0.0], 1.0)


def test_a_row_that_overflows_changes_nothing() -> None:
    learner = sp.OneProjection(sp.Simplex(2), sp.Sword)
    model = sp.engine.online(learner)
    model.learn([1.0, 0.0], 1.0)
    before = learner.decision.copy()
    with pytest.raises(ValueError, match="too large"):
        model.learn([1e200, 0.0], 1.0)
    with pytest.raises(ValueError, match="row 1 would overflow"):
        model.play(np.array([[0.0, 1.0], [1e200, 0.0]]), np.ones(2))
    assert learner.rounds == 2
    assert not np.array_equal(learner.decision, before)  # of the row that came before


def test_sword_plus_plus_inside_stays_readable() -> None:
    learner = sp.OneProjection(
        sp.Simplex(2),
        lambda ball: sp.SwordPlusPlus(ball, horizon=9, gradient_bound=1.0, smoothness=1.0),
    )
    with pytest.raises(sp.engine.NotCompilable, match="charge for moving"):
        sp.engine.online(learner)
    sp.play(learner, sp.LinearStream(np.eye(2), np.ones(2)))
    assert learner.rounds == 2


@pytest.mark.parametrize("seed", range(3))
def test_the_kernels_simplex_is_the_librarys(seed: int) -> None:
    """Also where all but one coordinate vanish, where all are equal, and far from the simplex."""
    rng = np.random.default_rng(seed)
    points = [
        *rng.normal(size=(20, 7)),
        np.zeros(7),
        1e6 * np.eye(7)[2],
        1e-9 * rng.normal(size=7),
        -1e6 + rng.normal(size=7),
    ]
    domain = sp.Simplex(7, total=0.7)
    for point in points:
        work = np.zeros((4, 7))
        work[0] = point
        uncompiled(projected_rounds.onto_simplex)(work[0], 0.7, work[1], work[3])
        np.testing.assert_allclose(work[1], domain.project(point), rtol=0, atol=1e-9)
