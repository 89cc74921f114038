"""Shapes and constants that the state of intervals, the kernel and late truths share.

This module imports nothing of the package, so that the kernels are not recompiled when the code
that checks states changes.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

EXPERT_SETS = 3
"""Sets of experts that learn location and spread: intercept alone, own features, all features.

Arrays of predictions and losses have one set more at the end: the experts that never move.
"""
STEPS = 8
"""Step sizes of a set, and so its number of experts; a multiple of a vector register's width."""
OWN_FEATURES = 7
"""Features that the kernel computes itself, in front of the caller's columns."""
PREDICTION_FEATURE = OWN_FEATURES - 1
"""Index of the scaled prediction among the features."""
BINS = 24
"""Bins of each of the caller's columns."""
FIRST_ROWS = 5
"""Rows before the first finite interval: of five residuals, two may be outliers."""
RECENT_PACES = (0.5, 0.1)
"""Weights of the newest size in the two exponential means of recent sizes."""
BALANCE_LIMIT = 9.5
"""From this balance of misses on an interval is infinite; from its negative on, a point.

A window of rows then has at most 2 * BALANCE_LIMIT + 1 = 20 misses too many.
"""
BALANCE_GAIN = 0.02
"""Relative widening for a balance of one miss."""
BALANCE_CURVATURE = 4.0
"""A balance c widens an interval relatively by
BALANCE_GAIN c (1 + BALANCE_CURVATURE (c / BALANCE_LIMIT)^2)."""
MEMORY_ROWS = 500.0
"""Rows after which past losses of experts have faded to 1 / e."""
MAX_LOSS = 400.0
"""Largest loss of an expert in one row: an error of 20 loss units (see the kernel), squared."""
MIN_SCORE = 1e-200
"""Scores below this are 0: quantile losses are divided by the mean score and would overflow."""
MAX_SCORE = 1e12
"""Scores are clipped here."""
MAX_RESIDUAL = 1e63
"""Bound of saved residuals and coefficients; nothing is clipped here.

Residuals are differences of numbers up to 1e60, coefficients at most some hundred times as large.
"""

# Modes of the kernel.
INTERVAL = 0  # compute the interval of each row, learn nothing
LEARN = 1  # learn each row by the interval that was given for it
INTERVAL_THEN_LEARN = 2  # compute the interval of each row, then learn the row


class _Scalar(NamedTuple):
    """Indices into ``IntervalState.scalars``, annotated with the range of saved values.

    The third entry of a range says that values are whole numbers. States are saved as whole arrays,
    so the order of the fields is part of their format.
    """

    rows: Annotated[int, (0.0, 2.0**53, True)] = 0
    """Rows that were learned."""
    typical_size: Annotated[int, (0.0, MAX_RESIDUAL)] = 1
    """Slow exponential mean of the sizes of clipped residuals; the unit of all features."""
    last_residual: Annotated[int, (-MAX_RESIDUAL, MAX_RESIDUAL)] = 2
    """The last residual, clipped."""
    mean_score: Annotated[int, (0.0, MAX_SCORE)] = 3
    """Slow exponential mean of the scores; 0 before the first."""
    largest_score: Annotated[int, (0.0, MAX_SCORE)] = 4
    largest_size: Annotated[int, (0.0, MAX_RESIDUAL)] = 5
    """Size of the largest recent residual; it fades by 1 / MEMORY_ROWS a row."""
    last_target: Annotated[int, (-MAX_RESIDUAL, MAX_RESIDUAL)] = 6


SCALAR = _Scalar()


class Scratch(NamedTuple):
    """Arrays that the kernel writes and reads within one row."""

    row: Any
    """Features of the row, shape ``(OWN_FEATURES + d,)``."""
    bins: Any
    """Bin of each of the caller's columns, or NO_BIN, shape ``(d,)``."""
    location_predictions: Any
    """Prediction of each location expert, shape ``(EXPERT_SETS + 1, STEPS)``."""
    spread_predictions: Any
    """Prediction of each spread expert, shape ``(EXPERT_SETS + 1, STEPS)``."""
    weights: Any
    """Weights of the experts of one set, shape ``(STEPS,)``."""
