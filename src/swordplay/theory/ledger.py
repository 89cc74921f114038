"""The record of a game: its regret, the regret's split, and regret by path length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, Loss, Matrix, Vector
from swordplay.parts.streams import LinearStream

if TYPE_CHECKING:
    from swordplay.parts.learners.assumptions import Assumptions
    from swordplay.theory.hindsight import Progress

FEASIBILITY_SLACK = 1e-9
"""Distance outside the domain that a comparator may have by rounding.

Relative to the domain's diameter plus the distance of its centre from the origin.
"""


@runtime_checkable
class HasAssumptions(Protocol):
    """A learner that compares its declared constants with the losses that it has observed."""

    @property
    def assumptions(self) -> Assumptions:
        """The declared constants and the extremes of the observed losses."""
        ...


class HasExperts(Protocol):
    """A learner that weighs experts and knows its linear regret to each of them."""

    @property
    def rounds(self) -> int:
        """Number of losses observed."""
        ...

    @property
    def advantages(self) -> Vector:
        """Sum of <g_t, x_t - x_{t,i}> for each expert, shape ``(N,)``."""
        ...

    @property
    def step_sizes(self) -> Vector:
        """Step size of each expert, shape ``(N,)``."""
        ...


class HasCertificate(Protocol):
    """A learner that computes an upper bound on its regret from its own run."""

    @property
    def domain(self) -> Domain:
        """X, the set of its decisions."""
        ...

    @property
    def rounds(self) -> int:
        """Number of losses observed."""
        ...

    def certificate(self, path_length: float) -> float:
        """Upper bound on the regret against all comparators of at most this path length."""
        ...


class Split(NamedTuple):
    """Regret as the sum of meta-regret and expert regret, for each of N experts."""

    regret: float
    """Regret of the decisions to the comparators: ``meta[i] + expert[i]`` for each expert i."""
    meta: Vector
    """Linearised regret of the decisions to each expert, shape ``(N,)``."""
    expert: Vector
    """Remaining regret of each expert to the comparators, shape ``(N,)``."""
    step_sizes: Vector
    """Step size of each expert, shape ``(N,)``."""


class RegretCurve(NamedTuple):
    """Regret, certificate and bound at K path lengths, arrays of shape ``(K,)``."""

    path_lengths: Vector
    """P, ascending."""
    regrets: Vector
    """Total loss minus the loss of the best sequence found within each path length."""
    gaps: Vector
    """How far the regret against the exact best sequence can exceed ``regrets``."""
    certificate: Vector
    """The learner's certificate: no regret against any sequence of that path length is larger."""
    bound: Vector | None
    """Bound of a theorem, if one was given."""


