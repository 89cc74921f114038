"""``KeyedTracker``: a tracker for each of the series that the key columns tell apart."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Self, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from swordplay.core.arguments import short_repr
from swordplay.core.state import ROW_COUNT_RANGE, add_prefix, check_number, damaged, strip_prefix
from swordplay.core.types import State
from swordplay.tables import Refusal
from swordplay.tables.categories import codes_of
from swordplay.tables.column_plans import EMPTY, ColumnPlan, check_plans, plan
from swordplay.tables.encoder import Encoder
from swordplay.tables.errors import nearest
from swordplay.tracking import carried, keyed_story
from swordplay.tracking.date_order import OrderRemark, from_json, order_remarks, to_json
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.key_index import read_keys
from swordplay.tracking.keyed_story import Key, KeyedStory, Lines
from swordplay.tracking.packing import pack, unpack
from swordplay.tracking.predictions import Predictions
from swordplay.tracking.settings import Settings
from swordplay.tracking.story import Intervals, Task
from swordplay.tracking.task import Recognised, check_classes, read_task, recognise
from swordplay.tracking.tracker import Tracked, Tracker, check_sizes

MAX_KEYS = 10_000
"""Most keys with a whole tracker each: 150 kB with a dozen columns, 1.5 GB for so many keys."""
COUNTS, WHY = ("rows", "unlabelled", "refused", "last"), "it is the key"


@final
class KeyedTracker:
    """Trackers of many keys, with the interface of one tracker.

    Each key is tracked as if its rows were a table of their own, in their order: it has its own
    model, baselines and lags. Predictions come in the order of the input, with the key beside them.

    Make one by :meth:`begin` or :meth:`resumed`.

    Parameters
    ----------
    settings, recognised, kind
        As for a ``Tracker``, for all keys.
    plans
        What to make of each column.
    fields
        The columns that predictions carry: those of the key, and others.
    order
        The remarks on the order of the first rows, within each key.
    """

    def __init__(
        self,
        settings: Settings,
        recognised: Recognised,
        kind: str,
        plans: tuple[ColumnPlan, ...],
        fields: tuple[Any, ...],
        order: tuple[OrderRemark, ...],
    ) -> None:
        self.settings, self.recognised, self.kind, self.fields, self.order = (
            settings,
            recognised,
            kind,
            fields,
            order,
        )
        self.plans = plans
        self.trackers: dict[Key, Tracker] = {}
        """By their keys, in the order in which these appeared."""
        self.classes: dict[Any, None] = {}
        """Classes of all keys, in the order in which they appeared."""
        self.blank = self._fresh()
        """A tracker that never learns: all keys begin like it."""
        self.predictions = Predictions(
            kind, recognised.of_classes, interval=self.blank.band is not None
        )
        """Keeps the running error over all keys."""
        self.rows = self.unlabelled = self.refused = self.last = 0
        self.numbering: NDArray[np.int64] | None = None

    def _fresh(self) -> Tracker:
        of_classes = self.recognised.of_classes
        encoder = Encoder(
            self.plans, self.settings.columns_of_lags, of_classes, self.settings.target
        )
        return Tracker(self.settings, self.recognised, self.kind, encoder)

    @classmethod
    def begin(cls, settings: Settings, head: Any) -> Self:
        """A tracker of a table that begins with these rows (see ``Tracker.begin``)."""
        names = head.schema.names
        settings = settings._replace(key=tuple(dict.fromkeys(settings.key)))
        for name in settings.key:
            if name not in names:
                raise TrackingError(
                    f"--key names the column {short_repr(name)}, which is not "
                    f"there.{nearest(name, names)}"
                )
            if name == settings.target:
                raise TrackingError(
                    f"--key names the target {short_repr(name)}. Name columns that tell series "
                    "apart."
                )
            if name in carried.RESERVED:
                raise TrackingError(
                    f"--key names {short_repr(name)}, which is a column of the predictions "
                    "themselves. Rename it."
                )
            if pa.types.is_timestamp(head.column(name).type):
                raise TrackingError(
                    f"--key names {short_repr(name)}, which holds dates. Name columns that tell "
                    "series apart."
                )
        target = head.column(settings.target)
        recognised = recognise(settings.target, target, settings.task)
        features = (
            None
            if settings.features is None
            else [name for name in settings.features if name not in settings.key]
        )
        drop = [name for name in settings.drop if name not in settings.key]
        found = plan(head, settings.target, features, drop, settings.id or ())
        plans = tuple(
            ColumnPlan(one.name, "left out", WHY) if one.name in settings.key else one
            for one in found
        )
        keys = carried.carried(head, settings.target, settings.key)
        beside = carried.carried(head, settings.target, settings.id)
        fields = (*keys, *(field for field in beside if field.name not in settings.key))
        order = order_remarks(head, settings.target, settings.key)
        return cls(settings, recognised, str(target.type), plans, fields, order)

    @property
    def encoder(self) -> Encoder:
        """What is made of each column, as far as the head tells."""
        return self.blank.encoder

    @property
    def schema(self) -> Any:
        """The pyarrow schema of the predictions: the key comes behind the number of the row."""
        first, *rest = self.predictions.schema
        return pa.schema([first, *self.fields, *rest])

    @property
    def task(self) -> Task:
        """The task by all that was seen."""
        return "multi-class" if len(self.classes) > 2 else self.recognised.task

    @property
    def started(self) -> bool:
        """Whether anything was learned."""
        return any(tracker.started for tracker in self.trackers.values())

    @property
    def effective_step_size(self) -> float:
        """Geometric mean over all keys; NaN before the first row."""
        steps = [
            tracker.effective_step_size for tracker in self.trackers.values() if tracker.started
        ]
        return math.exp(math.fsum(map(math.log, steps)) / len(steps)) if steps else math.nan

    def strange(self, batch: Any) -> dict[int, str]:
        """Which rows of a batch cannot be used, whatever their key, and why."""
        return self.blank.strange(batch)

    def usable(
        self, batch: Any, numbers: NDArray[np.int64]
    ) -> tuple[Any, NDArray[np.int64], tuple[Refusal, ...]]:
        """The rows that can be used, whatever their key, and refusals of the others, by their
        numbers in the input.
        """
        return self.blank.usable(
            batch, numbers if self.numbering is None else self.numbering[numbers - 1]
        )

    def track(self, batch: Any, numbers: NDArray[np.int64]) -> Tracked:
        """Predict and learn rows, those of each key in their order (see ``Tracker.track``)."""
        last = int(numbers[-1]) if len(numbers) else self.last
        batch, numbers, refusals = self.usable(batch, numbers)
        groups = self._groups(batch)
        self._learn_classes(batch.column(self.settings.target))
        answers = self._answers(batch, numbers, groups) if groups else None
        self.rows, self.refused, self.last = (
            self.rows + len(batch),
            self.refused + len(refusals),
            last,
        )
        self.unlabelled += batch.column(self.settings.target).null_count
        nothing = [pa.array([], kind) for kind in self.schema.types]
        return Tracked(
            pa.record_batch(nothing, schema=self.schema) if answers is None else answers, refusals
        )

    def _groups(self, batch: Any) -> dict[Key, NDArray[np.intp]]:
        """Return the rows of each key, keys in the order in which they appear in a batch."""
        coded = [codes_of(batch.column(name)) for name in self.settings.key]
        whole = np.zeros(len(batch), np.int64)
        for codes, values in coded:
            whole = np.unique(whole * (len(values) + 1) + codes + 1, return_inverse=True)[1]
        _, first, sizes = np.unique(whole, return_index=True, return_counts=True)
        rows = np.split(np.argsort(whole, kind="stable"), np.cumsum(sizes)[:-1])
        found = {
            tuple(_value(codes[first[k]], values) for codes, values in coded): rows[k]
            for k in np.argsort(first)
        }
        if len(self.trackers.keys() | found.keys()) > MAX_KEYS:
            raise TrackingError(
                f"--key {','.join(self.settings.key)} tells more than {MAX_KEYS:,} series apart, "
                f"and each would have a model of its own in memory{self._why_slow()}. Choose "
                "columns with fewer different values, or split the table."
            )
        return found

    def _why_slow(self) -> str:
        """Name the columns without which the keys could be tracked in bulk, millions of them."""
        words = [one.name for one in self.plans if one.kind == "category" or one.why == EMPTY]
        return (
            f": tables of numbers and dates need less (--drop {','.join(words)})" if words else ""
        )

    def _learn_classes(self, targets: Any) -> None:
        """Add new classes, and refuse more of them than a run may have."""
        if self.recognised.of_classes:
            self.classes |= dict.fromkeys(targets.drop_null().unique().to_pylist())
            self.blank.contestants.targets(pa.array(list(self.classes)))

    def _answers(
        self, batch: Any, numbers: NDArray[np.int64], groups: Mapping[Key, NDArray[np.intp]]
    ) -> Any:
        """Let each key predict and learn its rows; answers come in the order of the batch."""
        parts = []
        for key, rows in groups.items():
            if key not in self.trackers:
                self.trackers[key] = self._fresh()
            parts.append(
                self.trackers[key].track(batch.take(pa.array(rows)), numbers[rows]).predictions
            )
        back = np.argsort(np.concatenate(list(groups.values())))
        answers = pa.Table.from_batches(parts).take(pa.array(back)).combine_chunks().to_batches()[0]
        return self._together(batch, answers)

    def _together(self, batch: Any, answers: Any) -> Any:
        """The answers of all keys with the key and the error over all of them."""
        losses = answers.column("loss")
        scored = losses.is_valid().to_numpy(zero_copy_only=False)
        if not self.recognised.of_classes:
            errors = losses.fill_null(0.0).to_numpy(zero_copy_only=False)
        else:
            wrong = pc.not_equal(answers.column("prediction"), answers.column("truth")).fill_null(
                False
            )
            errors = (wrong.to_numpy(zero_copy_only=False) & scored).astype(np.float64)
        row, *rest = (
            answers.column(name) for name in answers.schema.names if name != "running_error"
        )
        keys = (batch.column(field.name).cast(field.type) for field in self.fields)
        return pa.record_batch(
            [row, *keys, *rest, self.predictions.running(errors, scored)], schema=self.schema
        )

    # ------------------------------------------------------------------ what there is to tell

    def remarks(self) -> tuple[OrderRemark, ...]:
        """Return the remarks on the order of the first rows within the keys."""
        return self.order

    def lines(self) -> Lines:
        """How every key went that has a prediction."""
        return keyed_story.lines(self)

    def errors(self) -> tuple[dict[str, float], float]:
        """RMSE or share of mistakes over all keys; there is no single best step size."""
        return keyed_story.errors(self), math.nan

    def intervals(self) -> Intervals | None:
        """How the intervals of all keys did together; None where there are none."""
        return keyed_story.intervals(self)

    def story(self, source: str, *, refused: int = 0, seconds: float = 0.0) -> KeyedStory:
        """All that a report needs (see ``Tracker.story``)."""
        return keyed_story.story(self, source, refused, seconds)

    # ------------------------------------------------------------------ crash-safe

    def state(self) -> State:
        """All that the next row needs."""
        return {
            **add_prefix("each", pack([tracker.state() for tracker in self.trackers.values()])),
            **add_prefix("predictions", self.predictions.state()),
            **add_prefix("encoder", self.encoder.state()),
            "keys": json.dumps(list(self.trackers)),
            "classes": json.dumps(list(self.classes)),
            "fields": carried.text(self.fields),
            "order": to_json(self.order),
            "settings": json.dumps(self.settings),
            "recognised": json.dumps(self.recognised),
            "kind": self.kind,
            **{name: getattr(self, name) for name in COUNTS},
        }

    @classmethod
    def resumed(cls, saved: Mapping[str, Any]) -> Self:
        """The trackers that were saved, bit by bit."""
        settings = Settings.from_json(saved["settings"])
        recognised = read_task(saved["recognised"], saved["kind"])
        plans = tuple(ColumnPlan(*one) for one in json.loads(saved["encoder.plans"]))
        check_plans(plans)
        fields = carried.read(saved["fields"])
        carried.check_fields(fields, plans)
        check_sizes(saved, len(plans), settings.columns_of_lags)
        settings = settings._replace(key=tuple(settings.key))
        order = from_json(saved["order"])
        keyed = cls(settings, recognised, saved["kind"], plans, fields, order)
        keyed.predictions.load_state(strip_prefix("predictions", saved))
        keyed.predictions.check(recognised.of_classes)
        keys = read_keys(saved["keys"], settings.key, MAX_KEYS, fields)
        states = unpack(strip_prefix("each", saved), len(keys))
        keyed.trackers = dict(zip(keys, map(Tracker.resumed, states), strict=True))
        for tracker in keyed.trackers.values():
            keyed._require_alike(tracker)
        classes = json.loads(saved["classes"])
        check_classes(classes, saved["kind"])
        keyed._learn_classes(pa.array(classes))
        for name in COUNTS:
            check_number(name, saved[name], ROW_COUNT_RANGE)
            setattr(keyed, name, int(saved[name]))
        return keyed

    def _require_alike(self, tracker: Tracker) -> None:
        """Refuse the tracker of a key that is of another table."""
        same = (
            json.dumps(tracker.settings) == json.dumps(self.settings)
            and (tracker.recognised.task, tracker.kind) == (self.recognised.task, self.kind)
            and not tracker.predictions.carried
        )
        if not same:
            raise damaged("the run of one key is not like the others")


def _value(code: int, values: list[Any]) -> Any:
    return None if code < 0 else values[code]
