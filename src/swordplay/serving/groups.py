"""Events of one group, done together where that leads to the same as one after the other, bit by
bit.

Rows that are asked one after the other are predicted by one call, and answers learned by one: a
call costs several times what a row does. Only what is plainly new goes together; whatever is a
repetition, a contradiction or of another kind is done alone, in its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

from swordplay.serving import replies
from swordplay.serving.log import Event
from swordplay.serving.models import Models
from swordplay.serving.plain import SMALL
from swordplay.serving.refusals import Refusal
from swordplay.serving.requests import Change, Wanted
from swordplay.serving.series import Plan, Series
from swordplay.serving.sizes import adds_columns

Answer = bytes | Refusal
"""What an event is answered."""


class _Member(NamedTuple):
    place: int
    wanted: Wanted
    plan: Plan


@final
class Together:
    """What is done by one call: events of one action and one series, all of them new."""

    def __init__(self, action: str, series: Series) -> None:
        self.action, self.series = action, series
        self.members: list[_Member] = []
        self._ids: set[str] = set()

    def takes(self, place: int, number: int, wanted: Wanted, most: int) -> bool:
        """Take an event in, if all of it is new."""
        part = wanted.parts[0]
        try:
            plan = (
                self.series.check_ask(part, number, most - len(self._ids))
                if self.action == "ask"
                else self._told(part)
            )
        except Refusal:
            return False
        if plan is None or len(plan.ids) < len(plan.replies) or not self._ids.isdisjoint(plan.ids):
            return False
        self._ids.update(plan.ids)
        self.members.append(_Member(place, wanted, plan))
        return True

    def _told(self, part: Any) -> Plan | None:
        # A point of the watch holds the step size at its end: whoever ends one is the last.
        return None if len(self._ids) >= self.series.watch.left else self.series.check_tell(part)

    def perform(self, answers: list[Answer | None]) -> bool:
        """Do all of it and put the answers in their places.

        False if a row is refused, and then nothing is done.
        """
        plans = [member.plan for member in self.members]
        ids, values = (
            [one for plan in plans for one in plan.ids],
            [one for plan in plans for one in plan.values],
        )
        plan = Plan([None] * len(ids), ids, values)
        if self.action == "tell":
            said = self.series.tell(plan)
        else:
            try:
                said = self.series.ask(plan)
            except (TypeError, ValueError):
                return False
        first = 0
        for place, wanted, own in self.members:
            last = first + len(own.ids)
            answers[place] = replies.listed(said[first:last], wanted.many)
            first = last
        return True


def perform(
    models: Models,
    first: int,
    group: Sequence[tuple[Event, Change]],
    alone: Callable[[int], Answer],
) -> list[Answer | None]:
    """The answers of a group of events.

    Parameters
    ----------
    models
        Of the server.
    first
        Number of the first event.
    group
        Events, as they were sent and read.
    alone
        Does the event at a place of the group alone.
    """
    answers: list[Answer | None] = [None] * len(group)
    open_: Together | None = None

    def close() -> None:
        nonlocal open_
        if open_ is not None and (len(open_.members) == 1 or not open_.perform(answers)):
            for member in open_.members:
                answers[member.place] = alone(member.place)
        elif open_ is not None:
            models.forget()
        open_ = None

    for place, (event, wanted) in enumerate(group):
        series = _series(models, event, wanted)
        if series is None:
            close()
            answers[place] = alone(place)
            continue
        assert isinstance(wanted, Wanted)
        if open_ is not None and (open_.action, open_.series) != (event.action, series):
            close()
        open_ = open_ or Together(event.action, series)
        if not open_.takes(place, first + place, wanted, models.bounds.pending):
            close()
            open_ = Together(event.action, series)
            if not open_.takes(place, first + place, wanted, models.bounds.pending):
                open_ = None
                answers[place] = alone(place)
    close()
    return answers


def _series(models: Models, event: Event, wanted: Change) -> Series | None:
    """The series of an event that may go together with others; None for any other."""
    if (
        event.action not in ("ask", "tell")
        or not isinstance(wanted, Wanted)
        or len(wanted.parts) != 1
    ):
        return None
    if wanted.rows > SMALL:  # a call to itself costs no more
        return None
    series = models.series.get((event.model, wanted.parts[0].key))
    # Whether an event fits within the limits on columns is known only when those before it are
    # done.
    return (
        None if series is None or adds_columns(series, wanted.parts[0], models.bounds) else series
    )
