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
from swordplay.estimators.model_settings import LossName
from swordplay.keyed import opening
from swordplay.keyed.group import FORMAT, OtherSettings
from swordplay.keyed.key_text import join, split
from swordplay.spark.bucket import WITH_BANDS, WORDS, Bucket
from swordplay.spark.pages import Pages, partition_key
from swordplay.spark.plan import START_SETTING, Plan, check_settings, setting_changes
from swordplay.spark.rows import track

Batches = Iterator[pa.RecordBatch]
PACKETS = "bucket int, rows binary"
PACKED_NUMBERS = 1 << 22
"""Numbers that a task gathers before it sends them on: 32 MB."""
PACKED_BYTES = 1 << 26
"""Bytes that a task gathers before it sends them on: with long keys these are fewer rows."""
LARGEST_FRAME = 1 << 30
"""Bytes of answers that are handed to Spark at once, which keeps text in columns of 2 GiB at the
most.
"""
SETTINGS = -1
"""A bucket without keys, in which the settings of the query are kept.

Every task that has rows sends it a packet, so that it is asked in every micro-batch: one that was
started with other settings fails before it has changed anything."""

DELAYED_ROWS_KEY, SETTINGS_KEY = "\0waiting", "\0settings"
"""Names of map entries: rows that wait for earlier ones, and the settings of the query.

Every bucket keeps the settings, so that it can name one that has changed even if its rows are
processed before the bucket of the settings is.
"""
STATE_SCHEMA = "key string, fmt int, blob binary"
METADATA_KEY = "swordplay"
"""Under which the settings stand, beside the column of the learners."""


