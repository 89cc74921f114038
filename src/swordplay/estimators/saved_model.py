"""Base class of estimators that are saved as one file: parameters, model and surroundings."""

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
from swordplay.core.state import add_prefix, strip_prefix
from swordplay.core.types import State
from swordplay.estimators.model_settings import AUTO

PARAMETER, MODEL = "parameter", "model"
"""Names of these parts of a saved state."""
SIZE_ENTRIES = ("columns", f"{PARAMETER}.lags")
"""Entries of a saved state that say how much memory the model needs."""


class SavedModel(LockedModel, ABC):
    """``save`` and ``load`` for classes that store each constructor argument under its name."""

    _library: ClassVar[str] = ""
    """Prefix of :meth:`kind`, for classes with the same name in several libraries."""

    @abstractmethod
    def _learned(self) -> tuple[Any, State] | None:
        """Return the model and the entries beside it; None before anything was learned.

        The entries are all that the model does not save itself, such as names of columns.
        """

    @abstractmethod
    def _resume(self, saved: Mapping[str, Any]) -> Any:
        """Restore what :meth:`_learned` returned beside the model.

        Returns
        -------
        model
            A fresh model, whose ``load_state`` is called next.
        """

    def state(self) -> State:
        """Return parameters and all that was learned, as :meth:`save` writes it.

        Returns
        -------
        State
            Arrays, numbers and texts by name.
        """
        values = {name: getattr(self, name) for name in parameter_names(type(self))}
        # a checkpoint holds no None: such a parameter is left out, and from_state restores it
        state = add_prefix(
            PARAMETER, {name: value for name, value in values.items() if value is not None}
        )
        learned = self._learned()
        if learned is not None:
            model, around = learned
            state |= add_prefix(MODEL, model.state()) | around
        return state

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write parameters and state to a file, without pickle.

        The file is replaced as a whole or not at all.

        Parameters
        ----------
        path
            Name of the file.
        """
        checkpoint.save(path, self.state(), kind=self.kind())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the estimator that was saved; it continues exactly where it stopped.

        Parameters
        ----------
        path
            Name of the file that :meth:`save` wrote.

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
        """Return the estimator whose :meth:`state` this is; it continues where that one stopped.

        Parameters
        ----------
        saved
            What :meth:`state` returned.

        Raises
        ------
        TypeError, ValueError, LookupError, OverflowError, RecursionError
            If it is not exactly what this class returned.
        """
        values = dict.fromkeys(parameter_names(cls)) | strip_prefix(PARAMETER, saved)
        estimator = cls(**values)
        model = strip_prefix(MODEL, saved)
        if model:
            _check_sizes(saved)
            estimator._resume(saved).load_state(model)
        return estimator

    @classmethod
    def kind(cls) -> str:
        """Return the name of this class in its files."""
        return cls._library + cls.__name__


@functools.cache
def parameter_names(kind: type) -> tuple[str, ...]:
    """Return the arguments of a class's constructor, which are attributes of the same name."""
    return tuple(inspect.signature(kind).parameters)


def is_same_value(one: Any, other: Any) -> bool:
    """Return whether two values of a parameter are equal, arrays included."""
    return one is other or bool(np.array_equal(one, other))


def _check_sizes(saved: Mapping[str, Any]) -> None:
    """Refuse sizes above the number of saved values, before memory is allocated for them."""
    numbers = sum(np.size(value) for value in saved.values())
    for name in SIZE_ENTRIES:
        size = saved.get(name, 0)
        if size != AUTO and arguments.integer(name, size, least=0) > numbers:
            raise ValueError(
                f"{name} is {saved[name]}, but the file holds {numbers} numbers in all."
            )
