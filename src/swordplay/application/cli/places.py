"""Where files go that nobody gave a name."""

from __future__ import annotations

import itertools
import os
import tempfile


def refused_path(output: str | None, source: str, state: str | None) -> str:
    """Where refused rows are listed: beside the output, the input or the state, the first of these that is a file.

    Otherwise in the current folder (or the temporary one, where that cannot be written) under a name that is free, such as
    ``standard-input.refused.csv``: a live run never ends because an earlier one has left its list.
    """
    from swordplay.data.tables.writing import is_stream

    for path in (output, source, state):
        if path and path != "-" and not is_stream(path):
            return f"{path}.refused.csv"
    folder = "" if os.access(".", os.W_OK | os.X_OK) else tempfile.gettempdir()
    endings = (".refused.csv", *(f".refused-{k}.csv" for k in range(2, 10_000)))
    names = (os.path.join(folder, f"standard-input{ending}") for ending in endings)
    return next(itertools.chain((name for name in names if _is_free(name)), [f"standard-input.refused-{os.getpid()}.csv"]))


def _is_free(name: str) -> bool:
    return not os.path.exists(name) and not os.path.exists(f"{name}.partial")
