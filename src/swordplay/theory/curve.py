"""Regret as a curve: against the best comparators of every path length, beside what was
promised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, Loss, Vector
from swordplay.theory.hindsight import Progress, frontier


class RegretCurve(NamedTuple):
    """Functions of the path length, as arrays of shape ``(K,)``."""

    path_lengths: Vector
    """P, ascending."""
    regrets: Vector
    """Total loss less that of the best sequence found of at most each path length."""
    gaps: Vector
    """Against the very best sequence the regret may be larger, by this at the most."""
    certificate: Vector
    """What the run itself proved: no regret against any sequence of that path length is larger."""
    bound: Vector | None
    """What a theorem proved beforehand, where one was given."""


class Certified(Protocol):
    """A learner that vouches for itself."""

    @property
    def domain(self) -> Domain:
        """X, where its decisions live."""
        ...

    @property
    def rounds(self) -> int:
        """How many losses were observed."""
        ...

    def certificate(self, path_length: float) -> float:
        """Upper bound on the regret so far against every comparator sequence of at most this
        path length.
        """
        ...


def regret_curve(
    total_loss: float,
    stream: Iterable[Loss],
    domain: Domain,
    certificate: Callable[[float], float],
    *,
    bound: Callable[[float, float], float] | None = None,
    path_lengths: Any = None,
    points: int = 12,
    tolerance: float | None = None,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> RegretCurve:
    r"""Regret against the best sequences of every path length.

    .. math:: R(P) = \sum_t f_t(x_t) - \min \Big\{ \sum_t f_t(u_t) : u_t \in X, \; \sum_{t \ge 2}
        \|u_t - u_{t-1}\| \le P \Big\}

    Parameters
    ----------
    total_loss
        :math:`\sum_t f_t(x_t)` of the run.
    stream, domain
        The losses that were played, and X.
    certificate
        The learner's, a function of the path length.
    bound
        A theorem as a function of path length and comparator loss; see :mod:`swordplay.bounds`.
    path_lengths
        Where to evaluate the curve; at the computed points of the frontier unless given.
    points, tolerance, seconds, progress
        As in :func:`swordplay.hindsight.frontier`.
    """
    known = frontier(
        stream, domain, points=points, tolerance=tolerance, seconds=seconds, progress=progress
    )
    paths = (
        known.path_lengths
        if path_lengths is None
        else np.sort(arguments.vector("path_lengths", path_lengths))
    )
    least = known.least_loss(paths)
    return RegretCurve(
        path_lengths=paths,
        regrets=total_loss - least,
        gaps=np.maximum(least - known.lower_bound(paths), 0.0),
        certificate=np.array([certificate(P) for P in paths.tolist()]),
        bound=None
        if bound is None
        else np.array([bound(P, F) for P, F in zip(paths.tolist(), least.tolist(), strict=True)]),
    )
