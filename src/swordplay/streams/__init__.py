"""Streams: losses in their order in time, with what is known about the world that made them."""

from swordplay.streams import drift, paper
from swordplay.streams.linear import LinearStream
from swordplay.streams.planted import PlantedStream

__all__ = ["LinearStream", "PlantedStream", "drift", "paper"]
