"""What learns in a server, by what it predicts: the one place that knows which estimator that
is.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from swordplay.core.arguments import LARGEST_INPUT, short_repr
from swordplay.estimators.deferred_rows import DictDeferredRows
from swordplay.estimators.value_types import ValueTypes
from swordplay.late import LateModel, Ticket
from swordplay.serving.refusals import Refusal

__all__ = ["LateModel", "Ticket", "error", "errors", "make", "step_size", "target", "targets"]


NO_LIMIT = 2**31
"""Tickets that a model takes: the server has its own limit."""
TASKS = {"number": "regression", "yes-no": "classification", "classes": "classification"}
"""What a model learns, by what it predicts."""


def make(kind: str) -> LateModel:
    """A model that has learned nothing."""
    return LateModel(TASKS[kind], max_pending=NO_LIMIT)


def target(kind: str, raw: Any, place: int) -> Any:
    """An answer as the model takes it.

    Raises
    ------
    Refusal
        400, if it is not of that kind.
    """
    if kind == "number" and type(raw) in NUMBERS:
        if -LARGEST_INPUT <= raw <= LARGEST_INPUT:
            return float(raw)
        raise Refusal(
            400,
            f"y must be finite and not pass {LARGEST_INPUT:g} in magnitude, got {short_repr(raw)}.",
            row=place,
        )
    if kind == "yes-no" and (type(raw) is bool or (type(raw) in (int, float) and raw in (0, 1))):
        return bool(raw)
    if kind == "classes" and type(raw) in (str, int, bool):
        return raw
    raise Refusal(400, f"y must be {WORDS[kind]}, got {short_repr(raw)}.", row=place)


def targets(kind: str, raw: Sequence[Any]) -> list[Any] | None:
    """Answers as the model takes them, where all are plainly right numbers; else None."""
    if (
        kind != "number"
        or not NUMBERS.issuperset(map(type, raw))
        or not -LARGEST_INPUT <= min(raw) <= max(raw) <= LARGEST_INPUT
    ):
        return None
    return list(map(float, raw))


NUMBERS = frozenset({int, float})
WORDS = {
    "number": "a number",
    "yes-no": "true or false",
    "classes": "a text, a whole number, true or false",
}
"""What is told to a model, by what it predicts."""


def error(ticket: Ticket, y: Any) -> float | None:
    """How far off a prediction was: the distance of numbers, 1 for a wrong class.

    None where there was none.
    """
    if ticket.prediction is None:
        return None
    if ticket.probabilities is None and type(y) is float:
        # a number, of answers that may be labels
        return abs(ticket.prediction - y)  # type: ignore[no-any-return]
    return float(ticket.prediction != y)


def errors(tickets: Sequence[Ticket], ys: Sequence[Any]) -> list[float | None]:
    """The same of each."""
    said = [ticket[1] for ticket in tickets]
    if tickets[0][4] is None and set(map(type, said)) == {float} == set(map(type, ys)):
        return list(map(abs, map(operator.sub, said, ys)))
    return list(map(error, tickets, ys))


def rows_by_name(late: LateModel) -> ValueTypes:
    """What the columns of the rows of a model hold."""
    deferred = late.deferred
    assert isinstance(deferred, DictDeferredRows)  # all models of a server take rows by name
    return deferred.value_types


def kept_row(late: LateModel, id: str) -> Any:
    """The row of a pending ticket, as it is kept."""
    return late.pending.row(id)


def step_size(late: LateModel) -> float | None:
    """How fast it learns now: the effective step size, of several heads their mean.

    None before anything was learned.
    """
    try:
        steps = late.model.effective_step_size_
    except AttributeError:
        return None
    return float(np.mean(steps))


def warm(kinds: set[str]) -> None:
    """Compile, or load, what models of these kinds are made of, so that no client has to wait
    for it.
    """
    for kind in sorted(kinds):
        late, y = make(kind), {"number": 1.0, "yes-no": True, "classes": "a"}[kind]
        for count in (1, 2):
            tickets = late.ask_many([{"x": float(k)} for k in range(count)])
            late.tell_many(tickets, [y] * count)
