"""What would have been best, seen from the end: comparators for static, worst-case and piecewise
regret.

One comparator for all rounds, by the second-order method: for losses so steep or so uneven
that descent stalls.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Domain, Loss, Matrix, Vector
from swordplay.parts.streams import LinearStream
from swordplay.parts.streams.linear import Rows
from swordplay.theory.hindsight import descent, interior_point
from swordplay.theory.hindsight.blocks import BlockedRounds
from swordplay.theory.hindsight.descent import Objective, objectives, require_dim
from swordplay.theory.hindsight.sequence import Problem

TOLERANCE = 1e-9
"""A gap counts as closed at this share of what the losses could change by over the domain."""
EASY_STEPS = 1_000
"""Descent steps that most problems need at the most.

Where they do not, features of very different sizes are at work.
"""
STEPS = 20_000
"""Descent steps before a gap is given up."""
SEARCHES = 128
"""Steps of a one-dimensional search: 64 halvings exhaust a double, each made safe by another."""


def best_fixed(stream: Iterable[Loss], domain: Domain, *, tolerance: float = TOLERANCE) -> Vector:
    r"""The best fixed decision, for static regret.

    .. math:: u^* \in \arg\min_{x \in X} \sum_t f_t(x)

    Parameters
    ----------
    stream
        The losses; a finite one.
    domain
        X.
    tolerance
        How far above the minimum the answer may be, relative to :math:`D \sum_t \|\nabla f_t(c)\|`
        with c the centre: the most by which the losses can fall below their value there. What sums
        of doubles round by comes on top.

    Returns
    -------
    Vector
        Shape ``(d,)``. :func:`gap` certifies it.

    Raises
    ------
    RuntimeError
        If the gap cannot be closed to the tolerance.

    Examples
    --------
    >>> from swordplay.parts.domains import Ball
    >>> best_fixed(LinearStream([[1.0], [1.0]], [0.2, 0.4]), Ball(1)).round(6)
    array([0.3])
    """
    domain, tolerance = arguments.domain(domain), arguments.positive("tolerance", tolerance)
    losses = stream if isinstance(stream, LinearStream) else list(arguments.stream(stream))
    (objective,) = objectives(losses, domain, None)
    minima = descent.minimize(objective, domain, tolerance, EASY_STEPS)
    if not minima.closed and (point := _by_newton(losses, domain, tolerance)) is not None:
        return point
    if not minima.closed:
        minima = descent.minimize(objective, domain, tolerance, STEPS)
    if not minima.closed:
        raise RuntimeError(
            f"best_fixed stopped after {STEPS} steps with a certified gap of "
            f"{minima.gaps[0]:.3g}, not within "
            f"tolerance={tolerance}. Give a larger tolerance, or bring the features to similar "
            "scales."
        )
    return np.asarray(minima.points[0])


def gap(stream: Iterable[Loss], domain: Domain, point: Any) -> float:
    r"""How far above the best fixed decision a point may be: a certificate that needs no solver.

    .. math:: \sum_t f_t(x) - \min_{z \in X} \sum_t f_t(z) \le \langle g, x \rangle + \sigma_X(-g),
        \qquad g = \sum_t \nabla f_t(x)

    Parameters
    ----------
    stream, domain
        As in :func:`best_fixed`.
    point
        x, shape ``(d,)``, in the domain.
    """
    domain = arguments.domain(domain)
    x = arguments.vector("point", point, domain.dim)
    if not domain.contains(x):
        raise ValueError(
            f"point must lie in the domain {domain!r}, got {arguments.short_repr(x.tolist())}. "
            "Project "
            "it first."
        )
    (objective,) = objectives(stream, domain, None)
    return float(descent.gaps(domain, x[None], objective.gradient(x[None]))[0])


def block_minimizers(stream: Iterable[Loss], domain: Domain, length: int) -> Matrix:
    r"""The best fixed decision of each block of rounds, for a world that stands still in between.

    Parameters
    ----------
    stream, domain
        As in :func:`best_fixed`.
    length
        Rounds in a block; the last one may be shorter.

    Returns
    -------
    Matrix
        One row per round, shape ``(T, d)``, equal within a block. All lie in the domain; each is
        within ``TOLERANCE`` of the best of its block, or as near as ``STEPS`` steps come.
    """
    domain, length = arguments.domain(domain), arguments.integer("length", length)
    losses = stream if isinstance(stream, LinearStream) else list(stream)
    points: list[Vector] = []
    for some in objectives(losses, domain, length):
        minima = descent.minimize(some, domain, TOLERANCE, EASY_STEPS)
        hard = minima.gaps > TOLERANCE * domain.diameter * some.steepness
        for k, point in enumerate(minima.points):
            begin = len(points) * length
            points.append(
                _hard(some, k, losses[begin : begin + length], domain)
                if hard[k] and not minima.closed
                else point
            )
    return np.repeat(points, length, axis=0)[: len(losses)]


def _hard(objective: Objective, k: int, losses: Any, domain: Domain) -> Vector:
    """The best decision of block k, where a few steps of descent did not lead to it."""
    found = _by_newton(losses, domain, TOLERANCE)
    if found is None:
        found = descent.minimize(objective.take(np.array([k])), domain, TOLERANCE, STEPS).points[0]
    return np.asarray(found)


def minimizers(stream: Iterable[Loss], domain: Domain) -> Matrix:
    r"""A minimiser of every single loss, for worst-case dynamic regret.

    .. math:: u_t \in \arg\min_{x \in X} f_t(x)

    A loss of a linear prediction has many minimisers: the one nearest to the domain's centre is
    taken. For other losses it is the one that descent from the centre arrives at.

    Parameters
    ----------
    stream, domain
        As in :func:`best_fixed`.

    Returns
    -------
    Matrix
        Shape ``(T, d)``, all in the domain.
    """
    domain = arguments.domain(domain)
    return _minimizers(stream, domain)


@singledispatch
def _minimizers(stream: Iterable[Loss], domain: Domain) -> Matrix:
    losses = list(stream)
    rows = Rows.of_losses(losses) if losses else None
    return (
        block_minimizers(losses, domain, 1) if rows is None else _nearest_minimizers(rows, domain)
    )


@_minimizers.register
def _(stream: LinearStream, domain: Domain) -> Matrix:
    if not len(stream):
        raise ValueError(
            "stream must hold at least one round, got none: there is nothing to minimise."
        )
    return _nearest_minimizers(Rows.of_stream(stream).dense(), domain)


def _nearest_minimizers(rows: Rows, domain: Domain) -> Matrix:
    """Of the points with the best possible prediction, each round the nearest to the centre."""
    require_dim(rows.dim, domain)
    best = _best_predictions(rows, -domain.support(-rows.features), domain.support(rows.features))
    return _nearest(rows.features, best, domain)


def _best_predictions(rows: Rows, low: Vector, high: Vector) -> Vector:
    """Where φ is least between low and high: at an end, or where its slope stops being negative."""
    for _ in range(SEARCHES // 2):
        middle = 0.5 * (low + high)
        beyond = rows.slopes(middle) >= 0
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return high


def _nearest(features: Matrix, predictions: Vector, domain: Domain) -> Matrix:
    r"""The points nearest to the centre with the given predictions :math:`\langle a, x \rangle =
    z`.

    By Lagrange they are :math:`x(\lambda) = \Pi_X[c + \lambda a]`, and :math:`\langle a, x(\lambda)
    \rangle` never falls in λ. As the projection moves no two points apart, :math:`\lambda = \langle
    a, x - c \rangle / \|a\|^2` is never too far, and exact where it stays inside.
    """
    squares = np.einsum("ij,ij->i", features, features)
    lengths = np.sqrt(squares)
    offsets = predictions - features @ domain.center
    directions, wanted = np.sign(offsets)[:, None] * features, np.abs(offsets)
    enough = (
        4 * np.finfo(np.float64).eps * lengths * (domain.diameter + np.linalg.norm(domain.center))
    )

    points = np.tile(domain.center, (len(features), 1))
    seeking = np.flatnonzero(wanted > 0)
    low = np.zeros(len(features))
    high, excess_low, excess_high = (
        np.full(len(features), np.inf),
        -wanted,
        np.full(len(features), np.inf),
    )
    trial = np.divide(wanted, squares, out=np.zeros_like(wanted), where=squares > 0)
    for search in range(SEARCHES):
        if not len(seeking):
            break
        i = seeking
        points[i] = domain.project(domain.center + trial[i, None] * directions[i])
        excess = np.einsum("ij,ij->i", directions[i], points[i] - domain.center) - wanted[i]
        short = excess < 0
        low[i], excess_low[i] = (
            np.where(short, trial[i], low[i]),
            np.where(short, excess, excess_low[i]),
        )
        high[i], excess_high[i] = (
            np.where(short, high[i], trial[i]),
            np.where(short, excess_high[i], excess),
        )
        seeking = seeking[np.abs(excess) > enough[i]]
        trial[seeking] = _between(
            low[seeking], high[seeking], excess_low[seeking], excess_high[seeking], search
        )
    return points


def _between(low: Array, high: Array, excess_low: Array, excess_high: Array, search: int) -> Array:
    """The next trial: double while there is no upper end, then by turns the secant (x(λ) bends
    seldom) and the middle.
    """
    open_ended = np.isinf(high)
    closed_high, closed_excess = (
        np.where(open_ended, low, high),
        np.where(open_ended, 1.0, excess_high),
    )
    share = -excess_low / (closed_excess - excess_low) if search % 2 else 0.5
    return np.where(open_ended, 2.0 * low, low + share * (closed_high - low))


WIDE = 1000
"""Coordinates up to which a Newton step is a matter of seconds."""


def _by_newton(stream: Iterable[Loss], domain: Domain, tolerance: float) -> Vector | None:
    """The best fixed decision, shape ``(d,)``, or None where this method cannot prove that it is
    within the tolerance.

    Parameters
    ----------
    stream, domain, tolerance
        As in :func:`best_fixed`.
    """
    problem = Problem(stream, domain, tolerance)
    if not problem.frame.whole or not 0 < problem.frame.dim <= WIDE:
        return None
    together = BlockedRounds(problem.rounds, np.zeros(1, dtype=int))
    answer = interior_point.minimize(together, problem.frame, 1.0, problem.target)
    return (
        np.asarray(problem.frame.outward(answer.points)[0])
        if answer.gap <= problem.target
        else None
    )
