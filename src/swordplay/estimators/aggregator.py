"""Forecasts of several models, combined: the aggregator in the clothes of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Vector
from swordplay.estimators.regression import Regression
from swordplay.estimators.tuning import regression_loss

if TYPE_CHECKING:  # imported with the first model that is made
    from swordplay.estimators.mixture import Mixture


class SwordAggregator(Regression):
    """Combine the forecasts of several models by weights that drift.

    Each column of X is one model's forecast of y. The weights are not negative and sum to 1, and
    follow whichever models are good at present; where the best one changes, they beat every fixed
    combination.

    Parameters
    ----------
    loss
        ``"squared"``, or ``"huber"`` where the target has heavy tails.
    memory
        Rounds that the weights of the experts, each a way to combine, remember.

    Attributes
    ----------
    weights_
        Weight of each forecast, shape ``(d,)``.
    effective_step_size_
        How fast the weights follow: 1 believes the last row, 2^-13 thousands of them.

    Examples
    --------
    >>> import numpy as np
    >>> from swordplay.sklearn import SwordAggregator
    >>> y = np.random.default_rng(0).normal(size=300).cumsum()
    >>> forecasts = np.column_stack([y + 1.0, y - 1.0, y + 20.0])
    >>> SwordAggregator().fit(forecasts, y).weights_.round(1)
    array([0.4, 0.6, 0. ])
    """

    def __init__(self, loss: str = "squared", memory: float = 2000.0) -> None:
        self.loss = loss
        self.memory = memory

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = (
            True  # a mean of the columns, whatever the target: no regression in general
        )
        return tags

    @property
    def weights_(self) -> Vector:
        """Weight of each forecast, shape ``(d,)``."""
        self._require_fitted()
        return np.asarray(self.model_.combination)

    @property
    def effective_step_size_(self) -> float:
        """Weighted geometric mean of the step sizes."""
        self._require_fitted()
        return float(self.model_.effective_step_size)

    def _make(self) -> Mixture:
        from swordplay.estimators.mixture import Mixture

        return Mixture(
            self.n_features_in_,
            loss=regression_loss(self.loss),
            memory=arguments.positive("memory", self.memory),
        )
