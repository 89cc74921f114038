"""The numbers that every estimator is tuned by, and the parameters that users may set instead."""

from __future__ import annotations

from typing import Any, Literal

from swordplay.core import arguments

LossName = Literal["squared", "huber", "logistic"]

LARGEST = arguments.LARGEST_INPUT
"""Magnitudes beyond this are mistakes: their squares, times radius and spread, would come near
to what doubles can hold.
"""

THRESHOLDS = {"squared": 10.0, "huber": 1.0, "logistic": 1.0}
"""Residuals beyond this many spreads of the target pull no harder.

For the squared loss only outliers lie so far.
"""
REACH = 30.0
"""Targets beyond this many spreads from the centre are mistakes for the most part, and weigh
less the farther they lie.
"""
SMALLEST_NORM = 1e-12
"""Rows shorter than this carry nothing to learn from; their weight stays finite."""
MEMORY = 4000.0
"""Rounds that the weights of the experts remember: long enough to tell experts apart that differ
by a few per cent.
"""
SHARPNESS = 24.0
"""Factor of the meta's rate.

After a flip the experts that are too slow have to lose all but a thousandth of their weight: with
8, the default of the learner, that takes a model of age 1e4 up to 1.36 times as long as one of age
1e3; with 24 up to 1.21."""
FLOOR = 1e-4
"""Of the rate: differences below a ten-thousandth of the largest surprise are rounding."""
LARGEST_SETTING = 1e30
"""Radius and clip are told in spreads.

Far beyond this the losses of ordinary rows are no numbers.
"""
CURVATURES = {"squared": 1.0, "huber": 1.0, "logistic": 0.25}

MOST_LAGS = 10_000
"""Each lag is a column; far more are a mistake, and would not fit into memory."""

AUTO, RICH = "auto", "rich"
"""Of lags: experts with and without compete.

Of curves: second-order experts stand beside the first-order ones.
"""


def settings(estimator: Any) -> dict[str, Any]:
    """The parameters of a model that every estimator has, checked."""
    return {
        "radius": _bounded("radius", estimator.radius),
        "memory": arguments.positive("memory", estimator.memory),
        "clip": _bounded("clip", estimator.clip),
        "standardize": bool(estimator.standardize),
        "intercept": bool(estimator.intercept),
        "lags": checked_lags(estimator.lags),
        "curves": checked_curves(estimator.curves),
    }


def checked_lags(lags: Any) -> int | str:
    """A number of lags, or ``"auto"``."""
    if isinstance(lags, str):
        if lags != AUTO:
            raise ValueError(
                f"lags must be a whole number or 'auto', got {arguments.short_repr(lags)}."
            )
        return AUTO
    if (clean := arguments.integer("lags", lags, least=0)) > MOST_LAGS:
        raise ValueError(
            f"lags must be at most {MOST_LAGS:,}, got {arguments.short_repr(clean)}. A few dozen "
            "are many."
        )
    return clean


def checked_curves(curves: Any) -> str | None:
    """``"auto"``, ``"rich"`` or None."""
    if curves is not None and not (isinstance(curves, str) and curves in (AUTO, RICH)):
        raise ValueError(
            f"curves must be 'auto', 'rich' or None, got {arguments.short_repr(curves)}."
        )
    return curves


def _bounded(name: str, value: Any) -> float:
    """A positive number with which no ordinary row overflows."""
    if (clean := arguments.positive(name, value)) > LARGEST_SETTING:
        raise ValueError(
            f"{name} must be at most {LARGEST_SETTING:g}, got {clean:g}. It counts spreads: some "
            "dozens are many."
        )
    return clean


def regression_loss(loss: Any) -> LossName:
    """A loss for targets that are numbers."""
    if not (isinstance(loss, str) and loss in ("squared", "huber")):
        raise ValueError(f"loss must be 'squared' or 'huber', got {arguments.short_repr(loss)}.")
    return loss  # type: ignore[return-value]  # one of two words, as was just seen
