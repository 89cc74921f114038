"""What may be said beside the columns of a table or a stream."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypedDict

from swordplay.estimators.model import LossName


class LearnerOptions(TypedDict, total=False):
    """What may be said of the learners.

    loss
        ``"squared"`` or ``"huber"``, for numbers.
    classes
        All labels of a classification. ``prediction`` is then the likeliest label, and
        ``probabilities`` an array.
    lags
        How many of the last targets of the key join the columns.
    level
        What share of the truths the intervals of numbers are to hold, ``lower`` and ``upper``; None
        for no intervals.
    """

    loss: LossName
    classes: Sequence[Any] | None
    lags: int
    level: float | None


class TableOptions(LearnerOptions, total=False):
    """What may be said beside the columns.

    loss
        ``"squared"`` or ``"huber"``, for numbers.
    classes
        All labels of a classification. ``prediction`` is then the likeliest label, and
        ``probabilities`` an array.
    lags
        How many of the last targets of the key join the columns.
    level
        What share of the truths the intervals of numbers are to hold, ``lower`` and ``upper``; None
        for no intervals.
    keep
        Other columns that stand beside the predictions, as they were.
    """

    keep: Sequence[str]


class StreamOptions(TableOptions, total=False):
    """What may be said beside the columns of a stream.

    loss
        ``"squared"`` or ``"huber"``, for numbers.
    classes
        All labels of a classification. ``prediction`` is then the likeliest label, and
        ``probabilities`` an array.
    lags
        How many of the last targets of the key join the columns.
    level
        What share of the truths the intervals of numbers are to hold, ``lower`` and ``upper``; None
        for no intervals.
    keep
        Other columns that stand beside the predictions, as they were.
    start
        What keys know when the stream begins: a frame that :func:`learn_table` has made, with the
        same settings. Looked at when a query starts for the first time; it may be left out when it
        goes on.
    buckets
        Groups of keys that Python is called for. Part of the checkpoint: never to be changed. At
        least the cores of the cluster, and some hundred keys in each.
    forget
        How far a key's last row may lie behind the newest of its bucket before the key is
        forgotten, in units of the order: a ``timedelta`` for timestamps and dates. None for ever.
    delay
        How long rows wait for earlier ones, in the same units: each is learned when its bucket has
        one that is so much later. Rows without a target do not wait.
    """

    start: Any
    buckets: int
    forget: int | timedelta | None
    delay: int | timedelta


USUAL_OF_LEARNERS: LearnerOptions = {"loss": "squared", "classes": None, "lags": 0, "level": 0.9}
USUAL_OF_TABLES: TableOptions = {**USUAL_OF_LEARNERS, "keep": ()}
USUAL: StreamOptions = {
    **USUAL_OF_TABLES,
    "start": None,
    "buckets": 64,
    "forget": None,
    "delay": 0,
}
"""What holds unless something is said."""
