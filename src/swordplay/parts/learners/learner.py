"""The base classes of all learners: observing losses, states, files, certificates and theorems."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Generic, NoReturn, Protocol, Self, TypeVar

import numpy as np

from swordplay.core import arguments, state
from swordplay.core.state import (
    flatten_settings,
    settings_differences,
    settings_entries,
    split_settings,
)
from swordplay.core.types import Array, Domain, Loss, Matrix, State, Vector
from swordplay.parts.experts import ExpertState, base_offset
from swordplay.parts.experts.expert import require_inside
from swordplay.parts.experts.step_sizes import SMALLEST_SUM, check_error_sums, underflow_message
from swordplay.parts.learners import assumptions
from swordplay.parts.learners.assumptions import (
    Assumptions,
    DeclaredConstants,
    LossExtremes,
    ObservedLoss,
)
from swordplay.parts.learners.certificate import CertificateState, DomainGeometry, Moment

SLACK = 1e-9
"""Relative rounding error up to which a saved point may lie outside the domain."""
REMEDY = "Make the learner with the settings it was saved with."


class LearnerState(Protocol):
    """The entry that every learner's state has."""

    @property
    def rounds(self) -> int:
        """Number of observed losses."""
        ...


class CertifiedState(LearnerState, Protocol):
    """The entries that the state of every learner with a certificate has."""

    @property
    def experts(self) -> Sequence[ExpertState]:
        """The states of each kind of experts."""
        ...

    @property
    def certificate(self) -> CertificateState:
        """The sums of the certificate."""
        ...


class StateHolder(Protocol):
    """Holds a learner's state while it plays for the learner, as the compiled engine does."""

    @property
    def rounds(self) -> int:
        """Number of rounds that the learner has played, on its own and here."""
        ...

    def state(self) -> State:
        """Return the learner's state without its settings, as ``Learner.state`` names entries."""
        ...

    def release(self) -> None:
        """Refuse to play from now on, because the learner goes on without this holder."""
        ...


S = TypeVar("S", bound=LearnerState)
C = TypeVar("C", bound=CertifiedState)


