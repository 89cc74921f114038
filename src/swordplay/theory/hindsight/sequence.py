"""One stream, one domain, any penalty: the right method for it, the tolerance, and what cannot
be solved.

The best comparator sequence for a penalty on its path length, or for a budget of it.

The frontier: the least loss of every path length.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Domain, Loss, Matrix, Vector
from swordplay.parts.domains import enclosing_ball
from swordplay.theory.hindsight import blocks, interior_point, one_dimension, unknown_domains
from swordplay.theory.hindsight.cones import inner
from swordplay.theory.hindsight.duality import Answer
from swordplay.theory.hindsight.losses_in_domain import StrangeRounds, frame_of, rounds_of

Progress = Callable[[int, int, str], None]
"""Called with what is done, what is planned, and what is going on."""

TOLERANCE, STRANGE_TOLERANCE = 1e-7, 1e-5
"""Gaps that are asked for unless given, relative to the scale.

The second where only a projection onto the domain is known.
"""
ROUNDING = 1e-13
"""Relative error that sums over the rounds may carry: no gap can be closed below it."""
BENT = 1e-7
"""A loss may lie so far below its tangent, relative to what it changes by over the domain.

More is not rounding.
"""


class OutOfTime(RuntimeError):
    """The seconds that were given are over before the answer is there."""


class Problem:
    r"""Minimise :math:`\sum_t f_t(u_t) + \lambda \sum_t \|u_t - u_{t-1}\|` for any λ.

    Parameters
    ----------
    stream, domain, tolerance
        As in :func:`best_sequence`.
    deadline
        When to give up, by ``time.monotonic()``.

    Attributes
    ----------
    rounds, frame
        The losses, and the coordinates they are functions of.
    scale
        :math:`D \sum_t \|\nabla f_t(c)\|`: the most by which the losses can fall below those of the
        centre.
    target
        The gap that is asked for.
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
        self.frame = frame_of(domain)
        usual = TOLERANCE if self.frame.whole or self.frame.dim == 1 else STRANGE_TOLERANCE
        self.tolerance = usual if tolerance is None else arguments.positive("tolerance", tolerance)
        # Inside a stranger's domain one cannot stay on the way: its losses are asked in a ball
        # around it.
        self.rounds = rounds_of(
            stream, self.frame if self.frame.whole else frame_of(enclosing_ball(domain))
        )
        if (count := len(self.rounds.features)) < 1:
            raise ValueError(
                "stream must hold at least one round, got none: there is nothing to minimise."
            )
        self._starts: Any = (
            None  # where the last answer's comparators moved: where the next ones are likely to
        )
        center = np.zeros((count, self.frame.dim))
        gradients = self.rounds.gradients(center)
        self.scale = domain.diameter * float(np.sqrt(inner(gradients, gradients)).sum())
        trials = [
            *(np.tile(pole, (count, 1)) for pole in self._poles[[0, self.frame.dim]]),
            self._uphill(gradients),
        ]
        ends = (self.rounds.gradients(trial) for trial in trials)
        numbers = domain.diameter * max(float(np.abs(end).sum()) for end in ends) + float(
            np.abs(self.rounds.values(center)).sum()
        )
        self.target = self.tolerance * self.scale + ROUNDING * (self.scale + numbers)

    @property
    def steps(self) -> int:
        """T - 1, how often comparators may move."""
        return len(self.rounds.features) - 1

    @property
    def longest(self) -> float:
        """No path is longer: the diameter in every step."""
        return self.frame.domain.diameter * self.steps

    def solve(self, penalty: float, progress: Progress | None = None, share: float = 1.0) -> Answer:
        """The best sequence for a penalty, with its gap within a share of the target.

        :class:`OutOfTime` past the deadline.
        """
        target, progress = share * self.target, self._watched(progress)
        if self.frame.dim == 1:
            answer = one_dimension.minimize(self.rounds, self.frame, penalty, progress)
        elif self.frame.whole and blocks.is_heavy(self.rounds):
            answer = blocks.minimize(
                self.rounds, self.frame, penalty, target, progress, self._starts
            )
            self._starts = blocks.moving(answer.points, self.frame.domain.diameter)
        elif self.frame.whole:
            answer = interior_point.minimize(self.rounds, self.frame, penalty, target, progress)
        else:
            answer = unknown_domains.minimize(self.rounds, self.frame, penalty, target, progress)
        if isinstance(self.rounds, StrangeRounds):
            self._require_convex(self.rounds, answer.points)
        if not answer.gap <= target:
            raise RuntimeError(
                f"hindsight stopped with a certified gap of {answer.gap:.3g} at "
                f"penalty={penalty:.3g}, not within "
                f"tolerance={self.tolerance:g} ({target:.3g}). Give a larger tolerance; or are "
                "the losses not smooth "
                "and convex on the domain?"
            )
        return answer

    def _watched(self, progress: Progress | None) -> Progress:
        """Look at the clock whenever a step is told of."""

        def told(done: int, planned: int, label: str) -> None:
            if time.monotonic() > self.deadline:
                raise OutOfTime(
                    f"hindsight ran out of time ({label}). Give more seconds, fewer rounds or "
                    "fewer columns."
                )
            if progress is not None:
                progress(done, planned, label)

        return told

    def _require_convex(self, rounds: StrangeRounds, points: Matrix) -> None:
        """Refuse a stranger's loss that dips under its own tangent.

        Where there is one, a closed gap means nothing.
        """
        values, gradients = rounds.values(points), rounds.gradients(points)
        slack = BENT * (self.scale / len(points) + np.abs(values))
        poles = (np.broadcast_to(pole, points.shape) for pole in self._poles)
        for trial in (
            0.0 * points,
            np.roll(points, 1, axis=0),
            np.roll(points, -1, axis=0),
            *poles,
        ):
            short = values + inner(gradients, trial - points) - rounds.values(trial)
            if (short > slack).any():
                t = int(np.argmax(short - slack))
                raise RuntimeError(
                    f"the loss of round {t + 1} is not convex: at "
                    f"{arguments.short_repr(self.frame.outward(trial[t]).tolist())} it "
                    f"lies {short[t]:.3g} below its tangent at "
                    f"{arguments.short_repr(self.frame.outward(points[t]).tolist())}. "
                    "Hindsight can only be certified for convex losses."
                )

    def _uphill(self, gradients: Matrix) -> Matrix:
        """For each round the point of the boundary that its gradient points to: steep, if it is
        anywhere.
        """
        largest = np.abs(gradients).max(axis=1, keepdims=True)
        directions = np.divide(
            gradients, largest, out=np.zeros_like(gradients), where=largest > 0.0
        )
        return self.frame.inward(self.frame.outward(self.frame.domain.diameter * directions))

    @property
    def _poles(self) -> Matrix:
        """Points of the boundary along every axis, shape ``(2 n, n)``."""
        axes = self.frame.domain.diameter * np.eye(self.frame.dim)
        return self.frame.inward(self.frame.outward(np.concatenate([axes, -axes])))


