"""Rows of a bucket: which can be learned, in which order, and what became of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.core.types import Matrix, Vector
from swordplay.estimators.class_probabilities import probabilities_of
from swordplay.estimators.model_settings import LARGEST
from swordplay.keyed.turns import turns
from swordplay.spark.bucket import Bucket
from swordplay.spark.plan import Plan

NO_KEY = "key is null"
NO_ORDER = "order is null"
LATE = "order is not after that of the last row of this key"


class Judged(NamedTuple):
    """Rows as arrays, and what is wrong with each."""

    keys: list[str]
    """The different keys that have rows to learn."""
    codes: Any
    """Place of each row's key among these, -1 for rows that are refused; shape ``(T,)``."""
    orders: Any
    rows: Matrix
    targets: Vector
    errors: Any
    """Reasons, None for a row that is in order; shape ``(T,)``."""
    asked: Any
    """Which rows have no target: they are predicted and not learned; shape ``(T,)``."""


def judge(batch: pa.RecordBatch, plan: Plan) -> Judged:
    """Rows that could be learned, and reasons for those that cannot."""
    rows = np.empty((len(batch), len(plan.features)))
    for j in range(rows.shape[1]):
        rows[:, j] = _numbers(batch.column(f"x{j}"))
    targets = _numbers(batch.column("target"))
    errors: Any = np.full(len(batch), None, dtype=object)
    # From the last reason to the first: the first one stays.
    asked = _nulls(batch.column("target"))
    bad = ~(np.abs(targets) <= LARGEST) & ~asked
    errors[bad] = (
        "target is not one of the classes"
        if plan.classes
        else f"target is NaN, infinite or beyond {LARGEST:g}"
    )
    wrong = ~(np.abs(rows) <= LARGEST)
    for number in np.flatnonzero(wrong.any(axis=1)):
        errors[number] = _not_moderate(f"feature {plan.features[int(wrong[number].argmax())]!r}")
    errors[_nulls(batch.column("order"))] = NO_ORDER
    errors[_nulls(batch.column("key"))] = NO_KEY
    fine = errors == None  # because it is asked of every entry  # noqa: E711
    encoded = batch.column("key").filter(pa.array(fine)).dictionary_encode()
    codes = np.full(len(batch), -1, dtype=np.int64)
    codes[fine] = encoded.indices.to_numpy()
    return Judged(
        encoded.dictionary.to_pylist(),
        codes,
        _whole(batch.column("order")),
        rows,
        targets,
        errors,
        asked,
    )


def track(
    batch: pa.RecordBatch, plan: Plan, group: Bucket, known: Callable[[list[str]], None]
) -> tuple[pa.RecordBatch, Any]:
    """Predict and learn the rows of a bucket.

    Parameters
    ----------
    batch
        Rows of ``plan.schema``, in any order.
    group
        The bucket.
    known
        Called with the keys of the rows: brings those that were seen before into the group.

    Returns
    -------
    The rows in the same order, as ``plan.answers`` says, and the numbers of the keys that have
    learned something.
    """
    judged = judge(batch, plan)
    known(judged.keys)
    numbers = np.append(_numbered(judged, group), -1)[judged.codes]
    learned = (judged.codes >= 0) & ~judged.asked
    turn = in_order(numbers, judged, learned)
    late = judged.orders[turn] <= group.orders[numbers[turn]]
    repeated = np.zeros(len(turn), dtype=bool)
    repeated[1:] = (np.diff(numbers[turn]) == 0) & (np.diff(judged.orders[turn]) == 0)
    judged.errors[turn[late | repeated]] = LATE
    turn = turn[~(late | repeated)]
    asked = np.flatnonzero((judged.codes >= 0) & judged.asked)
    every = np.concatenate([asked, turn])
    every = every[np.lexsort((learned[every], judged.orders[every], numbers[every]))]
    scores, bounds = np.zeros((len(batch), plan.models)), np.full((len(batch), 2), np.inf)
    for some, learn in turns(numbers, every, learned):
        who, targets = numbers[some], judged.targets[some] if learn else None
        if learn:
            scores[some] = group.play(
                who, judged.orders[some], judged.rows[some], judged.targets[some]
            )
        else:
            scores[some] = group.ask(who, judged.rows[some])
        bounds[some] = group.intervals(who, scores[some, 0], targets)
    return _answers(batch, plan, judged, every, scores[every], bounds[every]), np.unique(
        numbers[turn]
    )


