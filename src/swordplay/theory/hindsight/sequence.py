"""The best comparator sequence for a penalty on its path length, or for a budget of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, Loss, Matrix
from swordplay.theory.hindsight.cones import inner
from swordplay.theory.hindsight.dual import Answer
from swordplay.theory.hindsight.problem import Problem, Progress

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
