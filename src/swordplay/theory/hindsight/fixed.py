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
"""Default of the largest relative gap, as :func:`best_fixed` defines it."""
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
        Largest gap, as a fraction of :math:`S = D \sum_t \|\nabla f_t(c)\|` with c the centre of
        the domain. The total loss at c exceeds the smallest one by at most S. Rounding errors of
        the sums may add to the gap.

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
    (sums,) = sums_over_blocks(losses, domain, None)  # one block of all rounds
    minima = descent.minimize(sums, domain, tolerance, STEPS_BEFORE_NEWTON)
    if (
        not minima.all_within_tolerance
        and (point := _minimize_by_newton(losses, domain, tolerance)) is not None
    ):
        return point
    if not minima.all_within_tolerance:
        minima = descent.minimize(sums, domain, tolerance, MAX_STEPS)
    if not minima.all_within_tolerance:
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
        One row per round, shape ``(T, d)``, equal within a block and in the domain. The relative
        gap of each is at most ``TOLERANCE``, or what ``MAX_STEPS`` descent steps leave.
    """
    domain, length = arguments.domain(domain), arguments.integer("length", length)
    losses = stream if isinstance(stream, LinearStream) else list(arguments.stream(stream))
    points: list[Vector] = []
    for batch in sums_over_blocks(losses, domain, length):  # the sums of many blocks
        minima = descent.minimize(batch, domain, TOLERANCE, STEPS_BEFORE_NEWTON)
        # all_within_tolerance is one flag for the batch, with slack for rounding; is_hard has none.
        is_hard = minima.gaps > TOLERANCE * domain.diameter * batch.center_gradient_norm_sums
        for k, point in enumerate(minima.points):
            start = len(points) * length
            points.append(
                _minimize_hard_block(batch, k, losses[start : start + length], domain)
                if is_hard[k] and not minima.all_within_tolerance
                else point
            )
    return np.repeat(points, length, axis=0)[: len(losses)]


def _minimize_hard_block(batch: BlockSums, k: int, block_losses: Any, domain: Domain) -> Vector:
    """The best decision of block k of a batch, whose gap is too large after the first steps."""
    point = _minimize_by_newton(block_losses, domain, TOLERANCE)
    if point is None:
        block_sum = batch.select(np.array([k]))
        point = descent.minimize(block_sum, domain, TOLERANCE, MAX_STEPS).points[0]
    return np.asarray(point)


def _minimize_by_newton(stream: Iterable[Loss], domain: Domain, tolerance: float) -> Vector | None:
    """The best fixed decision by the interior-point method, shape ``(d,)``.

    Used where descent stalls, because losses are steep or of very different sizes. Returns None if
    the method does not apply or the gap of its result is not within the tolerance.
    """
    problem = Problem(stream, domain, tolerance)
    if (
        not problem.coordinates.describes_domain_exactly
        or not 0 < problem.coordinates.dim <= MAX_NEWTON_DIM
    ):
        return None
    # All rounds form one block, so there are no moves to be penalised.
    block_starts, unused_penalty = np.zeros(1, dtype=int), 1.0
    block_losses = BlockLosses(problem.losses, block_starts)
    solution = interior_point.solve(
        block_losses, problem.coordinates, unused_penalty, problem.target_gap
    )
    if solution.gap > problem.target_gap:
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
    # None unless all losses are of a linear prediction, in one family
    linear_rounds = LinearRounds.of_losses(losses) if losses else None
    return (
        block_minimizers(losses, domain, 1)
        if linear_rounds is None
        else _nearest_minimizers(linear_rounds, domain)
    )


@_minimizers.register
def _(stream: LinearStream, domain: Domain) -> Matrix:
    require_nonempty(len(stream))
    return _nearest_minimizers(LinearRounds.of_stream(stream).dense(), domain)


def _nearest_minimizers(rows: LinearRounds, domain: Domain) -> Matrix:
    """For each row, the point nearest to the centre among the points of least loss."""
    require_dim(rows.dim, domain)
    predictions = _best_predictions(
        rows, -domain.support(-rows.features), domain.support(rows.features)
    )
    return _nearest_points(rows.features, predictions, domain)


def _best_predictions(rows: LinearRounds, low: Vector, high: Vector) -> Vector:
    """For each row, the prediction between low and high with the least loss.

    Found by bisection for the sign change of the loss's slope.
    """
    for _ in range(MAX_SEARCH_STEPS // 2):
        middle = 0.5 * (low + high)
        is_rising = rows.slopes(middle) >= 0
        low, high = np.where(is_rising, low, middle), np.where(is_rising, middle, high)
    return high


def _nearest_points(features: Matrix, predictions: Vector, domain: Domain) -> Matrix:
    r"""The points of the domain nearest to its centre that have the given predictions.

    For :math:`\langle a, x \rangle = z` they are, by Lagrange, :math:`x(\lambda) = \Pi_X[c +
    \lambda a]`, where :math:`\langle a, x(\lambda) \rangle` does not decrease in λ. A projection
    does not increase distances, so :math:`\lambda = (z - \langle a, c \rangle) / \|a\|^2` is
    never too large, and it is exact if c + λ a lies in the domain.
    """
    squared_norms = np.einsum("ij,ij->i", features, features)
    feature_norms = np.sqrt(squared_norms)
    offsets = predictions - features @ domain.center
    # Flip the signs of rows so that all offsets, and all λ, are non-negative.
    directions, wanted_offsets = np.sign(offsets)[:, None] * features, np.abs(offsets)
    rounding = (
        4
        * np.finfo(np.float64).eps
        * feature_norms
        * (domain.diameter + np.linalg.norm(domain.center))
    )

    points = np.tile(domain.center, (len(features), 1))
    # The bracket of λ, and at its ends the difference between the prediction and the wanted one.
    low, high = np.zeros(len(features)), np.full(len(features), np.inf)
    excess_low, excess_high = -wanted_offsets, np.full(len(features), np.inf)
    trial_lambda = np.divide(
        wanted_offsets, squared_norms, out=np.zeros_like(wanted_offsets), where=squared_norms > 0
    )
    # Indices of the rows still searched: at first all whose point is not the centre, later those
    # whose prediction differs from the wanted one by more than rounding error.
    open_rows = np.flatnonzero(wanted_offsets > 0)
    for search_step in range(MAX_SEARCH_STEPS):
        if not len(open_rows):
            break
        points[open_rows] = domain.project(
            domain.center + trial_lambda[open_rows, None] * directions[open_rows]
        )
        excess = (
            np.einsum("ij,ij->i", directions[open_rows], points[open_rows] - domain.center)
            - wanted_offsets[open_rows]
        )
        is_too_small = excess < 0
        low[open_rows] = np.where(is_too_small, trial_lambda[open_rows], low[open_rows])
        excess_low[open_rows] = np.where(is_too_small, excess, excess_low[open_rows])
        high[open_rows] = np.where(is_too_small, high[open_rows], trial_lambda[open_rows])
        excess_high[open_rows] = np.where(is_too_small, excess_high[open_rows], excess)
        open_rows = open_rows[np.abs(excess) > rounding[open_rows]]
        trial_lambda[open_rows] = _next_lambda(
            low[open_rows],
            high[open_rows],
            excess_low[open_rows],
            excess_high[open_rows],
            search_step,
        )
    return points


def _next_lambda(
    low: Array, high: Array, excess_low: Array, excess_high: Array, search_step: int
) -> Array:
    """Next λ: twice the lower end while there is no upper end, then middle and secant in turn.

    The secant is exact wherever x(λ) is affine, which is nearly everywhere for boxes and simplices.
    """
    is_unbounded = np.isinf(high)
    # Any finite numbers in place of the infinite ones, whose results are not used.
    finite_high = np.where(is_unbounded, low, high)
    finite_excess = np.where(is_unbounded, 1.0, excess_high)
    fraction = -excess_low / (finite_excess - excess_low) if search_step % 2 else 0.5
    return np.where(is_unbounded, 2.0 * low, low + fraction * (finite_high - low))
