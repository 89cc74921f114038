"""What is written together, and when."""

import asyncio
import socket
import sys

import pytest

from swordplay.serving import group_commit, server
from swordplay.serving.limits import Limits
from swordplay.serving.log_format import Event
from swordplay.serving.metrics import Metrics
from swordplay.serving.requests import parse
from swordplay.serving.storage import Storage

CLIENTS = 6
"""Fewer than the selector of Python's own loop tells of at once."""


def ask(name, size=0):
    return Event(
        "ask",
        "default",
        "number",
        b'{"id": "%b", "x": {"a": 1.0}}%b' % (name.encode(), b" " * size),
    )


@pytest.fixture
def storage(tmp_path):
    storage = Storage(str(tmp_path / "state"), Limits())
    yield storage
    storage.close()


class Course:
    """What a commits does, in its order: groups that go to the disk, and groups that are done."""

    def __init__(self, monkeypatch):
        self.steps = []
        append, perform = group_commit.GroupCommit._start_write, group_commit.GroupCommit._apply

        def appending(commits, group):
            self.steps.append(("write", len(group)))
            return append(commits, group)

        def performing(commits, group, first):
            self.steps.append(("do", len(group)))
            perform(commits, group, first)

        monkeypatch.setattr(group_commit.GroupCommit, "_start_write", appending)
        monkeypatch.setattr(group_commit.GroupCommit, "_apply", performing)


async def talk(storage, rounds):
    """Clients that send again as soon as they are answered, each over a socket.

    The first comes before the others.
    """
    commits, loop, over = (
        group_commit.GroupCommit(storage, Metrics()),
        asyncio.get_running_loop(),
        asyncio.Event(),
    )
    pairs, left, gone = [socket.socketpair() for _ in range(CLIENTS)], [rounds] * CLIENTS, []

    def come(place):
        pairs[place][1].recv(1)
        if left[place]:
            left[place] -= 1
            event = ask(f"{place}-{left[place]}")
            commits.submit_with_callback(
                event, parse(event, storage.limits), lambda _: pairs[place][0].send(b".")
            )
        else:
            gone.append(place)
            if len(gone) == CLIENTS:
                over.set()

    for place, (_, end) in enumerate(pairs):
        loop.add_reader(end, come, place)
    pairs[0][0].send(b".")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    for near, _ in pairs[1:]:
        near.send(b".")
    await over.wait()
    for near, end in pairs:
        loop.remove_reader(end)
        near.close()
        end.close()


def test_clients_that_were_answered_are_in_time_for_the_next_group(storage, monkeypatch):
    """One came first, and was written alone: after that all of them are one group, and not two
    in turns.
    """
    course = Course(monkeypatch)
    asyncio.run(talk(storage, 5))
    written = [size for step, size in course.steps if step == "write"]
    assert sum(written) == 5 * CLIENTS
    assert written[:2] in ([1, CLIENTS], [CLIENTS, CLIENTS])
    assert written[1:5] == [CLIENTS] * 4
    assert [step for step, _ in course.steps] == ["write", "do"] * len(written)


def test_a_long_group_is_done_while_the_next_one_is_written(storage, monkeypatch):
    course = Course(monkeypatch)

    async def work():
        commits = group_commit.GroupCommit(storage, Metrics())
        events = [ask("a", 2**14), *(ask(f"b{k}") for k in range(3))]
        first = asyncio.create_task(commits.submit(events[0], parse(events[0], storage.limits)))
        while not course.steps:
            await asyncio.sleep(0)
        await asyncio.gather(
            first, *(commits.submit(event, parse(event, storage.limits)) for event in events[1:])
        )

    asyncio.run(work())
    assert course.steps == [("write", 1), ("write", 3), ("do", 1), ("do", 3)]


def test_what_is_long():
    def group(*sizes):
        return [
            group_commit.WaitingRequest(Event("ask", "m", "number", b" " * size), None, None)
            for size in sizes
        ]

    assert not group_commit.is_long(group(16_383))
    assert group_commit.is_long(group(16_384))
    assert group_commit.is_long(group(16_000, 384))


def test_the_loop_is_the_quick_one_where_there_is_one(monkeypatch):
    uvloop = pytest.importorskip("uvloop")
    assert server.loop_factory() is uvloop.new_event_loop
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert server.loop_factory() is None


def test_pythons_own_loop_serves_as_well(launcher, tmp_path):
    server = launcher.start(
        "--state", tmp_path / "state", environment={"SWORDPLAY_TEST_LOOP": "own"}
    )
    client = server.client()
    for k in range(3):
        assert client.post("/ask", {"x": {"a": k}, "id": f"{k}"})[0] == 200
        assert client.post("/tell", {"id": f"{k}", "y": 1.0})[0] == 200
    assert client.post("/ask", [{"x": {"a": k}} for k in range(100)])[0] == 200
    assert client.get("/models/default")[1]["pending"] == 100
    client.close()
    assert "stopped; everything is saved." in server.stop()
