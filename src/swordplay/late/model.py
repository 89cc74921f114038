"""``LateModel``: an estimator whose targets arrive after its predictions, in any order or never."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, Self, final

import numpy as np

from swordplay.core import arguments, checkpoint
from swordplay.core.arguments import short_repr
from swordplay.core.checkpoint import CheckpointError
from swordplay.core.model_lock import LockedModel
from swordplay.core.state import ROW_COUNT_RANGE, Field, add_prefix, check, strip_prefix
from swordplay.core.types import State
from swordplay.estimators.deferred_rows import DeferredRows, DictDeferredRows
from swordplay.estimators.dict_columns import NumericRows
from swordplay.estimators.level_intervals import LevelIntervals
from swordplay.estimators.model_settings import AUTO
from swordplay.estimators.value_types import KINDS
from swordplay.intervals import SwordIntervals
from swordplay.late.frozen_copy import FrozenCopy
from swordplay.late.learning import ask_rows, lateness, learn_intervals, learn_rows, max_rows
from swordplay.late.pending import PendingTickets, PendingView
from swordplay.late.score import Score
from swordplay.late.tickets import (
    Ticket,
    TicketBlock,
    TooManyPending,
    UnknownTicket,
    check_id,
    check_list,
)

KIND = "LateModel"
"""Kind of the checkpoint files."""
TASKS = {"regression": "DictRegressor", "classification": "DictClassifier"}
"""Kinds of estimators by task; they take rows by name, and need nothing but numpy and numba."""
ESTIMATORS = {
    "DictRegressor": "dict_models",
    "DictClassifier": "dict_models",
    "SwordRegressor": "sklearn_regressors",
    "SwordClassifier": "sklearn_classifier",
    "SwordAggregator": "sklearn_regressors",
    "river.SwordRegressor": "river",
    "river.SwordClassifier": "river",
}
"""Modules of the estimators by kind; imported when one is needed."""


@final
class LateModel(LockedModel):
    """An estimator that predicts a row now and learns it later.

    :meth:`ask` predicts a row and keeps it, :meth:`tell` learns it when its target is known. The
    prediction that was given is scored; the row is learned as it was asked, with the last targets
    (``lags``) that were known then. Rows are learned in the order of their targets, each as a round
    of its own, so the certificate of the estimator holds for that sequence (docs/theory.md says
    what this means for the predictions that were given).

    Parameters
    ----------
    model
        An estimator of :mod:`swordplay.sklearn` (rows are arrays) or of :mod:`swordplay.river`
        (rows by name). Or ``"regression"`` or ``"classification"`` for a new one that takes rows by
        name and needs neither package. It may have learned before; from now on it learns by
        :meth:`tell` only.
    max_pending
        Largest number of pending tickets; an ask beyond is refused.
    level
        Share of the targets that the intervals of a regression are to contain, in (0, 1); None for
        no intervals.
    columns
        Type of the values of columns of rows by name: number, word, date or time. By default the
        first value decides.

    Attributes
    ----------
    model
        The estimator.
    score
        Number of tickets that were asked, told and dropped, and losses of the predictions.

    Examples
    --------
    >>> from swordplay.late import LateModel
    >>> model = LateModel("classification")
    >>> monday = model.ask({"rain": 0.5})
    >>> tuesday = model.ask({"rain": 7.0, "wind": "strong"})
    >>> model.tell(tuesday, "late"), model.tell(monday, "on time")  # no predictions: no losses
    (None, None)
    >>> sorted(model.ask({"rain": 8.0, "wind": None}).probabilities)
    ['late', 'on time']
    """

    def __init__(
        self,
        model: Any,
        *,
        max_pending: int = 100_000,
        level: float | None = 0.9,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        self.deferred = _deferred_rows(model)
        """Adapter that reads, predicts and learns rows with the estimator."""
        if columns is not None:
            _declare_columns(self.deferred, columns)
        self.max_pending = arguments.integer("max_pending", max_pending)
        has_intervals = level is not None and not self.deferred.predicts_labels
        self.level = SwordIntervals(level).levels[0] if has_intervals else None  # type: ignore[arg-type]  # it is not None
        self._intervals = LevelIntervals()
        self._pending = PendingTickets()
        self._frozen: FrozenCopy | None = None
        self._was_copied = False
        """Whether a frozen copy was ever made: there is only one."""
        self._serial = 0
        """The last number that was given as an id."""
        self.score = Score()

    @property
    def model(self) -> Any:
        """The estimator."""
        return self.deferred.estimator

    @property
    def pending(self) -> PendingView:
        """Pending tickets by id, in the order in which they were asked; a read-only view."""
        return self._pending.view

    @property
    def predicts_labels(self) -> bool:
        """Whether labels are predicted; numbers otherwise."""
        return self.deferred.predicts_labels

    # ------------------------------------------------------------------ asking

    def ask(self, x: Any, id: str | None = None) -> Ticket:
        """Predict a row whose target is not known yet.

        Parameters
        ----------
        x
            The row: values by name (numbers, truth values, texts, dates; None if missing), or an
            array of numbers, as the estimator takes them.
        id
            Id of the ticket; the next free number by default.

        Returns
        -------
        ticket
            Prediction, interval or probabilities, and id. It is pending until it is told or
            dropped.
        """
        return self.ask_many([x], None if id is None else [id])[0]

    def ask_many(self, rows: Sequence[Any], ids: Sequence[str] | None = None) -> list[Ticket]:
        """Predict rows: the same tickets as one by one, several times faster.

        After an error none is pending.

        Parameters
        ----------
        rows, ids
            As in :meth:`ask`; as many ids as rows.
        """
        # scipy would sort a sparse array by rows, and write wherever its indices point
        if hasattr(rows, "tocsr"):
            raise TypeError(
                f"rows must be a list of rows, got a sparse one ({type(rows).__name__}). Give "
                "rows.toarray()."
            )
        xs = rows if isinstance(rows, NumericRows) else check_list("rows", rows)
        new_ids = self._pending.new_ids(len(xs), ids, self._serial)
        if not new_ids:
            return []
        block = self.ask_block(xs, new_ids)
        if ids is None:
            self._serial = int(new_ids[-1])
        return block.tickets()

    def ask_block(self, rows: Sequence[Any], ids: list[str]) -> TicketBlock:
        """Predict at least one row, under ids that are checked: new, and none of them twice."""
        if len(self._pending) + len(rows) > self.max_pending:
            raise TooManyPending(self.max_pending)
        kept = self.deferred.read(rows)
        block = ask_rows(self.deferred, self._frozen, self._intervals, self.level, ids, kept)
        self._pending.put(block)
        self.score = self.score._replace(asked=self.score.asked + len(ids))
        return block

    # ------------------------------------------------------------------ telling

    def tell(self, ticket: Ticket | str, y: Any) -> float | None:
        """Learn the target of a ticket.

        Parameters
        ----------
        ticket
            A pending ticket, or its id.
        y
            The target: a finite number, or a label.

        Returns
        -------
        loss
            Squared error of the prediction that was given, or minus the logarithm of the
            probability of the true label; None if there was no prediction.

        Raises
        ------
        UnknownTicket
            If no such ticket is pending: it was told or dropped, or never asked.
        """
        return self.tell_many([ticket], [y])[0]

    def tell_many(self, tickets: Sequence[Ticket | str], ys: Sequence[Any]) -> list[float | None]:
        """Learn targets in this order: the same as one by one, several times faster.

        All tickets and targets are checked before the first one is learned.

        Parameters
        ----------
        tickets, ys
            As in :meth:`tell`; as many of each.
        """
        ids, targets = self._pending.ids_of(tickets), check_list("ys", ys)
        if len(ids) != len(targets):
            raise ValueError(
                f"ys must have one entry for each of the {len(ids)} tickets, got {len(targets)}."
            )
        if not ids:
            return []
        if (unknown := self._pending.first_unknown(ids)) is not None:
            raise UnknownTicket(unknown)
        return self.tell_block(self.pending.select(ids), targets)

    def tell_block(self, block: TicketBlock, ys: Sequence[Any]) -> list[float | None]:
        """Learn the targets of a block that ``pending.select`` has just returned."""
        answers = self.deferred.check_answers(ys)
        step = max_rows(self.deferred) if self.deferred.learns_in_blocks else 1
        losses: list[float | None] = []
        while len(losses) < len(answers):
            start = len(losses)
            stop = min(start + step, len(answers))
            part = block if stop - start == len(block) else block.select(slice(start, stop))
            losses += self._learn_first(part, answers[start:stop])
        return losses

    def _learn_first(self, block: TicketBlock, answers: list[Any]) -> list[float | None]:
        """Learn as many of the first tickets as one call may learn; return their losses."""
        late, told = lateness(self.deferred, block), self.score.told
        count, copies_now = len(block), False
        if count > 1 and block.version != self.deferred.version:
            count = self.deferred.first_new_name(block.rows) or count
        if not self._was_copied and late.any():
            first = FrozenCopy.first_late(late, told)
            copies_now = first == 0
            count = min(count, first or count)
        if count < len(block):
            block = block.select(slice(0, count))
            answers, late = answers[:count], late[:count]
        frozen = FrozenCopy.of(self.deferred, told) if copies_now else self._frozen
        table = learn_rows(self.deferred, block, answers, late)
        learn_intervals(self.deferred, self._intervals, self.level, block, answers, table, late)
        if frozen is not None:
            self._frozen, self._was_copied = frozen.learn(block, answers, late), True
        self.score, losses = self.score.add(block, answers)
        self._pending.remove(block.ids)
        return losses

    def drop(self, ticket: Ticket | str) -> None:
        """Give up a ticket whose target never arrives; nothing is learned.

        Parameters
        ----------
        ticket
            A pending ticket, or its id.
        """
        id = check_id(ticket)
        if id not in self.pending:
            raise UnknownTicket(id)
        self._pending.remove([id])
        self.score = self.score._replace(dropped=self.score.dropped + 1)

    # ------------------------------------------------------------------ summary, saving

    def summary(self) -> str:
        """Return counts of tickets, errors of the predictions, and the estimator's own summary."""
        lines = self.score.lines(self.predicts_labels, self.level)
        if self._frozen is not None:
            lines.append(self._frozen.summary_line())
        if self.score.told and (summary := getattr(self.model, "summary", None)) is not None:
            lines.append(summary())
        return "\n".join(lines)

    def state(self) -> State:
        """Return estimator, pending tickets and score, as named arrays, numbers and texts."""
        frozen = {} if self._frozen is None else add_prefix("frozen", self._frozen.state())
        return {
            "estimator": self.model.kind(),
            "max_pending": self.max_pending,
            "level": np.nan if self.level is None else self.level,
            "serial": self._serial,
            "was_copied": self._was_copied,
            **add_prefix("model", self.model.state()),
            **add_prefix("pending", self._pending.state(self.deferred)),
            **add_prefix("score", self.score.state()),
            **frozen,
            **self._intervals.state(),
        }

    @classmethod
    def from_state(cls, saved: Mapping[str, Any]) -> Self:
        """Make a model again that continues with results identical to those of the saved one.

        Raises
        ------
        ValueError
            If :meth:`state` did not return it; says what does not fit.
        """
        try:
            return cls._from_state(saved)
        except (
            AttributeError,
            LookupError,
            TypeError,
            ValueError,
            OverflowError,
            RecursionError,
        ) as error:
            raise ValueError(f"the state is not one of a LateModel, or damaged: {error}") from error

    @classmethod
    def _from_state(cls, saved: Mapping[str, Any]) -> Self:
        estimator = _estimator_class(saved["estimator"]).from_state(strip_prefix("model", saved))
        check("level", saved["level"], Field(0.0, 1.0, nan=True))
        level = float(saved["level"])
        model = cls(
            estimator, max_pending=saved["max_pending"], level=None if np.isnan(level) else level
        )
        model._intervals = LevelIntervals.from_state(saved)
        lags = getattr(estimator, "lags", 0)
        model._pending = PendingTickets.from_state(
            strip_prefix("pending", saved),
            model.deferred,
            0 if lags == AUTO else int(lags),
            model.level,
        )
        if frozen := strip_prefix("frozen", saved):
            model._frozen = FrozenCopy.from_state(frozen, model.deferred)
        model._was_copied = bool(saved["was_copied"])
        model.score = Score.from_state(strip_prefix("score", saved))
        check("serial", saved["serial"], ROW_COUNT_RANGE)
        model._serial = int(saved["serial"])
        if not model.score.pending == len(model.pending) <= model.max_pending:
            raise ValueError(
                f"{model.score.pending} tickets should be pending, and {len(model.pending)} are."
            )
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint of estimator and tickets; the file is replaced whole or not at all."""
        checkpoint.save(path, self.state(), kind=KIND)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a checkpoint; the model continues with results identical to those of the saved one.

        Raises
        ------
        CheckpointError
            If the file is not exactly what :meth:`save` wrote.
        """
        saved = checkpoint.load(path, kind=KIND)
        try:
            return cls.from_state(saved)
        except ValueError as error:
            raise CheckpointError(
                f"the checkpoint {os.fspath(path)!r} cannot be used: {error}"
            ) from error


