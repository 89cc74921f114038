"""Work done ahead, aside and behind, in one thread each: reading, judging and writing beside
learning, in order, never far.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, TypeVar, final

T = TypeVar("T")
AHEAD, BEHIND = 2, 2
"""Batches that may wait, read or to be written."""
MANY = 32
"""The same where many keys are learned together: about as many batches make one."""
BESIDE = 3
"""Calls aside, the one that is under way and those that wait: one that takes long need not keep
anybody else waiting.
"""
GLANCE = 0.1
"""Seconds after which a wait looks whether it should go on."""


@final
class Ahead(Generic[T]):
    """An iterator that is worked off in a thread of its own, a few items ahead of whoever takes
    them.

    Parameters
    ----------
    items
        Nobody else may take from it.
    ahead
        How many may wait.
    """

    def __init__(self, items: Iterator[T], ahead: int = AHEAD) -> None:
        self._items, self._pool = (
            items,
            ThreadPoolExecutor(1, thread_name_prefix="swordplay-reader"),
        )
        self._waiting: deque[Future[T | None]] = deque()
        for _ in range(1 + ahead):
            self._order()

    def _order(self) -> None:
        self._waiting.append(self._pool.submit(next, self._items, None))

    def arriving(self, seconds: float) -> Iterator[T | None]:
        """The items in order, and None whenever no item has arrived for that many seconds.

        An error of the iterator is raised here, also a TimeoutError.
        """
        while True:
            if not wait([self._waiting[0]], seconds).done:
                yield None
                continue
            item = self._waiting.popleft().result()
            self._order()
            if item is None:
                return
            yield item

    def close(self) -> None:
        """Wait for the thread to end; what it waits for must have been closed before."""
        for future in self._waiting:
            future.cancel()
        self._pool.shutdown()


@final
class Behind:
    """Calls that are made in a thread of their own, in order.

    An error of a call is raised by the first call or drain after it.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="swordplay-writer")
        self._waiting: deque[Future[Any]] = deque()

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Call a function soon; waits while too many calls are waiting."""
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(function, *arguments))
        while len(self._waiting) > BEHIND:
            self._waiting.popleft().result()

    def drain(self) -> None:
        """Wait until all calls are done."""
        while self._waiting:
            self._waiting.popleft().result()

    def close(self) -> None:
        """Make no further call; wait for the one that is under way."""
        self._pool.shutdown(cancel_futures=True)


@final
class Aside(Generic[T]):
    """Calls that are made in a thread of their own, in order, and what is to be done with their
    results here.

    Parameters
    ----------
    done
        Called with what was given along with a call, and with its result.
    """

    def __init__(self, done: Callable[[Any, T], None]) -> None:
        self._done, self._pool = done, ThreadPoolExecutor(1, thread_name_prefix="swordplay-judge")
        self._waiting: deque[tuple[Any, Future[T]]] = deque()
        self.failed = False
        """Whether a call, or what was to be done with its result, has failed."""

    def call(self, along: Any, function: Callable[..., T], *arguments: Any) -> None:
        """Settle calls that are over, and others while there are too many, and call a function
        soon.
        """
        while self._waiting and (len(self._waiting) >= BESIDE or self._waiting[0][1].done()):
            self._settle_one()
        self._waiting.append((along, self._pool.submit(function, *arguments)))

    def settle(self) -> None:
        """Wait for all calls, and do what is to be done with their results.

        What goes wrong in the thread is raised, once.
        """
        while self._waiting:
            self._settle_one()

    def _settle_one(self) -> None:
        along, call = self._waiting.popleft()
        try:
            self._done(along, call.result())
        except BaseException:
            self.failed = True
            self._forget()
            raise

    def _forget(self) -> None:
        """Nothing comes of the calls behind one that has failed.

        The one that is under way is waited for.
        """
        calls = [call for _, call in self._waiting]
        self._waiting.clear()
        wait([call for call in calls if not call.cancel()])

    def close(self) -> None:
        """Wait for the thread to end; a result that nobody has asked for is lost."""
        self._pool.shutdown(cancel_futures=True)
