"""The coefficients that ``predict`` uses after ``fit``: candidates, validation and choice.

A stream ends with a decision for the next row. ``fit`` followed by ``predict`` asks for a whole
batch of rows to come, so ``fit`` also computes fixed coefficients (:class:`BatchCoefficients`).

The table is cut at five places. At each cut the candidates are: coefficients solved from all rows
before it, with several ridge penalties; coefficients solved from the last half, quarter and eighth
of the table; and the decision of the stream at that place. Each is validated on the eighth of the
table after the cut, which it has not seen. All rows are the default. A shorter window or the
decision of the stream is taken only if it is clearly better, which is evidence of drift.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from swordplay.core.arguments import LARGEST_INPUT
from swordplay.core.state import DAMAGED, MAX_ROUNDS, array, load, number, save, strip_prefix
from swordplay.core.types import Matrix, State, Vector
from swordplay.estimators.batch_solvers import MIN_SPREAD, SEGMENTS, Solver, TableScaling

CUTS = (6, 8, 10, 12, 14)
"""Number of segments before each cut."""
VALIDATION_SEGMENTS = 2
"""Segments after a cut on which candidates are validated."""
WINDOWS = (8, 4, 2)
"""Lengths of the shorter windows, in segments."""
PENALTIES = (1.0, 1e-1, 1e-2, 1e-3, 1e-5)
"""Candidates for the ridge penalty, per row, of the squared coefficients of scaled columns."""
PENALTY_TOLERANCE = 1.05
"""The least penalty is taken whose mean loss is at most this many times the lowest."""
MAX_MEAN_RATIO = 0.8
"""A clear winner has a mean loss below this share of that of all rows."""
MAX_CUT_RATIO = 1.1
"""A clear winner has after every cut a loss of at most this multiple of that of all rows."""
MIN_ROWS = 2 * SEGMENTS
"""Shorter tables are not cut; all rows are solved with ``DEFAULT_PENALTY``."""
DEFAULT_PENALTY = 1e-2
"""Ridge penalty where penalties cannot be validated."""
MAX_WIDTH = 256
"""Scaled columns, the intercept included, up to which coefficients are solved.

