"""What a kind of experts promises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from swordplay.core import state
from swordplay.core.types import Array, Domain, Loss, Matrix, Vector
from swordplay.parts.experts import Experts, ExpertState, base_offset, has_constant_steps
from swordplay.parts.learners.certificate import CertificateState, DomainGeometry, Lengths
from swordplay.parts.losses import FunctionLoss
from swordplay.theory.conformance.promises import (
    FAR,
    ROUNDING,
    at_most,
    first,
    game,
    has_shape,
    is_refused,
    norms,
    promise,
)


def check_expert(
    make: Callable[[Domain], Experts],
    domain: Domain,
    losses: Sequence[Loss] | None = None,
    *,
    seed: int = 0,
) -> None:
    """Hold a kind of experts to its promises.

    All start at the centre and stay in the domain; gradients are asked for in the domain only; a
    step is a function from state to state that writes into nothing and lets errors through; and
    each expert's regret stays below the terms that it hands to the certificate, against the
    comparators that hurt it most, whether they stand still, move now and then or in every round.

    Parameters
    ----------
    make
        Makes the experts for a domain.
    domain
        Where to play.
    losses
        What to play; convex quadratics that jump about unless given. Slopes that swing to and fro,
        as steep as each step size can bear, are played on top.
    seed
        Of the losses.
    """
    rng = np.random.default_rng(seed)
    experts = make(domain)
    _plays(experts, domain, game(domain, rng, 40) if losses is None else losses)
    for step_size in experts.step_sizes(experts.start()):
        steep = domain.diameter / step_size if np.isfinite(step_size) else 1.0
        _plays(experts, domain, _swings(domain, rng, steep))


def _plays(experts: Experts, domain: Domain, losses: Sequence[Loss]) -> None:
    slack = ROUNDING * (domain.diameter + float(np.linalg.norm(domain.center)))
    now = experts.start()
    N = len(now.points)
    has_shape("points", now.points, (N, domain.dim))
    at_most(norms(now.points - domain.center), slack, "every expert starts at the centre")
    points, gradients, sums = [], [], CertificateState.at_start(N)
    for t, loss in enumerate(losses, start=1):
        before = _bits(now)

        def field(points: Array, loss: Loss = loss) -> Array:
            inside = domain.contains(points, atol=slack).all()
            promise(
                bool(inside),
                "gradients are asked for in the domain only",
                f"asked at {first(points)}",
            )
            return loss.gradient(points)

        is_refused(partial(experts.step, now, _broken), "a step lets the gradient's error through")
        moved, move = experts.step(now, field)
        again, _ = experts.step(now, field)
        promise(
            _bits(now) == before, "a step writes into no state that it is given", f"in round {t}"
        )
        promise(
            _bits(moved) == _bits(again),
            "a step is a function of its state",
            f"two answers in round {t}",
        )
        has_shape("step sizes", experts.step_sizes(moved), (N,))
        for name in ("step_sizes", "squared_error", "squared_lookahead"):
            part = getattr(move, name)
            has_shape(name, part, (N,))
            promise(
                bool((part >= 0).all()), f"{name} is never negative", f"got {part} in round {t}"
            )
        points.append(now.points)
        gradients.append(loss.gradient(now.points))
        lengths = Lengths.of(base_offset(now, domain), base_offset(moved, domain))
        sums = sums.with_round(np.zeros(N), move, lengths)
        now = moved
        inside = domain.contains(now.points, atol=slack).all()
        promise(
            bool(inside), "the points stay in the domain", f"got {first(now.points)} in round {t}"
        )
    for k in range(N):
        own = sums.copied(np.array([k]))
        _owes(
            domain,
            np.array(points)[:, k],
            np.array(gradients)[:, k],
            own,
            base_offset(now, domain)[k : k + 1],
            has_constant_steps(experts),
        )


def _owes(
    domain: Domain,
    points: Matrix,
    gradients: Matrix,
    own: CertificateState,
    base: Matrix,
    steady: bool,
) -> None:
    """One expert's regret, linearised at its own points, is at most its terms of the
    certificate.
    """
    for block in (1, 2, 7, len(points)):
        starts = np.arange(0, len(points), block)
        downhill = -np.add.reduceat(gradients, starts, axis=0)
        downhill /= np.maximum(norms(downhill), np.finfo(float).tiny)[:, None]
        places = domain.project(domain.center + FAR * domain.diameter * downhill)
        comparators = np.repeat(places, block, axis=0)[: len(points)]
        path = float(norms(np.diff(comparators, axis=0)).sum())
        regret = np.einsum("ij,ij->", gradients, points - comparators)
        bound = own.bound(DomainGeometry.of(domain), path, base, steady)
        size = (
            1
            + abs(bound)
            + float(norms(gradients).sum())
            * (domain.diameter + float(np.linalg.norm(domain.center)))
        )
        at_most(
            regret - bound,
            ROUNDING * size,
            f"regret stays below its terms (path length {path:.3g})",
        )


def _swings(domain: Domain, rng: np.random.Generator, steep: float) -> list[Loss]:
    """Linear losses along one direction whose sign alternates: a step that is too long is always
    on the wrong side.
    """
    slope = rng.normal(size=domain.dim)
    slope *= steep / np.linalg.norm(slope)
    return [_slope(sign * slope) for sign in (1.0, -1.0) * 10]


def _slope(slope: Vector) -> Loss:
    return FunctionLoss(
        lambda points: points @ slope, lambda points: np.broadcast_to(slope, points.shape), 0.0
    )


def _broken(points: Array) -> Array:
    raise ValueError("this gradient fails")


def _bits(expert_state: ExpertState) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in state.save(expert_state).values()]
