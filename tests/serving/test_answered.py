"""Tickets that were answered, for as long as they are remembered."""

import json

import numpy as np
import pytest

from swordplay.base.checkpoint import CheckpointError
from swordplay.late import Ticket
from swordplay.serving.answered import Memory, Told
from swordplay.serving.limits import UNLIMITED, Bounds
from swordplay.serving.log import Event
from swordplay.serving.models import Models
from swordplay.serving.requests import read


def told(name, y=1.0):
    return Told("", Ticket(name, 0.5, 0.0, 1.0), y, 0.5)


def test_the_oldest_of_all_series_are_forgotten_first():
    memory = Memory()
    memory.put(1, ["a", "b"], [told("a"), told("b")])
    memory.put(0, ["a"], [told("a", 2.0)])  # an id means one ticket in each series
    memory.put(1, ["c"], [told("c")])
    assert [(place, name, one.y) for place, name, one in memory.items()] == [
        (1, "a", 1.0),
        (1, "b", 1.0),
        (0, "a", 2.0),
        (1, "c", 1.0),
    ]
    memory.forget(4)
    assert len(memory) == 4
    memory.forget(2)
    assert [(place, name) for place, name, _ in memory.items()] == [(0, "a"), (1, "c")]
    assert (list(memory.of(0)), list(memory.of(1)), len(memory)) == (["a"], ["c"], 2)
    memory.forget(0)
    assert (list(memory.of(0)), list(memory.of(1)), len(memory), list(memory.items())) == ([], [], 0, [])
    memory.put(1, ["a"], [told("a", 3.0)])  # forgotten, and so it may come again
    assert memory.of(1)["a"].y == 3.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: [*rows, rows[0]], "an answered ticket"),
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
        models.perform(number, event, read(event, UNLIMITED))
    state = models.state()
    Models.of_state(state)
    rows = change(json.loads(bytes(state["memory"])))
    state["memory"] = np.frombuffer(json.dumps(rows).encode(), dtype=np.uint8)
    with pytest.raises(CheckpointError, match=words):
        Models.of_state(state)
