"""The best comparators for static, piecewise and worst-case regret: fixed, by block, by round.

:func:`gap` certifies how far any point is from the best fixed one.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Domain, Loss, Matrix, Vector
from swordplay.parts.streams import LinearStream
from swordplay.parts.streams.linear import LinearRounds
from swordplay.theory.hindsight import descent, interior_point
from swordplay.theory.hindsight.blocks import BlockLosses
from swordplay.theory.hindsight.descent import BlockSums, sums_over_blocks
from swordplay.theory.hindsight.losses_in_domain import require_dim, require_rounds
from swordplay.theory.hindsight.sequence import Problem

TOLERANCE = 1e-9
"""Default tolerance: the largest gap, relative to the range of the losses over the domain."""
FIRST_STEPS = 1_000
"""Descent steps before Newton's method is tried; most problems need fewer.

More are needed for features of very different sizes.
"""
MAX_STEPS = 20_000
"""Most descent steps."""
MAX_NEWTON_DIM = 1000
"""Largest dimension for Newton's method; a step then takes seconds."""
MAX_SEARCH_STEPS = 128
"""Most steps of a one-dimensional search: 64 halvings, which exhaust a double, and 64 secants."""


def best_fixed(stream: Iterable[Loss], domain: Domain, *, tolerance: float = TOLERANCE) -> Vector:
    r"""The best fixed decision, the comparator of static regret.

    .. math:: u^* \in \arg\min_{x \in X} \sum_t f_t(x)

    Parameters
    ----------
    stream
        The losses; a finite stream.
    domain
        X.
    tolerance
        Largest distance above the minimum, relative to :math:`D \sum_t \|\nabla f_t(c)\|` with c
        the centre, the most by which the losses can fall below their value there. Rounding error of
        the sums may add to it.

    Returns
    -------
    Vector
        Shape ``(d,)``. :func:`gap` certifies it.

    Raises
    ------
    RuntimeError
        If the gap remains larger than the tolerance.

    Examples
    --------
    >>> from swordplay.parts.domains import Ball
    >>> best_fixed(LinearStream([[1.0], [1.0]], [0.2, 0.4]), Ball(1)).round(6)
    array([0.3])
    """
    domain, tolerance = arguments.domain(domain), arguments.positive("tolerance", tolerance)
    losses = stream if isinstance(stream, LinearStream) else list(arguments.stream(stream))
    (sums,) = sums_over_blocks(losses, domain, None)
    minima = descent.minimize(sums, domain, tolerance, FIRST_STEPS)
    if (
        not minima.is_closed
        and (point := _minimize_by_newton(losses, domain, tolerance)) is not None
    ):
        return point
    if not minima.is_closed:
        minima = descent.minimize(sums, domain, tolerance, MAX_STEPS)
    if not minima.is_closed:
        raise RuntimeError(
            f"best_fixed stopped after {MAX_STEPS} steps with a certified gap of "
            f"{minima.gaps[0]:.3g}, not within "
            f"tolerance={tolerance}. Give a larger tolerance, or bring the features to similar "
            "scales."
        )
    return np.asarray(minima.points[0])


def gap(stream: Iterable[Loss], domain: Domain, point: Any) -> float:
    r"""Upper bound on the distance of a point from the best fixed decision, in total loss.

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
    (sums,) = sums_over_blocks(stream, domain, None)
    return float(descent.gaps(domain, x[None], sums.gradients(x[None]))[0])


def block_minimizers(stream: Iterable[Loss], domain: Domain, length: int) -> Matrix:
    r"""The best fixed decision of each block of rounds, the comparators of piecewise regret.

    Parameters
    ----------
    stream, domain
        As in :func:`best_fixed`.
    length
        Rounds in a block; the last one may be shorter.

    Returns
    -------
    Matrix
        One row per round, shape ``(T, d)``, equal within a block and in the domain. Each is within
        ``TOLERANCE`` of the best of its block, or as near as ``MAX_STEPS`` descent steps come.
    """
    domain, length = arguments.domain(domain), arguments.integer("length", length)
    losses = stream if isinstance(stream, LinearStream) else list(stream)
    points: list[Vector] = []
    for sums in sums_over_blocks(losses, domain, length):
        minima = descent.minimize(sums, domain, TOLERANCE, FIRST_STEPS)
        is_hard = minima.gaps > TOLERANCE * domain.diameter * sums.gradient_norms
        for k, point in enumerate(minima.points):
            begin = len(points) * length
            points.append(
                _minimize_hard_block(sums, k, losses[begin : begin + length], domain)
                if is_hard[k] and not minima.is_closed
                else point
            )
    return np.repeat(points, length, axis=0)[: len(losses)]


def _minimize_hard_block(sums: BlockSums, k: int, losses: Any, domain: Domain) -> Vector:
    """The best decision of block k, whose gap was not closed by the first descent steps."""
    found = _minimize_by_newton(losses, domain, TOLERANCE)
    if found is None:
        found = descent.minimize(sums.select(np.array([k])), domain, TOLERANCE, MAX_STEPS).points[0]
    return np.asarray(found)


def _minimize_by_newton(stream: Iterable[Loss], domain: Domain, tolerance: float) -> Vector | None:
    """The best fixed decision by the interior-point method, shape ``(d,)``.

    For losses so steep or so uneven that descent stalls. None if the method does not apply or does
    not close the gap.
    """
    problem = Problem(stream, domain, tolerance)
    if not problem.coordinates.is_exact or not 0 < problem.coordinates.dim <= MAX_NEWTON_DIM:
        return None
    # All rounds in one block: without moves, any penalty will do.
    sums = BlockLosses(problem.losses, np.zeros(1, dtype=int))
    solution = interior_point.solve(sums, problem.coordinates, 1.0, problem.target)
    if solution.gap > problem.target:
        return None
    return np.asarray(problem.coordinates.to_points(solution.points)[0])


def minimizers(stream: Iterable[Loss], domain: Domain) -> Matrix:
    r"""A minimiser of each single loss, the comparators of worst-case dynamic regret.

    .. math:: u_t \in \arg\min_{x \in X} f_t(x)

    A loss of a linear prediction has many minimisers: the one nearest to the domain's centre is
    returned. For other losses it is the one that descent from the centre finds.

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
    rows = LinearRounds.of_losses(losses) if losses else None
    return (
        block_minimizers(losses, domain, 1) if rows is None else _nearest_minimizers(rows, domain)
    )


