"""Base class of the scikit-learn estimators: checked input, chunks of rows, saving."""

from __future__ import annotations

import copy
import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from swordplay.core import arguments, extras
from swordplay.core.arguments import short_repr
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.batch_fit import BatchCoefficients
from swordplay.estimators.forecast import Forecast
from swordplay.estimators.labels import check_entries
from swordplay.estimators.saved_model import SavedModel, parameters, same
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


class SklearnModel(SavedModel, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Validation, checkpoints and tags of every estimator here."""

    _batch: BatchCoefficients | None = None
    """What :meth:`predict` answers by after ``fit``, until more is learned.

    None where that is the model itself.
    """
    _predicts_batch = False
    """Whether :meth:`predict` is asked for a batch of rows to come, as after ``fit``: none
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
        refuse_columns(X, self._remedy())
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
        y = check_entries("y", y)
        refuse_columns(X, self._remedy())
        refuse_words("X", X)
        rows, targets = validate_data(self, X, y, accept_sparse="csr", **AS_DOUBLES, reset=reset)
        return refuse_huge("X", self._narrow(rows)), targets

    def _encoded(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        """Rows of a data frame as numbers, NaN where something is missing, and its targets."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X, y = self._framed(X, reset=reset), check_entries("y", y)
        if np.asarray(y).ndim == 0:
            raise ValueError(
                f"y should be a 1d array, got {arguments.short_repr(y)} ({type(y).__name__}). Give "
                "one target per row."
            )
        targets = column_or_1d(
            check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True
        )
        encoder = encoder_of(X, None if reset else self.encoder_)
        rows = encoder.learn(X)
        check_consistent_length(rows, targets)
        self.encoder_ = encoder
        if reset and is_frame(X):
            self.n_features_in_, self.feature_names_in_ = (
                len(encoder.columns),
                np.array(encoder.columns, dtype=object),
            )
        return rows, targets

    def _framed(self, X: Any, *, reset: bool) -> Any:
        """A frame as it is; an array as scikit-learn checks it."""
        if is_frame(X):
            return X
        require_names(self, reset=reset)
        require_table(X)
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
        if self._predicts_batch:
            around["predicts_batch"] = 1
        return model, around if self._batch is None else around | self._batch.state()

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self.n_features_in_ = arguments.integer("columns", saved["columns"])
        self._predicts_batch = bool(saved.get("predicts_batch", 0))
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
            self.encoder_ = resumed(
                {k.removeprefix(ENCODER): v for k, v in saved.items() if k.startswith(ENCODER)}
            )
        self.model_ = self._make()
        return self.model_

    def _go_on_as_a_stream(self) -> None:
        """Rows are no longer asked for in a batch: the next one follows the last one learned."""
        self._batch, self._predicts_batch = None, False

    def _in_order(
        self, answer: Callable[[Matrix, int], Any], following: int = 1
    ) -> Callable[[Matrix], Any]:
        """What answers for chunks in their order.

        So many rows follow the last one learned, none if a batch is asked for.
        """
        return in_order(answer, 0 if self._predicts_batch else following)

    @abstractmethod
    def _make(self) -> Any:
        """A fresh model from the parameters; refuses those that make no sense."""

    def _study(self, rows: Any, targets: Any) -> None:
        """Learn the rows of ``fit`` in their order.

        Those who can also work out a batch for :meth:`predict`.
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
    what, example = held(raw)
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


ARROW = ("__arrow_c_stream__", "__arrow_c_array__")
KINDS = {"U": "words", "S": "words", "M": "dates", "m": "lengths of time"}
"""Of arrays that hold no numbers."""


def is_frame(X: Any) -> bool:
    """Whether something has columns with names: a frame of pandas or polars, or an Arrow table."""
    return hasattr(X, "columns") or any(hasattr(X, name) for name in ARROW)


def refuse_columns(X: Any, remedy: str) -> None:
    """Refuse a frame of pandas or polars with a column of words or dates, which is named.

    Parameters
    ----------
    X
        Anything; what is no frame is somebody else's.
    remedy
        A sentence that says what to do.
    """
    names, dtypes = getattr(X, "columns", None), getattr(X, "dtypes", None)
    if names is None or dtypes is None:
        return
    for k, (name, dtype) in enumerate(zip(names, dtypes, strict=False)):
        if getattr(dtype, "kind", "") in ("f", "i", "u", "b"):
            continue
        values = np.asarray(X.iloc[:, k] if hasattr(X, "iloc") else X[name])
        what, example = held(values)
        if values.dtype.kind == "O" and not what:
            arguments.as_doubles(f"X: column {str(name)!r}", values)
        if values.dtype.kind == "c":
            what, example = "complex numbers", values[0]
        if what:
            raise ValueError(
                f"X: column {str(name)!r} holds {what} such as {short_repr(example, 40)}, and not "
                f"numbers. {remedy}"
            )


def held(values: Any) -> tuple[str, Any]:
    """What an array holds that is no number, and the first such value; nothing if all is well."""
    if values.dtype.kind in KINDS:
        return KINDS[values.dtype.kind], str(values.flat[0]) if values.size else ""
    if values.dtype.kind != "O":
        return "", None
    for value in values.flat:
        if isinstance(value, str | bytes):
            return "words", value
        if (
            hasattr(value, "isoformat") or type(value).__name__ == "Period"
        ):  # dates and times of Python and pandas
            return "dates", str(value)
    return "", None


def require_names(estimator: Any, *, reset: bool) -> None:
    """Refuse an array where the columns had names at first: nobody knows which is which."""
    if not reset and hasattr(estimator, "feature_names_in_"):
        known = short_repr(", ".join(estimator.feature_names_in_), 80)[1:-1]
        raise ValueError(
            f"X must be a table with the columns of the first one ({known}), got an array. Give "
            "their names."
        )


def require_table(X: Any) -> None:
    """Refuse what is no array of several values.

    How many dimensions it needs is left to scikit-learn.
    """
    if not hasattr(X, "tocsr") and arguments.without_mask("X", X).ndim == 0:
        raise ValueError(
            f"X must be a table (Expected 2D array), got {short_repr(X)}. Give a data frame or "
            "rows of values."
        )


def encoder_of(X: Any, known: Any = None) -> Any:
    """An encoder for frames like this one, or a copy of the one that is known.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    """
    return _frame_encoder().begin(X) if known is None else copy.deepcopy(known)


def resumed(saved: Any) -> Any:
    """The encoder that was saved."""
    return _frame_encoder().resumed(saved)


def _frame_encoder() -> Any:
    """The class, imported when it is needed: pyarrow takes long, and need not be there."""
    with extras.require_extra("encode=True and TableEncoder", "cli", "pyarrow"):
        from swordplay.tables.frame_encoder import FrameEncoder
    return FrameEncoder


def without_missing(rows: Matrix, means: Any) -> Matrix:
    """Rows with the means of the columns in place of NaN."""
    return np.where(np.isnan(rows), means[: rows.shape[1]], rows)


CHUNK_NUMBERS = 1 << 21
"""Entries of a chunk: 16 MB."""


def dense_chunks(rows: Any) -> Iterator[tuple[slice, Matrix]]:
    """Rows as arrays: at once if they are one already, a chunk of sparse ones at a time."""
    count = rows.shape[0]
    size = count if isinstance(rows, np.ndarray) else max(1, CHUNK_NUMBERS // max(1, rows.shape[1]))
    for first in range(0, count, max(1, size)):
        part = slice(first, min(first + size, count))
        yield part, rows[part] if isinstance(rows, np.ndarray) else rows[part].toarray()


def in_chunks(answer: Callable[[Matrix], Any], rows: Any) -> Any:
    """Answers for all rows, put together."""
    return np.concatenate([answer(part) for _, part in dense_chunks(rows)])


def play(
    model: Any,
    rows: Any,
    targets: Any,
    weights: Vector | None,
    asked: Forecast | None = None,
) -> Any:
    """Predictions of rows, each made before it is learned.

    Rows of weight 0 are predicted and not learned. Rows that were predicted earlier, as ``asked``
    says, have no weights.
    """
    if asked is not None:
        return np.concatenate(
            [
                model.predict_then_learn(dense, targets[part], asked=asked.rows(part))
                for part, dense in dense_chunks(rows)
            ]
        )
    answers = []
    for part, dense in dense_chunks(rows):
        if weights is None or weights[part].all():
            answers.append(
                model.predict_then_learn(
                    dense, targets[part], None if weights is None else weights[part]
                )
            )
            continue
        share = weights[part]
        turns = np.flatnonzero(np.diff(share != 0)) + 1
        for run in np.split(np.arange(len(share)), turns):
            here = slice(run[0], run[-1] + 1)
            learned = share[run[0]] != 0
            answers.append(
                model.predict_then_learn(dense[here], targets[part][here], share[here])
                if learned
                else model.predict(dense[here])
            )
    return np.concatenate(answers)


def in_order(answer: Callable[[Matrix, int], Any], following: int) -> Callable[[Matrix], Any]:
    """What answers for one chunk after the other: so many rows of the first follow the last one
    learned, and none behind.
    """
    left = [following]

    def chunk(part: Matrix) -> Any:
        return answer(part, left.pop() if left else 0)

    return chunk
