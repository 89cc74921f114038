"""The folder of a server: one log, two checkpoints, one lock.

And the models as they were when the last process ended.

After a kill the models are those of the newest checkpoint, and every event behind it is replayed,
in its order, with the same bits: nothing that was acknowledged is missing and nothing is there
twice. Log and checkpoints vouch for each other: a checkpoint holds the digest of the event group
that it was saved after.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import stat
import time
from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np

from swordplay.core import checkpoint
from swordplay.core.checkpoint import CheckpointError
from swordplay.core.files import PRIVATE_MODE, lock, open_regular_file
from swordplay.core.state import entry_bytes
from swordplay.core.types import State
from swordplay.serving import groups
from swordplay.serving.limits import UNLIMITED, Bounds, Limits, bounds
from swordplay.serving.log import NO_ROOM, RESTORE, Event, Log, LogError
from swordplay.serving.log_format import IDENTITY_BYTES, Boundary
from swordplay.serving.models import Models
from swordplay.serving.refusals import Refusal
from swordplay.serving.repair import SavedCheckpoint, repair
from swordplay.serving.requests import KINDS, Change, read

KIND = "serve"
"""Kind of the checkpoints of a server."""
KEPT = 2
"""Checkpoints that stay: should the newest be damaged, the one before it and the log lead to the
same models.
"""
MOST_BYTES, MOST_SECONDS = 64 * 2**20, 60.0
"""Bytes of events that a checkpoint is behind at the most, and seconds (of events: see the
limits).
"""
RETRY = 10.0
"""Seconds after a checkpoint that could not be saved."""
NAME = re.compile(r"models-(\d{16})\.state")
REPLAYING = "replaying"
"""File with the number of the event that is being replayed.

