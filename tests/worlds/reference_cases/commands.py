"""The ``swordplay`` command as a process, and numbers of what it prints."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

LONGEST = 600
"""Seconds after which a process counts as hanging."""
NOT_COMPARED = (
    "seconds",
    "microseconds",
    "rows_per_second",
    "files",
    "proven",
    "columns",
    "remarks",
)
"""Entries of JSON that are times, places, texts, or certificates of windows, which the redesign
deletes.
"""


def run(
    *arguments: str | Path,
    folder: Path | None = None,
    given: bytes | None = None,
    codes: Iterable[int] = (0,),
) -> bytes:
    """Standard output of ``swordplay`` with these arguments, which has to end with one of these
    codes.
    """
    command = [sys.executable, "-m", "swordplay", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=folder, input=given, capture_output=True, timeout=LONGEST, check=False
    )
    if done.returncode not in codes:
        raise RuntimeError(
            f"swordplay {arguments[0]} ended with {done.returncode}: {done.stderr.decode()[-500:]}"
        )
    return done.stdout


def leaves(value: Any, *, without: Iterable[str] = NOT_COMPARED, _name: str = "") -> dict[str, Any]:
    """Numbers and truths of parsed JSON by their place.

    Lists of numbers stay arrays, texts are left out.
    """
    if isinstance(value, Mapping):
        found = {}
        for name, entry in value.items():
            if str(name) not in without:
                found.update(
                    leaves(entry, without=without, _name=f"{_name}.{name}" if _name else str(name))
                )
        return found
    if isinstance(value, list):
        if value and all(
            isinstance(entry, int | float | None) and not isinstance(entry, bool) for entry in value
        ):
            return {_name: [float("nan") if entry is None else float(entry) for entry in value]}
        found = {}
        for number, entry in enumerate(value):
            found.update(leaves(entry, without=without, _name=f"{_name}[{number}]"))
        return found
    return {} if isinstance(value, str) else {_name: value}
