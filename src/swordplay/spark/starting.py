"""A stream that begins with what keys have learned from a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.keyed.group import FORMAT
from swordplay.spark.bucket import WITH_BANDS, Bucket
from swordplay.spark.plan import Plan
from swordplay.spark.settings import changes
from swordplay.spark.spread import called

STATES = "key string, fmt int, blob binary"
ABOUT = "swordplay"
"""Under which the settings stand, beside the column of the learners."""


def told(plan: Plan) -> dict[str, Any]:
    """What stands beside the column of the learners: the settings they were made with."""
    return {ABOUT: json.dumps(dict(plan.frozen))}


def grouped(start: Any, bucket: Any, plan: Plan) -> Any:
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
    saved = start.schema["blob"].metadata.get(ABOUT)
    if saved is not None and (changed := changes(json.loads(saved), dict(plan.portable().frozen))):
        raise ValueError(
            f"start was learned with other settings: {'; '.join(changed)}. Let learn_table learn "
            "with those of the stream."
        )
    return start.select(bucket, "*").mapInArrow(_called, f"bucket int, {STATES}").groupBy("bucket")


def _called(batches: Any) -> Any:
    """Replace numbers of buckets by the keys of their groups (see ``spread``)."""
    import pyarrow as pa

    for batch in batches:
        numbers = batch.column("bucket").to_numpy()
        yield batch.set_column(0, "bucket", pa.array(called(numbers), type=pa.int32()))


def joined(
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
