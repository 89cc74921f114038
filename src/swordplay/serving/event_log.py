"""Write-ahead log: events are on the disk before they are applied to the models and acknowledged.

A group of events is appended with one write and one ``fdatasync`` (format: ``log_format``), and
then recorded in the high-water mark (``high_water``). So when a log is opened,

- bytes at its end, behind the mark, that are not a complete group are a torn write that no client
  was told of: they are cut off;
- anything else that does not verify is damage, and the log is rejected.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from io import FileIO
from itertools import pairwise
from typing import final

from swordplay.core.files import PRIVATE_MODE, open_regular_file, sync_folder
from swordplay.serving import high_water, log_format
from swordplay.serving.errors import RequestError
from swordplay.serving.high_water import HighWaterError, HighWaterMark
from swordplay.serving.log_format import (
    LOG_START,
    Damage,
    Event,
    EventGroup,
    GroupHeader,
    LogPosition,
)

SEGMENT_BYTES = 8 * 2**20
"""A segment of this size is followed by a new one. Old events are removed by whole segments."""
DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Error numbers of the operating system."""
NO_ROOM = (
    "there is no room left on the disk for the event log. Nothing was changed. Make room, then "
    "send it again."
)
RESTORE = (
    "Restore the folder from a copy, or continue with its intact part: swordplay serve --repair "
    "(it reports what is lost)."
)

logger = logging.getLogger("swordplay.serve")
_sync = getattr(os, "fdatasync", os.fsync)  # Windows and macOS have no fdatasync


class LogError(ValueError):
    """The log cannot be used; says why, and what to do."""


