"""Estimators for scikit-learn: thin coats over the compiled engine, for streams and with nothing
to set.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.estimators.aggregator import SwordAggregator
from swordplay.estimators.block import Block
from swordplay.estimators.block_choice import WIDEST, learn_and_choose, places_of
from swordplay.estimators.chunks import in_chunks
from swordplay.estimators.explained import Explained
from swordplay.estimators.regression import Regression
from swordplay.estimators.sklearn_classifier import SwordClassifier
from swordplay.estimators.table_encoder import TableEncoder
from swordplay.estimators.tuning import AUTO, MEMORY, regression_loss, settings

if TYPE_CHECKING:  # the model and its engine are imported with the first one that is made
    from swordplay.estimators.head import Head
    from swordplay.estimators.model import LinearModel
    from swordplay.estimators.second_order import SecondOrder

__all__ = ["SwordAggregator", "SwordClassifier", "SwordRegressor", "TableEncoder"]


class SwordRegressor(Explained, Regression):
    """Regression that tracks a drifting target, linear and along curves, with nothing to set.

    Columns are scaled as they come and clipped, the target's place and spread are followed, and
    many step sizes learn at once (``SwordAgeless``). The order of the rows is time.

    Parameters
    ----------
    loss
        ``"squared"``, or ``"huber"`` where the target has heavy tails: residuals beyond one spread
        then pull no harder.
    radius
        Of the ball where the coefficients of the scaled columns live, in spreads of the target.
    memory
        Rounds that the weights of the experts remember; the shorter, the less well experts are told
        apart.
    clip
        Scaled entries beyond this are clipped.
    standardize
        Whether to scale the columns.
    intercept
        Whether to learn an intercept.
    lags
        ``"auto"`` lets experts with the last three targets, experts without, and "no change"
        compete. :meth:`predict` then uses the last targets for its first row only, which follows
        the last one learned, and does without for the rows behind it. (With ``curves=None``,
        ``"auto"`` is 0.) Or how many of the last targets join the columns of everybody;
        :meth:`predict` then uses the last ones that were learned for all its rows.
    encode
        Whether X may be a data frame with words, dates, truths and missing values, of which numbers
        are made as in ``swordplay track`` (see :class:`TableEncoder`): strings such as ``"50%"``
        and ``"31/01/2012"`` are read, a category gets a column with the first row that is learned
        of it, and what is missing counts as usual. Needs pyarrow.
    curves
        ``"auto"`` puts second-order experts beside the first-order ones, as long as there are at
        most 64 columns: Newton steps that forget, which do not mind correlated columns; and experts
        that correct the mixture of all along 16 curves of the columns, where that helps. ``"rich"``
        makes 64 curves. None leaves the linear model of first order.

    Attributes
    ----------
    coef_, intercept_
        In the units of the raw columns and of the target; they are the whole prediction (of the
        next row, with lags) wherever no entry is clipped, but for what curves add to it.
    lag_coef_
        Of the lags, the newest first, shape ``(lags,)``; three with ``lags="auto"``.
    weights_, step_sizes_, effective_step_size_
        The first-order experts, see there.
    certificate_
        A bound on the regret of the predictions, see there.
    n_features_in_, feature_names_in_
        Columns seen.
    coef_names_
        With ``encode=True``, what each coefficient belongs to, such as ``town_Bern``.

    Examples
    --------
    >>> import numpy as np
    >>> from swordplay.sklearn import SwordRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = SwordRegressor().fit(X, 3.0 * X[:, 0] + 1.0)
    >>> bool(abs(model.predict([[1.0, 0.0]])[0] - 4.0) < 0.1)
    True
    """

    def __init__(
        self,
        loss: str = "squared",
        radius: float = 32.0,
        memory: float = MEMORY,
        clip: float = 5.0,
        standardize: bool = True,
        intercept: bool = True,
        lags: int | str = AUTO,
        encode: bool = False,
        curves: str | None = AUTO,
    ) -> None:
        self.loss = loss
        self.radius, self.memory, self.clip = radius, memory, clip
        self.standardize, self.intercept, self.lags, self.encode = (
            standardize,
            intercept,
            lags,
            encode,
        )
        self.curves = curves

    @property
    def coef_(self) -> Vector:
        """Change of the prediction with each raw column, shape ``(d,)``."""
        coefficients = self._in_raw_units()[0]
        return coefficients[len(coefficients) - self.model_.heads.dim :]

    @property
    def lag_coef_(self) -> Vector:
        """Change of the prediction with each lag, shape ``(lags,)``.

        0 in a block, whose targets are not known.
        """
        coefficients = self._in_raw_units()[0]
        return coefficients[: len(coefficients) - self.model_.heads.dim]

    @property
    def intercept_(self) -> float:
        """Prediction where all raw columns (and lags) are 0."""
        return self._in_raw_units()[1]

    def _in_raw_units(self) -> tuple[Vector, float]:
        from swordplay.estimators import raw_units

        self._require_fitted()
        found = raw_units.of_mixture(self.model_)
        if self._block is None:
            return found
        coefficients, intercepts = self._block.in_raw_units()
        return np.append(np.zeros(len(found[0]) - coefficients.shape[1]), coefficients[0]), float(
            intercepts[0]
        )

    def _second(self) -> SecondOrder | None:
        # the model has no type before it is made
        return self.model_.second  # type: ignore[no-any-return]

    def _asking(self, model: Any, following: int) -> Callable[[Matrix], Any]:
        return self._in_order(model.predict, following)

    def _study(self, rows: Any, targets: Any) -> None:
        from swordplay.estimators.block_solvers import LeastSquares

        model = self.model_
        if rows.shape[1] + int(model.columns.intercept) > WIDEST:
            return super()._study(rows, targets)
        self._block = learn_and_choose(
            len(targets),
            lambda first, last: super(SwordRegressor, self)._study(
                rows[first:last], targets[first:last]
            ),
            lambda first, last: in_chunks(
                functools.partial(model.predict, following=0), rows[first:last]
            )[:, None],
            lambda: LeastSquares(
                rows, places_of(model.heads, rows), targets, self.loss, model.radius
            ),
        )
        return None

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        model = super()._resume(saved)
        self._block = Block.load(
            saved, dim=len(self.coef_names_), models=1, intercept=model.columns.intercept
        )
        return model

    def _make(self) -> LinearModel:
        from swordplay.estimators.model import LinearModel

        return LinearModel(**self._start(), loss=regression_loss(self.loss), **settings(self))

    def _models(self) -> dict[str, Head]:
        self._require_fitted()
        return {"y": self.model_.head}
