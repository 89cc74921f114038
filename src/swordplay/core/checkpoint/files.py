"""A checkpoint as a file: whole, or not there."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import Any

from swordplay.core.checkpoint.encoding import (
    START,
    CheckpointError,
    CheckpointMissing,
    check_start,
    dumps,
    parse,
    refuse,
)
from swordplay.core.files import PRIVATE, write_whole
from swordplay.core.types import State


def save(path: str | os.PathLike[str], state: Mapping[str, Any], *, kind: str) -> None:
    """Write a checkpoint, all or nothing: whenever the machine stops, the path holds the old one or
    the new one.

    Temporary files of this checkpoint that a killed process left behind are removed. Several may
    save to one path at once; the last one wins (see ``swordplay.core.files.write_whole``). Only its
    owner may read the file (mode 600): a state holds what it learned from.

    Parameters
    ----------
    path
        File to write; its folder must exist. Through a symbolic link, the file behind it is
        replaced.
    state, kind
        As in :func:`dumps`.

    Raises
    ------
    CheckpointError
        If it could not be written; a checkpoint that was there still is.
    """
    data = dumps(state, kind=kind)
    try:
        write_whole(path, data, PRIVATE)
    except OSError as error:
        raise CheckpointError(
            f"{_called(path)} could not be written: {error.strerror or error}. "
            "Give a path in an existing folder that you may write to, with space left. A "
            "checkpoint that was there is intact."
        ) from error


def load(path: str | os.PathLike[str], *, kind: str | None = None) -> State:
    """Read what :func:`save` wrote.

    Parameters
    ----------
    path
        File to read.
    kind
        As in :func:`loads`.

    Raises
    ------
    CheckpointMissing
        If there is no such file (also a ``FileNotFoundError``).
    CheckpointError
        If it cannot be read, or is not exactly what was saved, or of another kind.
    """
    where = _called(path)
    try:
        if not stat.S_ISREG(
            os.stat(path).st_mode
        ):  # a pipe would be waited for, a device read without end
            refuse(where, "is not a file", "Give the path that was saved to")
        with open(path, "rb") as file:
            start = file.read(START.size)
            check_start(
                start, os.fstat(file.fileno()).st_size, where
            )  # before a large foreign file is read
            data = start + file.read()
    except FileNotFoundError as error:
        raise CheckpointMissing(
            f"{where} does not exist. Check the path, or save one first."
        ) from error
    except OSError as error:
        raise CheckpointError(
            f"{where} could not be read: {error.strerror or error}. Check the path and its rights."
        ) from error
    return parse(data, kind, where)


def _called(path: str | os.PathLike[str]) -> str:
    return f"the checkpoint {os.fspath(path)!r}"