def _numbered(judged: Judged, group: Bucket) -> Any:
    """The number of each key.

    Those that are new join if they have something to learn, and are -1 otherwise.
    """
    learns = np.zeros(len(judged.keys), dtype=bool)
    learns[judged.codes[(judged.codes >= 0) & ~judged.asked]] = True
    group.admit([key for key, one in zip(judged.keys, learns.tolist(), strict=True) if one])
    return np.array([group.places.get(key, -1) for key in judged.keys], dtype=np.int64)


def in_order(numbers: Any, judged: Judged, learned: Any) -> Any:
    """Places of the rows to learn, key by key, each in its order."""
    fine = np.flatnonzero(learned)
    turn = fine[np.lexsort((judged.orders[fine], numbers[fine]))]
    if ((np.diff(numbers[turn]) == 0) & (np.diff(judged.orders[turn]) == 0)).any():
        # Rows of the same key and order: one of them is learned, the same one whenever these rows
        # are read again, and the same one as in a table, which Spark sorts by the columns from left
        # to right.
        columns = (
            judged.targets[fine],
            *judged.rows[fine].T[::-1],
            judged.orders[fine],
            numbers[fine],
        )
        turn = fine[np.lexsort(columns)]
    return turn


def _answers(
    batch: pa.RecordBatch, plan: Plan, judged: Judged, turn: Any, scores: Matrix, bounds: Matrix
) -> pa.RecordBatch:
    refused = np.ones(len(batch), dtype=bool)
    refused[turn] = False
    predictions = np.zeros(len(batch))
    # A label that is none of the classes has no place among them, and a NaN would not be one for
    # Spark.
    target = (
        pa.array(judged.targets, mask=np.isnan(judged.targets))
        if plan.classes
        else batch.column("target")
    )
    parts = [batch.column("key"), batch.column("order"), target]
    if plan.classes:
        shares = np.zeros((len(batch), plan.classes))
        shares[turn] = probabilities_of(scores, plan.classes)
        predictions[turn] = shares[turn].argmax(axis=1)
        parts.append(pa.array(predictions, mask=refused))
        edges = np.arange(0, shares.size + 1, plan.classes, dtype=np.int32)
        parts.append(
            pa.ListArray.from_arrays(
                pa.array(edges), pa.array(shares.ravel()), mask=pa.array(refused)
            )
        )
    else:
        predictions[turn] = scores[:, 0]
        parts.append(pa.array(predictions, mask=refused))
        ends = np.full((len(batch), 2), np.inf)
        ends[turn] = bounds
        parts += (
            []
            if plan.level is None
            else [pa.array(end, mask=~np.isfinite(end)) for end in ends.T.copy()]
        )
    parts.append(pa.array(judged.errors, type=pa.string()))
    if plan.keeps:
        parts.append(batch.column("kept").cast(pa.string()))
    return pa.RecordBatch.from_arrays(parts, schema=plan.answers.set(0, batch.schema.field("key")))


def _not_moderate(name: str) -> str:
    return f"{name} is null, NaN, infinite or beyond {LARGEST:g}"


def _nulls(column: pa.Array) -> Any:
    return column.is_null().to_numpy(zero_copy_only=False)


def _numbers(column: pa.Array) -> Vector:
    """Doubles, NaN for null."""
    return np.asarray(pc.fill_null(column, np.nan).to_numpy(zero_copy_only=False), dtype=np.float64)


def _whole(column: pa.Array) -> Any:
    return pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
