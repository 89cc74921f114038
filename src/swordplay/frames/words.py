"""Messages of the command in the words of Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from swordplay.checkpoint import CheckpointError
from swordplay.tables import TableError
from swordplay.tracking import TrackingError

VALUES = {"skip", "stop", "regression", "binary", "multi-class", "none"}
"""Values that messages give to options; what else follows an option is a word of the sentence."""
LISTS = {"drop", "features"}
FLAGS = {"force", "reverse"}


@contextmanager
def in_python() -> Iterator[None]:
    """Errors about tables, options and states name arguments instead of the command's options."""
    try:
        yield
    except (TableError, TrackingError, CheckpointError) as error:
        text = translated(str(error))
        if text == str(error):
            raise
        raise type(error)(text) from error.__cause__ or error


def translated(message: str) -> str:
    """Options as arguments.

    >>> translated("Leave such rows out with --on-bad skip, or begin anew with --force.")
    "Leave such rows out with on_bad='skip', or begin anew with force=True."
    >>> translated("leave it out with --drop note. Choose another column as --target.")
    "leave it out with drop=['note']. Choose another column as target."
    """
    return re.sub(r"--([a-z][a-z-]*)(?: ([\w-]+))?", _argument, message)


def _argument(found: re.Match[str]) -> str:
    name, value = found[1].replace("-", "_"), found[2]
    if name in FLAGS:
        return f"{name}=True" + ("" if value is None else f" {value}")
    if name in LISTS and value is not None and value not in ("names", "if", "or"):
        return f"{name}=[{value!r}]"
    if value in VALUES:
        return f"{name}={value!r}"
    return name + ("" if value is None else f" {value}")
