"""Files that hold a whole estimator: its parameters, its model and what is around the model.

No pickle.
"""

from __future__ import annotations

import functools
import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from swordplay.core import arguments, checkpoint
from swordplay.core.checkpoint import CheckpointError
from swordplay.core.model_lock import LockedModel
from swordplay.core.types import State
from swordplay.estimators.tuning import AUTO

PARAMETER, MODEL = "parameter.", "model."
SIZES = ("columns", f"{PARAMETER}lags")
"""Entries that say how much there is: room is made for so much."""


class SavedModel(LockedModel, ABC):
    """``save`` and ``load``, for classes that keep each argument of their constructor under its
    own name.
    """

    _library: ClassVar[str] = ""
    """Put before the name of the class to tell its files from those of a namesake."""

    @abstractmethod
    def _learned(self) -> tuple[Any, State] | None:
        """The model and what is around it, such as names of columns.

        None before anything was learned.
        """

    @abstractmethod
    def _resume(self, saved: Mapping[str, Any]) -> Any:
        """Take up what was around the model.

        Returns the model, made afresh for its state to be loaded.
        """

    def state(self) -> State:
        """Parameters and all that was learned, as named arrays, numbers and texts: what
        :meth:`save` writes.
        """
        given = {name: getattr(self, name) for name in parameters(type(self))}
        # A checkpoint holds no None: such a parameter is left out, and from_state restores it.
        state: State = {
            f"{PARAMETER}{name}": value for name, value in given.items() if value is not None
        }
        learned = self._learned()
        if learned is not None:
            model, around = learned
            state |= {f"{MODEL}{name}": value for name, value in model.state().items()} | around
        return state

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write parameters and state to a file, all or nothing; no pickle."""
        checkpoint.save(path, self.state(), kind=self.kind())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The estimator that was saved; it goes on bit by bit.

        Raises
        ------
        CheckpointError
            If the file is not exactly what this class saved.
        """
        saved = checkpoint.load(path, kind=cls.kind())
        try:
            return cls.from_state(saved)
        except (TypeError, ValueError, LookupError, OverflowError, RecursionError) as error:
            raise CheckpointError(
                f"the checkpoint {os.fspath(path)!r} does not fit {cls.__name__}: {error} Save it "
                "again with this version."
            ) from error

    @classmethod
    def from_state(cls, saved: Mapping[str, Any]) -> Self:
        """The estimator of a :meth:`state`; it goes on bit by bit.

        Raises
        ------
        TypeError, ValueError, LookupError, OverflowError, RecursionError
            If it is not exactly what this class gave.
        """
        estimator = cls(**dict.fromkeys(parameters(cls)) | _within(PARAMETER, saved))
        model = _within(MODEL, saved)
        if model:
            _require_held(saved)
            estimator._resume(saved).load_state(model)
        return estimator

    @classmethod
    def kind(cls) -> str:
        """What its files say they hold."""
        return cls._library + cls.__name__


@functools.cache
def parameters(kind: type) -> tuple[str, ...]:
    """Arguments of the constructor, which are attributes of the same name."""
    return tuple(inspect.signature(kind).parameters)


def same(one: Any, other: Any) -> bool:
    """Whether two values of a parameter mean the same."""
    return one is other or bool(np.array_equal(one, other))


def _require_held(saved: Mapping[str, Any]) -> None:
    """Refuse sizes that the file itself gives the lie to, before room is made for as much."""
    numbers = sum(np.size(value) for value in saved.values())
    for name in SIZES:
        if (
            saved.get(name) != AUTO
            and arguments.integer(name, saved.get(name, 0), least=0) > numbers
        ):
            raise ValueError(
                f"{name} is {saved[name]}, but the file holds {numbers} numbers in all."
            )


def _within(prefix: str, saved: Mapping[str, Any]) -> State:
    return {
        name.removeprefix(prefix): value for name, value in saved.items() if name.startswith(prefix)
    }
