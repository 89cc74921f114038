"""Rows that come twice: first without their target, to be predicted, and later with it, to be
learned.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Self, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from swordplay.core.arguments import short_repr
from swordplay.core.state import ROWS, add_prefix, check_number, strip_prefix
from swordplay.core.types import State
from swordplay.late import LateModel, Ticket
from swordplay.late.kinds import MODELS, estimator
from swordplay.tables import Refusal
from swordplay.tables.column_plans import how_read, plan
from swordplay.tables.encoder import Encoder
from swordplay.tables.encoder_sanity import refuse, require_encoder
from swordplay.tracking import carried, sanity, twice_story
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.order import Remark
from swordplay.tracking.predictions import shortened
from swordplay.tracking.settings import Settings
from swordplay.tracking.story import Task
from swordplay.tracking.task import Recognised, recognise
from swordplay.tracking.tracker import Tracked, Tracker
from swordplay.tracking.twice_rows import Rows, ids_of
from swordplay.tracking.twice_score import Said, Score
from swordplay.tracking.twice_story import TwiceStory

MOST_PENDING = 100_000
"""Rows that wait for their target; beyond, the oldest one is given up."""
REMEMBERED = 100_000
"""Answered rows whose ids are remembered, so that nothing is learned twice."""
COUNTS = ("rows", "unlabelled", "refused", "last", "dropped")
TWICE = "was answered before; a new row needs a new id"


@final
class TwiceTracker:
    """A tracker of rows that come twice, matched by their ids, with the interface of a ``Tracker``.

    A row without a target is predicted and waits, as a ticket of a
    :class:`~swordplay.late.LateModel`. When its id comes again with a target, what was predicted is
    judged, and the row as it was is learned. A row that has its target the first time is predicted
    and learned at once. Make one by :meth:`begin` or :meth:`resumed`.
    """

    def __init__(
        self,
        settings: Settings,
        recognised: Recognised,
        kind: str,
        encoder: Encoder,
        fields: tuple[Any, ...],
    ) -> None:
        self.settings, self.recognised, self.kind = settings, recognised, kind
        self.blank = Tracker(settings, recognised, kind, encoder, fields)
        """A tracker that never learns: it knows which targets can be used, and how predictions
        are written.
        """
        self.predictions, self.encoder = self.blank.predictions, encoder
        self.schema = self.predictions.schema
        self.reading = Rows(settings, encoder.plans)
        made = estimator(MODELS["classification" if recognised.of_classes else "regression"])
        extra = {} if recognised.of_classes else {"loss": settings.loss}
        self.model = LateModel(
            made(lags=settings.lags, curves=settings.curves, **extra),
            max_pending=MOST_PENDING + 1,
            level=settings.level,
            columns=self.reading.kinds,
        )
        self.score = Score()
        self.said: dict[str, Said] = {}
        """What the baselines said of the rows that wait, by id."""
        self.answered: dict[str, int] = {}
        """Ids of answered rows, and which answer it was."""
        self.rows = self.unlabelled = self.refused = self.last = self.dropped = 0
        self.numbering: NDArray[np.int64] | None = None
        self.only_predicts = False
        """Whether rows are predicted as they come, whatever their ids: nothing is learned any
        more (``swordplay predict``).
        """

    @classmethod
    def begin(cls, settings: Settings, head: Any) -> Self:
        """A tracker of a table that begins with these rows (see ``Tracker.begin``)."""
        if not settings.id:
            raise TrackingError(
                "--twice needs --id: the column, or columns, by which a row is recognised when it "
                "comes again."
            )
        if settings.key:
            raise TrackingError(
                "--twice does not go together with --key. Leave out one of them, or use "
                "`swordplay serve`."
            )
        target = head.column(settings.target)
        recognised = recognise(
            settings.target, target, settings.task, how_read(head.schema, settings.target)
        )
        plans = plan(head, settings.target, settings.features, settings.drop, settings.id)
        encoder = Encoder(plans, settings.columns_of_lags, recognised.of_classes, settings.target)
        return cls(
            settings,
            recognised,
            str(target.type),
            encoder,
            carried.carried(head, settings.target, settings.id),
        )

    @property
    def task(self) -> Task:
        """The task by all that was seen."""
        return (
            "multi-class"
            if self.recognised.of_classes and len(self.score.counts) > 2
            else self.recognised.task
        )

    @property
    def started(self) -> bool:
        """Whether anything was learned."""
        return self.model.score.told > 0

    @property
    def effective_step_size(self) -> float:
        """Of several heads their mean; NaN before the first row."""
        return float(np.mean(self.model.model.effective_step_size_)) if self.started else math.nan

    # ------------------------------------------------------------------ rows

    def strange(self, batch: Any) -> dict[int, str]:
        """Which rows of a batch cannot be used, and why: by their targets, or by their ids."""
        found = dict(self.blank.strange(batch))
        if self.only_predicts:
            return found
        known, told = dict(self.answered), self.model.score.told
        learned = batch.column(self.settings.target).is_valid().to_pylist()
        for k, id in enumerate(ids_of(batch, self.settings.id or ())):
            if k in found:
                continue
            if id is None:
                found[k] = "is missing: no row can be recognised by it"
            elif id in known and known[id] >= told - REMEMBERED:
                found[k] = TWICE
            elif learned[k]:
                known[id] = told
                told += 1
        return found

    def usable(
        self, batch: Any, numbers: NDArray[np.int64]
    ) -> tuple[Any, NDArray[np.int64], tuple[Refusal, ...]]:
        """The rows that can be used, and refusals of the others."""
        rows = numbers if self.numbering is None else self.numbering[numbers - 1]
        found = self.strange(batch)
        if not found:
            return batch, rows, ()
        named = ", ".join(self.settings.id or ())
        ids = ids_of(batch, self.settings.id or ())
        of_target = {one.row: one for one in self.blank.usable(batch, rows)[2]}
        refusals = tuple(
            of_target.get(int(rows[k]))
            or Refusal(int(rows[k]), None, named, shortened(ids[k]), why)
            for k, why in found.items()
        )
        used = np.ones(len(rows), dtype=bool)
        used[list(found)] = False
        return batch.filter(pa.array(used)), rows[used], refusals

    def track(self, batch: Any, numbers: NDArray[np.int64]) -> Tracked:
        """Predict rows that are new, and learn those that are answered, in their order (see
        ``Tracker.track``).
        """
        last = int(numbers[-1]) if len(numbers) else self.last
        batch, rows, refusals = self.usable(batch, numbers)
        column = batch.column(self.settings.target)
        self.blank.contestants.targets(column)  # refuses a class too many
        ids = (
            [f"#{row}" for row in rows]
            if self.only_predicts
            else list(map(str, ids_of(batch, self.settings.id or ())))
        )
        tickets, losses = self._played(ids, self.reading.of(batch), column.to_pylist())
        self.rows, self.refused, self.last = (
            self.rows + len(batch),
            self.refused + len(refusals),
            last,
        )
        self.unlabelled += column.null_count
        return Tracked(twice_story.table(self, batch, rows, tickets, losses), refusals)

    def _played(
        self, ids: list[str], rows: list[Any], ys: list[Any]
    ) -> tuple[list[Ticket], list[float | None]]:
        """What was predicted of every row, now or when it was here first, and what that cost
        where the target is known.
        """
        tickets: list[Ticket] = []
        losses: list[float | None] = []
        for what, places in self._runs(ids, ys):
            names, truths = [ids[k] for k in places], [ys[k] for k in places]
            if what == "ask":
                tickets += self.model.ask_many([rows[k] for k in places], names)
                self.said |= dict.fromkeys(names, self.score.says())
                losses += [None] * len(places)
            elif what == "again":
                tickets += [self.model.pending[id] for id in names]
                losses += [None] * len(places)
            else:
                if what == "both":
                    self.model.ask(rows[places[0]], names[0])
                    self.said[names[0]] = self.score.says()
                asked = [self.model.pending[id] for id in names]
                found = self.model.tell_many(names, truths)
                tickets += asked
                losses += found
                for id, ticket, truth, loss in zip(names, asked, truths, found, strict=True):
                    self._judge(id, ticket, truth, loss)
        return tickets, losses

    def _runs(self, ids: list[str], ys: list[Any]) -> Iterator[tuple[str, list[int]]]:
        """Neighbouring rows with which the same is done.

        Those that are learned at once stand alone.
        """
        run: list[int] = []
        fresh: set[str] = set()
        before = ""
        for k, (id, y) in enumerate(zip(ids, ys, strict=True)):
            waits = id in self.said or id in fresh
            what = ("again" if waits else "ask") if y is None else "tell" if waits else "both"
            full = what == before == "ask" and len(self.said) + len(run) >= MOST_PENDING
            if run and (what != before or what == "both" or full):
                yield before, run
                run, fresh = [], set()
            if what == "ask":
                fresh.add(id)
                if not run and len(self.said) >= MOST_PENDING:
                    self._give_up(next(iter(self.said)))
            run.append(k)
            before = what
        if run:
            yield before, run

    def _give_up(self, id: str) -> None:
        """Wait no longer for the target of a row; should it come, it is a row like any other."""
        self.model.drop(id)
        del self.said[id]
        self.dropped += 1

    def _judge(self, id: str, ticket: Ticket, truth: Any, loss: float | None) -> None:
        self.score.judge(
            self.said.pop(id), ticket, truth, loss, of_classes=self.recognised.of_classes
        )
        self.answered.pop(id, None)
        self.answered[id] = self.score.told - 1
        if len(self.answered) > REMEMBERED:
            del self.answered[next(iter(self.answered))]

    # ------------------------------------------------------------------ what there is to tell

    def remarks(self) -> tuple[Remark, ...]:
        """Nothing: rows that come twice are in the order in which they came."""
        return ()

    def errors(self) -> tuple[dict[str, float], float]:
        """RMSE or share of mistakes of what was predicted when the rows were new, beside
        baselines as of then.
        """
        return twice_story.errors(self), math.nan

    def story(self, source: str, *, refused: int = 0, seconds: float = 0.0) -> TwiceStory:
        """All that a report needs (see ``Tracker.story``)."""
        return twice_story.story(self, source, refused, seconds)

    # ------------------------------------------------------------------ crash-safe

    def state(self) -> State:
        """All that the next row needs."""
        return {
            **add_prefix("late", self.model.state()),
            **add_prefix("predictions", self.predictions.state()),
            **add_prefix("encoder", self.encoder.state()),
            "twice": json.dumps(
                [list(self.said.items()), list(self.answered.items()), self.score.saved()]
            ),
            "carried": carried.text(self.predictions.carried),
            "settings": json.dumps(self.settings),
            "recognised": json.dumps(self.recognised),
            "kind": self.kind,
            **{name: getattr(self, name) for name in COUNTS},
        }

    @classmethod
    def resumed(cls, saved: Mapping[str, Any]) -> Self:
        """The tracker that was saved, bit by bit."""
        settings, recognised = sanity.read_decided(saved)
        settings = settings._replace(id=tuple(settings.id or ()))
        encoder = Encoder.resumed(
            strip_prefix("encoder", saved),
            settings.columns_of_lags,
            recognised.of_classes,
            settings.target,
        )
        require_encoder(encoder)
        if not settings.twice or settings.target in {one.name for one in encoder.plans}:
            raise refuse(f"the settings are {short_repr(tuple(settings))}")
        fields = carried.read(saved["carried"])
        sanity.require_carried(fields, encoder.plans)
        tracker = cls(settings, recognised, saved["kind"], encoder, fields)
        tracker.predictions.load_state(strip_prefix("predictions", saved))
        sanity.require_predictions(tracker.predictions, recognised.of_classes)
        tracker.model = LateModel.from_state(strip_prefix("late", saved))
        said, answered, score = json.loads(saved["twice"])
        tracker.said = {id: Said(*one) for id, one in said}
        tracker.answered, tracker.score = (
            dict(answered),
            Score.of_saved(score, recognised.of_classes),
        )
        for number in tracker.answered.values():
            check_number("answered", number, ROWS)
        if (
            list(tracker.said) != list(tracker.model.pending)
            or tracker.score.told != tracker.model.score.told
        ):
            raise refuse("the rows that wait are not those of the model")
        for id, one in tracker.said.items():
            if one != Said() or tracker.model.pending[id].prediction is not None:
                one.require_sane(recognised.of_classes)
        if tracker.model.of_classes != recognised.of_classes or len(tracker.answered) > REMEMBERED:
            raise refuse("what was answered does not fit the task")
        if recognised.of_classes:
            sanity.require_classes_of(list(tracker.model.model.classes_), saved["kind"])
            tracker.blank.contestants.targets(pa.array(list(tracker.score.counts)))
        for name in COUNTS:
            check_number(name, saved[name], ROWS)
            setattr(tracker, name, int(saved[name]))
        return tracker
