"""Streams: losses in their order in time, with what is known about the world that made them."""

from swordplay.parts.streams import drift, paper
from swordplay.parts.streams.linear import LinearStream
from swordplay.parts.streams.planted import PlantedStream

__all__ = ["LinearStream", "PlantedStream", "drift", "paper"]
