"""The folder of a server: one log, two checkpoints, one lock; and the models as they were when the last process ended.

After a kill the models are those of the newest checkpoint, and every event behind it is done once more, in its order, with the
same bits: nothing that was acknowledged is missing and nothing is there twice.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sqlite3
import time
from collections.abc import Sequence
from typing import NamedTuple, final

from swordplay.base import checkpoint
from swordplay.base.checkpoint import CheckpointError
from swordplay.base.files import lock, open_own
from swordplay.base.types import State
from swordplay.serving import groups
from swordplay.serving.description import KIND
from swordplay.serving.limits import UNLIMITED, Bounds, Limits, bounds
from swordplay.serving.log import Event, Log, LogError
from swordplay.serving.models import Models
from swordplay.serving.refusals import Refusal
from swordplay.serving.requests import KINDS, Change, read

KEPT = 2
"""Checkpoints that stay: should the newest be damaged, the one before it and the log lead to the same models."""
MOST_BYTES, MOST_SECONDS = 64 * 2**20, 60.0
"""Bytes of events that a checkpoint is behind at the most, and seconds (of events: see the limits)."""
RETRY = 10.0
"""Seconds after a checkpoint that could not be saved."""
NAME = re.compile(r"models-(\d{16})\.state")

logger = logging.getLogger("swordplay.serve")


class FolderError(ValueError):
    """A folder that cannot be served from; says why, and what to do."""


class Snapshot(NamedTuple):
    """The models after an event."""

    number: int
    state: State


@final
class Keeper:
    """Models that outlive their process.

    Parameters
    ----------
    folder
        Where all of it is; made if it is not there. One server at a time.
    limits
        What is refused beyond.

    Raises
    ------
    FolderError
        If another server uses the folder, or what is in it cannot be used.
    """

    def __init__(self, folder: str, limits: Limits) -> None:
        self.folder, self.limits = folder, limits
        self._bytes, self._time, self._retry = 0, time.monotonic(), 0.0
        self._lock = _locked(folder)
        try:
            self.log = Log(os.path.join(folder, "events.sqlite"), limits.log)
            self.models, self.number = self._recovered()
            self.saved = self.number
            """The event of the newest checkpoint."""
            self.replayed = self._replay()
            """Events that were done again at the start."""
            self._declare(bounds(limits))
        except (LogError, CheckpointError, Refusal, sqlite3.Error) as error:
            os.close(self._lock)
            raise FolderError(f"{folder!r} cannot be served from: {error}") from error

    @property
    def unsaved(self) -> int:
        """Events that no checkpoint holds."""
        return self.number - self.saved

    def perform(self, number: int, event: Event, wanted: Change) -> bytes:
        """Do what an event that is in the log wants; the answer as JSON.

        Raises
        ------
        Refusal
            If the models refuse it; they would again.
        """
        self.number = number
        self._bytes += len(event.body)
        return self.models.perform(number, event, wanted)

    def perform_group(self, first: int, group: Sequence[tuple[Event, Change]]) -> list[bytes | Refusal | None]:
        """The same for events that follow each other, the first with this number; refusals are among the answers."""

        def alone(place: int) -> bytes | Refusal:
            try:
                return self.models.perform(first + place, *group[place])
            except Refusal as refusal:
                return refusal

        self.number = first + len(group) - 1
        self._bytes += sum(len(event.body) for event, _ in group)
        return groups.perform(self.models, first, group, alone)

    def due(self, now: float) -> bool:
        """Whether it is time for a checkpoint."""
        if now < self._retry or not self.unsaved:
            return False
        return self.unsaved >= self.limits.behind or self._bytes >= MOST_BYTES or now - self._time >= MOST_SECONDS

    def snapshot(self) -> Snapshot:
        """The models as they are now, for :meth:`save`."""
        self._bytes, self._time = 0, time.monotonic()
        return Snapshot(self.number, self.models.state())

    def save(self, snapshot: Snapshot) -> int | None:
        """Write a checkpoint; the number up to which events are superfluous, or None if it could not be written."""
        try:
            checkpoint.save(self._path(snapshot.number), snapshot.state, kind=KIND)
        except CheckpointError:
            self._retry = time.monotonic() + RETRY
            logger.warning("the checkpoint after event %d could not be written; the log keeps everything", snapshot.number)
            return None
        logger.info("checkpoint after event %d", snapshot.number)
        self.saved = snapshot.number
        found = self._checkpoints()
        for number in found[:-KEPT]:
            with contextlib.suppress(OSError):  # next time
                os.unlink(self._path(number))
        return found[-KEPT:][0] if len(found) >= KEPT else None

    def close(self) -> None:
        """Give the folder free."""
        self.log.close()
        os.close(self._lock)

    def _declare(self, wanted: Bounds) -> None:
        """Let limits that changed since the last start be an event like any other: those before it keep their meaning."""
        if self.models.bounds != wanted:
            event = Event("bounds", "", KINDS[0], json.dumps(wanted._asdict()).encode("ascii"))
            self.log.append([event])
            self.perform(self.log.last, event, wanted)

    def _checkpoints(self) -> list[int]:
        """Events after which there is a checkpoint, ascending."""
        return sorted(int(found[1]) for found in map(NAME.fullmatch, os.listdir(self.folder)) if found)

    def _recovered(self) -> tuple[Models, int]:
        """The models of the newest checkpoint that is whole, and the number of its last event."""
        problems: dict[int, CheckpointError] = {}
        for number in reversed(self._checkpoints()):
            try:
                models = Models.of_state(checkpoint.load(self._path(number), kind=KIND))
            except CheckpointError as error:
                logger.warning("%s Going back to the one before.", error)
                problems[number] = error
                continue
            for damaged in problems:  # it must not count as one of two that are kept
                os.replace(self._path(damaged), f"{self._path(damaged)}.damaged")
            self.log.start_behind(number)
            return models, number
        if problems and self.log.first() != 1:
            raise next(iter(problems.values()))
        return Models(Bounds()), 0

    def _path(self, number: int) -> str:
        """The checkpoint after an event."""
        return os.path.join(self.folder, f"models-{number:016d}.state")

    def _replay(self) -> int:
        """Do what came after the checkpoint; how many events that were."""
        count = 0
        for number, event in self.log.after(self.number):
            count += 1
            try:
                self.perform(number, event, read(event, UNLIMITED))
            except Refusal:
                self.number = number  # it was refused when it came, too
        return count


def _locked(folder: str) -> int:
    """The folder for ourselves, for as long as the process lives; a descriptor that holds it."""
    try:
        os.makedirs(folder, exist_ok=True)
        descriptor = open_own(os.path.join(folder, "lock"))
    except OSError as error:
        raise FolderError(f"{folder!r} cannot be served from: {error.strerror or error}. Give a folder of your own.") from error
    if not lock(descriptor, wait=False):
        os.close(descriptor)
        raise FolderError(f"another server uses {folder!r}. Stop it first, or serve from another folder.")
    return descriptor
