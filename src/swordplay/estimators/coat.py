"""What the coats for scikit-learn share: input made clean or refused.

An input that is refused changes nothing: all of it is checked before any of it is learned.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from swordplay.core import arguments
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators import frames, label_arrays
from swordplay.estimators.block import Block
from swordplay.estimators.chunks import in_order, play
from swordplay.estimators.saved import Saved, parameters, same
from swordplay.estimators.tuning import LARGEST

LARGEST_WEIGHT = 1e6
"""Of a row's loss.

Rows that matter a million times more than others are better repeated or left alone.
"""
WIDEST_SPARSE = 4096
"""Sparse rows are made dense on the way in, a chunk at a time.

Beyond this width that would waste more than it saves.
"""
ENCODER = "encoder."
"""Names of an encoder's state in a file."""


class Coat(Saved, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Validation, checkpoints and tags of every estimator here."""

    _block: Block | None = None
    """What :meth:`predict` answers by after ``fit``, until more is learned.

    None where that is the model itself.
    """
    _for_block = False
    """Whether :meth:`predict` is asked for a block of rows to come, as after ``fit``: none
    follows the last one learned.
    """
    curves: Any = None
    """Whether second-order experts join, for those who have this parameter.

    A model that was pickled before has none.
    """
    encode: Any = False
    """Whether words, dates and missing values of a data frame are encoded, for those who have
    this parameter.
    """
    encoder_: Any
    _answers: Callable[..., Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.encode
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = bool(
            self.encode
        )
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    @property
    def model_(self) -> Any:
        """What learns.

        Refused once a parameter is another than it was made with, until :meth:`fit` makes a new
        one.
        """
        try:
            model, made_with = vars(self)["model_"], vars(self)["_made_with"]
        except KeyError:
            raise AttributeError(
                f"this {type(self).__name__} has not learned anything yet."
            ) from None
        if changed := [
            name for name, value in made_with.items() if not same(getattr(self, name), value)
        ]:
            name = changed[0]
            raise ValueError(
                f"{name} was {arguments.short_repr(made_with[name])} when learning began and is "
                f"{arguments.short_repr(getattr(self, name))} now. Set it back, or call fit to "
                "begin anew."
            )
        return model

    @model_.setter
    def model_(self, model: Any) -> None:
        self.__dict__["model_"] = model
        self.__dict__["_made_with"] = {name: getattr(self, name) for name in parameters(type(self))}

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Whatever is refused inside leaves the attributes as they were."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _rows(self, X: Any, *, reset: bool = False) -> Any:
        """Rows of finite doubles: a C-contiguous array, or CSR that is narrow enough."""
        if self.encode:
            return self.encoder_.rows(self._framed(X, reset=False))
        if not reset and self._is_clean(X):
            return X
        frames.refuse_columns(X, self._remedy())
        refuse_words("X", X)
        return refuse_huge(
            "X",
            self._narrow(validate_data(self, X, accept_sparse="csr", **AS_DOUBLES, reset=reset)),
        )

    def _rows_and_targets(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        """The same, and targets as scikit-learn takes them: finite and one for each row."""
        if self.encode:
            return self._encoded(X, y, reset=reset)
        plain = (
            not reset and type(X) is np.ndarray and type(y) is np.ndarray and y.dtype.kind in "fiub"
        )
        if plain and y.shape == X.shape[:1] and self._is_clean(X):
            return X, y if is_moderate(y) else column_or_1d(
                check_array(y, ensure_2d=False, input_name="y")
            )
        y = label_arrays.require_entries("y", y)
        frames.refuse_columns(X, self._remedy())
        refuse_words("X", X)
        rows, targets = validate_data(self, X, y, accept_sparse="csr", **AS_DOUBLES, reset=reset)
        return refuse_huge("X", self._narrow(rows)), targets

    def _encoded(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        """Rows of a data frame as numbers, NaN where something is missing, and its targets."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X, y = self._framed(X, reset=reset), label_arrays.require_entries("y", y)
        if np.asarray(y).ndim == 0:
            raise ValueError(
                f"y should be a 1d array, got {arguments.short_repr(y)} ({type(y).__name__}). Give "
                "one target per row."
            )
        targets = column_or_1d(
            check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True
        )
        encoder = frames.encoder_of(X, None if reset else self.encoder_)
        rows = encoder.learn(X)
        check_consistent_length(rows, targets)
        self.encoder_ = encoder
        if reset and frames.is_frame(X):
            self.n_features_in_, self.feature_names_in_ = (
                len(encoder.columns),
                np.array(encoder.columns, dtype=object),
            )
        return rows, targets

    def _framed(self, X: Any, *, reset: bool) -> Any:
        """A frame as it is; an array as scikit-learn checks it."""
        if frames.is_frame(X):
            return X
        frames.require_names(self, reset=reset)
        frames.require_table(X)
        return validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=reset)

    def _remedy(self) -> str:
        """What to do about words and dates."""
        inside = (
            f"{type(self).__name__}(encode=True) takes them; or put"
            if "encode" in self.get_params()
            else "Put"
        )
        return f"{inside} swordplay.sklearn.TableEncoder() before it."

    def _start(self) -> dict[str, Any]:
        """How a model begins: how many columns it has, and whether more may come."""
        return (
            {"dim": self.encoder_.start, "grows": True}
            if self.encode
            else {"dim": self.n_features_in_}
        )

    @property
    def coef_names_(self) -> Any:
        """What each coefficient belongs to: a column of the input or, with ``encode=True``, one
        that was made of it.
        """
        self._require_fitted()
        if self.encode:
            return np.array(self.encoder_.names(), dtype=object)
        return getattr(
            self,
            "feature_names_in_",
            np.array([f"x{k}" for k in range(self.n_features_in_)], dtype=object),
        )

    def _is_clean(self, X: Any) -> bool:
        """Whether rows are what the engine takes, as they are: the check of scikit-learn costs
        as much as learning them.
        """
        plain = (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and X.flags.c_contiguous
            and len(X) > 0
        )
        return bool(
            plain
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
            and is_moderate(X)
        )

    def _narrow(self, rows: Any) -> Any:
        if not isinstance(rows, np.ndarray):
            arguments.check_sparse_indices("X", rows)
        if not isinstance(rows, np.ndarray) and rows.shape[1] > WIDEST_SPARSE:
            raise ValueError(
                f"X is sparse with {rows.shape[1]} columns; sparse rows are made dense here and "
                f"may have {WIDEST_SPARSE}. "
                "Reduce them first, with TruncatedSVD or a FeatureHasher of fewer columns."
            )
        return rows

    def _require_fitted(self) -> None:
        check_is_fitted(self)

    def _learned(self) -> tuple[Any, State] | None:
        if not self.__sklearn_is_fitted__():
            return None
        model = self.model_
        around: State = {"columns": int(self.n_features_in_)}
        if hasattr(self, "feature_names_in_"):
            around["names"] = json.dumps(list(self.feature_names_in_))
        if self.encode:
            around |= {f"{ENCODER}{name}": value for name, value in self.encoder_.state().items()}
        if self._for_block:
            around["for_block"] = 1
        return model, around if self._block is None else around | self._block.state()

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self.n_features_in_ = arguments.integer("columns", saved["columns"])
        self._for_block = bool(saved.get("for_block", 0))
        if "names" in saved:
            names = json.loads(saved["names"])
            if (
                type(names) is not list
                or set(map(type, names)) != {str}
                or len(set(names)) != self.n_features_in_
            ):
                raise ValueError(
                    f"its names are {arguments.short_repr(names)}, and not those of "
                    f"{self.n_features_in_} column(s)."
                )
            self.feature_names_in_ = np.array(names, dtype=object)
        if self.encode:
            self.encoder_ = frames.resumed(
                {k.removeprefix(ENCODER): v for k, v in saved.items() if k.startswith(ENCODER)}
            )
        self.model_ = self._make()
        return self.model_

    def _go_on_as_a_stream(self) -> None:
        """Rows are no longer asked for in a block: the next one follows the last one learned."""
        self._block, self._for_block = None, False

    def _in_order(
        self, answer: Callable[[Matrix, int], Any], following: int = 1
    ) -> Callable[[Matrix], Any]:
        """What answers for chunks in their order.

        So many rows follow the last one learned, none if a block is asked for.
        """
        return in_order(answer, 0 if self._for_block else following)

    @abstractmethod
    def _make(self) -> Any:
        """A fresh model from the parameters; refuses those that make no sense."""

    def _study(self, rows: Any, targets: Any) -> None:
        """Learn the rows of ``fit`` in their order.

        Those who can also work out a block for :meth:`predict`.
        """
        play(self.model_, rows, targets, None)


