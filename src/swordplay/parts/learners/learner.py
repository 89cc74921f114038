"""The base classes of all learners: observing losses, states, files, certificates and theorems."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Generic, NoReturn, Protocol, Self, TypeVar

import numpy as np

from swordplay.core import arguments
from swordplay.core import state as state_schema
from swordplay.core.state import (
    flatten_settings,
    settings_differences,
    settings_entries,
    split_settings,
)
from swordplay.core.types import Array, Domain, Loss, Matrix, State, Vector
from swordplay.parts.experts import ExpertState, base_offset
from swordplay.parts.experts.expert import check_loaded_state
from swordplay.parts.experts.step_sizes import SMALLEST_SUM, check_error_sums, underflow_message
from swordplay.parts.learners import assumptions
from swordplay.parts.learners.assumptions import (
    Assumptions,
    DeclaredConstants,
    LossExtremes,
    ObservedLoss,
)
from swordplay.parts.learners.certificate import CertificateState, DomainGeometry, Moment

SAVED_TOLERANCE = 1e-9
"""Relative rounding error allowed in saved points and weights."""
SETTINGS_REMEDY = "Make the learner with the settings it was saved with."
"""Remedy in messages about a state that was saved with other settings."""


class LearnerState(Protocol):
    """The field that the state of every learner has."""

    @property
    def rounds(self) -> int:
        """Number of observed losses."""
        ...


class CertifiedState(LearnerState, Protocol):
    """The fields that the state of every learner with a certificate has."""

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
        """Number of rounds that the learner has played, before and with this holder."""
        ...

    def state(self) -> State:
        """Return the entries of ``StatefulLearner.state``, by the same names, without settings."""
        ...

    def release(self) -> None:
        """Refuse further rounds: the learner now holds its state itself."""
        ...


StateT = TypeVar("StateT", bound=LearnerState)
CertifiedT = TypeVar("CertifiedT", bound=CertifiedState)


class StatefulLearner(ABC, Generic[StateT]):
    """A learner whose round is a function from state to state.

    A subclass gives the first state, the next state and the decision of a state. The first state is
    made when it is first needed: if only the engine plays, the learner never makes its arrays.

    The state is kept in ``_own_state`` and, while an engine plays, in the ``holder``, which then
    counts the rounds:

    - ``_own_state`` and ``holder`` are None: the state is the first one;
    - ``_own_state`` has the holder's number of rounds, or there is no holder: it is current;
    - otherwise the holder has the newer state, and ``_state`` reads it from there.

    ``_decision`` belongs to ``_own_state``. Replacing the state detaches the holder.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        """X, the set of decisions."""
        self.holder: StateHolder | None = None
        """The engine that plays for the learner; None if no engine does."""
        self._own_state: StateT | None = None
        self._decision: Vector | None = None
        self._loss_extremes = LossExtremes()
        """Largest gradient norm, largest smoothness and lowest loss of the losses so far."""

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
            self._decision = read_only(self._decide(current))
        return self._decision

    @property
    def is_fresh(self) -> bool:
        """Whether no state was made or loaded yet."""
        return self._own_state is None and self.holder is None

    @property
    def rounds(self) -> int:
        """Number of observed losses."""
        if self.holder is not None:
            return self.holder.rounds
        return 0 if self._own_state is None else self._own_state.rounds

    def observe(self, loss: Loss) -> None:
        """Learn from the loss of a round; on an error the learner is unchanged."""
        observed = ObservedLoss(loss)
        decision = self.decision
        new_state = self._advance(self._state, observed)
        self._replace_state(new_state, self._extremes_with(observed, decision))

    def _extremes_with(self, loss: ObservedLoss, decision: Vector) -> LossExtremes:
        """Return the extremes of all losses so far, this one included."""
        return self._loss_extremes.merged(loss.extremes(decision))

    @property
    def assumptions(self) -> Assumptions:
        """The declared constants, and whether the observed losses satisfy them."""
        return Assumptions(self.declared, self._loss_extremes, self.rounds)

    def add_extremes(
        self, rounds: int, gradient_norm: float, smoothness: float, lowest: float
    ) -> None:
        """Add the extremes of losses that the engine has played for the learner.

        Parameters
        ----------
        rounds
            Number of losses.
        gradient_norm, smoothness, lowest
            Largest norm of a gradient, largest smoothness and smallest loss of these rounds.
        """
        self._loss_extremes = self._loss_extremes.merged(
            LossExtremes(rounds, gradient_norm, smoothness, lowest)
        )

    def state(self) -> State:
        """Return the state for the next round and the settings, as named arrays and numbers."""
        return state_schema.save(self._state) | settings_entries(self._settings)

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Continue from a saved state; later rounds are identical to those of the saved learner.

        Raises
        ------
        ValueError
            If the state is damaged, or was saved by a learner with other settings; nothing changes.
        """
        if not isinstance(saved, Mapping):
            raise TypeError(
                f"state must be the dictionary that state() returned, got {type(saved).__name__}."
            )
        entries, settings = split_settings(saved)
        if differences := settings_differences(settings, self._settings):
            raise ValueError(
                f"state was saved with other settings: {differences}. {SETTINGS_REMEDY}"
            )
        entries, extremes = assumptions.split_extremes(entries)
        new_state = state_schema.load(self._start(), entries, free_axes=self._growing_axes)
        self._check_state(new_state)
        self._replace_state(new_state, extremes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write state and settings to a checkpoint file, atomically."""
        from swordplay.core import checkpoint  # not needed by learners that are not saved

        checkpoint.save(
            path, self.state() | self._loss_extremes.entries(), kind=type(self).__name__
        )

    def load(self, path: str | os.PathLike[str]) -> None:
        """Continue from a checkpoint file of a learner with the same settings.

        This is a method and not a constructor, because a file cannot hold a domain, a pool or a
        rate of your own. You make the learner; its settings are compared with the saved ones.

        Raises
        ------
        CheckpointError
            If the file is damaged, or belongs to another kind of learner or other settings; nothing
            changes.
        """
        from swordplay.core import checkpoint

        saved = checkpoint.load(path, kind=type(self).__name__)
        _, settings = split_settings(saved)
        if not settings:
            raise checkpoint.CheckpointError(
                f"{os.fspath(path)} does not hold the settings of its learner. Save it with "
                "learner.save."
            )
        if differences := settings_differences(settings, self._settings):
            raise checkpoint.CheckpointError(
                f"{os.fspath(path)} was saved with other settings: {differences}. {SETTINGS_REMEDY}"
            )
        try:
            self.load_state(saved)
        except ValueError as error:
            raise checkpoint.CheckpointError(
                f"the checkpoint {os.fspath(path)!r} cannot be used: {error}"
            ) from error

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that are saved with a state and compared when it is loaded.

        These are the class, the domain with its centre and diameter and, in subclasses, the first
        step sizes; the parts of a learner add their own constructor arguments.
        """
        return {
            "learner": type(self).__qualname__,
            "center": self.domain.center,
            "diameter": self.domain.diameter,
            "domain": self.domain,
        }

    @cached_property
    def _settings(self) -> State:
        """Settings of the learner and its parts by dotted path."""
        return flatten_settings(self.settings())

    def attach_engine(self, holder: StateHolder) -> None:
        """Let an engine hold the state until the learner observes or loads something itself."""
        self._release_holder()
        self._own_state, self._decision, self.holder = None, None, holder

    def __copy__(self) -> Self:
        """Return a learner with its own state: an engine plays for one learner only."""
        clone = object.__new__(type(self))
        clone.__dict__.update(
            self.__dict__, _own_state=None if self.is_fresh else self._state, holder=None
        )
        return clone

    def _release_holder(self) -> None:
        if self.holder is not None:
            self.holder.release()

    @property
    def _state(self) -> StateT:
        """State before the coming round, read from the holder if the holder has the newer one."""
        if self._own_state is None or self._own_state.rounds != self.rounds:
            saved = None if self.holder is None else self.holder.state()
            start = self._start()
            self._own_state = (
                start
                if saved is None
                else state_schema.load(start, saved, free_axes=self._growing_axes, trusted=True)
            )
            self._decision = None
        return self._own_state

    def _replace_state(self, new_state: StateT, extremes: LossExtremes) -> None:
        """Replace the state and the extremes of the losses, and detach the engine."""
        self._release_holder()
        self._own_state, self._loss_extremes = new_state, extremes
        self._decision, self.holder = None, None

    @abstractmethod
    def certificate(self, path_length: float, since: Moment | None = None) -> float:
        """Return an upper bound on the regret against every comparator sequence of a path length.

        Raises
        ------
        NotImplementedError
            If the learner has a theorem instead of a certificate.
        """

    @property
    @abstractmethod
    def moment(self) -> Moment:
        """A snapshot of the certificate's sums, for ``certificate(path_length, since=moment)``."""

    @abstractmethod
    def _start(self) -> StateT:
        """Return the state before the first round."""

    @abstractmethod
    def _advance(self, current: StateT, loss: ObservedLoss) -> StateT:
        """Return the state after a round with this loss; ``current`` is not changed."""

    @abstractmethod
    def _decide(self, current: StateT) -> Vector:
        """Return the decision of a state, a new array of shape ``(d,)``."""

    @abstractmethod
    def _check_state(self, new_state: StateT) -> None:
        """Raise a ValueError for a state that no sequence of losses leads to."""