class Ledger:
    r"""The losses, decisions and weights of a game, one entry a round.

    Attributes
    ----------
    rounds
        T, the number of rounds played.
    total_loss
        :math:`F^x_T = \sum_t f_t(x_t)`.
    losses
        f_t(x_t), shape ``(T,)``, or None if they were not kept.
    decisions
        x_t, shape ``(T, d)``, or None if they were not kept.
    weights
        p_t of each round, T arrays of shape ``(N,)`` where N may grow, or None if not kept.
    domain
        X, the set of the learner's decisions, or None if the learner has no ``domain``.
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
        # The game exhausts an iterator; the comparators' loss needs a second iteration.
        self._stream = None if isinstance(stream, Iterator) else stream

    def __repr__(self) -> str:
        return f"Ledger(rounds={self.rounds}, total_loss={self.total_loss:.6g})"

    @property
    def stream(self) -> Iterable[Loss]:
        """The stream that was played; an error if it was an iterator."""
        if self._stream is None:
            raise ValueError(
                "the stream was an iterator and is spent. Play list(stream), or compute the "
                "comparators' loss yourself."
            )
        return self._stream

    def regret(self, comparators: Any, *, anywhere: bool = False) -> float:
        """Total loss minus the loss of the comparators.

        Parameters
        ----------
        comparators
            u_t, shape ``(T, d)`` for dynamic regret, or one point ``(d,)`` for static regret
            against it.
        anywhere
            Whether comparators may lie outside the learner's domain, where no bound and no
            certificate holds.
        """
        # Imported here: quantities imports variation_linear and variation_quadratic, which playing
        # a game does not need.
        from swordplay.theory.quantities import comparator_loss

        if not anywhere:
            self._require_feasible(comparators)
        return self.total_loss - comparator_loss(self.stream, comparators, rounds=self.rounds)

    def split(self, learner: HasExperts, comparators: Any) -> Split:
        r"""Split the regret, for each expert, into regret to it and its own regret.

        .. math:: \sum_t f_t(x_t) - f_t(u_t) = \sum_t \langle g_t, x_t - x_{t,k} \rangle
            + \Big[ \sum_t f_t(x_t) - f_t(u_t) - \langle g_t, x_t - x_{t,k} \rangle \Big]

        The first sum is the meta-regret. It is linear because Hedge observes linear losses;
        :func:`swordplay.bounds.meta_var`, ``meta_small`` and ``meta_best`` bound it. By convexity
        it is at least :math:`\sum_t f_t(x_t) - f_t(x_{t,k})`, the regret of the decisions to
        expert k.

        Parameters
        ----------
        learner
            The learner that played, after the last round.
        comparators
            As in :meth:`regret`.
        """
        if not hasattr(learner, "advantages"):
            raise TypeError(
                f"learner must weigh experts, got {type(learner).__name__}, which has no meta. "
                "Call regret instead."
            )
        self._require_same_rounds(learner)
        regret, meta = self.regret(comparators), np.asarray(learner.advantages)
        return Split(regret, meta, regret - meta, np.asarray(learner.step_sizes))

    def _require_same_rounds(self, learner: Any) -> None:
        if learner.rounds != self.rounds:
            raise ValueError(
                f"learner has observed {learner.rounds} round(s), but the ledger records "
                f"{self.rounds}. These numbers belong to different runs. Give the learner that "
                "played this game: new before it, and not used since."
            )

    def _require_feasible(self, comparators: Any) -> None:
        """Refuse comparators outside the domain: their regret may exceed a valid certificate."""
        if self.domain is None:
            return
        points = np.atleast_2d(arguments.array("comparators", comparators))
        if points.shape[-1] != self.domain.dim:
            raise ValueError(
                f"comparators must have the domain's {self.domain.dim} coordinate(s), got "
                f"{points.shape[-1]}."
            )
        slack = FEASIBILITY_SLACK * (
            self.domain.diameter + float(np.linalg.norm(self.domain.center))
        )
        is_outside = ~self.domain.contains(points, atol=slack)
        if is_outside.any():
            count, t = int(is_outside.sum()), int(is_outside.argmax())
            distance = float(np.linalg.norm(points[t] - self.domain.project(points[t])))
            raise ValueError(
                f"comparators must lie in the domain {self.domain!r}, but {count} of "
                f"{len(points)} do not; the first is comparators[{t}], {distance:.3g} outside. No "
                "bound holds for them. Project them with domain.project, or give anywhere=True."
            )

    def regret_curve(
        self,
        learner: HasCertificate,
        *,
        bound: Callable[[float, float], float] | None = None,
        path_lengths: Any = None,
        points: int = 12,
        tolerance: float | None = None,
        seconds: float | None = None,
        progress: Progress | None = None,
    ) -> RegretCurve:
        """Regret against the best sequences of each path length, with certificate and bound.

        Parameters
        ----------
        learner
            The learner that played, after the last round; comparators lie in its domain.
        bound
            A theorem as a function of path length and comparator loss, for example ``lambda P, F:
            bounds.ader(path_length=P, ...)``.
        path_lengths
            Path lengths of the curve; by default those of the frontier's computed points. The
            frontier is the least loss as a function of the path length.
        points
            Largest number of computed points of the frontier.
        tolerance, seconds, progress
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
        self._require_same_rounds(learner)
        if bound is not None and isinstance(learner, HasAssumptions):
            learner.assumptions.require("the bound")
        stream = self.stream
        played_stream = (
            stream[: self.rounds]
            if isinstance(stream, LinearStream)
            else islice(stream, self.rounds)
        )
        return regret_curve(
            self.total_loss,
            played_stream,
            learner.domain,
            learner.certificate,
            bound=bound,
            path_lengths=path_lengths,
            points=points,
            tolerance=tolerance,
            seconds=seconds,
            progress=progress,
        )


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
    r"""Regret of any run against the best sequences of each path length.

    .. math:: R(P) = \sum_t f_t(x_t) - \min \Big\{ \sum_t f_t(u_t) : u_t \in X, \; \sum_{t \ge 2}
        \|u_t - u_{t-1}\| \le P \Big\}

    Parameters
    ----------
    total_loss
        :math:`\sum_t f_t(x_t)` of the run.
    stream, domain
        The losses that were played, and X, the set of decisions and comparators.
    certificate
        The learner's certificate, a function of the path length.
    bound
        A theorem as a function of path length and comparator loss; see :mod:`swordplay.bounds`.
    path_lengths
        Path lengths of the curve; by default those of the frontier's computed points. The frontier
        is the least loss as a function of the path length.
    points
        Largest number of computed points of the frontier.
    tolerance, seconds, progress
        As in :func:`swordplay.hindsight.frontier`.
    """
    # Imported here, so that playing a game does not import the solver of hindsight.
    from swordplay.theory.hindsight import frontier

    least_loss_frontier = frontier(
        stream, domain, points=points, tolerance=tolerance, seconds=seconds, progress=progress
    )
    lengths = (
        least_loss_frontier.path_lengths
        if path_lengths is None
        else np.sort(arguments.vector("path_lengths", path_lengths))
    )
    least_losses = least_loss_frontier.least_loss(lengths)
    return RegretCurve(
        path_lengths=lengths,
        regrets=total_loss - least_losses,
        gaps=np.maximum(least_losses - least_loss_frontier.lower_bound(lengths), 0.0),
        certificate=np.array([certificate(P) for P in lengths.tolist()]),
        bound=None
        if bound is None
        else np.array(
            [bound(P, F) for P, F in zip(lengths.tolist(), least_losses.tolist(), strict=True)]
        ),
    )
