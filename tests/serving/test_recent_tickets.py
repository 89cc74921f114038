"""Tickets that were answered, by which repeated requests are recognised."""

import json

import numpy as np
import pytest

from swordplay.core.checkpoint import CheckpointError
from swordplay.serving.limits import UNLIMITED, Bounds
from swordplay.serving.log_format import Event
from swordplay.serving.models import Models
from swordplay.serving.recent_tickets import RecentTicket, RecentTickets
from swordplay.serving.requests import parse


def ticket(name, y=1.0):
    return RecentTicket(name, 0.5, 0.0, 1.0, None, y, 0.5, "")


def add(recent, series, *tickets):
    recent.add(series, [one.id for one in tickets], tickets)


def test_the_oldest_of_all_series_are_removed_first():
    recent = RecentTickets()
    add(recent, 1, ticket("a"), ticket("b"))
    add(recent, 0, ticket("a", 2.0))  # an id means one ticket in each series
    add(recent, 1, ticket("c"))
    assert [(series, one.id, one.y) for series, one in recent.items()] == [
        (1, "a", 1.0),
        (1, "b", 1.0),
        (0, "a", 2.0),
        (1, "c", 1.0),
    ]
    recent.remove_oldest(4)
    assert len(recent) == 4
    recent.remove_oldest(3)  # a part of an entry
    assert [(series, one.id) for series, one in recent.items()] == [(1, "b"), (0, "a"), (1, "c")]
    recent.remove_oldest(2)
    assert [(series, one.id) for series, one in recent.items()] == [(0, "a"), (1, "c")]
    assert (list(recent.ids(0)), list(recent.ids(1)), len(recent)) == (["a"], ["c"], 2)
    recent.remove_oldest(0)
    assert (list(recent.ids(0)), list(recent.ids(1)), len(recent)) == ([], [], 0)
    assert not list(recent.items())
    add(recent, 1, ticket("a", 3.0))  # it was removed, so it may come again
    assert recent.get(1, "a").y == 3.0
    assert recent.get(1, "b") is None


@pytest.mark.parametrize("limit", range(6))
def test_tickets_are_removed_one_after_the_other_whatever_came_together(limit):
    one, many = RecentTickets(), RecentTickets()
    tickets = [ticket(name) for name in "abcde"]
    for single in tickets:
        add(one, 1, single)
    add(many, 1, *tickets[:1])
    add(many, 1, *tickets[1:4])
    add(many, 1, *tickets[4:])
    for step in range(5, limit - 1, -1):
        for recent in (one, many):
            recent.remove_oldest(step)
        assert (
            list(many.items()) == list(one.items()) == [(1, each) for each in tickets[5 - step :]]
        )
        assert RecentTickets.loads(many.dumps()).dumps() == one.dumps()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: [*rows, rows[0]], "an answered ticket occurs twice"),
        (lambda rows: [[True, *rows[0][1:]], *rows[1:]], "the series of an answered ticket"),
        (lambda rows: [["0", *rows[0][1:]], *rows[1:]], "the series of an answered ticket"),
    ],
)
def test_what_no_server_remembers_is_refused(change, words):
    models = Models(Bounds())
    asked = [{"id": "a", "x": {"u": 1.0}}, {"id": "b", "x": {"u": 2.0}}]
    answers = [{"id": "a", "y": 1}, {"id": "b", "y": 2}]
    for number, (action, some) in enumerate([("ask", asked), ("tell", answers)], start=1):
        event = Event(action, "default", "number", json.dumps(some).encode())
        models.apply(number, event, parse(event, UNLIMITED))
    state = models.state()
    Models.from_state(state)
    rows = change(json.loads(bytes(state["recent"])))
    state["recent"] = np.frombuffer(json.dumps(rows).encode(), dtype=np.uint8)
    with pytest.raises(CheckpointError, match=words):
        Models.from_state(state)
