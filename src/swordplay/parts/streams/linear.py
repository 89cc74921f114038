"""Tables of rows and targets as streams of losses of a linear prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, final, get_args

import numpy as np
from numpy.typing import NDArray

from swordplay.core import arguments
from swordplay.core.types import Array, Domain, Loss, Matrix, Vector
from swordplay.parts.losses import HuberLoss, LinearLoss, LogisticLoss, PinballLoss, SquaredLoss

LossName = Literal["squared", "logistic", "huber"]
"""Losses that a planted comparator answers for."""

CHUNK_NUMBERS = 1 << 22
"""Entries of a sparse table that are written out at a time."""

_FAMILIES: dict[str, type[LinearLoss]] = {
    "squared": SquaredLoss,
    "logistic": LogisticLoss,
    "huber": HuberLoss,
    "pinball": PinballLoss,
}

_STEEPNESS: dict[str, Callable[[Vector, float], Vector]] = {
    "squared": lambda values, threshold: np.sqrt(2.0 * values),  # |r| from r^2 / 2
    "huber": lambda values, threshold: np.minimum(np.sqrt(2.0 * values), threshold),
    "logistic": lambda values, threshold: -np.expm1(-values),  # the share of the wrong label
}
"""Magnitude of the slope of φ where φ has given values, by family.

