"""What the state of a run may hold: looked at as a whole, after it was put together and before a row is tracked with it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

import numpy as np

from swordplay.arguments import shown
from swordplay.encoding.columns import MOST_CATEGORIES, WIDTHS, Encoder
from swordplay.estimators.model import LARGEST
from swordplay.state import COUNT, DAMAGED, Range, require
from swordplay.tables import OutputPosition, Position
from swordplay.tables.layout import Layout
from swordplay.tracking.course import ARRAYS, FIRST_WIDTH, MOST, Recorder
from swordplay.tracking.rungs import COUNT as COUNT_OF_RUNGS
from swordplay.tracking.rungs import Rungs
from swordplay.tracking.tally import BINS, LAST_ROWS, Tally
from swordplay.tracking.task import MOST_CLASSES, TASKS
from swordplay.tracking.totals import Totals

if TYPE_CHECKING:
    from swordplay.tracking.labels import LabelContestants
    from swordplay.tracking.tracker import Tracker
    from swordplay.tracking.trackers import AnyTracker
    from swordplay.tracking.values import ValueContestants

TIME = 1e15
"""Milliseconds since 1970: beyond what a date can be."""
VAST = 1e200
"""Sums of squared errors, each below 1e130."""
READ_AS = {
    "number": "double",
    "truth": "bool",
    "category": "string",
    "date": "timestamp",
    "date and time": "timestamp",
    "time": "time64",
}
"""Pyarrow's name of the type of each kind of column."""
KINDS = (*READ_AS, "left out")
LOSSES = ("squared", "huber")
FORMATS = ("csv", "ndjson", "parquet", "memory")
LABELS = {"double": (int, float), "bool": (bool,), "string": (str,)}
"""Types of the classes, by pyarrow's name of the target's type."""
SUM, SHARE, VALUE = Range(0.0, VAST), Range(0.0, 1.0 + 1e-6), Range(-LARGEST, LARGEST, missing=True)
RECORDED = {
    "errors": SUM,
    "rungs": SUM,
    "highest": Range(-math.inf, VAST),
    "lowest": Range(0.0, math.inf),
    "weights": SHARE,
    "effective": SHARE,
    "extra": SHARE,
    "optimism": SHARE,
    "figures": Range(-VAST, VAST),
    "low": Range(-VAST, math.inf),
    "high": Range(-math.inf, VAST),
    "times": Range(-TIME, TIME, missing=True),
}
"""Of the course of a run, by array."""


def refuse(what: str) -> ValueError:
    """A state that no run leads to."""
    return ValueError(f"{what}. {DAMAGED}")


def require_held(saved: Mapping[str, Any], width: int, lags: int) -> None:
    """Refuse sizes that the state itself gives the lie to, before room is made for as much."""
    numbers = sum(np.size(value) for value in saved.values())
    for name, size in (("encoder.width", width), ("lags", lags)):
        if type(size) is not int or not 0 <= size <= numbers:
            raise refuse(f"{name} is {size!r}, and there are {numbers} numbers in all")


def require_tracker(tracker: Tracker) -> None:
    """Refuse a run with numbers that no table leads to."""
    settings = tracker.settings
    if tracker.recognised.task not in TASKS or type(tracker.recognised.why) is not str:
        raise refuse(f"the task is {shown(tracker.recognised)}")
    if not _all_of((settings.target, *settings.drop, *(settings.features or ())), (str,)) or settings.loss not in LOSSES:
        raise refuse(f"the settings are {shown(settings)}")
    counts = {"rows": tracker.rows, "unlabelled": tracker.unlabelled, "refused": tracker.refused, "last": tracker.last}
    for name, count in {**counts, "predictions.scored": tracker.predictions.scored}.items():
        require(name, count, COUNT)
    labels = tracker.recognised.task != "regression"
    require("predictions.total", tracker.predictions.total, Range(0.0, tracker.predictions.scored) if labels else SUM)
    if tracker.lags.recent.shape != (settings.lags,):
        raise refuse(f"there are lags of shape {tracker.lags.recent.shape} instead of {settings.lags}")
    places = Range(0.0, MOST_CLASSES - 1.0, whole=True, missing=True)
    require("lags", tracker.lags.recent, places if labels else VALUE)
    watched = [*tracker.order.clocks, *(tracker.order.series.names if tracker.order.series else ())]
    if not set(watched) <= {one.name for one in tracker.encoder.plans} or type(tracker.order.keyed) is not bool:
        raise refuse(f"the columns {shown(watched)} are watched, and are not all there")
    if isinstance(tracker.recorder, Recorder):
        require_recorder(tracker.recorder)
        require_tally(tracker.tally)
    else:
        require_totals(tracker.recorder)
    if tracker.recognised.task == "regression":
        require_values(tracker.contestants)  # type: ignore[arg-type]  # because the task decides which ones they are
    else:
        require_labels(tracker.contestants, tracker.kind)  # type: ignore[arg-type]  # because of the same


