"""The best comparator sequence for a penalty on, or a budget of, path length; the frontier.

- :func:`best_sequence`: the best sequence for one penalty, or for one budget.
- :func:`frontier`: the least loss as a function of the path length.
- :class:`Problem`: one stream and one domain, solved for any penalty by the method that fits it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Domain, Loss, Matrix, Vector
from swordplay.parts.domains import enclosing_ball
from swordplay.parts.streams.linear import row_products
from swordplay.theory.hindsight import blocks, interior_point, one_dimension, unknown_domains
from swordplay.theory.hindsight.cones import row_norms
from swordplay.theory.hindsight.duality import Progress, Solution
from swordplay.theory.hindsight.losses_in_domain import (
    BlackBoxLosses,
    coordinates_of,
    losses_in_coordinates,
    require_nonempty,
)

TOLERANCE = 1e-7
"""Default tolerance: the largest gap, as a fraction of :attr:`Problem.scale`."""
PROJECTION_TOLERANCE = 1e-5
"""Default tolerance for domains known only by a projection and a support function."""
ROUNDING = 1e-13
"""Relative rounding error of sums over the rounds; no gap can be smaller."""
CONVEXITY_TOLERANCE = 1e-7
"""Depth below a tangent that counts as rounding, relative to the size of value and gradient."""
MAX_PENALTIES = 60
"""Most penalties that are tried for one budget; about ten are usual."""
GAP_FRACTION = 0.25
"""Each penalty is solved to this fraction of the target gap, as gaps of two points add up."""
MAX_PENALTY_RAISES = 12
"""Most times that the penalty is raised tenfold until no comparator moves; once is usual."""
LONGEST_STATIONARY_PATH = 1e-9
"""Longest path, in diameters, of a sequence that counts as one that does not move."""


class OutOfTime(RuntimeError):
    """The time limit was reached before there was a result."""


class BestSequence(NamedTuple):
    """The best comparator sequence, its loss and path length, and its certified gap."""

    comparators: Matrix
    """u_t, shape ``(T, d)``, all in the domain."""
    loss: float
    r""":math:`\sum_t f_t(u_t)`."""
    path_length: float
    r""":math:`\sum_t \|u_t - u_{t-1}\|`."""
    penalty: float
    """λ, the cost of a unit of path. For a budget: the loss that one more unit would save."""
    gap: float
    """Certified: no sequence has loss + λ * path length more than this below that of this one.

    For a budget, no sequence within the budget has a loss more than this below.
    """


def best_sequence(
    stream: Iterable[Loss],
    domain: Domain,
    *,
    path_length: float | None = None,
    penalty: float | None = None,
    tolerance: float | None = None,
    progress: Progress | None = None,
) -> BestSequence:
    r"""The best of all comparator sequences for a budget of path length, or for a penalty on it.

    .. math:: \min_{u_1, \dots, u_T \in X} \sum_t f_t(u_t) + \lambda \sum_{t \ge 2} \|u_t -
        u_{t-1}\| \qquad \text{or} \qquad \min \sum_t f_t(u_t) \ \text{ with } \ \sum_{t \ge 2}
        \|u_t - u_{t-1}\| \le P

    In one dimension the result is exact up to rounding; in more dimensions a second-order method
    stops at the tolerance. In both cases the gap is certified: it is computed from the result alone
    and does not depend on the method.

    Parameters
    ----------
    stream
        The losses, convex and smooth; a finite stream.
    domain
        X: a ball, a box or a simplex, or, more slowly, any domain with a projection and a support
        function.
    path_length
        The budget P >= 0. Give this or ``penalty``.
    penalty
        λ > 0.
    tolerance
        Largest gap, as a fraction of the scale :math:`D \sum_t \|\nabla f_t(c)\|` with c the
        centre of the domain: no sequence has a total loss lower than at c by more than this scale.
        Default 1e-7, or 1e-5 for domains with only a projection and a support function. Rounding
        may add 1e-13 of the losses at the centre and of their range over the domain.
    progress
        Called regularly with the steps done, the most steps that may be needed, and a label.

    Returns
    -------
    BestSequence
        Comparators, loss, path length, penalty and gap.

    Raises
    ------
    RuntimeError
        If the gap remains larger than the tolerance, or a loss is found not to be convex.

    Examples
    --------
    >>> import swordplay as sp
    >>> stream = sp.LinearStream([[1.0]] * 4, [0.0, 0.0, 1.0, 1.0])
    >>> best = best_sequence(stream, sp.Ball(1), path_length=0.5)
    >>> best.comparators.ravel().round(6).tolist(), round(best.loss, 6), round(best.penalty, 6)
    ([0.25, 0.25, 0.75, 0.75], 0.125, 0.5)
    """
    if (path_length is None) == (penalty is None):
        received = "neither" if penalty is None else "both"
        raise ValueError(
            f"best_sequence needs path_length or penalty, got {received}. Give one of the two."
        )
    if penalty is not None:
        penalty = arguments.positive("penalty", penalty)
        problem = Problem(stream, domain, tolerance)
        best = frontier_point(problem, penalty, problem.solve(penalty, progress))
        return _to_best_sequence(problem, best, best.gap)
    budget = arguments.nonnegative("path_length", path_length)
    return _within_budget(Problem(stream, domain, tolerance), budget, progress)


@dataclass(frozen=True)
class Frontier:
    r"""Upper and lower bounds on the least loss as a function of the path length.

    .. math:: P \mapsto \min \Big\{\sum_t f_t(u_t) : \sum_t \|u_t - u_{t-1}\| \le P\Big\}

    This curve is convex and does not increase. Computed points lie on it up to their gaps. Between
    them, chords bound it from above, and lines of slope -λ through each point, lowered by its gap,
    bound it from below.

    Attributes
    ----------
    path_lengths, losses
        The computed points, shape ``(K,)`` each: from the best comparator that does not move (path
        length 0) to a sequence that is nearly the best of each round.
    penalties
        λ at each point: the loss that a unit of path saves there.
    gaps
        Largest distance of each point above the curve.
    """

    path_lengths: Vector
    losses: Vector
    penalties: Vector
    gaps: Vector

    @property
    def hull(self) -> tuple[Vector, Vector]:
        """Corners of the convex hull of the computed points: path lengths and losses.

        The hull is an upper bound on the curve.
        """
        losses_so_far = np.minimum.accumulate(self.losses)
        points = sorted(zip(self.path_lengths.tolist(), losses_so_far.tolist(), strict=True))
        corners: list[tuple[float, float]] = []  # path length and loss
        for point in points:
            # A point on or above the chord from the corner before it to the new point is no corner.
            while len(corners) > 1 and _is_above_chord(corners[-2], corners[-1], point):
                corners.pop()
            corners.append(point)
        path_lengths, losses = zip(*corners, strict=True)
        return np.array(path_lengths), np.array(losses)

    def least_loss(self, path_length: Any) -> Array:
        """Upper bound: a loss that some sequence of at most that path length has.

        The result has the shape of the argument.
        """
        return np.interp(_path_lengths(path_length), *self.hull)

    def lower_bound(self, path_length: Any) -> Array:
        """Lower bound: no sequence of at most that path length has a smaller loss.

        The result has the shape of the argument.
        """
        P, certified_losses = _path_lengths(path_length), self.losses - self.gaps
        return np.asarray(
            (certified_losses + self.penalties * (self.path_lengths - P[..., None])).max(axis=-1)
        )


def frontier(
    stream: Iterable[Loss],
    domain: Domain,
    *,
    points: int = 12,
    tolerance: float | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Frontier:
    r"""The least loss of all comparator sequences, as a function of their path length.

    The two ends are computed first. Each further penalty is chosen where the bounds from above and
    from below are farthest apart. The search stops early if they are within the tolerance.

    Parameters
    ----------
    stream, domain, tolerance, progress
        As in :func:`best_sequence`.
    points
        Largest number of points to compute, 2 or more.
    seconds
        Longest time to take; None for no limit. When it is over, the result has the points
        computed so far, and wider gaps between them.

    Returns
    -------
    Frontier
        The curve, bounded from above and from below.

    Raises
    ------
    OutOfTime
        If the seconds are over before both ends are computed.
    RuntimeError
        As in :func:`best_sequence`.

    Examples
    --------
    >>> import swordplay as sp
    >>> stream = sp.LinearStream([[1.0]] * 4, [0.0, 0.0, 1.0, 1.0])
    >>> curve = frontier(stream, sp.Ball(1))
    >>> curve.least_loss([0.0, 0.5, 1.0]).round(2).tolist()
    [0.5, 0.13, 0.0]
    """
    max_points = arguments.integer("points", points, least=2)
    deadline = (
        math.inf if seconds is None else time.monotonic() + arguments.positive("seconds", seconds)
    )
    problem = Problem(stream, domain, tolerance, deadline=deadline)
    computed_points = [_without_comparators(stationary_end(problem, GAP_FRACTION))]
    if progress is not None:
        progress(1, max_points, "path length 0")
    if problem.move_count == 0:  # a single round: there is no path
        (point,) = computed_points
        return Frontier(np.zeros(1), np.array([point.loss]), np.zeros(1), np.array([point.gap]))
    computed_points.append(_without_comparators(unpenalised_end(problem, GAP_FRACTION)))
    _add_points(computed_points, problem, max_points, progress)
    return Frontier(
        path_lengths=np.array([point.path_length for point in computed_points]),
        losses=np.array([point.loss for point in computed_points]),
        penalties=np.array([point.penalty for point in computed_points]),
        gaps=np.array([point.gap for point in computed_points]),
    )


class Problem:
    r"""Minimise :math:`\sum_t f_t(u_t) + \lambda \sum_t \|u_t - u_{t-1}\|` for any penalty λ.

    Parameters
    ----------
    stream, domain, tolerance
        As in :func:`best_sequence`.
    deadline
        Value of ``time.monotonic()`` at which :meth:`solve` raises :class:`OutOfTime`.

    Attributes
    ----------
    losses, coordinates
        The losses as functions of coordinates of the domain, and these coordinates.
    rounds
        T, the number of losses.
    scale
        :math:`D \sum_t \|\nabla f_t(c)\|`, the most by which the losses can fall below their value
        at the centre.
    target_gap
        The largest gap that a solution may have.
    """

    def __init__(
        self,
        stream: Iterable[Loss],
        domain: Domain,
        tolerance: float | None,
        *,
        deadline: float = math.inf,
    ) -> None:
        self.deadline = deadline
        domain = arguments.domain(domain)
        if not domain.contains(domain.center, atol=1e-9 * domain.diameter):
            raise ValueError(
                "domain.center must lie in the domain, got "
                f"{arguments.short_repr(domain.center.tolist())}."
            )
        self.coordinates = coordinates_of(domain)
        is_exact = self.coordinates.describes_domain_exactly
        default_tolerance = (
            TOLERANCE if is_exact or self.coordinates.dim == 1 else PROJECTION_TOLERANCE
        )
        self.tolerance = (
            default_tolerance if tolerance is None else arguments.positive("tolerance", tolerance)
        )
        # The method for unknown domains evaluates the losses outside of the domain too: in a ball
        # that encloses it.
        self.losses = losses_in_coordinates(
            stream, self.coordinates if is_exact else coordinates_of(enclosing_ball(domain))
        )
        self.rounds = len(self.losses.features)
        require_nonempty(self.rounds)
        # Solutions for successive penalties are similar, so the next one starts from the last one's
        # blocks.
        self._first_rounds_of_blocks: Any = None
        center = np.zeros((self.rounds, self.coordinates.dim))
        gradients = self.losses.gradients(center)
        self.scale = domain.diameter * float(row_norms(gradients).sum())
        # The size of the numbers that are summed determines rounding errors. It is estimated from
        # values at the centre, and from gradients at the two ends of the first axis and at boundary
        # points where losses are likely to be steepest.
        first_axis_ends = self._axis_ends[[0, self.coordinates.dim]]
        trial_points = [
            *(np.tile(end, (self.rounds, 1)) for end in first_axis_ends),
            self._uphill_points(gradients),
        ]
        gradients_at_trials = (self.losses.gradients(trial) for trial in trial_points)
        summand_size = domain.diameter * max(
            float(np.abs(g).sum()) for g in gradients_at_trials
        ) + float(np.abs(self.losses.values(center)).sum())
        self.target_gap = self.tolerance * self.scale + ROUNDING * (self.scale + summand_size)

    @property
    def move_count(self) -> int:
        """T - 1, the number of moves of a sequence."""
        return self.rounds - 1

    @property
    def longest_path(self) -> float:
        """Upper bound on the length of any path: the diameter in every move."""
        return self.coordinates.domain.diameter * self.move_count

    def solve(
        self, penalty: float, progress: Progress | None = None, gap_fraction: float = 1.0
    ) -> Solution:
        """The best sequence for a penalty, with a gap of at most ``gap_fraction * target_gap``.

        Raises :class:`OutOfTime` after the deadline and RuntimeError if the gap remains larger.
        """
        target_gap, progress = gap_fraction * self.target_gap, self._with_deadline(progress)
        losses, coordinates = self.losses, self.coordinates
        if coordinates.dim == 1:
            solution = one_dimension.solve(losses, coordinates, penalty, progress)
        elif coordinates.describes_domain_exactly and blocks.needs_blocks(losses):
            solution = blocks.solve(
                losses, coordinates, penalty, target_gap, progress, self._first_rounds_of_blocks
            )
            self._first_rounds_of_blocks = blocks.block_starts(
                solution.points, coordinates.domain.diameter
            )
        elif coordinates.describes_domain_exactly:
            solution = interior_point.solve(losses, coordinates, penalty, target_gap, progress)
        else:
            solution = unknown_domains.solve(losses, coordinates, penalty, target_gap, progress)
        if isinstance(losses, BlackBoxLosses):
            self._require_convex(losses, solution.points)
        if not solution.gap <= target_gap:
            raise RuntimeError(
                f"hindsight stopped with a certified gap of {solution.gap:.3g} at "
                f"penalty={penalty:.3g}, not within "
                f"tolerance={self.tolerance:g} ({target_gap:.3g}). Give a larger tolerance; or are "
                "the losses not smooth "
                "and convex on the domain?"
            )
        return solution

    def _with_deadline(self, progress: Progress | None) -> Progress:
        """A callback that raises OutOfTime after the deadline and else calls ``progress``."""

        def report_or_stop(done: int, planned: int, label: str) -> None:
            if time.monotonic() > self.deadline:
                raise OutOfTime(
                    f"hindsight ran out of time ({label}). Give more seconds, fewer rounds or "
                    "fewer columns."
                )
            if progress is not None:
                progress(done, planned, label)

        return report_or_stop

    def _require_convex(self, losses: BlackBoxLosses, points: Matrix) -> None:
        """Raise RuntimeError if a loss lies below one of its tangents: its gap would be invalid.

        Tangents at the comparators are compared with values at the centre, at the comparators of
        neighbouring rounds and on the boundary.
        """
        values, gradients = losses.values(points), losses.gradients(points)
        slack = CONVEXITY_TOLERANCE * (self.scale / len(points) + np.abs(values))
        axis_ends = (np.broadcast_to(end, points.shape) for end in self._axis_ends)
        center = np.zeros_like(points)
        neighbours = np.roll(points, 1, axis=0), np.roll(points, -1, axis=0)
        for trial_points in (center, *neighbours, *axis_ends):
            depth_below = (
                values
                + row_products(gradients, trial_points - points)
                - losses.values(trial_points)
            )
            if (depth_below > slack).any():
                t = int(np.argmax(depth_below - slack))
                trial_point = self.coordinates.to_points(trial_points[t]).tolist()
                tangent_point = self.coordinates.to_points(points[t]).tolist()
                raise RuntimeError(
                    f"the loss of round {t + 1} is not convex: at "
                    f"{arguments.short_repr(trial_point)} it lies {depth_below[t]:.3g} below its "
                    f"tangent at {arguments.short_repr(tangent_point)}. "
                    "Hindsight can only be certified for convex losses."
                )

    def _uphill_points(self, gradients: Matrix) -> Matrix:
        """Boundary points in the directions of the gradients, shape ``(T, n)``."""
        # A direction has a largest entry of 1, so D times it lies outside of the domain.
        largest = np.abs(gradients).max(axis=1, keepdims=True)
        directions = np.divide(
            gradients, largest, out=np.zeros_like(gradients), where=largest > 0.0
        )
        far_points = self.coordinates.domain.diameter * directions
        return self.coordinates.project(far_points)

    @property
    def _axis_ends(self) -> Matrix:
        """Boundary points along the axes, first all positive, then all negative, ``(2 n, n)``."""
        axes = self.coordinates.domain.diameter * np.eye(self.coordinates.dim)
        far_points = np.concatenate([axes, -axes])
        return self.coordinates.project(far_points)


class FrontierPoint(NamedTuple):
    """A computed point of the frontier, with a line that lies below the whole frontier."""

    penalty: float
    comparators: Matrix
    """u_t in coordinates of the domain, shape ``(T, n)``."""
    loss: float
    path_length: float
    bound: float
    r"""No sequence has a smaller :math:`\sum_t f_t(u_t) + \lambda P`."""

    @property
    def gap(self) -> float:
        """Largest distance above the frontier; rounding cannot make it negative."""
        return max(0.0, self.loss - self.lower_bound(self.path_length))

    def lower_bound(self, path_length: float) -> float:
        """No sequence of at most this path length has a smaller loss."""
        return self.bound - self.penalty * path_length


def frontier_point(problem: Problem, penalty: float, solution: Solution) -> FrontierPoint:
    """The frontier point of the solution for a penalty."""
    loss, path_length = _loss_and_path_length(problem, solution.points)
    return FrontierPoint(penalty, solution.points, loss, path_length, solution.bound)


def stationary_end(problem: Problem, gap_fraction: float) -> FrontierPoint:
    """Left end: the best comparator that does not move, and the penalty from which it is best."""
    diameter = problem.coordinates.domain.diameter
    # Norms of dual variables rarely exceed the sum of the norms of all gradients at the centre.
    # If all gradients are 0, any positive penalty does.
    penalty = problem.scale / diameter or 1.0
    for _ in range(MAX_PENALTY_RAISES):
        solution = problem.solve(penalty, gap_fraction=gap_fraction)
        _, path_length = _loss_and_path_length(problem, solution.points)
        if path_length <= LONGEST_STATIONARY_PATH * diameter:
            break
        penalty *= 10.0
    # The dual variables prove their bound for every penalty of at least their largest norm.
    longest_dual = float(row_norms(solution.duals).max(initial=0.0)) or penalty
    comparators = np.tile(solution.points.mean(axis=0), (len(solution.points), 1))
    loss = float(problem.losses.values(comparators).sum())
    return FrontierPoint(longest_dual, comparators, loss, path_length=0.0, bound=solution.bound)


def unpenalised_end(problem: Problem, gap_fraction: float) -> FrontierPoint:
    """Right end: a sequence with nearly the least loss of all, and a short path for that loss."""
    penalty = gap_fraction * problem.target_gap / problem.longest_path
    return frontier_point(problem, penalty, problem.solve(penalty, gap_fraction=gap_fraction))


def next_penalty(left: FrontierPoint, right: FrontierPoint) -> float:
    """A penalty whose point lies between two others: the slope of their chord.

    If rounding error moves the slope out of the range of the two penalties, their geometric mean is
    returned.
    """
    slope = (left.loss - right.loss) / max(
        right.path_length - left.path_length, np.finfo(np.float64).tiny
    )
    return (
        slope if right.penalty < slope < left.penalty else math.sqrt(left.penalty * right.penalty)
    )


def _within_budget(problem: Problem, budget: float, progress: Progress | None) -> BestSequence:
    """The best sequence within a budget: a mixture of two frontier points, one on each side of it.

    Further points are computed between the two, so that both approach the budget.
    """
    # `tightest` is the point whose line is the largest lower bound at the budget.
    left = tightest = stationary_end(problem, GAP_FRACTION)
    right = (
        left if budget == 0.0 or problem.move_count == 0 else unpenalised_end(problem, GAP_FRACTION)
    )
    usable_budget = min(budget, problem.longest_path)
    for penalty_count in range(1, MAX_PENALTIES + 1):
        tightest = max(tightest, left, right, key=lambda point: point.lower_bound(usable_budget))
        if right.path_length <= budget:
            best = right
        else:
            fraction = (budget - left.path_length) / (right.path_length - left.path_length)
            comparators = (1.0 - fraction) * left.comparators + fraction * right.comparators
            loss, path_length = _loss_and_path_length(problem, comparators)
            best = FrontierPoint(tightest.penalty, comparators, loss, path_length, tightest.bound)
        gap = max(0.0, best.loss - tightest.lower_bound(usable_budget))
        if progress is not None:
            progress(penalty_count, MAX_PENALTIES, f"penalty {tightest.penalty:.3g}, gap {gap:.1e}")
        if gap <= problem.target_gap:
            return _to_best_sequence(problem, best._replace(penalty=tightest.penalty), gap)
        penalty = next_penalty(left, right)
        solution = problem.solve(penalty, gap_fraction=GAP_FRACTION)
        middle = frontier_point(problem, penalty, solution)
        left, right = (left, middle) if middle.path_length > budget else (middle, right)
    raise RuntimeError(
        f"best_sequence tried {MAX_PENALTIES} penalties for path_length={budget:g} and has a "
        f"certified gap of {gap:.3g} left. "
        "Give a larger tolerance."
    )


def _add_points(
    computed_points: list[FrontierPoint],
    problem: Problem,
    max_points: int,
    progress: Progress | None,
) -> None:
    """Add points where the frontier is least certain, in order of their path lengths.

    Stops at ``max_points`` points, at the deadline, or if the uncertainty is within the target gap.
    """
    while True:
        if progress is not None:
            progress(
                len(computed_points),
                max_points,
                f"path length {computed_points[-1].path_length:.3g}",
            )
        left, right = max(pairwise(computed_points), key=_uncertainty)
        if len(computed_points) >= max_points or _uncertainty((left, right)) <= problem.target_gap:
            return
        penalty = next_penalty(left, right)
        try:
            solution = problem.solve(penalty, gap_fraction=GAP_FRACTION)
        except OutOfTime:
            return
        computed_points.append(_without_comparators(frontier_point(problem, penalty, solution)))
        computed_points.sort(key=lambda point: (-point.penalty, point.path_length))


def _uncertainty(neighbours: tuple[FrontierPoint, FrontierPoint]) -> float:
    """Largest distance between the chord of two points and their two lower bounds.

    It is attained at the path length at which the lower bounds, two lines, meet.
    """
    left, right = neighbours
    if right.path_length <= left.path_length or left.penalty <= right.penalty:
        return 0.0
    meeting_point = (left.bound - right.bound) / (left.penalty - right.penalty)
    path_length = min(max(meeting_point, left.path_length), right.path_length)
    fraction = (path_length - left.path_length) / (right.path_length - left.path_length)
    chord = (1.0 - fraction) * left.loss + fraction * right.loss
    return chord - max(left.lower_bound(path_length), right.lower_bound(path_length))


def _without_comparators(point: FrontierPoint) -> FrontierPoint:
    """The point without its comparators, to free their memory."""
    return point._replace(comparators=point.comparators[:0].copy())


def _loss_and_path_length(problem: Problem, comparators: Matrix) -> tuple[float, float]:
    """Loss and path length of comparators in coordinates of the domain."""
    moves = np.diff(comparators, axis=0)
    return float(problem.losses.values(comparators).sum()), float(row_norms(moves).sum())


def _to_best_sequence(problem: Problem, best: FrontierPoint, gap: float) -> BestSequence:
    """The result of :func:`best_sequence`, with comparators as points of the domain."""
    return BestSequence(
        problem.coordinates.to_points(best.comparators),
        best.loss,
        best.path_length,
        best.penalty,
        gap,
    )


def _path_lengths(path_length: Any) -> Array:
    """The argument as an array of numbers of at least 0."""
    P = arguments.array("path_length", path_length)
    if (P < 0).any():
        raise ValueError(
            f"path_length must be at least 0, got {P.min()}. Give 0 or a positive number."
        )
    return P


def _is_above_chord(
    start: tuple[float, float], point: tuple[float, float], end: tuple[float, float]
) -> bool:
    """Whether a point lies on or above the chord from ``start`` to ``end``."""
    (x_start, y_start), (x, y), (x_end, y_end) = start, point, end
    return (y - y_start) * (x_end - x_start) >= (y_end - y_start) * (x - x_start)