SOLVES = 60
"""Penalties that are tried for one budget.

Chords of the frontier close in on it within a dozen, as a rule.
"""
SHARE = 0.25
"""Of the gap asked for within a budget: what each penalty's own problem may leave of it."""
RAISES = 12
"""Tenfold raises of a penalty until nobody moves: in a bounded domain the first one is nearly
always enough.
"""
STILL = 1e-9
"""Of the diameter: a path no longer than this is that of a comparator that stands still."""


class BestSequence(NamedTuple):
    """Comparators, what they lose, how far they travel, and how far from the best they may be."""

    comparators: Matrix
    """u_t, shape ``(T, d)``, all in the domain."""
    loss: float
    r""":math:`\sum_t f_t(u_t)`."""
    path_length: float
    r""":math:`\sum_t \|u_t - u_{t-1}\|`."""
    penalty: float
    """λ: what a unit of path costs. For a budget, what a little more of it would be worth."""
    gap: float
    """No sequence does better by more than this: in loss plus penalty, or in loss within the
    budget.
    """


class Vertex(NamedTuple):
    """A computed point of the frontier and the line below the frontier that came with it."""

    penalty: float
    points: Matrix
    loss: float
    path: float
    bound: float
    r"""No sequence has a smaller :math:`\sum_t f_t(u_t) + \lambda P`."""

    @property
    def gap(self) -> float:
        """How far above the frontier it may lie; rounding may not make it negative."""
        return max(0.0, self.loss - self.line(self.path))

    def line(self, path: float) -> float:
        """No sequence of at most that path length has a smaller loss."""
        return self.bound - self.penalty * path


