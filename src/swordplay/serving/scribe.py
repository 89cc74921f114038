"""The scribe writes events down, many at a time, and lets the models have them only then.

While one group is on its way to the disk the next one gathers: the more there is to do, the larger
the groups. Everything but the disk happens in one thread, that of the event loop, in the order of
the log.
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

from swordplay.serving import memory
from swordplay.serving.keeper import Keeper
from swordplay.serving.log import Event
from swordplay.serving.metrics import Counts
from swordplay.serving.models import failed
from swordplay.serving.refusals import Refusal
from swordplay.serving.requests import Change

logger = logging.getLogger("swordplay.serve")

LARGEST_GROUP = 1_000
"""Events that are written together at the most."""
LONG = 16 * 2**10
"""Bytes of a group that is done while the next one is on its way to the disk.

A shorter one is done before that: whoever is answered may come again in time for the next, and one
group costs less than two of half its size."""
TURNS = 2
"""Of the loop after a short group, in which it takes in what has come: Python's own runs whoever
waits before what comes.
"""
LITTER = 8 * 2**20
"""Bytes of bodies after which garbage is looked for, and memory given back: uvicorn leaves each in
a circle, which Python
would find late. A checkpoint is as much."""


class Done(NamedTuple):
    """What a client is told: the number of its event in the log, and the answer as JSON."""

    number: int
    body: bytes


Answer = Callable[[Done | Refusal], None]
"""Who is told what became of an event."""


class _Waiting(NamedTuple):
    event: Event
    wanted: Change
    answer: Answer


@final
class Scribe:
    """Takes requests one by one and answers each when it is on the disk and done.

    Parameters
    ----------
    keeper
        The log, the models and their checkpoints.
    counts
        What is counted for ``/metrics``.
    """

    def __init__(self, keeper: Keeper, counts: Counts) -> None:
        self.keeper, self.counts = keeper, counts
        self._waiting: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None
        self._saving: asyncio.Task[None] | None = None
        self._disk, self._files = (
            ThreadPoolExecutor(1, "swordplay-log"),
            ThreadPoolExecutor(1, "swordplay-checkpoint"),
        )
        self._closed, self._litter = False, 0

    async def submit(self, event: Event, wanted: Change) -> Done:
        """The answer to an event, once it is on the disk.

        Raises
        ------
        Refusal
            If the models refuse it, or it could not be written.
        """
        future: asyncio.Future[Done] = asyncio.get_running_loop().create_future()

        def answer(done: Done | Refusal) -> None:
            if future.done():  # the client has gone
                return
            if isinstance(done, Refusal):
                future.set_exception(done)
            else:
                future.set_result(done)

        self.put(event, wanted, answer)
        return await future

    def put(self, event: Event, wanted: Change, answer: Answer) -> None:
        """The same for whoever waits in another way: called with the answer, or the refusal.

        Must not raise.
        """
        if self._closed:
            answer(Refusal(503, "the server is stopping. Send it again when it is back."))
            return
        self._waiting.append(_Waiting(event, wanted, answer))
        if self._task is None:
            self._task = asyncio.create_task(self._work())

    async def close(self) -> None:
        """Finish what waits, take no more, and save a checkpoint."""
        self._closed = True
        while self._task is not None:
            await asyncio.wait([self._task])
        if self._saving is not None:
            await asyncio.wait([self._saving])
        if self.keeper.unsaved:
            await self._save()
        self._disk.shutdown()
        self._files.shutdown()
        self.keeper.close()

    def tick(self) -> None:
        """Save a checkpoint if it is time: called now and then, for the time when nobody asks."""
        if self.keeper.due(time.monotonic()) and self._saving is None and not self._closed:
            self._saving = asyncio.create_task(self._save())

    async def _work(self) -> None:
        """Group by group: while a long one is done by the models, the next one is on its way to
        the disk.
        """
        try:
            group, written = self._next(), None
            while group:
                written = written or self._append(group)
                try:
                    await written
                except Exception as error:
                    refusal = error if isinstance(error, Refusal) else failed(error)
                    for one in group:
                        one.answer(refusal)
                    group, written = self._next(), None
                    continue
                done, first = group, self.keeper.log.last - len(group) + 1
                group = self._next() if is_long(done) else []
                written = self._append(group) if group else None
                self._perform(done, first)
                self.tick()
                if not group:
                    for _ in range(TURNS):
                        await asyncio.sleep(0)
                    group = self._next()
        finally:
            self._task = None

    def _next(self) -> list[_Waiting]:
        """The next group, which may be empty."""
        group, self._waiting = self._waiting[:LARGEST_GROUP], self._waiting[LARGEST_GROUP:]
        return ordered(group)

    def _append(self, group: list[_Waiting]) -> asyncio.Future[None]:
        """Send a group on its way to the disk."""
        events = [one.event for one in group]
        return asyncio.get_running_loop().run_in_executor(self._disk, self._timed, events)

    def _timed(self, events: list[Event]) -> None:
        begun = time.monotonic()
        self.keeper.log.append(events)
        self.counts.committed(time.monotonic() - begun)

    def _perform(self, group: list[_Waiting], first: int) -> None:
        """Do what a group wants that is on the disk, in its order."""
        try:
            answers = self.keeper.perform_group(first, [(one.event, one.wanted) for one in group])
        except (
            BaseException
        ) as error:  # no memory left: the models may be half-way, but the log is whole
            last = first + len(group) - 1
            logger.critical(
                "%s in events %d to %d: the process ends, the next one replays them",
                type(error).__name__,
                first,
                last,
            )
            os._exit(1)
        for number, (one, answer) in enumerate(zip(group, answers, strict=True), start=first):
            assert answer is not None
            one.answer(answer if isinstance(answer, Refusal) else Done(number, answer))
            self._litter += len(one.event.body)
        if self._litter >= LITTER:
            self._litter = 0
            gc.collect(1)  # what has been there for long is left out
            memory.give_back()

    async def _save(self) -> None:
        """Save a checkpoint while the server goes on.

        What it makes superfluous is removed from the log.
        """
        loop, begun = asyncio.get_running_loop(), time.monotonic()
        try:
            snapshot = self.keeper.snapshot()
            superfluous = await loop.run_in_executor(self._files, self.keeper.save, snapshot)
            del snapshot
            self._litter = LITTER
            if superfluous is not None:
                await loop.run_in_executor(self._disk, self.keeper.log.forget, superfluous)
                self.counts.saved(time.monotonic() - begun)
        finally:
            self._saving = None


def is_long(group: list[_Waiting]) -> bool:
    """Whether there is much to do in a group."""
    return sum(len(one.event.body) for one in group) >= LONG


def ordered(group: list[_Waiting]) -> list[_Waiting]:
    """A group in the order of the log: answers first, so that rows are predicted by all that is
    known.

    Who waits at the same time cannot know who came first. A group that holds anything else stays as
    it is, and so does one with an answer to a row of the same group.
    """
    asks = [one for one in group if one.event.action == "ask"]
    tells = [one for one in group if one.event.action == "tell"]
    if not asks or not tells or len(asks) + len(tells) < len(group):
        return group
    # Asks and tells want rows, so that there are parts.
    asked = {id for one in asks for part in one.wanted.parts for id in part.ids}  # type: ignore[union-attr]
    told = {id for one in tells for part in one.wanted.parts for id in part.ids}  # type: ignore[union-attr]
    return tells + asks if asked.isdisjoint(told) else group
