"""Folder of a server: the event log, two checkpoints of the models, and a lock.

After a crash the newest checkpoint is loaded and every event after it is replayed in its order,
with the same bits: nothing that was acknowledged is missing, and nothing is applied twice. Log and
checkpoints verify each other: a checkpoint has the digest of the event group after which it was
saved.
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
from swordplay.serving.errors import RequestError
from swordplay.serving.event_log import DISK_FULL, RESTORE, EventLog, LogError
from swordplay.serving.limits import UNLIMITED, Bounds, Limits
from swordplay.serving.log_format import IDENTITY_BYTES, Event, LogPosition
from swordplay.serving.log_repair import CheckpointFile, repair
from swordplay.serving.messages import KINDS
from swordplay.serving.models import Models, Outcome
from swordplay.serving.requests import Request, parse

KIND = "serve"
"""Kind of the checkpoints of a server."""
KEPT_CHECKPOINTS = 2
"""If the newest one is damaged, the one before it and the log lead to the same models."""
MAX_UNSAVED_BYTES = 64 * 2**20
"""Bytes of events after which a checkpoint is due; for their number see ``Limits.behind``."""
MAX_UNSAVED_SECONDS = 60.0
NO_KIND = KINDS[0]
"""Kind of an event that creates no model: any kind, it is not read."""
RETRY_SECONDS = 10.0
"""Least pause before the next try after a checkpoint could not be saved."""
CHECKPOINT_NAME = re.compile(r"models-(\d{16})\.state")
REPLAYING_NAME = "replaying"
"""Name of the file with the number of the event that is being replayed."""

logger = logging.getLogger("swordplay.serve")


class StorageError(ValueError):
    """The folder cannot be used; says why, and what to do."""


class Snapshot(NamedTuple):
    """State of the models after an event."""

    number: int
    state: State
    """With the identity of the log and the digest of the event's group."""


