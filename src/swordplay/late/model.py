"""An estimator whose answers come late."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self, final

import numpy as np

from swordplay.base import arguments, checkpoint, nested
from swordplay.base.checkpoint import CheckpointError
from swordplay.base.guard import Guarded
from swordplay.base.state import ROWS, Range, require
from swordplay.base.types import State
from swordplay.estimators.bands import Bands
from swordplay.intervals import SwordIntervals
from swordplay.late import kinds
from swordplay.late.pending import Kept, Pending, of_labels, of_number
from swordplay.late.ticket import Ticket, TicketPending, TooManyPending, UnknownTicket, checked_id

KIND = "LateModel"
"""Of a checkpoint."""
COUNTS = ("asked", "told", "dropped", "judged", "missed", "guarded")
"""What is counted; :attr:`LateModel.loss` and :attr:`LateModel.error` are summed."""


@final
class LateModel(Guarded):
    """Predict now, learn later: an estimator whose answers come after their rows, in any order or never.

    :meth:`ask` predicts a row and keeps it, :meth:`tell` learns it when its answer is known. What was predicted is what is
    judged; what is learned is the row as it was asked, with the last targets (``lags``) that were known then. Rows are learned
    in the order in which their answers come, each as a round of its own, so the certificate of the estimator holds for that
    sequence (docs/theory.md says what this means for the predictions that were given).

    Parameters
    ----------
    model
        An estimator of :mod:`swordplay.sklearn` (rows are arrays) or of :mod:`swordplay.river` (rows by name). Or
        ``"regression"`` or ``"classification"`` for a new one that takes rows by name and needs neither package. It may have
        learned before; from now on it is learned by :meth:`tell` only.
    max_pending
        How many tickets may be pending; an ask beyond is refused.
    level
        What share of the truths the intervals of a regression are to hold, in (0, 1); None for no intervals.

    Attributes
    ----------
    model
        The estimator.
    asked, told, dropped
        How many tickets there were, had an answer, and were given up.

    Examples
    --------
    >>> from swordplay.late import LateModel
    >>> model = LateModel("classification")
    >>> monday, tuesday = model.ask({"rain": 0.5}), model.ask({"rain": 7.0, "wind": "strong"})
    >>> model.tell(tuesday, "late"), model.tell(monday, "on time")  # nothing was known: nothing to judge
    (None, None)
    >>> model.ask({"rain": 8.0, "wind": None}).prediction
    'late'
    """

    def __init__(self, model: Any, *, max_pending: int = 100_000, level: float | None = 0.9) -> None:
        self._asks = kinds.askable(model)
        self.max_pending = arguments.whole("max_pending", max_pending)
        self.level = None if level is None or self._asks.of_classes else float(np.atleast_1d(SwordIntervals(level).level)[0])
        self._bands = Bands()
        self._pending = Pending()
        self._serial = 0
        self.asked = self.told = self.dropped = 0
        self.judged = self.guarded = self.missed = 0
        """Answers whose prediction was judged, of these with an interval, and how many of the intervals missed."""
        self.loss = self.error = 0.0
        """Sums over the judged: squared errors or log losses, and squared errors or mistakes."""

    @property
    def model(self) -> Any:
        """The estimator."""
        return self._asks.estimator

    @property
    def pending(self) -> Mapping[str, Ticket]:
        """Tickets that wait for their answers, by id, in the order in which they were asked; a view that cannot be changed."""
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
            The row: values by name (numbers, truths, texts, dates; None if missing), or an array of numbers, as the estimator
            takes them.
        id
            What to call it by when the answer is there; made up unless given.

        Returns
        -------
        ticket
            Prediction, interval or probabilities, and id. It is pending until it is told or dropped.
        """
        return self.ask_many([x], None if id is None else [id])[0]

    def ask_many(self, rows: Sequence[Any], ids: Sequence[str] | None = None) -> list[Ticket]:
        """Predict rows: the same as asking one after the other, several times faster; all of them or, on an error, none.

        Parameters
        ----------
        rows, ids
            As in :meth:`ask`; as many ids as rows.
        """
        xs = list(rows)
        names = self._names(len(xs), ids)
        if not xs:
            return []
        if len(self._pending) + len(xs) > self.max_pending:
            raise TooManyPending(self.max_pending)
        kept = self._asks.read(xs)
        lags = tuple(team.recent.copy() for team in self._asks.teams if len(team.recent))
        tickets = self._said(names, kept)
        for ticket, row in zip(tickets, kept, strict=True):
            self._pending.put(Kept(ticket, row, lags))
        self.asked += len(xs)
        self._serial += len(xs) if ids is None else 0
        return tickets

    def _names(self, count: int, ids: Sequence[str] | None) -> list[str]:
        if ids is None:
            while any(str(self._serial + k + 1) in self._pending for k in range(count)):
                self._serial += 1
            return [str(self._serial + k + 1) for k in range(count)]
        names = [checked_id(id) for id in ids]
        if len(names) != count:
            raise ValueError(f"ids must have one entry for each of the {count} rows, got {len(names)}.")
        seen: set[str] = set()
        for name in names:
            if name in self._pending or name in seen:
                raise TicketPending(name)
            seen.add(name)
        return names

    def _said(self, ids: Sequence[str], rows: Sequence[Any]) -> list[Ticket]:
        numbers = self._asks.numbers(rows)
        answers = self._asks.say(rows, numbers)
        if self._asks.of_classes:
            labels = self._asks.labels
            return [of_labels(id, labels, chances) for id, chances in zip(ids, answers, strict=True)]
        if not answers.shape[1]:
            return [Ticket(id, None) for id in ids]
        said = answers[:, 0]
        if self.level is None:
            return [of_number(id, one) for id, one in zip(ids, said.tolist(), strict=True)]
        bounds = self._bands.intervals(self.level, said, numbers)
        return [of_number(id, one, *ends) for id, one, ends in zip(ids, said.tolist(), bounds.tolist(), strict=True)]

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
            The squared error of the prediction, or minus the logarithm of the probability of the true label; None where
            nothing could be predicted yet.

        Raises
        ------
        UnknownTicket
            If no such ticket is pending: it was told or dropped, or never asked.
        """
        return self.tell_many([ticket], [y])[0]

    def tell_many(self, tickets: Sequence[Ticket | str], ys: Sequence[Any]) -> list[float | None]:
        """Learn answers in this order: the same as telling one after the other, several times faster.

        All tickets and answers are looked at before the first one is learned.

        Parameters
        ----------
        tickets, ys
            As in :meth:`tell`; as many of each.
        """
        ids, answers = [checked_id(one) for one in tickets], list(ys)
        if len(ids) != len(answers):
            raise ValueError(f"ys must have one entry for each of the {len(ids)} tickets, got {len(answers)}.")
        seen: set[str] = set()
        for id in ids:
            if id not in self._pending or id in seen:
                raise UnknownTicket(id)
            seen.add(id)
        truths = [self._asks.truth(y) for y in answers]
        if not self._asks.together:
            return [loss for id, truth in zip(ids, truths, strict=True) for loss in self._learned([id], [truth])]
        return self._learned(ids, truths) if ids else []

    def _learned(self, ids: Sequence[str], truths: Sequence[Any]) -> list[float | None]:
        kept = [self._pending[id] for id in ids]
        self._learn_as_asked(kept, truths)
        self._learn_intervals(kept, truths)
        losses = []
        for one, truth in zip(kept, truths, strict=True):
            losses.append(self._judge(one.ticket, truth))
            self._pending.remove(one.ticket.id)
        return losses

    def _learn_as_asked(self, kept: Sequence[Kept], truths: Sequence[Any]) -> None:
        """Learn rows with the last targets that were known when they were asked, and remember those that are the last now."""
        teams = [team for team in self._asks.teams if len(team.recent)]
        now = [team.recent.copy() for team in teams]
        for k, team in enumerate(teams):  # one that joined since then knew nothing
            team.recent[:] = kept[0].lags[k] if k < len(kept[0].lags) else np.nan
        try:
            self._asks.learn([one.row for one in kept], truths)
        except BaseException:
            for team, recent in zip(teams, now, strict=True):
                team.recent[:] = recent
            raise
        for team, recent in zip(teams, now, strict=True):
            team.recent[1:] = recent[:-1]

    def _learn_intervals(self, kept: Sequence[Kept], truths: Sequence[Any]) -> None:
        """Let the intervals learn from what was predicted; those that were given count."""
        places = [k for k, one in enumerate(kept) if one.ticket.lower is not None]
        if places:
            said, *ends = ([getattr(kept[k].ticket, name) for k in places] for name in ("prediction", "lower", "upper"))
            rows = self._asks.numbers([kept[k].row for k in places])
            self._bands.learn_given(
                self.level, np.array(said), np.array([truths[k] for k in places]), rows, np.column_stack(ends)
            )

    def _judge(self, ticket: Ticket, truth: Any) -> float | None:
        loss = ticket.loss(truth, self.told)
        self.told += 1
        if loss is not None:
            self.judged += 1
            self.loss += loss
            self.error += float(ticket.prediction != truth) if self._asks.of_classes else loss
            self.guarded += ticket.lower is not None
            self.missed += ticket.missed(truth)
        return loss

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
        self._pending.remove(id)
        self.dropped += 1

    # ------------------------------------------------------------------ telling about itself, saving

    def summary(self) -> str:
        """How many tickets there were and are, how good the predictions were that were given, and what the estimator says."""
        count = f"{self.asked:,} asked, {self.told:,} told, {self.dropped:,} dropped, {len(self._pending):,} pending"
        lines = [f"LateModel: {count}"]
        if self.judged:
            rate = self.error / self.judged
            said = f"share of mistakes {rate:.4g}" if self._asks.of_classes else f"RMSE {rate**0.5:.6g}"
            lines.append(f"  as asked    {said} over {self.judged:,} answers")
        if self.guarded:
            held = 1.0 - self.missed / self.guarded
            lines.append(f"  intervals   {100 * held:.1f} % held the truth, of {100 * float(self.level or 0):g} % wanted")
        if self.told and (told := getattr(self.model, "summary", None)) is not None:
            lines.append(told())
        return "\n".join(lines)

    def state(self) -> State:
        """The estimator, the tickets that are pending and what was counted, as named arrays, numbers and texts."""
        return {
            "estimator": self.model.kind(),
            "max_pending": self.max_pending,
            "level": np.nan if self.level is None else self.level,
            "serial": self._serial,
            "loss": self.loss,
            "error": self.error,
            **{name: getattr(self, name) for name in COUNTS},
            **nested.put("model", self.model.state()),
            **nested.put("rows", self._asks.state()),
            **nested.put("pending", self._pending.state(self._asks)),
            **self._bands.state(),
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
        except (AttributeError, LookupError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise ValueError(f"the state is not one of a LateModel, or damaged: {error}") from error

    @classmethod
    def _of_state(cls, saved: Mapping[str, Any]) -> Self:
        estimator = kinds.estimator(saved["estimator"]).from_state(nested.take("model", saved))
        require("level", saved["level"], Range(0.0, 1.0, missing=True))
        level = float(saved["level"])
        model = cls(estimator, max_pending=saved["max_pending"], level=None if np.isnan(level) else level)
        model._asks.load_state(nested.take("rows", saved))
        model._bands = Bands.of_state(saved)
        model._pending = Pending.of_state(nested.take("pending", saved), model._asks, kinds.lags(estimator))
        for name in ("serial", *COUNTS):
            require(name, saved[name], ROWS)
        for name in ("loss", "error"):
            require(name, saved[name], Range(0.0, np.inf))
        model._serial, model.loss, model.error = int(saved["serial"]), float(saved["loss"]), float(saved["error"])
        for name in COUNTS:
            setattr(model, name, int(saved[name]))
        pending = model.asked - model.told - model.dropped
        if not pending == len(model._pending) <= model.max_pending or not model.missed <= model.guarded <= model.judged:
            raise ValueError(f"{pending} tickets should be pending, and {len(model._pending)} are.")
        return model

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint: estimator and pending tickets in one file, whole or not at all; no pickle."""
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
            raise CheckpointError(f"the checkpoint {os.fspath(path)!r} cannot be used: {error}") from error
