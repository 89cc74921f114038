"""Streams of losses: tables, seeded drifting worlds, and the instances of the paper."""

from typing import TYPE_CHECKING

from swordplay.core.lazy import lazy_attributes

if TYPE_CHECKING:
    from swordplay.parts.streams import drift, paper
    from swordplay.parts.streams.linear import LinearStream, PlantedStream
else:
    __getattr__, __dir__ = lazy_attributes(
        __name__, {"drift": "", "linear": "LinearStream PlantedStream", "paper": ""}
    )

__all__ = ["LinearStream", "PlantedStream", "drift", "paper"]
