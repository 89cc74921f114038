"""What goes wrong with files, in one or two lines: which file, where in it, and what to do."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from pathlib import Path


class TableError(ValueError):
    """A table that cannot be read or written: file, line and column where there is one, and the
    remedy.

    Where the operating system was the reason, ``__cause__`` is its ``OSError`` (such as
    ``BrokenPipeError``).
    """


class TableChanged(TableError):
    """A table that is not the one that was being read: rows that were read before have changed, or
    are gone.

    Parameters
    ----------
    message
        For the user.
    shared
        How many of its first rows are known to be as they were.
    """

    def __init__(self, message: str, shared: int = 0) -> None:
        super().__init__(message)
        self.shared = shared


LATE_TARGETS = (
    "If targets are filled in later, learn them with `swordplay serve`, or in Python with "
    "swordplay.late.LateModel."
)


def changed(name: str, read: int, shared: int = 0, *, is_shorter: bool = False) -> TableChanged:
    """The error for a table that is not the one that a state was saved with.

    Parameters
    ----------
    name
        What messages call the table.
    read
        Rows that were read when the state was saved.
    shared
        How many of them are known to be as they were.
    is_shorter
        Whether the table ends before that row.
    """
    if not shared:
        what = "it is shorter" if is_shorter else "it begins differently"
        return TableChanged(
            f"{name} is not the input that this state was saved with: {what}.\n"
            "Give the same input or another --state, or begin anew with --force."
        )
    first = f"row {shared + 1:,} is the first that may differ"
    what = "It ends before that row" if is_shorter else "Rows may only be added at the end"
    return TableChanged(
        f"{name} has changed since this state was saved: {first}, and {read:,} rows were read. "
        f"{what}.\n"
        f"Give it as it was, or another --state, or begin anew with --force. {LATE_TARGETS}",
        shared,
    )


def nearest(name: str, names: Iterable[str]) -> str:
    """A question after the name that was probably meant, or nothing."""
    folded = {known.casefold().strip(): known for known in names}
    close = difflib.get_close_matches(name.casefold().strip(), folded, n=1)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def shell_name(name: str) -> str:
    """Return a column's name as it is typed in an option: quoted if it has blanks or commas."""
    if re.fullmatch(r"[\w.\-]+", name):
        return name
    return f"'\"{name}\"'" if "," in name else f"'{name}'"


def _stem(name: str) -> str:
    return name.casefold().split(".")[0] or name


def unreadable(name: str, error: OSError) -> TableError:
    """Why a file cannot be opened or read."""
    if isinstance(error, FileNotFoundError):
        path = Path(name)
        beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        stems = {
            _stem(one): one for one in sorted(beside)
        }  # all tables end in .csv, which makes no name near another
        close = difflib.get_close_matches(_stem(path.name), stems, n=1)
        meant = f"Did you mean {stems[close[0]]!r}?" if close else "Check the path."
        return TableError(f"{name}: there is no such file. {meant}")
    if isinstance(error, IsADirectoryError):
        return TableError(f"{name} is a folder. Give the path of one file in it.")
    if isinstance(error, PermissionError):
        return TableError(
            f"{name}: permission denied. Ask for the right to read it (chmod +r), or copy it to a "
            "place of yours."
        )
    return TableError(
        f"{name} cannot be read: {error.strerror or error}. Check the disk or the connection, and "
        "try again."
    )


def unwritable(name: str, error: OSError) -> TableError:
    """Why a file cannot be written."""
    if isinstance(error, BrokenPipeError):
        return TableError(
            f"{name}: whoever was reading has gone. Nothing more can be written there."
        )
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return TableError(
            f"{name} cannot be written: there is no folder {os.path.dirname(name) or '.'!r}. Make "
            "it first."
        )
    reason = error.strerror or error
    return TableError(
        f"{name} cannot be written: {reason}. Free space or choose another place, and run the "
        "command again."
    )
