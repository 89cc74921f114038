"""The frontier: the least loss of every path length."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Array, Domain, Loss, Vector
from swordplay.theory.hindsight.problem import OutOfTime, Problem, Progress
from swordplay.theory.hindsight.sequence import (
    SHARE,
    Vertex,
    between,
    free,
    standing,
    vertex,
)


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
