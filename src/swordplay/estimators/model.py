"""The learner behind every regression: raw rows in, predictions out, nothing to set."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np

from swordplay.core.state import add_prefix, part_of, split_parts
from swordplay.core.types import Matrix, State, Vector
from swordplay.engine.compiled_learner import CompiledLearner
from swordplay.estimators.forecast import Forecast
from swordplay.estimators.head import Head
from swordplay.estimators.heads import Heads
from swordplay.estimators.scaler import Locator, Scaler
from swordplay.estimators.scratch import NONE_MISSING, Beside, Plans
from swordplay.estimators.second_order import BENDS, RICH_BENDS, WIDEST_SECOND_ORDER, SecondOrder
from swordplay.estimators.tuning import (
    AUTO,
    CURVATURES,
    LARGEST,
    MEMORY,
    REACH,
    RICH,
    SMALLEST_NORM,
    THRESHOLDS,
    LossName,
    regression_loss,
    settings,
)
from swordplay.estimators.voices import ask_heads

__all__ = [
    "AUTO",
    "CURVATURES",
    "LARGEST",
    "MEMORY",
    "REACH",
    "SMALLEST_NORM",
    "THRESHOLDS",
    "LinearModel",
    "LossName",
    "regression_loss",
    "settings",
]


def own_lags(lags: int | str) -> int:
    """Lags of the first-order model itself: none where they are for others to try."""
    return 0 if lags == AUTO else int(lags)


def second_order(heads: Heads, lags: int | str, curves: str | None) -> SecondOrder | None:
    """The layer beside some heads; None where it is not wanted, or the table too wide."""
    if curves is None or heads.dim > WIDEST_SECOND_ORDER:
        return None
    logistic, intercept = heads.loss == "logistic", heads.columns.intercept
    bends = (
        0 if heads.dim == 0 else RICH_BENDS if curves == RICH else BENDS
    )  # there is nothing to bend without columns
    return SecondOrder(
        heads.dim,
        logistic=logistic,
        intercept=intercept,
        lags=None if lags == AUTO else int(lags),
        bends=bends,
    )


def middles(heads: Heads, rows: Matrix) -> Matrix:
    """Where each column lies now, once for each row, if any entry is missing: there it lies for
    the second-order layer.
    """
    return (
        np.tile(heads.columns.middle(len(heads.recent)), (len(rows), 1))
        if np.isnan(rows).any()
        else NONE_MISSING
    )


def score_beside(
    second: SecondOrder, heads: Heads, rows: Matrix, first: Vector, following: int
) -> Vector:
    """Scores of rows that are not learned by a layer beside some heads."""
    known = rows[:, : second.dim]
    return second.predict(known, first, following, middles(heads, known))


def widened(second: SecondOrder | None, dim: int) -> SecondOrder | None:
    """A layer with room for more columns; none once there are too many."""
    if second is None or dim > WIDEST_SECOND_ORDER:
        return None
    if dim > second.dim:
        second.widen(dim)
    return second


def loaded(second: SecondOrder | None, parts: Mapping[str, Any], dim: int) -> SecondOrder | None:
    """A layer that goes on from a saved state, for so many columns; none if none was saved."""
    if second is None or "second" not in parts:
        return None
    second = widened(second, dim)
    if second is not None:
        saved = part_of("second", parts)
        if not np.size(
            saved["shapes"]
        ):  # it began without columns, and has no curves though there are columns now
            second = second.unbent()
        second.load_state(saved)
    return second


NO_AGES: Vector = np.empty(0)


def learn_with_earlier_lags(
    teams: Sequence[Heads],
    learn: Callable[..., Any],
    rows: Matrix,
    targets: Any,
    weights: Vector | None,
    asked: Forecast,
) -> Any:
    """Learn rows one by one, each with the last targets of the time when it was predicted.

    Those that are the last now are remembered; after an error nothing has changed.
    """
    answers = []
    for t in range(len(rows)):
        now, first = [team.recent.copy() for team in teams], 0
        for team in teams:
            some = asked.lags[t, first : first + len(team.recent)]
            if len(some) or not asked.lags.shape[1]:  # else the team joined since then
                team.recent[:] = some if len(some) else np.nan
            first += len(team.recent)
        here = slice(t, t + 1)
        weight = None if weights is None else weights[here]
        try:
            answers.append(learn(rows[here], targets[here], weight, asked=asked.rows(here)))
        except BaseException:
            for team, recent in zip(teams, now, strict=True):
                team.recent[:] = recent
            raise
        for team, recent in zip(teams, now, strict=True):
            team.recent[1:] = recent[:-1]
    return np.concatenate(answers)


@final
class LinearModel:
    """One score per row: a prediction, or the log-odds of a class.

    Parameters
    ----------
    dim
        Number of columns.
    lags
        How many of the last targets join the columns; ``"auto"`` lets experts with and without them
        compete.
    curves
        ``"auto"`` puts second-order experts beside the first-order ones (see ``second_order``);
        None does without.
    **options
        As in :class:`Heads`, of which there is one. With ``loss="logistic"`` targets are 0 and 1.
    """

    curved = False
    """Whether it was asked for more than a linear model."""
    second: SecondOrder | None = None
    """Second-order experts beside the head.

    None where they are not wanted, and in models that were pickled before.
    """

    def __init__(
        self, dim: int, *, lags: int | str = 0, curves: str | None = None, **options: Any
    ) -> None:
        self.heads = Heads(dim, lags=own_lags(lags), **options)
        self.heads.add()
        self.second = second_order(self.heads, lags, curves)
        self.curved = curves is not None

    @property
    def head(self) -> Head:
        """What it knows."""
        return self.heads[0]

    @property
    def teams(self) -> list[Heads]:
        """Heads that share the columns and the last targets: there is one."""
        return [self.heads]

    @property
    def engine(self) -> CompiledLearner:
        """The compiled learner."""
        return self.head.engine

    @property
    def columns(self) -> Scaler:
        """What is known of the columns: the lags, and those of the rows behind them."""
        return self.heads.columns

    @property
    def target(self) -> Locator:
        """What is known of the target."""
        return self.heads.target

    @property
    def recent(self) -> Vector:
        """The last targets, the newest first, shape ``(lags,)``."""
        return self.heads.recent

    @property
    def loss(self) -> LossName:
        """Of its predictions."""
        return self.heads.loss

    @property
    def radius(self) -> float:
        """Of the ball where the coefficients of the scaled columns live."""
        return self.heads.radius

    @property
    def layer(self) -> SecondOrder | None:
        """What stands beside the head and has to keep something of rows whose targets come late."""
        return self.second

    @property
    def rounds(self) -> int:
        """How many rows were learned."""
        return self.head.rounds

    @property
    def gain(self) -> float:
        """Loss of the predictions less that of the first-order ones, summed, in losses of
        smoothness 1.
        """
        return 0.0 if self.second is None else self.second.gain

    def predict(self, rows: Matrix, following: int = 1) -> Vector:
        """Scores of rows of shape ``(T, d)`` by what is known now; nothing is learned.

        So many of the rows, one unless given, follow the last one learned. Of the others no last
        targets are known: with ``lags="auto"`` the experts without lags answer for them.
        """
        first = self.heads.predict(rows)[:, 0]
        return (
            first
            if self.second is None
            else score_beside(self.second, self.heads, rows, first, following)
        )

    def predict_row(self, row: Vector) -> float:
        """The score of one row of shape ``(d,)``: the same bits as :meth:`predict` gives it,
        several times faster.
        """
        first = float(self.heads.predict_row(row)[0, 0])
        return (
            first
            if self.second is None
            else self.second.predict_row(row, first, middles(self.heads, row[None]))
        )

    def forecast(self, rows: Matrix) -> Forecast:
        """Predict rows whose targets come later, each as if it were the next one."""
        scores, expert_scores = ask_heads(self.heads, rows)
        notes = np.empty((len(rows), 0))
        if self.second is not None:
            known = rows[:, : self.second.dim]
            mixed, notes = self.second.ask(known, scores[:, 0], middles(self.heads, known))
            scores = mixed[:, None]
        lags = np.tile(self.recent, (len(rows), 1))
        rounds = np.full(len(rows), float(self.rounds))
        return Forecast(scores, expert_scores, lags, notes, rounds)

    def predict_then_learn(
        self,
        rows: Matrix,
        targets: Vector,
        weights: Vector | None = None,
        beside: Beside | None = None,
        asked: Forecast | None = None,
    ) -> Vector:
        """Scores of rows, each made before its own target is learned (see :meth:`Heads.learn`).

        ``asked`` is the forecast of rows whose targets come late.
        """
        if asked is not None and len(self.recent):
            learn = functools.partial(self._learn, beside=beside)
            return np.asarray(
                learn_with_earlier_lags([self.heads], learn, rows, targets, weights, asked)
            )
        return self._learn(rows, targets, weights, beside, asked)

    def _learn(
        self,
        rows: Matrix,
        targets: Vector,
        weights: Vector | None,
        beside: Beside | None = None,
        asked: Forecast | None = None,
    ) -> Vector:
        ages, late = NO_AGES, None
        if asked is not None and (found := asked.ages(self.rounds)).any():
            ages, late = found, asked.late_scores(found, slice(0, 1), self.heads.stack.expert_count)
        if self.second is None:
            return self.heads.learn(rows, targets, weights, beside, late)[:, 0]
        plans = Plans(beside)
        first = self.heads.learn(rows, targets, weights, plans, late)[:, 0]
        self.second = widened(self.second, self.heads.dim)
        if self.second is None:
            return first
        # A table that grows is as wide as its widest row; columns of zeros leave no trace before
        # they join.
        known = rows[:, : self.second.dim]
        notes = None if asked is None or late is None else asked.notes_of(ages, self.second.noted)
        return self.second.learn(
            known, targets, weights, first, plans.plan, plans.middles(self.second.dim), notes
        )

    def learn_row(self, row: Vector, target: float, asked: Forecast | None = None) -> float:
        """Learn from one row of shape ``(d,)``: the same bits as :meth:`predict_then_learn`,
        several times faster.
        """
        if asked is not None and len(self.recent):
            targets = np.array([target], dtype=np.float64)
            return float(self.predict_then_learn(row[None], targets, asked=asked)[0])
        missing = NONE_MISSING if self.second is None else middles(self.heads, row[None])
        late, notes = None, None
        if asked is not None and (ages := asked.ages(self.rounds)).any():
            late = asked.late_scores(ages, slice(0, 1), self.heads.stack.expert_count)
            if self.second is not None:
                notes = asked.notes_of(ages, self.second.noted)
        scratch = self.heads.learn_row(row, target, late)
        first = float(scratch.predictions[0, 0])
        return (
            first
            if self.second is None
            else self.second.learn_row(row, target, first, scratch.rounds[0, 3:5], missing, notes)
        )

    def widen(self, dim: int) -> None:
        """Make room for columns that appear late, behind the others.

        Their coefficients start at 0.
        """
        self.heads.widen(dim)
        self.second = widened(self.second, dim)

    def state(self) -> State:
        """All that the next row needs, as named arrays."""
        state = self.heads.shared_state() | add_prefix("engine", self.head.engine.compact_state())
        return state if self.second is None else state | add_prefix("second", self.second.state())

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state, bit by bit as the model that saved it."""
        parts = split_parts(saved)
        self.heads.load_state(parts, [part_of("engine", parts)])
        self.second = loaded(self.second, parts, self.heads.dim)