The second argument is Huber's threshold.
"""

CHUNK = 1024
"""Sparse rows whose squares are formed at once."""


class LinearStream:
    r"""A table as a stream: row t is the loss :math:`f_t(x) = \varphi(\langle a_t, x \rangle,
    y_t)`.

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
        Where the Huber loss turns linear.
    level
        Which quantile the pinball loss asks for, between 0 and 1.
    on_bad
        What to do with a row that is not finite, or whose target is no label: ``"raise"`` names the
        first one and its column, ``"skip"`` leaves them out and lists them in ``skipped``.

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
        rows, self.dim = _two(self.features.shape)
        if rows != len(self.targets):
            raise ValueError(
                f"targets must have one entry per row of features ({rows}), got "
                f"{len(self.targets)}."
            )
        if self.dim == 0:
            raise ValueError("features must have at least one column, got none.")
        bad = self._bad_rows()
        self.skipped: Any = np.flatnonzero(bad) if on_bad == "skip" else np.empty(0, dtype=np.int64)
        """Numbers of the rows that were left out because something in them is not finite (or not
        a label).
        """
        if on_bad == "skip" and bad.any():
            self.features, self.targets = self.features[~bad], self.targets[~bad]
        elif bad.any():
            raise ValueError(self._complaint(int(bad.argmax())))

    def __repr__(self) -> str:
        return f"LinearStream(rounds={len(self)}, dim={self.dim}, loss={self.loss!r})"

    def __len__(self) -> int:
        return len(self.targets)

    def __iter__(self) -> Iterator[LinearLoss]:
        make = self.family.trusted
        for t, target in enumerate(self.targets.tolist()):
            yield make(self._row(t), target, **self._settings)

    def __getitem__(self, rows: slice) -> LinearStream:
        """Some of the rounds, in order."""
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
        """The class of the losses."""
        return _FAMILIES[self.loss]

    @property
    def smoothness(self) -> float:
        """Smallest L that serves every round; infinite for the pinball loss."""
        if np.isinf(self.family.curvature):
            return np.inf
        return self.family.curvature * float(self._squared_norms().max(initial=0.0))

    def gradient_bound(self, domain: Domain) -> float:
        r"""Smallest G that serves every round: :math:`\max_t \|a_t\| \max_{x \in X}
        |\varphi'(\langle a_t, x \rangle, y_t)|`.

        Exact: a convex φ has its steepest slopes at the ends of the range of predictions, which the
        domain's support function gives.
        """
        low, high = np.empty(len(self)), np.empty(len(self))
        step = max(1, CHUNK_NUMBERS // self.dim)  # sparse rows are written out a few at a time
        for first in range(0, len(self), step):
            rows = self.features[first : first + step]
            dense = np.asarray(rows.toarray() if self.sparse else rows, dtype=np.float64)
            low[first : first + step], high[first : first + step] = (
                -domain.support(-dense),
                domain.support(dense),
            )
        steepest = np.maximum(np.abs(self._each("slope", low)), np.abs(self._each("slope", high)))
        return float((steepest * np.sqrt(self._squared_norms())).max(initial=0.0))

    def squared_norms(self) -> Vector:
        r""":math:`\|a_t\|^2`, shape ``(T,)``."""
        return self._squared_norms()

    def steepest(self, losses: Vector, squared_norms: Vector, predictions: Vector) -> float:
        """Norm of the longest gradient at decisions that had these losses and predictions, shapes
        ``(T,)``.

        The slope of φ follows from φ, but for the pinball loss, whose two slopes have values in
        common.
        """
        if self.loss == "pinball":
            slopes = np.abs(self._each("slope", predictions))
        else:
            slopes = _STEEPNESS[self.loss](np.asarray(losses, dtype=np.float64), self.threshold)
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
        """φ(z_t, y_t) for predictions z_t of shape ``(T,)``, however they were made."""
        return self._each("phi", predictions)

    def _each(self, what: Literal["phi", "slope"], predictions: Array) -> Vector:
        """φ or its slope, each round with its own target."""
        # The losses are elementwise in prediction and target, so one loss with all targets is all
        # losses at once.
        every = self.family.trusted(np.ones(1), self.targets, **self._settings)  # type: ignore[arg-type]
        function: Callable[[Array], Array] = getattr(every, what)
        return function(predictions)

    def _row(self, t: int) -> Vector:
        row = self.features[[t]].toarray()[0] if self.sparse else self.features[t]
        clean = np.asarray(row, dtype=np.float64).view()
        clean.flags.writeable = False  # the table is the user's
        return clean

    def _squared_norms(self) -> Vector:
        if self.sparse:
            return _squared_norms_of(self.features)
        return np.asarray(np.einsum("ij,ij->i", self.features, self.features, dtype=np.float64))

    def _bad_rows(self) -> NDArray[np.bool_]:
        """Which rows cannot be played."""
        bad = ~np.isfinite(self.targets)
        if self.loss == "logistic":
            bad |= ~np.isin(self.targets, (0.0, 1.0))
        if not self.sparse:
            return np.asarray(bad | ~np.isfinite(self.features).all(axis=1))
        entries = np.repeat(np.arange(len(bad)), np.diff(self.features.indptr))
        bad[entries[~np.isfinite(self.features.data)]] = True
        return np.asarray(bad)

    def _complaint(self, row: int) -> str:
        """What is wrong with a row."""
        entries = self._row(row)
        if not np.isfinite(entries).all():
            column = int((~np.isfinite(entries)).argmax())
            what = f"features must be finite, got {entries[column]} in row {row}, column {column}"
        elif not np.isfinite(self.targets[row]):
            what = f"targets must be finite, got {self.targets[row]} in row {row}"
        else:
            what = (
                f"targets must be 0 or 1 for the logistic loss, got {self.targets[row]} in row "
                f"{row}"
            )
        return f"{what}. Repair the row, or leave such rows out with on_bad='skip'."


def _real_csr(value: Any) -> Any:
    """A CSR matrix of floats whose indices lie inside it.

    Scipy itself does not look, and the engine must not stumble.
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
    """A two-dimensional array of real numbers in its own order, and in single precision if it
    came so: no copy.
    """
    raw = arguments.without_mask("features", value)
    if raw.dtype.kind not in "fiub":
        raise TypeError(
            f"features must hold real numbers, got dtype {raw.dtype}. Convert it to float first."
        )
    return raw if raw.dtype == np.float32 else np.asarray(raw, dtype=np.float64)


def _real_column(value: Any) -> Vector:
    """A one-dimensional array of doubles."""
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


def _two(shape: tuple[int, ...]) -> tuple[int, int]:
    """Rows and columns of a table."""
    if len(shape) != 2:
        raise ValueError(f"features must have shape (T, d), got {shape}. Give one row per round.")
    return shape[0], shape[1]


def _squared_norms_of(table: Any) -> Vector:
    """Squared norm of each row of a CSR matrix, some rows at a time: the squares of all at once
    would not stay near.
    """
    if (
        not table.has_canonical_format
    ):  # entries that stand twice are added up before they are squared
        table = table.copy()
        table.sum_duplicates()
    answer = np.zeros(table.shape[0])
    starts = table.indptr
    for first in range(0, len(answer), CHUNK):
        last = min(first + CHUNK, len(answer))
        entries = table.data[starts[first] : starts[last]]
        filled = first + np.flatnonzero(np.diff(starts[first : last + 1]))
        if len(filled):
            with np.errstate(
                over="ignore"
            ):  # rows of such numbers are refused by whoever plays them
                squares = np.multiply(entries, entries, dtype=np.float64)
                answer[filled] = np.add.reduceat(squares, starts[filled] - starts[first])
    return answer


@final
class PlantedStream(LinearStream):
    """A linear stream with the domain it is meant for and a comparator sequence worth tracking.

    Parameters
    ----------
    features, targets, loss, threshold
        As in :class:`LinearStream`.
    domain
        Where decisions live.
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
        arguments.one_of(
            "loss", loss, get_args(LossName)
        )  # of the pinball loss, no comparator is planted
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


FAMILIES = (SquaredLoss, LogisticLoss, HuberLoss)
"""Losses whose φ works element by element in prediction and target alike."""


@dataclass(frozen=True)
class Rows:
    r"""Rounds :math:`f_t(x) = \varphi(\langle a_t, x \rangle, y_t)` that share φ.

    Attributes
    ----------
    features
        :math:`a_t` as rows, shape ``(T, d)``: dense, or scipy CSR.
    targets
        :math:`y_t`, shape ``(T,)``, or ``(B, m)`` once the rounds are folded into blocks.
    family
        Any loss of the family: it lends its φ.
    """

    features: Any
    targets: Array
    family: LinearLoss

    @classmethod
    def of_stream(cls, stream: LinearStream) -> Rows:
        """The rounds of a stream that has at least one."""
        features = stream.features.astype(np.float64) if stream.sparse else stream.features
        return cls(features, stream.targets, next(iter(stream[:1])))

    @classmethod
    def of_losses(cls, losses: Sequence[Loss]) -> Rows | None:
        """The rounds of a list, if they are of one family and width."""
        first = losses[0]
        if not isinstance(first, FAMILIES) or any(type(loss) is not type(first) for loss in losses):
            return None
        # because their type was just compared
        alike: list[LinearLoss] = list(losses)  # type: ignore[arg-type]
        if any(loss.dim != first.dim or _settings(loss) != _settings(first) for loss in alike):
            return None
        features = np.array([loss.features for loss in alike])
        return cls(features, np.array([loss.target for loss in alike]), first)

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, rows: slice) -> Rows:
        return Rows(self.features[rows], self.targets[rows], self.family)

    @property
    def dim(self) -> int:
        """Number of coordinates d."""
        return int(self.features.shape[-1])

    @property
    def sparse(self) -> bool:
        """Whether the features are a scipy matrix."""
        return not isinstance(self.features, np.ndarray)

    def dense(self) -> Rows:
        """The same rounds with a dense array of features."""
        return Rows(self.features.toarray(), self.targets, self.family) if self.sparse else self

    def predictions(self, points: Vector | Matrix) -> Vector:
        r""":math:`\langle a_t, x_t \rangle` at points of shape ``(T, d)``, or at one point
        ``(d,)``.
        """
        return (
            np.asarray(self.features @ points) if points.ndim == 1 else inner(self.features, points)
        )

    def values(self, predictions: Array) -> Array:
        """φ, each round with its own target."""
        return self._every.phi(predictions)

    def slopes(self, predictions: Array) -> Array:
        """Derivative of φ, each round with its own target."""
        return self._every.slope(predictions)

    @property
    def _every(self) -> LinearLoss:
        # φ is elementwise, so one loss that holds all the targets is all the losses at once.
        every = copy(self.family)
        every.target = self.targets  # type: ignore[assignment]  # an array for a number, on purpose
        return every


def inner(left: Any, right: Any) -> Vector:
    """Inner products of row with row, dense or sparse."""
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", left, right))
    sparse, other = (right, left) if isinstance(left, np.ndarray) else (left, right)
    return np.asarray(sparse.multiply(other).sum(axis=1), dtype=np.float64).ravel()


def _settings(loss: LinearLoss) -> float | None:
    return loss.threshold if isinstance(loss, HuberLoss) else None
