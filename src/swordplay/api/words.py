"""Messages of the command in the words of Python."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import contextmanager

from swordplay.core.checkpoint import CheckpointError
from swordplay.tables import TableError
from swordplay.tracking import TrackingError

VALUES = {"skip", "stop", "regression", "binary", "multi-class", "none"}
"""Values that messages give to options; what else follows an option is a word of the sentence."""
LISTS = {"drop", "features", "missing"}
NAMES = {"key", "sort", "id"}
"""Options whose value is a name; several of them, with commas between, are a list."""
FLAGS = {"force", "reverse"}
SENTENCE = {"names", "if", "or", "and", "says", "is", "with", "COLUMN"}
"""Words that follow options in sentences."""


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
    >>> translated("--key shop,article gives each a model of its own, or --lags 3, or --sort 'the day'.")
    "key=['shop', 'article'] gives each a model of its own, or lags=3, or sort='the day'."
    >>> translated("say --types day=day-first or --missing '#DIV/0!'.")
    "say types={'day': 'day-first'} or missing=['#DIV/0!']."
    """  # noqa: E501
    return re.sub(r"--([a-z][a-z-]*)(?: ('[^']+'|[\w-]+(?:[,=][\w-]+)*))?", _argument, message)


def _argument(found: re.Match[str]) -> str:
    name, value = found[1].replace("-", "_"), found[2]
    if name in FLAGS:
        return f"{name}=True" + ("" if value is None else f" {value}")
    if value is None or value in SENTENCE:
        return name + ("" if value is None else f" {value}")
    (names,) = csv.reader([value.strip("'")])
    if name in LISTS:
        return f"{name}={names!r}"
    if name in NAMES:
        return f"{name}={names if len(names) > 1 else names[0]!r}"
    if name == "types" and "=" in value:
        return f"types={dict(one.split('=', 1) for one in names)!r}"
    if value in VALUES:
        return f"{name}={value!r}"
    return f"{name}={value}" if value.isdigit() else f"{name} {value}"
