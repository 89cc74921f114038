"""pyarrow without pandas: asked for any array, it imports pandas where that is installed, which takes longer than a short run.

For whom it does not make a difference: nobody hands over a frame in a process of the command. Only values of nanoseconds are
something else for Python with pandas than without, so that a table which has some gets pandas after all.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa


class _Without(MetaPathFinder):
    """Says that there is no pandas."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Nothing about all other modules."""
        if name == "pandas":
            raise ModuleNotFoundError("not now", name=name)
        return None


def leave_pandas_out() -> None:
    """Let pyarrow look for pandas, once and for all, while there is none; for processes in which nobody else uses it."""
    if "pandas" in sys.modules:
        return
    finder = _Without()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0.0])
    finally:
        sys.meta_path.remove(finder)


def take_pandas_in(schema: pa.Schema) -> None:
    """Let pyarrow look again, if a table has columns that need it, and pandas is there."""
    if any("[ns" in str(kind) for kind in schema.types):
        with contextlib.suppress(ImportError):  # as it always was for those who do not have it
            pa.array([0.0]).to_pandas()
