"""Solvers of coefficients from many rows: ridge and Huber regression, logistic regression."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from typing import Annotated, Any, NamedTuple, final

import numpy as np

from swordplay.core.arguments import LARGEST_INPUT
from swordplay.core.state import array, number
from swordplay.core.types import Matrix, Vector
from swordplay.estimators.column_scaler import ColumnStats
from swordplay.estimators.model_settings import THRESHOLDS

SEGMENTS = 16
"""A table is cut into so many equal segments; candidates are fitted to ranges of whole segments."""
MEASURED_ROWS = 4096
"""Rows, evenly spread over the table, from which centres and spreads are computed."""
MAD_TO_SPREAD = 1.4826
"""Standard deviation of a normal variable over its median absolute deviation."""
MIN_SPREAD = np.finfo(np.float64).tiny
"""Least positive spread: dividing by anything smaller may overflow."""
CLIP_FACTOR = 2.0
"""Scaled entries are clipped this many times farther out than in a stream.

Among all rows of a table a single outlier has less effect than in the latest rows of a stream.
"""
HUBER_STEPS = 30
"""Largest number of steps of Huber regression.

Each step multiplies the error by about the share of rows whose residual is beyond the threshold.
"""
HUBER_TOLERANCE = 1e-6
"""Huber regression stops when no coefficient changes by more than this share of the largest."""
NEWTON_STEPS = 30
"""Largest number of Newton steps; with a penalty, about six suffice from any start."""
TRIAL_GAIN = 1e-3
"""When candidates are compared, Newton's method stops below this predicted gain per row."""
FINAL_GAIN = 1e-9
"""For the coefficients that are used, Newton's method stops below this predicted gain per row."""
MIN_NEWTON_SHARE = 1e-4
"""Smallest share of a Newton step that the line search tries."""
INTERCEPT_PENALTY = 1e-5
"""Ridge penalty of the intercept of log-odds, per row.

It keeps the intercept of a class that never occurs finite, at about -9.3.
"""
TRIAL_ROWS = 4096
"""Rows, evenly spread over a window, from which log-odds are solved to compare candidates."""
MAX_NUMBERS = 1 << 23
"""Entries of the table from which the final log-odds are solved; longer tables are thinned out."""
MIN_PROBABILITY = 1e-15
"""Probabilities are clipped here before their logarithm is taken."""
TARGET_CLIP = THRESHOLDS["squared"]
"""Targets are clipped at this many spreads, as far out as the threshold of a "squared" loss."""


class TableScaling(NamedTuple):
    """Centres and spreads of d columns over a whole table, to scale and clip rows."""

    centers: Annotated[Vector, array("columns", low=-LARGEST_INPUT, high=LARGEST_INPUT)]
    spreads: Annotated[Vector, array("columns", low=0.0, high=2.0 * LARGEST_INPUT)]
    """0 for a column that is constant."""
    clip: Annotated[float, number(0.0, np.inf)]
    """Scaled entries are clipped at this magnitude."""
    has_intercept: Annotated[int, number(0.0, 1.0, whole=True)]
    """1 to add a column of ones behind the scaled ones, else 0."""

    @property
    def width(self) -> int:
        """Number of scaled columns, that of ones included."""
        return len(self.centers) + int(self.has_intercept)

    def scale(self, rows: Matrix) -> Matrix:
        """Scale and clip rows of shape ``(T, d)``.

        Entries of constant columns and missing entries (NaN) become 0.
        """
        answer = np.ones((len(rows), self.width))
        scaled = answer[:, : len(self.centers)]
        np.subtract(rows, self.centers, out=scaled)
        scaled *= np.divide(
            1.0, self.spreads, out=np.zeros_like(self.spreads), where=self.spreads > 0.0
        )
        np.clip(scaled, -self.clip, self.clip, out=scaled)
        scaled[np.isnan(scaled)] = 0.0
        return answer