@final
class Storage:
    """Models that survive their process.

    Parameters
    ----------
    folder
        The folder; created if missing. Only one server at a time can use it.
    limits
        Limits of the server.
    skip
        Numbers of events to leave out, now and in every later replay.
    may_repair
        Whether to continue with the intact part of a damaged log.

    Raises
    ------
    StorageError
        If another server uses the folder, or its files cannot be used.
    """

    def __init__(
        self, folder: str, limits: Limits, *, skip: Sequence[int] = (), may_repair: bool = False
    ) -> None:
        self.folder = folder
        self.limits = limits
        self._unsaved_bytes = 0
        self._last_snapshot, self._retry_time = time.monotonic(), 0.0
        with contextlib.ExitStack() as opened:
            self._lock = _lock_folder(folder)
            opened.callback(os.close, self._lock)
            try:
                self.log, self.models, self.number = self._open(may_repair)
                # `number` is that of the last event that was applied.
                opened.callback(self.log.close)
                self.saved = self.number
                """Number of the event after which the newest checkpoint was saved."""
                self._skip(skip)
                self.replayed = self._replay()
                """Events that were replayed at the start."""
                self._set_bounds(Bounds.of(limits))
            except OSError as error:
                raise StorageError(f"{folder!r} cannot be served from: {_remedy(error)}") from error
            except (LogError, CheckpointError, RequestError) as error:
                raise StorageError(f"{folder!r} cannot be served from: {error}") from error
            opened.pop_all()

    @property
    def unsaved(self) -> int:
        """Number of events that are in no checkpoint."""
        return self.number - self.saved

    def apply(self, number: int, event: Event, request: Request) -> bytes:
        """Apply an event that is in the log to the models; return the response as JSON.

        Raises
        ------
        RequestError
            If the models reject the event; they do so in every replay.
        """
        self.number = number
        self._unsaved_bytes += len(event.body)
        try:
            response = self.models.apply(number, event, request)
        except RequestError:
            self.log.note_performed(number, [number])
            raise
        self.log.note_performed(number, [])
        return response

    def apply_group(self, first: int, events: Sequence[tuple[Event, Request]]) -> list[Outcome]:
        """Apply successive events of the log, of which the first has this number.

        Returns the response to each of them as JSON, or the error.
        """
        self.number = first + len(events) - 1
        self._unsaved_bytes += sum(len(event.body) for event, _ in events)
        outcomes = self.models.apply_group(first, events)
        rejected = [
            first + k for k, outcome in enumerate(outcomes) if isinstance(outcome, RequestError)
        ]
        self.log.note_performed(self.number, rejected)
        return outcomes

    def is_checkpoint_due(self, now: float) -> bool:
        """Whether a checkpoint should be saved at this time (``time.monotonic()``)."""
        if now < self._retry_time or not self.unsaved:
            return False
        return (
            self.unsaved >= self.limits.behind
            or self._unsaved_bytes >= MAX_UNSAVED_BYTES
            or now - self._last_snapshot >= MAX_UNSAVED_SECONDS
        )

    def snapshot(self) -> Snapshot:
        """Return the state of the models as it is now, for :meth:`save`."""
        self._unsaved_bytes = 0
        self._last_snapshot = time.monotonic()
        self.log.rotate()
        position = self.log.performed_position
        assert position.number == self.number
        log = np.frombuffer(self.log.identity + position.digest, np.uint8)
        return Snapshot(self.number, self.models.state() | {"log": log})

    def save(self, snapshot: Snapshot) -> int | None:
        """Write a checkpoint, and delete the oldest one.

        Returns the number up to which the log is superfluous; None if the checkpoint could not be
        written, or is the only one.
        """
        try:
            checkpoint.save(self._checkpoint_path(snapshot.number), snapshot.state, kind=KIND)
        except CheckpointError:
            self._retry_time = time.monotonic() + RETRY_SECONDS
            logger.warning(
                "the checkpoint after event %d could not be written; the log keeps everything",
                snapshot.number,
            )
            return None
        logger.info("checkpoint after event %d", snapshot.number)
        self.saved = snapshot.number
        found = self._checkpoints()
        for number in found[:-KEPT_CHECKPOINTS]:
            with contextlib.suppress(OSError):  # the next checkpoint tries again
                os.unlink(self._checkpoint_path(number))
        return found[-KEPT_CHECKPOINTS] if len(found) >= KEPT_CHECKPOINTS else None

    def close(self) -> None:
        """Close the log and release the lock."""
        self.log.close()
        os.close(self._lock)

    # ------------------------------------------------------------------ opening

    def _set_bounds(self, bounds: Bounds) -> None:
        """Append an event if the limits have changed since the last start.

        So a replay checks each event against the limits of its own time.
        """
        if self.models.bounds != bounds:
            body = json.dumps(bounds._asdict()).encode("ascii")
            event = Event("bounds", "", NO_KIND, body)
            self.log.append([event])
            self.apply(self.log.last, event, bounds)

    def _checkpoints(self) -> list[int]:
        """Return the numbers of the events after which there is a checkpoint, ascending."""
        names = map(CHECKPOINT_NAME.fullmatch, os.listdir(self.folder))
        return sorted(int(found[1]) for found in names if found)

    def _checkpoint_path(self, number: int) -> str:
        """Return the path of the checkpoint after an event."""
        return os.path.join(self.folder, f"models-{number:016d}.state")

    def _open(self, may_repair: bool) -> tuple[EventLog, Models, int]:
        """Open the log and load the newest checkpoint; return its event's number as well."""
        try:
            log = EventLog(self.folder, self.limits.log, may_create=not self._checkpoints())
            try:
                return log, *self._load_models(log)
            except BaseException:
                log.close()
                raise
        except LogError:
            if not may_repair:
                raise
        paths = [*map(self._checkpoint_path, self._checkpoints())]
        repair(self.folder, self._loadable_checkpoints(), paths)
        return self._open(may_repair=False)

    def _loadable_checkpoints(self) -> list[CheckpointFile]:
        """Return the checkpoints that can be loaded, the newest first."""
        found = []
        for number in reversed(self._checkpoints()):
            path = self._checkpoint_path(number)
            with contextlib.suppress(CheckpointError):
                log = _log_entry(checkpoint.load(path, kind=KIND))
                position = LogPosition(number, log[IDENTITY_BYTES:])
                found.append(CheckpointFile(path, log[:IDENTITY_BYTES], position))
        return found

    def _load_models(self, log: EventLog) -> tuple[Models, int]:
        """Load the newest intact checkpoint and check that it belongs to the log."""
        problems: dict[int, CheckpointError] = {}
        for number in reversed(self._checkpoints()):
            path = self._checkpoint_path(number)
            try:
                state = checkpoint.load(path, kind=KIND)
                models, saved_log = Models.from_state(state), _log_entry(state)
            except CheckpointError as error:
                logger.warning("%s Going back to the one before.", error)
                problems[number] = error
                continue
            if saved_log[:IDENTITY_BYTES] != log.identity:
                raise LogError(f"{path!r} is from the folder of another server. {RESTORE}")
            log.require_position(LogPosition(number, saved_log[IDENTITY_BYTES:]))
            oldest_kept = self._checkpoints()[-KEPT_CHECKPOINTS:][0]
            log.require_events_after(oldest_kept)
            for damaged in problems:  # it must not count as one of the two that are kept
                damaged_path = self._checkpoint_path(damaged)
                os.replace(damaged_path, f"{damaged_path}.damaged")
            return models, number
        if problems and log.first() != 1:  # a log from event 1 on leads to the same models alone
            raise next(iter(problems.values()))
        return Models(Bounds()), 0

    # ------------------------------------------------------------------ replay

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
        """Apply the events after the checkpoint; return how many there were."""
        count, marker = 0, ReplayMarker(self.folder, self.log.skipped)
        with contextlib.closing(marker):
            for number, event in self.log.after(self.number):
                count += 1
                marker.put(number)
                if number in self.log.skipped:
                    logger.warning("event %d is left out, as an operator chose", number)
                    self.number = number
                    continue
                self._replay_event(number, event)
        self.log.note_performed(self.number, [])
        marker.remove()
        return count

    def _replay_event(self, number: int, event: Event) -> None:
        """Apply one event, which must end as it did when it was new: accepted or rejected."""
        before = self.number
        was_rejected = self.log.recorded_rejection(number)  # None: not recorded
        try:
            self.apply(number, event, parse(event, UNLIMITED))
            rejection = None
        except RequestError as error:
            rejection = str(error)
            self.number = number
        except Exception as error:  # above all MemoryError
            self.number = before
            raise _replay_error(number, event, f"fails ({type(error).__name__})") from error
        if was_rejected is None or was_rejected == (rejection is not None):
            return
        if self.log.skipped:  # events after a skipped one may well end differently
            logger.warning(
                "event %d ends differently than when it was new, as events before it are left out",
                number,
            )
        elif rejection is None:
            raise _replay_error(number, event, "was rejected when it was new and is accepted now")
        else:
            raise _replay_error(
                number, event, f"was accepted when it was new and is rejected now ({rejection})"
            )


