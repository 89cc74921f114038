"""A stream that knows the comparators it was made from."""

from __future__ import annotations

from typing import Any, final, get_args

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, Matrix
from swordplay.parts.streams.linear import LinearStream, LossName


@final
class PlantedStream(LinearStream):
    """A linear stream with the domain it is meant for and a comparator sequence worth tracking.

    Parameters
    ----------
    features, targets, loss, threshold
        As in :class:`LinearStream`.
    domain
        Where decisions live.
    comparators
        u_t, shape ``(T, d)``, all in the domain.
    """

    def __init__(
        self,
        features: Any,
        targets: Any,
        loss: LossName = "squared",
        *,
        domain: Domain,
        comparators: Any,
        threshold: float = 1.0,
    ) -> None:
        arguments.one_of(
            "loss", loss, get_args(LossName)
        )  # of the pinball loss, no comparator is planted
        super().__init__(features, targets, loss, threshold=threshold)
        self.domain = domain
        self.comparators: Matrix = arguments.array("comparators", comparators, ndim=2)
        if self.comparators.shape != (len(self), self.dim):
            raise ValueError(
                f"comparators must have shape ({len(self)}, {self.dim}), got "
                f"{self.comparators.shape}."
            )
        outside = np.flatnonzero(~domain.contains(self.comparators, atol=1e-9 * domain.diameter))
        if outside.size:
            raise ValueError(
                f"comparators must lie in the domain, got row {outside[0]} outside of {domain!r}. "
                "Project them first."
            )
