"""What the state of a run may hold: looked at as a whole, after it was put together and before a
row is tracked with it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.state import ROWS, Field, check
from swordplay.estimators.model import AUTO, LARGEST
from swordplay.estimators.tuning import RICH
from swordplay.tables.column_plans import ALL_DIFFERENT, Plan
from swordplay.tables.encoder_sanity import refuse
from swordplay.tracking.carried import RESERVED
from swordplay.tracking.course import ARRAYS, Recorder
from swordplay.tracking.predictions import Predictions
from swordplay.tracking.rungs import COUNT as COUNT_OF_RUNGS
from swordplay.tracking.rungs import Rungs
from swordplay.tracking.settings import Settings
from swordplay.tracking.steps import Steps
from swordplay.tracking.stretches import FIRST_WIDTH, MOST
from swordplay.tracking.tally import Tally
from swordplay.tracking.task import MOST_CLASSES, TASKS, Recognised
from swordplay.tracking.totals import Totals

if TYPE_CHECKING:
    from swordplay.tracking.classes import ClassContestants
    from swordplay.tracking.tracker import Tracker
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
SERIES = ("category", "truth", "number")
"""Kinds of columns that may tell series apart."""
LOSSES = ("squared", "huber")
LABELS = {"double": (int, float), "bool": (bool,), "string": (str,)}
"""Types of the classes, by pyarrow's name of the target's type."""
SUM, TOTAL = Field(0.0, VAST), Field(-VAST, VAST)
SHARE, VALUE = Field(0.0, 1.0 + 1e-6), Field(-LARGEST, LARGEST, nan=True)
RECORDED = {
    "errors": SUM,
    "rungs": SUM,
    "highest": Field(-math.inf, VAST),
    "lowest": Field(0.0, math.inf),
    "weights": SHARE,
    "effective": SHARE,
    "extra": SHARE,
    "optimism": SHARE,
    "figures": Field(-VAST, VAST),
    "low": Field(-VAST, math.inf),
    "high": Field(-math.inf, VAST),
    "times": Field(-TIME, TIME, nan=True),
}
"""Of the course of a run, by array."""


def type_of(field: Any) -> str:
    """Pyarrow's name of the type of a field, without its unit."""
    return str(field.type).partition("[")[0]


def require_held(saved: Mapping[str, Any], width: int, lags: int) -> None:
    """Refuse sizes that the state itself gives the lie to, before room is made for as much."""
    numbers = sum(np.size(value) for value in saved.values())
    for name, size in (("encoder.width", width), ("lags", lags)):
        if type(size) is not int or not 0 <= size <= numbers:
            raise refuse(f"{name} is {size!r}, and there are {numbers} numbers in all")


def read_decided(saved: Mapping[str, Any]) -> tuple[Settings, Recognised]:
    """What was said about the table, and the task that was recognised, as a tracker saves both."""
    said, task = json.loads(saved["settings"]), json.loads(saved["recognised"])
    if type(said) is not list or type(task) is not list:
        raise refuse(f"the settings are {short_repr(said)}, and the task is {short_repr(task)}")
    settings, recognised = Settings(*said), Recognised(*task)
    require_settings(settings)
    require_recognised(recognised, saved["kind"])
    return settings, recognised


def require_settings(settings: Settings) -> None:
    """Refuse what nobody can have said about a table."""
    lists: tuple[Any, ...] = (
        settings.features or [],
        settings.drop,
        settings.key,
        settings.missing,
        settings.id or [],
    )
    types = {} if settings.types is None else settings.types
    right = (
        all(isinstance(one, list | tuple) and all_of(one, (str,)) for one in lists)
        and isinstance(types, dict)
        and all_of((settings.target, *types.values()), (str,))
        and settings.loss in LOSSES
        and settings.task in (None, *TASKS)
        and (settings.lags == AUTO or type(settings.lags) is int)
        and settings.curves in (None, AUTO, RICH)
        and settings.header in (None, True, False)
        and (
            settings.level is None or (type(settings.level) is float and 0.0 < settings.level < 1.0)
        )
    )
    if not right:
        raise refuse(f"the settings are {short_repr(tuple(settings))}")


def require_recognised(recognised: Recognised, kind: Any) -> None:
    """A task that there is, for a target whose type can have it."""
    task, *why, whole = recognised
    able = ("double", "bool") if task == "regression" else tuple(LABELS)
    if task not in TASKS or not all_of(why, (str,)) or kind not in able:
        raise refuse(
            f"the task is {short_repr(tuple(recognised))} for a target of type {short_repr(kind)}"
        )
    if type(whole) is not bool or (whole and (kind != "double" or task == "regression")):
        raise refuse(
            f"the task is {short_repr(tuple(recognised))} for a target of type {short_repr(kind)}"
        )


