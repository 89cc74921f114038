"""Words, dates, truths and missing values of a table as numbers, for any estimator of
scikit-learn.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from swordplay.core import arguments
from swordplay.core.types import Matrix
from swordplay.estimators.sklearn_base import (
    encoder_of,
    is_frame,
    require_names,
    require_table,
    without_missing,
)

MISSING = ("mean", "nan")


# scikit-learn has no types
class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Make numbers of a data frame, as ``swordplay track`` does.

    Strings that are written numbers, dates, times or truths are read as such: ``"50%"``,
    ``"$1,280"``, ``"31/01/2012"``; those that are categories (of pandas, polars or Arrow) stay
    words. Numbers stay as they are, truths become 1 and 0. Words get a column for each category, in
    the order in which they appear; from the 51st on they share one. Dates become circles: the hour
    of the day (where there are hours), the day of the week and the day of the year. A column of 20
    or more words that are all different, one that only counts 2,000 or more rows, and one without a
    value are left out, with a warning. What is made of each column is decided by the first 10,000
    rows of the first table, and kept: a value that does not fit is refused later on.

    Categories that :meth:`transform` has not met are 0 in all columns; :meth:`partial_fit` lets
    them join, behind the others.

    Parameters
    ----------
    missing
        ``"mean"`` puts the mean of all that was learned in place of missing values; ``"nan"``
        leaves them to a learner that knows what to do with NaN.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        Columns of the table.
    encoder_
        What is made of each one.

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
    _sums: Any
    _counts: Any

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
        """Forget everything, then look at the columns and learn the categories.

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
        """Learn the categories (and means) of more rows.

        :meth:`transform` has more columns then.
        """
        self._learn(X, fresh=not self.__sklearn_is_fitted__())
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Matrix:
        """The same as :meth:`fit` and then :meth:`transform`."""
        return self.fit(X, y).transform(X)

    def transform(self, X: Any) -> Matrix:
        """Rows of numbers, shape ``(T, d)``."""
        check_is_fitted(self)
        rows = self.encoder_.rows(self._clean(X, fresh=False))
        return rows if self.missing == "nan" else without_missing(rows, self._means())

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns of :meth:`transform`, such as ``size``, ``town_Bern`` or
        ``day_hour_sin``.
        """
        check_is_fitted(self)
        names = list(self.encoder_.columns)
        if input_features is not None and list(input_features) != names:
            raise ValueError(
                f"input_features is not equal to feature_names_in_: {arguments.short_repr(names)}."
            )
        return np.array(self.encoder_.names(), dtype=object)

    def _learn(self, X: Any, *, fresh: bool) -> None:
        if not (isinstance(self.missing, str) and self.missing in MISSING):
            raise ValueError(
                f"missing must be 'mean' or 'nan', got {arguments.short_repr(self.missing)}."
            )
        X = self._clean(X, fresh=fresh)
        encoder = encoder_of(X, None if fresh else self.encoder_)
        rows = encoder.learn(X)
        before = (np.zeros(0), np.zeros(0)) if fresh else (self._sums, self._counts)
        sums, counts = (
            np.concatenate([part, np.zeros(rows.shape[1] - len(part))]) for part in before
        )
        for new, old in encoder.siblings(len(before[0])):
            counts[new] = counts[
                old
            ]  # a category that joins was 0 wherever another one of its column was known
        self._sums, self._counts = (
            sums + np.nansum(rows, axis=0),
            counts + np.count_nonzero(~np.isnan(rows), axis=0),
        )
        self.encoder_ = encoder
        if fresh and is_frame(X):
            self.n_features_in_, self.feature_names_in_ = (
                len(encoder.columns),
                np.array(encoder.columns, dtype=object),
            )

    def _clean(self, X: Any, *, fresh: bool) -> Any:
        """A frame as it is; arrays as scikit-learn checks them."""
        if is_frame(X):
            return X
        require_names(self, reset=fresh)
        require_table(X)
        return validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=fresh)

    def _means(self) -> Any:
        return np.divide(
            self._sums, self._counts, out=np.zeros_like(self._sums), where=self._counts > 0
        )