There only while events are replayed.
"""

logger = logging.getLogger("swordplay.serve")


class FolderError(ValueError):
    """A folder that cannot be served from; says why, and what to do."""


class Snapshot(NamedTuple):
    """The models after an event, and the digest of its group in the log."""

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
    skip
        Numbers of events to leave out of the replay, now and later.
    may_repair
        Whether to go on with what is intact if the log is damaged.

    Raises
    ------
    FolderError
        If another server uses the folder, or what is in it cannot be used.
    """

    def __init__(
        self, folder: str, limits: Limits, *, skip: Sequence[int] = (), may_repair: bool = False
    ) -> None:
        self.folder, self.limits = folder, limits
        self._bytes, self._time, self._retry = 0, time.monotonic(), 0.0
        with contextlib.ExitStack() as opened:
            self._lock = _locked(folder)
            opened.callback(os.close, self._lock)
            try:
                self.log, self.models, self.number = self._opened(may_repair)
                opened.callback(self.log.close)
                self.saved = self.number
                """The event of the newest checkpoint."""
                self._skip(skip)
                self.replayed = self._replay()
                """Events that were replayed at the start."""
                self._declare(bounds(limits))
            except OSError as error:
                raise FolderError(f"{folder!r} cannot be served from: {_remedy(error)}") from error
            except (LogError, CheckpointError, Refusal) as error:
                raise FolderError(f"{folder!r} cannot be served from: {error}") from error
            opened.pop_all()

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
        try:
            answer = self.models.perform(number, event, wanted)
        except Refusal:
            self.log.note(number, [number])
            raise
        self.log.note(number, [])
        return answer

    def perform_group(
        self, first: int, group: Sequence[tuple[Event, Change]]
    ) -> list[bytes | Refusal | None]:
        """The same for events that follow each other, the first with this number.

        Refusals are among the answers.
        """

        def alone(place: int) -> bytes | Refusal:
            try:
                return self.models.perform(first + place, *group[place])
            except Refusal as refusal:
                return refusal

        self.number = first + len(group) - 1
        self._bytes += sum(len(event.body) for event, _ in group)
        answers = groups.perform(self.models, first, group, alone)
        self.log.note(
            self.number,
            [first + k for k, answer in enumerate(answers) if isinstance(answer, Refusal)],
        )
        return answers

    def due(self, now: float) -> bool:
        """Whether it is time for a checkpoint."""
        if now < self._retry or not self.unsaved:
            return False
        return (
            self.unsaved >= self.limits.behind
            or self._bytes >= MOST_BYTES
            or now - self._time >= MOST_SECONDS
        )

    def snapshot(self) -> Snapshot:
        """The models as they are now, for :meth:`save`."""
        self._bytes, self._time = 0, time.monotonic()
        self.log.rotate()
        boundary = self.log.boundary
        assert boundary.number == self.number
        return Snapshot(
            self.number,
            self.models.state()
            | {"log": np.frombuffer(self.log.identity + boundary.digest, np.uint8)},
        )

    def save(self, snapshot: Snapshot) -> int | None:
        """Write a checkpoint.

        The number up to which events are superfluous, or None if it could not be written.
        """
        try:
            checkpoint.save(self._path(snapshot.number), snapshot.state, kind=KIND)
        except CheckpointError:
            self._retry = time.monotonic() + RETRY
            logger.warning(
                "the checkpoint after event %d could not be written; the log keeps everything",
                snapshot.number,
            )
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
        """Let limits that changed since the last start be an event like any other: those before
        it keep their meaning.
        """
        if self.models.bounds != wanted:
            event = Event("bounds", "", KINDS[0], json.dumps(wanted._asdict()).encode("ascii"))
            self.log.append([event])
            self.perform(self.log.last, event, wanted)

    def _checkpoints(self) -> list[int]:
        """Events after which there is a checkpoint, ascending."""
        return sorted(
            int(found[1]) for found in map(NAME.fullmatch, os.listdir(self.folder)) if found
        )

    def _opened(self, may_repair: bool) -> tuple[Log, Models, int]:
        """The log, the models of the newest checkpoint that is whole, and the number of its last
        event.
        """
        try:
            log = Log(self.folder, self.limits.log, is_new=not self._checkpoints())
            try:
                return log, *self._recovered(log)
            except BaseException:
                log.close()
                raise
        except LogError:
            if not may_repair:
                raise
        repair(self.folder, self._loadable(), [*map(self._path, self._checkpoints())])
        return self._opened(may_repair=False)

    def _loadable(self) -> list[SavedCheckpoint]:
        """Checkpoints that can be loaded, the newest first."""
        found = []
        for number in reversed(self._checkpoints()):
            with contextlib.suppress(CheckpointError):
                saved = _log_of(checkpoint.load(self._path(number), kind=KIND))
                boundary = Boundary(number, saved[IDENTITY_BYTES:])
                found.append(SavedCheckpoint(self._path(number), saved[:IDENTITY_BYTES], boundary))
        return found

    def _recovered(self, log: Log) -> tuple[Models, int]:
        problems: dict[int, CheckpointError] = {}
        for number in reversed(self._checkpoints()):
            try:
                state = checkpoint.load(self._path(number), kind=KIND)
                models, saved = Models.of_state(state), _log_of(state)
            except CheckpointError as error:
                logger.warning("%s Going back to the one before.", error)
                problems[number] = error
                continue
            if saved[:IDENTITY_BYTES] != log.identity:
                raise LogError(
                    f"{self._path(number)!r} is from the folder of another server. {RESTORE}"
                )
            log.require_boundary(Boundary(number, saved[IDENTITY_BYTES:]))
            log.require_from(self._checkpoints()[-KEPT:][0])
            for damaged in problems:  # it must not count as one of two that are kept
                os.replace(self._path(damaged), f"{self._path(damaged)}.damaged")
            return models, number
        if problems and log.first() != 1:
            raise next(iter(problems.values()))
        return Models(Bounds()), 0

    def _path(self, number: int) -> str:
        """The checkpoint after an event."""
        return os.path.join(self.folder, f"models-{number:016d}.state")

    def _skip(self, numbers: Sequence[int]) -> None:
        """Record which events an operator leaves out."""
        for number in numbers:
            if number <= self.number:
                logger.warning(
                    "event %d is in the checkpoint after event %d: it is not replayed anyway",
                    number,
                    self.number,
                )
            else:
                self.log.skip(number)

    def _replay(self) -> int:
        """Perform the events behind the checkpoint; how many there were."""
        count, marker = 0, _ReplayMarker(self.folder, self.log.skipped)
        with contextlib.closing(marker):
            for number, event in self.log.after(self.number):
                count += 1
                marker.put(number)
                if number in self.log.skipped:
                    logger.warning("event %d is left out, as an operator chose", number)
                    self.number = number
                    continue
                self._perform_again(number, event)
        self.log.note(self.number, [])
        marker.remove()
        return count

    def _perform_again(self, number: int, event: Event) -> None:
        """Replay one event, which must end as it did when it came: performed or refused."""
        before, then = self.number, self.log.was_refused(number)
        try:
            self.perform(number, event, read(event, UNLIMITED))
            refusal = None
        except Refusal as error:
            refusal = str(error)
            self.number = number
        except Exception as error:  # above all MemoryError
            self.number = before
            raise _unrepeatable(number, event, f"fails ({type(error).__name__})") from error
        if then is None or then == (refusal is not None):
            return
        if self.log.skipped:  # what comes after a skipped event may well end in another way
            logger.warning(
                "event %d ends in another way than when it came, as events before it are left out",
                number,
            )
        elif refusal is None:
            raise _unrepeatable(number, event, "was refused when it came and is not refused now")
        else:
            raise _unrepeatable(
                number, event, f"was accepted when it came and is refused now ({refusal})"
            )


