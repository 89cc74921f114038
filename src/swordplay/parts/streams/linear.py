"""Tables of rows and targets as streams of losses of a linear prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final, get_args

import numpy as np
from numpy.typing import NDArray

from swordplay.core import arguments
from swordplay.core.types import Array, Domain, Loss, Matrix, Vector
from swordplay.parts.losses import HuberLoss, LinearLoss, LogisticLoss, PinballLoss, SquaredLoss

LossName = Literal["squared", "logistic", "huber"]
"""Losses that a :class:`PlantedStream` may have."""

DENSE_ENTRIES = 1 << 22
"""Number of entries of the blocks in which a table is processed as dense arrays of float64."""

_FAMILIES: dict[str, type[LinearLoss]] = {
    "squared": SquaredLoss,
    "logistic": LogisticLoss,
    "huber": HuberLoss,
    "pinball": PinballLoss,
}

_SLOPE_OF_VALUE: dict[str, Callable[[Vector, float], Vector]] = {
    "squared": lambda values, threshold: np.sqrt(2.0 * values),  # |r| from r^2 / 2
    "huber": lambda values, threshold: np.minimum(np.sqrt(2.0 * values), threshold),
    # 1 - e^-value: the probability that was given to the other label
    "logistic": lambda values, threshold: -np.expm1(-values),
}
"""|φ'| as a function of the value of φ, and of the threshold of the Huber loss; by loss name."""

ROWS_PER_BLOCK = 1024
"""Number of sparse rows whose entries are squared at a time."""

BATCHED_LOSSES = (SquaredLoss, LogisticLoss, HuberLoss)
"""Losses whose φ accepts an array of targets beside an array of predictions."""


