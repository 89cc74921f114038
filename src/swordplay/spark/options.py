"""What may be said beside the columns of a table or a stream."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypedDict

from swordplay.estimators.model import LossName
from swordplay.spark.plan import Layout


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
    layout
        ``"paged"`` keeps some dozen keys in one value, and reads and writes those among which
        somebody has rows. ``"packed"`` keeps the keys of a bucket in one value, ``"map"`` in a
        value each. What was packed goes on in pages.
    precision
        ``"float64"``, or ``"float32"`` for states of less than half the size. Predictions then
        depend, in the fifth digit or so, on where micro-batches end.
    forget
        How far a key's last row may lie behind the newest of its bucket before the key is
        forgotten, in units of the order: a ``timedelta`` for timestamps and dates. None for ever.
        Not with the layout ``"map"``.
    delay
        How long rows wait for earlier ones, in the same units: each is learned when its bucket has
        one that is so much later. Rows without a target do not wait.
    spread
        ``"even"`` gives every partition as many buckets. ``"hashed"`` leaves it to chance, as
        earlier versions did: to go on with a checkpoint of theirs.
    """

    start: Any
    buckets: int
    layout: Layout
    precision: str
    forget: int | timedelta | None
    delay: int | timedelta
    spread: str


USUAL_OF_LEARNERS: LearnerOptions = {"loss": "squared", "classes": None, "lags": 0, "level": 0.9}
USUAL_OF_TABLES: TableOptions = {**USUAL_OF_LEARNERS, "keep": ()}
USUAL: StreamOptions = {
    **USUAL_OF_TABLES,
    "start": None,
    "buckets": 64,
    "layout": "paged",
    "precision": "float64",
    "forget": None,
    "delay": 0,
    "spread": "even",
}
"""What holds unless something is said."""
