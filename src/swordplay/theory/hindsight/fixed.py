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
from swordplay.theory.hindsight.losses_in_domain import require_dim, require_nonempty
from swordplay.theory.hindsight.sequence import Problem

TOLERANCE = 1e-9
"""Default of the tolerance, the largest relative gap (see :func:`best_fixed`)."""
STEPS_BEFORE_NEWTON = 1_000
"""Descent steps before Newton's method is tried.

Most problems need fewer; features of very different sizes need more.
"""
MAX_STEPS = 20_000
"""Most descent steps."""
MAX_NEWTON_DIM = 1000
"""Largest dimension for Newton's method; a step then takes seconds."""
MAX_SEARCH_STEPS = 128
"""Most steps of a one-dimensional search, which alternates between halving and a secant step.

64 halvings use up the digits of a double.
"""


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
        Largest gap, as a fraction of :math:`D \sum_t \|\nabla f_t(c)\|` with c the centre of the
        domain: nowhere in the domain is the total loss lower than at c by more than that number.
        Rounding errors of the sums may add to the gap.

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
    minima = descent.minimize(sums, domain, tolerance, STEPS_BEFORE_NEWTON)
    if (
        not minima.is_within_tolerance
        and (point := _minimize_by_newton(losses, domain, tolerance)) is not None
    ):
        return point
    if not minima.is_within_tolerance:
        minima = descent.minimize(sums, domain, tolerance, MAX_STEPS)
    if not minima.is_within_tolerance:
        raise RuntimeError(
            f"best_fixed stopped after {MAX_STEPS} steps with a certified gap of "
            f"{minima.gaps[0]:.3g}, not within tolerance={tolerance}. Give a larger tolerance, or "
            "bring the features to similar scales."
        )
    return np.asarray(minima.points[0])


def gap(stream: Iterable[Loss], domain: Domain, point: Any) -> float:
    r"""Upper bound on how much the total loss of a point exceeds that of the best fixed decision.

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
            "Project it first."
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
    losses = stream if isinstance(stream, LinearStream) else list(arguments.stream(stream))
    points: list[Vector] = []
    for sums in sums_over_blocks(losses, domain, length):
        minima = descent.minimize(sums, domain, TOLERANCE, STEPS_BEFORE_NEWTON)
        is_hard = minima.gaps > TOLERANCE * domain.diameter * sums.gradient_norms
        for k, point in enumerate(minima.points):
            begin = len(points) * length
            points.append(
                _minimize_hard_block(sums, k, losses[begin : begin + length], domain)
                if is_hard[k] and not minima.is_within_tolerance
                else point
            )
    return np.repeat(points, length, axis=0)[: len(losses)]


def _minimize_hard_block(sums: BlockSums, k: int, losses: Any, domain: Domain) -> Vector:
    """The best decision of block k, whose gap is too large after the first descent steps."""
    point = _minimize_by_newton(losses, domain, TOLERANCE)
    if point is None:
        point = descent.minimize(sums.select(np.array([k])), domain, TOLERANCE, MAX_STEPS).points[0]
    return np.asarray(point)


def _minimize_by_newton(stream: Iterable[Loss], domain: Domain, tolerance: float) -> Vector | None:
    """The best fixed decision by the interior-point method, shape ``(d,)``.

    It is for losses so steep or so uneven that descent stalls. None if the method does not apply
    or the gap of its result is not within the tolerance.
    """
    problem = Problem(stream, domain, tolerance)
    if not problem.coordinates.is_exact or not 0 < problem.coordinates.dim <= MAX_NEWTON_DIM:
        return None
    # All rounds form one block, so there are no moves, and the penalty (1.0) does not matter.
    sums = BlockLosses(problem.losses, np.zeros(1, dtype=int))
    solution = interior_point.solve(sums, problem.coordinates, 1.0, problem.target)
    if solution.gap > problem.target:
        return None
    return np.asarray(problem.coordinates.to_points(solution.points)[0])


def minimizers(stream: Iterable[Loss], domain: Domain) -> Matrix:
    r"""A minimiser of each single loss, the comparators of worst-case dynamic regret.

    .. math:: u_t \in \arg\min_{x \in X} f_t(x)

    A loss of a linear prediction has many minimisers: the one nearest to the domain's centre is
    returned. For other losses it is the minimiser that descent from the centre reaches.

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
    require_nonempty(len(stream))
    return _nearest_minimizers(LinearRounds.of_stream(stream).dense(), domain)


def _nearest_minimizers(rows: LinearRounds, domain: Domain) -> Matrix:
    """For each row, the point nearest to the centre among those of least loss."""
    require_dim(rows.dim, domain)
    best = _best_predictions(rows, -domain.support(-rows.features), domain.support(rows.features))
    return _nearest_points(rows.features, best, domain)


def _best_predictions(rows: LinearRounds, low: Vector, high: Vector) -> Vector:
    """For each row, the prediction between low and high with the least loss.

    Found by bisection for the sign change of the loss's slope.
    """
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
    squared_norms = np.einsum("ij,ij->i", features, features)
    feature_norms = np.sqrt(squared_norms)
    offsets = predictions - features @ domain.center
    directions, wanted_offsets = np.sign(offsets)[:, None] * features, np.abs(offsets)
    rounding = (
        4
        * np.finfo(np.float64).eps
        * feature_norms
        * (domain.diameter + np.linalg.norm(domain.center))
    )

    points = np.tile(domain.center, (len(features), 1))
    # The bracket of λ, and by how much the prediction exceeds the wanted one at the bracket's ends.
    low, high = np.zeros(len(features)), np.full(len(features), np.inf)
    excess_low, excess_high = -wanted_offsets, np.full(len(features), np.inf)
    trial = np.divide(
        wanted_offsets, squared_norms, out=np.zeros_like(wanted_offsets), where=squared_norms > 0
    )
    # Indices of the rows whose prediction is still off by more than rounding error.
    open_rows = np.flatnonzero(wanted_offsets > 0)
    for search_step in range(MAX_SEARCH_STEPS):
        if not len(open_rows):
            break
        points[open_rows] = domain.project(
            domain.center + trial[open_rows, None] * directions[open_rows]
        )
        excess = (
            np.einsum("ij,ij->i", directions[open_rows], points[open_rows] - domain.center)
            - wanted_offsets[open_rows]
        )
        is_short = excess < 0
        low[open_rows] = np.where(is_short, trial[open_rows], low[open_rows])
        excess_low[open_rows] = np.where(is_short, excess, excess_low[open_rows])
        high[open_rows] = np.where(is_short, high[open_rows], trial[open_rows])
        excess_high[open_rows] = np.where(is_short, excess_high[open_rows], excess)
        open_rows = open_rows[np.abs(excess) > rounding[open_rows]]
        trial[open_rows] = _next_trial(
            low[open_rows],
            high[open_rows],
            excess_low[open_rows],
            excess_high[open_rows],
            search_step,
        )
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
