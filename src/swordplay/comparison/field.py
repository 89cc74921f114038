"""A table made into the game that all participants play: the same scaled rows, the same domain,
the same losses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swordplay.core import arguments
from swordplay.core.types import Matrix, Vector
from swordplay.estimators.column_scaler import ColumnStats, TargetStats
from swordplay.estimators.model_settings import AUTO, THRESHOLDS
from swordplay.parts.domains import Ball
from swordplay.parts.streams import LinearStream

AS_IT_COMES: Mapping[str, Any] = {"lags": AUTO, "curves": AUTO}
"""What an estimator is told of lags and curves, if nothing is said."""
FEWEST_ROWS = 10
"""With fewer there is nothing to compare."""


class ParticipantPredictions(NamedTuple):
    """What a participant said about the rows, each before it was learned."""

    predictions: Vector
    """Numbers of a regression, or codes of classes; shape ``(T,)``.

    The first one is not looked at.
    """
    scores: Matrix | None
    """In the losses of the game, a column for each stream, shape ``(T, K)``.

    None where there are none, and so no regret.
    """


class Contest(NamedTuple):
    """Where a comparison takes place."""

    rows: Matrix
    """As they stand in the table, NaN where missing; shape ``(T, d)``."""
    targets: Any
    """Numbers of a regression, or codes of classes; shape ``(T,)``."""
    classes: int
    """How many classes there are; 0 for a regression."""
    domain: Ball
    streams: tuple[LinearStream, ...]
    """What is played: one stream, or one for each of three or more classes."""
    centers: Vector
    """Where the target of a regression was expected before each row."""
    unit: float
    """Losses of a regression are those of targets divided by this: their standard deviation."""
    widths: Mapping[int, int]
    """How many columns there are from a row on, for the first row and those where a column joins
    (a new category).
    """
    model: Mapping[str, Any] = AS_IT_COMES
    """Lags and curves of the estimator."""
    start: int | None = None
    """How many columns there are before the first row; None for as many as it has."""

    @property
    def smoothness(self) -> float:
        """L of all losses, known in hindsight."""
        return max(stream.smoothness for stream in self.streams)

    @property
    def gradient_bound(self) -> float:
        """G of all losses on the domain, known in hindsight."""
        return max(stream.gradient_bound(self.domain) for stream in self.streams)

    @property
    def estimator(self) -> str:
        """Name of the estimator for it."""
        return "SwordClassifier" if self.classes else "SwordRegressor"

    def head(self, rows: int) -> Contest:
        """The same game, its first rows only."""
        some = slice(rows)
        return self._replace(
            rows=self.rows[some],
            targets=self.targets[some],
            streams=tuple(stream[some] for stream in self.streams),
            centers=self.centers[some],
            widths={row: width for row, width in self.widths.items() if row < rows},
        )

    @property
    def debuts(self) -> NDArray[np.intp]:
        """Rows where a class is seen for the first time, ascending; none in a regression."""
        if not self.classes:
            return np.empty(0, dtype=np.intp)
        return np.sort(np.unique(self.targets, return_index=True)[1])

    def said(self, scores: Matrix) -> ParticipantPredictions:
        """What scores of shape ``(T, K)`` say."""
        if not self.classes:
            return ParticipantPredictions(scores[:, 0] * self.unit + self.centers, scores)
        guesses = scores[:, 0] > 0 if len(self.streams) == 1 else scores.argmax(axis=1)
        return ParticipantPredictions(guesses.astype(np.float64), scores)

    def scored(self, predictions: Vector) -> ParticipantPredictions:
        """Predictions of somebody who does not play the game.

        Those of a regression have their loss in it all the same.
        """
        if self.classes:
            return ParticipantPredictions(predictions, None)
        scores = (predictions - self.centers) / self.unit
        scores[0] = 0.0
        return ParticipantPredictions(predictions, scores[:, None])

    def mistakes(self, predictions: Vector) -> Vector:
        """What each row but the first cost, shape ``(T - 1,)``: squared errors of a regression, 1
        for a wrong label.

        Counted as ``swordplay track`` counts: nobody can predict the first row, and everybody errs
        on a class never seen.
        """
        if not self.classes:
            return np.asarray((predictions - self.targets)[1:] ** 2)
        wrong = predictions != self.targets
        wrong[self.debuts] = True
        return np.asarray(wrong[1:], dtype=np.float64)

    def error(self, mistakes: Vector) -> float:
        """RMSE of a regression, else the share of wrong labels."""
        mean = float(np.mean(mistakes))
        return mean if self.classes else float(np.sqrt(mean))


def field(
    rows: Any,
    targets: Any,
    classes: int = 0,
    *,
    radius: float = 8.0,
    widths: Mapping[int, int] | None = None,
) -> Contest:
    """Scale a table and make it the game of a comparison.

    Columns are scaled as the estimators scale them: by what was known before each row. Targets of a
    regression are taken relative to where they were expected and in units of their standard
    deviation.

    Parameters
    ----------
    rows
        Shape ``(T, d)``, NaN where an entry is missing.
    targets
        Shape ``(T,)``: numbers, or codes of classes 0..K-1.
    classes
        K; 0 for a regression.
    radius
        Of the ball where coefficients live.
    widths
        See ``Contest``; all columns are there from the first row unless given.
    """
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    if rows.ndim != 2 or len(rows) < FEWEST_ROWS:
        raise ValueError(
            f"rows must be a table of at least {FEWEST_ROWS} rows, got shape {rows.shape}. Give "
            "more of the stream."
        )
    radius = arguments.positive("radius", radius)
    widths = {0: rows.shape[1]} if widths is None else dict(widths)
    scaled, _ = ColumnStats(rows.shape[1]).scale_and_update(rows)
    domain = Ball(scaled.shape[1], radius)
    if classes:
        labels = np.asarray(targets, dtype=np.int64)
        positive = [1] if classes <= 2 else range(classes)
        streams = tuple(
            LinearStream(scaled, (labels == k).astype(np.float64), loss="logistic")
            for k in positive
        )
        return Contest(rows, labels, classes, domain, streams, np.zeros(len(rows)), 1.0, widths)
    targets = arguments.vector("targets", targets, len(rows))
    centers = TargetStats(THRESHOLDS["squared"]).track(targets)[:, 0]
    centers[0] = targets[0]  # nobody can tell before the first row, so nobody is charged for it
    unit = float(np.std(targets)) or 1.0
    stream = LinearStream(scaled, (targets - centers) / unit)
    return Contest(rows, targets, 0, domain, (stream,), centers, unit, widths)