def require_carried(fields: Sequence[Any], plans: Sequence[Plan]) -> None:
    """Columns beside the predictions are columns of the table, each of its type or written as
    words.
    """
    kinds, names = (
        {one.name: READ_AS.get(one.kind) for one in plans},
        [field.name for field in fields],
    )
    if len(set(names)) < len(names) or not set(names) <= kinds.keys() - set(RESERVED):
        raise refuse(f"the columns {short_repr(names)} are to stand beside the predictions")
    for field in fields:
        wanted = kinds[field.name] or type_of(field).replace(
            "null", "string"
        )  # of what is left out nobody knows the kind
        if type_of(field) not in (wanted, "string"):
            raise refuse(
                f"the column {short_repr(field.name)} stands beside the predictions as {field.type}"
            )


def require_clocks(clocks: Mapping[str, Steps | None], plans: Sequence[Plan]) -> None:
    """The columns that are watched hold dates, or numbers (years)."""
    known = {one.name: one for one in plans}
    for name, steps in clocks.items():
        one = known.get(name)
        if (
            one is None
            or one.kind not in ("date", "date and time", "number", "left out")
            or one.why == ALL_DIFFERENT
        ):
            raise refuse(f"the column {short_repr(name)} is watched, and holds no dates")
        if one.kind.startswith("date") and steps is not None and type(steps.last) is float:
            raise refuse(f"the last date of {short_repr(name)} is {steps.last}")


def require_tracker(tracker: Tracker) -> None:
    """Refuse a run with numbers that no table leads to."""
    settings = tracker.settings
    counts = {
        "rows": tracker.rows,
        "unlabelled": tracker.unlabelled,
        "refused": tracker.refused,
        "last": tracker.last,
    }
    for name, count in counts.items():
        check(name, count, ROWS)
    of_classes = tracker.recognised.of_classes
    require_predictions(tracker.predictions, of_classes)
    if tracker.lags.recent.shape != (settings.columns_of_lags,):
        raise refuse(
            f"there are lags of shape {tracker.lags.recent.shape} instead of "
            f"{settings.columns_of_lags}"
        )
    codes = Field(0.0, MOST_CLASSES - 1.0, whole=True, nan=True)
    check("lags", tracker.lags.recent, codes if of_classes else VALUE)
    require_carried(tracker.predictions.carried, tracker.encoder.plans)
    require_clocks(tracker.order.clocks, tracker.encoder.plans)
    names = {one.name for one in tracker.encoder.plans if one.kind in (*SERIES, "left out")}
    series = set(tracker.order.series.names if tracker.order.series else ())
    if not series <= names or tracker.order.keyed is not bool(settings.key):
        raise refuse(f"the columns {short_repr(sorted(series))} are watched, and are not all there")
    if not tracker.recognised.of_classes:
        # because the task decides which ones they are
        require_value_contestants(tracker.contestants)  # type: ignore[arg-type]
        classes = 0
    else:
        # because of the same
        require_class_contestants(tracker.contestants, tracker.kind)  # type: ignore[arg-type]
        # because of the same
        classes = len(tracker.contestants.codes)  # type: ignore[attr-defined]
    if isinstance(tracker.recorder, Recorder):
        require_recorder(tracker.recorder)
        require_classes(tracker.tally, classes)
    else:
        require_totals(tracker.recorder)


def require_predictions(predictions: Predictions, of_classes: bool) -> None:
    """How many rows were judged, and what they cost."""
    check("predictions.scored", predictions.scored, ROWS)
    check(
        "predictions.total",
        predictions.total,
        Field(0.0, predictions.scored) if of_classes else SUM,
    )


def require_classes(tally: Tally, classes: int) -> None:
    """What is counted by class is counted of classes that there are."""
    if len(tally.confusion) > classes:
        raise refuse(f"tally.confusion has shape {tally.confusion.shape} for {classes} classes")
    for name in ("predictions", "targets") if classes else ():
        check(
            f"tally.last.{name}", getattr(tally.last, name), Field(0.0, classes - 1.0, whole=True)
        )