class CertifiedLearner(StatefulLearner[CertifiedT]):
    """A learner that bounds its regret by sums over the rounds that it has played."""

    def certificate(self, path_length: float, since: Moment | None = None) -> float:
        """Return an upper bound on the regret against every comparator sequence of a path length.

        Parameters
        ----------
        path_length
            P, the largest path length of the comparators over the rounds that count.
        since
            A snapshot that :attr:`moment` gave earlier: only the rounds after it count. All rounds
            unless given.

        Raises
        ------
        ValueError
            If the moment is not from the past of this learner.
        """
        path = arguments.nonnegative("path_length", path_length)
        sums, offsets = self._state.certificate, self._base_offsets
        if since is None:
            return sums.bound(self._geometry, path, offsets, self._constant_steps)
        if not isinstance(since, Moment):
            raise TypeError(
                "since must be a moment that learner.moment gave, got "
                f"{arguments.short_repr(since)}."
            )
        experts_then, experts_now = len(since.base_offsets), len(offsets)
        if (
            since.rounds > self.rounds
            or experts_then > experts_now
            or since.base_offsets.shape[1:] != offsets.shape[1:]
            or since.sums.has_dual_sum != sums.has_dual_sum
        ):
            raise ValueError(
                f"since must be a moment of this learner's past, got one after {since.rounds} "
                f"rounds with {experts_then} experts, and the learner has played {self.rounds} "
                f"with {experts_now}. Take it from this learner, and earlier."
            )
        return sums.window_bound(
            self._geometry,
            path,
            offsets,
            self._constant_steps,
            since=since,
            ancestors=self._ancestors(experts_then, experts_now),
            rounds=self.rounds - since.rounds,
        )

    @property
    def moment(self) -> Moment:
        """A snapshot of the certificate's sums, for ``certificate(path_length, since=moment)``."""
        return Moment(self.rounds, self._state.certificate, self._base_offsets)

    @property
    def _base_offsets(self) -> Matrix:
        """Base points, from which experts step, minus the domain's centre, shape ``(N, d)``."""
        return np.concatenate([base_offset(state, self.domain) for state in self._state.experts])

    @property
    @abstractmethod
    def _constant_steps(self) -> Any:
        """Which experts never change their step size, shape ``(N,)`` or one value for all."""

    @cached_property
    def _geometry(self) -> DomainGeometry:
        return DomainGeometry.of(self.domain)

    def _ancestors(self, experts_then: int, experts_now: int) -> Any:
        """For each present expert, return the index of its ancestor among the earlier experts.

        All kinds have equally many experts. Pools grow by copies of the last expert of each kind;
        the ancestor of a copy is that expert, and every other expert is its own ancestor.
        """
        if experts_then == experts_now:
            return np.arange(experts_now)
        kinds = len(self._state.experts)
        size_then, size_now = experts_then // kinds, experts_now // kinds
        ancestors_in_kind = np.minimum(np.arange(size_now), size_then - 1)
        return np.concatenate([kind * size_then + ancestors_in_kind for kind in range(kinds)])

    def _check_state(self, new_state: CertifiedT) -> None:
        new_state.certificate.check(self.domain.diameter)
        if not np.all(self._constant_steps):
            for k, experts_state in enumerate(new_state.experts):
                check_error_sums(f"experts.{k}.squared_error_sum", experts_state.squared_error_sum)
        slack = SAVED_TOLERANCE * (self.domain.diameter + float(np.linalg.norm(self.domain.center)))
        for experts_state in new_state.experts:
            check_loaded_state(experts_state, self.domain, slack)