class LinearStream:
    r"""A table as a stream: row t is the loss of a linear prediction.

    .. math:: f_t(x) = \varphi(\langle a_t, x \rangle, y_t)

    Parameters
    ----------
    features
        :math:`a_t` as rows, shape ``(T, d)``: a dense array (any order, any real dtype) or a scipy
        sparse matrix.
    targets
        :math:`y_t`, shape ``(T,)``.
    loss
        ``"squared"``, ``"logistic"`` (targets 0 or 1), ``"huber"`` or ``"pinball"``.
    threshold
        Residual at which the Huber loss turns linear.
    level
        Quantile of the pinball loss, between 0 and 1.
    on_bad
        Treatment of rows that are not finite, or whose target is not a label: ``"raise"`` raises an
        error that names the first one and its column, ``"skip"`` leaves them out and lists them in
        ``skipped``.

    Examples
    --------
    >>> stream = LinearStream([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
    >>> [float(loss.value([0.0, 0.0])) for loss in stream]
    [0.5, 0.5]
    """

    def __init__(
        self,
        features: Any,
        targets: Any,
        loss: LossName | Literal["pinball"] = "squared",
        *,
        threshold: float = 1.0,
        level: float = 0.5,
        on_bad: Literal["raise", "skip"] = "raise",
    ) -> None:
        arguments.one_of("loss", loss, _FAMILIES)
        if not isinstance(on_bad, str) or on_bad not in ("raise", "skip"):
            raise ValueError(
                f"on_bad must be 'raise' or 'skip', got {arguments.short_repr(on_bad)}."
            )
        self.loss: LossName | Literal["pinball"] = loss
        self.threshold = arguments.positive("threshold", threshold)
        self.level = arguments.fraction("level", level)
        self._settings = {
            "huber": {"threshold": self.threshold},
            "pinball": {"level": self.level},
        }.get(loss, {})
        self.sparse = hasattr(features, "tocsr")
        """Whether ``features`` is a scipy CSR matrix."""
        self.features: Any = _real_csr(features) if self.sparse else _real_table(features)
        if self.features.dtype.kind not in "fiub":
            raise TypeError(
                f"features must hold real numbers, got dtype {self.features.dtype}. Convert it to "
                "float first."
            )
        self.targets: Vector = _real_column(targets)
        row_count, self.dim = _rows_and_columns(self.features.shape)
        if row_count != len(self.targets):
            raise ValueError(
                f"targets must have one entry per row of features ({row_count}), got "
                f"{len(self.targets)}."
            )
        if self.dim == 0:
            raise ValueError("features must have at least one column, got none.")
        is_bad = self._bad_rows()
        self.skipped: Any = (
            np.flatnonzero(is_bad) if on_bad == "skip" else np.empty(0, dtype=np.int64)
        )
        """Indices of the rows that were left out: not finite, or a target that is not a label."""
        if on_bad == "skip" and is_bad.any():
            self.features, self.targets = self.features[~is_bad], self.targets[~is_bad]
        elif is_bad.any():
            raise ValueError(self._bad_row_message(int(is_bad.argmax())))

    def __repr__(self) -> str:
        return f"LinearStream(rounds={len(self)}, dim={self.dim}, loss={self.loss!r})"

    def __len__(self) -> int:
        return len(self.targets)

    def __iter__(self) -> Iterator[LinearLoss]:
        make = self.family.trusted
        for t, target in enumerate(self.targets.tolist()):
            yield make(self._row(t), target, **self._settings)

    def __getitem__(self, rows: slice) -> LinearStream:
        """Return the stream of a slice of the rounds."""
        if not isinstance(rows, slice):
            raise TypeError(
                f"rows must be a slice such as stream[100:200], got {arguments.short_repr(rows)}."
            )
        return LinearStream(
            self.features[rows],
            self.targets[rows],
            self.loss,
            threshold=self.threshold,
            level=self.level,
        )

    @property
    def family(self) -> type[LinearLoss]:
        """Class of the losses."""
        return _FAMILIES[self.loss]

    @property
    def smoothness(self) -> float:
        """Largest smoothness L of a round; infinite for the pinball loss."""
        if np.isinf(self.family.curvature):
            return np.inf
        return self.family.curvature * float(self.squared_norms().max(initial=0.0))

    def gradient_bound(self, domain: Domain) -> float:
        r"""Largest norm G of a gradient of any round at any point of the domain.

        .. math:: G = \max_t \|a_t\| \max_{x \in X} |\varphi'(\langle a_t, x \rangle, y_t)|

        The value is exact: a convex φ is steepest at an end of the range of predictions, and the
        support function of the domain gives both ends.
        """
        low, high = np.empty(len(self)), np.empty(len(self))  # of the predictions <a_t, x>
        block_length = max(1, DENSE_ENTRIES // self.dim)
        for start in range(0, len(self), block_length):
            block = slice(start, start + block_length)
            rows = self.features[block]
            dense = np.asarray(rows.toarray() if self.sparse else rows, dtype=np.float64)
            low[block], high[block] = -domain.support(-dense), domain.support(dense)
        steepest_slopes = np.maximum(
            np.abs(self._evaluate("slope", low)), np.abs(self._evaluate("slope", high))
        )
        return float((steepest_slopes * np.sqrt(self.squared_norms())).max(initial=0.0))

    def squared_norms(self) -> Vector:
        r""":math:`\|a_t\|^2`, shape ``(T,)``."""
        if self.sparse:
            return _sparse_squared_norms(self.features)
        return np.asarray(np.einsum("ij,ij->i", self.features, self.features, dtype=np.float64))

    def steepest(self, losses: Vector, squared_norms: Vector, predictions: Vector) -> float:
        """Largest norm of a gradient at decisions, from their losses and predictions.

        The slope of φ is computed from the value of φ; for the pinball loss, whose value does not
        determine the slope, from the prediction.

        Parameters
        ----------
        losses, squared_norms, predictions
            f_t(x_t), squared norms of the rows, and predictions of the decisions, shapes ``(T,)``.
        """
        if self.loss == "pinball":
            slopes = np.abs(self._evaluate("slope", predictions))
        else:
            slopes = _SLOPE_OF_VALUE[self.loss](
                np.asarray(losses, dtype=np.float64), self.threshold
            )
        return float((slopes * np.sqrt(squared_norms)).max(initial=0.0))

    def values(self, decisions: Matrix) -> Vector:
        """f_t(x_t) for decisions of shape ``(T, d)``, or one decision ``(d,)`` for all rounds."""
        decisions = arguments.array("decisions", decisions)
        if decisions.shape not in ((self.dim,), (len(self), self.dim)):
            raise ValueError(
                f"decisions must have shape ({len(self)}, {self.dim}) or ({self.dim},), got "
                f"{decisions.shape}."
            )
        if decisions.ndim == 1:
            predictions = np.asarray(self.features @ decisions)
        elif self.sparse:
            predictions = np.asarray(self.features.multiply(decisions).sum(axis=1)).ravel()
        else:
            predictions = np.einsum("ij,ij->i", self.features, decisions)
        return self.values_of(predictions)

    def values_of(self, predictions: Array) -> Vector:
        """φ(z_t, y_t) for predictions z_t of shape ``(T,)``."""
        return self._evaluate("phi", predictions)

    def _evaluate(self, method: Literal["phi", "slope"], predictions: Array) -> Vector:
        """Return the values or slopes of φ at one prediction per round, shape ``(T,)``."""
        # One loss with all targets: its features and own target are dummies, only φ is used.
        batched_loss = self.family.trusted(np.ones(1), 0.0, **self._settings).with_targets(
            self.targets
        )
        function: Callable[[Array], Array] = getattr(batched_loss, method)
        return function(predictions)

    def _row(self, t: int) -> Vector:
        """Return a_t as a dense read-only array, shape ``(d,)``."""
        row = self.features[[t]].toarray()[0] if self.sparse else self.features[t]
        view = np.asarray(row, dtype=np.float64).view()
        view.flags.writeable = False  # it may share memory with the user's table
        return view

    def _bad_rows(self) -> NDArray[np.bool_]:
        """Mask of the rows that are not finite or whose target is not a label."""
        is_bad = ~np.isfinite(self.targets)
        if self.loss == "logistic":
            is_bad |= ~np.isin(self.targets, (0.0, 1.0))
        if not self.sparse:
            return np.asarray(is_bad | ~np.isfinite(self.features).all(axis=1))
        row_of_entry = np.repeat(np.arange(len(is_bad)), np.diff(self.features.indptr))
        is_bad[row_of_entry[~np.isfinite(self.features.data)]] = True
        return np.asarray(is_bad)

    def _bad_row_message(self, row: int) -> str:
        """Return the error message for a bad row."""
        entries = self._row(row)
        if not np.isfinite(entries).all():
            column = int((~np.isfinite(entries)).argmax())
            problem = (
                f"features must be finite, got {entries[column]} in row {row}, column {column}"
            )
        elif not np.isfinite(self.targets[row]):
            problem = f"targets must be finite, got {self.targets[row]} in row {row}"
        else:
            problem = (
                f"targets must be 0 or 1 for the logistic loss, got {self.targets[row]} in row "
                f"{row}"
            )
        return f"{problem}. Repair the row, or leave such rows out with on_bad='skip'."


@final
class PlantedStream(LinearStream):
    """A linear stream with known comparators and the domain that they lie in.

    Parameters
    ----------
    features, targets, loss, threshold
        As in :class:`LinearStream`.
    domain
        X, the domain of decisions.
    comparators
        u_t, shape ``(T, d)``, all in the domain.
    """

    def __init__(
        self,
        features: Any,
        targets: Any,
        loss: LossName = "squared",
        *,
        domain: Domain,
        comparators: Any,
        threshold: float = 1.0,
    ) -> None:
        arguments.one_of("loss", loss, get_args(LossName))  # refuses the pinball loss
        super().__init__(features, targets, loss, threshold=threshold)
        self.domain = domain
        self.comparators: Matrix = arguments.array("comparators", comparators, ndim=2)
        if self.comparators.shape != (len(self), self.dim):
            raise ValueError(
                f"comparators must have shape ({len(self)}, {self.dim}), got "
                f"{self.comparators.shape}."
            )
        outside = np.flatnonzero(~domain.contains(self.comparators, atol=1e-9 * domain.diameter))
        if outside.size:
            raise ValueError(
                f"comparators must lie in the domain, got row {outside[0]} outside of {domain!r}. "
                "Project them first."
            )


@dataclass(frozen=True)
class LinearRounds:
    r"""Rounds with one φ, :math:`f_t(x) = \varphi(\langle a_t, x \rangle, y_t)`, as arrays.

    Attributes
    ----------
    features
        :math:`a_t` as rows, shape ``(T, d)``: dense, or scipy CSR.
    targets
        :math:`y_t`, shape ``(T,)``.
    loss
        One of the losses, no matter which: only its φ is used, with the targets of all.

    Notes
    -----
    ``theory.hindsight.descent`` also makes B blocks of m rounds, with features ``(B, m, d)`` and
    targets ``(B, m)``. Of these, ``values`` and ``slopes`` take and return shape ``(B, m)``; the
    length is B, and ``predictions`` cannot be used.
    """

    features: Any
    targets: Array
    loss: LinearLoss

    @classmethod
    def of_stream(cls, stream: LinearStream) -> LinearRounds:
        """Return the rounds of a stream, which must have at least one."""
        features = stream.features.astype(np.float64) if stream.sparse else stream.features
        return cls(features, stream.targets, next(iter(stream[:1])))

    @classmethod
    def of_losses(cls, losses: Sequence[Loss]) -> LinearRounds | None:
        """Return losses as arrays; None if they differ in class, dimension or threshold."""
        first = losses[0]
        if not isinstance(first, BATCHED_LOSSES):
            return None
        if any(type(loss) is not type(first) for loss in losses):
            return None
        # mypy does not follow the comparison of types above
        rounds: list[LinearLoss] = list(losses)  # type: ignore[arg-type]
        threshold = _threshold(first)
        if any(loss.dim != first.dim or _threshold(loss) != threshold for loss in rounds):
            return None
        features = np.array([loss.features for loss in rounds])
        return cls(features, np.array([loss.target for loss in rounds]), first)

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, rows: slice) -> LinearRounds:
        return LinearRounds(self.features[rows], self.targets[rows], self.loss)

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(self.features.shape[-1])

    @property
    def sparse(self) -> bool:
        """Whether the features are a scipy matrix."""
        return not isinstance(self.features, np.ndarray)

    def dense(self) -> LinearRounds:
        """Return the rounds with the features as a dense array."""
        return (
            LinearRounds(self.features.toarray(), self.targets, self.loss) if self.sparse else self
        )

    def predictions(self, points: Vector | Matrix) -> Vector:
        r""":math:`\langle a_t, x_t \rangle` at points ``(T, d)``, or at one point ``(d,)``."""
        return (
            np.asarray(self.features @ points)
            if points.ndim == 1
            else row_products(self.features, points)
        )

    def values(self, predictions: Array) -> Array:
        """φ(z_t, y_t) of each round, shape ``(T,)``."""
        return self.loss.with_targets(self.targets).phi(predictions)

    def slopes(self, predictions: Array) -> Array:
        """Derivative of φ in z_t of each round, shape ``(T,)``."""
        return self.loss.with_targets(self.targets).slope(predictions)


