"""TableEncoder: words, dates, booleans and missing values of a table as numbers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from swordplay.core import arguments
from swordplay.core.types import Matrix, Vector
from swordplay.estimators.sklearn_base import (
    check_frame,
    encoder_for,
    is_frame,
    set_column_names,
)

MISSING = ("mean", "nan")
"""Values of the parameter ``missing``."""


# scikit-learn has no types
class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Convert a data frame to numbers, as ``swordplay track`` does.

    Strings that hold numbers, dates, times or booleans are parsed: ``"50%"``, ``"$1,280"``,
    ``"31/01/2012"``. Columns of a categorical type (pandas, polars, Arrow) stay words. Numbers stay
    as they are, booleans become 1 and 0. Words get a column for each category in order of
    appearance; from the 51st on they share one. Dates become sines and cosines of the hour of the
    day (if there are hours), the day of the week and the day of the year.

    Left out with a warning are columns of 20 or more words that are all different, columns that
    only count 2,000 or more rows, and columns without a value. The conversion of each column is
    decided by the first 10,000 rows of the first table; later values that do not fit are refused.

    Categories that were not learned are 0 in all columns of :meth:`transform`;
    :meth:`partial_fit` appends columns for new categories.

    Parameters
    ----------
    missing
        ``"mean"`` (default) replaces missing values by the mean of all learned rows; ``"nan"``
        leaves NaN for estimators that accept it.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        Number and names of the columns of the table.
    encoder_
        The conversion of each column.

    Examples
    --------
    >>> import pandas as pd
    >>> from swordplay.sklearn import TableEncoder
    >>> table = pd.DataFrame({"size": [1.0, None, 3.0], "town": ["Bern", "Genf", "Bern"]})
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'town_Bern', 'town_Genf']
    >>> encoder.transform(table)
    array([[1., 1., 0.],
           [2., 0., 1.],
           [3., 1., 0.]])
    """

    encoder_: Any
    _sums: Vector
    """Sum of the learned values of each column."""
    _counts: Vector
    """Number of the learned values of each column."""

    def __init__(self, missing: str = "mean") -> None:
        self.missing = missing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encoder_")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget everything, then decide on the conversion and learn categories and means.

        Parameters
        ----------
        X
            A frame of pandas or polars, an Arrow table, or a two-dimensional array.
        y
            Not used.
        """
        self._learn(X, fresh=True)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn the categories and means of more rows.

        :meth:`transform` has more columns after that if there are new categories.
        """
        self._learn(X, fresh=not self.__sklearn_is_fitted__())
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Matrix:
        """Call :meth:`fit`, then :meth:`transform`."""
        return self.fit(X, y).transform(X)

    def transform(self, X: Any) -> Matrix:
        """Return rows of numbers, shape ``(T, d)``."""
        check_is_fitted(self)
        rows = np.asarray(self.encoder_.rows(check_frame(self, X, reset=False)))
        if self.missing == "nan":
            return rows
        means = np.divide(
            self._sums, self._counts, out=np.zeros_like(self._sums), where=self._counts > 0
        )
        return np.where(np.isnan(rows), means[: rows.shape[1]], rows)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns of :meth:`transform`.

        They look like ``size``, ``town_Bern`` or ``day_hour_sin``.
        """
        check_is_fitted(self)
        names = list(self.encoder_.columns)
        if input_features is not None and list(input_features) != names:
            raise ValueError(
                "input_features is not equal to feature_names_in_: got "
                f"{arguments.short_repr(list(input_features))}, give "
                f"{arguments.short_repr(names)}."
            )
        return np.array(self.encoder_.names(), dtype=object)

    def _learn(self, X: Any, *, fresh: bool) -> None:
        if not (isinstance(self.missing, str) and self.missing in MISSING):
            raise ValueError(
                f"missing must be 'mean' or 'nan', got {arguments.short_repr(self.missing)}."
            )
        X = check_frame(self, X, reset=fresh)
        encoder = encoder_for(X, None if fresh else self.encoder_)
        rows = encoder.learn(X)
        known = 0 if fresh else len(self._sums)
        sums = np.zeros(rows.shape[1])
        counts = np.zeros(rows.shape[1])
        if not fresh:
            sums[:known] = self._sums
            counts[:known] = self._counts
        for new, old in encoder.siblings(known):
            # a new category was 0 wherever another category of its column was known
            counts[new] = counts[old]
        self._sums = sums + np.nansum(rows, axis=0)
        self._counts = counts + np.count_nonzero(~np.isnan(rows), axis=0)
        self.encoder_ = encoder
        if fresh and is_frame(X):
            set_column_names(self, encoder.columns)
