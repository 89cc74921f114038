"""Group commit: requests that arrive during a write to the disk are written together.

While one group is written, the next one is collected: the more requests, the larger the groups.
Everything but the writing happens in the thread of the event loop, in the order of the log.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, final

from swordplay.serving.errors import RequestError
from swordplay.serving.free_memory import return_free_memory
from swordplay.serving.log_format import Event
from swordplay.serving.metrics import Metrics
from swordplay.serving.models import internal_error
from swordplay.serving.requests import Request, RowRequest
from swordplay.serving.storage import Storage

logger = logging.getLogger("swordplay.serve")

MAX_GROUP_EVENTS = 1_000
"""Events that are written together."""
LONG_GROUP_BYTES = 16 * 2**10
"""Bytes of a group that is applied while the next one is written.

A shorter group is applied before the next one is written: clients that get their responses may send
their next requests in time for it, and one group costs less than two of half its size."""
LOOP_TURNS = 2
"""Turns of the event loop after a short group, in which it receives the next requests.

Python's own loop runs callbacks that are ready before it receives data, so one turn is too few.
"""
FREE_MEMORY_EVERY = 8 * 2**20
"""Bytes of bodies after which garbage is collected and free memory returned to the system.

uvicorn leaves each body in a reference cycle, which Python would collect late. After a checkpoint
this happens with the next group.
"""


class Committed(NamedTuple):
    """The outcome of an event that is on the disk and applied."""

    number: int
    """Number of the event in the log."""
    body: bytes
    """The response as JSON."""


Callback = Callable[[Committed | RequestError], None]
"""Called with the outcome of an event; must not raise."""


class WaitingRequest(NamedTuple):
    """A request that waits for the next group."""

    event: Event
    request: Request
    callback: Callback


@final
class GroupCommit:
    """Writes requests to the log in groups, applies them to the models, and reports the outcomes.

    Parameters
    ----------
    storage
        The log, the models and their checkpoints.
    metrics
        Counts and durations for ``/metrics``.
    """

    def __init__(self, storage: Storage, metrics: Metrics) -> None:
        self.storage = storage
        self.metrics = metrics
        self._waiting: list[WaitingRequest] = []
        self._task: asyncio.Task[None] | None = None
        self._checkpoint: asyncio.Task[None] | None = None
        self._log_thread = ThreadPoolExecutor(1, "swordplay-log")
        self._checkpoint_thread = ThreadPoolExecutor(1, "swordplay-checkpoint")
        self._is_closed = False
        self._bytes_to_free = 0  # of bodies that were handled since memory was last freed

    async def submit(self, event: Event, request: Request) -> Committed:
        """Commit an event and return its outcome.

        Raises
        ------
        RequestError
            If the models reject it, or it cannot be written.
        """
        future: asyncio.Future[Committed] = asyncio.get_running_loop().create_future()

        def callback(outcome: Committed | RequestError) -> None:
            if future.done():  # the client has gone
                return
            if isinstance(outcome, RequestError):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

        self.submit_with_callback(event, request, callback)
        return await future

    def submit_with_callback(self, event: Event, request: Request, callback: Callback) -> None:
        """Commit an event without waiting for it; the callback gets the outcome."""
        if self._is_closed:
            callback(RequestError(503, "the server is stopping. Send it again when it is back."))
            return
        self._waiting.append(WaitingRequest(event, request, callback))
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Accept no more, finish the waiting requests, save a checkpoint and close the storage."""
        self._is_closed = True
        while self._task is not None:
            await asyncio.wait([self._task])
        if self._checkpoint is not None:
            await asyncio.wait([self._checkpoint])
        if self.storage.unsaved:
            await self._save_checkpoint()
        self._log_thread.shutdown()
        self._checkpoint_thread.shutdown()
        self.storage.close()

    def save_if_due(self) -> None:
        """Start a checkpoint if it is due; called from time to time even without requests.

        The log thread may be writing: ``snapshot`` only asks the log to begin a new segment with
        the group after that.
        """
        is_due = self.storage.is_checkpoint_due(time.monotonic())
        if is_due and self._checkpoint is None and not self._is_closed:
            self._checkpoint = asyncio.create_task(self._save_checkpoint())

    async def _run(self) -> None:
        """Write and apply groups until no request is waiting."""
        try:
            group, writing = self._next_group(), None
            while group:
                writing = writing or self._start_write(group)
                try:
                    await writing
                except Exception as error:
                    failure = error if isinstance(error, RequestError) else internal_error(error)
                    for waiting in group:
                        waiting.callback(failure)
                    group, writing = self._next_group(), None
                    continue
                on_disk, first = group, self.storage.log.last - len(group) + 1
                group = self._next_group() if is_long(on_disk) else []
                writing = self._start_write(group) if group else None
                self._apply(on_disk, first)
                self.save_if_due()
                if not group:
                    for _ in range(LOOP_TURNS):
                        await asyncio.sleep(0)
                    group = self._next_group()
        finally:
            self._task = None

    def _next_group(self) -> list[WaitingRequest]:
        """Return the next group in the order of the log; empty if no request is waiting."""
        group = self._waiting[:MAX_GROUP_EVENTS]
        self._waiting = self._waiting[MAX_GROUP_EVENTS:]
        return answers_first(group)

    def _start_write(self, group: list[WaitingRequest]) -> asyncio.Future[None]:
        """Write a group to the log in the log's thread."""
        events = [waiting.event for waiting in group]
        return asyncio.get_running_loop().run_in_executor(self._log_thread, self._write, events)

    def _write(self, events: list[Event]) -> None:
        begun = time.monotonic()
        self.storage.log.append(events)
        self.metrics.add_commit(time.monotonic() - begun)

    def _apply(self, group: list[WaitingRequest], first: int) -> None:
        """Apply a group that is on the disk, and report the outcomes."""
        events = [(waiting.event, waiting.request) for waiting in group]
        try:
            outcomes = self.storage.apply_group(first, events)
        except BaseException as error:
            # Above all MemoryError: the models may be half-changed, but the log is complete.
            logger.critical(
                "%s in events %d to %d: the process ends, the next one replays them",
                type(error).__name__,
                first,
                first + len(group) - 1,
            )
            os._exit(1)
        for number, (waiting, outcome) in enumerate(zip(group, outcomes, strict=True), first):
            if isinstance(outcome, RequestError):
                waiting.callback(outcome)
            else:
                waiting.callback(Committed(number, outcome))
            self._bytes_to_free += len(waiting.event.body)
        if self._bytes_to_free >= FREE_MEMORY_EVERY:
            self._bytes_to_free = 0
            gc.collect(1)  # without the oldest generation, which is large and changes little
            return_free_memory()

    async def _save_checkpoint(self) -> None:
        """Save a checkpoint while the server goes on, and shorten the log."""
        loop, begun = asyncio.get_running_loop(), time.monotonic()
        try:
            snapshot = self.storage.snapshot()
            forget_up_to = await loop.run_in_executor(
                self._checkpoint_thread, self.storage.save, snapshot
            )
            del snapshot
            self._bytes_to_free = FREE_MEMORY_EVERY
            if forget_up_to is not None:
                forget = self.storage.log.forget
                await loop.run_in_executor(self._log_thread, forget, forget_up_to)
                self.metrics.add_checkpoint(time.monotonic() - begun)
        finally:
            self._checkpoint = None


def is_long(group: list[WaitingRequest]) -> bool:
    """Whether a group is applied while the next one is written."""
    return sum(len(waiting.event.body) for waiting in group) >= LONG_GROUP_BYTES


def answers_first(group: list[WaitingRequest]) -> list[WaitingRequest]:
    """Put the tells of a group before its asks, so that all known answers improve the predictions.

    Clients that wait at the same time cannot know whose request came first. The order stays if the
    group has other actions, or an answer to a row of the same group.
    """
    asks = [one for one in group if one.event.action == "ask"]
    tells = [one for one in group if one.event.action == "tell"]
    if not asks or not tells or len(asks) + len(tells) < len(group):
        return group
    return tells + asks if _ids(asks).isdisjoint(_ids(tells)) else group


def _ids(group: list[WaitingRequest]) -> set[str]:
    """Return the ids of all rows of asks or tells."""
    ids = set()
    for waiting in group:
        assert isinstance(waiting.request, RowRequest)
        for part in waiting.request.parts:
            ids.update(part.ids)
    return ids
