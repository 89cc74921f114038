"""Repair of a damaged event log: continues with the intact events and reports what is lost."""

from __future__ import annotations

import logging
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from swordplay.core.files import PRIVATE_MODE, sync_folder, write_atomic
from swordplay.serving import high_water, log_format
from swordplay.serving.event_log import LogError
from swordplay.serving.high_water import HighWaterError, HighWaterMark
from swordplay.serving.log_format import LOG_START, EventGroup, GroupHeader, LogPosition

logger = logging.getLogger("swordplay.serve")


class CheckpointFile(NamedTuple):
    """A checkpoint that can be loaded."""

    path: str
    identity: bytes
    """Identity of the log that it was made from."""
    position: LogPosition
    """Position in the log after which it was saved."""


class _GroupChain(NamedTuple):
    """Groups that follow each other."""

    positions: list[LogPosition]
    """The position before the first group, and the end of each group."""
    content: list[bytes]


def repair(folder: str, checkpoints: Sequence[CheckpointFile], paths: Sequence[str]) -> None:
    """Reduce a log to the intact events before and after the newest checkpoint.

    The files as they were are kept in a folder ``damaged-1`` (2, 3, ...) beside them.

    Parameters
    ----------
    folder
        Folder of a server that is not running.
    checkpoints
        Checkpoints that can be loaded, the newest first.
    paths
        Paths of all checkpoints. Those that do not belong to the kept events are moved aside.

    Raises
    ------
    LogError
        If there is nothing to continue from.
    """
    mark = _read_mark(folder)
    identity = _find_identity(folder, mark, checkpoints)
    own = [one for one in checkpoints if one.identity == identity]
    start = own[0].position if own else LOG_START
    chains = _read_chains(folder, identity)
    usable = [chain for chain in chains if start in chain.positions]
    if not own and not usable:
        raise LogError(
            "neither a checkpoint nor the beginning of the log is intact. Serve from another "
            "folder."
        )
    kept = max(
        usable,
        key=lambda chain: chain.positions[-1].number,
        default=_GroupChain([start], []),
    )
    last = kept.positions[-1].number
    marked = mark[1].number if mark else 0
    newest = max([last, marked, *(chain.positions[-1].number for chain in chains)])
    kept_paths = {one.path for one in own if one.position in kept.positions}
    aside = _set_aside(folder, [path for path in paths if path not in kept_paths])
    content = b"".join(kept.content)
    if not content:
        content, end = log_format.encode(identity, start, [], GroupHeader([], last, [], []))
        content += end.digest
        kept.positions.append(end)
    path = log_format.segment_path(folder, kept.positions[0].number + 1)
    # A crash after this leaves the kept groups twice; another repair then uses one of the copies.
    write_atomic(path, content, PRIVATE_MODE)
    for other in log_format.list_segments(folder):
        if other != path:
            os.unlink(other)
    high_water.create(folder, identity, kept.positions[-1])
    lost = "no known event is lost"
    if newest > last:
        lost = f"events {last + 1} to {newest} are lost"
    logger.warning(
        "repaired the event log: it ends with event %d, %s. The files as they were: %r",
        last,
        lost,
        aside,
    )


def _read_mark(folder: str) -> tuple[bytes, LogPosition] | None:
    """Return identity and position of the high-water mark; None if it cannot be used."""
    try:
        mark = HighWaterMark(folder)
    except HighWaterError:
        return None
    mark.close()
    return mark.identity, mark.position


def _find_identity(
    folder: str,
    mark: tuple[bytes, LogPosition] | None,
    checkpoints: Sequence[CheckpointFile],
) -> bytes:
    """Return the identity of the log that most files agree on."""
    votes = Counter([mark[0]] if mark else [])
    votes.update(one.identity for one in checkpoints)
    for path in log_format.list_segments(folder):
        guess = next(iter(votes), b"\0" * log_format.IDENTITY_BYTES)
        groups = log_format.read_groups(path, guess)
        votes.update({group.identity for group in groups if isinstance(group, EventGroup)})
    if not votes:
        raise LogError("nothing in the folder is intact. Serve from another one.")
    return votes.most_common(1)[0][0]


def _read_chains(folder: str, identity: bytes) -> list[_GroupChain]:
    """Return the intact groups of the log, split where one does not follow the one before."""
    chains = list[_GroupChain]()
    for path in log_format.list_segments(folder):
        with open(path, "rb") as file:
            content = file.read()
        for group in log_format.read_groups(path, identity):
            if not isinstance(group, EventGroup) or group.identity != identity:
                continue
            before = LogPosition(group.first - 1, group.previous)
            if not chains or chains[-1].positions[-1] != before:
                chains.append(_GroupChain([before], []))
            chains[-1].positions.append(LogPosition(group.last, group.digest))
            chains[-1].content.append(content[group.offset : group.end])
    return chains


def _set_aside(folder: str, unwanted: Sequence[str]) -> str:
    """Copy log and mark into a new folder, and move unwanted checkpoints there; return its path."""
    used = [
        int(name[8:])
        for name in os.listdir(folder)
        if name.startswith("damaged-") and name[8:].isdecimal()
    ]
    aside = os.path.join(folder, f"damaged-{max(used, default=0) + 1}")
    os.mkdir(aside, 0o700)
    for path in [*log_format.list_segments(folder), os.path.join(folder, high_water.NAME)]:
        if os.path.exists(path):
            shutil.copy2(path, aside)
    for path in unwanted:
        os.replace(path, os.path.join(aside, os.path.basename(path)))
    sync_folder(aside)
    return aside
