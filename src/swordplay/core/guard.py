"""One lock per model: calls from several threads are taken one after the other.

Kernels release Python's own lock while they run, so without this two threads would write into the
same arrays. A fork waits up to ten seconds for calls that are under way, so that the child's models
are whole; there nothing is locked.
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

PATIENCE = 10.0
"""Seconds that a fork waits for."""


def serialised(method: F) -> F:
    """A method that waits until no other thread is in one of the same object."""

    @functools.wraps(method)
    def alone(self: Any, /, *arguments: Any, **options: Any) -> Any:
        with self._guard:
            return method(self, *arguments, **options)

    return cast(F, alone)


def takes_the_lock(method: F) -> F:
    """Mark a method that says ``with self._guard`` itself: one so short that :func:`serialised`
    would be half of its time.
    """
    # functions may have attributes, which typing does not know
    method.takes_the_lock = True  # type: ignore[attr-defined]
    return method


class Guarded:
    """Every public method and property of a subclass is :func:`serialised`, those that it inherits
    from us included.

    The lock is in a slot and not among the attributes: it is neither copied nor pickled nor shown.
    A copy is made of a whole state: nobody learns in between.
    """

    __slots__ = ("__weakref__", "_guard")
    _guard: Any

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """An object with a lock, however it comes about: made, copied or unpickled."""
        self = super().__new__(cls)
        self._guard = threading.RLock()
        _alive.add(self)
        return self

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, found in list(vars(cls).items()):
            if name.startswith("_") or getattr(found, "takes_the_lock", False):
                continue
            if callable(found) and not isinstance(found, type | classmethod | staticmethod):
                setattr(cls, name, serialised(found))
            elif isinstance(found, property) and found.fget is not None:
                setattr(
                    cls,
                    name,
                    property(serialised(found.fget), found.fset, found.fdel, found.__doc__),
                )

    def __getstate__(self) -> dict[str, Any]:
        with self._guard:
            return copy.deepcopy(self._kept(), {id(self): self})

    def _kept(self) -> dict[str, Any]:
        """What a copy has, too."""
        return vars(self)


class _Alive:
    """Objects with a lock, for as long as anybody else has them."""

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[Guarded]] = {}
        self._held: list[Any] = []

    def add(self, one: Guarded) -> None:
        key = id(one)
        self._known[key] = weakref.ref(one, lambda _: self._known.pop(key, None))

    def all(self) -> list[Guarded]:
        return [one for known in list(self._known.values()) if (one := known()) is not None]

    def hold(self) -> None:
        """Wait for the calls that are under way.

        All locks or none, so that nobody waits for us while we wait for him.
        """
        deadline = time.monotonic() + PATIENCE
        while True:
            busy = None
            for one in self.all():
                if not one._guard.acquire(blocking=False):
                    busy = one
                    break
                self._held.append(one._guard)
            if busy is None or time.monotonic() > deadline:
                return
            self.release()
            if busy._guard.acquire(timeout=max(0.0, deadline - time.monotonic())):
                busy._guard.release()

    def release(self) -> None:
        while self._held:
            self._held.pop().release()

    def renew(self) -> None:
        """In the child, where the threads that hold a lock are gone."""
        self._held.clear()
        for one in self.all():
            one._guard = threading.RLock()


_alive = _Alive()
if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(
        before=_alive.hold, after_in_parent=_alive.release, after_in_child=_alive.renew
    )
