"""From batches of a table to predictions, and to the story of how it went."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, NamedTuple, Self, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from swordplay.estimators import summary
from swordplay.estimators.model import LARGEST, LinearModel, LossName
from swordplay.tables import Refusal
from swordplay.tracking import dates, nested
from swordplay.tracking.clock import time_column
from swordplay.tracking.columns import Encoder, numbers_of, plan
from swordplay.tracking.contestants import LEARNER, Contestants, Played
from swordplay.tracking.course import POOL, Recorder, sample
from swordplay.tracking.drivers import drivers
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.labels import BRIER, LOG_LOSS, LabelContestants
from swordplay.tracking.lags import Lags
from swordplay.tracking.predictions import Page, Predictions
from swordplay.tracking.story import Moment, Story, Task
from swordplay.tracking.tally import Tally
from swordplay.tracking.task import Recognised, recognise
from swordplay.tracking.values import ValueContestants
from swordplay.types import Matrix, State, Vector

MOST_VALUES, LONGEST_VALUE = 12, 40
"""Columns of a row that are shown, and characters of each."""


COUNTS = ("rows", "unlabelled", "refused", "last")
PARTS = ("encoder", "contestants", "predictions", "recorder", "tally")


class Settings(NamedTuple):
    """What a user may say about a table; all but the target may be left unsaid."""

    target: str
    task: Task | None = None
    lags: int = 0
    """How many of the last targets join the columns."""
    features: tuple[str, ...] | None = None
    """Columns to use; all unless given."""
    drop: tuple[str, ...] = ()
    """Columns not to use."""
    loss: LossName = "squared"
    """Of a regression: ``"squared"`` or ``"huber"``."""


class Tracked(NamedTuple):
    """What became of a batch."""

    predictions: Any
    """A pyarrow record batch in the tracker's schema."""
    refusals: tuple[Refusal, ...]
    """Rows that could not be used."""


