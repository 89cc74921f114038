"""Intervals around the forecasts of any forecaster."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from swordplay.core import arguments, checkpoint
from swordplay.core.state import (
    flatten_settings,
    settings_differences,
    settings_entries,
    split_settings,
)
from swordplay.core.types import Array, Matrix, State, Vector
from swordplay.intervals import inputs, layout
from swordplay.intervals.given import Given
from swordplay.intervals.late import Late
from swordplay.intervals.levels import level_or_levels, narrow_to_wide
from swordplay.intervals.memory import Memory
from swordplay.intervals.player import Player

GIVEN, LATE = "given.", "late."
"""How the names of intervals that wait for their truths begin in a state, and of what is known
of those that came late.
"""
REMEDY = "Make the intervals with the level they were saved with."


@final
class SwordIntervals(Player):
    """Intervals that hold the truth as often as they say, for the forecasts of any forecaster, with
    nothing else to set.

    On every window of n rows, whatever the forecaster and the truths do, a level of 0.9 has at most
    0.1 n + 20 misses, and at least 0.1 n - 20 unless truths are exactly what was predicted
    (docs/theory.md has the proof). How narrow the intervals are is learned: from the columns of the
    rows if they are given, from how large the residuals were of late, and by following the quantile
    of what is left at many step sizes.

    The first five rows get intervals of everything, from minus to plus infinity; so does a row
    after 9.5 misses too many. One after 9.5 too few gets the prediction alone. Every interval holds
    its prediction.

    Parameters
    ----------
    level
        What share of the truths an interval is to hold, in (0, 1); or several shares. Intervals of
        several levels never cross: a higher level's holds those of lower ones.

    Attributes
    ----------
    level
        As given: a number, or a tuple of numbers.
    rows
        How many rows were learned.
    balances
        For each level, misses so far beyond those that it allows, shape ``(levels,)``.

    Examples
    --------
    >>> import numpy as np
    >>> from swordplay.intervals import SwordIntervals
    >>> rng = np.random.default_rng(0)
    >>> forecasts = np.zeros(2000)
    >>> truths = rng.normal(size=2000) * np.repeat([1.0, 5.0], 1000)  # five times as unsure from row 1000 on
    >>> bounds = SwordIntervals(level=0.9).interval_then_learn(forecasts, truths)
    >>> covered = (bounds[:, 0] <= truths) & (truths <= bounds[:, 1])
    >>> bool(abs(covered.mean() - 0.9) < 0.01), bounds.shape
    (True, (2000, 2))
    """  # noqa: E501

    def __init__(self, level: float | Sequence[float] = 0.9) -> None:
        self.level = level_or_levels(level)
        alphas, self._places = narrow_to_wide(self.levels)
        super().__init__(alphas)
        self._given = Given()

    def __repr__(self) -> str:
        return f"SwordIntervals(level={self.level})"

    @property
    def levels(self) -> tuple[float, ...]:
        """The level, or all of them."""
        return self.level if isinstance(self.level, tuple) else (self.level,)

    @property
    def rows(self) -> int:
        """How many rows were learned."""
        return 0 if self._memory is None else int(self._memory.live[layout.ROWS])

    @property
    def columns(self) -> int | None:
        """How many columns every row has; None before the first is learned."""
        return None if self._memory is None else self._memory.columns

    @property
    def balances(self) -> Vector:
        """For each level, misses so far beyond those that it allows; shape ``(levels,)``."""
        return (
            np.zeros(len(self._alphas))
            if self._memory is None
            else self._memory.balances[self._places]
        )

    def interval(self, prediction: Any, features: Any = None) -> tuple[Any, Any]:
        """The interval for one forecast whose truth is not known yet.

        It is remembered until the truth is learned, which may be many rows later: the interval that
        was given is what counts.

        Parameters
        ----------
        prediction
            The forecast, a number.
        features
            The row's columns, shape ``(d,)``: as many in every row, or none in any. NaN stands for
            a missing value.

        Returns
        -------
        lower, upper
            Numbers; arrays of shape ``(levels,)`` where there are several levels.
        """
        forecast = inputs.number("prediction", prediction)
        bounds = self._give(np.array([forecast]), inputs.row(features, self.columns))[0]
        self._given.put(forecast, bounds, self.rows)
        lower, upper = bounds[self._places].T
        return (
            (lower, upper) if isinstance(self.level, tuple) else (float(lower[0]), float(upper[0]))
        )

    def learn(
        self,
        prediction: Any,
        target: Any,
        features: Any = None,
        *,
        given: Any = None,
        late: int = 0,
    ) -> None:
        """Learn the truth of one forecast.

        Parameters
        ----------
        prediction, features
            As in :meth:`interval`.
        target
            The truth, a number.
        given
            The interval that counts, as :meth:`interval` returned it; by default the newest that
            was given for this prediction and has not been learned yet, and where there is none, the
            one that would be given now.
        late
            How many truths were learned between ``given`` and this one.
        """
        forecast, truth = inputs.number("prediction", prediction), inputs.number("target", target)
        rows = inputs.row(features, self.columns)
        since = arguments.integer("late", late, least=0)
        bounds = None if given is None else inputs.judged(given, self._places)
        if given is None:
            since = max(0, self.rows - self._given.since(forecast, self.rows))
            bounds = self._given.take(forecast)
        one = np.array([forecast]), np.array([truth]), rows
        if bounds is None:
            self._give_and_learn(*one)
        else:
            self._learn(*one, bounds[None], np.array([float(since)]))

    def interval_then_learn(self, predictions: Any, targets: Any, features: Any = None) -> Array:
        """The interval of each row, said before its truth is learned: what a stream would have
        seen, in one compiled call.

        The same bits as :meth:`interval` and :meth:`learn` row by row.

        Parameters
        ----------
        predictions, targets
            Shape ``(T,)``.
        features
            Columns of the rows, shape ``(T, d)``, or None.

        Returns
        -------
        bounds
            Lower and upper ends, shape ``(T, 2)``; ``(T, levels, 2)`` where there are several
            levels.
        """
        forecasts, truths = (
            inputs.numbers("predictions", predictions),
            inputs.numbers("targets", targets),
        )
        if len(truths) != len(forecasts):
            raise ValueError(
                f"targets must have one entry per prediction ({len(forecasts)}), got {len(truths)}."
            )
        rows = inputs.rows(features, len(forecasts), self.columns)
        return self._told(self._give_and_learn(forecasts, truths, rows))

    def intervals(self, predictions: Any, features: Any = None) -> Array:
        """Intervals of rows to come, all by what is known now.

        Nothing is learned, and none of them is remembered.

        Parameters
        ----------
        predictions, features
            As in :meth:`interval_then_learn`.

        Returns
        -------
        bounds
            As in :meth:`interval_then_learn`.
        """
        forecasts = inputs.numbers("predictions", predictions)
        return self._told(
            self._give(forecasts, inputs.rows(features, len(forecasts), self.columns))
        )

    def intervals_checked(self, predictions: Vector, features: Matrix | None) -> Array:
        """:meth:`intervals` without its checks.

        For callers whose arrays are checked already, such as the estimators: finite doubles below
        the largest allowed numbers, in C order.
        """
        rows = np.empty((len(predictions), 0)) if features is None else features
        return self._told(self._give(predictions, rows))

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
            return self._told(self._give_and_learn(predictions, targets, rows))
        bounds = np.empty((len(predictions), len(self._alphas), 2))
        bounds[:, self._places] = given
        if len(predictions):
            late = np.zeros(len(predictions)) if late is None else late
            self._learn(predictions, targets, rows, bounds, late)
        return self._told(bounds)

    def widen(self, columns: int) -> None:
        """Make room for columns that appear late, behind the others."""
        columns = arguments.integer("columns", columns, least=0)
        if self._memory is None or columns < self._memory.columns:
            known = (
                "nothing was learned"
                if self._memory is None
                else f"there are {self._memory.columns}"
            )
            raise ValueError(f"columns must be more than before, got {columns} where {known}.")
        self._renew(self._memory.widened(columns))

    def state(self) -> State:
        """All that the next row needs and the levels, as named arrays and numbers."""
        known = {} if self._memory is None else self._memory.state()
        waiting = {
            f"{GIVEN}{name}": value for name, value in self._given.state(len(self._alphas)).items()
        }
        late = {f"{LATE}{name}": value for name, value in self._late.state().items()}
        return known | waiting | late | settings_entries(self._made_with())

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state, bit by bit as the intervals that saved it.

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
        if differ := settings_differences(settings, self._made_with()):
            raise ValueError(f"state was saved with other settings: {differ}. {REMEDY}")
        waiting, late = (
            {
                name.removeprefix(kind): value
                for name, value in rest.items()
                if name.startswith(kind)
            }
            for kind in (GIVEN, LATE)
        )
        known = {name: value for name, value in rest.items() if not name.startswith((GIVEN, LATE))}
        given = Given.of_state(waiting, len(self._alphas))
        memory = Memory.of_state(known, len(self._alphas)) if known else None
        self._given, self._late = given, Late.of_state(late)
        self._renew(memory)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint: the state in a file, whole or not at all."""
        checkpoint.save(path, self.state(), kind=type(self).__name__)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Go on from a checkpoint that intervals of the same levels saved.

        Raises
        ------
        CheckpointError
            If the file is not a whole checkpoint of intervals, or was saved with other levels;
            nothing changes.
        """
        saved = checkpoint.load(path, kind=type(self).__name__)
        try:
            self.load_state(saved)
        except ValueError as error:
            raise checkpoint.CheckpointError(
                f"the checkpoint {os.fspath(path)!r} cannot be used: {error}"
            ) from error

    def _made_with(self) -> State:
        return flatten_settings(
            {"learner": type(self).__qualname__, "level": np.atleast_1d(np.array(self.level))}
        )

    def _told(self, bounds: Array) -> Array:
        """Bounds in the order of the caller's levels."""
        return bounds[:, self._places] if isinstance(self.level, tuple) else bounds[:, 0]