@final
class EventLog:
    """Events in segments of a folder, numbered from 1 without a gap.

    One thread at a time appends, forgets and closes. Another thread may call :meth:`note_performed`
    and read :attr:`performed_position`.

    Parameters
    ----------
    folder
        Folder of the segments; it must exist.
    max_bytes
        Limit on the size of all segments; 0 for no limit.
    may_create
        Whether a log is created if there is none: only if the folder has no checkpoint.

    Raises
    ------
    LogError
        If the log is damaged; nothing was changed then.
    """

    def __init__(self, folder: str, max_bytes: int = 0, *, may_create: bool = True) -> None:
        self.folder = folder
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._file: FileIO | None = None  # the newest segment
        self._path = ""
        self._end = 0  # bytes of the newest segment
        self._size = 0  # bytes of all segments
        self._must_rotate = self._is_broken = False
        self._positions = deque([LOG_START])  # the ends of groups, from the newest performed one on
        self._performed, self._refused = 0, list[int]()  # for the header of the next group
        self._recorded, self._recorded_refusals = 0, set[int]()  # from the headers of all groups
        self.skipped: set[int] = set()
        """Events that an operator left out."""
        mark_path = os.path.join(folder, high_water.NAME)
        if may_create and not log_format.list_segments(folder) and not os.path.lexists(mark_path):
            high_water.create(folder, secrets.token_bytes(log_format.IDENTITY_BYTES), LOG_START)
        try:
            self._mark = HighWaterMark(folder)
        except HighWaterError as error:
            raise LogError(f"{error}. {RESTORE}") from error
        try:
            self._open()
        except BaseException:
            self._mark.close()
            raise

    @property
    def identity(self) -> bytes:
        """Random bytes that identify this log in all groups and checkpoints of its folder."""
        return self._mark.identity

    @property
    def last(self) -> int:
        """Number of the newest event."""
        return self._positions[-1].number

    # ------------------------------------------------------------------ writing

    def append(self, events: Sequence[Event]) -> None:
        """Write a group of events; when this returns, all of them are on the disk.

        Raises
        ------
        RequestError
            507 if the disk is full, 503 if writing fails; none of the events is in the log then.
        """
        self._append(events, [])

    def skip(self, number: int) -> None:
        """Record that an event is left out, now and in every later replay.

        Raises
        ------
        LogError
            If there is no such event.
        """
        if not 0 < number <= self.last:
            raise LogError(
                f"there is no event {number:,} to skip: the newest is event {self.last:,}."
            )
        if number not in self.skipped:
            self._append([], [number])
            self.skipped.add(number)

    def _append(self, events: Sequence[Event], skipped: list[int]) -> None:
        with self._lock:
            performed, refused = self._performed, self._refused.copy()
        about = [
            (event.action, event.model, event.target, event.is_ndjson, len(event.body))
            for event in events
        ]
        header = GroupHeader(about, performed, refused, skipped)
        content, position = log_format.encode(self.identity, self._positions[-1], events, header)
        if self._is_broken:
            raise RequestError(
                503, "the event log cannot be written until the server is started again."
            )
        if self._max_bytes and self._size + len(content) > self._max_bytes:
            raise RequestError(507, NO_ROOM)
        try:
            self._write(content, position.digest)
            # If the mark cannot be written, no client may be told of what follows it in the log.
            self._is_broken = True
            self._mark.put(position)
            self._is_broken = False
        except OSError as error:
            if error.errno in DISK_FULL:
                raise RequestError(507, NO_ROOM) from error
            raise RequestError(
                503, f"the event log cannot be written ({error.strerror}). Nothing was changed."
            ) from error
        with self._lock:
            del self._refused[: len(refused)]
        self._positions.append(position)

    def _write(self, *parts: bytes) -> None:
        """Append bytes to the newest segment and write them to the disk (fdatasync)."""
        file, size = self._open_segment(), sum(map(len, parts))
        try:
            # One system call: each releases the GIL, which the event loop then holds for a while.
            written = os.pwritev(file.fileno(), parts, self._end)
            rest = memoryview(b"".join(parts))[written:] if written < size else memoryview(b"")
            while rest:  # after a signal, or on a nearly full disk
                rest = rest[os.pwrite(file.fileno(), rest, self._end + size - len(rest)) :]
            _sync(file.fileno())
            if not self._end:
                sync_folder(self._path)
        except OSError:
            self._is_broken = True  # unless the bytes that were written can be removed
            file.truncate(self._end)
            self._is_broken = False
            raise
        self._end += size
        self._size += size

    def _open_segment(self) -> FileIO:
        """Return the file of the newest segment; begin a new one if that is full."""
        following = log_format.segment_path(self.folder, self.last + 1)
        is_full = self._must_rotate or self._end >= SEGMENT_BYTES
        # The paths are equal if the newest segment has no events yet.
        if self._file is None or (is_full and following != self._path):
            file = FileIO(open_regular_file(following, PRIVATE_MODE), "r+")
            if self._file is not None:
                self._file.close()
            self._file = file
            self._path = following
            self._end = 0
            self._must_rotate = False
        return self._file

    def rotate(self) -> None:
        """Begin a new segment with the next group, as a checkpoint replaces what is before it."""
        self._must_rotate = True

    def forget(self, number: int) -> None:
        """Delete the segments that contain only events up to this number."""
        found = list(log_format.list_segments(self.folder).items())
        try:
            # After a power cut the mark must not be before the first event that is kept.
            self._mark.sync()
            for (path, _), (_, following) in pairwise(found):
                if following <= number + 1:
                    size = os.path.getsize(path)
                    os.unlink(path)
                    self._size -= size
        except OSError as error:  # the next checkpoint tries again
            logger.warning("old segments of the event log remain: %s", error.strerror)

    def size(self) -> int:
        """Return the bytes of all segments."""
        return self._size

    def close(self) -> None:
        """Close the files."""
        self._mark.close()
        if self._file is not None:
            self._file.close()

    # ------------------------------------------------------------------ performed events

    def note_performed(self, number: int, refused: Sequence[int]) -> None:
        """Record in the next group that the models performed all events up to a number.

        Parameters
        ----------
        number
            Number of the newest event that was performed.
        refused
            Numbers of those events since the last call that the models refused.
        """
        with self._lock:
            self._performed = number
            self._refused += refused

    def recorded_rejection(self, number: int) -> bool | None:
        """Whether the models rejected an event when it was new.

        None for the newest events, whose outcome no group records yet.
        """
        return number in self._recorded_refusals if number <= self._recorded else None

    @property
    def performed_position(self) -> LogPosition:
        """The end of the newest group that was performed. Earlier positions are dropped."""
        while len(self._positions) > 1 and self._positions[1].number <= self._performed:
            self._positions.popleft()
        return self._positions[0]

    def require_position(self, position: LogPosition) -> None:
        """Reject a checkpoint that was made from other events than those of this opened log.

        Raises
        ------
        LogError
            If the log ends before the checkpoint, or has other events up to it.
        """
        number = position.number
        if number > self.last:
            raise LogError(
                f"the event log ends with event {self.last:,}, and there is a checkpoint after "
                f"event {number:,}: the log is an older copy. {RESTORE}"
            )
        if number >= self._positions[0].number and position not in self._positions:
            raise LogError(
                f"the checkpoint after event {number:,} was made from other events than those of "
                f"the log: one of them is a copy from another time. {RESTORE}"
            )

    def require_events_after(self, number: int) -> None:
        """Reject a log in which events after this number are missing.

        Raises
        ------
        LogError
            Names the missing events.
        """
        if (first := self.first()) > number + 1:
            raise LogError(
                f"the event log begins with event {first:,}, and events {number + 1:,} to "
                f"{first - 1:,} are missing. {RESTORE}"
            )

    # ------------------------------------------------------------------ reading

    def first(self) -> int:
        """Return the number of the oldest event in the log."""
        return next(iter(log_format.list_segments(self.folder).values()), self.last + 1)

    def after(self, number: int) -> Iterator[tuple[int, Event]]:
        """Yield number and event of all events after a number, of a log that was just opened.

        Raises
        ------
        LogError
            If one is missing.
        """
        self.require_events_after(number)
        for path in log_format.list_segments(self.folder):
            for group in log_format.read_groups(path, self.identity):
                assert isinstance(group, EventGroup)  # the log was verified when it was opened
                if group.last > number:
                    yield from ((found, event) for found, event in group.events() if found > number)

    def _open(self) -> None:
        """Verify all groups, cut off a torn write, and open the newest segment."""
        segments = log_format.list_segments(self.folder)
        newest_path = next(reversed(segments), "")
        intact = list[tuple[int, int]]()  # first and last event of each intact group
        problems = list[str]()
        is_torn, end = False, 0
        for path, first in segments.items():
            end = 0
            for group in log_format.read_groups(path, self.identity):
                if isinstance(group, Damage):
                    is_torn = (
                        path == newest_path
                        and group.end == os.path.getsize(path)
                        and (end > 0 or first == self.last + 1)
                    )
                    if not is_torn:
                        problems.append(
                            f"bytes {group.offset:,} to {group.end:,} of {path!r} are damaged"
                        )
                    continue
                problems += self._add_group(group, path, first, is_first=not intact)
                if group.identity == self.identity:
                    intact.append((group.first, group.last))
                end = group.end
            if not end and not problems and (path != newest_path or first != self.last + 1):
                problems.append(f"{path!r} is empty")
            self._size += end
        newest = self._mark.position
        if newest not in self._positions:
            problems.append(
                f"event {newest.number:,}, the newest that was acknowledged, is missing or was "
                "replaced"
            )
        if problems:
            raise LogError(
                f"the event log is damaged: {problems[0]}. {_describe_intact(intact)} "
                f"The newest event that was acknowledged is event {newest.number:,}. {RESTORE}"
            )
        if is_torn:
            logger.warning(
                "%r ends with a group of events that was being written when the server ended: it "
                "is cut off",
                newest_path,
            )
        if segments:
            self._path = newest_path
            self._end = end
            self._file = FileIO(open_regular_file(newest_path), "r+")
            if os.path.getsize(newest_path) > end:
                self._file.truncate(end)

    def _add_group(
        self, group: EventGroup, path: str, first: int, *, is_first: bool
    ) -> Sequence[str]:
        """Add a group that was read; return what is wrong with it."""
        if group.identity != self.identity:
            return [f"{path!r} is from the folder of another server, or {high_water.NAME!r} is"]
        if is_first:
            self._positions = deque([LogPosition(group.first - 1, group.previous)])
        before, problems = self._positions[-1], list[str]()
        if group.first != before.number + 1:
            problems.append(
                f"{path!r} has event {group.first:,} where event {before.number + 1:,} is expected"
            )
        elif group.previous != before.digest:
            problems.append(
                f"event {group.first:,} in {path!r} does not follow the events before it"
            )
        elif group.offset == 0 and group.first != first:
            problems.append(
                f"{path!r} begins with event {group.first:,}, which is not the one in its name"
            )
        self._positions.append(LogPosition(group.last, group.digest))
        self._recorded = max(self._recorded, group.header.performed)
        self._recorded_refusals.update(group.header.refused)
        self.skipped.update(group.header.skipped)
        return problems


def _describe_intact(groups: Sequence[tuple[int, int]]) -> str:
    """Say which events are intact, given the first and last event of each intact group."""
    ranges = list[list[int]]()
    for first, last in groups:
        if ranges and first == ranges[-1][1] + 1:
            ranges[-1][1] = last
        elif last >= first:
            ranges.append([first, last])
    text = " and ".join(f"{first:,} to {last:,}" for first, last in ranges)
    return f"Intact are the events {text}." if text else "No event is intact."
