"""``SwordIntervals``: prediction intervals around the forecasts of any forecaster."""

from __future__ import annotations

import functools
import numbers
import os
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, final

import numpy as np

from swordplay.core import arguments, checkpoint
from swordplay.core.arguments import LARGEST_INPUT, short_repr
from swordplay.core.model_lock import LockedModel
from swordplay.core.state import (
    add_prefix,
    flatten_settings,
    settings_differences,
    settings_entries,
    split_settings,
    strip_prefix,
)
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.intervals.late_truths import LateTruths
from swordplay.intervals.layout import INTERVAL, INTERVAL_THEN_LEARN, LEARN, SCALAR, Scratch
from swordplay.intervals.state import (
    IntervalState,
    PendingInterval,
    PendingIntervals,
    new_scratch,
)

PENDING, LATE = "pending", "late"
"""Prefixes of the names of pending intervals and of late truths in a state."""
LEVEL_REMEDY = "Make the intervals with the level they were saved with."


@final
class SwordIntervals(LockedModel):
    """Prediction intervals for the forecasts of any forecaster; the level is the only parameter.

    In every window of n rows, whatever the forecaster and the targets do, a level of 0.9 has at
    most 0.1 n + 20 misses, and at least 0.1 n - 20 unless targets are exactly what was predicted
    (docs/theory.md has the proof). The width is learned: from the columns of the rows if they are
    given, from the sizes of recent residuals, and by following the quantile of what remains at many
    step sizes.

    The first five rows get an infinite interval, and so does a row after 9.5 misses too many. A row
    after 9.5 misses too few gets the prediction alone. Every interval contains its prediction.

    Parameters
    ----------
    level
        Share of the targets that an interval is to contain, in (0, 1); or several shares. Intervals
        of several levels never cross: that of a higher level contains those of lower ones.

    Attributes
    ----------
    level
        As given: a number, or a tuple of numbers.
    rows
        Number of rows that were learned.
    balances
        For each level, misses so far minus those that it allows, shape ``(levels,)``.

    Examples
    --------
    >>> import numpy as np
    >>> from swordplay.intervals import SwordIntervals
    >>> rng = np.random.default_rng(0)
    >>> noise = np.repeat([1.0, 5.0], 1000)  # five times as much from row 1000 on
    >>> forecasts, targets = np.zeros(2000), rng.normal(size=2000) * noise
    >>> bounds = SwordIntervals(level=0.9).interval_then_learn(forecasts, targets)
    >>> covered = (bounds[:, 0] <= targets) & (targets <= bounds[:, 1])
    >>> bool(abs(covered.mean() - 0.9) < 0.01), bounds.shape
    (True, (2000, 2))
    """

    def __init__(self, level: float | Sequence[float] = 0.9) -> None:
        self.level = check_level(level)
        levels = np.array(self.levels)
        order = np.argsort(levels, kind="stable")
        self._alphas: Vector = 1.0 - levels[order]
        """Shares of misses that the levels allow, that of the narrowest interval first."""
        self._places: Any = np.argsort(order, kind="stable")
        """Index of each level in ``_alphas``."""
        self._state: IntervalState | None = None
        self._pending = PendingIntervals()
        self._late = LateTruths()
        self._scratch: Scratch | None = None
        self._bound_row: _BoundRow | None = None

    def __repr__(self) -> str:
        return f"SwordIntervals(level={self.level})"

    @property
    def levels(self) -> tuple[float, ...]:
        """The level, or all of them."""
        return self.level if isinstance(self.level, tuple) else (self.level,)

    @property
    def rows(self) -> int:
        """Number of rows that were learned."""
        return 0 if self._state is None else int(self._state.scalars[SCALAR.rows])

    @property
    def columns(self) -> int | None:
        """Number of columns of every row; None before the first is learned."""
        return None if self._state is None else len(self._state.centers) - 1

    @property
    def balances(self) -> Vector:
        """For each level, misses so far minus those that it allows; shape ``(levels,)``."""
        if self._state is None:
            return np.zeros(len(self._alphas))
        balances: Vector = self._state.balances[self._places]
        return balances

    # ------------------------------------------------------------------- one row

    def interval(self, prediction: Any, features: Any = None) -> tuple[Any, Any]:
        """Return the interval of one forecast whose target is not known yet.

        It is remembered until its target is learned, which may be many rows later: the target then
        counts as a hit or a miss of this interval.

        Parameters
        ----------
        prediction
            The forecast, a number.
        features
            Columns of the row, shape ``(d,)``: as many in every row, or none in any. NaN stands for
            a missing value.

        Returns
        -------
        lower, upper
            Numbers; arrays of shape ``(levels,)`` if there are several levels.
        """
        forecast = _check_number("prediction", prediction)
        row = _check_row(features, self.columns)
        bounds = self._intervals(np.array([forecast]), row)[0]
        self._pending.put(PendingInterval(forecast, bounds, self.rows))
        lower, upper = bounds[self._places].T
        if isinstance(self.level, tuple):
            return lower, upper
        return float(lower[0]), float(upper[0])

    def learn(
        self,
        prediction: Any,
        target: Any,
        features: Any = None,
        *,
        given: Any = None,
        late: int = 0,
    ) -> None:
        """Learn the target of one forecast.

        Parameters
        ----------
        prediction, features
            As in :meth:`interval`.
        target
            The true value, a number.
        given
            The interval that counts, as :meth:`interval` returned it. By default it is the newest
            one that was returned for this prediction and has not been learned yet; if there is
            none, the one that would be returned now.
        late
            Number of targets that were learned between ``given`` and this one.
        """
        forecast, truth = _check_number("prediction", prediction), _check_number("target", target)
        row = _check_row(features, self.columns)
        late = arguments.integer("late", late, least=0)
        bounds = None if given is None else _check_given(given, self._places)
        if bounds is None and (pending := self._pending.take(forecast)) is not None:
            bounds, late = pending.bounds, max(0, self.rows - pending.rows)
        predictions, targets = np.array([forecast]), np.array([truth])
        if bounds is None:
            self._interval_then_learn(predictions, targets, row)
        else:
            self._learn(predictions, targets, row, bounds[None], np.array([float(late)]))

    # ------------------------------------------------------------------- many rows

    def interval_then_learn(self, predictions: Any, targets: Any, features: Any = None) -> Array:
        """Return the interval of each row as it was before its target was learned.

        The result has the same bits as that of :meth:`interval` and :meth:`learn` row by row.

        Parameters
        ----------
        predictions, targets
            Shape ``(T,)``.
        features
            Columns of the rows, shape ``(T, d)``, or None.

        Returns
        -------
        bounds
            Lower and upper ends, shape ``(T, 2)``; ``(T, levels, 2)`` if there are several levels.
        """
        forecasts = _check_numbers("predictions", predictions)
        truths = _check_numbers("targets", targets)
        if len(truths) != len(forecasts):
            raise ValueError(
                f"targets must have one entry per prediction ({len(forecasts)}), got {len(truths)}."
            )
        rows = _check_rows(features, len(forecasts), self.columns)
        return self._in_callers_order(self._interval_then_learn(forecasts, truths, rows))

    def intervals(self, predictions: Any, features: Any = None) -> Array:
        """Return intervals of future rows, each as if it were the next one.

        Nothing is learned, and no interval is remembered.

        Parameters
        ----------
        predictions, features
            As in :meth:`interval_then_learn`.

        Returns
        -------
        bounds
            As in :meth:`interval_then_learn`.
        """
        forecasts = _check_numbers("predictions", predictions)
        rows = _check_rows(features, len(forecasts), self.columns)
        return self._in_callers_order(self._intervals(forecasts, rows))

    def intervals_checked(self, predictions: Vector, features: Matrix | None) -> Array:
        """:meth:`intervals` without its checks.

        For callers whose arrays are checked already, such as the estimators: finite doubles below
        the largest allowed numbers, in C order.
        """
        rows = np.empty((len(predictions), 0)) if features is None else features
        return self._in_callers_order(self._intervals(predictions, rows))

    def learn_checked(
        self,
        predictions: Vector,
        targets: Vector,
        features: Matrix | None,
        given: Array | None = None,
        late: Vector | None = None,
    ) -> Array:
        """:meth:`interval_then_learn` without its checks, or learn by intervals that were given.

        Parameters
        ----------
        predictions, targets, features
            As in :meth:`intervals_checked` and :meth:`interval_then_learn`.
        given
            Intervals that count in place of those that would be given now, shape ``(T, levels, 2)``
            in the order of the levels.
        late
            Number of targets that were learned between each of these intervals and its target,
            shape ``(T,)``; zeros by default.

        Returns
        -------
        bounds
            As in :meth:`interval_then_learn`.
        """
        rows = np.empty((len(predictions), 0)) if features is None else features
        if given is None:
            return self._in_callers_order(self._interval_then_learn(predictions, targets, rows))
        bounds = np.empty((len(predictions), len(self._alphas), 2))
        bounds[:, self._places] = given
        if len(predictions):
            late = np.zeros(len(predictions)) if late is None else late
            self._learn(predictions, targets, rows, bounds, late)
        return self._in_callers_order(bounds)

    def widen(self, columns: int) -> None:
        """Make room for columns that are added behind the others."""
        columns = arguments.integer("columns", columns, least=0)
        if self._state is None or columns < self._state.columns:
            known = (
                "nothing was learned" if self._state is None else f"there are {self._state.columns}"
            )
            raise ValueError(f"columns must be more than before, got {columns} where {known}.")
        self._replace_state(self._state.widened(columns))

    # ------------------------------------------------------------------- saving

    def state(self) -> State:
        """Return all that the next row needs and the levels, as named arrays and numbers."""
        own = {} if self._state is None else self._state.state()
        pending = add_prefix(PENDING, self._pending.state(len(self._alphas)))
        late = add_prefix(LATE, self._late.state())
        return own | pending | late | settings_entries(self._settings())

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Continue from a saved state with results identical to those of the saved object.

        Raises
        ------
        ValueError
            If the state is damaged, or was saved with other levels; nothing changes.
        """
        if not isinstance(saved, Mapping):
            raise TypeError(
                f"state must be the dictionary that state() returned, got {type(saved).__name__}."
            )
        rest, settings = split_settings(saved)
        if differences := settings_differences(settings, self._settings()):
            raise ValueError(f"state was saved with other settings: {differences}. {LEVEL_REMEDY}")
        prefixes = f"{PENDING}.", f"{LATE}."
        own = {name: value for name, value in rest.items() if not name.startswith(prefixes)}
        levels = len(self._alphas)
        pending = PendingIntervals.from_state(strip_prefix(PENDING, rest), levels)
        late = LateTruths.from_state(strip_prefix(LATE, rest))
        state = IntervalState.from_state(own, levels) if own else None
        self._pending, self._late = pending, late
        self._replace_state(state)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a checkpoint file; the file is replaced as a whole or not at all."""
        checkpoint.save(path, self.state(), kind=type(self).__name__)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Continue from a checkpoint file that intervals of the same levels saved.

        Raises
        ------
        CheckpointError
            If the file is not a complete checkpoint of intervals, or was saved with other levels;
            nothing changes.
        """
        saved = checkpoint.load(path, kind=type(self).__name__)
        try:
            self.load_state(saved)
        except ValueError as error:
            raise checkpoint.CheckpointError(
                f"the checkpoint {os.fspath(path)!r} cannot be used: {error}"
            ) from error

    def _settings(self) -> State:
        return flatten_settings(
            {"learner": type(self).__qualname__, "level": np.atleast_1d(np.array(self.level))}
        )

    # ------------------------------------------------------------------- checked rows

    def _intervals(self, predictions: Vector, rows: Matrix) -> Array:
        """Intervals of future rows, the narrowest level first, shape ``(T, levels, 2)``."""
        is_late = self._late.lateness > 0.0 and self._late.is_active(self._alphas)
        if self._state is not None and is_late:
            return self._late.bounds(predictions, self._alphas, self._state.balances)
        bounds = np.empty((len(predictions), len(self._alphas), 2))
        bounds[..., 0], bounds[..., 1] = -np.inf, np.inf
        if self._state is not None:
            self._play(INTERVAL, rows, predictions, predictions, bounds)
        return bounds

    def _learn(
        self, predictions: Vector, targets: Vector, rows: Matrix, bounds: Array, late: Vector
    ) -> None:
        """Learn rows by the intervals that were given for them; ``late`` is their lateness."""
        state = self._state_for(rows)
        before = state.balances.copy()
        self._play(LEARN, rows, predictions, targets, bounds)
        if self._late.lateness or late.any():
            missed = (targets[:, None] < bounds[..., 0]) | (targets[:, None] > bounds[..., 1])
            residuals = targets - predictions
            state.balances[:] = self._late.learn(late, residuals, missed, self._alphas, before)

    def _interval_then_learn(self, predictions: Vector, targets: Vector, rows: Matrix) -> Array:
        """Compute the interval of each row, then learn it.

        It is one call of the kernel, but row by row as long as targets have arrived late.
        """
        bounds = np.empty((len(predictions), len(self._alphas), 2))
        for t in range(len(predictions)):
            if not self._late.lateness:
                self._state_for(rows)
                rest = slice(t, None)
                self._play(
                    INTERVAL_THEN_LEARN, rows[rest], predictions[rest], targets[rest], bounds[rest]
                )
                break
            row = slice(t, t + 1)
            bounds[row] = self._intervals(predictions[row], rows[row])
            self._learn(predictions[row], targets[row], rows[row], bounds[row], np.zeros(1))
        return bounds

    def _play(
        self, mode: int, rows: Matrix, predictions: Vector, targets: Vector, bounds: Array
    ) -> None:
        """Call the kernel for rows."""
        from swordplay.intervals.kernel import play  # numba is imported with the first row

        if self._scratch is None:
            self._scratch = new_scratch(rows.shape[1])
        if len(predictions) == 1:
            if self._bound_row is None:
                self._bound_row = _BoundRow(self._state, self._alphas, self._scratch)
            self._bound_row.play(mode, rows, predictions, targets, bounds)
            return
        # The kernel would be compiled once more for read-only arrays, such as columns of Arrow.
        rows, predictions, targets = (
            np.require(array, np.float64, ["C", "W"]) for array in (rows, predictions, targets)
        )
        play(mode, self._state, self._alphas, rows, predictions, targets, self._scratch, bounds)

    def _state_for(self, rows: Matrix) -> IntervalState:
        """The state, which is made with the first rows that are learned."""
        if self._state is None:
            self._state = IntervalState.new(len(self._alphas), rows.shape[1])
        return self._state

    def _replace_state(self, state: IntervalState | None) -> None:
        self._state, self._scratch, self._bound_row = state, None, None

    def _copied_attributes(self) -> dict[str, Any]:
        # bound calls hold the addresses of the arrays of this object
        return vars(self) | {"_scratch": None, "_bound_row": None}

    def _in_callers_order(self, bounds: Array) -> Array:
        """Bounds of the levels as the caller listed them; without their axis for a single one."""
        return bounds[:, self._places] if isinstance(self.level, tuple) else bounds[:, 0]


class _BoundRow:
    """Arrays for one row, and calls of the kernel that are bound to them.

    Checking the types of all arguments anew would take longer than the arithmetic of one row.
    """

    def __init__(self, state: IntervalState | None, alphas: Vector, scratch: Scratch) -> None:
        from swordplay.compile import bound_call  # numba is imported with the first row
        from swordplay.intervals.kernel import play

        self._columns = np.empty((1, len(scratch.bins)))
        self._prediction = np.empty(1)
        self._target = np.empty(1)
        self._bounds: Any = np.empty((1, len(alphas), 2))
        row = self._columns, self._prediction, self._target
        self._calls = {
            mode: bound_call(
                functools.partial(play, mode, state, alphas, *row, scratch, self._bounds)
            )
            for mode in (INTERVAL, LEARN, INTERVAL_THEN_LEARN)
        }

    def play(
        self, mode: int, columns: Matrix, predictions: Vector, targets: Vector, bounds: Array
    ) -> None:
        """Call the kernel for one row; ``bounds`` are read or written, as ``mode`` says."""
        self._columns[0] = columns[0]
        self._prediction[0] = predictions[0]
        self._target[0] = targets[0]
        if mode == LEARN:
            self._bounds[:] = bounds
        self._calls[mode]()
        if mode != LEARN:
            bounds[:] = self._bounds


# ------------------------------------------------------------------- checks of arguments


def check_level(level: Any) -> float | tuple[float, ...]:
    """Return a level as a float, or several levels as a tuple in the caller's order.

    Raises
    ------
    ValueError
        If one is not between 0 and 1, or occurs twice.
    """
    if isinstance(level, numbers.Real) or arguments.without_mask("level", level).ndim == 0:
        return _check_one_level(level)
    several = tuple(_check_one_level(each) for each in level)
    if not several:
        raise ValueError("level must name a level such as 0.9, or several, got none.")
    if len(set(several)) < len(several):
        raise ValueError(
            f"level must name each level once, got {short_repr(several)}. Drop the one that occurs "
            "twice."
        )
    return several


def _check_one_level(value: Any) -> float:
    level = arguments.real("level", value)
    if not 0.0 < level < 1.0:
        remedy = (
            f" Give {level / 100:g} for {level:g} %."
            if 1.0 < level < 100.0
            else " Give 0.9 for nine targets of ten."
        )
        raise ValueError(f"level must lie between 0 and 1, got {level}.{remedy}")
    return level


def _check_number(name: str, value: Any) -> float:
    """Return a finite number of at most LARGEST_INPUT in magnitude."""
    checked = arguments.real(name, value)
    if abs(checked) > LARGEST_INPUT:
        _raise_too_large(name, checked)
    return checked


def _check_numbers(name: str, values: Any) -> Vector:
    """Return finite numbers of at most LARGEST_INPUT in magnitude, shape ``(T,)``."""
    checked = np.ascontiguousarray(arguments.array(name, values, ndim=1))
    if len(checked) and max(checked.max(), -checked.min()) > LARGEST_INPUT:
        _raise_too_large(name, checked[np.abs(checked) > LARGEST_INPUT][0])
    return checked


def _check_row(features: Any, columns: int | None) -> Matrix:
    """Return the columns of one row, shape ``(1, d)``, as described for :func:`_check_rows`."""
    if features is None:
        return _check_rows(None, 1, columns)
    row = arguments.without_mask("features", features)
    if row.ndim != 1:
        raise ValueError(
            f"features must have shape (d,), got {row.shape}. Give the columns of one row."
        )
    return _check_rows(row[None], 1, columns)


def _check_rows(features: Any, count: int, columns: int | None) -> Matrix:
    """Return the columns of ``count`` rows, shape ``(T, d)``: finite numbers, or NaN if missing.

    Without features d is 0. ``columns`` is the required d, or None if any is allowed.
    """
    if features is None:
        checked: Matrix = np.empty((count, 0))
    else:
        raw = arguments.without_mask("features", features)
        if raw.dtype.kind not in "fiub":
            raise TypeError(
                f"features must hold real numbers, got dtype {raw.dtype}. Encode or convert them "
                "first."
            )
        if raw.ndim != 2 or len(raw) != count:
            raise ValueError(
                f"features must have shape (T, d) with T = {count}, got {raw.shape}. Give one row "
                "per prediction."
            )
        checked = np.ascontiguousarray(raw, dtype=np.float64)
        is_too_large = np.abs(checked) > LARGEST_INPUT  # False for NaN
        if is_too_large.any():
            _raise_too_large("features", checked[is_too_large][0])
    if columns is not None and checked.shape[1] != columns:
        raise ValueError(
            f"features must have {columns} column(s), as in the rows that were learned, got "
            f"{checked.shape[1]}."
        )
    return checked


def _check_given(given: Any, places: Any) -> Array:
    """Return an interval that the caller hands back, shape ``(levels, 2)``, the narrowest first.

    ``places`` is the index of each of the caller's levels in that order.
    """
    try:
        lower, upper = (
            np.atleast_1d(np.array(arguments.without_mask("given", end), dtype=np.float64))
            for end in given
        )
    except (TypeError, ValueError):
        raise TypeError(f"given must be a pair (lower, upper), got {short_repr(given)}.") from None
    if lower.shape != places.shape or upper.shape != places.shape:
        raise ValueError(
            f"given must have {len(places)} lower and upper end(s), got {short_repr(given)}."
        )
    if not (lower <= upper).all():
        raise ValueError(
            f"given must not have a lower end above the upper, nor NaN, got {short_repr(given)}. "
            "Swap or drop them."
        )
    bounds = np.empty((len(lower), 2))
    bounds[places] = np.column_stack([lower, upper])
    return bounds


def _raise_too_large(name: str, value: float) -> NoReturn:
    raise ValueError(
        f"{name} must lie between -{LARGEST_INPUT:g} and {LARGEST_INPUT:g}, got {value:g}. "
        "Drop or repair it, or rescale."
    )
