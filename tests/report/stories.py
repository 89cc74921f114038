"""Stories of real runs: the tracking room on generated tables that drift."""

import functools

import numpy as np
import pyarrow as pa

from swordplay.tracking import Settings, Tracker

HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</script><img src=x onerror=window.hacked=1>",
    "\"'><b onclick='window.hacked=1'>&amp;{{constructor}}${1}",
    "abc\u202edcba\u2066x\x00\x07\nnew line",
    "long " + 10_000 * "x",
)
"""Names and values that want to be more than text."""
BATCH = 1 << 16


def drifting(rows, task, seed=0):
    """Columns and targets whose coefficients turn, and turn faster in the middle third."""
    rng = np.random.default_rng(seed)
    place = np.arange(rows) / rows
    angle = np.cumsum(np.where(abs(place - 0.5) < 1 / 6, 20.0, 2.0)) / rows
    columns = rng.normal(size=(rows, 3))
    score = np.cos(angle) * columns[:, 0] + np.sin(angle) * columns[:, 1]
    if task == "regression":
        return columns, 20.0 + 3.0 * score + rng.normal(scale=0.5, size=rows)
    noisy = score + rng.logistic(scale=0.2, size=rows)
    return columns, np.searchsorted([0.0] if task == "binary" else [-0.5, 0.5], noisy).astype(float)


@functools.cache
def told(rows=2000, task="binary"):
    """The story of a run over a table that drifts."""
    columns, targets = drifting(rows, task)
    return tracked(
        {f"x{k}": columns[:, k] for k in range(columns.shape[1])} | {"y": targets},
        "y",
        "drifting.csv",
    )


@functools.cache
def dated(rows=2000, backwards=False):
    """A regression whose rows have a date, one an hour from 2012 on.

    The coefficient of "wind" turns in the middle.
    """
    rng = np.random.default_rng(4)
    columns = rng.normal(size=(rows, 2))
    signs = np.where(np.arange(rows) < rows // 2, 3.0, -3.0)
    targets = 10.0 + signs * columns[:, 0] + columns[:, 1] + rng.normal(scale=0.5, size=rows)
    hours = np.datetime64("2012-01-01", "h") + np.arange(rows)
    table = {
        "when": (hours[::-1] if backwards else hours).astype("datetime64[us]"),
        "wind": columns[:, 0],
        "rain": columns[:, 1],
    }
    return tracked(table | {"y": targets}, "y", "dated.csv")


@functools.cache
def hostile():
    """The same of a table whose names and values are hostile, the classes and the file's name
    too.
    """
    columns, targets = drifting(600, "multi-class")
    table = {name: columns[:, k % 3] for k, name in enumerate(HOSTILE)}
    table |= {"kind": np.array(HOSTILE, dtype=object)[np.arange(600) % len(HOSTILE)]}
    return tracked(
        table | {HOSTILE[1] + "y": np.array(HOSTILE, dtype=object)[targets.astype(int)]},
        HOSTILE[1] + "y",
        HOSTILE[0],
    )


def tracked(table, target, source):
    """Track a table given by its columns."""
    batch = pa.record_batch(table)
    tracker = Tracker.begin(Settings(target), batch.slice(0, 1000))
    for start in range(0, len(batch), BATCH):
        part = batch.slice(start, BATCH)
        tracker.track(part, np.arange(start + 1, start + 1 + len(part)))
    return tracker.story(source, seconds=1.25)