def best_sequence(
    stream: Iterable[Loss],
    domain: Domain,
    *,
    path_length: float | None = None,
    penalty: float | None = None,
    tolerance: float | None = None,
    progress: Progress | None = None,
) -> BestSequence:
    r"""The best sequence of comparators, of all there are.

    .. math:: \min_{u_1, \dots, u_T \in X} \sum_t f_t(u_t) + \lambda \sum_{t \ge 2} \|u_t -
        u_{t-1}\| \qquad \text{or} \qquad \min \sum_t f_t(u_t) \ \text{ with } \ \sum_{t \ge 2}
        \|u_t - u_{t-1}\| \le P

    In one dimension the answer is exact up to rounding; elsewhere a second-order method stops at
    the tolerance. Either way the gap that comes with it is certified: computed from the answer
    itself, whatever happened on the way to it.

    Parameters
    ----------
    stream
        The losses, convex and smooth; a finite stream.
    domain
        X: a ball, a box or a simplex; for others a projection and a support function are enough,
        but slower.
    path_length
        P >= 0, the budget; or
    penalty
        λ > 0. Give one of the two.
    tolerance
        Largest gap, relative to :math:`D \sum_t \|\nabla f_t(c)\|` with c the centre: the most by
        which the losses can fall below their value there. 1e-7 unless given (1e-5 for domains of
        which only a projection is known). What sums of doubles round by comes on top: 1e-13 of the
        losses at the centre and of what they change by over the domain.
    progress
        Called every so often with what is done, what is planned at the most, and what is going on.

    Raises
    ------
    RuntimeError
        If the gap cannot be closed to the tolerance, or a loss shows that it is not convex.

    Examples
    --------
    >>> import swordplay as sp
    >>> stream = sp.LinearStream([[1.0]] * 4, [0.0, 0.0, 1.0, 1.0])
    >>> best = best_sequence(stream, sp.Ball(1), path_length=0.5)
    >>> best.comparators.ravel().round(6).tolist(), round(best.loss, 6), round(best.penalty, 6)
    ([0.25, 0.25, 0.75, 0.75], 0.125, 0.5)
    """
    if (path_length is None) == (penalty is None):
        given = "neither" if penalty is None else "both"
        raise ValueError(
            f"best_sequence needs path_length or penalty, got {given}. Give one of the two."
        )
    if penalty is not None:
        lam = arguments.positive("penalty", penalty)
        problem = Problem(stream, domain, tolerance)
        best = vertex(problem, lam, problem.solve(lam, progress))
        return _named(problem, best, best.gap)
    budget = arguments.nonnegative("path_length", path_length)
    return _within(Problem(stream, domain, tolerance), budget, progress)


def vertex(problem: Problem, penalty: float, answer: Answer) -> Vertex:
    """The point of the frontier that a solved problem stands for."""
    return Vertex(penalty, answer.points, *_weighed(problem, answer.points), answer.bound)


def standing(problem: Problem, share: float) -> Vertex:
    """The left end: the best comparator that stands still, and the penalty from which on it is
    the best sequence.
    """
    diameter = problem.frame.domain.diameter
    penalty = (
        problem.scale / diameter or 1.0
    )  # the sum of all gradients: no force is longer, as a rule
    for _ in range(RAISES):
        answer = problem.solve(penalty, share=share)
        if _weighed(problem, answer.points)[1] <= STILL * diameter:
            break
        penalty *= 10.0
    # Forces prove their bound for every penalty that is no smaller than the longest of them.
    longest = float(np.sqrt(inner(answer.forces, answer.forces)).max(initial=0.0)) or penalty
    points = np.tile(answer.points.mean(axis=0), (len(answer.points), 1))
    return Vertex(longest, points, float(problem.rounds.values(points).sum()), 0.0, answer.bound)


