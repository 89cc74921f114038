"""Code of Spark's Python workers: packets, stateful processors, sorted tables, initial states."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from swordplay.core import arguments
from swordplay.estimators.model_settings import AUTO, LossName
from swordplay.keyed import key_models
from swordplay.keyed.key_bytes import OtherSettings
from swordplay.keyed.key_table import KeyTable
from swordplay.spark.pages import Pages, keys_to_bytes, partition_key, split_keys
from swordplay.spark.plan import START_SETTING, QueryPlan, check_settings, setting_changes
from swordplay.spark.rows import track

Batches = Iterator[pa.RecordBatch]
KEYS_FORMAT, ROWS_FORMAT, SETTINGS_FORMAT = 1, 1, 4
"""Formats of entries of a state: keys (``keyed.key_bytes``), rows that wait (Arrow), settings."""
PACKETS = "bucket int, rows binary"
PACKET_NUMBERS = 1 << 22
"""Cells (rows times columns) that a task gathers in packets before it sends them on: 32 MB."""
PACKET_BYTES = 1 << 26
"""Bytes that a task gathers before it sends them on: with long keys these are fewer rows."""
MAX_FRAME_BYTES = 1 << 30
"""Most bytes of answers in a frame: Spark keeps text in columns of at most 2 GiB."""
SETTINGS_BUCKET = -1
"""A bucket without keys, in which the settings of the query are kept.

Every task that has rows sends it a packet, so that it is processed in every micro-batch. If the
query was started with other settings, the micro-batch fails as a whole, and nothing is changed.
"""

DELAYED_ROWS_KEY, SETTINGS_KEY = "\0waiting", "\0settings"
"""Names of map entries: rows that wait for earlier ones, and the settings of the query.

Every bucket keeps the settings, so that it can name one that has changed if it fails first.
"""
STATE_SCHEMA = "key string, fmt int, blob binary"
METADATA_KEY = "swordplay"
"""Entry of the metadata of the column of states that holds the settings of the keys."""


def packets(plan: QueryPlan) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function that packs the rows of a task into one packet for each bucket.

    Spark hands rows to a stateful processor as one Python tuple each, which costs some twenty
    microseconds a row. Packets are few, and what is in them stays arrays.
    """

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        most = PACKET_NUMBERS // len(plan.schema.names)
        for batch in batches:
            waiting.append(batch)
            if sum(map(len, waiting)) >= most or sum(one.nbytes for one in waiting) >= PACKET_BYTES:
                yield _by_bucket(waiting, plan)
                waiting = []
        if sum(map(len, waiting)):
            yield _by_bucket(waiting, plan)

    return pack


def _by_bucket(batches: list[pa.RecordBatch], plan: QueryPlan) -> pa.RecordBatch:
    whole = pa.Table.from_batches(batches)
    buckets = whole.column("bucket").to_numpy()
    by_bucket = np.argsort(buckets, kind="stable")
    rows = one_batch(whole.select(plan.schema.names), plan).take(pa.array(by_bucket))
    edges = [0, *(np.flatnonzero(np.diff(buckets[by_bucket])) + 1).tolist(), len(buckets)]
    contents = [rows.slice(a, b - a).serialize().to_pybytes() for a, b in pairwise(edges)]
    found = buckets[by_bucket[edges[:-1]]]
    numbers = [*partition_key(found).tolist(), SETTINGS_BUCKET]
    return pa.RecordBatch.from_arrays(
        [pa.array(numbers, type=pa.int32()), pa.array([*contents, b""], type=pa.binary())],
        ["bucket", "rows"],
    )


def one_batch(rows: pa.Table, plan: QueryPlan) -> pa.RecordBatch:
    """Return all rows as one record batch, whatever the size of their keys."""
    [batch] = rows.cast(plan.schema).combine_chunks().to_batches() or [
        pa.RecordBatch.from_pylist([], plan.schema)
    ]
    return batch