@final
class _ReplayMarker:
    """Says, after a process was killed in the middle of a replay, which event that was: it may need
    more memory than there is.

    The note is not brought down to the disk for each event: it is to outlive the process, not the
    machine.
    """

    def __init__(self, folder: str, skipped: set[int]) -> None:
        self._path, self._descriptor = os.path.join(folder, REPLAYING), -1
        with contextlib.suppress(OSError, ValueError), open(self._path, encoding="ascii") as file:
            number = int(file.read())
            if number not in skipped:
                logger.warning(
                    "the last start ended while it replayed event %d. If this one ends there as "
                    "well, give it more memory, or "
                    "leave the event out: swordplay serve --skip-event %d",
                    number,
                    number,
                )

    def put(self, number: int) -> None:
        """An event is about to be replayed."""
        with contextlib.suppress(OSError):  # on a full disk there is no note
            if self._descriptor < 0:
                self._descriptor = open_regular_file(self._path, PRIVATE_MODE)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, f"{number:016d}\n".encode("ascii"))

    def close(self) -> None:
        """Close the file; what is in it stays."""
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def remove(self) -> None:
        """All events were replayed."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def _unrepeatable(number: int, event: Event, problem: str) -> LogError:
    return LogError(
        f"event {number:,} ({event.action} of the model {event.model!r}, {len(event.body):,} "
        f"bytes) {problem}. Give the server the memory and the version of swordplay that it had, "
        f"or leave the event out: swordplay serve --skip-event {number}"
    )


def _log_of(state: State) -> bytes:
    """Identity of the log and digest of the last event group that a checkpoint was saved after."""
    try:
        return entry_bytes("log", state.get("log"))
    except ValueError as error:
        raise CheckpointError(
            f"the checkpoint of the server does not fit this version: {error}"
        ) from error


def _remedy(error: OSError) -> str:
    """What is wrong with a file, and what to do."""
    if error.errno in NO_ROOM:
        return "the disk is full. Nothing was lost. Make room, then start again."
    where = "" if error.filename is None else f"{error.filename!r}: "
    return (
        f"{where}{error.strerror or error}. Check its rights, or serve from a folder of your own."
    )


def _locked(folder: str) -> int:
    """The folder for ourselves, for as long as the process lives; a descriptor that holds it."""
    try:
        os.makedirs(os.path.dirname(os.path.abspath(folder)), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)  # it holds what clients sent
        mode = stat.S_IMODE(os.stat(folder).st_mode)
        if os.name == "posix" and mode & 0o077:
            logger.warning(
                "%r can be opened by other users of this machine (mode %o): chmod 700 %s",
                folder,
                mode,
                folder,
            )
        descriptor = open_regular_file(os.path.join(folder, "lock"), PRIVATE_MODE)
    except OSError as error:
        raise FolderError(f"{folder!r} cannot be served from: {_remedy(error)}") from error
    if not lock(descriptor, wait=False):
        os.close(descriptor)
        raise FolderError(
            f"another server uses {folder!r}. Stop it first, or serve from another folder."
        )
    return descriptor
