"""Rooms under the names that they had before they were grouped: ``swordplay.streams`` is
``swordplay.parts.streams``.

``install`` is called once, when the package is imported. From then on an import of an earlier name
gives the very module that its present name gives, so that programs and pickles written before go on
as they are. Our own code never uses them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

HOUSES = {
    "base": ("arguments", "checkpoint", "extras", "guard", "settings", "state", "types"),
    "parts": ("domains", "experts", "learners", "losses", "metas", "pools", "rates", "streams"),
    "theory": ("conformance", "game", "regret", "reproduce", "sweeps"),
    "data": ("datasets", "encoding", "tables"),
    "application": ("cli", "frames", "report", "tracking"),
}
"""Which rooms stand in which house."""
PLACES = {
    f"swordplay.{room}": f"swordplay.{house}.{room}"
    for house, rooms in HOUSES.items()
    for room in rooms
} | {"swordplay.contest": "swordplay.application.comparison"}
"""The present name of each room by its earlier one."""


def present_name(name: str) -> str | None:
    """What a module is called now, told by its earlier name; None if it has no other."""
    room = ".".join(name.split(".")[:2])
    return PLACES[room] + name[len(room) :] if room in PLACES else None


class _SameModule(Loader):
    """Gives the module of the present name."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(str(present_name(spec.name)))
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = (
            self._spec
        )  # the import system has just written that of the earlier name over it


class _Finder(MetaPathFinder):
    """Answers for the earlier names only."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return None if present_name(fullname) is None else ModuleSpec(fullname, _SameModule())


def install() -> None:
    """Let earlier names be imported."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
