"""Seeded cases whose results are compared between two states of the package: one file per kind of
case.

A case is a function of an empty folder that it may use; it returns its results by name. Cases use
public names only, the ``swordplay`` command and HTTP, and the data that the package ships or seeded
generators, so that they outlive every change inside the package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Case = Callable[[Path], Mapping[str, Any]]
Cases = dict[str, Case]
