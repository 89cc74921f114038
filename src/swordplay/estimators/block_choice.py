"""Which coefficients ``fit`` hands to ``predict``: those that would have done best on the blocks
that followed.

The table is cut at five places. Before each cut, coefficients are worked out from all the rows so
far, with several penalties, and from the last half, quarter and eighth of the table; the decision
of the stream at that place is a further candidate. Each is judged by its loss on the eighth of the
table behind the cut, which none of them has seen. All the rows are the rule. A shorter past, or the
stream's own decision, takes their place only on clear evidence of drift.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.estimators.block import MEASURED_ROWS, Block, Places, measure

if TYPE_CHECKING:
    from swordplay.estimators.heads import Heads

SEGMENTS = 16
"""Equal parts of the table in which windows and cuts are counted."""
CUTS = (6, 8, 10, 12, 14)
"""Segments before each cut."""
AHEAD = 2
"""Segments behind a cut that judge."""
WINDOWS = (8, 4, 2)
"""Segments that a shorter past has."""
PENALTIES = (1.0, 1e-1, 1e-2, 1e-3, 1e-5)
"""Squared coefficients of the scaled columns cost so much a row."""
AS_GOOD = 1.05
"""Of the penalties whose mean loss is at most so many times the lowest, the lightest is taken."""
LOWER, WORST = 0.8, 1.1
"""A candidate is preferred to all the rows if its mean loss is lower by a fifth and behind no
cut higher by a tenth.
"""
LESS_CLIPPED = 2.0
"""Entries are clipped so many times farther out than in a stream: among all rows of a table, one
that lies far pulls less.
"""
FEWEST = 2 * SEGMENTS
"""Tables of fewer rows are not cut."""
UNTRIED = 1e-2
"""The penalty where none can be tried."""
WIDEST = 256
"""Scaled columns.