@_minimizers.register
def _(stream: LinearStream, domain: Domain) -> Matrix:
    require_rounds(len(stream))
    return _nearest_minimizers(LinearRounds.of_stream(stream).dense(), domain)


def _nearest_minimizers(rows: LinearRounds, domain: Domain) -> Matrix:
    """For each row, the point nearest to the centre with the best possible prediction."""
    require_dim(rows.dim, domain)
    best = _best_predictions(rows, -domain.support(-rows.features), domain.support(rows.features))
    return _nearest_points(rows.features, best, domain)


def _best_predictions(rows: LinearRounds, low: Vector, high: Vector) -> Vector:
    """Minimiser of φ between low and high, by bisection for the sign change of its slope."""
    for _ in range(MAX_SEARCH_STEPS // 2):
        middle = 0.5 * (low + high)
        is_beyond = rows.slopes(middle) >= 0
        low, high = np.where(is_beyond, low, middle), np.where(is_beyond, middle, high)
    return high


def _nearest_points(features: Matrix, predictions: Vector, domain: Domain) -> Matrix:
    r"""The points of the domain nearest to its centre that have the given predictions.

    For :math:`\langle a, x \rangle = z` they are, by Lagrange, :math:`x(\lambda) = \Pi_X[c +
    \lambda a]`, where :math:`\langle a, x(\lambda) \rangle` does not decrease in λ. A projection
    does not increase distances, so that :math:`\lambda = \langle a, x - c \rangle / \|a\|^2` is
    never too large, and it is exact where c + λ a lies in the domain.
    """
    squares = np.einsum("ij,ij->i", features, features)
    lengths = np.sqrt(squares)
    offsets = predictions - features @ domain.center
    directions, wanted = np.sign(offsets)[:, None] * features, np.abs(offsets)
    rounding = (
        4 * np.finfo(np.float64).eps * lengths * (domain.diameter + np.linalg.norm(domain.center))
    )

    points = np.tile(domain.center, (len(features), 1))
    # The bracket of λ, and by how much the prediction exceeds the wanted one at its ends.
    low, high = np.zeros(len(features)), np.full(len(features), np.inf)
    excess_low, excess_high = -wanted, np.full(len(features), np.inf)
    trial = np.divide(wanted, squares, out=np.zeros_like(wanted), where=squares > 0)
    i = np.flatnonzero(wanted > 0)
    for search_step in range(MAX_SEARCH_STEPS):
        if not len(i):
            break
        points[i] = domain.project(domain.center + trial[i, None] * directions[i])
        excess = np.einsum("ij,ij->i", directions[i], points[i] - domain.center) - wanted[i]
        is_short = excess < 0
        low[i] = np.where(is_short, trial[i], low[i])
        excess_low[i] = np.where(is_short, excess, excess_low[i])
        high[i] = np.where(is_short, high[i], trial[i])
        excess_high[i] = np.where(is_short, excess_high[i], excess)
        i = i[np.abs(excess) > rounding[i]]
        trial[i] = _next_trial(low[i], high[i], excess_low[i], excess_high[i], search_step)
    return points


def _next_trial(
    low: Array, high: Array, excess_low: Array, excess_high: Array, search_step: int
) -> Array:
    """Next λ: doubled while there is no upper end, then in turn the middle and the secant.

    The secant is exact wherever x(λ) is affine, which is nearly everywhere for boxes and simplices.
    """
    is_open = np.isinf(high)
    finite_high = np.where(is_open, low, high)
    finite_excess = np.where(is_open, 1.0, excess_high)
    fraction = -excess_low / (finite_excess - excess_low) if search_step % 2 else 0.5
    return np.where(is_open, 2.0 * low, low + fraction * (finite_high - low))