AS_DOUBLES = {"dtype": np.float64, "order": "C"}


def refuse_words(name: str, values: Any) -> None:
    """Numbers in quotes would be read as numbers, and dates as nanoseconds.

    Whoever sends them has not looked at the data.
    """
    if isinstance(values, np.ma.MaskedArray):
        arguments.without_mask(name, values)
    if hasattr(values, "tocsr"):
        arguments.check_sparse_indices(name, values)
        return
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        return
    raw = arguments.without_mask(name, values)
    for value in raw.flat if raw.dtype.kind == "O" else ():
        if isinstance(value, np.ma.MaskedArray):  # such as np.ma.masked, which float() takes for 0
            arguments.without_mask(name, value)
    if isinstance(values, list) and raw.dtype.kind in "US":
        raw = np.asarray(
            values, dtype=object
        )  # one string makes strings of all the numbers beside it
    what, example = frames.held(raw)
    if what:
        raise ValueError(
            f"{name} must hold numbers, got {'strings' if what == 'words' else what} such as "
            f"{arguments.short_repr(example, 40)} "
            f"({type(values).__name__}). Encode or convert them first."
        )
    if raw.dtype.kind == "c" and not isinstance(
        values, np.ndarray
    ):  # scikit-learn looks only at arrays
        raise ValueError(
            f"Complex data not supported: {name} must hold real numbers, got "
            f"{arguments.short_repr(raw)}."
        )
    if raw.dtype.kind == "O":
        arguments.as_doubles(name, raw)


