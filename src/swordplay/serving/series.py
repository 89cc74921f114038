"""One series: a model that learns late, and what repeated requests are recognised by.

A request that is sent twice, because its answer got lost on the way, is answered as the first time
and changes nothing: tickets are known by their ids. What contradicts an earlier request is refused.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.estimators.dict_columns import NumericRows
from swordplay.late.tickets import TicketBlock
from swordplay.serving import answered, learning, replies
from swordplay.serving.answered import Memory, Told, ToldTable
from swordplay.serving.learning import LateModel
from swordplay.serving.plain import OURS, SMALL
from swordplay.serving.recognition import Print, fingerprint, fingerprints, is_same
from swordplay.serving.refusals import Refusal
from swordplay.serving.replies import Reply
from swordplay.serving.requests import Ask, Drop, Tell
from swordplay.serving.watch import Watch


class Plan(NamedTuple):
    """What is left to do of a request once all of it was checked."""

    replies: list[Reply | None]
    """Answers that were given before; None for what is new."""
    ids: list[str]
    """Of what is new."""
    values: Any
    """Rows, or answers: a list, or ``NumericRows``."""


@final
class Series:
    """A model under one name and key.

    Parameters
    ----------
    kind
        What it predicts.
    place
        Among the series of the server.
    memory
        Of the server.
    late
        What learns; a new one unless given.
    """

    def __init__(
        self, kind: str, place: int, memory: Memory, late: LateModel | None = None
    ) -> None:
        self.kind, self.place, self._memory, self._told = kind, place, memory, memory.names(place)
        self.late = learning.make(kind) if late is None else late
        self.rows_by_name = learning.rows_by_name(self.late)
        """What the columns of its rows hold."""
        self.pending = self.late.pending
        """Tickets that wait for their answers, by id: a view that stays."""
        self.rows: dict[str, Print] = {}
        """What the rows of pending tickets are recognised by, by the ids that clients gave.

        But those of batches have marks.
        """
        self.watch = Watch()

    def kept_rows(self, ids: Iterable[str]) -> Iterator[Any]:
        """Rows of pending tickets as they are kept; ids of others are left out."""
        return (learning.kept_row(self.late, id) for id in ids if id in self.pending)

    def new_rows(self, part: Ask | Tell | Drop) -> int:
        """How many rows of a request have to be predicted or learned: the others were before."""
        if isinstance(part, Ask):
            return sum(
                name is None or not (name in self.pending or name in self._told)
                for name in part.ids
            )
        return sum(name in self.pending for name in part.ids)

    # ------------------------------------------------------------------ checks: nothing changes

    def check_ask(self, part: Ask, number: int, most: int) -> Plan:
        """Which rows of a request are new.

        Parameters
        ----------
        part
            Rows and ids.
        number
            Of the event: rows without an id are named by it.
        most
            Tickets that may wait.
        """
        if isinstance(part.rows, NumericRows):
            plan = Plan([None] * len(part.rows), self._names(part, number), part.rows)
        else:
            plan = self._planned(part, number)
        _once(plan.ids)
        if len(self.pending) + len(plan.ids) > most:
            raise Refusal(
                429,
                f"{len(self.pending):,} tickets wait, and {most:,} may. Tell or drop some first.",
            )
        return plan

    def _planned(self, part: Ask, number: int) -> Plan:
        plan = Plan([], [], [])
        for place, name, row in zip(part.places, part.ids, part.rows, strict=True):
            earlier = None if name is None else self._earlier(name)
            if earlier is not None and not is_same(earlier[0], row):
                raise Refusal(
                    409,
                    f"{short_repr(name)} was asked before, with another row. Choose another id.",
                    row=place,
                )
            plan.replies.append(None if earlier is None else earlier[1])
            if earlier is None:
                plan.ids.append(f"{OURS}{number}.{place}" if name is None else name)
                plan.values.append(row)
        return plan

    def are_new(self, part: Ask) -> bool:
        """Whether a batch may be taken as one table: none of its ids came before.

        True of what is no such batch.
        """
        if not isinstance(part.rows, NumericRows) or part.ids[0] is None:
            return True
        return self.pending.keys().isdisjoint(part.ids) and self._told.isdisjoint(part.ids)

    def check_tell(self, part: Tell) -> Plan:
        """Which answers of a request are new."""
        ids = part.ids
        if len(ids) > 1 and self.pending.are_pending(ids):
            values = learning.targets(self.kind, part.values)
            if values is not None:
                return Plan([None] * len(ids), ids, values)
        plan, pending = Plan([], [], []), self.pending
        for place, name, raw in zip(part.places, part.ids, part.values, strict=True):
            y = learning.target(self.kind, raw, place)
            if name in pending:
                plan.ids.append(name)
                plan.values.append(y)
                plan.replies.append(None)
                continue
            known = self._known(name, place)
            if known.y is None:
                raise Refusal(
                    409, f"{short_repr(name)} was dropped. Ask again under another id.", row=place
                )
            if (type(known.y), known.y) != (type(y), y):
                raise Refusal(
                    409,
                    f"{short_repr(name)} was told {short_repr(known.y)} before, and not "
                    f"{short_repr(y)}.",
                    row=place,
                )
            plan.replies.append(known.reply())
        _once(plan.ids)
        return plan

    def check_drop(self, part: Drop) -> Plan:
        """Which tickets of a request are still there."""
        plan = Plan([], [], [])
        for place, name in zip(part.places, part.ids, strict=True):
            known = None if name in self.pending else self._known(name, place)
            if known is not None and known.y is not None:
                raise Refusal(
                    409, f"{short_repr(name)} was told before and cannot be dropped.", row=place
                )
            plan.replies.append(None if known is None else known.reply())
            if known is None:
                plan.ids.append(name)
        _once(plan.ids)
        return plan

    # ------------------------------------------------------------------ what changes something

    def ask(self, plan: Plan) -> Sequence[Reply | None]:
        """Predict the new rows; the answers of all."""
        if not plan.ids:
            return plan.replies
        block = self.late.ask_block(plan.values, plan.ids)
        self.watch.asks += len(plan.ids)
        if isinstance(plan.values, NumericRows):
            if plan.ids[0][0] != OURS:  # all of them have names of the client's, or none has
                block.marks = fingerprints(plan.values)
        else:
            named = {
                name: row
                for name, row in zip(plan.ids, plan.values, strict=True)
                if name[0] != OURS
            }
            self.rows.update(zip(named, map(fingerprint, named.values()), strict=True))
        return _filled(plan, replies.said(block))

    def take_back(self, plan: Plan) -> None:
        """Forget rows that were predicted in vain, because another part of their request was
        refused.
        """
        for name in plan.ids:
            self.late.drop(name)
            self.rows.pop(name, None)
        self.watch.asks -= len(plan.ids)

    def tell(self, plan: Plan) -> Sequence[Reply | None]:
        """Learn the new answers; the answers of all."""
        ids, ys, step = plan.ids, plan.values, functools.partial(learning.step_size, self.late)
        if not ids:
            return plan.replies
        block = self.pending.select(ids)
        if len(ids) > SMALL and block.has_intervals:
            return _filled(plan, self._tell_table(block, ys, step))
        tickets, rows = block.tickets(), self._prints(ids)
        self.late.tell_block(block, ys)
        errors = learning.errors(tickets, ys)
        self.watch.told(tickets, ys, errors, step)
        self._forget(ids)
        self._memory.put(
            self.place, ids, map(answered.made, zip(rows, tickets, ys, errors, strict=True))
        )
        return _filled(
            plan, list(map(replies.Told, ids, [ticket[1] for ticket in tickets], ys, errors))
        )

    def _tell_table(
        self, block: TicketBlock, ys: list[float], step: Callable[[], float | None]
    ) -> list[Reply]:
        """The same for tickets of numbers with intervals that were asked together, as columns."""
        ids = block.ids
        given = block.predictions.copy()  # a view would keep the whole block in memory
        rows = self._prints(ids) if block.marks is None else block.marks.copy()
        self.late.tell_block(block, ys)
        self._forget(ids)
        truths = np.array(ys, dtype=np.float64)
        errors = np.abs(given[:, 0] - truths)
        off = errors.tolist()
        self.watch.told_table(ids, given, truths, off, step)
        self._memory.put_table(self.place, ToldTable(ids, rows, given, truths, errors))
        return list(map(replies.Told, ids, given[:, 0].tolist(), ys, off))

    def drop(self, plan: Plan) -> Sequence[Reply | None]:
        """Forget tickets; the answers of all."""
        for name in plan.ids:
            told = Told(self._print(name), self.pending[name], None)
            self.late.drop(name)
            self.rows.pop(name, None)
            self._memory.put(self.place, [name], [told])
        self.watch.drops += len(plan.ids)
        return _filled(plan, list(map(replies.Dropped, plan.ids)))

    # ------------------------------------------------------------------

    def _names(self, part: Ask, number: int) -> list[Any]:
        """The ids of a batch, all of them the client's, or all ours."""
        return (
            part.ids
            if part.ids[0] is not None
            else [f"{OURS}{number}.{place}" for place in part.places]
        )

    def prints(self) -> dict[str, Print]:
        """What all rows of pending tickets are recognised by, by the ids that clients gave."""
        return {name: found for name in self.pending if (found := self._print(name)) != ""}

    def _print(self, name: str) -> Print:
        """What the row of a pending ticket is recognised by; nothing if the server named it."""
        mark = self.pending.mark(name)
        return self.rows.get(name, "") if mark is None else mark

    def _prints(self, ids: list[str]) -> list[Print]:
        return list(map(self._print, ids))

    def _forget(self, ids: list[str]) -> None:
        """Forget what rows are recognised by that wait no more."""
        if self.rows:
            for name in ids:
                self.rows.pop(name, None)

    def _earlier(self, name: str) -> tuple[Print, Reply] | None:
        """What a row that was asked before is recognised by, and its answer then."""
        if name in self.pending:
            return self._print(name), replies.ticket(self.pending[name])
        told = self._memory.get(self.place, name)
        return None if told is None else (told.row, replies.ticket(told.ticket))

    def _known(self, name: str, place: int) -> Told:
        told = self._memory.get(self.place, name)
        if told is None:
            raise Refusal(
                404,
                f"no ticket {short_repr(name)} waits: it was never asked here, or answered long "
                "ago.",
                row=place,
            )
        return told


def _once(ids: list[str]) -> None:
    if len(set(ids)) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise Refusal(409, f"{short_repr(twice)} is there twice in one request.")


def _filled(plan: Plan, fresh: Sequence[Reply]) -> Sequence[Reply | None]:
    """All answers in the order of the rows: those that were given before, and the new ones."""
    if len(fresh) == len(plan.replies):
        return fresh
    news = iter(fresh)
    return [next(news) if reply is None else reply for reply in plan.replies]
