"""The record of a game."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, Loss, Matrix, Vector
from swordplay.parts.learners.assumptions import Assumptions
from swordplay.parts.streams import LinearStream
from swordplay.theory.curve import Certified, RegretCurve, regret_curve
from swordplay.theory.hindsight import Progress
from swordplay.theory.quantities import comparator_loss

INSIDE = 1e-9
"""How far outside the domain a comparator may lie, relative to its size and place: rounding."""


@runtime_checkable
class Watched(Protocol):
    """A learner that knows whether what it was told still holds."""

    @property
    def assumptions(self) -> Assumptions:
        """What it was told beside what was seen."""
        ...


class Weighed(Protocol):
    """A learner that weighs experts and knows what it owes to each."""

    @property
    def rounds(self) -> int:
        """How many losses were observed."""
        ...

    @property
    def advantages(self) -> Vector:
        """Sum of <g_t, x_t - x_{t,i}>, shape ``(N,)``."""
        ...

    @property
    def step_sizes(self) -> Vector:
        """Of each expert, shape ``(N,)``."""
        ...


class Split(NamedTuple):
    """Regret in two parts, one way to split it per expert: shapes ``(N,)``."""

    regret: float
    """Of the decisions to the comparators: the sum of the two parts, whichever the expert."""
    meta: Vector
    """Of the decisions to each expert, linearised."""
    expert: Vector
    """The rest: what each expert leaves to the comparators."""
    step_sizes: Vector
    """Which expert is which."""


class Ledger:
    r"""What happened in a game, one line a round.

    Attributes
    ----------
    rounds
        T, how many were played.
    total_loss
        :math:`F^x_T = \sum_t f_t(x_t)`.
    losses
        f_t(x_t), shape ``(T,)``, or None if they were not kept.
    decisions
        x_t, shape ``(T, d)``, or None if they were not kept.
    weights
        p_t of each round, or None if they were not kept; their number may grow.
    domain
        X, where the decisions lived, or None if the learner did not say.
    """

    def __init__(
        self,
        rounds: int,
        total_loss: float,
        losses: Vector | None,
        decisions: Matrix | None,
        weights: Sequence[Vector] | None,
        stream: Iterable[Loss],
        domain: Domain | None = None,
    ) -> None:
        self.domain = domain
        self.rounds = rounds
        self.total_loss = total_loss
        self.losses = losses
        self.decisions = decisions
        self.weights = weights
        # An iterator is spent once it was played: only what can be looped over again can answer for
        # comparators.
        self._stream = None if isinstance(stream, Iterator) else stream

    def __repr__(self) -> str:
        return f"Ledger(rounds={self.rounds}, total_loss={self.total_loss:.6g})"

    @property
    def stream(self) -> Iterable[Loss]:
        """The stream that was played, where it can be looped over again."""
        if self._stream is None:
            raise ValueError(
                "the stream was an iterator and is spent. Play list(stream), or compute the "
                "comparators' loss yourself."
            )
        return self._stream

    def regret(self, comparators: Any, *, anywhere: bool = False) -> float:
        """Total loss less that of the comparators.

        Parameters
        ----------
        comparators
            u_t, shape ``(T, d)`` for dynamic regret, or one point ``(d,)`` for static regret
            against it.
        anywhere
            Whether comparators may lie outside the learner's domain. No bound and no certificate
            speaks of those.
        """
        if not anywhere:
            self._require_inside(comparators)
        return self.total_loss - comparator_loss(self.stream, comparators, rounds=self.rounds)

    def split(self, learner: Weighed, comparators: Any) -> Split:
        r"""Regret as what the meta owes to each expert, and what that expert owes to the
        comparators.

        .. math:: \sum_t f_t(x_t) - f_t(u_t) = \sum_t \langle g_t, x_t - x_{t,k} \rangle
            + \Big[ \sum_t f_t(x_t) - f_t(u_t) - \langle g_t, x_t - x_{t,k} \rangle \Big]

        The meta's part is what the theorems on metas bound (:func:`swordplay.bounds.meta_var` and
        its like): the losses that Hedge is given are linear. By convexity it is no smaller than
        what the decisions really lost to the expert.

        Parameters
        ----------
        learner
            The one that played, as it was after the last round: it has kept what it owes to its
            experts.
        comparators
            As in :meth:`regret`.
        """
        if not hasattr(learner, "advantages"):
            raise TypeError(
                f"learner must weigh experts, got {type(learner).__name__}: it has no meta whose "
                "part could be told."
            )
        self._require_of_this_run(learner)
        regret, meta = self.regret(comparators), np.asarray(learner.advantages)
        return Split(regret, meta, regret - meta, np.asarray(learner.step_sizes))

    def _require_of_this_run(self, learner: Any) -> None:
        if learner.rounds != self.rounds:
            raise ValueError(
                f"learner has observed {learner.rounds} round(s), but the ledger tells of "
                f"{self.rounds}: its certificate is "
                "not of this run. Give the learner that played it, fresh at its start and "
                "untouched since."
            )

    def _require_inside(self, comparators: Any) -> None:
        """Refuse comparators that the learner could not have played: they would look like a
        broken certificate.
        """
        if self.domain is None:
            return
        points = np.atleast_2d(arguments.array("comparators", comparators))
        if points.shape[-1] != self.domain.dim:
            raise ValueError(
                f"comparators must have the domain's {self.domain.dim} coordinate(s), got "
                f"{points.shape[-1]}."
            )
        slack = INSIDE * (self.domain.diameter + float(np.linalg.norm(self.domain.center)))
        outside = ~self.domain.contains(points, atol=slack)
        if outside.any():
            t = int(outside.argmax())
            off = float(np.linalg.norm(points[t] - self.domain.project(points[t])))
            raise ValueError(
                f"comparators must lie in the domain {self.domain!r}, but {int(outside.sum())} of "
                f"{len(points)} do not, first "
                f"number {t} by {off:.3g}: no bound speaks of them. Project them with "
                "domain.project, or say anywhere=True."
            )

    def regret_curve(
        self,
        learner: Certified,
        *,
        bound: Callable[[float, float], float] | None = None,
        path_lengths: Any = None,
        points: int = 12,
        tolerance: float | None = None,
        seconds: float | None = None,
        progress: Progress | None = None,
    ) -> RegretCurve:
        """Regret against the best sequences of every path length, beside the learner's certificate
        and a theorem's bound.

        Parameters
        ----------
        learner
            The one that played, as it was after the last round: its domain is where comparators
            live.
        bound
            A theorem as a function of path length and comparator loss, as ``lambda P, F:
            bounds.ader(path_length=P, ...)``.
        path_lengths
            Where to evaluate the curve; at the computed points of the frontier unless given.
        points, tolerance, seconds, progress
            As in :func:`swordplay.hindsight.frontier`.

        Examples
        --------
        >>> import swordplay as sp
        >>> world = sp.streams.drift.jumps(200, dim=1, every=50, noise=0.1, seed=0)
        >>> learner = sp.Sword(world.domain)
        >>> curve = sp.play(learner, world).regret_curve(learner)
        >>> bool((curve.regrets + curve.gaps <= curve.certificate).all())
        True
        """
        self._require_of_this_run(learner)
        if bound is not None and isinstance(learner, Watched):
            learner.assumptions.require("the bound")
        stream = self.stream
        played = (
            stream[: self.rounds]
            if isinstance(stream, LinearStream)
            else islice(stream, self.rounds)
        )
        return regret_curve(
            self.total_loss,
            played,
            learner.domain,
            learner.certificate,
            bound=bound,
            path_lengths=path_lengths,
            points=points,
            tolerance=tolerance,
            seconds=seconds,
            progress=progress,
        )
