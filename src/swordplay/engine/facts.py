"""What an engine says about its learner between two rounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from swordplay.core.types import State, Vector
from swordplay.engine import readable, saved
from swordplay.engine.layout import CONFIG, EXPERT, LIVE
from swordplay.engine.memory import Memory


class Facts:
    """Numbers of a learner, read from its arrays; an engine plays on them."""

    memory: Memory

    @property
    def rounds(self) -> int:
        """How many rounds were played."""
        return self.memory.rounds

    @property
    def size(self) -> float:
        """Of the domain: the radius of a ball."""
        return float(self.memory.config[CONFIG.size])

    @property
    def decision(self) -> Vector:
        """x_t of the coming round, shape ``(d,)``; formed when asked for."""
        return self.memory.decision()

    @property
    def weights(self) -> Vector:
        """p_t of the coming round, in the readable learner's order."""
        return self.memory.of_experts(EXPERT.weight)

    @property
    def step_sizes(self) -> Vector:
        """Step size of each expert, or the multiplier of one that adapts, in the readable
        learner's order.
        """
        return self.memory.of_experts(EXPERT.step)

    @property
    def extra_gradient(self) -> Any:
        """Which experts take a second step along the last field, in the readable learner's
        order.
        """
        return self.memory.of_experts(EXPERT.extra) == 1.0

    @property
    def trust(self) -> float:
        """How far the meta trusts its guess of the coming gradient, from 0 to 1."""
        return float(self.memory.live[LIVE.trust])

    @property
    def diameter(self) -> float:
        """Of the domain of the coming round."""
        return float(self.memory.config[CONFIG.diameter])

    @property
    def columns(self) -> int:
        """How many experts there is room for."""
        return int(self.memory.numbers.shape[1])

    def certificate_sums(self) -> dict[str, Vector]:
        """What the certificate is computed from, by the names of the readable state, in the
        readable learner's order.
        """
        sums = {name: self.memory.of_experts(place) for name, place in readable.CERTIFICATE.items()}
        return (
            sums | {"max_dual_norm": np.sqrt(sums["max_dual_norm"])} if self.memory.headed else sums
        )

    def base_lengths(self) -> Vector:
        """How far the base point of each expert is from the centre of the ball, in the readable
        learner's order.
        """
        return np.sqrt(self.memory.of_experts(EXPERT.norm))

    def state(self) -> State:
        """The readable learner's state."""
        return readable.state_of(self.memory)

    def compact_state(self) -> State:
        """The engine's own numbers by name, for a continuation that is the same bit by bit."""
        return saved.state_of(self.memory)
