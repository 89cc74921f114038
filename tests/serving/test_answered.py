"""Tickets that were answered, for as long as they are remembered."""

import json

import numpy as np
import pytest

from swordplay.core.checkpoint import CheckpointError
from swordplay.late import Ticket
from swordplay.serving.answered import Memory, Told, ToldTable
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
    assert (list(memory.names(0)), list(memory.names(1)), len(memory)) == (["a"], ["c"], 2)
    memory.forget(0)
    assert (list(memory.names(0)), list(memory.names(1)), len(memory), list(memory.items())) == (
        [],
        [],
        0,
        [],
    )
    memory.put(1, ["a"], [told("a", 3.0)])  # forgotten, and so it may come again
    assert memory.get(1, "a").y == 3.0
    assert memory.get(1, "b") is None


def test_a_table_is_remembered_and_forgotten_as_its_tickets():
    given, ys = (
        np.array([[1.0, -np.inf, np.inf], [2.0, 1.5, 2.5], [3.0, 2.0, 3.5]]),
        np.array([1.0, 4.0, 2.5]),
    )
    errors = np.abs(given[:, 0] - ys)
    for rows in (["x", "", "y"], np.array([3, 2**64 - 1, 0], dtype=np.uint64)):
        for most in range(6):
            one, other = Memory(), Memory()
            for memory in (one, other):
                memory.put(1, ["first"], [told("first")])
            tickets = [Ticket(name, *row) for name, row in zip("abc", given.tolist(), strict=True)]
            known = [row if isinstance(row, str) else int(row) for row in rows]
            one.put(1, list("abc"), map(Told, known, tickets, ys.tolist(), errors.tolist()))
            other.put_table(1, ToldTable(list("abc"), rows, given, ys, errors))
            for memory in (one, other):
                memory.put(0, ["last"], [told("last")])
                memory.forget(most)
                memory.forget(most)
            assert repr(list(other.items())) == repr(list(one.items()))
            assert list(other.names(1)) == list(one.names(1))
            assert len(other) == len(one) == min(most, 5)
            assert [repr(other.get(1, name)) for name in "abc"] == [
                repr(one.get(1, name)) for name in "abc"
            ]


def test_a_batch_that_comes_again_is_not_searched_for_every_ticket():
    """Or ten thousand answers that are told again would take a hundred million looks, while all
    clients wait.
    """

    class Ids(list):
        def index(self, *_):
            raise AssertionError

        def __iter__(self):
            self.looks = getattr(self, "looks", 0) + 1
            return super().__iter__()

    ids, many = Ids(f"{k}" for k in range(1000)), np.arange(1000.0)
    table = ToldTable(ids, ids[:], np.column_stack([many, many - 1.0, many + 1.0]), many, many)
    assert [table[f"{k}"].y for k in reversed(range(1000))] == many[::-1].tolist()
    assert ids.looks == 1


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
        models.perform(number, event, read(event, UNLIMITED))
    state = models.state()
    Models.of_state(state)
    rows = change(json.loads(bytes(state["memory"])))
    state["memory"] = np.frombuffer(json.dumps(rows).encode(), dtype=np.uint8)
    with pytest.raises(CheckpointError, match=words):
        Models.of_state(state)


def test_what_is_remembered_of_a_part_of_a_batch_keeps_nothing_else_in_memory():
    models = Models(Bounds())
    asked = [{"id": f"{k}", "x": {"u": k / 7.0}} for k in range(400)]
    answers = [{"id": f"{k}", "y": k / 5.0} for k in range(400)]
    for number, (action, some) in enumerate(
        [("ask", asked[:2]), ("tell", answers[:2]), ("ask", asked[2:]), ("tell", answers[2:100])],
        start=1,
    ):
        event = Event(action, "default", "number", json.dumps(some).encode())
        models.perform(number, event, read(event, UNLIMITED))
    (table,) = {
        id(one): one for one in models.memory._told[0].values() if isinstance(one, ToldTable)
    }.values()
    assert [len(table.ids), *map(len, (table.rows, table.given, table.ys, table.errors))] == [
        98
    ] * 5
    assert [array.base for array in (table.rows, table.given)] == [
        None,
        None,
    ]  # parts of no larger ones
