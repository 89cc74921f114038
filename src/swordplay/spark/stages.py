"""What Spark's Python workers run on a stream: rows into packets, packets into predictions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from swordplay.keyed.group import FORMAT, OtherSettings
from swordplay.keyed.key_text import join, split
from swordplay.spark import settings
from swordplay.spark.bucket import WITH_BANDS, WORDS, Bucket
from swordplay.spark.pages import Pages
from swordplay.spark.plan import Plan
from swordplay.spark.rows import track
from swordplay.spark.spread import called
from swordplay.spark.starting import joined

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

WAITING_ROWS, SETTINGS_TEXT = "\0waiting", "\0settings"
"""Names of map entries: rows that wait for earlier ones, and the settings of the query.

Every bucket keeps the settings, so that it can name one that has changed even if its rows are
processed before the bucket of the settings is.
"""


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
    numbers = [*called(found).tolist(), SETTINGS]
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
            if not self._map.containsKey((SETTINGS_TEXT,)):
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
            group, joined(group, keys, initialState["fmt"].tolist(), initialState["blob"].tolist())
        )

    def _load(self, group: Bucket, keys: list[str]) -> None:
        """Bring keys into a group; settings that have changed since they were saved are named."""
        try:
            self._load_pages(group, keys)
        except OtherSettings:
            if (saved := self._map.getValue((SETTINGS_TEXT,))) is not None:
                settings.require_same(json.loads(bytes(saved[1])), self._settings())
            raise

    def _settings(self) -> dict[str, str]:
        """Names and JSON values of the settings that must not change between two starts."""
        return dict(self._plan.frozen) | ({settings.START: "given"} if self._plan.begun else {})

    def _released(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that need not wait any longer, with those that have waited before.

        The others are kept.
        """
        if (before := self._map.getValue((WAITING_ROWS,))) is not None:
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
            self._map.updateValue((WAITING_ROWS,), (FORMAT, later.serialize().to_pybytes()))
        elif before is not None:
            self._map.removeKey((WAITING_ROWS,))
        return batch.filter(pa.array(~held)) if held.any() else batch

    def _forgotten(self, group: Bucket) -> bool:
        """Let keys go that have been idle for long, by the clock of the rows."""
        return self._plan.forget is not None and group.forget(
            int(group.orders.max()) - self._plan.forget
        )

    def _require_settings(self) -> None:
        """Refuse to go on with other settings than those of the first start, which are kept."""
        if (saved := self._map.getValue((SETTINGS_TEXT,))) is None:
            self._save_settings()
        else:
            settings.require_same(json.loads(bytes(saved[1])), self._settings())

    def _save_settings(self) -> None:
        self._map.updateValue((SETTINGS_TEXT,), (WORDS, json.dumps(self._settings()).encode()))

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
    """Which rows of a bucket wait for earlier ones: those less than ``delay`` behind the newest
    one.

    Rows without a target are predicted at once, and so are those told that cannot be learned.
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