def packets(plan: Plan) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Rows of a task into one packet for each bucket.

    Spark hands rows to a stateful processor as one Python tuple each, which costs some twenty
    microseconds a row. Packets are few, and what is in them stays arrays.
    """

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[pa.RecordBatch] = []
        most = PACKED_NUMBERS // len(plan.schema.names)
        for batch in batches:
            waiting.append(batch)
            if sum(map(len, waiting)) >= most or sum(one.nbytes for one in waiting) >= PACKED_BYTES:
                yield _by_bucket(waiting, plan)
                waiting = []
        if sum(map(len, waiting)):
            yield _by_bucket(waiting, plan)

    return pack


def _by_bucket(batches: list[pa.RecordBatch], plan: Plan) -> pa.RecordBatch:
    whole = pa.Table.from_batches(batches)
    buckets = whole.column("bucket").to_numpy()
    turn = np.argsort(buckets, kind="stable")
    rows = together(whole.select(plan.schema.names), plan).take(pa.array(turn))
    edges = [0, *(np.flatnonzero(np.diff(buckets[turn])) + 1).tolist(), len(turn)]
    contents = [rows.slice(a, b - a).serialize().to_pybytes() for a, b in pairwise(edges)]
    found = buckets[turn[edges[:-1]]]
    numbers = [*partition_key(found).tolist(), SETTINGS]
    return pa.RecordBatch.from_arrays(
        [pa.array(numbers, type=pa.int32()), pa.array([*contents, b""], type=pa.binary())],
        ["bucket", "rows"],
    )


def together(rows: pa.Table, plan: Plan) -> pa.RecordBatch:
    """All rows in one batch, however much text their keys are."""
    [batch] = rows.cast(plan.schema).combine_chunks().to_batches() or [
        pa.RecordBatch.from_pylist([], plan.schema)
    ]
    return batch


class BucketProcessor(StatefulProcessor):
    """Predictions for the packets of a bucket; its state is kept in pages of some dozen keys.

    A micro-batch reads and writes the pages whose keys have rows, and the list of the pages.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Ask Spark for the state: the list of the pages, and the pages by name."""
        self._list = handle.getValueState("pages", "pages binary, turn long")
        self._map = handle.getMapState("map", "key string", "fmt int, blob binary")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Predictions for the rows of one bucket and one micro-batch."""
        packets = [packet for frame in rows for packet in frame["rows"]]
        if key[0] == SETTINGS:
            self._require_settings()
            return
        schema, group = self._plan.schema, self._plan.group()
        parts = [pa.ipc.read_record_batch(pa.py_buffer(packet), schema) for packet in packets]
        batch = self._released(together(pa.Table.from_batches(parts, schema), self._plan))
        answers, learned = track(batch, self._plan, group, lambda keys: self._load(group, keys))
        if len(learned):
            self._save(group, learned)
            if not self._map.containsKey((SETTINGS_KEY,)):
                self._save_settings()
        size = max(1, len(answers) * LARGEST_FRAME // max(1, answers.nbytes))
        for first in range(0, len(answers), size):
            yield _frame(answers.slice(first, size))

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Let keys of one bucket begin with what they have learned from a table."""
        keys = initialState["key"].tolist()
        group = self._plan.group(begun=True)
        self._load(group, keys)
        self._save(
            group,
            load_start(group, keys, initialState["fmt"].tolist(), initialState["blob"].tolist()),
        )

    def _load(self, group: Bucket, keys: list[str]) -> None:
        """Bring keys into a group; settings that have changed since they were saved are named."""
        try:
            self._load_pages(group, keys)
        except OtherSettings:
            if (saved := self._map.getValue((SETTINGS_KEY,))) is not None:
                check_settings(json.loads(bytes(saved[1])), self._settings())
            raise

    def _settings(self) -> dict[str, str]:
        """Names and JSON values of the settings that must not change between two starts."""
        return dict(self._plan.frozen) | ({START_SETTING: "given"} if self._plan.begun else {})

    def _released(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that need not wait any longer, with those that have waited before.

        The others are kept.
        """
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
            batch = together(pa.Table.from_batches([earlier, batch]), self._plan)
        held = waits(batch, self._plan.delay)
        if held.any():
            later = batch.filter(pa.array(held))
            self._map.updateValue((DELAYED_ROWS_KEY,), (FORMAT, later.serialize().to_pybytes()))
        elif before is not None:
            self._map.removeKey((DELAYED_ROWS_KEY,))
        return batch.filter(pa.array(~held)) if held.any() else batch

    def _forgotten(self, group: Bucket) -> bool:
        """Let keys go that have been idle for long, by the clock of the rows."""
        return self._plan.forget is not None and group.forget(
            int(group.orders.max()) - self._plan.forget
        )

    def _require_settings(self) -> None:
        """Refuse to go on with other settings than those of the first start, which are kept."""
        if (saved := self._map.getValue((SETTINGS_KEY,))) is None:
            self._save_settings()
        else:
            check_settings(json.loads(bytes(saved[1])), self._settings())

    def _save_settings(self) -> None:
        self._map.updateValue((SETTINGS_KEY,), (WORDS, json.dumps(self._settings()).encode()))

    def _load_pages(self, group: Bucket, keys: list[str]) -> None:
        """Bring all keys of the pages that hold these keys into a group."""
        saved = self._list.get()
        self._is_new = saved is None
        self._pages, self._turn = Pages(), 0
        if saved is None:
            return
        self._pages, self._turn = Pages(bytes(saved[0])), int(saved[1])
        wanted = set(self._pages.of(keys))
        if self._plan.forget is not None:  # one more page in turn, to find idle keys
            wanted.add(sorted(self._pages.all)[self._turn % len(self._pages.all)])
        for page in sorted(wanted):
            if (found := self._map.getValue((page.name,))) is not None:
                version, data = found
                _require(version)
                names = split(bytes(data))
                group.loads([(names, bytes(data)[len(join(names)) :])], version)

    def _save(self, group: Bucket, numbers: Any) -> None:
        """Write the pages of the keys that have learned, and of those that were forgotten."""
        before, names = self._pages.of(group.places), list(group.places)
        touched = self._pages.of(names[number] for number in numbers.tolist())
        if self._forgotten(group):
            touched = before
        left, size = self._pages.of(group.places), len(self._pages.all)
        for page in sorted(touched):
            parts = self._pages.split(page, left.get(page, []))
            if not parts.get(page) and self._map.containsKey((page.name,)):
                self._map.removeKey((page.name,))
            for part, keys in parts.items():
                if keys:
                    blob = group.dumps([group.places[key] for key in keys])
                    self._map.updateValue((part.name,), (group.format, join(keys) + blob))
        if self._is_new or len(self._pages.all) > size or self._plan.forget is not None:
            self._list.update((self._pages.dumps(), self._turn + 1))

    def close(self) -> None:
        """Nothing is open."""


def waits(batch: pa.RecordBatch, delay: int) -> Any:
    """Mask of the rows that wait for earlier ones: less than ``delay`` behind the newest one.

    Rows without a target, and rows that cannot be learned, are answered at once.
    """
    orders, there = (
        batch.column("order"),
        batch.column("order").is_valid().to_numpy(zero_copy_only=False),
    )
    if not delay or not there.any():
        return np.zeros(len(batch), dtype=bool)
    whole = orders.fill_null(0).to_numpy(zero_copy_only=False)
    learned = (
        batch.column(name).is_valid().to_numpy(zero_copy_only=False) for name in ("key", "target")
    )
    return there & np.logical_and(*learned) & (whole > whole[there].max() - delay)


def _frame(batch: pa.RecordBatch) -> Any:
    """A pandas frame, in which whole numbers stay whole."""
    import pandas as pd

    return batch.to_pandas(
        types_mapper={pa.int64(): pd.Int64Dtype()}.get if batch.column("order").null_count else None
    )


def _require(version: int) -> None:
    if version not in (FORMAT, WITH_BANDS):
        raise ValueError(
            f"the state in this checkpointLocation has format {version}, and this version of "
            f"swordplay reads {FORMAT} and {WITH_BANDS}. "
            "Go on with the version that wrote it, or give the query a new checkpointLocation."
        )


# Sorted tables


def predict_sorted(plan: Plan) -> Callable[[Batches], Batches]:
    """Predictions for rows that are sorted by key and order."""

    def play(batches: Batches) -> Batches:
        for answers, _, _ in _play_sorted(plan, batches):
            if answers is not None:
                yield answers

    return play


def learn_sorted(plan: Plan) -> Callable[[Batches], Batches]:
    """Return a function that learns rows sorted by key and order, and yields the keys' states.

    A state is a key, the version of its format, and bytes.
    """

    def play(batches: Batches) -> Batches:
        for _, group, keys in _play_sorted(plan, batches):
            blobs = [group.dumps([group.places[key]]) for key in keys]
            if keys:
                parts = [
                    pa.array(keys),
                    pa.array([group.format] * len(keys), type=pa.int32()),
                    pa.array(blobs, type=pa.binary()),
                ]
                yield pa.RecordBatch.from_arrays(parts, ["key", "fmt", "blob"])

    return play


def _play_sorted(
    plan: Plan, batches: Batches
) -> Iterator[tuple[pa.RecordBatch | None, Bucket, list[str]]]:
    """Answers to each batch, its keys, and which of them have no rows to come.

    At the end the last one, without answers.
    """
    group = plan.group()
    for batch in batches:
        if not len(batch):
            continue
        answers, _ = track(batch, plan, group, lambda keys: None)
        last = batch.column("key")[-1].as_py()
        yield answers, group, [key for key in group.places if key != last]
        following = plan.group()
        if last in group.places:  # its next rows may be in the next batch
            following.loads([([last], group.dumps([group.places[last]]))])
        group = following
    yield None, group, list(group.places)


# Initial states, and states as estimators


def settings_metadata(plan: Plan) -> dict[str, Any]:
    """What stands beside the column of the learners: the settings they were made with."""
    return {METADATA_KEY: json.dumps(dict(plan.frozen))}


def group_start(start: Any, bucket: Any, plan: Plan) -> Any:
    """The states of a table by bucket, as Spark wants to have them.

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
    """Replace numbers of buckets by the keys of their groups (see ``spread``)."""
    import pyarrow as pa

    for batch in batches:
        numbers = batch.column("bucket").to_numpy()
        yield batch.set_column(0, "bucket", pa.array(partition_key(numbers), type=pa.int32()))


def load_start(
    group: Bucket, keys: Sequence[str], formats: Sequence[int], blobs: Sequence[bytes]
) -> Any:
    """Let keys join a bucket with what they have learned; their numbers.

    Raises
    ------
    ValueError
        If a state was learned with other settings or is damaged, or a key is there twice.
    """
    seen = set(group.places)
    for key in keys:
        if key in seen:
            raise ValueError(f"start holds the key {key!r} more than once. Give each key once.")
        seen.add(key)
    if strange := sorted(set(formats) - {FORMAT, WITH_BANDS}):
        raise ValueError(
            f"start holds states of format {strange[0]}, and this version reads {FORMAT} and "
            f"{WITH_BANDS}."
        )
    for version in (FORMAT, WITH_BANDS):
        some = [
            (key, blob)
            for key, fmt, blob in zip(keys, formats, blobs, strict=True)
            if fmt == version
        ]
        group.loads([([key], bytes(blob)) for key, blob in some], version)
    return np.array([group.places[key] for key in keys], dtype=np.int64)


def open_state(
    fmt: int,
    blob: bytes,
    *,
    key: str | None = None,
    features: Sequence[str],
    loss: LossName = "squared",
    lags: int = 0,
) -> dict[str, Any]:
    """Return the learners in one value of a regression's state as ``SwordRegressor``, by key.

    They go on by themselves, with the same coefficients and predictions to come; what certificates
    need is not kept on Spark.

    Parameters
    ----------
    fmt, blob
        A page of keys, as ``spark.read.format("statestore")`` shows it with ``stateVarName``
        ``"map"``, or a row that :func:`learn_table` has made.
    key
        The key of the row that :func:`learn_table` has made; None for a page.
    features, loss, lags
        As the query has them.

    Raises
    ------
    ValueError
        If these are no learners, or learners with other columns.
    """
    if fmt == WORDS:  # the settings of a bucket: there are no learners in it
        return {}
    if fmt not in (FORMAT, WITH_BANDS):
        raise ValueError(
            f"fmt must be {FORMAT} or {WITH_BANDS}, which values with learners have, got "
            f"{arguments.short_repr(fmt)}."
        )
    data = bytes(blob)
    names = split(data) if key is None else [key]
    plan = Plan(tuple(features), loss, 0, lags, buckets=1)
    group = plan.group(any_settings=True)
    group.loads([(names, data[len(join(names)) :] if key is None else data)], fmt)
    return {
        key: opening.regressor(group.learner, group.record(number)[0], plan.features)
        for key, number in group.places.items()
    }
