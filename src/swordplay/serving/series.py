"""One series: a model that learns late, its pending tickets, and how requests change it.

A request that is sent again, because its response was lost, gets the same response and changes
nothing: tickets are recognised by their ids. A request that contradicts an earlier one is rejected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, NamedTuple, final

import numpy as np

from swordplay.core.arguments import LARGEST_INPUT, short_repr
from swordplay.estimators.deferred_rows import DictDeferredRows
from swordplay.estimators.dict_columns import NumericRows
from swordplay.estimators.value_types import ValueTypes
from swordplay.late import LateModel
from swordplay.serving.errors import RequestError
from swordplay.serving.messages import (
    DroppedTicket,
    LearnedAnswer,
    NumberPrediction,
    RowResponse,
    prediction_of,
)
from swordplay.serving.recent_tickets import (
    RecentTicket,
    RecentTickets,
    RowHash,
    has_hash,
    hash_row,
    hash_table,
    new_recent_ticket,
)
from swordplay.serving.requests import SERVER_ID_PREFIX, AskRows, DropTickets, TellRows
from swordplay.serving.series_stats import AnsweredRows, SeriesStats

NO_LIMIT = 2**31
"""Pending tickets of a ``LateModel``: the server has a limit of its own."""
TASKS = {"number": "regression", "yes-no": "classification", "classes": "classification"}
"""Task of a model by its kind."""
ANSWERS = {
    "number": "a number",
    "yes-no": "true or false",
    "classes": "a string, an integer, true or false",
}
"""Answers that a model learns, by its kind."""
NUMBER_TYPES = frozenset({int, float})


def new_model(kind: str) -> LateModel:
    """Return a model of a kind that has learned nothing."""
    return LateModel(TASKS[kind], max_pending=NO_LIMIT)


def compile_models(kinds: Iterable[str]) -> None:
    """Compile, or load, the kernels of models of these kinds, so that no client waits for it."""
    answers = {"number": 1.0, "yes-no": True, "classes": "a"}
    for kind in sorted(set(kinds)):
        model = new_model(kind)
        for count in (1, 2):
            tickets = model.ask_many([{"x": float(k)} for k in range(count)])
            model.tell_many(tickets, [answers[kind]] * count)


def convert_answer(kind: str, raw: Any, place: int) -> Any:
    """Convert an answer to the type that a model of a kind learns.

    Raises
    ------
    RequestError
        400, if the model cannot learn it.
    """
    if kind == "number" and type(raw) in NUMBER_TYPES:
        if -LARGEST_INPUT <= raw <= LARGEST_INPUT:
            return float(raw)
        raise RequestError(
            400,
            f"y must be finite and not pass {LARGEST_INPUT:g} in magnitude, got {short_repr(raw)}.",
            row=place,
        )
    if kind == "yes-no" and (type(raw) is bool or (type(raw) in NUMBER_TYPES and raw in (0, 1))):
        return bool(raw)
    if kind == "classes" and type(raw) in (str, int, bool):
        return raw
    raise RequestError(400, f"y must be {ANSWERS[kind]}, got {short_repr(raw)}.", row=place)


def convert_numbers(kind: str, raw: Sequence[Any]) -> list[Any] | None:
    """Convert all answers of a request; None if not all of them are plain numbers within range."""
    if (
        kind != "number"
        or not NUMBER_TYPES.issuperset(map(type, raw))
        or not -LARGEST_INPUT <= min(raw) <= max(raw) <= LARGEST_INPUT
    ):
        return None
    return list(map(float, raw))


def prediction_errors(
    predictions: Sequence[Any], ys: Sequence[Any], is_class: bool
) -> list[float | None]:
    """Return the distance of each number from its prediction, or 1 for a wrong class.

    None where there was no prediction.
    """
    pairs = zip(predictions, ys, strict=True)
    if is_class:
        return [None if one is None else float(one != y) for one, y in pairs]
    return [None if one is None else abs(one - y) for one, y in pairs]


class NewRows(NamedTuple):
    """The rows of a request that are new, and the responses to those that are not."""

    responses: list[RowResponse | None]
    """The response to each row of the request; None for new rows."""
    ids: list[str]
    """Ids of the new rows."""
    values: Any
    """Their rows or answers: a list, or ``NumericRows``."""


@final
class Series:
    """A model with one name and key, its tickets and its statistics.

    Parameters
    ----------
    kind
        What the model predicts.
    number
        Number of the series within the server.
    recent
        Recently answered tickets of the server.
    model
        The model; a new one if None.
    """

    def __init__(
        self, kind: str, number: int, recent: RecentTickets, model: LateModel | None = None
    ) -> None:
        self.kind = kind
        self.number = number
        self._recent = recent
        self._recent_ids = recent.ids(number)
        self.late = new_model(kind) if model is None else model
        deferred = self.late.deferred
        assert isinstance(deferred, DictDeferredRows)  # all models of a server take dictionaries
        self.value_types: ValueTypes = deferred.value_types
        """Types of the columns of the rows."""
        self.pending = self.late.pending
        """Pending tickets by id, as a view that stays up to date."""
        self.row_hashes: dict[str, RowHash] = {}
        """Hashes of pending rows by the client's id.

        Rows that came in a table are not here: their hashes are in ``TicketBlock.marks``.
        """
        self.stats = SeriesStats()

    def pending_rows(self, ids: Iterable[str]) -> Iterator[Any]:
        """Yield the rows of those tickets that are pending."""
        return (self.pending.row(ticket_id) for ticket_id in ids if ticket_id in self.pending)

    def step_size(self) -> float | None:
        """Return the effective step size, of several heads their mean; None before any answer."""
        try:
            steps = self.late.model.effective_step_size_
        except AttributeError:
            return None
        return float(np.mean(steps))

    def count_new_rows(self, part: AskRows | TellRows) -> int:
        """Count the rows to be predicted or learned; rows that were sent before are not counted."""
        if isinstance(part, AskRows):
            return sum(
                ticket_id is None
                or not (ticket_id in self.pending or ticket_id in self._recent_ids)
                for ticket_id in part.ids
            )
        return sum(ticket_id in self.pending for ticket_id in part.ids)

    # ------------------------------------------------------------------ checks: nothing changes

    def check_ask(self, part: AskRows, event: int, max_pending: int) -> NewRows:
        """Find the rows of a request that are new.

        Rows in a table must all be new: the caller has asked :meth:`has_no_earlier_ids`, and else
        gives them as dictionaries.

        Parameters
        ----------
        part
            Rows and ids.
        event
            Number of the event; the server makes ids of it for rows without one.
        max_pending
            Pending tickets that the series may have.

        Raises
        ------
        RequestError
            409 for an id that was asked with another row, 429 for too many pending tickets.
        """
        if isinstance(part.rows, NumericRows):
            ids = part.ids
            if ids[0] is None:  # a table has an id for each row, or for none
                ids = [_server_id(event, place) for place in part.places]
            new = NewRows([None] * len(ids), ids, part.rows)
        else:
            new = self._check_rows(part, event)
        _require_unique(new.ids)
        if len(self.pending) + len(new.ids) > max_pending:
            raise RequestError(
                429,
                f"{len(self.pending):,} tickets are pending, and {max_pending:,} is the limit. "
                "Tell or drop some first.",
            )
        return new

    def _check_rows(self, part: AskRows, event: int) -> NewRows:
        new = NewRows([], [], [])
        for place, ticket_id, row in zip(part.places, part.ids, part.rows, strict=True):
            if ticket_id is None:
                new.responses.append(None)
                new.ids.append(_server_id(event, place))
                new.values.append(row)
                continue
            earlier = self._find_earlier(ticket_id)
            if earlier is None:
                new.responses.append(None)
                new.ids.append(ticket_id)
                new.values.append(row)
                continue
            row_hash, response = earlier
            if not has_hash(row, row_hash):
                raise RequestError(
                    409,
                    f"{short_repr(ticket_id)} was asked before, with another row. Choose another "
                    "id.",
                    row=place,
                )
            new.responses.append(response)
        return new

    def has_no_earlier_ids(self, part: AskRows) -> bool:
        """False if the rows are a table with an id that occurred before."""
        if not isinstance(part.rows, NumericRows) or part.ids[0] is None:
            return True
        return self.pending.keys().isdisjoint(part.ids) and self._recent_ids.isdisjoint(part.ids)

    def check_tell(self, part: TellRows) -> NewRows:
        """Find the answers of a request that are new.

        Raises
        ------
        RequestError
            400 for an answer of another type, 404 for an unknown ticket, 409 for another answer
            than the one that was learned, or for a ticket that was dropped.
        """
        ids = part.ids
        if len(ids) > 1 and self.pending.are_pending(ids):
            values = convert_numbers(self.kind, part.values)
            if values is not None:
                return NewRows([None] * len(ids), ids, values)
        new = NewRows([], [], [])
        for place, ticket_id, raw in zip(part.places, ids, part.values, strict=True):
            y = convert_answer(self.kind, raw, place)
            if ticket_id in self.pending:
                new.responses.append(None)
                new.ids.append(ticket_id)
                new.values.append(y)
                continue
            known = self._require_recent(ticket_id, place)
            if known.y is None:
                raise RequestError(
                    409,
                    f"{short_repr(ticket_id)} was dropped. Ask again with another id.",
                    row=place,
                )
            if (type(known.y), known.y) != (type(y), y):
                raise RequestError(
                    409,
                    f"the answer to {short_repr(ticket_id)} was {short_repr(known.y)} before, and "
                    f"is {short_repr(y)} now.",
                    row=place,
                )
            new.responses.append(known.final_response())
        _require_unique(new.ids)
        return new

    def check_drop(self, part: DropTickets) -> NewRows:
        """Find the tickets of a request that are still pending.

        Raises
        ------
        RequestError
            404 for an unknown ticket, 409 for one that was answered.
        """
        new = NewRows([], [], [])
        for place, ticket_id in zip(part.places, part.ids, strict=True):
            if ticket_id in self.pending:
                new.responses.append(None)
                new.ids.append(ticket_id)
                continue
            known = self._require_recent(ticket_id, place)
            if known.y is not None:
                raise RequestError(
                    409, f"{short_repr(ticket_id)} was answered and cannot be dropped.", row=place
                )
            new.responses.append(known.final_response())
        _require_unique(new.ids)
        return new

    # ------------------------------------------------------------------ changes

    def ask(self, new: NewRows) -> Sequence[RowResponse | None]:
        """Predict the new rows; return the responses to all rows."""
        if not new.ids:
            return new.responses
        block = self.late.ask_block(new.values, new.ids)
        self.stats.add_asks(len(new.ids))
        if not isinstance(new.values, NumericRows):
            for ticket_id, row in zip(new.ids, new.values, strict=True):
                if ticket_id[0] != SERVER_ID_PREFIX:
                    self.row_hashes[ticket_id] = hash_row(row)
        elif new.ids[0][0] != SERVER_ID_PREFIX:
            block.marks = hash_table(new.values)
        if not block.has_intervals:
            return _merge(new, list(map(prediction_of, block.tickets())))
        return _merge(new, list(map(NumberPrediction, block.ids, *block.predictions.T.tolist())))

    def take_back(self, new: NewRows) -> None:
        """Forget rows that were predicted, because another part of their request was rejected."""
        for ticket_id in new.ids:
            self.late.drop(ticket_id)
            self.row_hashes.pop(ticket_id, None)
        self.stats.add_asks(-len(new.ids))

    def tell(self, new: NewRows) -> Sequence[RowResponse | None]:
        """Learn the new answers; return the responses to all rows."""
        ids, ys = new.ids, new.values
        if not ids:
            return new.responses
        block = self.pending.select(ids)
        if block.has_intervals:
            predictions, lowers, uppers = block.predictions.T.tolist()
            probabilities: Iterable[Any] = repeat(None)
        else:
            _, predictions, lowers, uppers, probabilities = zip(*block.tickets(), strict=True)
        of_table = block.marks  # hashes; None also if only some of the tickets have them
        hashes = list(map(self._row_hash, ids)) if of_table is None else of_table.tolist()
        errors = prediction_errors(predictions, ys, self.late.predicts_labels)
        self.late.tell_block(block, ys)
        rows = AnsweredRows(ids, predictions, lowers, uppers, ys, errors)
        self.stats.add_answers(rows, self.step_size)
        if self.row_hashes:
            for ticket_id in ids:
                self.row_hashes.pop(ticket_id, None)
        fields = zip(
            ids, predictions, lowers, uppers, probabilities, ys, errors, hashes, strict=False
        )
        self._recent.add(self.number, ids, list(map(new_recent_ticket, fields)))
        return _merge(new, list(map(LearnedAnswer, ids, predictions, ys, errors)))

    def drop(self, new: NewRows) -> Sequence[RowResponse | None]:
        """Drop the pending tickets; return the responses to all rows."""
        for ticket_id in new.ids:
            ticket = RecentTicket(*self.pending[ticket_id], None, 0.0, self._row_hash(ticket_id))
            self.late.drop(ticket_id)
            self.row_hashes.pop(ticket_id, None)
            self._recent.add(self.number, [ticket_id], [ticket])
        self.stats.add_drops(len(new.ids))
        return _merge(new, list(map(DroppedTicket, new.ids)))

    # ------------------------------------------------------------------

    def pending_hashes(self) -> dict[str, RowHash]:
        """Return the hashes of all pending rows that have an id of the client."""
        hashes = zip(self.pending, map(self._row_hash, self.pending), strict=True)
        return {ticket_id: row_hash for ticket_id, row_hash in hashes if row_hash != ""}

    def _row_hash(self, ticket_id: str) -> RowHash:
        """Return the hash of a pending row; empty if the server made the id."""
        table_hash = self.pending.mark(ticket_id)
        return self.row_hashes.get(ticket_id, "") if table_hash is None else table_hash

    def _find_earlier(self, ticket_id: str) -> tuple[RowHash, RowResponse] | None:
        """Return hash and response of a row that was asked before; None if the id is new."""
        if ticket_id in self.pending:
            return self._row_hash(ticket_id), prediction_of(self.pending[ticket_id])
        known = self._recent.get(self.number, ticket_id)
        return None if known is None else (known.row_hash, known.first_response())

    def _require_recent(self, ticket_id: str, place: int) -> RecentTicket:
        known = self._recent.get(self.number, ticket_id)
        if known is None:
            raise RequestError(
                404,
                f"no ticket {short_repr(ticket_id)} is pending: it was never asked here, or "
                "answered long ago.",
                row=place,
            )
        return known


def _server_id(event: int, place: int) -> str:
    """Return the id of a row that has none."""
    return f"{SERVER_ID_PREFIX}{event}.{place}"


def _require_unique(ids: list[str]) -> None:
    if len(set(ids)) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise RequestError(409, f"{short_repr(twice)} occurs twice in one request.")


def _merge(new: NewRows, responses: Sequence[RowResponse]) -> Sequence[RowResponse | None]:
    """Return the responses to all rows of a request, given those to its new rows."""
    if len(responses) == len(new.responses):
        return responses
    following = iter(responses)
    return [next(following) if known is None else known for known in new.responses]