def require_encoder(encoder: Encoder) -> None:
    """Every column of numbers belongs to one column of the table, and to one of its categories."""
    names = [one.name for one in encoder.plans]
    if len(set(names)) < len(names) or any(one.kind not in KINDS for one in encoder.plans):
        raise refuse("the plans of the columns do not make sense")
    if list(encoder.missing) != names:
        raise refuse("the counts of missing values are not those of the columns")
    require("encoder.missing", list(encoder.missing.values()), COUNT)
    groups = [*encoder.categories.values(), *encoder.lagged]
    places = [place for one in groups for place in one.all()]
    late = [(encoder.starts.get(one.name, -1), WIDTHS[one.kind]) for one in encoder.plans if one.late and one.kind in WIDTHS]
    places += [start + k for start, wide in late if type(start) is int for k in range(wide)]
    if any(type(place) is not int for place in places) or sorted(places) != list(range(encoder.fixed, encoder.width)):
        raise refuse(f"the places of categories do not fill columns {encoder.fixed} to {encoder.width}")
    if any(len(one.places) > MOST_CATEGORIES for one in groups):
        raise refuse(f"a column has more than {MOST_CATEGORIES} categories")


def require_recorder(recorder: Recorder) -> None:
    """Stretches of one width, none of them empty but the open one."""
    require("recorder.width", recorder.width, Range(FIRST_WIDTH, COUNT.most, whole=True))
    if recorder.width % FIRST_WIDTH or (recorder.width // FIRST_WIDTH).bit_count() != 1:
        raise refuse(f"recorder.width is {recorder.width}")
    require("recorder.closed", recorder.closed, Range(0, MOST - 1, whole=True))
    require("recorder.open", recorder.open, Range(0, recorder.width - 1, whole=True))
    stop = recorder.closed + 1
    for name in ARRAYS:
        require(f"recorder.{name}", getattr(recorder, name)[:stop], RECORDED[name])
    if len(recorder.moments) != stop or not all(one is None or _is_moment(one) for one in recorder.moments):
        raise refuse("recorder.moments are not those of its stretches")


def require_totals(totals: Totals) -> None:
    """Sums over the rows of one key."""
    require("recorder.rows", totals.rows, COUNT)
    for name, sums, count in (("errors", totals.errors, len(totals.names)), ("rungs", totals.open_rungs, COUNT_OF_RUNGS)):
        if sums.shape != (count,):
            raise refuse(f"recorder.{name} has shape {sums.shape}")
        require(f"recorder.{name}", sums, SUM)


def require_tally(tally: Tally) -> None:
    """Counts over all rows, and the last rows."""
    lengths = {len(values) for values in tally.last}
    if len(lengths) != 1 or max(lengths) > LAST_ROWS or any(values.ndim != 1 for values in tally.last):
        raise refuse("tally.last does not hold the same number of rows everywhere")
    require("tally.last.times", tally.last.times, Range(-TIME, TIME, missing=True))
    require("tally.last.numbers", tally.last.numbers, COUNT)
    for name in ("predictions", "targets", "probabilities"):
        require(f"tally.last.{name}", getattr(tally.last, name), Range(-VAST, VAST))
    if tally.confusion.ndim != 2 or len(set(tally.confusion.shape)) != 1:
        raise refuse(f"tally.confusion has shape {tally.confusion.shape}")
    require("tally.confusion", tally.confusion, COUNT)
    for name, sums in tally.sureness._asdict().items():
        if sums.shape != (BINS,):
            raise refuse(f"tally.sureness.{name} has shape {sums.shape}")
        require(f"tally.sureness.{name}", sums, Range(0.0, COUNT.most))


def require_rungs(rungs: Rungs, classes: int) -> None:
    """A point for each class, or one in all."""
    require("rungs.points", rungs.points, Range(-VAST, VAST))
    if rungs.points.shape != (classes if classes > 2 else 1, rungs.columns.width, COUNT_OF_RUNGS):
        raise refuse(f"rungs.points has shape {rungs.points.shape}")


def require_labels(contestants: LabelContestants, kind: str) -> None:
    """Classes of the target's type, each with its counts."""
    classes = contestants.model.classes
    if list(contestants.places.values()) != list(range(classes)) or not _all_of(contestants.places, LABELS.get(kind, ())):
        raise refuse(f"there are {len(contestants.places)} classes for {classes} models, or some of another type")
    require("contestants.last", contestants.last, Range(-1, classes - 1, whole=True))
    require_rungs(contestants.rungs, classes)


def require_values(contestants: ValueContestants) -> None:
    """The last value and the sum of all."""
    require("contestants.last", contestants.last, VALUE._replace(missing=not contestants.started))
    require("contestants.total", contestants.total, Range(-VAST, VAST))
    require_rungs(contestants.rungs, 1)


P = TypeVar("P", Position, OutputPosition)


def require_place(place: P) -> P:
    """Where a run is in its input or its output: strings, and numbers that count something."""
    for name, kind in get_type_hints(type(place)).items():
        value = getattr(place, name)
        if type(value) is not kind or (kind is int and not 0 <= value <= COUNT.most):
            raise refuse(f"{name} of a place is {shown(value)}")
    if place.format not in FORMATS:
        raise refuse(f"the format of a place is {shown(place.format)}")
    return place


def require_layout(position: Position, tracker: AnyTracker) -> None:
    """The columns that the run reads are those that it uses, and of their types."""
    layout, details = Layout.read(position.layout)
    if not _all_of(layout.names, (str,)) or len(set(layout.names)) < len(layout.names) or not _all_of(details.values(), (str,)):
        raise refuse(f"the layout of the input is {shown(position.layout)}")
    if not re.fullmatch(r"[\t -~]?", details.get("delimiter", "")) or not re.fullmatch("[.,]?", details.get("decimal", "")):
        raise refuse(f"the layout of the input is {shown(position.layout)}")
    kinds = {field.name: str(field.type).partition("[")[0] for field in layout.schema}
    nothing = (
        "null" if "grows" in details else None
    )  # a column may join between this position and the row that was tracked last
    used = {one.name: READ_AS[one.kind] for one in tracker.encoder.plans if one.kind != "left out"}
    for name, kind in (used | {tracker.settings.target: tracker.kind.partition("[")[0]}).items():
        if kinds.get(name, nothing) not in (kind, "null"):
            raise refuse(f"the column {shown(name)} is read as {kinds.get(name)}, and used as {kind}")


def require_remarks(remarks: Any) -> tuple[str, ...]:
    """Sentences."""
    if type(remarks) is not list or not _all_of(remarks, (str,)):
        raise refuse(f"the remarks are {shown(remarks)}")
    return tuple(remarks)


def require_seconds(seconds: Any) -> float:
    """How long it took."""
    require("seconds", seconds, SUM)
    return float(seconds)


def _all_of(values: Iterable[Any], kinds: Sequence[type]) -> bool:
    return all(type(value) in kinds and (type(value) is not float or math.isfinite(value)) for value in values)


def _is_moment(one: Any) -> bool:
    return (
        _all_of((one.row, one.at), (int,))
        and _all_of((one.prediction, one.truth), (str,))
        and _all_of((one.loss,), (int, float))
        and isinstance(one.values, dict)
        and _all_of(one.values.values(), (str,))
    )