Solving wider tables takes longer than learning them; ``predict`` then uses the decision of the
stream.
"""
MAX_COEFFICIENT = 1e8 * LARGEST_INPUT
"""Limit of saved coefficients: they lie in a ball of ``radius`` spreads of the target."""
PREFIX = "batch."
"""Prefix of these entries in the state of an estimator."""


class BatchCoefficients(NamedTuple):
    """Fixed coefficients of K models for raw rows: score = level + <scaled row, coefficients>."""

    scaling: TableScaling
    coefficients: Annotated[
        Matrix, array("models", "width", low=-MAX_COEFFICIENT, high=MAX_COEFFICIENT)
    ]
    """Coefficients of the scaled columns, shape ``(K, width)``."""
    level: Annotated[float, number(-LARGEST_INPUT, LARGEST_INPUT)]
    """Mean of the target; 0 for log-odds."""
    rows: Annotated[int, number(0.0, MAX_ROUNDS, whole=True)]
    """Number of the last rows from which the coefficients were solved."""
    penalty: Annotated[float, number(0.0, np.finfo(np.float64).max)]
    """Ridge penalty per row."""

    def scores(self, rows: Matrix) -> Matrix:
        """Return the scores of raw rows, shape ``(T, K)``."""
        # scaled @ coefficients.T + level, with sums that do not depend on the number of rows
        return np.asarray(
            np.einsum("ti,ki->tk", self.scaling.scale(rows), self.coefficients) + self.level
        )

    def in_raw_units(self) -> tuple[Matrix, Vector]:
        """Return the coefficients of raw columns, ``(K, d)``, and the intercepts, ``(K,)``.

        They give the scores of rows that are not clipped.
        """
        centers, spreads = self.scaling.centers, self.scaling.spreads
        dim = len(centers)
        raw = np.divide(
            self.coefficients[:, :dim],
            spreads,
            out=np.zeros((len(self.coefficients), dim)),
            where=spreads > 0.0,
        )
        return raw, self.level + self.coefficients[:, dim:].sum(axis=1) - raw @ centers

    def state(self) -> State:
        """Return all fields as named arrays and numbers."""
        return save(self, PREFIX)

    @classmethod
    def from_state(
        cls, saved: Mapping[str, Any], *, dim: int, models: int, has_intercept: bool
    ) -> BatchCoefficients | None:
        """Load the coefficients in the state of an estimator; None if it has none.

        Raises
        ------
        ValueError
            If an entry is missing, of another shape or out of its range.
        """
        entries = strip_prefix(PREFIX.removesuffix("."), saved)
        if not entries:
            return None
        sizes = {"columns": dim, "models": models, "width": dim + has_intercept}
        found = load(cls, entries, sizes, prefix=PREFIX)
        if found.scaling.has_intercept != has_intercept:
            raise ValueError(
                f"state[{PREFIX + 'scaling.has_intercept'!r}] must be {int(has_intercept)}, as the "
                f"model says, got {found.scaling.has_intercept}. {DAMAGED}"
            )
        spreads = found.scaling.spreads
        if np.any((spreads > 0.0) & (spreads < MIN_SPREAD)):
            raise ValueError(
                f"state[{PREFIX + 'scaling.spreads'!r}] holds a number that is nearly 0. {DAMAGED}"
            )
        return found


class Candidate(NamedTuple):
    """One way to solve coefficients: the window of last segments and the ridge penalty."""

    segments: int
    penalty: float

    def first_segment(self, cut: int) -> int:
        """Return the first segment of the window that ends at a cut."""
        return max(0, cut - self.segments)


def learn_and_choose(
    count: int,
    learn: Callable[[int, int], None],
    predict: Callable[[int, int], Matrix],
    make_solver: Callable[[], Solver],
) -> BatchCoefficients | None:
    """Learn all rows of a table in their order, and choose the coefficients for ``predict``.

    Parameters
    ----------
    count
        Number of rows.
    learn
        Function that learns rows ``first`` to ``last - 1``.
    predict
        Function that returns the scores of rows ``first`` to ``last - 1`` by the decision of the
        stream, shape ``(last - first, K)``; it learns nothing.
    make_solver
        Function that makes the solver, called after all rows are learned.

    Returns
    -------
    BatchCoefficients or None
        None if the decision of the stream is to be used.
    """
    if count < MIN_ROWS:
        learn(0, count)
        return _solve(make_solver(), 0, DEFAULT_PENALTY)
    edges = np.linspace(0, count, SEGMENTS + 1).astype(int).tolist()
    stream_scores = []
    learned = 0
    for cut in CUTS:
        learn(learned, edges[cut])
        learned = edges[cut]
        stream_scores.append(predict(learned, edges[cut + VALIDATION_SEGMENTS]))
    learn(learned, count)
    solver = make_solver()
    stream_losses = [
        solver.loss(scores, edges[cut], edges[cut + VALIDATION_SEGMENTS])
        for cut, scores in zip(CUTS, stream_scores, strict=True)
    ]
    return choose(solver, np.array(stream_losses))


def choose(solver: Solver, stream_losses: Vector) -> BatchCoefficients | None:
    """Choose among candidates; None for the decision of the stream.

    A window that lacks one of the classes is no candidate. If the last half of the table lacks a
    class, or its targets only rise, the rows are sorted by what is to be predicted and their order
    says nothing about rows to come: all rows are solved with ``DEFAULT_PENALTY``.

    Parameters
    ----------
    solver
        Solver of the table.
    stream_losses
        Mean loss of the decision of the stream after each cut, shape ``(len(CUTS),)``.
    """
    windows = [segments for segments in WINDOWS if solver.is_representative(SEGMENTS - segments)]
    if not windows:
        return _solve(solver, 0, DEFAULT_PENALTY)
    all_rows = [Candidate(SEGMENTS, penalty) for penalty in PENALTIES]
    losses = candidate_losses(solver, all_rows)
    best = least_penalty(losses.mean(axis=0))
    others: dict[Candidate | None, Vector] = {}
    if windows == list(WINDOWS):
        others[None] = stream_losses
    shorter = [Candidate(segments, all_rows[best].penalty) for segments in windows]
    others |= dict(zip(shorter, candidate_losses(solver, shorter).T, strict=True))
    winner = clear_winner(losses[:, best], np.column_stack(list(others.values())))
    chosen = all_rows[best] if winner is None else list(others)[winner]
    if chosen is None:
        return None
    return _solve(solver, chosen.first_segment(SEGMENTS), chosen.penalty)


def candidate_losses(solver: Solver, candidates: list[Candidate]) -> Matrix:
    """Return the mean loss of each candidate after each cut, ``(len(CUTS), len(candidates))``."""
    losses = np.empty((len(CUTS), len(candidates)))
    for k, candidate in enumerate(candidates):
        found = None
        for c, cut in enumerate(CUTS):
            # the solution before the previous cut is a warm start
            found = solver.solve(candidate.first_segment(cut), cut, candidate.penalty, found)
            losses[c, k] = solver.validation_loss(found, cut, cut + VALIDATION_SEGMENTS)
    return losses


def least_penalty(losses: Vector) -> int:
    """Return the index of the penalty to use, given the mean loss of each, largest first."""
    return int(np.flatnonzero(losses <= PENALTY_TOLERANCE * losses.min())[-1])


def clear_winner(default: Vector, others: Matrix) -> int | None:
    """Return the candidate that is clearly better than the default; None if there is none.

    Parameters
    ----------
    default
        Loss of the default after each cut, shape ``(C,)``.
    others
        Losses of the other candidates, shape ``(C, N)``.
    """
    means = others.mean(axis=0)
    is_clear = (means < MAX_MEAN_RATIO * default.mean()) & (
        others <= MAX_CUT_RATIO * default[:, None]
    ).all(axis=0)
    return int(np.where(is_clear, means, np.inf).argmin()) if is_clear.any() else None


def _solve(solver: Solver, first_segment: int, penalty: float) -> BatchCoefficients:
    """Solve the coefficients of the segments from ``first_segment`` on to full precision."""
    return BatchCoefficients(
        solver.scaling,
        solver.finish(first_segment, penalty),
        solver.level,
        solver.edges[-1] - solver.edges[first_segment],
        penalty,
    )
