"""A stream with everything that the theorems want to know about it."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

from swordplay.parts.streams import PlantedStream
from swordplay.theory.quantities import comparator_loss, path_length
from swordplay.theory.variation import gradient_variation


class Told(TypedDict):
    """What the tuned learners are told: T, G and L."""

    horizon: int
    gradient_bound: float
    smoothness: float


class Game(NamedTuple):
    """A stream with the constants that the theorems are made of."""

    stream: PlantedStream
    diameter: float
    """D."""
    gradient_bound: float
    """G."""
    smoothness: float
    """L."""
    horizon: int
    """T."""
    path_length: float
    """P_T of the stream's comparators."""
    variation: float
    """V_T."""
    comparator_loss: float
    """F_T of the stream's comparators."""

    @property
    def told(self) -> Told:
        """T, G and L."""
        return {
            "horizon": self.horizon,
            "gradient_bound": self.gradient_bound,
            "smoothness": self.smoothness,
        }


def game(stream: PlantedStream) -> Game:
    """D, G, L, T, P_T, V_T and F_T of a stream and its comparators."""
    return Game(
        stream=stream,
        diameter=stream.domain.diameter,
        gradient_bound=stream.gradient_bound(stream.domain),
        smoothness=stream.smoothness,
        horizon=len(stream),
        path_length=path_length(stream.comparators),
        variation=float(gradient_variation(stream, stream.domain)),
        comparator_loss=comparator_loss(stream, stream.comparators),
    )
