"""Composition that the engine does not know: left to choose, play goes on readably.

Asked for the engine, it says why not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import swordplay as sp
from engine.duels import duel
from swordplay.core.types import GameConstants
from swordplay.engine import NotCompilable
from swordplay.parts.learners.meta_expert import MetaExpertLearner

GAME = duel(0, "squared", rounds=30)
BALL, DIM = GAME.domain, GAME.domain.dim


class Steady:
    """A rate of a stranger's own, which happens to be fixed."""

    decay = 1.0

    def __init__(self) -> None:
        self._fixed = sp.rates.Fixed(0.5)

    def start(self, constants: GameConstants, prior_cost: float) -> Any:
        return self._fixed.start(constants, prior_cost)

    def step(self, state: Any, signal: Any, constants: GameConstants, prior_cost: float) -> Any:
        return self._fixed.step(state, signal, constants, prior_cost)


class HalfSpace:
    """A domain of a stranger's own: the ball's upper half, by alternating projections that
    happen to be exact here.
    """

    def __init__(self) -> None:
        self.dim, self.diameter, self.center = DIM, 2.0, np.zeros(DIM)

    def project(self, points: np.ndarray) -> np.ndarray:
        above = np.array(points, dtype=float)
        above[..., 0] = np.maximum(above[..., 0], 0.0)
        return above / np.maximum(1.0, np.linalg.norm(above, axis=-1, keepdims=True))

    def contains(self, points: np.ndarray, atol: float = 1e-9) -> np.ndarray:
        return (np.linalg.norm(points, axis=-1) <= 1 + atol) & (points[..., 0] >= -atol)

    def support(self, directions: np.ndarray) -> np.ndarray:
        return np.linalg.norm(directions, axis=-1)


class Guess:
    """An optimism of a stranger's own: nothing, in other words."""

    def __init__(self) -> None:
        self._null = sp.metas.NullOptimism()

    def start(self, dim: int) -> Any:
        return self._null.start(dim)

    def step(self, state: Any, *rest: Any) -> Any:
        return state


class Sitting:
    """Experts of a stranger's own, who never move."""

    def __init__(self, like: Any) -> None:
        self.start, self.step_sizes = like.start, like.step_sizes
        self._like = like

    def step(self, state: Any, gradient: Any) -> Any:
        return state, self._like.step(state, gradient)[1]


class Stranger:
    """A learner of a stranger's own: only what the protocol asks for."""

    def __init__(self) -> None:
        self.decision, self.rounds = np.zeros(DIM), 0

    def observe(self, loss: sp.Loss) -> None:
        self.rounds += 1
        self.decision = BALL.project(self.decision - 0.01 * loss.gradient(self.decision))

    def state(self) -> dict[str, Any]:
        return {"decision": self.decision.copy(), "rounds": self.rounds}

    def load_state(self, state: Any) -> None:
        self.decision, self.rounds = state["decision"], state["rounds"]


def with_part(**changed: Any) -> Callable[[], Any]:
    def make() -> Any:
        plain = sp.SwordBest(BALL, **GAME.constants).parts
        parts = plain._replace(**changed)
        hedge = sp.metas.OptimisticHedge(parts.rate, parts.constants)
        return MetaExpertLearner(parts.domain, parts.experts, parts.prior, hedge, parts.optimism)

    return make


def sitting() -> Any:
    plain = sp.SwordBest(BALL, **GAME.constants).parts
    return with_part(experts=tuple(Sitting(kind) for kind in plain.experts))()


STRANGE: dict[str, tuple[Callable[[], Any], str]] = {
    "rate": (with_part(rate=Steady()), "a learning rate of type Steady is not known to the engine"),
    "optimism": (with_part(optimism=Guess()), "optimism of type Guess is not known to the engine"),
    "experts": (sitting, "experts of type Sitting are not known to the engine"),
    "domain": (
        lambda: sp.Sword(HalfSpace()),
        "a domain of type HalfSpace is not known to the engine",
    ),
    "wide simplex": (
        lambda: sp.Sword(sp.Simplex(100)),
        "domain has 100 coordinates; off the ball .* at most 64",
    ),
    "giant step": (lambda: sp.OGD(BALL, 1e80), "a step size of 1e\\+80 is beyond"),
    "learner": (Stranger, "a learner of type Stranger does not say what it is made of"),
}
every_stranger = pytest.mark.parametrize(("make", "reason"), STRANGE.values(), ids=STRANGE)


