"""Streams of losses: tables, seeded drifting worlds, and the instances of the paper."""

from swordplay.parts.streams import drift
from swordplay.parts.streams import paper_instances as paper
from swordplay.parts.streams.linear import LinearStream, PlantedStream

__all__ = ["LinearStream", "PlantedStream", "drift", "paper"]
