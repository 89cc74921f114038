"""From batches of a table to predictions, and to the story of how it went."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from swordplay.core.state import ROW_COUNT_RANGE, Field, add_prefix, check, damaged, strip_prefix
from swordplay.core.types import State
from swordplay.estimators.linear_model import HeadSnapshot
from swordplay.estimators.model_report import looks_back
from swordplay.tables import Refusal, date_features
from swordplay.tables.column_plans import EMPTY, how_read, plan
from swordplay.tables.encoder import Encoder
from swordplay.tracking import carried, judging, telling
from swordplay.tracking.band import FIGURES, Band
from swordplay.tracking.classes import ClassContestants
from swordplay.tracking.clock import time_column
from swordplay.tracking.contestants import Contestants
from swordplay.tracking.course import Recorder
from swordplay.tracking.date_order import DateOrder, OrderRemark
from swordplay.tracking.lags import Lags
from swordplay.tracking.looks import sample
from swordplay.tracking.passages import Learnt, Marks, Passage, learn_debut, learn_rows
from swordplay.tracking.predictions import Predictions, ScoredRows, shortened
from swordplay.tracking.ranges import VALUE
from swordplay.tracking.settings import Settings
from swordplay.tracking.story import Story, Task
from swordplay.tracking.tally import Tally
from swordplay.tracking.task import MOST_CLASSES, Recognised, read_task, recognise
from swordplay.tracking.totals import Totals
from swordplay.tracking.values import ValueContestants

COUNTS = ("rows", "unlabelled", "refused", "last")
PARTS = ("encoder", "contestants", "predictions", "recorder", "tally", "order")


NO_TALLY = Tally(False)
"""That of all keys of many, which is never added to: one of its own takes twice as much as their
learners.
"""


class Tracked(NamedTuple):
    """What became of a batch."""

    predictions: Any
    """A pyarrow record batch in the tracker's schema."""
    refusals: tuple[Refusal, ...]
    """Rows that could not be used."""
    remarks: tuple[str, ...] = ()
    """What was noticed, for people."""