def stream_for(learner: Any) -> sp.LinearStream:
    dim = len(learner.decision)
    rng = np.random.default_rng(5)
    return (
        GAME.stream
        if dim == DIM
        else sp.LinearStream(rng.normal(size=(20, dim)), rng.normal(size=20))
    )


@every_stranger
def test_left_to_choose_play_goes_on_readably(make: Callable[[], Any], reason: str) -> None:
    chosen, readable = make(), make()
    stream = stream_for(chosen)
    ours, theirs = sp.play(chosen, stream), sp.play(readable, stream, engine="python")
    np.testing.assert_array_equal(ours.losses, theirs.losses)
    np.testing.assert_array_equal(ours.decisions, theirs.decisions)
    assert chosen.rounds == len(stream)


@every_stranger
def test_asked_for_the_engine_play_says_why_not(make: Callable[[], Any], reason: str) -> None:
    learner = make()
    with pytest.raises(NotCompilable, match=rf"{reason}.* Use engine='python'\.") as caught:
        sp.play(learner, stream_for(learner), engine="compiled")
    assert isinstance(caught.value, ValueError)
    assert learner.rounds == 0


class Absolute:
    """A loss of a stranger's own."""

    smoothness = None

    def __init__(self, features: np.ndarray, target: float) -> None:
        self.features, self.target = features, target

    def value(self, points: np.ndarray) -> np.ndarray:
        return np.abs(points @ self.features - self.target)

    def gradient(self, points: np.ndarray) -> np.ndarray:
        return np.multiply.outer(np.sign(points @ self.features - self.target), self.features)


def test_losses_of_another_kind_are_played_readably() -> None:
    losses = [Absolute(loss.features, loss.target) for loss in GAME.stream]
    chosen, readable = sp.Sword(BALL), sp.Sword(BALL)
    np.testing.assert_array_equal(
        sp.play(chosen, losses).losses, sp.play(readable, losses, engine="python").losses
    )
    with pytest.raises(NotCompilable, match="the engine plays a LinearStream, got list"):
        sp.play(sp.Sword(BALL), losses, engine="compiled")


def test_a_list_of_known_losses_is_a_stream_of_another_kind_too() -> None:
    with pytest.raises(NotCompilable, match="LinearStream"):
        sp.play(sp.Sword(BALL), list(GAME.stream), engine="compiled")


@pytest.mark.parametrize("loss", ["hinge", None, 3])
def test_an_unknown_name_of_a_loss_is_refused(loss: Any) -> None:
    with pytest.raises(
        NotCompilable, match=r"one of \['huber', 'logistic', 'pinball', 'squared'\] for the engine"
    ):
        sp.engine.online(sp.Sword(BALL), loss)


@pytest.mark.parametrize("domain", [sp.Simplex(3), sp.Box([0.0, 0.0], [1.0, 1.0])])
def test_off_the_ball_the_engine_plays_arrays_only(domain: sp.Domain) -> None:
    model = sp.engine.online(sp.Sword(domain))
    row = np.ones(domain.dim)
    for ask in (lambda: model.predict(row), lambda: model.learn(row, 1.0)):
        with pytest.raises(NotCompilable, match="plays on a Ball"):
            ask()
    with pytest.raises(NotCompilable, match="played on a Ball"):
        sp.engine.play_many([sp.Sword(domain)], row[None, None], np.ones((1, 1)))


def test_a_stream_of_another_width_is_refused_by_both_engines() -> None:
    for engine in ("auto", "compiled", "python"):
        learner = sp.Sword(sp.Ball(DIM + 1))
        with pytest.raises(ValueError, match=rf"{DIM}"):
            sp.play(learner, GAME.stream, engine=engine)
        assert learner.rounds == 0


def test_one_projection_is_played_readably() -> None:
    """On a simplex, a box and a ball: ``play`` takes the readable learner, ``online`` refuses."""
    for domain in (sp.Simplex(DIM), sp.Box(-np.ones(DIM), np.ones(DIM)), BALL):
        learner = sp.OneProjection(domain, sp.Sword)
        with pytest.raises(NotCompilable, match="type OneProjection"):
            sp.engine.online(learner)
        with pytest.raises(NotCompilable, match="Use engine='python'"):
            sp.play(learner, GAME.stream, engine="compiled")
        assert sp.play(learner, GAME.stream).rounds == GAME.horizon
        assert learner.inner.holder is None
