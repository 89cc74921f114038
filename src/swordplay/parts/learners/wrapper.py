"""What the learners share that let another learner play a changed game."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.state import compare_settings, made_with, settings_entries, split_settings
from swordplay.core.types import Domain, Loss, State, Vector
from swordplay.parts.learners.assumptions import Assumptions
from swordplay.parts.learners.learner import REMEDY, StatefulLearner
from swordplay.parts.losses import FunctionLoss

AROUND = "around"
"""How the names of the settings begin that the learner inside does not have."""


class Wrapper(ABC):
    """A learner around another one, whose state is all that it keeps.

    A subclass says how a decision follows from that of the learner inside, and which gradient to
    tell it after a round.
    """

    def __init__(self, domain: Domain, inner: StatefulLearner[Any]) -> None:
        self.domain = domain
        """X, where the decisions live."""
        self.inner = inner
        """Who plays the changed game."""
        self._decision: Vector | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain!r}, {self.inner!r})"

    @property
    def decision(self) -> Vector:
        """x_t of the coming round, shape ``(d,)``."""
        if self._decision is None:
            self._decision = self._decide()
            self._decision.flags.writeable = False
        return self._decision

    @property
    def rounds(self) -> int:
        """How many losses were observed."""
        return self.inner.rounds

    @property
    def assumptions(self) -> Assumptions:
        """What the learner inside was told about the gradients that it is handed, beside what
        was seen of them.
        """
        return self.inner.assumptions

    def observe(self, loss: Loss) -> None:
        """Learn from a loss: the whole round happens or, on an error, nothing does."""
        gradient = self._gradient(loss)
        self.inner.observe(
            FunctionLoss(lambda y: y @ gradient, lambda y: np.broadcast_to(gradient, y.shape), 0.0)
        )
        self._decision = None

    def settings(self) -> Mapping[str, Any]:
        """What the learner was made with, beside what the learner inside was made with."""
        center, diameter = self.domain.center, self.domain.diameter
        return {
            "learner": type(self).__qualname__,
            "center": center,
            "diameter": diameter,
            "domain": self.domain,
        }

    def state(self) -> State:
        """All that the next round needs and all that the learner was made with, as named arrays
        and numbers.
        """
        return self.inner.state() | settings_entries(made_with({AROUND: self.settings()}))

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
        here = _inside(made_with({AROUND: self.settings()}))
        if differ := compare_settings(_inside(settings), here):
            raise ValueError(f"state was saved with other settings: {differ}. {REMEDY}")
        inner = {
            path: value for path, value in settings.items() if not path.startswith(f"{AROUND}.")
        }
        self.inner.load_state(saved | settings_entries(inner))
        self._decision = None

    @abstractmethod
    def _decide(self) -> Vector:
        """The decision that the learner inside leads to; a new array."""

    @abstractmethod
    def _gradient(self, loss: Loss) -> Vector:
        """What the learner inside is told of a loss: a gradient, shape ``(d,)``."""


def _inside(flat: Mapping[str, Any]) -> State:
    """The settings that begin with ``AROUND``, without it.

    A state that has none was saved by another learner.
    """
    own = {
        path.removeprefix(f"{AROUND}."): value
        for path, value in flat.items()
        if path.startswith(f"{AROUND}.")
    }
    return {"learner": "not set", **own}


def stateful(value: Any) -> StatefulLearner[Any]:
    """A learner of this package, which says its settings."""
    if not isinstance(value, StatefulLearner):
        raise TypeError(
            f"make must make a learner such as sp.Ader, got {arguments.short_repr(value)} "
            f"({type(value).__name__})."
        )
    return value