class UncertifiedLearner(StatefulLearner[Any]):
    """A learner with a theorem about its regret, but without a certificate of the run."""

    guarantee: ClassVar[str]
    """The function that computes the bound, such as ``"sp.bounds.omgd"``, or the bound's order."""

    @property
    def _learned_rounds(self) -> int:
        """Number of rounds whose losses were learned.

        Fewer than ``rounds`` while losses are outstanding, which only ``MildOGD`` allows.
        """
        return self.rounds

    def _extremes_with(self, loss: ObservedLoss, decision: Vector) -> LossExtremes:
        """Return the extremes of all losses so far; refuse gradients whose squares underflow.

        The longest gradient so far is known if all losses were observed since the first round.
        """
        max_squared_norm = max(self._loss_extremes.gradient_norm**2, loss.max_squared_norm)
        is_known = self._loss_extremes.rounds == self._learned_rounds
        if is_known and loss.largest_entry > 0.0 and max_squared_norm < SMALLEST_SUM:
            raise ValueError(underflow_message(loss.largest_entry))
        return super()._extremes_with(loss, decision)

    def certificate(self, path_length: float, since: Moment | None = None) -> NoReturn:
        """Raise an error that names the theorem.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no certificate. Its bound, known before the run, is "
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

    def _check_state(self, new_state: Any) -> None:
        slack = SAVED_TOLERANCE * (self.domain.diameter + float(np.linalg.norm(self.domain.center)))
        if not self.domain.contains(self._points_to_check(new_state), atol=slack).all():
            raise ValueError(
                "state has points outside the domain. Make the learner with the domain it was "
                "saved with."
            )

    @abstractmethod
    def _points_to_check(self, current: Any) -> Array:
        """Return the points of a loaded state that must lie in the domain, shape ``(..., d)``."""


def refuse_underflow(experts: Sequence[ExpertState], loss: ObservedLoss) -> None:
    """Refuse gradients whose squares underflow before any gradient with a normal square was seen.

    Step sizes and certificates are computed from these squares. All experts start at the centre, so
    that the first gradient other than 0 is the same for all. Once its square is a normal
    floating-point number, later squares that underflow are below the rounding error of the sums.

    Parameters
    ----------
    experts
        The states after the round.
    loss
        The loss of the round.

    Raises
    ------
    ValueError
        If a gradient of the round is not 0, but every square so far underflows.
    """
    if loss.max_squared_norm >= SMALLEST_SUM or loss.largest_entry == 0.0:
        return
    if all(state.squared_error_sum.max() < SMALLEST_SUM for state in experts):
        raise ValueError(underflow_message(loss.largest_entry))


def read_only(values: Array) -> Array:
    """Return a view through which the array cannot be changed."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view
