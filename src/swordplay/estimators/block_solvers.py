"""Coefficients of scaled columns from many rows at once: least squares for numbers, Newton's
method for log-odds.
"""

from __future__ import annotations

import itertools
from typing import Any, final

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.estimators.block import MEASURED_ROWS, Places, measure
from swordplay.estimators.block_choice import SEGMENTS, Solver, dense
from swordplay.estimators.tuning import THRESHOLDS

HUBER_STEPS = 30
"""At the most.

Each brings a Huber regression nearer by about the share of its rows that lie beyond the threshold.
"""
SETTLED = 1e-6
"""Changes below this share of the largest coefficient are none."""
NEWTON_STEPS = 30
"""At the most; with a penalty, from any start, some six are taken."""
TRIED, EXACT = 1e-3, 1e-9
"""Gain in loss a row that Newton's next step must promise to be taken: in trials, and in the
end.
"""
SHORTEST = 1e-4
"""Of a step of Newton's that was halved and halved again."""
INTERCEPT_PENALTY = 1e-5
"""Of log-odds: keeps those of a class that never came finite, at about -9.3."""
TRIED_ROWS = 4096
"""Rows, evenly spread over the past, that a trial of log-odds looks at."""
MOST_NUMBERS = 1 << 23
"""Entries of the table that log-odds are solved from in the end.

Of longer ones, rows are taken evenly.
"""
RAREST = 1e-15
"""Chances below this cost no more."""


def within(radius: float, coefficients: Matrix) -> Matrix:
    """Coefficients of each model projected on the ball."""
    lengths = np.linalg.norm(coefficients, axis=1, keepdims=True)
    return np.asarray(
        coefficients * np.divide(radius, lengths, out=np.ones_like(lengths), where=lengths > radius)
    )