Wider tables would cost more to solve than to learn, and are answered by the stream's own decision.
"""


def dense(rows: Any, first: int, last: int, step: int = 1) -> Matrix:
    """Some rows of an array or of a sparse one."""
    part = rows[first:last:step]
    return part if isinstance(part, np.ndarray) else np.asarray(part.toarray())


def places_of(model: Heads, rows: Any) -> Places:
    """Where the columns of a table lie, for a model that has learned it; its lags do not count.

    A column that stands still in all the rows that are measured lies where the model found it, if
    it has joined the model.
    """
    scaler, lags, dim = model.columns, len(model.recent), rows.shape[1]
    sample = dense(rows, 0, rows.shape[0], max(1, rows.shape[0] // MEASURED_ROWS))
    if not scaler.follow:
        return Places(
            np.zeros(dim),
            np.sqrt(np.mean(np.nan_to_num(sample) ** 2, axis=0)),
            np.inf,
            scaler.intercept,
        )
    centers, spreads = measure(sample, scaler.clip)
    known_centers, known_spreads = (
        np.append(known[lags:], np.zeros(dim - len(known) + lags)) for known in scaler.places
    )
    still = spreads == 0.0
    centers, spreads = (
        np.where(still, known_centers, centers),
        np.where(still, known_spreads, spreads),
    )
    return Places(centers, spreads, LESS_CLIPPED * scaler.clip, scaler.intercept)


class Solver(ABC):
    """Coefficients from a range of segments, for one kind of loss.

    Parameters
    ----------
    rows
        Shape ``(T, d)``, dense or CSR.
    places
        By which they are scaled.
    """

    def __init__(self, rows: Any, places: Places) -> None:
        self.rows, self.places = rows, places
        self.edges = np.linspace(0, rows.shape[0], SEGMENTS + 1).astype(int).tolist()
        self.level = 0.0

    @abstractmethod
    def solve(self, low: int, high: int, penalty: float, start: Matrix | None) -> Matrix:
        """Coefficients of the segments from ``low`` to ``high``, shape ``(K, width)``, good
        enough to be judged.
        """

    @abstractmethod
    def finish(self, low: int, penalty: float) -> Matrix:
        """Coefficients of the segments from ``low`` to the end, as good as they can be."""

    def is_complete(self, low: int) -> bool:
        """Whether the segments from ``low`` to the end tell of all that may come."""
        return True

    @abstractmethod
    def loss(self, scores: Matrix, first: int, last: int) -> float:
        """Mean loss of the scores of some rows, shape ``(last - first, K)``."""

    def block(self, low: int, penalty: float) -> Block:
        """What ``predict`` answers by."""
        return Block(
            self.places,
            self.finish(low, penalty),
            self.level,
            self.edges[-1] - self.edges[low],
            penalty,
        )

    def judge(self, coefficients: Matrix, cut: int) -> float:
        """Mean loss on the rows behind a cut."""
        first, last = self.edges[cut], self.edges[cut + AHEAD]
        scores = self.places.scale(dense(self.rows, first, last)) @ coefficients.T + self.level
        return self.loss(scores, first, last)


class Past(NamedTuple):
    """A candidate: so many of the last segments, solved with a penalty."""

    segments: int
    penalty: float

    def before(self, cut: int) -> int:
        """Its first segment."""
        return max(0, cut - self.segments)


def judged(solver: Solver, past: list[Past]) -> Matrix:
    """Loss of each candidate behind each cut, shape ``(len(CUTS), len(past))``."""
    losses = np.empty((len(CUTS), len(past)))
    for k, candidate in enumerate(past):
        found = None
        for c, cut in enumerate(CUTS):
            found = solver.solve(candidate.before(cut), cut, candidate.penalty, found)
            losses[c, k] = solver.judge(found, cut)
    return losses


def lightest(losses: Vector) -> int:
    """Which penalty to take, by the mean loss of each, the heaviest penalty first."""
    return int(np.flatnonzero(losses <= AS_GOOD * losses.min())[-1])


def preferred(usual: Vector, others: Matrix) -> int | None:
    """Which of several candidates is clearly better than the usual one; None if none is.

    Parameters
    ----------
    usual
        Loss behind each cut, shape ``(C,)``.
    others
        Losses of the others, shape ``(C, N)``.
    """
    clear = (others.mean(axis=0) < LOWER * usual.mean()) & (others <= WORST * usual[:, None]).all(
        axis=0
    )
    return int(np.where(clear, others.mean(axis=0), np.inf).argmin()) if clear.any() else None


def choose(solver: Solver, tracked: Vector) -> Block | None:
    """The block that ``predict`` answers by.

    None for the stream's own decision, whose losses are ``tracked``.

    A past without one of the classes is no candidate. If the last half of the table lacks one, or
    its targets only rise, its rows are sorted by what is to be predicted, and their order tells
    nothing of the blocks to come.
    """
    windows = [segments for segments in WINDOWS if solver.is_complete(SEGMENTS - segments)]
    if not windows:
        return solver.block(0, UNTRIED)
    whole = [Past(SEGMENTS, penalty) for penalty in PENALTIES]
    losses = judged(solver, whole)
    best = lightest(losses.mean(axis=0))
    others: dict[Past | None, Vector] = {None: tracked} if windows == list(WINDOWS) else {}
    shorter = [Past(segments, whole[best].penalty) for segments in windows]
    others |= dict(zip(shorter, judged(solver, shorter).T, strict=True))
    winner = preferred(losses[:, best], np.column_stack(list(others.values())))
    chosen = whole[best] if winner is None else list(others)[winner]
    return None if chosen is None else solver.block(chosen.before(SEGMENTS), chosen.penalty)


def learn_and_choose(
    count: int,
    learn: Callable[[int, int], None],
    ahead: Callable[[int, int], Matrix],
    solver: Callable[[], Solver],
) -> Block | None:
    """Learn all rows of a table in their order, and find what ``predict`` answers by.

    Parameters
    ----------
    count
        Number of rows.
    learn
        Learns rows from one to before another.
    ahead
        Scores of such rows by what was learned so far.
    solver
        Made when all rows are learned.
    """
    if count < FEWEST:
        learn(0, count)
        return solver().block(0, UNTRIED)
    edges = np.linspace(0, count, SEGMENTS + 1).astype(int).tolist()
    said, done = [], 0
    for cut in CUTS:
        learn(done, edges[cut])
        done = edges[cut]
        said.append(ahead(done, edges[cut + AHEAD]))
    learn(done, count)
    found = solver()
    tracked = [
        found.loss(scores, edges[cut], edges[cut + AHEAD])
        for cut, scores in zip(CUTS, said, strict=True)
    ]
    return choose(found, np.array(tracked))