def free(problem: Problem, share: float) -> Vertex:
    """The right end: all but as good as every round's own best, and on a short way there."""
    penalty = share * problem.target / problem.longest
    return vertex(problem, penalty, problem.solve(penalty, share=share))


def between(left: Vertex, right: Vertex) -> float:
    """A penalty whose vertex lies between two others: the slope of their chord.

    Their middle where rounding bends it.
    """
    slope = (left.loss - right.loss) / max(right.path - left.path, np.finfo(np.float64).tiny)
    return (
        slope if right.penalty < slope < left.penalty else math.sqrt(left.penalty * right.penalty)
    )


def _within(problem: Problem, budget: float, progress: Progress | None) -> BestSequence:
    """Close in on a budget from both sides; two sequences around it are mixed to meet it."""
    left = tight = standing(problem, SHARE)
    right = left if budget == 0.0 or problem.steps == 0 else free(problem, SHARE)
    usable = min(budget, problem.longest)
    for number in range(1, SOLVES + 1):
        tight = max(tight, left, right, key=lambda one: one.line(usable))
        if right.path <= budget:
            best = right
        else:
            share = (budget - left.path) / (right.path - left.path)
            points = (1.0 - share) * left.points + share * right.points
            best = Vertex(tight.penalty, points, *_weighed(problem, points), tight.bound)
        gap = max(0.0, best.loss - tight.line(usable))
        if progress is not None:
            progress(number, SOLVES, f"penalty {tight.penalty:.3g}, gap {gap:.1e}")
        if gap <= problem.target:
            return _named(problem, best._replace(penalty=tight.penalty), gap)
        penalty = between(left, right)
        found = vertex(problem, penalty, problem.solve(penalty, share=SHARE))
        left, right = (left, found) if found.path > budget else (found, right)
    raise RuntimeError(
        f"best_sequence tried {SOLVES} penalties for path_length={budget:g} and has a certified "
        f"gap of {gap:.3g} left. "
        "Give a larger tolerance."
    )


def _weighed(problem: Problem, points: Matrix) -> tuple[float, float]:
    """Loss and path length."""
    moves = np.diff(points, axis=0)
    return float(problem.rounds.values(points).sum()), float(np.sqrt(inner(moves, moves)).sum())


def _named(problem: Problem, best: Vertex, gap: float) -> BestSequence:
    return BestSequence(problem.frame.outward(best.points), best.loss, best.path, best.penalty, gap)