@final
class LeastSquares(Solver):
    r"""Ridge regression of targets that are clipped at ten spreads, and Huber regression in the end
    where that is the loss.

    .. math:: \min_x \sum_t (\langle a_t, x\rangle - y_t)^2 + n \lambda \|x\|^2, \quad \text{without
        the intercept in the norm}

    Parameters
    ----------
    rows, places
        See :class:`Solver`.
    targets
        Shape ``(T,)``.
    loss
        ``"squared"`` or ``"huber"``.
    radius
        Of the ball of coefficients, in spreads of the target.
    """

    def __init__(
        self, rows: Any, places: Places, targets: Vector, loss: str, radius: float
    ) -> None:
        super().__init__(rows, places)
        clip = THRESHOLDS["squared"]
        center, spread = (
            float(found[0])
            for found in measure(targets[:: max(1, len(targets) // MEASURED_ROWS), None], clip)
        )
        if spread == 0.0:  # one value in all the rows that were looked at
            spread = float(np.std(targets))
        usual = np.clip(targets, center - clip * spread, center + clip * spread)
        self.level = float(usual.mean())
        self.targets = targets - self.level
        self.usual = usual - self.level
        self.threshold = THRESHOLDS[loss] * spread
        self.loss_name, self.radius = loss, radius * spread
        self._sum_up()

    def _sum_up(self) -> None:
        """Products of all columns with each other and with the targets, of the segments before
        each edge.
        """
        width = self.places.width
        self.products, self.moments = (
            np.zeros((SEGMENTS + 1, width, width)),
            np.zeros((SEGMENTS + 1, width)),
        )
        for k, (first, last) in enumerate(itertools.pairwise(self.edges)):
            part = self.places.scale(dense(self.rows, first, last))
            self.products[k + 1] = self.products[k] + part.T @ part
            self.moments[k + 1] = self.moments[k] + part.T @ self.usual[first:last]

    def solve(self, low: int, high: int, penalty: float, start: Matrix | None = None) -> Matrix:
        """From the products alone: no row is looked at again."""
        return self._solve(low, high, penalty, self.moments[high] - self.moments[low])

    def _solve(self, low: int, high: int, penalty: float, moments: Vector) -> Matrix:
        dim = len(self.places.centers)
        products = self.products[high] - self.products[low]
        products[range(dim), range(dim)] += penalty * max(1, self.edges[high] - self.edges[low])
        return within(self.radius, np.linalg.solve(products, moments)[None, :])

    def finish(self, low: int, penalty: float) -> Matrix:
        """Huber regression: least squares to targets whose residuals are clipped, again and
        again.
        """
        found = self.solve(low, SEGMENTS, penalty)
        if self.loss_name != "huber":
            return found
        for _ in range(HUBER_STEPS):
            moments = np.zeros(self.places.width)
            for first, last in itertools.pairwise(self.edges[low:]):
                part = self.places.scale(dense(self.rows, first, last))
                said = part @ found[0]
                moments += part.T @ (
                    said + np.clip(self.targets[first:last] - said, -self.threshold, self.threshold)
                )
            before, found = found, self._solve(low, SEGMENTS, penalty, moments)
            if np.abs(found - before).max() <= SETTLED * np.abs(found).max():
                break
        return found

    def is_complete(self, low: int) -> bool:
        """No, if the targets only rise or only fall: rows that are sorted by their target are in
        no order of time.
        """
        steps = np.diff(self.targets)
        return bool((steps > 0.0).any() and (steps < 0.0).any())

    def loss(self, scores: Matrix, first: int, last: int) -> float:
        """Huber's, with the threshold of the model."""
        far = np.abs(scores[:, 0] - self.level - self.targets[first:last])
        near = np.minimum(far, self.threshold)
        return float(np.mean(near * (far - 0.5 * near)))


@final
class LogOdds(Solver):
    r"""Logistic regression for each of K models, or for the second of two classes.

    .. math:: \min_x \sum_t \log(1 + e^{-s_t \langle a_t, x\rangle}) + \tfrac n2 \lambda \|x\|^2

    Parameters
    ----------
    rows, places
        See :class:`Solver`.
    labels
        0..K-1, shape ``(T,)``.
    classes
        K.
    radius
        Of the ball of coefficients.
    """

    def __init__(self, rows: Any, places: Places, labels: Any, classes: int, radius: float) -> None:
        super().__init__(rows, places)
        self.labels, self.told = labels, [1] if classes == 2 else list(range(classes))
        self.radius = radius

    def solve(self, low: int, high: int, penalty: float, start: Matrix | None = None) -> Matrix:
        """From rows taken evenly, to the precision of a trial."""
        return self._solve(low, high, penalty, start, TRIED_ROWS, TRIED)

    def finish(self, low: int, penalty: float) -> Matrix:
        """From all rows, as long as they are not too many."""
        start = self.solve(low, SEGMENTS, penalty)
        return self._solve(
            low, SEGMENTS, penalty, start, max(1, MOST_NUMBERS // self.places.width), EXACT
        )

    def _solve(
        self, low: int, high: int, penalty: float, start: Matrix | None, most: int, enough: float
    ) -> Matrix:
        first, last = self.edges[low], self.edges[high]
        step = -(-max(1, last - first) // most)
        part, labels = (
            self.places.scale(dense(self.rows, first, last, step)),
            self.labels[first:last:step],
        )
        costs = np.full(self.places.width, penalty)
        costs[len(self.places.centers) :] = INTERCEPT_PENALTY
        found = np.zeros((len(self.told), self.places.width)) if start is None else start.copy()
        for k, label in enumerate(self.told):
            found[k] = newton(
                part, (labels == label).astype(np.float64), len(part) * costs, found[k], enough
            )
        return within(self.radius, found)

    def is_complete(self, low: int) -> bool:
        """Whether every class comes from segment ``low`` on."""
        return len(np.unique(self.labels[self.edges[low] :])) == len(np.unique(self.labels))

    def loss(self, scores: Matrix, first: int, last: int) -> float:
        """Of the label's chance, divided by the sum of all where there are several models."""
        labels = self.labels[first:last]
        if len(self.told) == 1:
            return float(
                np.mean(
                    np.minimum(
                        np.logaddexp(0.0, np.where(labels == 1, -1.0, 1.0) * scores[:, 0]),
                        -np.log(RAREST),
                    )
                )
            )
        chances = np.exp(-np.logaddexp(0.0, -scores))
        chance = chances[range(len(labels)), labels] / np.maximum(
            chances.sum(axis=1), np.finfo(float).tiny
        )
        return float(-np.mean(np.log(np.maximum(chance, RAREST))))


def newton(rows: Matrix, truths: Vector, costs: Vector, start: Vector, enough: float) -> Vector:
    """Log-odds of truths (0 and 1) by Newton's method; a step that does not pay is halved.

    Parameters
    ----------
    rows, truths
        Shapes ``(n, w)`` and ``(n,)``.
    costs
        Of half the square of each coefficient, all positive, shape ``(w,)``.
    start
        Shape ``(w,)``.
    enough
        The gain per row that the next step must promise to be taken.
    """

    def total(scores: Vector, point: Vector) -> float:
        return float(np.sum(np.logaddexp(0.0, scores) - truths * scores) + 0.5 * costs @ point**2)

    point, scores = start, rows @ start
    value = total(scores, point)
    for _ in range(NEWTON_STEPS):
        chances = np.exp(-np.logaddexp(0.0, -scores))
        gradient = rows.T @ (chances - truths) + costs * point
        curvature = (rows * (chances * (1.0 - chances))[:, None]).T @ rows
        curvature[range(len(costs)), range(len(costs))] += costs
        step = np.linalg.solve(curvature, gradient)
        promise, share = 0.5 * float(gradient @ step), 1.0
        if promise <= enough * len(rows):
            break
        ahead = point - step
        while (
            reached := total(rows @ ahead, ahead)
        ) > value - 0.5 * share * promise and share > SHORTEST:
            share *= 0.5
            ahead = point - share * step
        if reached >= value:
            break
        point, scores, value = ahead, rows @ ahead, reached
    return point
