"""What every learner shares: a state that is replaced whole, and its way in and out."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from swordplay.core import arguments, checkpoint, state
from swordplay.core.state import compare_settings, made_with, settings_entries, split_settings
from swordplay.core.types import Array, Domain, Gradient, Loss, Matrix, State, Vector
from swordplay.parts.experts import ExpertState, from_center
from swordplay.parts.experts.expert import renewed, require_inside
from swordplay.parts.learners import assumptions, certificate, sanity
from swordplay.parts.learners.assumptions import Assumptions, Seen, Told, WatchedLoss
from swordplay.parts.learners.certificate import Moment, Surroundings

SLACK = 1e-9
"""How far outside the domain a saved point may lie, relatively: rounding of whoever wrote it."""
REMEDY = "Make the learner with the settings it was saved with."


class LearnerState(Protocol):
    """The entries that every learner's state has."""

    @property
    def experts(self) -> Sequence[ExpertState]:
        """The states of each kind of experts."""
        ...

    @property
    def rounds(self) -> int:
        """How many losses were observed."""
        ...

    @property
    def certificate(self) -> certificate.CertificateState:
        """The sums of the certificate."""
        ...


class Keeper(Protocol):
    """Somebody who goes on playing for a learner and has its state, such as the compiled engine."""

    @property
    def rounds(self) -> int:
        """How many losses were observed."""
        ...

    def state(self) -> State:
        """The learner's state, as ``Learner.state`` would give it, without the settings."""
        ...

    def release(self) -> None:
        """Stop playing for the learner, which goes on with another."""
        ...


S = TypeVar("S", bound=LearnerState)


