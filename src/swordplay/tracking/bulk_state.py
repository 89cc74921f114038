"""The saved state of a run over many keys in bulk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from swordplay.core.state import (
    ROW_COUNT_RANGE,
    Field,
    add_prefix,
    check,
    check_number,
    damaged,
    entry_bytes,
    strip_prefix,
)
from swordplay.core.types import State
from swordplay.estimators.model import LARGEST
from swordplay.tracking.key_index import read_keys
from swordplay.tracking.ranges import SUM, TOTAL

if TYPE_CHECKING:
    from swordplay.tracking.bulk import BulkTracker

COUNTS = ("rows", "unlabelled", "refused", "last")
MOST_KEYS = 1 << 31
SLACK = 1e-6
"""Rounding of sums, relatively."""


def written(tracker: BulkTracker) -> State:
    """All that the next row needs."""
    like = tracker.like.state() | add_prefix("encoder", tracker.encoder.state())
    return {
        **like,
        **{name: getattr(tracker, name) for name in COUNTS},
        **add_prefix(
            "bulk",
            {
                "keys": json.dumps(tracker.trackers),
                "late": json.dumps(tracker.late),
                "table": np.frombuffer(tracker.table.to_bytes(), dtype=np.uint8),
                **{name: array.rows.copy() for name, array in tracker.key_arrays().items()},
            },
        ),
    }


def read(tracker: BulkTracker, saved: Mapping[str, Any]) -> None:
    """Go on from a saved state.

    Raises
    ------
    ValueError
        If it is not one that such a run leads to.
    """
    bulk = strip_prefix("bulk", saved)
    keys = read_keys(bulk["keys"], tracker.settings.key, MOST_KEYS, tracker.fields)
    names = keys if len(tracker.settings.key) > 1 else [value for (value,) in keys]
    tracker.table.from_bytes([(names, entry_bytes("bulk.table", bulk["table"]))])
    ranges = {
        "last": Field(-LARGEST, LARGEST),
        "totals": TOTAL,
        "counts": ROW_COUNT_RANGE,
        "sums": SUM,
        "figures": SUM,
        "apart": Field(0.0, 1.0, whole=True),
    }
    for name, array in tracker.key_arrays().items():
        values = np.asarray(bulk[name])
        if values.shape != (len(keys), *array.rows.shape[1:]) or np.isnan(values).any():
            raise damaged(f"the {name} of the keys have shape {values.shape}")
        check(name, values, ranges[name])
        array.extend(len(keys), values.astype(array.rows.dtype))
    if (np.abs(tracker.totals.rows) > LARGEST * tracker.counts.rows * (1.0 + SLACK)).any():
        raise damaged("the totals of the keys are more than their rows can have")
    for name in COUNTS:
        check_number(name, saved[name], ROW_COUNT_RANGE)
        setattr(tracker, name, int(saved[name]))
    tracker.late = [str(name) for name in json.loads(bulk["late"])]
    encoder = strip_prefix("encoder", saved)
    tracker.encoder.missing, tracker.encoder.seen = (
        json.loads(encoder["missing"]),
        int(encoder["rows"]),
    )
    tracker.encoder.check()
