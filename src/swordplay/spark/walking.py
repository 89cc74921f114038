"""Tables that Spark has sorted: one key after the other, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from swordplay.spark.bucket import Bucket
from swordplay.spark.plan import Plan
from swordplay.spark.rows import track

Batches = Iterator[pa.RecordBatch]


def walk(plan: Plan) -> Callable[[Batches], Batches]:
    """Predictions for rows that are sorted by key and order."""

    def play(batches: Batches) -> Batches:
        for answers, _, _ in _walked(plan, batches):
            if answers is not None:
                yield answers

    return play


def states(plan: Plan) -> Callable[[Batches], Batches]:
    """What each key knows after all its rows, for rows that are sorted by key and order: key,
    version and bytes.
    """

    def play(batches: Batches) -> Batches:
        for _, group, keys in _walked(plan, batches):
            blobs = [group.dumps([group.places[key]]) for key in keys]
            if keys:
                parts = [
                    pa.array(keys),
                    pa.array([group.format] * len(keys), type=pa.int32()),
                    pa.array(blobs, type=pa.binary()),
                ]
                yield pa.RecordBatch.from_arrays(parts, ["key", "fmt", "blob"])

    return play


def _walked(
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
