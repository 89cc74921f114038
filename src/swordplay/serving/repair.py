"""Repair of a damaged log, when an operator asks for it: go on with what is intact, and say what
is lost.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from swordplay.core.files import PRIVATE_MODE, sync_folder, write_atomic
from swordplay.serving import high_water, log_format
from swordplay.serving.high_water import HighWater, HighWaterError
from swordplay.serving.log import LogError
from swordplay.serving.log_format import BEGINNING, Boundary, Group, Header

logger = logging.getLogger("swordplay.serve")


class SavedCheckpoint(NamedTuple):
    """A checkpoint that can be loaded."""

    path: str
    identity: bytes
    """Of the log that it belongs to."""
    boundary: Boundary
    """The events that it holds."""


class _Run(NamedTuple):
    """Groups that follow each other."""

    boundaries: list[Boundary]
    """The one before the first group, and the end of each."""
    content: list[bytes]


def repair(folder: str, checkpoints: Sequence[SavedCheckpoint], paths: Sequence[str]) -> None:
    """Let the log of a folder hold the intact events around and behind the newest checkpoint, and
    nothing else.

    The files as they were are kept in a folder ``damaged-1`` (2, 3, ...) beside them.

    Parameters
    ----------
    folder
        Of the server, which must not run.
    checkpoints
        Those that can be loaded, the newest first.
    paths
        Of all checkpoints. Those that do not belong to what is kept are moved aside.

    Raises
    ------
    LogError
        If there is nothing to go on from.
    """
    mark = _mark(folder)
    identity = _identity(folder, mark, checkpoints)
    own = [one for one in checkpoints if one.identity == identity]
    start = own[0].boundary if own else BEGINNING
    runs = _runs(folder, identity)
    fitting = [run for run in runs if start in run.boundaries]
    if not own and not fitting:
        raise LogError(
            "neither a checkpoint nor the beginning of the log is intact. Serve from another "
            "folder."
        )
    kept = max(fitting, key=lambda run: run.boundaries[-1].number, default=_Run([start], []))
    last = kept.boundaries[-1].number
    newest = max(
        [last, *(run.boundaries[-1].number for run in runs), mark[1].number if mark else 0]
    )
    fitting_paths = {one.path for one in own if one.boundary in kept.boundaries}
    aside = _set_aside(folder, [path for path in paths if path not in fitting_paths])
    content = b"".join(kept.content)
    if not content:
        content, end = log_format.encode(identity, start, [], Header([], last, [], []))
        content += end.digest
        kept.boundaries.append(end)
    path = log_format.segment_path(folder, kept.boundaries[0].number + 1)
    write_atomic(
        path, content, PRIVATE_MODE
    )  # a crash after this leaves two copies of a run, of which another repair takes one
    for other in log_format.segments(folder):
        if other != path:
            os.unlink(other)
    high_water.create(folder, identity, kept.boundaries[-1])
    lost = (
        f"events {last + 1} to {newest} are lost"
        if newest > last
        else "no event that is known of is lost"
    )
    logger.warning(
        "repaired the log of events: it ends with event %d, %s. The files as they were: %r",
        last,
        lost,
        aside,
    )


def _mark(folder: str) -> tuple[bytes, Boundary] | None:
    try:
        mark = HighWater(folder)
    except HighWaterError:
        return None
    mark.close()
    return mark.identity, mark.boundary


def _identity(
    folder: str, mark: tuple[bytes, Boundary] | None, checkpoints: Sequence[SavedCheckpoint]
) -> bytes:
    """The identity that most of the files agree on."""
    found = Counter([mark[0]] if mark else [])
    found.update(one.identity for one in checkpoints)
    for path in log_format.segments(folder):
        groups = log_format.read_groups(path, next(iter(found), b"\0" * log_format.IDENTITY_BYTES))
        found.update({group.identity for group in groups if isinstance(group, Group)})
    if not found:
        raise LogError("nothing in the folder is intact. Serve from another one.")
    return found.most_common(1)[0][0]


def _runs(folder: str, identity: bytes) -> list[_Run]:
    runs = list[_Run]()
    for path in log_format.segments(folder):
        with open(path, "rb") as file:
            content = file.read()
        for group in log_format.read_groups(path, identity):
            if not isinstance(group, Group) or group.identity != identity:
                continue
            before = Boundary(group.first - 1, group.previous)
            if not runs or runs[-1].boundaries[-1] != before:
                runs.append(_Run([before], []))
            runs[-1].boundaries.append(Boundary(group.last, group.digest))
            runs[-1].content.append(content[group.offset : group.end])
    return runs


def _set_aside(folder: str, unwanted: Sequence[str]) -> str:
    """Copy log and mark into a folder of their own, and move unwanted checkpoints there."""
    taken = [
        int(name[8:])
        for name in os.listdir(folder)
        if name.startswith("damaged-") and name[8:].isdecimal()
    ]
    aside = os.path.join(folder, f"damaged-{max(taken, default=0) + 1}")
    os.mkdir(aside, 0o700)
    for path in [*log_format.segments(folder), os.path.join(folder, high_water.NAME)]:
        if os.path.exists(path):
            shutil.copy2(path, aside)
    for path in unwanted:
        os.replace(path, os.path.join(aside, os.path.basename(path)))
    sync_folder(aside)
    return aside