class BucketProcessor(StatefulProcessor):
    """Predictions for the packets of a bucket; its state is kept in pages of some dozen keys.

    A micro-batch reads and writes the pages whose keys have rows, and the list of the pages.
    """

    def __init__(self, plan: QueryPlan) -> None:
        self._plan = plan

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Get the state from Spark: the list of the pages, and the pages by name."""
        self._list = handle.getValueState("pages", "pages binary, turn long")
        self._map = handle.getMapState("map", "key string", "fmt int, blob binary")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Predictions for the rows of one bucket and one micro-batch."""
        packets = [packet for frame in rows for packet in frame["rows"]]
        if key[0] == SETTINGS_BUCKET:
            self._require_settings()
            return
        schema, table = self._plan.schema, self._plan.table()
        parts = [pa.ipc.read_record_batch(pa.py_buffer(packet), schema) for packet in packets]
        batch = self._released(one_batch(pa.Table.from_batches(parts, schema), self._plan))
        answers, learned = track(batch, self._plan, table, lambda keys: self._load(table, keys))
        if len(learned):
            self._save(table, learned)
            if not self._map.containsKey((SETTINGS_KEY,)):
                self._save_settings()
        size = max(1, len(answers) * MAX_FRAME_BYTES // max(1, answers.nbytes))
        for first in range(0, len(answers), size):
            yield _frame(answers.slice(first, size))

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Let keys of one bucket begin with what they have learned from a table."""
        keys = initialState["key"].tolist()
        table = self._plan.table(from_table=True)
        self._load(table, keys)
        formats, blobs = initialState["fmt"].tolist(), initialState["blob"].tolist()
        self._save(table, load_start(table, keys, formats, blobs))

    def _load(self, table: KeyTable, keys: list[str]) -> None:
        """Load the pages of keys; settings that have changed since they were saved are named."""
        try:
            self._load_pages(table, keys)
        except OtherSettings:
            if (saved := self._map.getValue((SETTINGS_KEY,))) is not None:
                check_settings(json.loads(bytes(saved[1])), self._settings())
            raise

    def _settings(self) -> dict[str, str]:
        """Names and JSON values of the settings that must not change between two starts."""
        return dict(self._plan.frozen) | ({START_SETTING: "given"} if self._plan.has_start else {})

    def _released(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows that need not wait any longer; the others are kept in the state."""
        if (before := self._map.getValue((DELAYED_ROWS_KEY,))) is not None:
            try:
                earlier = pa.ipc.read_record_batch(
                    pa.py_buffer(bytes(before[1])), self._plan.schema
                )
            except (pa.ArrowInvalid, OSError) as error:
                raise ValueError(
                    f"rows that wait for earlier ones are damaged ({error}). Go back to a "
                    "checkpoint."
                ) from error
            batch = one_batch(pa.Table.from_batches([earlier, batch]), self._plan)
        held = waits(batch, self._plan.delay)
        if held.any():
            later = batch.filter(pa.array(held))
            self._map.updateValue(
                (DELAYED_ROWS_KEY,), (ROWS_FORMAT, later.serialize().to_pybytes())
            )
        elif before is not None:
            self._map.removeKey((DELAYED_ROWS_KEY,))
        return batch.filter(pa.array(~held)) if held.any() else batch

    def _forget_idle(self, table: KeyTable) -> bool:
        """Forget keys that are idle, measured by the order of the rows; whether there were any."""
        return self._plan.forget is not None and table.forget(
            int(table.last_seen.max()) - self._plan.forget
        )

    def _require_settings(self) -> None:
        """Refuse settings that differ from those of the first start, which are in the state."""
        if (saved := self._map.getValue((SETTINGS_KEY,))) is None:
            self._save_settings()
        else:
            check_settings(json.loads(bytes(saved[1])), self._settings())

    def _save_settings(self) -> None:
        self._map.updateValue(
            (SETTINGS_KEY,), (SETTINGS_FORMAT, json.dumps(self._settings()).encode())
        )

    def _load_pages(self, table: KeyTable, keys: list[str]) -> None:
        """Add all keys of the pages that hold some of these keys."""
        saved = self._list.get()
        self._is_new = saved is None
        self._pages, self._next_idle_check = Pages(), 0
        if saved is None:
            return
        self._pages, self._next_idle_check = Pages(bytes(saved[0])), int(saved[1])
        wanted = set(self._pages.of(keys))
        if self._plan.forget is not None:  # one more page in turn, to find idle keys
            wanted.add(sorted(self._pages.all)[self._next_idle_check % len(self._pages.all)])
        for page in sorted(wanted):
            if (found := self._map.getValue((page.name,))) is not None:
                entry_format, data = found
                _require_keys_format(entry_format)
                table.from_bytes([split_keys(bytes(data))])

    def _save(self, table: KeyTable, numbers: Any) -> None:
        """Write the pages of the keys that have learned, and of those that were forgotten.

        :meth:`_load_pages` has been called before. ``numbers`` are row numbers in the table, like
        the values of ``table.numbers``, whose keys are the keys.
        """
        before, names = self._pages.of(table.numbers), list(table.numbers)
        touched = self._pages.of(names[number] for number in numbers.tolist())
        if self._forget_idle(table):
            touched = before
        left, size = self._pages.of(table.numbers), len(self._pages.all)
        for page in sorted(touched):
            parts = self._pages.split(page, left.get(page, []))
            if not parts.get(page) and self._map.containsKey((page.name,)):
                self._map.removeKey((page.name,))
            for part, keys in parts.items():
                if keys:
                    blob = table.to_bytes([table.numbers[key] for key in keys])
                    self._map.updateValue((part.name,), (KEYS_FORMAT, keys_to_bytes(keys) + blob))
        if self._is_new or len(self._pages.all) > size or self._plan.forget is not None:
            self._list.update((self._pages.to_bytes(), self._next_idle_check + 1))

    def close(self) -> None:
        """Nothing is open."""


def waits(batch: pa.RecordBatch, delay: int) -> Any:
    """Mask of the rows that wait: their order is less than ``delay`` before the newest.

    Rows without a target, and rows that cannot be learned, do not wait.
    """
    orders = batch.column("order")
    has_order = orders.is_valid().to_numpy(zero_copy_only=False)
    if not delay or not has_order.any():
        return np.zeros(len(batch), dtype=bool)
    whole = orders.fill_null(0).to_numpy(zero_copy_only=False)
    learned = (
        batch.column(name).is_valid().to_numpy(zero_copy_only=False) for name in ("key", "target")
    )
    return has_order & np.logical_and(*learned) & (whole > whole[has_order].max() - delay)


def _frame(batch: pa.RecordBatch) -> Any:
    """Return rows as a pandas frame in which whole numbers stay whole."""
    import pandas as pd

    return batch.to_pandas(
        types_mapper={pa.int64(): pd.Int64Dtype()}.get if batch.column("order").null_count else None
    )


def _require_keys_format(entry_format: int) -> None:
    if entry_format != KEYS_FORMAT:
        raise ValueError(
            f"the state in this checkpointLocation has format {entry_format}, and this version of "
            f"swordplay reads {KEYS_FORMAT}. "
            "Go on with the version that wrote it, or give the query a new checkpointLocation."
        )


# Sorted tables


def predict_sorted(plan: QueryPlan) -> Callable[[Batches], Batches]:
    """Return a function that predicts rows sorted by key and order."""

    def predict(batches: Batches) -> Batches:
        for answers, _, _ in _learn_batches(plan, batches):
            if answers is not None:
                yield answers

    return predict


def learn_sorted(plan: QueryPlan) -> Callable[[Batches], Batches]:
    """Return a function that learns rows sorted by key and order, and yields the keys' states.

    A state is a key, the version of its format, and bytes.
    """

    def learn(batches: Batches) -> Batches:
        for _, table, keys in _learn_batches(plan, batches):
            blobs = [table.to_bytes([table.numbers[key]]) for key in keys]
            if keys:
                parts = [
                    pa.array(keys),
                    pa.array([KEYS_FORMAT] * len(keys), type=pa.int32()),
                    pa.array(blobs, type=pa.binary()),
                ]
                yield pa.RecordBatch.from_arrays(parts, ["key", "fmt", "blob"])

    return learn


def _learn_batches(
    plan: QueryPlan, batches: Batches
) -> Iterator[tuple[pa.RecordBatch | None, KeyTable, list[str]]]:
    """Yield for each batch its answers, the table of its keys, and the keys that are complete.

    The last key of a batch, whose rows may go on, is carried to the next. At the end come the keys
    that are left, without answers.
    """
    table = plan.table()
    for batch in batches:
        if not len(batch):
            continue
        answers, _ = track(batch, plan, table, lambda keys: None)
        last = batch.column("key")[-1].as_py()
        yield answers, table, [key for key in table.numbers if key != last]
        following = plan.table()
        if last in table.numbers:
            following.from_bytes([([last], table.to_bytes([table.numbers[last]]))])
        table = following
    yield None, table, list(table.numbers)


# Initial states, and states as estimators


def settings_metadata(plan: QueryPlan) -> dict[str, Any]:
    """Return the metadata of the column of states: the settings of the keys."""
    return {METADATA_KEY: json.dumps(dict(plan.frozen))}


def group_start(start: Any, bucket: Any, plan: QueryPlan) -> Any:
    """Group the states of a table by bucket, as Spark expects initial states.

    Raises
    ------
    TypeError, ValueError
        If they are none, or were learned with other settings.
    """
    types = (
        {field.name: field.dataType.simpleString() for field in start.schema.fields}
        if hasattr(start, "schema")
        else {}
    )
    if types != {"key": "string", "fmt": "int", "blob": "binary"} or start.isStreaming:
        raise TypeError(
            "start must be a frame that learn_table has made, got "
            f"{arguments.short_repr(types or start)}."
        )
    saved = start.schema["blob"].metadata.get(METADATA_KEY)
    if saved is not None and (
        changed := setting_changes(json.loads(saved), dict(plan.portable().frozen))
    ):
        raise ValueError(
            f"start was learned with other settings: {'; '.join(changed)}. Let learn_table learn "
            "with those of the stream."
        )
    return (
        start.select(bucket, "*")
        .mapInArrow(_with_partition_keys, f"bucket int, {STATE_SCHEMA}")
        .groupBy("bucket")
    )


def _with_partition_keys(batches: Any) -> Any:
    """Replace numbers of buckets by the keys of their groups (see ``pages``)."""
    import pyarrow as pa

    for batch in batches:
        numbers = batch.column("bucket").to_numpy()
        yield batch.set_column(0, "bucket", pa.array(partition_key(numbers), type=pa.int32()))


def load_start(
    table: KeyTable, keys: Sequence[str], formats: Sequence[int], blobs: Sequence[bytes]
) -> Any:
    """Add keys with the states that they learned from a table, and return their numbers.

    Raises
    ------
    ValueError
        If a state was learned with other settings or is damaged, or a key is there twice.
    """
    seen = set(table.numbers)
    for key in keys:
        if key in seen:
            raise ValueError(f"start holds the key {key!r} more than once. Give each key once.")
        seen.add(key)
    if others := sorted(set(formats) - {KEYS_FORMAT}):
        raise ValueError(
            f"start holds states of format {others[0]}, and this version reads {KEYS_FORMAT}."
        )
    table.from_bytes([([key], bytes(blob)) for key, blob in zip(keys, blobs, strict=True)])
    return np.array([table.numbers[key] for key in keys], dtype=np.int64)


def open_state(
    fmt: int,
    blob: bytes,
    *,
    key: str | None = None,
    features: Sequence[str],
    loss: LossName = "squared",
    lags: int | str = AUTO,
    curves: str | None = AUTO,
) -> dict[str, Any]:
    """Return the models in one value of a regression's state as ``SwordRegressor``, by key.

    They go on by themselves, with the same coefficients and predictions to come; what certificates
    need is not kept on Spark.

    Parameters
    ----------
    fmt, blob
        A page of keys, as ``spark.read.format("statestore")`` shows it with ``stateVarName``
        ``"map"``, or a row that :func:`learn_table` has made.
    key
        The key of the row that :func:`learn_table` has made; None for a page.
    features, loss, lags, curves
        As in the query.

    Raises
    ------
    ValueError
        If these are no models, or models with other columns.
    """
    if fmt == SETTINGS_FORMAT:  # the settings of a bucket, without models
        return {}
    if fmt != KEYS_FORMAT:
        raise ValueError(
            f"fmt must be {KEYS_FORMAT}, as for all values with models, got "
            f"{arguments.short_repr(fmt)}."
        )
    plan = QueryPlan(tuple(features), loss, 0, lags, buckets=1, curves=curves)
    table = plan.table(any_settings=True)
    table.from_bytes([split_keys(bytes(blob)) if key is None else ([key], bytes(blob))])
    return {
        key: key_models.estimator_of(table, number, plan.features)
        for key, number in table.numbers.items()
    }