class StatefulLearner(ABC, Generic[S]):
    """A learner whose round is a function from state to state.

    A subclass gives the first state, the next state and the decision of a state. The first state is
    made when it is first needed: a learner that only the engine plays never forms its points.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        """X, the set of decisions."""
        self.holder: StateHolder | None = None
        """The engine that holds the state at present; None while the learner holds it itself."""
        self._own: S | None = None
        self._decision: Vector | None = None
        self._seen = LossExtremes()

    _growing_axes: ClassVar[tuple[str, ...]] = ()
    """Axes of the state whose lengths change with the rounds (see ``core.state.load``)."""

    declared: DeclaredConstants = DeclaredConstants()
    """The constants that the learner was made with."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain!r}, rounds={self.rounds})"

    @property
    def decision(self) -> Vector:
        """x_t of the coming round, shape ``(d,)``."""
        current = self._state
        if self._decision is None:
            self._decision = frozen(self._decide(current))
        return self._decision

    @property
    def is_fresh(self) -> bool:
        """Whether no state was made or loaded yet: the learner is as it was constructed."""
        return self._own is None and self.holder is None

    @property
    def rounds(self) -> int:
        """Number of observed losses."""
        if self.holder is not None:
            return self.holder.rounds
        return 0 if self._own is None else self._own.rounds

    def observe(self, loss: Loss) -> None:
        """Learn from a loss: the whole round happens or, on an error, nothing does."""
        observed = ObservedLoss(loss)
        decision = self.decision
        new = self._advance(self._state, observed)
        self._replace_state(new, self._extremes(observed, decision))

    def _extremes(self, loss: ObservedLoss, decision: Vector) -> LossExtremes:
        """Return the extremes of the losses so far and of one more."""
        return self._seen.merged(loss.extremes(decision))

    @property
    def assumptions(self) -> Assumptions:
        """The constants that the learner was made with beside the extremes of its losses."""
        return Assumptions(self.declared, self._seen, self.rounds)

    def watch(self, rounds: int, gradient: float, smoothness: float, lowest: float) -> None:
        """Take the extremes of losses that the engine played for the learner into account.

        Parameters
        ----------
        rounds
            Number of losses.
        gradient, smoothness, lowest
            The largest norm of a gradient, the largest smoothness and the smallest loss of them.
        """
        self._seen = self._seen.merged(LossExtremes(rounds, gradient, smoothness, lowest))

    def state(self) -> State:
        """Return all that the next round needs, and the settings, as named arrays and numbers."""
        return state.save(self._state) | settings_entries(self._settings)

    def load_state(self, state_: Mapping[str, Any]) -> None:
        """Go on from a saved state; later rounds are bit for bit those of the saving learner.

        Raises
        ------
        ValueError
            If the state is damaged, or was saved by a learner with other settings; nothing changes.
        """
        if not isinstance(state_, Mapping):
            raise TypeError(
                f"state must be the dictionary that state() returned, got {type(state_).__name__}."
            )
        saved, settings = split_settings(state_)
        if differ := settings_differences(settings, self._settings):
            raise ValueError(f"state was saved with other settings: {differ}. {REMEDY}")
        saved, seen = assumptions.split(saved)
        new = state.load(self._start(), saved, free_axes=self._growing_axes)
        self._check_state(new)
        self._replace_state(new, seen)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint file that holds the state and the settings, whole or not at all."""
        from swordplay.core import checkpoint  # not needed by learners that are not saved

        checkpoint.save(path, self.state() | self._seen.entries(), kind=type(self).__name__)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Go on from a checkpoint that a learner made with the same settings saved.

        This is a method and not a constructor, as a file cannot hold a domain, a pool or a rate of
        your own: you make the learner, and the settings in the file are compared with it.

        Raises
        ------
        CheckpointError
            If the file is not a whole checkpoint of this kind of learner, or was saved with other
            settings; nothing changes.
        """
        from swordplay.core import checkpoint

        saved = checkpoint.load(path, kind=type(self).__name__)
        _, settings = split_settings(saved)
        if not settings:
            raise checkpoint.CheckpointError(
                f"{os.fspath(path)} does not say what its learner was made with. Save it with "
                "learner.save."
            )
        if differ := settings_differences(settings, self._settings):
            raise checkpoint.CheckpointError(
                f"{os.fspath(path)} was saved with other settings: {differ}. {REMEDY}"
            )
        try:
            self.load_state(saved)
        except ValueError as error:
            raise checkpoint.CheckpointError(
                f"the checkpoint {os.fspath(path)!r} cannot be used: {error}"
            ) from error

    def settings(self) -> Mapping[str, Any]:
        """Return what a saved state and the learner that loads it must have in common.

        These are the class, the domain with its centre and diameter and, in subclasses, the first
        step sizes; the parts of a learner add their own constructor arguments.
        """
        X = self.domain
        return {
            "learner": type(self).__qualname__,
            "center": X.center,
            "diameter": X.diameter,
            "domain": X,
        }

    @cached_property
    def _settings(self) -> State:
        return flatten_settings(self.settings())

    def attach_engine(self, engine: StateHolder) -> None:
        """Let an engine hold the state, until the learner observes or loads something itself."""
        self._release()
        self._own, self._decision, self.holder = None, None, engine

    def __copy__(self) -> Self:
        """Return a learner with a copy of the state: an engine plays for one learner only."""
        twin = object.__new__(type(self))
        twin.__dict__.update(
            self.__dict__, _own=None if self.is_fresh else self._state, holder=None
        )
        return twin

    def _release(self) -> None:
        if self.holder is not None:
            self.holder.release()

    @property
    def _state(self) -> S:
        if self._own is None or self._own.rounds != self.rounds:
            saved = None if self.holder is None else self.holder.state()
            start = self._start()
            self._own = (
                start
                if saved is None
                else state.load(start, saved, free_axes=self._growing_axes, trusted=True)
            )
            self._decision = None
        return self._own

    def _replace_state(self, new: S, seen: LossExtremes) -> None:
        """Go on from a new state with these extremes, without the engine that held the old one."""
        self._release()
        self._own, self._decision, self.holder, self._seen = new, None, None, seen

    @abstractmethod
    def certificate(self, path_length: float, since: Moment | None = None) -> float:
        """Return an upper bound on the regret against every comparator sequence of a path length.

        Raises
        ------
        NotImplementedError
            If the learner has a theorem only.
        """

    @property
    @abstractmethod
    def moment(self) -> Moment:
        """The present, for a later ``certificate(path_length, since=moment)``."""

    @abstractmethod
    def _start(self) -> S:
        """Return the state before the first round."""

    @abstractmethod
    def _advance(self, now: S, loss: ObservedLoss) -> S:
        """Return the state after a round with this loss; ``now`` is not changed."""

    @abstractmethod
    def _decide(self, now: S) -> Vector:
        """Return the decision of a state, a new array of shape ``(d,)``."""

    @abstractmethod
    def _check_state(self, new: S) -> None:
        """Raise a ValueError for a state that no game leads to."""


