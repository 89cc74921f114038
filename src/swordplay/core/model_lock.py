"""A lock per model: calls of one model from several threads run one after the other.

Kernels release Python's global lock while they run, so without this two threads would write into
the same arrays.

A fork waits up to ten seconds for running calls to end, so that the child's models are consistent.
The models of the child get new, free locks. If a call runs for longer, the fork happens
nevertheless: no hook of Python can refuse it, and the call may itself be waiting for the fork. Only
the child's copies of models whose calls were running may then be inconsistent.
"""

from __future__ import annotations

import copy
import functools
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Self, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

FORK_TIMEOUT_SECONDS = 10.0
"""How long a fork waits for running calls to end; then it happens nevertheless."""


def with_lock(method: F) -> F:
    """Wrap a method so that it holds the lock of its object while it runs."""

    @functools.wraps(method)
    def locked(self: Any, /, *arguments: Any, **options: Any) -> Any:
        with self._lock:
            return method(self, *arguments, **options)

    return cast(F, locked)


def locks_itself(method: F) -> F:
    """Mark a method that acquires ``self._lock`` itself: ``LockedModel`` does not wrap it."""
    # LockedModel reads the attribute; type checkers allow none on functions
    method.locks_itself = True  # type: ignore[attr-defined]
    return method


class LockedModel:
    """Base class whose public methods and properties run under one lock per object.

    The lock is in a slot and not in ``__dict__``: it is neither copied nor pickled nor printed.
    Copies and pickles are made under the lock, too.
    """

    __slots__ = ("__weakref__", "_lock")
    _lock: Any

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Create an object with a lock; copying and unpickling call this as well."""
        self = super().__new__(cls)
        self._lock = threading.RLock()
        _models.add(self)
        return self

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, member in list(vars(cls).items()):
            if name.startswith("_") or getattr(member, "locks_itself", False):
                continue
            if callable(member) and not isinstance(member, type | classmethod | staticmethod):
                setattr(cls, name, with_lock(member))
            elif isinstance(member, property) and member.fget is not None:
                setattr(
                    cls,
                    name,
                    property(with_lock(member.fget), member.fset, member.fdel, member.__doc__),
                )

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            # The second argument keeps references to the object itself as references to it.
            return copy.deepcopy(self._copied_attributes(), {id(self): self})

    def _copied_attributes(self) -> dict[str, Any]:
        """Return the attributes that a copy receives."""
        return vars(self)


class _Models:
    """Weak references to all objects with a lock, to acquire their locks before a fork."""

    def __init__(self) -> None:
        self._references: dict[int, weakref.ref[LockedModel]] = {}
        """References by the ``id`` of the model, as models need not be hashable."""
        self._acquired: list[Any] = []
        """Locks that this thread holds during a fork."""

    def add(self, model: LockedModel) -> None:
        """Add a new model; it is removed when it is deleted."""
        key = id(model)
        self._references[key] = weakref.ref(model, lambda _: self._references.pop(key, None))

    def all(self) -> list[LockedModel]:
        """Return the models that exist."""
        references = list(self._references.values())  # a copy: other threads make models, too
        return [model for reference in references if (model := reference()) is not None]

    def acquire(self) -> None:
        """Acquire the locks of all models, so that no call is running during a fork.

        If a call is running on a model, all acquired locks are released until the call ends,
        because it may need them. After ``FORK_TIMEOUT_SECONDS`` this returns with the locks of the
        models on which no call is running.
        """
        deadline = time.monotonic() + FORK_TIMEOUT_SECONDS
        while True:
            busy = None
            for model in self.all():
                if model._lock.acquire(blocking=False):
                    self._acquired.append(model._lock)
                else:
                    busy = model
            if busy is None or time.monotonic() > deadline:
                return
            self.release()
            # wait until the call ends, then try to acquire all locks again
            if busy._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
                busy._lock.release()

    def release(self) -> None:
        """Release the acquired locks, in the parent after a fork."""
        while self._acquired:
            self._acquired.pop().release()

    def renew(self) -> None:
        """Make new locks in the child, where the threads that hold the old ones do not exist."""
        self._acquired.clear()
        for model in self.all():
            model._lock = threading.RLock()


_models = _Models()
if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(
        before=_models.acquire, after_in_parent=_models.release, after_in_child=_models.renew
    )
