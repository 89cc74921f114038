"""Files of a run: where refused rows are listed, which paths must not be the same, and what was
written in the end.
"""

from __future__ import annotations

import itertools
import os
import stat
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING

from swordplay.tables.writing import is_stream
from swordplay.tracking.errors import TrackingError

if TYPE_CHECKING:
    from swordplay.tracking.job import Job

ON_THE_WAY = (".partial", ".assembling")
"""Endings of the files in which an output grows."""


def refused_path(output: str | None, source: str, state: str | None) -> str:
    """Where refused rows are listed: beside the output, the input or the state, the first of these
    that is a file.

    Otherwise in the current folder (or the temporary one, where that cannot be written) under a
    name that is free, such as ``standard-input.refused.csv``: a live run never ends because an
    earlier one has left its list.
    """
    for path in (output, source, state):
        if path and path != "-" and not is_stream(path):
            return f"{path}.refused.csv"
    folder = "" if os.access(".", os.W_OK | os.X_OK) else tempfile.gettempdir()
    endings = (".refused.csv", *(f".refused-{k}.csv" for k in range(2, 10_000)))
    names = (os.path.join(folder, f"standard-input{ending}") for ending in endings)
    return next(
        itertools.chain(
            (name for name in names if _is_free(name)),
            [f"standard-input.refused-{os.getpid()}.csv"],
        )
    )


def _is_free(name: str) -> bool:
    return not os.path.exists(name) and not os.path.exists(f"{name}.partial")


def require_different(job: Job, report: str | None) -> None:
    """Refuse to write over what is read, or one file over another.

    Raises
    ------
    TrackingError
        Says which two are the same file.
    """
    written = {"--output": job.output, "the file of refused rows": job.refused}
    growing = {
        f"the {ending} of {name}": f"{path}{ending}"
        for name, path in written.items()
        if path not in (None, "-")
        for ending in ON_THE_WAY
    }
    source = {"FILE": job.source if isinstance(job.source, str) else None}
    _all_different({**source, **written, **growing, "--report": report, "--state": job.state})


def _all_different(paths: Mapping[str, str | None]) -> None:
    seen: dict[str, str] = {}
    for option, path in paths.items():
        if path is not None and path != "-":
            for identity in _identities(path):
                if identity in seen:
                    raise TrackingError(
                        f"{seen[identity]} and {option} are the same file {path!r}. Give another "
                        "path to one of them."
                    )
                seen[identity] = option


def _identities(path: str) -> list[str]:
    """Where a path leads, and which file is there: one file may have several names."""
    try:
        found = os.stat(path)
    except OSError:
        return [os.path.realpath(path)]
    inode = (
        [f"{found.st_dev}:{found.st_ino}"] if stat.S_ISREG(found.st_mode) and found.st_ino else []
    )
    return [os.path.realpath(path), *inode]


def written_files(job: Job, report: str | None, refused: int) -> dict[str, str]:
    """What a run has left behind, by what it is.

    ``refused`` rows are listed where there are any.
    """
    paths = {
        "predictions": None if job.output == "-" else job.output,
        "refused rows": job.refused if refused else None,
        "report": report,
        "state": job.state,
    }
    return {what: path for what, path in paths.items() if path is not None}
