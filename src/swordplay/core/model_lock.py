"""A lock per model: calls of one model from several threads run one after the other.

Kernels release Python's global lock while they run, so without this two threads would write into
the same arrays. A fork waits up to ten seconds for running calls, so that the models of the child
are consistent; their locks are free.
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
"""How long a fork waits for running calls."""


def with_lock(method: F) -> F:
    """Let a method hold the lock of its object while it runs."""

    @functools.wraps(method)
    def locked(self: Any, /, *arguments: Any, **options: Any) -> Any:
        with self._lock:
            return method(self, *arguments, **options)

    return cast(F, locked)


def locks_itself(method: F) -> F:
    """Mark a method that acquires ``self._lock`` itself, to save the time of :func:`with_lock`."""
    # functions may have attributes, which typing does not know
    method.locks_itself = True  # type: ignore[attr-defined]
    return method


class LockedModel:
    """Base class whose public methods and properties run under one lock (:func:`with_lock`).

    The lock is in a slot and not in ``__dict__``: it is neither copied nor pickled nor printed.
    Copies and pickles are made under the lock, too.
    """

    __slots__ = ("__weakref__", "_lock")
    _lock: Any

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Create an object with a lock, also when it is copied or unpickled."""
        self = super().__new__(cls)
        self._lock = threading.RLock()
        _models.add(self)
        return self

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, found in list(vars(cls).items()):
            if name.startswith("_") or getattr(found, "locks_itself", False):
                continue
            if callable(found) and not isinstance(found, type | classmethod | staticmethod):
                setattr(cls, name, with_lock(found))
            elif isinstance(found, property) and found.fget is not None:
                setattr(
                    cls,
                    name,
                    property(with_lock(found.fget), found.fset, found.fdel, found.__doc__),
                )

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return copy.deepcopy(self._kept(), {id(self): self})

    def _kept(self) -> dict[str, Any]:
        """Attributes that a copy receives."""
        return vars(self)


class _Models:
    """Weak references to all objects with a lock, to acquire their locks before a fork."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[LockedModel]] = {}
        self._acquired: list[Any] = []

    def add(self, one: LockedModel) -> None:
        key = id(one)
        self._known[key] = weakref.ref(one, lambda _: self._known.pop(key, None))

    def all(self) -> list[LockedModel]:
        return [one for known in list(self._known.values()) if (one := known()) is not None]

    def acquire(self) -> None:
        """Acquire all locks of models or none: a fork cannot deadlock with a running call."""
        deadline = time.monotonic() + FORK_TIMEOUT_SECONDS
        while True:
            busy = None
            for one in self.all():
                if not one._lock.acquire(blocking=False):
                    busy = one
                    break
                self._acquired.append(one._lock)
            if busy is None or time.monotonic() > deadline:
                return
            self.release()
            if busy._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
                busy._lock.release()

    def release(self) -> None:
        while self._acquired:
            self._acquired.pop().release()

    def renew(self) -> None:
        """Make new locks in the child, where the threads that hold the old ones do not exist."""
        self._acquired.clear()
        for one in self.all():
            one._lock = threading.RLock()


_models = _Models()
if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(
        before=_models.acquire, after_in_parent=_models.release, after_in_child=_models.renew
    )
