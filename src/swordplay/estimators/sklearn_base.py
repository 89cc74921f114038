"""Base class of the scikit-learn estimators: checks of arrays and frames, learning, saving."""

from __future__ import annotations

import copy
import itertools
import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from swordplay.core import arguments, extras
from swordplay.core.arguments import short_repr
from swordplay.core.state import add_prefix, strip_prefix
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.estimators.batch_fit import BatchCoefficients
from swordplay.estimators.forecast import Forecast
from swordplay.estimators.labels import check_entries
from swordplay.estimators.level_intervals import LevelIntervals
from swordplay.estimators.model_settings import LARGEST
from swordplay.estimators.saved_model import SavedModel, is_same_value, parameter_names

MAX_WEIGHT = 1e6
"""Largest ``sample_weight``; rows that matter more should be repeated instead."""
MAX_SPARSE_COLUMNS = 4096
"""Sparse rows are made dense in chunks; of more columns that would take too much memory."""
CHUNK_NUMBERS = 1 << 21
"""Entries of a chunk of sparse rows that is made dense at a time: 16 MB."""
ENCODER = "encoder"
"""Name of the table encoder's part of a saved state."""
AS_DOUBLES = {"dtype": np.float64, "order": "C"}
"""Arguments of scikit-learn's checks for arrays that the compiled model reads."""
ARROW_METHODS = ("__arrow_c_stream__", "__arrow_c_array__")
"""Methods of which an Arrow table has at least one."""
NON_NUMERIC_KINDS = {"U": "words", "S": "words", "M": "dates", "m": "lengths of time"}
"""What arrays of these numpy kinds hold, for messages."""