def table_scaling(columns: ColumnStats, lags: int, rows: Any) -> TableScaling:
    """Compute the scaling of a table that a model has learned.

    A column that is constant in all measured rows gets the centre and spread of the model, if the
    model has that column.

    Parameters
    ----------
    columns
        Running centres and spreads of the model's columns, those of its lags first.
    lags
        Number of lag columns, which the table does not have.
    rows
        The table, dense or CSR, shape ``(T, d)``.
    """
    dim = rows.shape[1]
    sample = dense_rows(rows, 0, rows.shape[0], max(1, rows.shape[0] // MEASURED_ROWS))
    if not columns.follow:
        root_mean_squares = np.sqrt(np.mean(np.nan_to_num(sample) ** 2, axis=0))
        return TableScaling(np.zeros(dim), root_mean_squares, np.inf, int(columns.intercept))
    centers, spreads = measure_columns(sample, columns.clip)
    model_centers, model_spreads = (
        np.append(known[lags:], np.zeros(dim - len(known) + lags)) for known in columns.places
    )
    is_constant = spreads == 0.0
    centers = np.where(is_constant, model_centers, centers)
    spreads = np.where(is_constant, model_spreads, spreads)
    return TableScaling(centers, spreads, CLIP_FACTOR * columns.clip, int(columns.intercept))


def measure_columns(columns: Matrix, clip: float) -> tuple[Vector, Vector]:
    """Return the median and the robust spread of each column, as ``engine.column_stats`` has them.

    The robust unit of a column is the upper median of the distances from its centre, times
    ``MAD_TO_SPREAD``; if more than half of the column is one value, the lower median of the other
    values' distances. The spread is the root mean square of the distances, each clipped at
    ``clip`` units. Missing entries (NaN) are left out; a column without any other entry has
    centre 0 and spread 0.
    """
    if np.isnan(columns).any():
        present = [column[~np.isnan(column)] for column in columns.T]
        found = [
            measure_columns(column[:, None], clip) if len(column) else (np.zeros(1), np.zeros(1))
            for column in present
        ]
        return (
            np.concatenate([center for center, _ in found]),
            np.concatenate([spread for _, spread in found]),
        )
    centers = np.median(columns, axis=0)
    distances = np.abs(columns - centers)
    middle = len(distances) // 2
    units = MAD_TO_SPREAD * np.partition(distances, middle, axis=0)[middle]
    for j in np.flatnonzero(units == 0.0):
        others = np.sort(distances[distances[:, j] > 0.0, j])
        units[j] = others[(len(others) - 1) // 2] if len(others) else 0.0
    return centers, np.sqrt(np.mean(np.minimum(distances, clip * units) ** 2, axis=0))


def dense_rows(rows: Any, first: int, last: int, step: int = 1) -> Matrix:
    """Return some rows of a dense or sparse table as an array."""
    part = rows[first:last:step]
    return part if isinstance(part, np.ndarray) else np.asarray(part.toarray())


class Solver(ABC):
    """Solves the coefficients of a range of segments, for one kind of loss.

    Parameters
    ----------
    rows
        The table, shape ``(T, d)``, dense or CSR.
    scaling
        Its scaling.
    """

    def __init__(self, rows: Any, scaling: TableScaling) -> None:
        self.rows, self.scaling = rows, scaling
        self.edges: list[int] = np.linspace(0, rows.shape[0], SEGMENTS + 1).astype(int).tolist()
        """First row of each segment, and the number of all rows."""
        self.level = 0.0
        """Constant that is added to all scores."""

    @abstractmethod
    def solve(self, low: int, high: int, penalty: float, start: Matrix | None) -> Matrix:
        """Return coefficients of segments ``low`` to ``high - 1``, shape ``(K, width)``.

        Their precision is enough to compare candidates. ``start`` may be used as a warm start.
        """

    @abstractmethod
    def finish(self, low: int, penalty: float) -> Matrix:
        """Return coefficients of the segments from ``low`` to the end, to full precision."""

    @abstractmethod
    def is_representative(self, low: int) -> bool:
        """Return whether the segments from ``low`` to the end may stand for rows to come."""

    @abstractmethod
    def loss(self, scores: Matrix, first: int, last: int) -> float:
        """Return the mean loss of scores, shape ``(last - first, K)``, on rows first to last-1."""

    def validation_loss(self, coefficients: Matrix, low: int, high: int) -> float:
        """Return the mean loss of coefficients on segments ``low`` to ``high - 1``."""
        first, last = self.edges[low], self.edges[high]
        scaled = self.scaling.scale(dense_rows(self.rows, first, last))
        return self.loss(scaled @ coefficients.T + self.level, first, last)


@final
class LeastSquares(Solver):
    r"""Ridge regression of clipped targets, finished by Huber regression if that is the loss.

    .. math:: \min_x \sum_t (\langle a_t, x\rangle - y_t)^2 + n \lambda \|x\|^2

    The norm leaves out the intercept; targets are clipped at ten spreads.

    Parameters
    ----------
    rows, scaling
        As in :class:`Solver`.
    targets
        Shape ``(T,)``.
    loss
        ``"squared"`` or ``"huber"``.
    radius
        Radius of the ball of coefficients, in spreads of the target.
    """

    def __init__(
        self, rows: Any, scaling: TableScaling, targets: Vector, loss: str, radius: float
    ) -> None:
        super().__init__(rows, scaling)
        sample = targets[:: max(1, len(targets) // MEASURED_ROWS), None]
        center, spread = (float(found[0]) for found in measure_columns(sample, TARGET_CLIP))
        if spread == 0.0:  # all sampled targets are equal
            spread = float(np.std(targets))
        reach = TARGET_CLIP * spread
        clipped = np.clip(targets, center - reach, center + reach)
        self.level = float(clipped.mean())
        self.targets = targets - self.level
        self.clipped_targets = clipped - self.level
        self.threshold = THRESHOLDS[loss] * spread
        """Residuals beyond this have a constant gradient (Huber loss)."""
        self.loss_name, self.radius = loss, radius * spread
        self._sum_products()

    def _sum_products(self) -> None:
        """Compute ``A'A`` and ``A'y`` of the segments before each edge, A the scaled rows."""
        width = self.scaling.width
        self.products = np.zeros((SEGMENTS + 1, width, width))
        self.moments = np.zeros((SEGMENTS + 1, width))
        for k, (first, last) in enumerate(itertools.pairwise(self.edges)):
            scaled = self.scaling.scale(dense_rows(self.rows, first, last))
            self.products[k + 1] = self.products[k] + scaled.T @ scaled
            self.moments[k + 1] = self.moments[k] + scaled.T @ self.clipped_targets[first:last]

    def solve(self, low: int, high: int, penalty: float, start: Matrix | None = None) -> Matrix:
        """Solve from the sums of products; no row is read again."""
        return self._solve(low, high, penalty, self.moments[high] - self.moments[low])

    def _solve(self, low: int, high: int, penalty: float, moments: Vector) -> Matrix:
        dim = len(self.scaling.centers)
        products = self.products[high] - self.products[low]
        products[range(dim), range(dim)] += penalty * max(1, self.edges[high] - self.edges[low])
        return project_on_ball(self.radius, np.linalg.solve(products, moments)[None, :])

    def finish(self, low: int, penalty: float) -> Matrix:
        """Solve, then refine by Huber regression if that is the loss.

        Each step of Huber regression is least squares to the predictions plus clipped residuals.
        """
        found = self.solve(low, SEGMENTS, penalty)
        if self.loss_name != "huber":
            return found
        for _ in range(HUBER_STEPS):
            moments = np.zeros(self.scaling.width)
            for first, last in itertools.pairwise(self.edges[low:]):
                scaled = self.scaling.scale(dense_rows(self.rows, first, last))
                predicted = scaled @ found[0]
                residuals = self.targets[first:last] - predicted
                moments += scaled.T @ (
                    predicted + np.clip(residuals, -self.threshold, self.threshold)
                )
            before, found = found, self._solve(low, SEGMENTS, penalty, moments)
            if np.abs(found - before).max() <= HUBER_TOLERANCE * np.abs(found).max():
                break
        return found

    def is_representative(self, low: int) -> bool:
        """Return whether targets both rise and fall: else rows are sorted by their targets."""
        steps = np.diff(self.targets)
        return bool((steps > 0.0).any() and (steps < 0.0).any())

    def loss(self, scores: Matrix, first: int, last: int) -> float:
        """Return the mean Huber loss with the threshold of the model."""
        sizes = np.abs(scores[:, 0] - self.level - self.targets[first:last])
        clipped = np.minimum(sizes, self.threshold)
        return float(np.mean(clipped * (sizes - 0.5 * clipped)))


@final
class LogOdds(Solver):
    r"""Logistic regression of each of K classes against the others; of the second if K = 2.

    .. math:: \min_x \sum_t \log(1 + e^{-s_t \langle a_t, x\rangle}) + \tfrac n2 \lambda \|x\|^2

    Parameters
    ----------
    rows, scaling
        As in :class:`Solver`.
    labels
        Classes 0 to K - 1, shape ``(T,)``.
    classes
        K.
    radius
        Radius of the ball of coefficients.
    """

    def __init__(
        self, rows: Any, scaling: TableScaling, labels: Any, classes: int, radius: float
    ) -> None:
        super().__init__(rows, scaling)
        self.labels = labels
        self.predicted_classes = [1] if classes == 2 else list(range(classes))
        """The class of each score."""
        self.radius = radius

    def solve(self, low: int, high: int, penalty: float, start: Matrix | None = None) -> Matrix:
        """Solve from at most ``TRIAL_ROWS`` rows, up to a gain of ``TRIAL_GAIN``."""
        return self._solve(low, high, penalty, start, TRIAL_ROWS, TRIAL_GAIN)

    def finish(self, low: int, penalty: float) -> Matrix:
        """Solve from at most ``MAX_NUMBERS`` entries, up to a gain of ``FINAL_GAIN``."""
        start = self.solve(low, SEGMENTS, penalty)
        max_rows = max(1, MAX_NUMBERS // self.scaling.width)
        return self._solve(low, SEGMENTS, penalty, start, max_rows, FINAL_GAIN)

    def _solve(
        self,
        low: int,
        high: int,
        penalty: float,
        start: Matrix | None,
        max_rows: int,
        min_gain: float,
    ) -> Matrix:
        first, last = self.edges[low], self.edges[high]
        step = -(-max(1, last - first) // max_rows)
        scaled = self.scaling.scale(dense_rows(self.rows, first, last, step))
        labels = self.labels[first:last:step]
        penalties = np.full(self.scaling.width, penalty)
        penalties[len(self.scaling.centers) :] = INTERCEPT_PENALTY
        shape = (len(self.predicted_classes), self.scaling.width)
        found = np.zeros(shape) if start is None else start.copy()
        for k, label in enumerate(self.predicted_classes):
            is_class = (labels == label).astype(np.float64)
            found[k] = newton(scaled, is_class, len(scaled) * penalties, found[k], min_gain)
        return project_on_ball(self.radius, found)

    def is_representative(self, low: int) -> bool:
        """Return whether every class occurs from segment ``low`` on."""
        return len(np.unique(self.labels[self.edges[low] :])) == len(np.unique(self.labels))

    def loss(self, scores: Matrix, first: int, last: int) -> float:
        """Return the mean log loss; probabilities of three or more classes are normalised."""
        labels = self.labels[first:last]
        if len(self.predicted_classes) == 1:
            signs = np.where(labels == 1, -1.0, 1.0)
            log_losses = np.logaddexp(0.0, signs * scores[:, 0])
            return float(np.mean(np.minimum(log_losses, -np.log(MIN_PROBABILITY))))
        one_vs_rest = np.exp(-np.logaddexp(0.0, -scores))
        of_labels = one_vs_rest[range(len(labels)), labels] / np.maximum(
            one_vs_rest.sum(axis=1), np.finfo(float).tiny
        )
        return float(-np.mean(np.log(np.maximum(of_labels, MIN_PROBABILITY))))


def project_on_ball(radius: float, coefficients: Matrix) -> Matrix:
    """Project each row of coefficients on the ball around 0."""
    lengths = np.linalg.norm(coefficients, axis=1, keepdims=True)
    return np.asarray(
        coefficients * np.divide(radius, lengths, out=np.ones_like(lengths), where=lengths > radius)
    )


def newton(
    rows: Matrix, truths: Vector, penalties: Vector, start: Vector, min_gain: float
) -> Vector:
    """Minimise the logistic loss of truths (0 and 1) by Newton's method with a line search.

    Parameters
    ----------
    rows, truths
        Shapes ``(n, w)`` and ``(n,)``.
    penalties
        Factor of half the square of each coefficient, all positive, shape ``(w,)``.
    start
        Coefficients to start from, shape ``(w,)``.
    min_gain
        The method stops when the next step is predicted to gain less than this per row.
    """

    def objective(scores: Vector, point: Vector) -> float:
        losses = np.logaddexp(0.0, scores) - truths * scores
        return float(np.sum(losses) + 0.5 * penalties @ point**2)

    point, scores = start, rows @ start
    value = objective(scores, point)
    for _ in range(NEWTON_STEPS):
        probabilities = np.exp(-np.logaddexp(0.0, -scores))
        gradient = rows.T @ (probabilities - truths) + penalties * point
        # Hessian: rows' diag(p (1 - p)) rows + diag(penalties)
        hessian = (rows * (probabilities * (1.0 - probabilities))[:, None]).T @ rows
        hessian[range(len(penalties)), range(len(penalties))] += penalties
        step = np.linalg.solve(hessian, gradient)
        predicted_gain = 0.5 * float(gradient @ step)
        if predicted_gain <= min_gain * len(rows):
            break
        # Armijo rule: half of the predicted gain must be reached, else the step is halved
        share = 1.0
        candidate = point - step
        while (
            reached := objective(rows @ candidate, candidate)
        ) > value - 0.5 * share * predicted_gain and share > MIN_NEWTON_SHARE:
            share *= 0.5
            candidate = point - share * step
        if reached >= value:
            break
        point, scores, value = candidate, rows @ candidate, reached
    return point
