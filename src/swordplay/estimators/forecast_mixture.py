"""ForecastMixture: forecasts of several models in, one forecast out, by weights that drift."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from swordplay.core.state import DAMAGED, ROUND_COUNT_RANGE, Field, check
from swordplay.core.types import Matrix, State, Vector
from swordplay.engine import LARGEST_EXPLICIT
from swordplay.engine.compiled_learner import CompiledLearner
from swordplay.estimators.column_scaler import MAX_CENTER, TargetStats
from swordplay.estimators.forecast import Forecast
from swordplay.estimators.model_settings import THRESHOLDS
from swordplay.estimators.workspace import NO_WEIGHTS, writable
from swordplay.parts.domains import Simplex
from swordplay.parts.learners import SwordAgeless

LEARNER_PRIOR = 0.7
"""Initial weight of the learner's combination; the single forecasts share the rest."""
RANGE_MARGIN, MAX_LAG_BEHIND = 0.5, 14.0
"""As in ``engine.second_order.mixing``, which imports numba, and is imported with the first row."""
MIN_RELATIVE_GAP = 1e-10
"""Forecasts that differ by less than this share of the clipped residuals count as equal."""
PARTS = ("gap", "spread", "engine", "guard")


class ForecastMixture:
    r"""A convex combination of K forecasts.

    As the weights sum to 1, a row and its target may be shifted together: the median of the row's
    forecasts is subtracted, and a ``SwordAgeless`` on the simplex learns from the differences. They
    are divided by

    .. math:: \max\{\|a_t\|, \text{the usual } \|a\|\},

    so that every loss has a smoothness of 1 or less. A row on which the forecasts nearly agree
    tells little about which is best, and counts for little.

    No single forecast can ruin the combination. All forecasts are clipped to the usual range of the
    target, and the learner's combination is itself one of K + 1 forecasts: a second mixture
    (``engine.second_order.mixing``) weighs it against each single forecast by their squared errors.
    Before any target is known the prediction is the median of the forecasts.

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
        self._gap = TargetStats(clip=THRESHOLDS["squared"])
        self._spread = TargetStats(clip=THRESHOLDS["squared"])
        # A single forecast is doubled: a simplex has two corners at least.
        learner = SwordAgeless(Simplex(max(2, forecasts)), smoothness=1.0, memory=memory)
        self.engine = CompiledLearner(learner.parts, "huber")
        self._range = np.zeros(3)
        """The two ends of the target's usual range, and the number of rows learned."""
        self._guard = np.zeros(2 * (forecasts + 1) + 1)
        """``numbers`` of ``mixing.robust_mix`` for K + 1 forecasts."""

    @property
    def groups(self) -> list[Any]:
        """Models with last targets: none, as forecasts have no lags."""
        return []

    @property
    def rounds(self) -> int:
        """Number of rows learned."""
        return self.engine.rounds

    @property
    def combination(self) -> Vector:
        """Weight of each forecast, shape ``(K,)``: not negative, with a sum of 1."""
        weights = self._mixture_weights()
        return np.asarray(weights[0] * self._learner_weights + weights[1:])

    @property
    def _learner_weights(self) -> Vector:
        """Weights of the learner's combination, shape ``(K,)``."""
        weights = np.maximum(self.engine.decision, 0.0)
        return np.asarray(weights / weights.sum()) if self.forecasts > 1 else np.ones(1)

    def _mixture_weights(self) -> Vector:
        """Return the weights of the learner's combination and of each forecast, ``(K + 1,)``."""
        from swordplay.compile import uncompiled
        from swordplay.engine.second_order.mixing import write_weights

        answer = np.zeros(self.forecasts + 1)
        uncompiled(write_weights)(self._guard[: self.forecasts + 1], LEARNER_PRIOR, answer)
        return answer

    @property
    def effective_step_size(self) -> float:
        """Weighted geometric mean of the experts' step sizes."""
        return float(np.exp(self.engine.weights @ np.log(self.engine.step_sizes)))

    def predict(self, rows: Matrix) -> Vector:
        """Return combined forecasts of rows of shape ``(T, K)``; nothing is learned."""
        low, high, learned = self._range
        if not learned:
            return np.asarray(np.median(rows, axis=1))
        margin = RANGE_MARGIN * (high - low)
        rows = np.clip(rows, low - margin, high + margin)
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
        earlier_forecast: Forecast | None = None,
    ) -> Vector:
        """Return combined forecasts, each made before its own target is learned; ``(T,)``.

        Rows that were predicted earlier, as ``earlier_forecast`` says, are learned like any others.
        """
        from swordplay.engine.second_order.mixing import clip_rows, robust_mix

        rows, targets = np.array(rows, order="C"), np.array(targets, dtype=np.float64)
        count, is_first = len(rows), not self._range[2]
        first = float(np.median(rows[0])) if is_first and count else 0.0
        range_widths = np.empty(count)
        clip_rows(rows, targets, self._range, range_widths)
        level = np.median(rows, axis=1)
        differences = (rows if self.forecasts > 1 else np.hstack([rows, rows])) - level[:, None]
        residuals = targets - level
        lengths = np.sqrt(np.einsum("ij,ij->i", differences, differences))
        usual = self._gap.track(lengths)
        threshold = THRESHOLDS[self.loss] * self._spread.track(residuals)[:, 1]
        unit = np.maximum(lengths, usual[:, 0] + usual[:, 1])
        unit = np.maximum(unit, MIN_RELATIVE_GAP * threshold)
        unit[unit == 0.0] = 1.0  # all forecasts were equal so far: there is nothing to learn
        # The gradient is constant beyond the threshold: clipping changes none, and none overflows.
        limit = threshold + lengths
        residuals = np.clip(residuals, -limit, limit)
        schedule = np.ones((count, 3))
        schedule[:, 0] = 1.0 if weights is None else weights
        schedule[:, 1] = threshold / unit
        scaled = np.ascontiguousarray(differences / unit[:, None])
        played = self.engine.play(scaled, residuals / unit, schedule=schedule, checked=True)
        combined = np.asarray(played.predictions * unit + level)
        forecasts = np.column_stack([combined, rows])
        robust_mix(
            forecasts,
            targets,
            NO_WEIGHTS if weights is None else writable(weights),
            range_widths,
            LEARNER_PRIOR,
            self._guard,
            np.empty(self.forecasts + 1),
            answer := np.empty(count),
        )
        if is_first and count:
            answer[0] = first
        return answer

    def state(self) -> State:
        """Return all that the next row needs."""
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
        """Continue from a saved state; all further results are identical."""
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
        """Return range and numbers of a saved mixture; refuse what no rows lead to."""
        ends, numbers = (np.array(saved[name], dtype=np.float64) for name in ("range", "numbers"))
        if ends.shape != (3,) or numbers.shape != self._guard.shape:
            raise ValueError(
                f"state has a guard of shapes {ends.shape} and {numbers.shape}. {DAMAGED}"
            )
        check("guard.range", ends[:2], Field(-MAX_CENTER, MAX_CENTER))
        check("guard.range", ends[2:], ROUND_COUNT_RANGE)
        check("guard.numbers", numbers[: self.forecasts + 1], Field(0.0, MAX_LAG_BEHIND))
        check("guard.numbers", numbers[self.forecasts + 1 :], Field(0.0, MAX_CENTER**2 * 1e6))
        return ends, numbers