@final
class Tracker:
    """Predicts each row of a table before learning from it, beside baselines, and remembers how it went.

    Rows whose target is missing are predicted and not learned. The first row that is learned has no prediction, as nothing
    is known before it. Make one by :meth:`begin` or :meth:`resumed`.
    """

    def __init__(self, settings: Settings, recognised: Recognised, kind: str, encoder: Encoder) -> None:
        self.settings, self.recognised, self.kind, self.encoder = settings, recognised, kind, encoder
        labels = recognised.task != "regression"
        self.contestants: Contestants = (
            LabelContestants(encoder.width, settings.target)
            if labels
            else ValueContestants(encoder.width, settings.target, settings.loss)
        )
        self.lags, self.predictions = Lags(settings.lags), Predictions(kind, labels)
        self.recorder = Recorder(self.contestants.names, self.contestants.figures, 0 if labels else 3)
        self.tally = Tally(labels)
        self.rows = self.unlabelled = self.refused = 0
        """Rows that were tracked, those of them whose target was missing, and rows that could not be used."""
        self.last = 0
        """Number of the last one in the input."""
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
            A pyarrow record batch of the first rows, by which the task and the use of each column are decided; nothing is
            learned from it yet.
        """
        target = head.column(settings.target)
        recognised = recognise(settings.target, target, settings.task)
        plans = plan(head, settings.target, settings.features, settings.drop)
        return cls(settings, recognised, str(target.type), Encoder(plans, settings.lags, recognised.task != "regression"))

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
    def effective_step_size(self) -> float:
        """Weighted geometric mean of the step sizes, over all models; NaN before the first row."""
        return sample(self._models()).effective if self.contestants.started else math.nan

    def track(self, batch: Any, numbers: NDArray[np.int64]) -> Tracked:
        """Predict and learn rows in their order.

        Parameters
        ----------
        batch
            A pyarrow record batch in the schema of the head.
        numbers
            The numbers of its rows in the input, ascending.
        """
        batch, numbers, refusals = self._usable(batch, numbers)
        targets = self.contestants.targets(batch.column(self.settings.target))
        learned = ~np.isnan(targets)
        self.clock = time_column(batch.schema) or ""
        times = dates.milliseconds(batch.column(self.clock)) if self.clock else np.full(len(targets), np.nan)
        width = self.encoder.width
        encoded = self.encoder.encode(batch, self.lags.before(targets, learned), learned)
        names = [name for name in batch.schema.names if name != self.settings.target][:MOST_VALUES]
        page = Page(batch, numbers, targets, times, [(name, batch.column(name)) for name in names])
        debuts = self.contestants.debuts(targets)
        cuts = {0, len(targets), *encoded.widths, *debuts, *(row + 1 for row in debuts)}
        for first, stop in pairwise(sorted(cuts)):
            if first in encoded.widths:
                width = encoded.widths[first]
                self.contestants.widen(width)
            rows = np.ascontiguousarray(encoded.rows[first:stop, :width])
            if first in debuts:
                played = self.contestants.debut(rows, targets[first:stop], self.recorder.open_rungs)
                if played is not None:
                    self._note(played, first, page)
            elif self.contestants.started:
                self._play(rows, first, page)
        self.tally.add(page.learned(np.flatnonzero(page.scored)))
        self.rows, self.refused = self.rows + len(targets), self.refused + len(refusals)
        self.unlabelled += len(targets) - int(np.count_nonzero(learned))
        self.last = int(numbers[-1]) if len(numbers) else self.last
        return Tracked(self.predictions.table(page, self.contestants), refusals)

    def _play(self, rows: Matrix, first: int, page: Page) -> None:
        """Rows from ``first`` on: up to the end of each stretch, where the learner is looked at, and beyond."""
        learned = np.flatnonzero(~np.isnan(page.targets[first : first + len(rows)]))
        start = done = 0
        while start < len(rows):
            done += self.recorder.room
            stop = int(learned[done - 1]) + 1 if done <= len(learned) else len(rows)
            targets = page.targets[first + start : first + stop]
            self._note(self.contestants.play(rows[start:stop], targets, self.recorder.open_rungs), first + start, page)
            start = stop

    def _note(self, played: Played, first: int, page: Page) -> None:
        """Put rows from ``first`` on to the page and on record."""
        learned = page.score(first, played)

        def moment(k: int) -> Moment:
            row = int(learned[k])
            said, truth = (self.contestants.shown(one) for one in (page.predictions[row], page.targets[row]))
            values = {name: _shortened(column[row].as_py()) for name, column in page.shown}
            time = None if math.isnan(page.times[row]) else float(page.times[row])
            at = self.recorder.rows + k + 1
            return Moment(int(page.numbers[row]), said, truth, float(played.losses[k]), values, at, time)

        if len(learned):
            self.recorder.add(played, page.times[learned] if self.clock else None, moment)
        if not self.recorder.room:
            self.recorder.close(sample(self._models()), lambda: self.contestants.coefficients)

    def _usable(self, batch: Any, numbers: NDArray[np.int64]) -> tuple[Any, NDArray[np.int64], tuple[Refusal, ...]]:
        """The rows whose target can be used, and refusals of the others."""
        if self.recognised.task != "regression":
            return batch, numbers, ()
        targets = numbers_of(batch.column(self.settings.target))
        huge = np.abs(targets) > LARGEST
        if not huge.any():
            return batch, numbers, ()
        reason = f"must not pass {LARGEST:g} in magnitude"
        refusals = tuple(
            Refusal(int(numbers[k]), None, self.settings.target, f"{targets[k]:g}", reason) for k in np.flatnonzero(huge)
        )
        return batch.filter(pa.array(~huge)), numbers[~huge], refusals

    def _models(self) -> list[LinearModel]:
        return list(self.contestants.models.values())

    # ------------------------------------------------------------------ what there is to tell

    def errors(self) -> tuple[dict[str, float], float]:
        """RMSE or share of mistakes of the learner and of all baselines, and the best single step size."""
        if not self.recorder.rows:
            return {}, math.nan
        totals, best = self.recorder.totals()
        means = {name: total / self.recorder.rows for name, total in totals.items()}
        return {n: math.sqrt(m) for n, m in means.items()} if self.task == "regression" else means, best

    def means(self) -> dict[str, float]:
        """Mean absolute errors of the learner and of two baselines; for classes log loss and Brier score of the learner.

        The Brier score of two classes is that of the second one, as usual; of more it is the sum over all of them.
        """
        if not self.recorder.rows:
            return {}
        sums = self.recorder.figures[: self.recorder.closed + 1].sum(axis=0) / self.recorder.rows
        told = dict(zip(self.contestants.figures, sums.tolist(), strict=True))
        if self.task == "regression":
            return {name: told[name] for name in self.contestants.names}
        return {LOG_LOSS: told[LOG_LOSS], BRIER: told[BRIER] / (2.0 if self.task == "binary" else 1.0)}

    def story(self, source: str, *, refused: int = 0, seconds: float = 0.0) -> Story:
        """All that a report needs.

        Parameters
        ----------
        source
            Name of the input.
        refused, seconds
            How many rows were refused, and how long it took.
        """
        if not self.contestants.started:
            raise TrackingError(f"no row has a value of the target {self.settings.target!r}, so nothing was learned.")
        models, (errors, best) = self._models(), self.errors()
        labels, spreads = self.recognised.task != "regression", models[0].columns.places[1]
        classes = tuple(self.contestants.shown(place) for place in range(len(self.tally.confusion))) if labels else ()
        course = self.recorder.course(sample(models), self.contestants.coefficients)
        about = {k: classes[k] if labels and k < len(classes) else "" for k in self.contestants.coefficients}
        signed = course.coefficients
        if self.task == "binary" and len(classes) == 2 and classes[0] > classes[1]:
            about, signed = {1: classes[0]}, -signed  # one asks what speaks for "1", "yes" and "up", not for "0", "no", "down"
        names = self.encoder.names(self.settings.target)
        return Story(
            source=source,
            target=self.settings.target,
            task=self.task,
            learner=LEARNER,
            rows=self.recorder.rows,
            refused=refused,
            unlabelled=self.unlabelled,
            seconds=seconds,
            measure="RMSE" if self.task == "regression" else "error rate",
            errors=errors,
            more=self.means(),
            best_step=best,
            columns=self.encoder.columns(spreads),
            course=course,
            step_sizes=POOL,
            drivers=drivers(signed, names, spreads, about),
            watched=(min(course.coefficients.shape[2], len(names)), len(names)),
            clock=self.clock if forward(course.times) else "",
            last=self.tally.last,
            residuals=self.tally.errors,
            classes=classes,
            confusion=self.tally.confusion.copy(),
            sureness=self.tally.sureness,
            worst=self.recorder.worst(self.last),
            summary=summary.text(LEARNER, self.contestants.models, bound=False),
        )

    # ------------------------------------------------------------------ crash-safe

    def state(self) -> State:
        """All that the next row needs."""
        parts = {name: getattr(self, name).state() for name in PARTS}
        flat = {key: value for name, part in parts.items() for key, value in nested.put(name, part).items()}
        return {
            **flat,
            "settings": json.dumps(self.settings),
            "recognised": json.dumps(self.recognised),
            "kind": self.kind,
            "lags": self.lags.recent.copy(),
            "clock": self.clock,
            **{name: getattr(self, name) for name in COUNTS},
        }

    @classmethod
    def resumed(cls, saved: Mapping[str, Any]) -> Self:
        """The tracker that was saved, bit by bit."""
        settings, recognised = Settings(*json.loads(saved["settings"])), Recognised(*json.loads(saved["recognised"]))
        encoder = Encoder.resumed(nested.take("encoder", saved), settings.lags, recognised.task != "regression")
        tracker = cls(settings, recognised, saved["kind"], encoder)
        for name in PARTS[1:]:
            getattr(tracker, name).load_state(nested.take(name, saved))
        tracker.lags.recent, tracker.clock = np.array(saved["lags"]), str(saved["clock"])
        for name in COUNTS:
            setattr(tracker, name, int(saved[name]))
        return tracker


def forward(times: Vector) -> bool:
    """Whether times are all known and never go back, and not all the same: then they can stand under a picture."""
    return bool(len(times) > 1 and np.isfinite(times).all() and (np.diff(times) >= 0.0).all() and times[-1] > times[0])


def _shortened(value: Any) -> str:
    """A value of a table for people."""
    text = "" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
