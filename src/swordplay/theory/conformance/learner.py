"""What a learner promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Protocol

import numpy as np

from swordplay.core.types import Array, Domain, Learner, Loss, Matrix, State, Vector
from swordplay.theory.conformance.promises import (
    ROUNDING,
    at_most,
    comparators_for,
    first,
    game,
    has_shape,
    is_refused,
    norms,
    promise,
)

FAULTS_AT_MOST = 10_000
"""A round that asks for more gradients than this one by one is taken to be endless."""


class MetaLearner(Learner, Protocol):
    """A learner made of weighted experts."""

    @property
    def weights(self) -> Vector:
        """p_t, shape ``(N,)``."""
        ...

    @property
    def points(self) -> Matrix:
        """x_{t,i}, shape ``(N, d)``."""
        ...

    def certificate(self, path_length: float) -> float:
        """An upper bound on the regret so far against comparators of at most this path length."""
        ...


def check_learner(
    make: Callable[[Domain], Learner],
    domain: Domain,
    losses: Sequence[Loss] | None = None,
    *,
    seed: int = 0,
) -> None:
    """Hold a learner to its promises.

    Decisions in the domain that reading does not change and a loss not yet told cannot; rounds
    counted; a loss with a broken gradient refused without a trace, wherever in the round it breaks;
    a saved state that goes on bit by bit.

    Parameters
    ----------
    make
        Makes the learner for a domain.
    domain
        Where to play.
    losses
        What to play; convex quadratics that jump about unless given.
    seed
        Of the losses.
    """
    rng = np.random.default_rng(seed)
    losses = game(domain, rng, 40) if losses is None else losses
    slack = ROUNDING * (domain.diameter + float(np.linalg.norm(domain.center)))
    half = len(losses) // 2
    learner, other = make(domain), make(domain)
    saved: State = {}
    decisions = []
    for t, loss in enumerate(losses):
        decision = np.array(learner.decision)
        has_shape("decision", decision, (domain.dim,))
        promise(
            bool(domain.contains(decision, atol=slack)),
            "decisions lie in the domain",
            f"got {decision} in round {t + 1}",
        )
        promise(
            learner.decision.tobytes() == decision.tobytes(),
            "reading a decision does not change it",
            f"round {t + 1}",
        )
        promise(
            learner.rounds == t, "rounds counts the losses observed", f"{learner.rounds} after {t}"
        )
        if t == half:
            saved = learner.state()
        decisions.append(decision)
        learner.observe(loss)
        # The same past with another future: only losses already told may matter.
        if t < half:
            other.observe(loss)
    promise(
        np.array_equal(other.decision, decisions[half]),
        "decisions depend on past losses only",
        f"in round {half + 1}",
    )
    _refuses(other, losses[half])

    copy = {name: np.array(leaf) for name, leaf in saved.items()}
    resumed = make(domain)
    resumed.load_state(saved)
    _spoil(saved)
    for t in range(half, len(losses)):
        same = resumed.decision.tobytes() == decisions[t].tobytes()
        promise(
            same,
            "a loaded state goes on bit by bit",
            f"{resumed.decision} instead of {decisions[t]} in round {t + 1}",
        )
        resumed.observe(losses[t])
    promise(
        _same_state(resumed.state(), learner.state()),
        "a loaded state ends where the saved learner does",
        "they differ",
    )
    resumed.load_state(copy)
    promise(
        _same_state(resumed.state(), copy),
        "a learner with a past of its own can load a state",
        "the state differs",
    )


def check_meta(
    make: Callable[[Domain], MetaLearner],
    domain: Domain,
    losses: Sequence[Loss] | None = None,
    *,
    seed: int = 0,
) -> None:
    """Hold a meta-expert learner to its promises, on top of :func:`check_learner`.

    Weights that are positive with a sum of 1; experts in the domain; a decision that is their
    weighted mean; a certificate that the regret never exceeds, for comparators that stand still and
    that move.
    """
    check_learner(make, domain, losses, seed=seed)
    rng = np.random.default_rng(seed)
    losses = game(domain, rng, 40) if losses is None else losses
    slack = ROUNDING * (domain.diameter + float(np.linalg.norm(domain.center)))
    learner, comparators = make(domain), comparators_for(domain, losses, rng)
    regret = np.zeros(len(comparators))
    for t, loss in enumerate(losses):
        p, x = learner.weights, learner.points
        promise(
            bool((p > 0).all()) and abs(float(p.sum()) - 1) <= ROUNDING,
            "weights are positive and sum to 1",
            f"got {p}",
        )
        promise(
            bool(domain.contains(x, atol=slack).all()),
            "experts stay in the domain",
            f"got {first(x)} in round {t + 1}",
        )
        at_most(
            norms(p @ x - learner.decision),
            slack,
            "the decision is the weighted mean of the points",
        )
        regret += [float(loss.value(learner.decision) - loss.value(us[t])) for us in comparators]
        learner.observe(loss)
        for us, owed in zip(comparators, regret, strict=True):
            bound = learner.certificate(float(norms(np.diff(us[: t + 1], axis=0)).sum()))
            at_most(
                owed - bound,
                ROUNDING * (1 + abs(bound)),
                f"regret stays below the certificate (round {t + 1})",
            )


def _refuses(learner: Learner, good: Loss) -> None:
    """A broken loss changes no bit, at whichever of a round's questions it breaks."""
    faults: list[tuple[str, Callable[[tuple[int, ...]], Any]]] = [
        ("NaN", lambda shape: np.full(shape, np.nan)),
        ("infinity", lambda shape: np.full(shape, np.inf)),
        ("the wrong shape", lambda shape: np.zeros((*shape, 2))),
    ]
    before, decision, rounds = learner.state(), learner.decision.tobytes(), learner.rounds
    for what, fault in faults:
        for position in count():
            promise(position < FAULTS_AT_MOST, "a round ends", f"{position} questions were asked")
            broken = _Broken(good, position, fault)

            try:
                learner.observe(broken)
            except (ValueError, TypeError):
                unchanged = (
                    _same_state(learner.state(), before) and learner.decision.tobytes() == decision
                )
                promise(
                    unchanged and learner.rounds == rounds,
                    "a refused loss leaves no trace",
                    f"answer of {what}",
                )
                continue
            # Nobody met the fault: every question of a round has been broken once. Take that good
            # round back.
            promise(position > 0, f"an answer of {what} is refused", "it was accepted")
            learner.load_state(before)
            break
    is_refused(lambda: learner.load_state({}), "an empty state is refused")
    promise(
        _same_state(learner.state(), before), "a refused state leaves no trace", "the state changed"
    )


class _Broken:
    """A loss whose answers, values or gradients, are right up to a question and broken from
    there on.
    """

    def __init__(self, good: Loss, position: int, fault: Callable[[tuple[int, ...]], Any]) -> None:
        self.smoothness = good.smoothness
        self._good, self._asked, self._fault = good, iter(range(position)), fault

    def value(self, points: Array) -> Any:
        return (
            self._good.value(points)
            if next(self._asked, None) is not None
            else self._fault(points.shape[:-1])
        )

    def gradient(self, points: Array) -> Any:
        return (
            self._good.gradient(points)
            if next(self._asked, None) is not None
            else self._fault(points.shape)
        )


def _same_state(one: State, other: State) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(one[name], other[name]) for name in one
    )


def _spoil(saved: State) -> None:
    """Write into a saved state: whoever loaded or saved it must have taken a copy."""
    for leaf in saved.values():
        if isinstance(leaf, np.ndarray):
            leaf.fill(0.0)
