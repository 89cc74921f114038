"""kill -9 under load: no acknowledged event is lost or doubled, the models are those of the events
in their order, bit by bit.

Every client has a model of its own, or a series of the same one, and sends one request at a time,
so it knows the order of its events, whatever was killed in between. A request without an answer is
sent again, as it was.
"""

import http.client
import json
import math
import random
import threading
import time

import pytest

from swordplay.core import checkpoint
from swordplay.late import LateModel

CLIENTS, MANY = 4, 12
"""With models of their own, and with series of one: these are done in groups."""
KINDS = ("number", "yes-no", "classes", "number")


class Worker(threading.Thread):
    """Asks, tells, drops and repeats for a model of its own, through all kills, and keeps what
    was acknowledged.
    """

    def __init__(self, place, address, stop, short):
        super().__init__()
        self.name, self.kind, self.address, self.stop = (
            f"model{place}",
            KINDS[0 if short else place],
            address,
            stop,
        )
        self.short, self.client = (
            short,
            None,
        )  # whether all share the short addresses, over connections that stay open
        self.random = random.Random(place)
        self.acknowledged, self.pending, self.count, self.retries = [], [], 0, 0
        self.failure = None

    def run(self):
        try:
            if not self.short:
                self._send("PUT", "", {"target": self.kind})
            while not self.stop.is_set():
                self._work()
        except BaseException as error:
            self.failure = error
        finally:
            self._leave()

    @property
    def series(self):
        return ["default", self.name] if self.short else [self.name, ""]

    def _work(self):
        choice = self.random.random()
        if choice < 0.5 or not self.pending:
            rows = [self._row() for _ in range(1 if choice < 0.4 else 7)]
            self._do("ask", rows if len(rows) > 1 else rows[0])
            self.pending += [row["id"] for row in rows]
        elif choice < 0.9:
            count = min(len(self.pending), 1 if choice < 0.75 else 5)
            told = [
                self.pending.pop(self.random.randrange(len(self.pending))) for _ in range(count)
            ]
            self._do("tell", [{"id": name, "y": self._truth()} for name in told])
        elif choice < 0.95:
            self._do("drop", {"id": self.pending.pop(0)})
        else:  # an answer that came, asked for again: the same, and nothing more happens
            action, body, answer = self.random.choice(self.acknowledged[-50:])
            if action == "ask":
                assert self._send("POST", "/ask", body) == answer

    def _row(self):
        self.count += 1
        row = {
            "a": self.random.gauss(0.0, 1.0),
            "b": self.random.choice(["x", "y", None]),
            "c": self.random.randrange(3),
        }
        return {"id": f"{self.count}", "x": row}

    def _truth(self):
        return {"number": self.random.gauss(1.0, 2.0), "yes-no": self.random.random() < 0.3}.get(
            self.kind, self.random.choice(["red", "green", "blue"])
        )

    def _do(self, action, body):
        self.acknowledged.append((action, body, self._send("POST", f"/{action}", body)))

    def _send(self, method, path, body):
        """The answer, however often the server dies on the way."""
        from servers import Client

        if self.short:
            body = (
                [{**one, "key": self.name} for one in body]
                if isinstance(body, list)
                else {**body, "key": self.name}
            )
        data = json.dumps(body).encode()
        while True:
            try:
                self.client = self.client or Client(self.address[0])
                try:
                    status, _, answer = self.client.send(
                        method, path if self.short else f"/models/{self.name}{path}", data
                    )
                except BaseException:
                    self._leave()
                    raise
                if not self.short or status == 503:
                    self._leave()
                if status == 503:  # it is stopping
                    continue
                assert status == 200, answer
                return json.loads(answer)
            except (OSError, http.client.HTTPException):
                self.retries += 1
                assert not self.stop.wait(0.01) or self.address[0]

    def _leave(self):
        if self.client is not None:
            self.client.close()
            self.client = None


def replayed(worker):
    """The model after the acknowledged events, one by one, by nothing but the library.

    And the answers that it gives.
    """
    late = LateModel(
        "regression" if worker.kind == "number" else "classification", max_pending=2**31
    )
    for action, body, answer in worker.acknowledged:
        items, answers = (body, answer) if isinstance(body, list) else ([body], [answer])
        if action == "ask":
            for ticket, got in zip(
                late.ask_many([one["x"] for one in items], [one["id"] for one in items]),
                answers,
                strict=True,
            ):
                assert got["prediction"] == ticket.prediction
                ends = [
                    None if end is None or math.isinf(end) else end
                    for end in (ticket.lower, ticket.upper)
                ]
                assert worker.kind != "number" or [got["lower"], got["upper"]] == ends
        elif action == "tell":
            late.tell_many([one["id"] for one in items], [one["y"] for one in items])
        else:
            late.drop(items[0]["id"])
    return late


def campaign(launcher, folder, kills, seconds, seed, short):
    """Kills under load; the workers, and the state that the server leaves behind."""
    rng = random.Random(seed)
    address, stop = [0], threading.Event()
    options = ["--state", folder, "--checkpoint-every", 25, "--quiet"]
    server = launcher.start(*options)
    address[0] = server.port
    workers = [Worker(place, address, stop, short) for place in range(MANY if short else CLIENTS)]
    for worker in workers:
        worker.start()
    for k in range(kills):
        time.sleep(rng.uniform(0.0, seconds))
        server.kill() if k % 5 != 4 else server.stop()  # an ordinary end now and then
        server = launcher.start(*options)
        address[0] = server.port
    time.sleep(seconds)
    stop.set()
    for worker in workers:
        worker.join()
    assert [worker.failure for worker in workers if worker.failure] == []
    server.stop()
    newest = max(folder.glob("models-*.state"))
    return workers, checkpoint.load(newest, kind="serve")


def check(workers, state):
    about = json.loads(bytes(state["about"]))
    for worker in workers:
        place = about["series"].index(worker.series)
        late = replayed(worker)
        wanted = late.state()
        found = {
            name.removeprefix(f"late.{place}."): value
            for name, value in state.items()
            if name.startswith(f"late.{place}.")
        }
        assert checkpoint.dumps(found, kind="late") == checkpoint.dumps(wanted, kind="late")
        told = [one for action, body, _ in worker.acknowledged if action == "tell" for one in body]
        assert late.score.told == len({one["id"] for one in told}) == len(told)


@pytest.mark.parametrize("short", [False, True])
def test_ten_kills_under_load(launcher, tmp_path, short):
    workers, state = campaign(
        launcher, tmp_path / "state", kills=12, seconds=0.35, seed=0, short=short
    )
    check(workers, state)
    assert sum(worker.retries for worker in workers) > 0
    assert min(len(worker.acknowledged) for worker in workers) > 5


@pytest.mark.deep
@pytest.mark.parametrize("short", [False, True])
def test_two_hundred_kills_under_load(launcher, tmp_path, short):
    workers, state = campaign(
        launcher, tmp_path / "state", kills=250, seconds=0.6, seed=1, short=short
    )
    check(workers, state)
