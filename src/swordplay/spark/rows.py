"""Rows of a bucket: which can be learned, in which order, and what became of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from swordplay.core.types import Matrix, Vector
from swordplay.estimators.model_settings import LARGEST
from swordplay.keyed.key_table import KeyTable, learn_predict_waves
from swordplay.spark.plan import QueryPlan

NO_KEY = "key is null"
NO_ORDER = "order is null"
LATE = "order is not after that of the last row of this key"


class CheckedBatch(NamedTuple):
    """Rows as arrays, and what is wrong with each."""

    keys: list[str]
    """The different keys of rows without an error."""
    codes: Any
    """Place of the key of each row among these, -1 for rows with an error; shape ``(T,)``."""
    orders: Any
    rows: Matrix
    targets: Vector
    errors: Any
    """Reasons, None for a row without an error; shape ``(T,)``."""
    has_no_target: Any
    """Mask of the rows that are predicted and not learned, shape ``(T,)``."""


def check_batch(batch: pa.RecordBatch, plan: QueryPlan) -> CheckedBatch:
    """Return rows as arrays, with a reason for each that cannot be learned or predicted."""
    rows = np.empty((len(batch), len(plan.features)))
    for j in range(rows.shape[1]):
        rows[:, j] = _numbers(batch.column(f"x{j}"))
    targets = _numbers(batch.column("target"))
    errors: Any = np.full(len(batch), None, dtype=object)
    # Reasons in reverse order: the first one replaces the others.
    has_no_target = _nulls(batch.column("target"))
    bad = ~(np.abs(targets) <= LARGEST) & ~has_no_target
    errors[bad] = (
        "target is not one of the classes"
        if plan.classes
        else f"target is NaN, infinite or beyond {LARGEST:g}"
    )
    wrong = ~(np.abs(rows) <= LARGEST)
    for number in np.flatnonzero(wrong.any(axis=1)):
        name = plan.features[int(wrong[number].argmax())]
        errors[number] = f"feature {name!r} is null, NaN, infinite or beyond {LARGEST:g}"
    errors[_nulls(batch.column("order"))] = NO_ORDER
    errors[_nulls(batch.column("key"))] = NO_KEY
    fine = errors == None  # elementwise  # noqa: E711
    encoded = batch.column("key").filter(pa.array(fine)).dictionary_encode()
    codes = np.full(len(batch), -1, dtype=np.int64)
    codes[fine] = encoded.indices.to_numpy()
    return CheckedBatch(
        encoded.dictionary.to_pylist(),
        codes,
        _whole(batch.column("order")),
        rows,
        targets,
        errors,
        has_no_target,
    )


def track(
    batch: pa.RecordBatch, plan: QueryPlan, table: KeyTable, load: Callable[[list[str]], None]
) -> tuple[pa.RecordBatch, Any]:
    """Predict and learn the rows of a bucket.

    Parameters
    ----------
    batch
        Rows of ``plan.schema``, in any order.
    table
        The keys of the bucket.
    load
        Called with the keys of the rows: adds those that were saved to the table.

    Returns
    -------
    The rows in the same order, as ``plan.answers`` says, and the numbers of the keys that have
    learned something.
    """
    checked = check_batch(batch, plan)
    load(checked.keys)
    numbers = np.append(_numbers_of_keys(checked, table), -1)[checked.codes]
    has_target = (checked.codes >= 0) & ~checked.has_no_target
    learned = in_order(numbers, checked, has_target)
    late = checked.orders[learned] <= table.last_seen[numbers[learned]]
    repeated = np.zeros(len(learned), dtype=bool)
    repeated[1:] = (np.diff(numbers[learned]) == 0) & (np.diff(checked.orders[learned]) == 0)
    checked.errors[learned[late | repeated]] = LATE
    learned = learned[~(late | repeated)]
    predicted = np.flatnonzero((checked.codes >= 0) & checked.has_no_target)
    every = np.concatenate([predicted, learned])
    every = every[np.lexsort((has_target[every], checked.orders[every], numbers[every]))]
    answers = np.zeros((len(batch), max(1, plan.classes)))
    bounds = np.full((len(batch), 2), np.inf)
    for places, learns in learn_predict_waves(numbers, every, has_target):
        keys, rows = numbers[places], checked.rows[places]
        targets = checked.targets[places] if learns else None
        answers[places] = (
            table.predict(keys, rows)
            if targets is None
            else table.learn(keys, checked.orders[places], rows, targets)
        )
        bounds[places] = table.intervals(keys, answers[places, 0], targets)
    return _answers(batch, plan, checked, every, answers[every], bounds[every]), np.unique(
        numbers[learned]
    )


def _numbers_of_keys(checked: CheckedBatch, table: KeyTable) -> Any:
    """The number of each key; those that are new join if they have something to learn."""
    learns = np.zeros(len(checked.keys), dtype=bool)
    learns[checked.codes[(checked.codes >= 0) & ~checked.has_no_target]] = True
    table.add([key for key, one in zip(checked.keys, learns.tolist(), strict=True) if one])
    return table.numbers_of(checked.keys)


def in_order(numbers: Any, checked: CheckedBatch, has_target: Any) -> Any:
    """Places of the rows with a target, key by key, each in its order."""
    fine = np.flatnonzero(has_target)
    learned = fine[np.lexsort((checked.orders[fine], numbers[fine]))]
    if ((np.diff(numbers[learned]) == 0) & (np.diff(checked.orders[learned]) == 0)).any():
        # Rows of the same key and order: one of them is learned, the same one whenever these rows
        # are read again, and the same one as in a table, which Spark sorts by the columns from left
        # to right.
        columns = (
            checked.targets[fine],
            *checked.rows[fine].T[::-1],
            checked.orders[fine],
            numbers[fine],
        )
        learned = fine[np.lexsort(columns)]
    return learned


def _answers(
    batch: pa.RecordBatch,
    plan: QueryPlan,
    checked: CheckedBatch,
    places: Any,
    answers: Matrix,
    bounds: Matrix,
) -> pa.RecordBatch:
    """Return a batch with the predictions, or probabilities, of the rows at some places."""
    refused = np.ones(len(batch), dtype=bool)
    refused[places] = False
    predictions = np.zeros(len(batch))
    # A label that is none of the classes has no place among them, and a NaN would not be one for
    # Spark.
    target = (
        pa.array(checked.targets, mask=np.isnan(checked.targets))
        if plan.classes
        else batch.column("target")
    )
    parts = [batch.column("key"), batch.column("order"), target]
    if plan.classes:
        shares = np.zeros((len(batch), plan.classes))
        shares[places] = answers
        predictions[places] = answers.argmax(axis=1)
        parts.append(pa.array(predictions, mask=refused))
        edges = np.arange(0, shares.size + 1, plan.classes, dtype=np.int32)
        parts.append(
            pa.ListArray.from_arrays(
                pa.array(edges), pa.array(shares.ravel()), mask=pa.array(refused)
            )
        )
    else:
        predictions[places] = answers[:, 0]
        parts.append(pa.array(predictions, mask=refused))
        ends = np.full((len(batch), 2), np.inf)
        ends[places] = bounds
        parts += (
            []
            if plan.level is None
            else [pa.array(end, mask=~np.isfinite(end)) for end in ends.T.copy()]
        )
    parts.append(pa.array(checked.errors, type=pa.string()))
    if plan.keeps:
        parts.append(batch.column("kept").cast(pa.string()))
    return pa.RecordBatch.from_arrays(parts, schema=plan.answers.set(0, batch.schema.field("key")))


def _nulls(column: pa.Array) -> Any:
    return column.is_null().to_numpy(zero_copy_only=False)


def _numbers(column: pa.Array) -> Vector:
    """Return a column as doubles, NaN for null."""
    return np.asarray(pc.fill_null(column, np.nan).to_numpy(zero_copy_only=False), dtype=np.float64)


def _whole(column: pa.Array) -> Any:
    return pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