class StatefulLearner(ABC, Generic[S]):
    """A learner whose round is a function from state to state.

    A subclass says how to start, how to step, and where the decision lies in a state. The state is
    made when it is first asked for: a learner that only the engine plays never has to write out its
    points.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        """X, where the decisions live."""
        self.keeper: Keeper | None = None
        """Who has the state at present, if not the learner itself."""
        self._own: S | None = None
        self._decision: Vector | None = None
        self._seen = Seen()

    told: Told = Told()
    """The constants that the learner was told; nothing unless it says so."""

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
    def untouched(self) -> bool:
        """Whether nobody has asked for the state or loaded one yet: it is that of a fresh start."""
        return self._own is None and self.keeper is None

    @property
    def rounds(self) -> int:
        """How many losses were observed."""
        if self.keeper is not None:
            return self.keeper.rounds
        return 0 if self._own is None else self._own.rounds

    def observe(self, loss: Loss) -> None:
        """Learn from a loss: the whole round happens or, on an error, nothing does."""
        watched, decision = WatchedLoss(loss), self.decision
        new = self._step(self._state, watched)
        seen = watched.added_to(self._seen, decision)
        self._take(new)
        self._seen = seen

    @property
    def assumptions(self) -> Assumptions:
        """What the learner was told about its losses beside what was seen of them: whether its
        theorem still stands.
        """
        return Assumptions(self.told, self._seen, self.rounds)

    def watch(self, rounds: int, gradient: float, smoothness: float, lowest: float) -> None:
        """Take note of rounds that somebody else played for the learner: how many, and the
        extremes of their losses.
        """
        self._seen = self._seen.more(rounds, gradient, smoothness, lowest)

    def certificate(self, path_length: float, since: Moment | None = None) -> float:
        """An upper bound on the regret against every comparator sequence of at most this path
        length.

        Parameters
        ----------
        path_length
            P, of the comparators' path over the rounds that count.
        since
            A moment that :attr:`moment` gave earlier: only the rounds after it count. All rounds
            unless given.

        Raises
        ------
        ValueError
            If the moment is not one of this learner's past.
        """
        path, sums, base = (
            arguments.nonnegative("path_length", path_length),
            self._state.certificate,
            self._base,
        )
        if since is None:
            return certificate.value(sums, self._around, path, self._steady, base)
        if not isinstance(since, Moment):
            raise TypeError(
                "since must be a moment that learner.moment gave, got "
                f"{arguments.short_repr(since)}."
            )
        then, now, kept = (
            len(since.base),
            len(base),
            [np.shape(part.heading)[1:] for part in (since.sums, sums)],
        )
        if (
            since.rounds > self.rounds
            or then > now
            or since.base.shape[1:] != base.shape[1:]
            or kept[0] != kept[1]
        ):
            raise ValueError(
                f"since must be a moment of this learner's past, got one after {since.rounds} "
                f"rounds with {then} experts, and "
                f"the learner has played {self.rounds} with {now}. Take it from this learner, and "
                "earlier."
            )
        return certificate.value_since(
            sums, self._around, path, self._steady, base, since, self._parents(then, now)
        )

    @property
    def moment(self) -> Moment:
        """Now, for a certificate of the rounds to come: ``certificate(path_length,
        since=moment)``.
        """
        return Moment(self.rounds, self._state.certificate, self._base)

    @property
    def _base(self) -> Matrix:
        """Where all experts step from, seen from the centre, shape ``(N, d)``."""
        return np.concatenate([from_center(kind, self.domain) for kind in self._state.experts])

    @property
    def _steady(self) -> Any:
        """Which experts have one step size for ever, as far as the learner knows: none unless it
        says so.
        """
        return False

    @cached_property
    def _around(self) -> Surroundings:
        return Surroundings.of(self.domain)

    def _parents(self, then: int, now: int) -> Any:
        """For each expert of today its index among those of an earlier day.

        Pools grow by copies of the last of each kind.
        """
        if then == now:
            return np.arange(now)
        kinds = len(self._state.experts)
        each = np.minimum(np.arange(now // kinds), then // kinds - 1)
        return np.concatenate([kind * (then // kinds) + each for kind in range(kinds)])

    def state(self) -> State:
        """All that the next round needs and all that the learner was made with, as named arrays
        and numbers.
        """
        return state.save(self._state) | settings_entries(self._made_with)

    def load_state(self, state_: Mapping[str, Any]) -> None:
        """Go on from a saved state, bit by bit as the learner that saved it.

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
        if differ := compare_settings(settings, self._made_with):
            raise ValueError(f"state was saved with other settings: {differ}. {REMEDY}")
        saved, seen = assumptions.split(saved)
        template = self._template(saved)
        new = state.load(
            template,
            renewed(certificate.renewed(saved), state.save(template), self.domain),
        )
        self._require_sane(new)
        self._take(new)
        self._seen = seen

    def _require_sane(self, new: S) -> None:
        """Refuse a state that no game leads to."""
        sanity.require_numbers(new, self.domain.diameter, steady=bool(np.all(self._steady)))
        slack = SLACK * (self.domain.diameter + float(np.linalg.norm(self.domain.center)))
        for kind in new.experts:
            require_inside(kind, self.domain, slack)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint: the state and the settings in a file, whole or not at all."""
        checkpoint.save(path, self.state() | self._seen.entries(), kind=type(self).__name__)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Go on from a checkpoint that a learner made with the same settings saved.

        A method and no constructor: a file cannot hold your domain, your pool or your rate, so you
        make the learner and the file is compared with it.

        Raises
        ------
        CheckpointError
            If the file is not a whole checkpoint of this kind of learner, or was saved with other
            settings; nothing changes.
        """
        saved = checkpoint.load(path, kind=type(self).__name__)
        _, settings = split_settings(saved)
        if not settings:
            raise checkpoint.CheckpointError(
                f"{os.fspath(path)} does not say what its learner was made with. Save it with "
                "learner.save."
            )
        if differ := compare_settings(settings, self._made_with):
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
        """What the learner was made with: everything that a saved state and the learner that loads
        it must have in common.

        The centre and the diameter of the domain and the first step sizes are said here for every
        learner; the parts add what these three do not say.
        """
        X = self.domain
        return {
            "learner": type(self).__qualname__,
            "center": X.center,
            "diameter": X.diameter,
            "domain": X,
        }

    @cached_property
    def _made_with(self) -> State:
        return made_with(self.settings())

    def hand_over(self, keeper: Keeper) -> None:
        """Leave the state with a keeper until somebody asks the learner for it."""
        self._release()
        self._own, self._decision, self.keeper = None, None, keeper

    def __copy__(self) -> Self:
        """A learner of its own: a keeper plays for one learner only."""
        twin = object.__new__(type(self))
        twin.__dict__.update(
            self.__dict__, _own=None if self.untouched else self._state, keeper=None
        )
        return twin

    def _release(self) -> None:
        if self.keeper is not None:
            self.keeper.release()

    @property
    def _state(self) -> S:
        if self._own is None or self._own.rounds != self.rounds:
            saved = None if self.keeper is None else self.keeper.state()
            self._own = self._start() if saved is None else state.load(self._template(saved), saved)
            self._decision = None
        return self._own

    def _take(self, new: S) -> None:
        """Go on from a new state; whoever kept the old one lets go of it."""
        self._release()
        self._own, self._decision, self.keeper = new, None, None

    def _template(self, saved: Mapping[str, Any]) -> S:
        """A state of the shape that ``saved`` must have."""
        return self._start()

    @abstractmethod
    def _start(self) -> S:
        """The state before the first round."""

    @abstractmethod
    def _step(self, state_: S, gradient: Gradient) -> S:
        """The state after a round with this gradient field."""

    @abstractmethod
    def _decide(self, state_: S) -> Vector:
        """The decision that a state stands for; a new array."""


def frozen(values: Array) -> Array:
    """A view that cannot be written through."""
    view = np.asarray(values).view()
    view.flags.writeable = False
    return view
