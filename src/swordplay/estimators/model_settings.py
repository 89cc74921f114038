"""Parameters that every model has, checked, and the constants that the models are tuned by."""

from __future__ import annotations

from typing import Any, Literal

from swordplay.core import arguments

LossName = Literal["squared", "huber", "logistic"]

LARGEST = arguments.LARGEST_INPUT
"""Larger magnitudes are mistakes: their squares, times radius and spread, come near to the largest
doubles.
"""
THRESHOLDS = {"squared": 10.0, "huber": 1.0, "logistic": 1.0}
"""Threshold of the Huber loss, in spreads of the target.

For the squared loss only outliers lie beyond.
"""
MAX_DEVIATION = 30.0
"""Targets farther than this many spreads from the centre are mostly mistakes; their weight is
divided by their distance.
"""
MIN_SQUARED_NORM = 1e-12
"""Rows with a smaller squared norm carry nothing to learn from; their weight stays finite."""
MEMORY = 4000.0
"""Rounds that the weights of the experts remember: long enough to tell experts apart that differ
by a few per cent.
"""
RATE_FACTOR = 24.0
"""Factor of the meta's learning rate.

After a change of sign, the experts that are too slow have to lose all but a thousandth of their
weight. With 8, the default of the learner, a model of age 1e4 takes up to 1.36 times as long for
this as one of age 1e3; with 24 up to 1.21 times.
"""
RATE_FLOOR = 1e-4
"""Floor of the rate: differences below a ten-thousandth of the largest error are rounding."""
MAX_SETTING = 1e30
"""Largest radius and clip, in spreads: the losses of ordinary rows overflow far beyond."""
CURVATURES = {"squared": 1.0, "huber": 1.0, "logistic": 0.25}
"""Largest second derivative of each loss in the prediction."""
MAX_LAGS = 10_000
"""Each lag is a column; far more are a mistake, and would not fit into memory."""

AUTO, RICH = "auto", "rich"
"""Values of ``lags`` (``"auto"``: experts with and without compete) and of ``curves``."""


def settings(estimator: Any) -> dict[str, Any]:
    """Return the parameters of an estimator's model, checked."""
    return {
        "radius": _moderate("radius", estimator.radius),
        "memory": arguments.positive("memory", estimator.memory),
        "clip": _moderate("clip", estimator.clip),
        "standardize": bool(estimator.standardize),
        "intercept": bool(estimator.intercept),
        "lags": checked_lags(estimator.lags),
        "curves": checked_curves(estimator.curves),
    }


def checked_lags(lags: Any) -> int | str:
    """Return a number of lags, or ``"auto"``; refuse anything else."""
    if isinstance(lags, str):
        if lags != AUTO:
            raise ValueError(
                f"lags must be a whole number or 'auto', got {arguments.short_repr(lags)}."
            )
        return AUTO
    if (clean := arguments.integer("lags", lags, least=0)) > MAX_LAGS:
        raise ValueError(
            f"lags must be at most {MAX_LAGS:,}, got {arguments.short_repr(clean)}. A few dozen "
            "are many."
        )
    return clean


def checked_curves(curves: Any) -> str | None:
    """Return ``"auto"``, ``"rich"`` or None; refuse anything else."""
    if curves is not None and not (isinstance(curves, str) and curves in (AUTO, RICH)):
        raise ValueError(
            f"curves must be 'auto', 'rich' or None, got {arguments.short_repr(curves)}."
        )
    return curves


def _moderate(name: str, value: Any) -> float:
    """Return a positive number with which no ordinary row overflows."""
    if (clean := arguments.positive(name, value)) > MAX_SETTING:
        raise ValueError(
            f"{name} must be at most {MAX_SETTING:g}, got {clean:g}. It counts spreads: some "
            "dozens are many."
        )
    return clean


def regression_loss(loss: Any) -> LossName:
    """Return a loss for targets that are numbers; refuse anything else."""
    if not (isinstance(loss, str) and loss in ("squared", "huber")):
        raise ValueError(f"loss must be 'squared' or 'huber', got {arguments.short_repr(loss)}.")
    return loss  # type: ignore[return-value]  # one of two words, as was just seen