def is_moderate(numbers: Any) -> bool:
    """Whether no number is NaN, infinite or huge."""
    # As doubles: a number of single precision cannot be compared with one so large. NaN compares as
    # false.
    return float(numbers.min()) >= -LARGEST and float(numbers.max()) <= LARGEST


def refuse_huge(name: str, values: Any) -> Any:
    """Finite values whose squares would overflow."""
    numbers = values if isinstance(values, np.ndarray) else values.data
    if numbers.size and not is_moderate(numbers):
        arguments.check_finite(name, numbers)
        worst = numbers.flat[np.abs(numbers).argmax()]
        raise ValueError(
            f"{name} must not pass {LARGEST:g} in magnitude, got {worst:g}. Drop or repair that "
            "entry."
        )
    return values


def real_targets(y: Any) -> Vector:
    """Targets of a regression."""
    return np.asarray(refuse_huge("y", arguments.as_doubles("y", y)))


def loss_weights(sample_weight: Any, count: int) -> Vector | None:
    """Factors of the losses, shape ``(T,)``; None for all ones."""
    if sample_weight is None:
        return None
    refuse_words("sample_weight", sample_weight)
    weights = check_array(
        sample_weight,
        ensure_2d=False,
        dtype=np.float64,
        input_name="sample_weight",
        ensure_min_samples=0,
    )
    if weights.ndim == 0:
        weights = np.full(count, float(weights))
    if weights.shape != (count,):
        raise ValueError(
            f"sample_weight must have shape ({count},), got {weights.shape}. Give one weight per "
            "row."
        )
    if count and not 0.0 <= weights.min() <= weights.max() <= LARGEST_WEIGHT:
        bad = weights[~((weights >= 0) & (weights <= LARGEST_WEIGHT))][0]
        raise ValueError(
            f"sample_weight must lie in [0, {LARGEST_WEIGHT:g}], got {bad:g}. A weight of 0 skips "
            "a row."
        )
    return np.asarray(weights)
