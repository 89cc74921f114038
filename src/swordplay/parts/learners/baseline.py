"""What the learners share whose guarantee is a theorem about the world, and not a certificate
that the run itself makes.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NoReturn

import numpy as np

from swordplay.core.types import Array
from swordplay.parts.learners import sanity
from swordplay.parts.learners.certificate import Moment
from swordplay.parts.learners.learner import SLACK, StatefulLearner


class Baseline(StatefulLearner[Any]):
    """A learner without a certificate.

    A subclass also says which of its points must be feasible.
    """

    guarantee: ClassVar[str]
    """Where its theorem stands, such as ``"sp.bounds.omgd"``."""

    def certificate(self, path_length: float, since: Moment | None = None) -> NoReturn:
        """There is none.

        Raises
        ------
        NotImplementedError
            Always, with the name of the theorem.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no certificate. What it promises beforehand is "
            f"{self.guarantee}."
        )

    @property
    def moment(self) -> NoReturn:
        """There is none, as there is no certificate.

        Raises
        ------
        NotImplementedError
            Always.
        """
        self.certificate(0.0)

    def _require_sane(self, new: Any) -> None:
        sanity.require_ranges(new)
        slack = SLACK * (self.domain.diameter + float(np.linalg.norm(self.domain.center)))
        if not self.domain.contains(self._feasible(new), atol=slack).all():
            raise ValueError(
                "state has points outside the domain. Make the learner with the domain it was "
                "saved with."
            )

    @abstractmethod
    def _feasible(self, state_: Any) -> Array:
        """The points of a state that must lie in the domain, shape ``(..., d)``."""
