"""Write-ahead log of the server: events are on the disk before the models perform them and before
clients are answered.

A group of events is appended with one write and one ``fdatasync`` (see
:mod:`~swordplay.serving.log_format`), and then noted in the high-water mark
(:mod:`~swordplay.serving.high_water`). So when a log is opened,

- bytes at its end, behind the mark, that are no whole group are a torn write of which no client was
  told: they are cut off;
- anything else that does not verify is damage, and the log is refused.
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
from swordplay.serving.high_water import HighWater, HighWaterError
from swordplay.serving.log_format import BEGINNING, Boundary, Damage, Event, Group, Header
from swordplay.serving.refusals import Refusal

__all__ = ["FULL", "Event", "Log", "LogError"]

SEGMENT_BYTES = 8 * 2**20
"""A segment of this size is followed by a new one: events are forgotten by deleting segments."""
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
FULL = (
    "there is no room left on the disk for the log of events. Nothing was changed. Make room, "
    "then send it again."
)
RESTORE = (
    "Restore the folder from a copy, or go on with what is intact: swordplay serve --repair "
    "(it says what is lost)."
)

logger = logging.getLogger("swordplay.serve")
_sync = getattr(os, "fdatasync", os.fsync)  # Windows and macOS have no fdatasync


class LogError(ValueError):
    """A log that cannot be used; says why, and what to do."""


@final
class Log:
    """Events in segments of a folder, numbered from 1 without a gap.

    One thread at a time appends, forgets and closes; another one may :meth:`note` and ask for the
    :attr:`boundary`.

    Parameters
    ----------
    folder
        Where the segments are; it must exist.
    most
        Bytes that they may have; 0 for as many as the disk holds.
    is_new
        Whether a log may be made, because the folder holds no checkpoint.

    Raises
    ------
    LogError
        If the log is damaged; then nothing was changed.
    """

    def __init__(self, folder: str, most: int = 0, *, is_new: bool = True) -> None:
        self.folder, self._most = folder, most
        self._guard = threading.Lock()
        self._file: FileIO | None = None
        self._path, self._end, self._size = "", 0, 0
        self._must_rotate = self._is_broken = False
        self._boundaries = deque([BEGINNING])
        self._performed, self._refused = 0, list[int]()  # for the next group
        self._recorded, self._refusals = 0, set[int]()  # what the groups say
        self.skipped: set[int] = set()
        """Events that an operator left out."""
        if (
            is_new
            and not log_format.segments(folder)
            and not os.path.lexists(os.path.join(folder, high_water.NAME))
        ):
            high_water.create(folder, secrets.token_bytes(log_format.IDENTITY_BYTES), BEGINNING)
        try:
            self._mark = HighWater(folder)
        except HighWaterError as error:
            raise LogError(f"{error}. {RESTORE}") from error
        try:
            self._open()
        except BaseException:
            self._mark.close()
            raise

    @property
    def identity(self) -> bytes:
        """Random bytes in all groups and checkpoints of this folder: those of another server are
        told by it.
        """
        return self._mark.identity

    @property
    def last(self) -> int:
        """Number of the newest event."""
        return self._boundaries[-1].number

    # ------------------------------------------------------------------ writing

    def append(self, events: Sequence[Event]) -> None:
        """Write a group of events; all of them are on the disk when this returns, or none is.

        Raises
        ------
        Refusal
            507 if the disk is full, 503 if it does not work.
        """
        self._append(events, [])

    def skip(self, number: int) -> None:
        """Record that an event is left out, now and whenever events are replayed.

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
        with self._guard:
            performed, refused = self._performed, self._refused.copy()
        about = [
            (event.action, event.model, event.target, event.lines, len(event.body))
            for event in events
        ]
        header = Header(about, performed, refused, skipped)
        content, boundary = log_format.encode(self.identity, self._boundaries[-1], events, header)
        if self._is_broken:
            raise Refusal(
                503, "the log of events cannot be written until the server is started again."
            )
        if self._most and self._size + len(content) > self._most:
            raise Refusal(507, FULL)
        try:
            self._write(content, boundary.digest)
            # unless the mark follows the log: clients must not be told what it does not vouch for
            self._is_broken = True
            self._mark.put(boundary)
            self._is_broken = False
        except OSError as error:
            if error.errno in NO_ROOM:
                raise Refusal(507, FULL) from error
            raise Refusal(
                503, f"the log of events cannot be written ({error.strerror}). Nothing was changed."
            ) from error
        with self._guard:
            del self._refused[: len(refused)]
        self._boundaries.append(boundary)

    def _write(self, *parts: bytes) -> None:
        """Append bytes to the newest segment, down to the disk."""
        file, size = self._opened(), sum(map(len, parts))
        try:
            # One system call: each lets go of Python's lock, which the event loop then keeps for a
            # while.
            written = os.pwritev(file.fileno(), parts, self._end)
            rest = memoryview(b"".join(parts))[written:] if written < size else memoryview(b"")
            while rest:  # a signal or a nearly full disk
                rest = rest[os.pwrite(file.fileno(), rest, self._end + size - len(rest)) :]
            _sync(file.fileno())
            if not self._end:
                sync_folder(self._path)
        except OSError:
            self._is_broken = True  # unless what was written can be taken back
            file.truncate(self._end)
            self._is_broken = False
            raise
        self._end += size
        self._size += size

    def _opened(self) -> FileIO:
        """The newest segment, or a new one."""
        following = log_format.segment_path(self.folder, self.last + 1)
        is_full = self._must_rotate or self._end >= SEGMENT_BYTES
        if self._file is None or (
            is_full and following != self._path
        ):  # equal if the segment holds no events yet
            file = FileIO(open_regular_file(following, PRIVATE_MODE), "r+")
            if self._file is not None:
                self._file.close()
            self._file, self._path, self._end, self._must_rotate = file, following, 0, False
        return self._file

    def rotate(self) -> None:
        """Let the next group begin a new segment: a checkpoint will make what is before it
        superfluous.
        """
        self._must_rotate = True

    def forget(self, number: int) -> None:
        """Delete segments that hold nothing but events up to a number."""
        found = list(log_format.segments(self.folder).items())
        try:
            # after a power cut it must not lie before the first event that is kept
            self._mark.sync()
            for (path, _), (_, following) in pairwise(found):
                if following <= number + 1:
                    size = os.path.getsize(path)
                    os.unlink(path)
                    self._size -= size
        except OSError as error:  # the next checkpoint tries again
            logger.warning("the log of events could not be shortened: %s", error.strerror)

    def size(self) -> int:
        """Bytes of all segments."""
        return self._size

    def close(self) -> None:
        """Close the files; what is in them stays."""
        self._mark.close()
        if self._file is not None:
            self._file.close()

    # ------------------------------------------------------------------ what the models made of
    # events

    def note(self, number: int, refused: Sequence[int]) -> None:
        """Let the next group record that events up to a number were performed, and which of them
        the models refused.
        """
        with self._guard:
            self._performed = number
            self._refused += refused

    def was_refused(self, number: int) -> bool | None:
        """Whether the models refused an event when it came.

        None for the newest events, of which no group tells yet.
        """
        return number in self._refusals if number <= self._recorded else None

    @property
    def boundary(self) -> Boundary:
        """The end of the newest group that was performed. Earlier ones are forgotten."""
        while len(self._boundaries) > 1 and self._boundaries[1].number <= self._performed:
            self._boundaries.popleft()
        return self._boundaries[0]

    def require_boundary(self, boundary: Boundary) -> None:
        """Refuse a checkpoint of other events than those of a log that was just opened.

        Raises
        ------
        LogError
            If the log ends before it, or holds other events up to it.
        """
        number = boundary.number
        if number > self.last:
            raise LogError(
                f"the log of events ends with event {self.last:,}, and there is a checkpoint after "
                f"event {number:,}: the log is an older copy. {RESTORE}"
            )
        if number >= self._boundaries[0].number and boundary not in self._boundaries:
            raise LogError(
                f"the checkpoint after event {number:,} was made from other events than those of "
                f"the log: one of them is a copy from another time. {RESTORE}"
            )

    def require_from(self, number: int) -> None:
        """Refuse a log that lacks events behind a checkpoint.

        Raises
        ------
        LogError
            Names them.
        """
        if (first := self.first()) > number + 1:
            raise LogError(
                f"the log of events begins with event {first:,}, and events {number + 1:,} to "
                f"{first - 1:,} are missing. {RESTORE}"
            )

    # ------------------------------------------------------------------ reading

    def first(self) -> int:
        """Number of the oldest event that is kept."""
        return next(iter(log_format.segments(self.folder).values()), self.last + 1)

    def after(self, number: int) -> Iterator[tuple[int, Event]]:
        """Events behind a number, in their order, of a log that was just opened.

        Raises
        ------
        LogError
            If one is missing.
        """
        self.require_from(number)
        for path in log_format.segments(self.folder):
            for group in log_format.read_groups(path, self.identity):
                assert isinstance(group, Group)  # the log was verified when it was opened
                if group.last > number:
                    yield from ((place, event) for place, event in group.events() if place > number)

    def _open(self) -> None:
        """Verify all groups, and go on behind the last one."""
        segments, whole, problems = (
            log_format.segments(self.folder),
            list[tuple[int, int]](),
            list[str](),
        )
        newest_path, torn, end = next(reversed(segments), ""), False, 0
        for path, first in segments.items():
            end = 0
            for group in log_format.read_groups(path, self.identity):
                if isinstance(group, Damage):
                    torn = (
                        path == newest_path
                        and group.end == os.path.getsize(path)
                        and (end > 0 or first == self.last + 1)
                    )
                    if not torn:
                        problems.append(
                            f"bytes {group.offset:,} to {group.end:,} of {path!r} are damaged"
                        )
                    continue
                problems += self._take(group, path, first, is_first=not whole)
                if group.identity == self.identity:
                    whole.append((group.first, group.last))
                end = group.end
            if not end and not problems and (path != newest_path or first != self.last + 1):
                problems.append(f"{path!r} is empty")
            self._size += end
        newest = self._mark.boundary
        if newest not in self._boundaries:
            problems.append(
                f"event {newest.number:,}, the newest that was acknowledged, is missing or was "
                "replaced"
            )
        if problems:
            raise LogError(
                f"the log of events is damaged: {problems[0]}. {_intact(whole)} "
                f"The newest event that was acknowledged is event {newest.number:,}. {RESTORE}"
            )
        if torn:
            logger.warning(
                "%r ends with a group of events that was being written when the server ended: it "
                "is cut off",
                newest_path,
            )
        if segments:
            self._path, self._end, self._file = (
                newest_path,
                end,
                FileIO(open_regular_file(newest_path), "r+"),
            )
            if os.path.getsize(newest_path) > end:
                self._file.truncate(end)

    def _take(self, group: Group, path: str, first: int, *, is_first: bool) -> list[str]:
        """Take in a group that was read; what is wrong with it."""
        if group.identity != self.identity:
            return [f"{path!r} is from the folder of another server, or {high_water.NAME!r} is"]
        if is_first:
            self._boundaries = deque([Boundary(group.first - 1, group.previous)])
        before, problems = self._boundaries[-1], list[str]()
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
        self._boundaries.append(Boundary(group.last, group.digest))
        self._recorded = max(self._recorded, group.header.performed)
        self._refusals.update(group.header.refused)
        self.skipped.update(group.header.skipped)
        return problems


def _intact(whole: Sequence[tuple[int, int]]) -> str:
    """Which events are intact, in words."""
    ranges = list[list[int]]()
    for first, last in whole:
        if ranges and first == ranges[-1][1] + 1:
            ranges[-1][1] = last
        elif last >= first:
            ranges.append([first, last])
    told = " and ".join(f"{first:,} to {last:,}" for first, last in ranges)
    return f"Intact are the events {told}." if told else "No event is intact."
