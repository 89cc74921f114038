"""Streams: losses in their order in time, with what is known about the world that made them."""

from swordplay.parts.streams import drift
from swordplay.parts.streams import paper_instances as paper
from swordplay.parts.streams.linear import LinearStream, PlantedStream

__all__ = ["LinearStream", "PlantedStream", "drift", "paper"]