def row_products(left: Any, right: Any) -> Vector:
    """Inner product of each row of ``left`` with the same row of ``right``, dense or sparse."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", left, right))
    sparse_rows, other_rows = (right, left) if isinstance(left, np.ndarray) else (left, right)
    return np.asarray(sparse_rows.multiply(other_rows).sum(axis=1), dtype=np.float64).ravel()


def _threshold(loss: LinearLoss) -> float | None:
    """Return the threshold of a Huber loss, the only setting of ``BATCHED_LOSSES``."""
    return loss.threshold if isinstance(loss, HuberLoss) else None


def _rows_and_columns(shape: tuple[int, ...]) -> tuple[int, int]:
    """Check that a table has two axes and return their lengths."""
    if len(shape) != 2:
        raise ValueError(f"features must have shape (T, d), got {shape}. Give one row per round.")
    return shape[0], shape[1]


def _real_csr(value: Any) -> Any:
    """Convert a scipy matrix to CSR with floats, and check its indices.

    scipy does not check indices; with a wrong one the engine would read outside of its arrays.
    """
    arguments.check_sparse_indices("features", value)
    rows = value.tocsr()
    if rows.dtype.kind not in "fiub":
        raise TypeError(
            f"features must hold real numbers, got dtype {rows.dtype}. Convert it to float first."
        )
    arguments.check_sparse_indices("features", rows)
    return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)


def _real_table(value: Any) -> Any:
    """Check that features are real numbers; arrays of float64 and float32 are not copied."""
    raw = arguments.without_mask("features", value)
    if raw.dtype.kind not in "fiub":
        raise TypeError(
            f"features must hold real numbers, got dtype {raw.dtype}. Convert it to float first."
        )
    return raw if raw.dtype == np.float32 else np.asarray(raw, dtype=np.float64)


def _real_column(value: Any) -> Vector:
    """Check targets and convert them to a one-dimensional array of doubles."""
    raw = arguments.without_mask("targets", value)
    if raw.dtype.kind not in "fiub":
        raise TypeError(
            f"targets must hold real numbers, got dtype {raw.dtype}. Convert it to float first."
        )
    if raw.ndim != 1:
        raise ValueError(
            f"targets must have 1 dimension(s), got shape {raw.shape}. Give one number per row."
        )
    return np.asarray(raw, dtype=np.float64)


def _sparse_squared_norms(table: Any) -> Vector:
    """Squared norm of each row of a CSR matrix."""
    if not table.has_canonical_format:  # duplicate entries are summed before they are squared
        table = table.copy()
        table.sum_duplicates()
    norms = np.zeros(table.shape[0])
    row_starts = table.indptr
    # The squares of one block of rows stay in the cache of the processor.
    for start in range(0, len(norms), ROWS_PER_BLOCK):
        stop = min(start + ROWS_PER_BLOCK, len(norms))
        entries = table.data[row_starts[start] : row_starts[stop]]
        # np.add.reduceat sums between consecutive starts. Rows without entries are left out: it
        # would return a wrong sum for them.
        nonempty = start + np.flatnonzero(np.diff(row_starts[start : stop + 1]))
        if len(nonempty):
            with np.errstate(over="ignore"):  # learners refuse rows of an infinite norm
                squares = np.multiply(entries, entries, dtype=np.float64)
                norms[nonempty] = np.add.reduceat(squares, row_starts[nonempty] - row_starts[start])
    return norms