@final
class ReplayMarker:
    """A file with the number of the event that is being replayed.

    If the process is killed in a replay, perhaps because an event needs too much memory, the next
    start names the event. The file survives the process; it is not synced, so it may not survive a
    power cut.
    """

    def __init__(self, folder: str, skipped: set[int]) -> None:
        self._path, self._descriptor = os.path.join(folder, REPLAYING_NAME), -1
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
        """Record that an event is about to be replayed."""
        with contextlib.suppress(OSError):  # a full disk has no room for it
            if self._descriptor < 0:
                self._descriptor = open_regular_file(self._path, PRIVATE_MODE)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, f"{number:016d}\n".encode("ascii"))

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def remove(self) -> None:
        """Delete the file: all events were replayed."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def _replay_error(number: int, event: Event, problem: str) -> LogError:
    return LogError(
        f"event {number:,} ({event.action} of the model {event.model!r}, {len(event.body):,} "
        f"bytes) {problem}. Give the server the memory and the version of swordplay that it had, "
        f"or leave the event out: swordplay serve --skip-event {number}"
    )


def _log_entry(state: State) -> bytes:
    """Return identity of the log and digest of the event group after which a state was saved."""
    try:
        return entry_bytes("log", state.get("log"))
    except ValueError as error:
        raise CheckpointError(
            f"the checkpoint of the server does not fit this version: {error}"
        ) from error


def _remedy(error: OSError) -> str:
    """Say what is wrong with a file, and what to do."""
    if error.errno in DISK_FULL:
        return "the disk is full. Nothing was lost. Make room, then start again."
    where = "" if error.filename is None else f"{error.filename!r}: "
    return (
        f"{where}{error.strerror or error}. Check its permissions, or serve from a folder of your "
        "own."
    )


def _lock_folder(folder: str) -> int:
    """Create the folder if needed, and lock it; return the file descriptor of the lock."""
    try:
        os.makedirs(os.path.dirname(os.path.abspath(folder)), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)  # it contains what clients sent
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
        raise StorageError(f"{folder!r} cannot be served from: {_remedy(error)}") from error
    if not lock(descriptor, wait=False):
        os.close(descriptor)
        raise StorageError(
            f"another server uses {folder!r}. Stop it first, or serve from another folder."
        )
    return descriptor
