"""An estimator whose answers come late."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self, final

import numpy as np

from swordplay.core import arguments, checkpoint
from swordplay.core.checkpoint import CheckpointError
from swordplay.core.model_lock import LockedModel
from swordplay.core.state import ROW_COUNT, Field, add_prefix, check, strip_prefix
from swordplay.core.types import State
from swordplay.estimators.dict_columns import NumericRows
from swordplay.estimators.level_intervals import LevelIntervals
from swordplay.intervals import SwordIntervals
from swordplay.late import answers, kinds
from swordplay.late.anchor import Anchors
from swordplay.late.blocks import Block, between, is_seen, kept_of, lateness
from swordplay.late.pending import Pending, Waiting
from swordplay.late.score import Score
from swordplay.late.ticket import (
    Ticket,
    TooManyPending,
    UnknownTicket,
    checked_id,
    checked_ids,
    listed,
)

KIND = "LateModel"
"""Of a checkpoint."""


@final
class LateModel(LockedModel):
    """Predict now, learn later: an estimator whose answers come after their rows, in any order or
    never.

    :meth:`ask` predicts a row and keeps it, :meth:`tell` learns it when its answer is known. What
    was predicted is what is judged; what is learned is the row as it was asked, with the last
    targets (``lags``) that were known then. Rows are learned in the order in which their answers
    come, each as a round of its own, so the certificate of the estimator holds for that sequence
    (docs/theory.md says what this means for the predictions that were given).

    Parameters
    ----------
    model
        An estimator of :mod:`swordplay.sklearn` (rows are arrays) or of :mod:`swordplay.river`
        (rows by name). Or ``"regression"`` or ``"classification"`` for a new one that takes rows by
        name and needs neither package. It may have learned before; from now on it is learned by
        :meth:`tell` only.
    max_pending
        How many tickets may be pending; an ask beyond is refused.
    level
        What share of the truths the intervals of a regression are to hold, in (0, 1); None for no
        intervals.
    columns
        What columns of rows by name hold: number, word, date or time. Unless given the first value
        decides.

    Attributes
    ----------
    model
        The estimator.
    score
        How many tickets there were, had an answer and were given up, and what the predictions cost.

    Examples
    --------
    >>> from swordplay.late import LateModel
    >>> model = LateModel("classification")
    >>> monday, tuesday = model.ask({"rain": 0.5}), model.ask({"rain": 7.0, "wind": "strong"})
    >>> model.tell(tuesday, "late"), model.tell(monday, "on time")  # nothing was known: nothing to judge
    (None, None)
    >>> sorted(model.ask({"rain": 8.0, "wind": None}).probabilities)
    ['late', 'on time']
    """  # noqa: E501

    def __init__(
        self,
        model: Any,
        *,
        max_pending: int = 100_000,
        level: float | None = 0.9,
        columns: Mapping[str, str] | None = None,
    ) -> None:
        self._asks = kinds.askable(model)
        if columns is not None:
            kinds.declare(self._asks, columns)
        self.max_pending = arguments.integer("max_pending", max_pending)
        self.level = (
            None
            if level is None or self._asks.of_classes
            else float(np.atleast_1d(SwordIntervals(level).level)[0])
        )
        self._intervals = LevelIntervals()
        self._pending = Pending()
        self._anchors = Anchors()
        self._serial = 0
        self.score = Score()

    @property
    def model(self) -> Any:
        """The estimator."""
        return self._asks.estimator

    @property
    def pending(self) -> Waiting:
        """Tickets that wait for their answers, by id, in the order in which they were asked.

        A view that cannot be changed.
        """
        return self._pending.view

    @property
    def of_classes(self) -> bool:
        """Whether labels are predicted; else numbers."""
        return self._asks.of_classes

    # ------------------------------------------------------------------ asking

    def ask(self, x: Any, id: str | None = None) -> Ticket:
        """Predict a row whose answer is not known yet.

        Parameters
        ----------
        x
            The row: values by name (numbers, truths, texts, dates; None if missing), or an array of
            numbers, as the estimator takes them.
        id
            What to call it by when the answer is there; made up unless given.

        Returns
        -------
        ticket
            Prediction, interval or probabilities, and id. It is pending until it is told or
            dropped.
        """
        return self.ask_many([x], None if id is None else [id])[0]

    def ask_many(self, rows: Sequence[Any], ids: Sequence[str] | None = None) -> list[Ticket]:
        """Predict rows: the same as asking one after the other, several times faster.

        All of them or, on an error, none.

        Parameters
        ----------
        rows, ids
            As in :meth:`ask`; as many ids as rows.
        """
        if hasattr(
            rows, "tocsr"
        ):  # scipy would sort it by rows, and write wherever its indices point
            raise TypeError(
                f"rows must be a list of rows, got a sparse one ({type(rows).__name__}). Give "
                "rows.toarray()."
            )
        xs = rows if isinstance(rows, NumericRows) else listed("rows", rows)
        names = self._pending.names(len(xs), ids, self._serial)
        if not names:
            return []
        block, self._serial = (
            self.ask_block(xs, names),
            int(names[-1]) if ids is None else self._serial,
        )
        return list(block.tickets)

    def ask_block(self, rows: Sequence[Any], names: list[str]) -> Block:
        """The same for rows, one at least, under names that were checked: none is pending, and
        none comes twice.
        """
        if len(self._pending) + len(rows) > self.max_pending:
            raise TooManyPending(self.max_pending)
        said_by = self._asks, self._anchors.now, self._intervals, self.level
        block = answers.asked(*said_by, names, self._asks.read(rows), self.score.told)
        self._pending.put(block)
        self.score = self.score._replace(asked=self.score.asked + len(rows))
        return block

    # ------------------------------------------------------------------ telling

    def tell(self, ticket: Ticket | str, y: Any) -> float | None:
        """Learn the answer to a ticket; what was predicted is judged.

        Parameters
        ----------
        ticket
            A pending ticket, or its id.
        y
            The truth: a finite number, or a label.

        Returns
        -------
        loss
            The squared error of the prediction, or minus the logarithm of the probability of the
            true label; None where nothing could be predicted yet.

        Raises
        ------
        UnknownTicket
            If no such ticket is pending: it was told or dropped, or never asked.
        """
        return self.tell_many([ticket], [y])[0]

    def tell_many(self, tickets: Sequence[Ticket | str], ys: Sequence[Any]) -> list[float | None]:
        """Learn answers in this order: the same as telling one after the other, several times
        faster.

        All tickets and answers are looked at before the first one is learned.

        Parameters
        ----------
        tickets, ys
            As in :meth:`tell`; as many of each.
        """
        ids, given = self._pending.follow(tickets) or checked_ids(tickets), listed("ys", ys)
        if len(ids) != len(given):
            raise ValueError(
                f"ys must have one entry for each of the {len(ids)} tickets, got {len(given)}."
            )
        if unknown := self._pending.unknown(ids):
            raise UnknownTicket(unknown)
        truths = kinds.truths(self._asks, given)
        if not self._asks.together:
            return [
                loss
                for id, truth in zip(ids, truths, strict=True)
                for loss in self._learned([id], [truth])
            ]
        losses: list[float | None] = []
        while len(losses) < len(ids):
            done = len(losses)
            last = done + answers.at_a_time(self._asks)
            losses += self._learned(ids[done:last], truths[done:last])
        return losses

    def _learned(self, ids: list[str], truths: Sequence[Any]) -> list[float | None]:
        """Learn the first answers: as many together as leads to the same as one after the other."""
        runs, told = self._pending.runs(ids), self.score.told
        late, first = lateness(runs, told), len(ids)
        if first > 1:
            joined = (
                0
                if is_seen(self._asks, runs)
                else self._asks.joins([one.row for one in kept_of(runs)])
            )
            first = min(self._anchors.begins(late, told) or first, joined or first)
        truths, late, runs = truths[:first], late[:first], between(runs, 0, first)
        ys: Any = (
            truths if self._asks.of_classes or first == 1 else np.array(truths, dtype=np.float64)
        )
        self._anchors.judge(self._asks, ys, late, told, runs)
        table = answers.learn(self._asks, truths, told, runs)
        given = answers.learn_intervals(
            self._asks, self._intervals, self.level, ys, table, runs, late
        )
        self.score, losses = self.score.judge((one.ticket for one in kept_of(runs)), ys, given)
        self._pending.remove(runs)
        return losses

    def drop(self, ticket: Ticket | str) -> None:
        """Give a ticket up: its answer never comes, and nothing is learned of it.

        Parameters
        ----------
        ticket
            A pending ticket, or its id.
        """
        id = checked_id(ticket)
        if id not in self._pending:
            raise UnknownTicket(id)
        self._pending.remove(self._pending.runs([id]))
        self.score = self.score._replace(dropped=self.score.dropped + 1)

    # ------------------------------------------------------------------ telling about itself,
    # saving

    def summary(self) -> str:
        """How many tickets there were and are, how good the predictions were that were given,
        and what the estimator says.
        """
        lines = self.score.lines(self._asks.of_classes, self.level)
        lines += self._anchors.lines()
        if self.score.told and (told := getattr(self.model, "summary", None)) is not None:
            lines.append(told())
        return "\n".join(lines)

    def state(self) -> State:
        """The estimator, the tickets that are pending and what was counted, as named arrays,
        numbers and texts.
        """
        return {
            "estimator": self.model.kind(),
            "max_pending": self.max_pending,
            "level": np.nan if self.level is None else self.level,
            "serial": self._serial,
            **add_prefix("model", self.model.state()),
            **add_prefix("rows", self._asks.state()),
            **add_prefix("pending", self._pending.state(self._asks)),
            **add_prefix("score", self.score.state()),
            **self._anchors.state(),
            **self._intervals.state(),
        }

    @classmethod
    def from_state(cls, saved: Mapping[str, Any]) -> Self:
        """The model of a :meth:`state`; it goes on bit by bit.

        Raises
        ------
        ValueError
            If it is not a state that this class gave; says what does not fit.
        """
        try:
            return cls._of_state(saved)
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
    def _of_state(cls, saved: Mapping[str, Any]) -> Self:
        estimator = kinds.estimator(saved["estimator"]).from_state(strip_prefix("model", saved))
        check("level", saved["level"], Field(0.0, 1.0, nan=True))
        level = float(saved["level"])
        model = cls(
            estimator, max_pending=saved["max_pending"], level=None if np.isnan(level) else level
        )
        model._asks.load_state(strip_prefix("rows", saved))
        model._intervals = LevelIntervals.from_state(saved)
        model._pending = Pending.of_state(
            strip_prefix("pending", saved), model._asks, kinds.lags(estimator)
        )
        if (
            model.level is None
            and not np.isnan(np.asarray(saved["pending.lower"], dtype=np.float64)).all()
        ):
            raise ValueError(f"intervals are pending, and the level is {level}.")
        model._anchors = Anchors.of_state(saved, model._asks)
        model.score = Score.of_state(strip_prefix("score", saved))
        check("serial", saved["serial"], ROW_COUNT)
        model._serial = int(saved["serial"])
        if not model.score.pending == len(model._pending) <= model.max_pending:
            raise ValueError(
                f"{model.score.pending} tickets should be pending, and {len(model._pending)} are."
            )
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint: estimator and pending tickets in one file, whole or not at all.

        No pickle.
        """
        checkpoint.save(path, self.state(), kind=KIND)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The model that was saved; it goes on bit by bit.

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