@final
class Tracker:
    """Predicts each row of a table before learning from it, beside baselines, and remembers how it
    went.

    Rows whose target is missing are predicted and not learned. The first row that is learned has no
    prediction, as nothing is known before it. Make one by :meth:`begin` or :meth:`resumed`.
    """

    def __init__(
        self,
        settings: Settings,
        recognised: Recognised,
        kind: str,
        encoder: Encoder,
        beside: Sequence[Any] = (),
    ) -> None:
        self.settings, self.recognised, self.kind, self.encoder = (
            settings,
            recognised,
            kind,
            encoder,
        )
        of_classes = recognised.of_classes
        self.contestants: Contestants = (
            ClassContestants(encoder.width, settings.target, **settings.model)
            if of_classes
            else ValueContestants(encoder.width, settings.target, settings.loss, **settings.model)
        )
        self.band = None if settings.level is None or of_classes else Band(settings.level)
        """Intervals around the predictions, where they are asked for."""
        self.lags = Lags(settings.columns_of_lags)
        self.predictions = Predictions(kind, of_classes, beside, interval=self.band is not None)
        figures = FIGURES if self.band is not None else ()
        # One of many keys keeps sums only: the course of a run takes a hundred times as much.
        self.recorder: Recorder | Totals = (
            Totals(self.contestants.names, figures)
            if settings.key
            else Recorder(
                self.contestants.names,
                (*self.contestants.figures, *figures),
                0 if of_classes else 3,
            )
        )
        self.marks = Marks(self.recorder)
        self.tally = NO_TALLY if settings.key else Tally(of_classes)
        self.order = DateOrder()
        self.rows = self.unlabelled = self.refused = 0
        """Rows that were tracked, those of them whose target was missing, and rows that could
        not be used.
        """
        self.last = 0
        """Number of the last one in the input."""
        self.numbering: NDArray[np.int64] | None = None
        """The numbers that the rows have in the input, where they are read in another order.

        Set by whoever reads them.
        """
        self.clock = ""
        """The column that dates the rows, empty where there is none."""

    @classmethod
    def begin(cls, settings: Settings, head: Any) -> Self:
        """A tracker of a table that begins with these rows.

        Parameters
        ----------
        settings
            The target, and what else was said.
        head
            A pyarrow record batch of the first rows, by which the task and the use of each column
            are decided; nothing is learned from it yet.
        """
        target = head.column(settings.target)
        recognised = recognise(
            settings.target, target, settings.task, how_read(head.schema, settings.target)
        )
        plans = plan(head, settings.target, settings.features, settings.drop, settings.id or ())
        encoder = Encoder(plans, settings.columns_of_lags, recognised.of_classes, settings.target)
        beside = carried.carried(head, settings.target, settings.id)
        tracker = cls(settings, recognised, str(target.type), encoder, beside)
        tracker.order = DateOrder.begin(head, settings.target)
        return tracker

    @property
    def schema(self) -> Any:
        """The pyarrow schema of the predictions (see ``predictions``)."""
        return self.predictions.schema

    @property
    def task(self) -> Task:
        """The task by all that was seen: a target of two classes may turn out to have a third."""
        classes = len(self.contestants.models)
        return "multi-class" if classes > 1 else self.recognised.task

    @property
    def started(self) -> bool:
        """Whether anything was learned."""
        return self.contestants.started

    @property
    def effective_step_size(self) -> float:
        """Weighted geometric mean of the step sizes, over all models; NaN before the first row."""
        return sample(self._models()).effective if self.contestants.started else math.nan

    @property
    def looks_back(self) -> str:
        """How many of the rows so far decide, in words, as the summary of an estimator has it."""
        return looks_back(self.effective_step_size, self._models()[0].columns.width, self.rows)

    def track(self, batch: Any, numbers: NDArray[np.int64]) -> Tracked:
        """Predict and learn rows in their order.

        Parameters
        ----------
        batch
            A pyarrow record batch in the schema of the head.
        numbers
            The numbers of its rows as they are read, ascending.
        """
        return self.judge(self.learn(batch, numbers))

    def learn(self, batch: Any, numbers: NDArray[np.int64]) -> Learnt:
        """The learner's part of :meth:`track`: the next batch may be learned while this one is
        judged.
        """
        batch, numbers, refusals = self.usable(batch, numbers)
        targets = self.contestants.targets(batch.column(self.settings.target))
        learned = ~np.isnan(targets)
        self.clock = time_column(batch.schema) or ""
        times = (
            date_features.milliseconds(batch.column(self.clock))
            if self.clock
            else np.full(len(targets), np.nan)
        )
        width = self.encoder.width
        encoded = self.encoder.encode(batch, self.lags.before(targets, learned), learned)
        names = [name for name in batch.schema.names if name != self.settings.target]
        page = ScoredRows(
            batch,
            self._in_input(numbers),
            targets,
            times,
            [(name, batch.column(name)) for name in names],
        )
        debuts, passages = self.contestants.debuts(targets), list[Passage]()
        cuts = {0, len(targets), *encoded.widths, *debuts, *(row + 1 for row in debuts)}
        for first, stop in pairwise(sorted(cuts)):
            if first in encoded.widths:
                width = encoded.widths[first]
                self.contestants.widen(width)
            rows = np.ascontiguousarray(encoded.rows[first:stop, :width])
            if first in debuts:
                passages.append(
                    learn_debut(self.contestants, self.marks, rows, targets[first:stop], first)
                )
            elif self.contestants.started:
                passages.append(
                    learn_rows(self.contestants, self.marks, rows, targets[first:stop], first)
                )
        kinds = {one.name: one.kind.removesuffix(" and time") for one in self.encoder.plans}
        joined = ((name, int(page.numbers[row])) for name, row in encoded.late.items())
        remarks = tuple(
            f"Column {name!r} appears at row {row:,} and joins as a {kinds[name]}."
            for name, row in joined
        )
        late = frozenset(names) - {
            one.name for one in self.encoder.plans if not one.late and one.why != EMPTY
        }
        last = int(numbers[-1]) if len(numbers) else None
        return Learnt(page, passages, refusals, self.clock, late, remarks, last, width)

    def judge(self, learnt: Learnt) -> Tracked:
        """The other part of :meth:`track`: baselines, intervals, the course of the run and the
        predictions as a table.
        """
        page = learnt.page
        for passage in learnt.passages:
            judging.judge(self, passage, learnt)
        self.contestants.widen_rungs(learnt.width)
        if not self.settings.key:
            self.tally.add(page.learned(np.flatnonzero(page.scored)))
        self.rows, self.refused = self.rows + len(page.targets), self.refused + len(learnt.refusals)
        self.unlabelled += int(np.count_nonzero(np.isnan(page.targets)))
        self.last = self.last if learnt.last is None else learnt.last
        self.order.add(page.batch)
        return Tracked(
            self.predictions.table(page, self.contestants), learnt.refusals, learnt.remarks
        )

    def strange(self, batch: Any) -> dict[int, str]:
        """Which rows of a batch cannot be used, by their targets, and why."""
        return self.contestants.strange(batch.column(self.settings.target), self.recognised.whole)

    def usable(
        self, batch: Any, numbers: NDArray[np.int64]
    ) -> tuple[Any, NDArray[np.int64], tuple[Refusal, ...]]:
        """The rows whose target can be used, and refusals of the others."""
        found = self.strange(batch)
        if not found:
            return batch, numbers, ()
        name, rows = self.settings.target, self._in_input(numbers)
        values = batch.column(name)
        refusals = tuple(
            Refusal(int(rows[k]), None, name, shortened(values[k].as_py(), 6), why)
            for k, why in found.items()
        )
        used = np.ones(len(numbers), dtype=bool)
        used[list(found)] = False
        return batch.filter(pa.array(used)), numbers[used], refusals

    def _in_input(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of rows as they are read, as numbers in the input."""
        return numbers if self.numbering is None else self.numbering[numbers - 1]

    def _models(self) -> list[HeadSnapshot]:
        return list(self.contestants.models.values())

    # ------------------------------------------------------------------ what there is to tell

    def remarks(self) -> tuple[OrderRemark, ...]:
        """Return the remarks on the order of the rows so far."""
        return self.order.remarks(self.rows)

    def errors(self) -> tuple[dict[str, float], float]:
        """RMSE or share of mistakes of the learner and of all baselines, and the best single
        step size.
        """
        return telling.errors(self)

    def story(self, source: str, *, refused: int = 0, seconds: float = 0.0) -> Story:
        """All that a report needs.

        Parameters
        ----------
        source
            Name of the input.
        refused, seconds
            How many rows were refused, and how long it took.
        """
        return telling.story(self, source, refused, seconds)

    # ------------------------------------------------------------------ crash-safe

    def state(self) -> State:
        """All that the next row needs."""
        parts = {name: getattr(self, name).state() for name in _parts(self.settings)}
        flat = {
            key: value
            for name, part in parts.items()
            for key, value in add_prefix(name, part).items()
        }
        return {
            **flat,
            **({} if self.band is None else add_prefix("band", self.band.state())),
            "settings": json.dumps(self.settings),
            "recognised": json.dumps(self.recognised),
            "kind": self.kind,
            "carried": carried.text(self.predictions.carried),
            "lags": self.lags.recent.copy(),
            "clock": self.clock,
            **{name: getattr(self, name) for name in COUNTS},
        }

    @classmethod
    def resumed(cls, saved: Mapping[str, Any]) -> Self:
        """The tracker that was saved, bit by bit."""
        settings = Settings.from_json(saved["settings"])
        recognised = read_task(saved["recognised"], saved["kind"])
        of_classes = recognised.of_classes
        check_sizes(saved, saved["encoder.width"], settings.columns_of_lags)
        encoder = Encoder.resumed(
            strip_prefix("encoder", saved), settings.columns_of_lags, of_classes, settings.target
        )
        tracker = cls(settings, recognised, saved["kind"], encoder, carried.read(saved["carried"]))
        for name in _parts(settings)[1:]:
            getattr(tracker, name).load_state(strip_prefix(name, saved))
        if tracker.band is not None:
            tracker.band.load_state(strip_prefix("band", saved))
        tracker.marks = Marks(tracker.recorder)
        tracker.lags.recent, tracker.clock = (
            np.array(saved["lags"], dtype=np.float64),
            str(saved["clock"]),
        )
        for name in COUNTS:
            setattr(tracker, name, int(saved[name]))
        tracker._check()
        return tracker

    def _check(self) -> None:
        """Check a saved tracker for numbers that no table leads to.

        Raises
        ------
        ValueError
            Names what is wrong.
        """
        settings, of_classes = self.settings, self.recognised.of_classes
        for name in COUNTS:
            check(name, getattr(self, name), ROW_COUNT_RANGE)
        self.predictions.check(of_classes)
        codes = Field(0.0, MOST_CLASSES - 1.0, whole=True, nan=True)
        lags = (codes if of_classes else VALUE)._replace(shape=(settings.columns_of_lags,))
        check("lags", self.lags.recent, lags)
        carried.check_fields(self.predictions.carried, self.encoder.plans)
        self.order.check(self.encoder.plans)
        classes = 0
        if isinstance(self.contestants, ClassContestants):
            self.contestants.check(self.kind)
            classes = len(self.contestants.codes)
        elif isinstance(self.contestants, ValueContestants):
            self.contestants.check()
        self.recorder.check()
        if isinstance(self.recorder, Recorder):
            self.tally.check(classes)


def check_sizes(saved: Mapping[str, Any], width: Any, lags: int) -> None:
    """Check sizes against the number of saved values, before arrays of these sizes are allocated.

    Raises
    ------
    ValueError
        Names the size.
    """
    numbers = sum(np.size(value) for value in saved.values())
    for name, size in (("encoder.width", width), ("lags", lags)):
        if type(size) is not int or not 0 <= size <= numbers:
            raise damaged(f"{name} is {size!r}, and there are {numbers} numbers in all")


def _parts(settings: Settings) -> tuple[str, ...]:
    """Return the parts of a tracker that have a state; one of many keys has no tally or order."""
    return tuple(name for name in PARTS if name not in ("tally", "order") or not settings.key)