class CertifiedLearner(StatefulLearner[C]):
    """A learner that bounds its regret from what the run itself observed."""

    def certificate(self, path_length: float, since: Moment | None = None) -> float:
        """Return an upper bound on the regret against every comparator sequence of a path length.

        Parameters
        ----------
        path_length
            P, the largest path length of the comparators over the rounds that count.
        since
            A moment that :attr:`moment` gave earlier: only the rounds after it count. All rounds
            unless given.

        Raises
        ------
        ValueError
            If the moment is not one of this learner's past.
        """
        path = arguments.nonnegative("path_length", path_length)
        sums, base = self._state.certificate, self._base
        if since is None:
            return sums.bound(self._geometry, path, base, self._constant_steps)
        if not isinstance(since, Moment):
            raise TypeError(
                "since must be a moment that learner.moment gave, got "
                f"{arguments.short_repr(since)}."
            )
        then, now = len(since.base), len(base)
        if (
            since.rounds > self.rounds
            or then > now
            or since.base.shape[1:] != base.shape[1:]
            or (since.sums.dual_sum is None) is not (sums.dual_sum is None)
        ):
            raise ValueError(
                f"since must be a moment of this learner's past, got one after {since.rounds} "
                f"rounds with {then} experts, and "
                f"the learner has played {self.rounds} with {now}. Take it from this learner, and "
                "earlier."
            )
        return sums.window_bound(
            self._geometry,
            path,
            base,
            self._constant_steps,
            since=since,
            ancestors=self._ancestors(then, now),
            rounds=self.rounds - since.rounds,
        )

    @property
    def moment(self) -> Moment:
        """The present, for a later ``certificate(path_length, since=moment)``."""
        return Moment(self.rounds, self._state.certificate, self._base)

    @property
    def _base(self) -> Matrix:
        """Base points of all experts less the centre of the domain, shape ``(N, d)``."""
        return np.concatenate([base_offset(kind, self.domain) for kind in self._state.experts])

    @property
    @abstractmethod
    def _constant_steps(self) -> Any:
        """Which experts are known to keep one step size, shape ``(N,)`` or one value for all."""

    @cached_property
    def _geometry(self) -> DomainGeometry:
        return DomainGeometry.of(self.domain)

    def _ancestors(self, then: int, now: int) -> Any:
        """Return for each of ``now`` experts the index of its ancestor among ``then`` experts.

        Pools grow by copies of the last expert of each kind.
        """
        if then == now:
            return np.arange(now)
        kinds = len(self._state.experts)
        each = np.minimum(np.arange(now // kinds), then // kinds - 1)
        return np.concatenate([kind * (then // kinds) + each for kind in range(kinds)])

    def _check_state(self, new: C) -> None:
        new.certificate.check(self.domain.diameter)
        if not np.all(self._constant_steps):
            for k, kind in enumerate(new.experts):
                check_error_sums(f"experts.{k}.squared_error_sum", kind.squared_error_sum)
        slack = SLACK * (self.domain.diameter + float(np.linalg.norm(self.domain.center)))
        for kind in new.experts:
            require_inside(kind, self.domain, slack)


class UncertifiedLearner(StatefulLearner[Any]):
    """A learner whose guarantee is a theorem about its losses, and not a certificate of the run."""

    guarantee: ClassVar[str]
    """The function that computes its theorem, such as ``"sp.bounds.omgd"``, or its order."""

    @property
    def _arrived(self) -> int:
        """Number of rounds whose losses were learned."""
        return self.rounds

    def _extremes(self, loss: ObservedLoss, decision: Vector) -> LossExtremes:
        """Return the extremes with a loss more; refuse squares that underflow, as certificates do.

        The longest gradient so far is known if all losses were observed since the first round.
        """
        longest = max(self._seen.gradient**2, loss.longest)
        is_known = self._seen.rounds == self._arrived
        if is_known and loss.largest_entry > 0.0 and longest < SMALLEST_SUM:
            raise ValueError(underflow_message(loss.largest_entry))
        return super()._extremes(loss, decision)

    def certificate(self, path_length: float, since: Moment | None = None) -> NoReturn:
        """Raise an error that names the theorem.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no certificate. What it promises beforehand is "
            f"{self.guarantee}."
        )

    @property
    def moment(self) -> NoReturn:
        """Raise an error, as there is no certificate.

        Raises
        ------
        NotImplementedError
            Always.
        """
        self.certificate(0.0)

    def _check_state(self, new: Any) -> None:
        slack = SLACK * (self.domain.diameter + float(np.linalg.norm(self.domain.center)))
        if not self.domain.contains(self._feasible(new), atol=slack).all():
            raise ValueError(
                "state has points outside the domain. Make the learner with the domain it was "
                "saved with."
            )

    @abstractmethod
    def _feasible(self, now: Any) -> Array:
        """Return the points of a state that must lie in the domain, shape ``(..., d)``."""


def require_measurable(experts: Sequence[ExpertState], loss: ObservedLoss) -> None:
    """Refuse gradients whose squares underflow while no longer gradient was met.

    Steps and certificates are made of these squares. All experts start at the centre, so the first
    gradient that is not 0 is the same for all: once its square is a normal number, later squares
    that underflow are below the rounding error of its sum.

    Parameters
    ----------
    experts
        The states after the round.
    loss
        The loss of the round.

    Raises
    ------
    ValueError
        If gradients were met, but none whose square is a normal number.
    """
    if loss.longest >= SMALLEST_SUM or loss.largest_entry == 0.0:
        return
    if all(kind.squared_error_sum.max() < SMALLEST_SUM for kind in experts):
        raise ValueError(underflow_message(loss.largest_entry))


def frozen(values: Array) -> Array:
    """Return a view that cannot be written through."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view
