"""What every estimator can say about what it has learned, in either library's clothes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.model_lock import LockedModel
from swordplay.estimators import summary
from swordplay.estimators.block import Block

if TYPE_CHECKING:
    from swordplay.estimators.head import Head
    from swordplay.estimators.second_order import SecondOrder


class Explained(LockedModel, ABC):
    """Experts, certificates and a summary, of the one model or of each class's own."""

    _block: Block | None = None
    """What ``predict`` answers by after ``fit``; None where that is the model itself."""

    @abstractmethod
    def _models(self) -> dict[str, Head]:
        """What every model knows, by what it tells; refuses before anything was learned."""

    def _told(self, what: str) -> Any:
        """An attribute of the one model, or of each of several, stacked."""
        found = [getattr(model, what) for model in self._models().values()]
        return found[0] if len(found) == 1 else np.stack(found)

    @property
    def weights_(self) -> Any:
        """Weight of each expert, shape ``(N,)``.

        ``(K, N)`` where there is a model for each of K classes.
        """
        return self._told("weights")

    @property
    def step_sizes_(self) -> Any:
        """Step size of each expert, in the shape of ``weights_``."""
        return self._told("step_sizes")

    @property
    def effective_step_size_(self) -> Any:
        """Weighted geometric mean of the step sizes: 1 learns each row by heart, 2^-13 averages
        over thousands.
        """
        return self._told("effective_step_size")

    @property
    def certificate_(self) -> Any:
        """Bound on the regret so far to any fixed coefficients, in losses of smoothness 1."""
        return self.certificate(0.0)

    def certificate(self, path_length: float = 0.0) -> Any:
        """Bound on the regret so far to any coefficients of the scaled columns that travel this
        far, all at once.

        It is the certificate of the first-order experts plus what the predictions lost to theirs
        (mostly a negative number), which is known. Of three or more classes it is that of the
        first-order scores of each.
        """
        path = arguments.nonnegative("path_length", path_length)
        found = [model.certificate(path) for model in self._models().values()]
        return found[0] + self._gain() if len(found) == 1 else np.array(found)

    def _gain(self) -> float:
        """Loss of the predictions less that of the first-order model's own, summed."""
        second = self._second()
        return 0.0 if second is None else second.gain

    @abstractmethod
    def _second(self) -> SecondOrder | None:
        """Second-order experts beside the model, if there are any."""

    def summary(self) -> str:
        """How fast the stream seems to drift, which experts lead, what the bound says, and what
        ``predict`` answers by.
        """
        return summary.text(type(self).__name__, self._models(), self._block, second=self._second())