def require_recorder(recorder: Recorder) -> None:
    """Stretches of one width, none of them empty but the open one."""
    check("recorder.width", recorder.width, Field(FIRST_WIDTH, ROWS.high, whole=True))
    if recorder.width % FIRST_WIDTH or (recorder.width // FIRST_WIDTH).bit_count() != 1:
        raise refuse(f"recorder.width is {recorder.width}")
    check("recorder.closed", recorder.closed, Field(0, MOST - 1, whole=True))
    check("recorder.open", recorder.open, Field(0, recorder.width - 1, whole=True))
    stop = recorder.closed + 1
    for name in ARRAYS:
        check(f"recorder.{name}", getattr(recorder, name)[:stop], RECORDED[name])
    check("recorder.began", recorder.began, RECORDED["times"])
    if len(recorder.moments) != stop or not all(
        one is None or _is_moment(one) for one in recorder.moments
    ):
        raise refuse("recorder.moments are not those of its stretches")


def require_totals(totals: Totals) -> None:
    """Sums over the rows of one key."""
    check("recorder.rows", totals.rows, ROWS)
    counts = {
        "errors": len(totals.names),
        "open_rungs": COUNT_OF_RUNGS,
        "figures": len(totals.figure_names),
    }
    for name, count in counts.items():
        sums = getattr(totals, name)
        if sums.shape != (count,):
            raise refuse(f"recorder.{name} has shape {sums.shape}")
        check(f"recorder.{name}", sums, SUM)


def require_rungs(rungs: Rungs, classes: int, width: int) -> None:
    """A point for each class, or one in all."""
    check("rungs.points", rungs.points, Field(-VAST, VAST))
    if rungs.points.shape != (classes if classes > 2 else 1, width, COUNT_OF_RUNGS):
        raise refuse(f"rungs.points has shape {rungs.points.shape}")


def require_class_contestants(contestants: ClassContestants, kind: str) -> None:
    """Classes of the target's type, each with its counts."""
    classes = contestants.model.classes
    if list(contestants.codes.values()) != list(range(classes)) or not all_of(
        contestants.codes, LABELS.get(kind, ())
    ):
        raise refuse(
            f"there are {len(contestants.codes)} classes for {classes} models, or some of another "
            "type"
        )
    check("contestants.last", contestants.last, Field(-1, classes - 1, whole=True))
    require_rungs(contestants.rungs, classes, contestants.dim + 1)


def require_classes_of(classes: Any, kind: str) -> list[Any]:
    """Classes of the target's type."""
    if type(classes) is not list or not all_of(classes, LABELS.get(kind, ())):
        raise refuse(f"the classes are {short_repr(classes)} for a target of type {kind}")
    return classes


def require_value_contestants(contestants: ValueContestants) -> None:
    """The last value and the sum of all."""
    check("contestants.last", contestants.last, VALUE._replace(nan=not contestants.started))
    most = LARGEST * max(1, contestants.model.rounds)
    check("contestants.total", contestants.total, Field(-most, most))
    require_rungs(contestants.rungs, 1, contestants.model.columns.width)


def require_keys(
    saved: Any, names: Sequence[str], most: int, fields: Sequence[Any]
) -> list[tuple[Any, ...]]:
    """Keys as they were saved: different ones, not too many, with a value of the right type for
    each column.
    """
    if type(saved) is not list or not names or len(saved) > most:
        raise refuse(f"the keys are {short_repr(saved)}")
    for key in saved:
        if (
            type(key) is not list
            or len(key) != len(names)
            or not all_of(key, (str, float, bool, type(None)))
        ):
            raise refuse(f"a key is {short_repr(key)}")
    if len({tuple(key) for key in saved}) < len(saved):
        raise refuse("two keys are the same")
    columns = dict(zip(names, zip(*saved, strict=True), strict=True)) if saved else {}
    for field in fields:
        written, known = (
            type_of(field),
            [value for value in columns.get(field.name, ()) if value is not None],
        )
        if written in ("double", "bool") and not all_of(known, LABELS[written]):
            raise refuse(
                f"the keys in {short_repr(field.name)} are {short_repr(known)}, and are to be "
                "written as "
                f"{written}"
            )
    return [tuple(key) for key in saved]


def all_of(values: Iterable[Any], kinds: Sequence[type]) -> bool:
    """Whether all values are of exactly these types, numbers finite, and texts made of whole
    characters.
    """
    return all(type(value) in kinds and _is_sound(value) for value in values)


def _is_sound(value: Any) -> bool:
    if type(value) is str:  # half of a surrogate pair, which JSON can hold, has no bytes
        return value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)
    return type(value) is not float or math.isfinite(value)


def _is_moment(one: Any) -> bool:
    return (
        all_of((one.row, one.at), (int,))
        and all_of((one.prediction, one.truth), (str,))
        and all_of((one.loss, 0.0 if one.time is None else one.time), (int, float))
        and isinstance(one.values, dict)
        and all_of(one.values.values(), (str,))
    )
