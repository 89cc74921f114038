"""What the checks share: promises and how they fail, points to try, games to play."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from swordplay.core.types import Array, Domain, Loss, Matrix
from swordplay.parts.losses import QuadraticLoss, SquaredLoss

ROUNDING = 1e-9
"""Slack of every inequality, relative to the size of what is compared: a million times what
doubles lose per step.
"""
CLOSE = 1e-4
"""Length of the segments along which slopes are compared, relative to the distance of two points
of the domain.
"""
FAR = 1e4
"""How many diameters away a point is projected from, to find where the domain ends in a
direction.
"""


def promise(kept: bool, what: str, seen: str) -> None:
    """Fail with the promise and what was seen instead, unless it was kept."""
    if not kept:
        raise AssertionError(f"{what}: {seen}.")


def at_most(left: Any, right: Any, what: str) -> None:
    """Every number on the left is at most its right-hand side; NaN is not."""
    excess = np.asarray(left) - right
    if not (excess <= 0).all():
        worst = np.unravel_index(
            int(np.argmax(np.where(np.isnan(excess), np.inf, excess))), excess.shape
        )
        allowed = np.broadcast_to(right, excess.shape)[worst]
        raise AssertionError(
            f"{what}: off by {np.broadcast_to(left, excess.shape)[worst]:.6g}, allowed "
            f"{allowed:.3g}."
        )


def has_shape(name: str, answer: Any, expected: tuple[int, ...]) -> None:
    """An answer comes in its shape."""
    promise(
        np.shape(answer) == expected,
        f"{name} has shape {expected}",
        f"got shape {np.shape(answer)}",
    )


def is_refused(action: Callable[[], object], what: str) -> None:
    """An action raises ValueError or TypeError."""
    try:
        action()
    except (ValueError, TypeError):
        return
    raise AssertionError(f"{what}: no ValueError or TypeError was raised.")


def norms(offsets: Array) -> Array:
    """Euclidean norms along the last axis."""
    return np.asarray(np.linalg.norm(offsets, axis=-1))


def first(points: Array) -> Array:
    """One point, to show in a message."""
    return np.asarray(points.reshape(-1, points.shape[-1])[0])


def around(domain: Domain, rng: np.random.Generator, number: int) -> Matrix:
    """Points inside, near and far outside, shape ``(number, d)``."""
    scales = np.resize([0.02, 0.3, 1.0, 20.0], number)[:, None]
    return np.asarray(
        domain.center
        + scales * domain.diameter * rng.normal(size=(number, domain.dim)) / np.sqrt(domain.dim)
    )


def game(domain: Domain, rng: np.random.Generator, rounds: int) -> list[Loss]:
    """Convex quadratics and squared losses whose minimisers jump about in and around the domain."""
    losses: list[Loss] = []
    target = domain.center
    for t in range(rounds):
        if t % 7 == 0:
            target = around(domain, rng, 1)[0]
        half = rng.normal(size=(domain.dim, domain.dim)) / np.sqrt(domain.dim)
        quadratic = QuadraticLoss(
            half @ half.T, half @ half.T @ target, 0.5 * float(np.square(half.T @ target).sum())
        )
        features = rng.normal(size=domain.dim)
        losses.append(
            quadratic
            if t % 2
            else SquaredLoss(features, float(features @ target + 0.1 * rng.normal()))
        )
    return losses


def comparators_for(
    domain: Domain, losses: Sequence[Loss], rng: np.random.Generator
) -> list[Matrix]:
    """One that stands still, one that jumps now and then, one that moves every round.

    Shape ``(T, d)`` each.
    """
    rounds = len(losses)
    places = domain.project(around(domain, rng, rounds))
    return [np.repeat(places[:1], rounds, axis=0), np.repeat(places, 7, axis=0)[:rounds], places]
