"""What every learner shares: a state that is replaced whole, and its way in and out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from swordplay import arguments, state
from swordplay.learners import certificate
from swordplay.types import Array, Domain, Gradient, Loss, State, Vector


class LearnerState(Protocol):
    """The two entries that every learner's state has."""

    @property
    def rounds(self) -> int: ...

    @property
    def certificate(self) -> certificate.CertificateState: ...


S = TypeVar("S", bound=LearnerState)


class StatefulLearner(ABC, Generic[S]):
    """A learner whose round is a function from state to state.

    A subclass says how to start, how to step, and where the decision lies in a state.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        """X, where the decisions live."""
        self._take(self._start())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain!r}, rounds={self.rounds})"

    @property
    def decision(self) -> Vector:
        """x_t of the coming round, shape ``(d,)``."""
        return self._decision

    @property
    def rounds(self) -> int:
        """How many losses were observed."""
        return self._state.rounds

    def observe(self, loss: Loss) -> None:
        """Learn from a loss: the whole round happens or, on an error, nothing does."""
        if not isinstance(loss, Loss):
            raise TypeError(f"loss must have value, gradient and smoothness, got {arguments.shown(loss)}. Try sp.SquaredLoss.")
        self._take(self._step(self._state, arguments.checked_gradient(loss.gradient)))

    def certificate(self, path_length: float) -> float:
        """An upper bound on the regret so far against every comparator sequence of at most this path length."""
        path = arguments.nonnegative("path_length", path_length)
        return certificate.value(self._state.certificate, self.domain.diameter, path)

    def state(self) -> State:
        """All that the next round needs, as named arrays and numbers."""
        return state.flatten(self._state)

    def load_state(self, state_: Mapping[str, Any]) -> None:
        """Go on from a saved state, bit by bit as the learner that saved it."""
        if not isinstance(state_, Mapping):
            raise TypeError(f"state must be the dictionary that state() returned, got {type(state_).__name__}.")
        self._take(state.restore(self._template(state_), state_))

    def _take(self, new: S) -> None:
        decision = self._decide(new)
        decision.flags.writeable = False
        self._state, self._decision = new, decision

    def _template(self, saved: Mapping[str, Any]) -> S:
        """A state of the shape that ``saved`` must have."""
        return self._state

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