class SklearnModel(SavedModel, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator over arrays and frames: input checks, learning, intervals, saving, tags.

    A subclass makes the model (:meth:`_make`), checks its targets (:meth:`_check_targets`) and
    learns checked rows (:meth:`_learn_rows`).
    """

    model_: Any
    """What learns and predicts; set by the first call that learns."""
    encoder_: Any
    """Encoder of data frames, with ``encode=True``."""
    _made_with: Mapping[str, Any]
    """Values of the parameters when ``model_`` was made."""
    _intervals: LevelIntervals
    """Prediction intervals, or prediction sets, beside ``model_``."""
    _batch: BatchCoefficients | None = None
    """Coefficients for ``predict`` after ``fit``; None if ``model_`` itself predicts."""
    _predicts_batch = False
    """Whether ``predict`` is for a batch of rows to come: after ``fit``, until more is learned."""
    encode: Any = False
    """Whether frames are encoded, for estimators with this parameter."""
    _predict_rows: Callable[..., Array]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        encodes = bool(self.encode)
        tags.input_tags.sparse = not encodes
        tags.input_tags.allow_nan = encodes
        tags.input_tags.string = encodes
        tags.input_tags.categorical = encodes
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in vars(self)

    # ------------------------------------------------------------------ for subclasses

    @abstractmethod
    def _make(self) -> Any:
        """Return a fresh model; raise if a parameter is invalid."""

    @abstractmethod
    def _check_targets(
        self, y: Any, *, fresh: bool, classes: Any = None, accepts_new: bool = False
    ) -> Any:
        """Return checked targets as the model learns them.

        ``fresh`` says whether nothing was learned yet. A classifier also gets the labels that
        ``classes`` declares, and whether y may hold new labels.
        """

    @abstractmethod
    def _check_raw_targets(self, y: Any) -> None:
        """Refuse targets that scikit-learn's own checks would silently convert."""

    @abstractmethod
    def _learn_rows(
        self,
        rows: Any,
        targets: Any,
        weights: Vector | None = None,
        earlier_forecast: Forecast | None = None,
    ) -> Any:
        """Learn checked rows, intervals included; return the prediction of each before that.

        ``earlier_forecast`` is that of late rows, which have no weights.
        """

    def _fit_rows(self, rows: Any, targets: Any) -> None:
        """Learn the rows of ``fit``; subclasses may also set ``_batch``."""
        self._learn_rows(rows, targets)

    # ------------------------------------------------------------------ the model

    def _fitted_model(self) -> Any:
        """Return the model; raise if there is none or if a parameter has changed since.

        Every public method that needs the model calls this once, before anything else.
        """
        if "model_" not in vars(self):
            check_is_fitted(self)
        for name, made_with in self._made_with.items():
            value = getattr(self, name)
            if value is not made_with and not is_same_value(value, made_with):
                raise ValueError(
                    f"{name} was {short_repr(made_with)} when learning began and is "
                    f"{short_repr(value)} now. Set it back, or call fit to begin anew."
                )
        return self.model_

    def _set_model(self, model: Any) -> Any:
        """Store a fresh model and the parameters that it was made with; return the model."""
        self.model_ = model
        self._made_with = {name: getattr(self, name) for name in parameter_names(type(self))}
        return model

    def _model_size(self) -> dict[str, Any]:
        """Return how many columns a fresh model has, and whether columns may join later."""
        if self.encode:
            return {"dim": self.encoder_.start, "grows": True}
        return {"dim": self.n_features_in_}

    def _fit(self, X: Any, y: Any) -> None:
        """Forget everything, learn all rows, and prepare to predict a batch."""
        rows, targets, _ = self._prepare(X, y, fresh=True)
        self._fit_rows(rows, targets)
        self._predicts_batch = True

    def _learn(self, X: Any, y: Any, sample_weight: Any = None, **options: Any) -> Any:
        """Check rows and learn them; return the prediction of each before that."""
        return self._learn_rows(*self._prepare(X, y, sample_weight, **options))

    def _learn_late(self, X: Any, y: Any, earlier_forecast: Forecast | None) -> None:
        """Learn rows for ``LateModel``; late ones have an ``earlier_forecast``."""
        with self._lock:
            rows, targets, _ = self._prepare(X, y)
            self._learn_rows(rows, targets, None, earlier_forecast)

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any = None, *, fresh: bool = False, **options: Any
    ) -> tuple[Any, Any, Vector | None]:
        """Check rows, targets and weights, and make the model if needed.

        If anything is refused, all attributes stay as they were.

        Returns
        -------
        rows, targets, weights
            Arguments of :meth:`_learn_rows`; rows are an array or CSR.
        """
        before = dict(vars(self))
        try:
            fresh = fresh or "model_" not in before
            if not fresh:
                self._fitted_model()
            self._check_raw_targets(y)
            rows, targets = self._check_rows_and_targets(X, y, reset=fresh)
            weights = loss_weights(sample_weight, len(targets))
            targets = self._check_targets(targets, fresh=fresh, **options)
            if fresh:
                self._set_model(self._make())
                self._intervals = LevelIntervals()
            self._leave_batch_mode()
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return rows, targets, weights

    def _leave_batch_mode(self) -> None:
        """Let ``predict`` answer for the next row, which follows the last one learned."""
        self._batch, self._predicts_batch = None, False

    @property
    def coef_names_(self) -> Any:
        """Name of the column that each coefficient belongs to, shape ``(d,)``.

        With ``encode=True`` these are the columns made of the frame, such as ``town_Bern``.
        """
        self._fitted_model()
        return self._coef_names()

    def _coef_names(self) -> Any:
        if self.encode:
            return np.array(self.encoder_.names(), dtype=object)
        if hasattr(self, "feature_names_in_"):
            return self.feature_names_in_
        return np.array([f"x{k}" for k in range(self.n_features_in_)], dtype=object)

    # ------------------------------------------------------------------ input

    def _check_rows(self, X: Any) -> Any:
        """Return rows for prediction: a C-contiguous array of finite doubles, or narrow CSR."""
        if self.encode:
            return self.encoder_.rows(check_frame(self, X, reset=False))
        if self._is_ready(X):
            return X
        check_frame_columns(X, self._encoding_remedy())
        check_numeric("X", X)
        rows = validate_data(self, X, accept_sparse="csr", **AS_DOUBLES, reset=False)
        return check_magnitudes("X", check_sparse_width(rows))

    def _check_rows_and_targets(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        """Return rows as :meth:`_check_rows` does, and one finite target for each."""
        if self.encode:
            return self._encode(X, y, reset=reset)
        is_plain = (
            not reset and type(X) is np.ndarray and type(y) is np.ndarray and y.dtype.kind in "fiub"
        )
        if is_plain and y.shape == X.shape[:1] and self._is_ready(X):
            if not is_moderate(y):
                y = column_or_1d(check_array(y, ensure_2d=False, input_name="y"))
            return X, y
        y = check_entries("y", y)
        check_frame_columns(X, self._encoding_remedy())
        check_numeric("X", X)
        rows, targets = validate_data(self, X, y, accept_sparse="csr", **AS_DOUBLES, reset=reset)
        return check_magnitudes("X", check_sparse_width(rows)), targets

    def _is_ready(self, X: Any) -> bool:
        """Return whether X needs no conversion; scikit-learn's check takes as long as learning."""
        return bool(
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and X.flags.c_contiguous
            and len(X) > 0
            and X.shape[1] == self.n_features_in_
            and "feature_names_in_" not in vars(self)
            and is_moderate(X)
        )

    def _encode(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Any]:
        """Return the rows of a frame as numbers, NaN for missing entries, and its targets."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        X = check_frame(self, X, reset=reset)
        y = check_entries("y", y)
        if np.asarray(y).ndim == 0:
            raise ValueError(
                f"y should be a 1d array, got {short_repr(y)} ({type(y).__name__}). Give one "
                "target per row."
            )
        targets = column_or_1d(
            check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True
        )
        encoder = encoder_for(X, None if reset else self.encoder_)
        rows = encoder.learn(X)
        check_consistent_length(rows, targets)
        self.encoder_ = encoder
        if reset and is_frame(X):
            set_column_names(self, encoder.columns)
        return rows, targets

    def _encoding_remedy(self) -> str:
        """Return a sentence that says how to encode words and dates."""
        if "encode" in parameter_names(type(self)):
            return (
                f"{type(self).__name__}(encode=True) takes them; or put "
                "swordplay.sklearn.TableEncoder() before it."
            )
        return "Put swordplay.sklearn.TableEncoder() before it."

    # ------------------------------------------------------------------ saving

    def _learned(self) -> tuple[Any, State] | None:
        if "model_" not in vars(self):
            return None
        model = self._fitted_model()
        around: State = {"columns": int(self.n_features_in_)}
        if hasattr(self, "feature_names_in_"):
            around["names"] = json.dumps(list(self.feature_names_in_))
        if self.encode:
            around |= add_prefix(ENCODER, self.encoder_.state())
        if self._predicts_batch:
            around["predicts_batch"] = 1
        if self._batch is not None:
            around |= self._batch.state()
        return model, around | self._intervals.state()

    def _resume(self, saved: Mapping[str, Any]) -> Any:
        self._intervals = LevelIntervals.from_state(saved)
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
                    f"its names are {short_repr(names)}, and not those of "
                    f"{self.n_features_in_} column(s)."
                )
            self.feature_names_in_ = np.array(names, dtype=object)
        if self.encode:
            self.encoder_ = frame_encoder().resumed(strip_prefix(ENCODER, saved))
        return self._set_model(self._make())


# ---------------------------------------------------------------------- checks of numbers


def check_numeric(name: str, values: Any) -> None:
    """Refuse what numpy would silently turn into numbers: digits in quotes, dates, masks.

    Raises
    ------
    ValueError, TypeError
        Says what the values are, with an example.
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
        if isinstance(value, np.ma.MaskedArray):  # np.ma.masked, which float() converts to 0
            arguments.without_mask(name, value)
    if isinstance(values, list) and raw.dtype.kind in "US":
        # a single string makes numpy convert the numbers beside it to strings
        raw = np.asarray(values, dtype=object)
    kind, example = non_numeric(raw)
    if kind:
        raise ValueError(
            f"{name} must hold numbers, got {'strings' if kind == 'words' else kind} such as "
            f"{short_repr(example, 40)} ({type(values).__name__}). Encode or convert them first."
        )
    if raw.dtype.kind == "c" and not isinstance(values, np.ndarray):
        # scikit-learn refuses complex arrays, but not complex frames and lists
        raise ValueError(
            f"Complex data not supported: {name} must hold real numbers, got {short_repr(raw)}."
        )
    if raw.dtype.kind == "O":
        arguments.as_doubles(name, raw)


def non_numeric(values: Any) -> tuple[str, Any]:
    """Return what an array holds that is no number, and an example; ``("", None)`` if nothing."""
    if values.dtype.kind in NON_NUMERIC_KINDS:
        example = str(values.flat[0]) if values.size else ""
        return NON_NUMERIC_KINDS[values.dtype.kind], example
    if values.dtype.kind != "O":
        return "", None
    for value in values.flat:
        if isinstance(value, str | bytes):
            return "words", value
        # dates and times of Python; periods of pandas
        if hasattr(value, "isoformat") or type(value).__name__ == "Period":
            return "dates", str(value)
    return "", None


def is_moderate(numbers: Any) -> bool:
    """Return whether no number is NaN, infinite or beyond ``LARGEST`` in magnitude."""
    # as doubles, since LARGEST overflows single precision; comparisons with NaN are false
    return float(numbers.min()) >= -LARGEST and float(numbers.max()) <= LARGEST


def check_magnitudes(name: str, values: Any) -> Any:
    """Return values, dense or sparse; refuse finite ones whose squares would overflow."""
    numbers = values if isinstance(values, np.ndarray) else values.data
    if numbers.size and not is_moderate(numbers):
        arguments.check_finite(name, numbers)
        worst = numbers.flat[np.abs(numbers).argmax()]
        raise ValueError(
            f"{name} must not pass {LARGEST:g} in magnitude, got {worst:g}. Drop or repair that "
            "entry."
        )
    return values


def check_sparse_width(rows: Any) -> Any:
    """Return rows; refuse sparse ones that are too wide to be made dense."""
    if isinstance(rows, np.ndarray):
        return rows
    arguments.check_sparse_indices("X", rows)
    if rows.shape[1] > MAX_SPARSE_COLUMNS:
        raise ValueError(
            f"X is sparse with {rows.shape[1]} columns; sparse rows are made dense here and "
            f"may have {MAX_SPARSE_COLUMNS}. Reduce them first, with TruncatedSVD or a "
            "FeatureHasher of fewer columns."
        )
    return rows


def loss_weights(sample_weight: Any, count: int) -> Vector | None:
    """Return factors of the losses, shape ``(count,)``; None if ``sample_weight`` is None."""
    if sample_weight is None:
        return None
    check_numeric("sample_weight", sample_weight)
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
    if count and not 0.0 <= weights.min() <= weights.max() <= MAX_WEIGHT:
        bad = weights[~((weights >= 0) & (weights <= MAX_WEIGHT))][0]
        raise ValueError(
            f"sample_weight must lie in [0, {MAX_WEIGHT:g}], got {bad:g}. A weight of 0 skips "
            "a row."
        )
    return np.asarray(weights)


# ---------------------------------------------------------------------- checks of frames


def is_frame(X: Any) -> bool:
    """Return whether X has named columns: a frame of pandas or polars, or an Arrow table."""
    return hasattr(X, "columns") or any(hasattr(X, name) for name in ARROW_METHODS)


def check_frame(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return a frame unchanged, and an array as scikit-learn checks it.

    Raises
    ------
    ValueError
        If X is an array where the columns had names so far, or not a table.
    """
    if is_frame(X):
        return X
    if not reset and hasattr(estimator, "feature_names_in_"):
        known = short_repr(", ".join(estimator.feature_names_in_), 80)[1:-1]
        raise ValueError(
            f"X must be a table with the columns of the first one ({known}), got an array. Give "
            "their names."
        )
    if not hasattr(X, "tocsr") and arguments.without_mask("X", X).ndim == 0:
        raise ValueError(
            f"X must be a table (Expected 2D array), got {short_repr(X)}. Give a data frame or "
            "rows of values."
        )
    return validate_data(estimator, X, dtype=None, ensure_all_finite="allow-nan", reset=reset)


def check_frame_columns(X: Any, remedy: str) -> None:
    """Refuse a frame with a column of words or dates, and name the column.

    Parameters
    ----------
    X
        Anything; what is no frame of pandas or polars passes.
    remedy
        Sentence at the end of the message.
    """
    names, dtypes = getattr(X, "columns", None), getattr(X, "dtypes", None)
    if names is None or dtypes is None:
        return
    for k, (name, dtype) in enumerate(zip(names, dtypes, strict=False)):
        if getattr(dtype, "kind", "") in ("f", "i", "u", "b"):
            continue
        values = np.asarray(X.iloc[:, k] if hasattr(X, "iloc") else X[name])
        kind, example = non_numeric(values)
        if values.dtype.kind == "O" and not kind:
            arguments.as_doubles(f"X: column {str(name)!r}", values)
        if values.dtype.kind == "c":
            kind, example = "complex numbers", values[0]
        if kind:
            raise ValueError(
                f"X: column {str(name)!r} holds {kind} such as {short_repr(example, 40)}, and not "
                f"numbers. {remedy}"
            )


def set_column_names(estimator: Any, names: Any) -> None:
    """Set ``n_features_in_`` and ``feature_names_in_``, as scikit-learn does for frames."""
    estimator.n_features_in_ = len(names)
    estimator.feature_names_in_ = np.array(names, dtype=object)


def encoder_for(X: Any, known: Any = None) -> Any:
    """Return a new encoder for frames like X, or a copy of the one that is known.

    Raises
    ------
    ImportError
        If pyarrow is not installed.
    """
    return frame_encoder().begin(X) if known is None else copy.deepcopy(known)


def frame_encoder() -> Any:
    """Import the class of encoders: it needs pyarrow, which is optional and slow to import."""
    with extras.require_extra("encode=True and TableEncoder", "cli", "pyarrow"):
        from swordplay.tables.frame_encoder import FrameEncoder
    return FrameEncoder


# ---------------------------------------------------------------------- chunks of rows


def dense_chunks(rows: Any) -> Iterator[tuple[slice, Matrix]]:
    """Yield rows as arrays: an array at once, sparse rows in chunks that fit into memory."""
    count = rows.shape[0]
    if isinstance(rows, np.ndarray):
        yield slice(0, count), rows
        return
    size = max(1, CHUNK_NUMBERS // max(1, rows.shape[1]))
    for first in range(0, count, size):
        part = slice(first, min(first + size, count))
        yield part, rows[part].toarray()


def predict_in_chunks(
    predict: Callable[[Matrix, int], Array], rows: Any, following: int = 0
) -> Array:
    """Return ``predict(chunk, following)`` of all chunks, concatenated.

    Parameters
    ----------
    predict
        Function of dense rows and of how many of them directly follow the last row learned.
    rows
        Rows, dense or CSR.
    following
        How many rows of the first chunk follow the last row learned; of later chunks, none do.
    """
    answers = []
    for _, chunk in dense_chunks(rows):
        answers.append(predict(chunk, following))
        following = 0
    return np.concatenate(answers)


def learn_in_chunks(
    model: Any,
    rows: Any,
    targets: Any,
    weights: Vector | None = None,
    earlier_forecast: Forecast | None = None,
) -> Any:
    """Learn rows in their order; return the prediction of each before it was learned.

    Rows of weight 0 are predicted and not learned. ``earlier_forecast`` is that of late rows, which
    have no weights.
    """
    answers = []
    for part, chunk in dense_chunks(rows):
        if weights is None:
            late = None if earlier_forecast is None else earlier_forecast.rows(part)
            answers.append(model.predict_then_learn(chunk, targets[part], earlier_forecast=late))
            continue
        # runs of rows that are all learned, or all skipped
        chunk_targets, chunk_weights = targets[part], weights[part]
        is_learned = chunk_weights != 0.0
        edges = [0, *(np.flatnonzero(np.diff(is_learned)) + 1).tolist(), len(chunk)]
        for first, last in itertools.pairwise(edges):
            run = slice(first, last)
            answers.append(
                model.predict_then_learn(chunk[run], chunk_targets[run], chunk_weights[run])
                if is_learned[first]
                else model.predict(chunk[run])
            )
    return np.concatenate(answers)