@dataclass(frozen=True)
class Frontier:
    r"""The curve :math:`P \mapsto \min \{\sum_t f_t(u_t) : \sum_t \|u_t - u_{t-1}\| \le P\}`, from
    above and from below.

    It is convex and falls. Computed points lie on it up to their gaps; between them the chords
    bound it from above and the lines of slope -λ through each point, less its gap, from below.

    Attributes
    ----------
    path_lengths, losses
        The computed points, shape ``(K,)`` each, from the best comparator that stands still (path
        length 0) to one that is all but the best of each round.
    penalties
        λ at each: what a unit of path is worth there.
    gaps
        How far above the curve each may lie.
    """

    path_lengths: Vector
    losses: Vector
    penalties: Vector
    gaps: Vector

    @property
    def hull(self) -> tuple[Vector, Vector]:
        """Corners of the convex hull of the computed points, as path lengths and losses: an
        upper bound on the curve.
        """
        corners: list[tuple[float, float]] = []
        for point in sorted(
            zip(
                self.path_lengths.tolist(), np.minimum.accumulate(self.losses).tolist(), strict=True
            )
        ):
            while len(corners) > 1 and _above_chord(corners[-2], corners[-1], point):
                corners.pop()
            corners.append(point)
        paths, losses = zip(*corners, strict=True)
        return np.array(paths), np.array(losses)

    def least_loss(self, path_length: Any) -> Array:
        """A loss that some sequence of at most that path length reaches: the hull there.

        The shape is that of the argument.
        """
        return np.interp(_lengths(path_length), *self.hull)

    def lower_bound(self, path_length: Any) -> Array:
        """No sequence of at most that path length has a smaller loss.

        The shape is that of the argument.
        """
        P, reached = _lengths(path_length), self.losses - self.gaps
        return np.asarray(
            (reached + self.penalties * (self.path_lengths - P[..., None])).max(axis=-1)
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
    r"""The least loss of every path length: what perfect tracking would have been worth.

    The two ends come first; then, one by one, the penalties that can move the curve most, given the
    bounds from above and below so far. It stops early where nothing is left to learn.

    Parameters
    ----------
    stream, domain, tolerance, progress
        As in :func:`best_sequence`.
    points
        How many points to compute at the most, 2 or more.
    seconds
        How long it may take; as long as it takes unless given. When they are over, the points that
        are there are the answer: a frontier like any other, with wider gaps between its points.

    Raises
    ------
    OutOfTime
        If the seconds are over before both ends are there.
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
    count = arguments.integer("points", points, least=2)
    deadline = (
        math.inf if seconds is None else time.monotonic() + arguments.positive("seconds", seconds)
    )
    problem = Problem(stream, domain, tolerance, deadline=deadline)
    vertices = [_light(standing(problem, SHARE))]
    if progress is not None:
        progress(1, count, "path length 0")
    if problem.steps == 0:  # a single round: nobody moves, and more path is worth nothing
        (only,) = vertices
        return Frontier(np.zeros(1), np.array([only.loss]), np.zeros(1), np.array([only.gap]))
    vertices.append(_light(free(problem, SHARE)))
    _refine(vertices, problem, count, progress)
    penalties, paths, losses, gaps = np.array(
        [(one.penalty, one.path, one.loss, one.gap) for one in vertices]
    ).T
    return Frontier(paths, losses, penalties, gaps)


def _refine(
    vertices: list[Vertex], problem: Problem, count: int, progress: Progress | None
) -> None:
    """Put vertices where they move the curve most, until there are so many, nothing is left to
    learn or time is over.
    """
    while True:
        if progress is not None:
            progress(len(vertices), count, f"path length {vertices[-1].path:.3g}")
        left, right = max(pairwise(vertices), key=_doubt)
        if len(vertices) >= count or _doubt((left, right)) <= problem.target:
            return
        penalty = between(left, right)
        try:
            vertices.append(_light(vertex(problem, penalty, problem.solve(penalty, share=SHARE))))
        except OutOfTime:
            return
        vertices.sort(key=lambda one: (-one.penalty, one.path))


def _doubt(pair: tuple[Vertex, Vertex]) -> float:
    """How far apart the bounds from above and from below are between two vertices: most where
    their lines meet.
    """
    left, right = pair
    if right.path <= left.path or left.penalty <= right.penalty:
        return 0.0
    path = min(
        max((left.bound - right.bound) / (left.penalty - right.penalty), left.path), right.path
    )
    share = (path - left.path) / (right.path - left.path)
    return (1.0 - share) * left.loss + share * right.loss - max(left.line(path), right.line(path))


def _light(one: Vertex) -> Vertex:
    """The vertex without its comparators, which nobody asks for."""
    return one._replace(points=one.points[:0].copy())


def _lengths(path_length: Any) -> Array:
    P = arguments.array("path_length", path_length)
    if (P < 0).any():
        raise ValueError(
            f"path_length must be at least 0, got {P.min()}. Give 0 or a positive number."
        )
    return P


def _above_chord(
    first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]
) -> bool:
    return (middle[1] - first[1]) * (last[0] - first[0]) >= (last[1] - first[1]) * (
        middle[0] - first[0]
    )