def _estimator_class(kind: Any) -> Any:
    """Return the class of estimators of this kind."""
    if kind not in ESTIMATORS:
        raise ValueError(
            f"the estimator is {short_repr(kind)}, and should be one of {', '.join(ESTIMATORS)}."
        )
    module = importlib.import_module(f"swordplay.estimators.{ESTIMATORS[kind]}")
    return getattr(module, kind.rpartition(".")[2])


def _deferred_rows(model: Any) -> DeferredRows:
    """Return the adapter of an estimator, or of a new one for a task."""
    if isinstance(model, str) and model in TASKS:
        model = _estimator_class(TASKS[model])()
    make = getattr(model, "deferred_rows", None)
    if make is None or isinstance(model, type):
        raise TypeError(
            "model must be an estimator of swordplay.sklearn or swordplay.river, or "
            f"{' or '.join(map(repr, TASKS))}, got {short_repr(model)} ({type(model).__name__})."
        )
    deferred: DeferredRows = make()
    return deferred


def _declare_columns(deferred: DeferredRows, columns: Mapping[str, str]) -> None:
    """Set the types of columns before their first values are read."""
    if not isinstance(deferred, DictDeferredRows):
        raise ValueError(
            "columns are for rows by name: leave columns out, or use an estimator that takes these."
        )
    if not isinstance(columns, Mapping):
        raise TypeError(
            "columns must say what columns hold, such as {'day': 'date'}, got "
            f"{short_repr(columns)}."
        )
    for name, kind in columns.items():
        if type(name) is not str or not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(
                f"columns must say one of {', '.join(KINDS)} of a name, got "
                f"{short_repr({name: kind})}."
            )
    deferred.value_types.kinds.update(columns)
