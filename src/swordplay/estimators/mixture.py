"""The learner behind the aggregator: forecasts in, one forecast out, weights that drift on the
simplex.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from swordplay.core.state import DAMAGED, ROUND_COUNT_RANGE, Field, check
from swordplay.core.types import Matrix, State, Vector
from swordplay.engine import LARGEST_EXPLICIT
from swordplay.engine.compiled_learner import CompiledLearner
from swordplay.estimators.forecast import Forecast
from swordplay.estimators.model import THRESHOLDS
from swordplay.estimators.scaler import FARTHEST, Locator
from swordplay.parts.domains import Simplex
from swordplay.parts.learners import SwordAgeless

INNER = 0.7
"""Weight of the combination by gradients in the beginning; the single forecasts share the rest."""
ROOM, FARTHEST_BEHIND = 0.5, 14.0
"""As in ``engine.second_order.mixing``, which is imported with the first row."""
NO_WEIGHTS: Vector = np.empty(0)
"""All rows count the same."""
SMALLEST_GAP = 1e-10
"""Forecasts that differ by less than this share of the clipped residuals are the same forecast."""
PARTS = ("gap", "spread", "engine", "guard")


class Mixture:
    r"""A convex combination of K forecasts.

    As the weights sum to 1, forecasts and target may be moved together: each row is measured from
    the median of its own forecasts, so that only their differences are learned from. It is then
    divided by

    .. math:: \max\{\|a_t\|, \text{the usual } \|a\|\},

    so that every loss has a smoothness of 1 or less: a row on which the forecasts agree tells
    little about who is right, and counts for little.

    No forecaster can ruin the combination, however wild. All forecasts are cut to the usual range
    of the target before anything is made of them, and the combination is itself one of K + 1: a
    second mixture (``engine.second_order.mixing``) weighs it against each single forecast by their
    squared errors, so that the best of them is always at hand. Before any target is known the
    answer is the median of the forecasts.

    Parameters
    ----------
    forecasts
        K.
    loss
        ``"squared"`` or ``"huber"``: whether residuals are clipped at ten spreads or at one.
    memory
        Rounds that the weights of the experts remember.
    """

    def __init__(self, forecasts: int, *, loss: str = "squared", memory: float = 2000.0) -> None:
        if forecasts > LARGEST_EXPLICIT:
            raise ValueError(
                f"X has {forecasts} forecasts; at most {LARGEST_EXPLICIT} can be combined. Drop "
                "the worst."
            )
        self.forecasts, self.loss = forecasts, loss
        self._gap = Locator(clip=THRESHOLDS["squared"])
        self._spread = Locator(clip=THRESHOLDS["squared"])
        # A single forecast stands twice: a simplex has two corners at the least.
        learner = SwordAgeless(Simplex(max(2, forecasts)), smoothness=1.0, memory=memory)
        self.engine = CompiledLearner(learner.parts, "huber")
        self._range = np.zeros(3)
        """The two ends of the target's usual range, and the rows learned."""
        self._guard = np.zeros(2 * (forecasts + 1) + 1)
        """How far behind each of K + 1 forecasts is, their losses and the rounds of these."""

    @property
    def teams(self) -> list[Any]:
        """Heads with last targets: none, as forecasts have no lags."""
        return []

    @property
    def rounds(self) -> int:
        """How many rows were learned."""
        return self.engine.rounds

    @property
    def combination(self) -> Vector:
        """Weight of each forecast, shape ``(K,)``: not negative, with a sum of 1."""
        shares = self._shares()
        return np.asarray(shares[0] * self._inner + shares[1:])

    @property
    def _inner(self) -> Vector:
        """Weights of the combination by gradients alone."""
        weights = np.maximum(self.engine.decision, 0.0)
        return np.asarray(weights / weights.sum()) if self.forecasts > 1 else np.ones(1)

    def _shares(self) -> Vector:
        """Weights of this combination and of each single forecast in the whole."""
        from swordplay.compile import uncompiled
        from swordplay.engine.second_order.mixing import weigh

        shares = np.zeros(self.forecasts + 1)
        uncompiled(weigh)(self._guard[: self.forecasts + 1], INNER, shares)
        return shares

    @property
    def effective_step_size(self) -> float:
        """Weighted geometric mean of the experts' step sizes."""
        return float(np.exp(self.engine.weights @ np.log(self.engine.step_sizes)))

    def predict(self, rows: Matrix) -> Vector:
        """Combined forecasts of rows of shape ``(T, K)``; nothing is learned."""
        low, high, learned = self._range
        if not learned:
            return np.asarray(np.median(rows, axis=1))
        room = ROOM * (high - low)
        rows = np.clip(rows, low - room, high + room)
        level = np.median(rows, axis=1)
        return np.asarray((rows - level[:, None]) @ self.combination + level)

    def forecast(self, rows: Matrix) -> Forecast:
        """Predict rows whose targets come later; nothing else is needed to learn them."""
        rounds = np.full(len(rows), float(self.rounds))
        return Forecast.empty(len(rows))._replace(scores=self.predict(rows)[:, None], rounds=rounds)

    def predict_then_learn(
        self,
        rows: Matrix,
        targets: Vector,
        weights: Vector | None = None,
        asked: Forecast | None = None,
    ) -> Vector:
        """Combined forecasts, each made before its own target is learned; shape ``(T,)``.

        Rows that were predicted earlier, as ``asked`` says, are learned like any others.
        """
        from swordplay.engine.second_order.mixing import cut_rows, mix_rows

        rows, targets = np.array(rows, order="C"), np.array(targets, dtype=np.float64)
        widths, fresh = np.empty(len(rows)), not self._range[2]
        first = float(np.median(rows[0])) if fresh and len(rows) else 0.0
        cut_rows(rows, targets, self._range, widths)
        level = np.median(rows, axis=1)
        apart = (rows if self.forecasts > 1 else np.hstack([rows, rows])) - level[:, None]
        off = targets - level
        lengths = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        usual = self._gap.locate_and_follow(lengths)
        threshold = THRESHOLDS[self.loss] * self._spread.locate_and_follow(off)[:, 1]
        unit = np.maximum(np.maximum(lengths, usual[:, 0] + usual[:, 1]), SMALLEST_GAP * threshold)
        unit[unit == 0.0] = 1.0  # all forecasts have agreed so far, and there is nothing to learn
        # Beyond the threshold a residual pulls no harder: clipped like this, no gradient changes
        # and none overflows.
        reach = threshold + lengths
        off = np.clip(off, -reach, reach)
        schedule = np.ones((len(rows), 3))
        schedule[:, 0] = 1.0 if weights is None else weights
        schedule[:, 1] = threshold / unit
        played = self.engine.play(
            np.ascontiguousarray(apart / unit[:, None]), off / unit, schedule=schedule, checked=True
        )
        combined = np.asarray(played.predictions * unit + level)
        said = np.column_stack([combined, rows])
        answer, shares = np.empty(len(rows)), np.empty(self.forecasts + 1)
        losses = NO_WEIGHTS if weights is None else _writable(weights)
        mix_rows(said, targets, losses, widths, INNER, self._guard, shares, answer)
        if fresh and len(rows):
            answer[0] = first
        return answer

    def state(self) -> State:
        """All that the next row needs."""
        parts = {
            "gap": self._gap.state(),
            "spread": self._spread.state(),
            "engine": self.engine.compact_state(),
            "guard": {"range": self._range.copy(), "numbers": self._guard.copy()},
        }
        return {
            f"{name}.{key}": value for name, part in parts.items() for key, value in part.items()
        }

    def load_state(self, saved: Mapping[str, Any]) -> None:
        """Go on from a saved state, bit by bit."""
        parts = {
            name: {
                k.removeprefix(f"{name}."): v for k, v in saved.items() if k.startswith(f"{name}.")
            }
            for name in PARTS
        }
        self._gap.load_state(parts["gap"])
        self._spread.load_state(parts["spread"])
        self.engine.load_compact_state(parts["engine"])
        self._range, self._guard = self._checked_guard(parts["guard"])

    def _checked_guard(self, saved: Mapping[str, Any]) -> tuple[Vector, Vector]:
        """Range and numbers of a saved guard; refuses what no rows lead to."""
        ends, numbers = (np.array(saved[name], dtype=np.float64) for name in ("range", "numbers"))
        if ends.shape != (3,) or numbers.shape != self._guard.shape:
            raise ValueError(
                f"state has a guard of shapes {ends.shape} and {numbers.shape}. {DAMAGED}"
            )
        check("guard.range", ends[:2], Field(-FARTHEST, FARTHEST))
        check("guard.range", ends[2:], ROUND_COUNT_RANGE)
        check("guard.numbers", numbers[: self.forecasts + 1], Field(0.0, FARTHEST_BEHIND))
        check("guard.numbers", numbers[self.forecasts + 1 :], Field(0.0, FARTHEST**2 * 1e6))
        return ends, numbers


def _writable(array: Any) -> Any:
    """Doubles in order that may be written: kernels are compiled for these, and once more for
    any others.
    """
    return np.require(array, dtype=np.float64, requirements=["C", "W"])
