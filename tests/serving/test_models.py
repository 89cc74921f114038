"""The models of a server without the wire: sums that are watched, tokens, limits, and what refusals leave behind (nothing)."""

import json
import math

import numpy as np
import pytest

from swordplay.base import checkpoint
from swordplay.late import Ticket
from swordplay.serving import learning, live, replies
from swordplay.serving.limits import Bounds, Limits
from swordplay.serving.log import Event
from swordplay.serving.metrics import BUCKETS, Durations
from swordplay.serving.models import Models, failed
from swordplay.serving.refusals import Refusal
from swordplay.serving.requests import read
from swordplay.serving.series import Told, fingerprint
from swordplay.serving.tokens import Gate, is_local
from swordplay.serving.watch import LAST, MOST_POINTS, NOW, Point, Watch

LIMITS = Limits()


class Events:
    """Events in their order, for models of their own."""

    def __init__(self, **bounds):
        self.models, self.number = Models(Bounds(**bounds)), 0

    def __call__(self, action, value, model="m", target="number"):
        self.number += 1
        event = Event(action, model, target, json.dumps(value).encode())
        return json.loads(self.models.perform(self.number, event, read(event, LIMITS)))


def snapshot(models):
    """All of it, bit by bit."""
    return checkpoint.dumps(models.state(), kind="serve")


def test_a_request_of_several_series_is_accepted_whole_or_not_at_all():
    do = Events()
    do("ask", [{"x": {"a": 1.0}, "id": "1"}, {"x": {"a": 1.0}, "id": "2", "key": "k"}])
    with pytest.raises(Refusal, match="no ticket 'nobody' waits"):
        do("tell", [{"id": "1", "y": 1}, {"id": "nobody", "y": 1, "key": "k"}])
    with pytest.raises(Refusal, match="must be finite"):
        do("ask", [{"x": {"a": 2.0}, "id": "3"}, {"x": {"a": 1e300}, "id": "4", "key": "k"}])
    with pytest.raises(Refusal, match="must be finite"):
        do("ask", [{"x": {"a": 2.0}, "id": "3"}, {"x": {"a": 1e300}, "id": "4", "key": "new"}])
    assert [list(series.late.pending) for series in do.models.series.values()] == [["1"], ["2"]]
    assert [series.watch.asks for series in do.models.series.values()] == [1, 1]
    assert list(do.models.series) == [("m", ""), ("m", "k")]


def test_limits_on_models_series_and_tickets():
    do = Events(models=1, series=2, pending=3)
    do("ask", {"x": {}})
    do("ask", {"x": {}, "key": "k"})
    before = snapshot(do.models)
    for value, model, words in (
        ({"x": {}, "key": "l"}, "m", "at most 2 series"),
        ({"x": {}}, "n", "at most 1 models"),
        ([{"x": {}}] * 3, "m", "1 tickets wait, and 3 may"),
    ):
        with pytest.raises(Refusal, match=words) as refusal:
            do("ask", value, model)
        assert refusal.value.status == 429
    with pytest.raises(Refusal) as refusal:
        do("declare", {"target": "classes"}, "n")
    assert refusal.value.status == 429
    assert snapshot(do.models) == before


@pytest.mark.parametrize(
    ("target", "answers"), [("number", [1, 2.5, -3.0]), ("yes-no", [True, 0, 1.0]), ("classes", ["a", 2, True])]
)
def test_a_state_goes_on_where_it_was(target, answers):
    do = Events()
    for k, y in enumerate(answers * 3):
        do("ask", [{"x": {"a": k, "w": "xyz"[k % 3]}, "id": f"{k}"}, {"x": {}, "key": "other"}], target=target)
        do("tell", {"id": f"{k}", "y": y})
    do("ask", {"x": {"a": 1}, "id": "gone"})
    do("drop", {"id": "gone"})
    again = Events()
    again.models, again.number = Models.of_state(do.models.state()), do.number
    assert snapshot(again.models) == snapshot(do.models)
    for value in ({"x": {"a": 0, "w": "x"}, "id": "0"}, {"x": {"a": 5}, "id": "new"}):
        assert again("ask", value) == do("ask", value)
    assert again("tell", {"id": "1", "y": answers[1]}) == do("tell", {"id": "1", "y": answers[1]})
    assert again("drop", {"id": "gone"}) == do("drop", {"id": "gone"})
    assert snapshot(again.models) == snapshot(do.models)


@pytest.mark.parametrize(
    ("kind", "raw", "wanted"),
    [("number", 3, 3.0), ("yes-no", 1, True), ("yes-no", 0.0, False), ("classes", "a", "a"), ("classes", 3, 3)],
)
def test_answers_as_models_take_them(kind, raw, wanted):
    found = learning.target(kind, raw, 0)
    assert (type(found), found) == (type(wanted), wanted)


@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        ("number", True),
        ("number", "3"),
        ("number", 1e61),
        ("number", 10**400),
        ("yes-no", 2),
        ("yes-no", "a"),
        ("classes", 1.5),
    ],
)
def test_answers_of_another_kind_are_refused(kind, raw):
    with pytest.raises(Refusal, match="y must be") as refusal:
        learning.target(kind, raw, 7)
    assert refusal.value.where == {"row": 7}


def test_errors_by_hand():
    assert learning.error(Ticket("i", 2.0), 5.0) == 3.0
    assert learning.error(Ticket("i", None), 5.0) == 5.0  # nothing was predicted
    assert learning.error(Ticket("i", "a", probabilities={"a": 1.0}), "a") == 0.0
    assert learning.error(Ticket("i", None), "a") == 1.0


def test_replies_by_hand():
    assert replies.ticket(Ticket('"', 1.5, -math.inf, 2.0)) == '{"id":"\\"","prediction":1.5,"lower":null,"upper":2.0}'
    assert replies.ticket(Ticket("i", True, probabilities={True: 0.75, 3: 0.25})) == (
        '{"id":"i","prediction":true,"probabilities":{"true":0.75,"3":0.25}}'
    )
    assert replies.told(Ticket("i", None), "ü", 1.0) == '{"id":"i","prediction":null,"y":"\\u00fc","error":1.0}'
    told = Told("row", Ticket("i", 3, None, None, {3: 0.5, "a": 0.5}), "a", 1.0)
    assert Told.of_saved("i", *json.loads(json.dumps(told.saved()))) == told


def test_rows_are_recognised_as_they_were_written():
    assert fingerprint({"a": 1.0, "b": "x"}) == fingerprint(json.loads('{"a": 1.0, "b": "x"}'))
    several = [{"a": 1.0}, {"a": 1.5}, {"b": 1.0}, {"a": "1.0"}, {"a": None}, {"a": True}, {}]
    assert len(set(map(fingerprint, several))) == len(several)


def test_the_watch_by_hand():
    watch = Watch()
    for k in range(3):
        watch.told([Ticket(f"{k}", 1.0, 0.0, 2.0 if k else 1.5)], [2.0], [1.0 + k], lambda: 0.5)
    assert watch.points == [Point(1, 1.0, 0.0, 0.5), Point(2, 2.0, 1.0, 0.5), Point(3, 3.0, 1.0, 0.5)]
    assert watch.now() == watch.ever() == {"rows": 3, "error": 2.0, "coverage": 2 / 3}
    assert watch.last()[0] == {"id": "2", "prediction": 1.0, "lower": 0.0, "upper": 2.0, "y": 2.0, "error": 3.0}
    watch.told([Ticket("far", 1.0, -math.inf, math.inf)], [2.0], [0.0], lambda: 0.5)
    assert watch.ever()["coverage"] == 3 / 4
    assert watch.last()[0]["lower"] is None


def test_the_watch_does_not_grow():
    watch, together = Watch(), Watch()
    for k in range(3000):
        watch.told([Ticket(f"{k}", 1.0)], [2.0], [float(k)], lambda: None)
    for k in range(0, 3000, 1000):
        some = range(k, k + 1000)
        together.told([Ticket(f"{k}", 1.0) for k in some], [2.0] * 1000, list(map(float, some)), lambda: None)
    assert together.dumps() == watch.dumps()
    assert MOST_POINTS / 2 <= len(watch.points) < MOST_POINTS
    assert watch.stretch == 16  # 3000 rows in fewer than 200 points
    assert watch.points[0] == Point(16, np.mean(np.arange(16)), None, None)
    assert [point.rows for point in watch.points] == [16 * (k + 1) for k in range(len(watch.points))]
    assert (watch.now()["rows"], watch.now()["error"]) == (NOW, np.mean(np.arange(3000 - NOW, 3000)))
    assert len(watch.last()) == LAST
    again = Watch.loads(watch.dumps())
    assert again.dumps() == watch.dumps()


def with_counts(place, value):
    def change(watch):
        watch[0][place] = value

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (with_counts(0, "x"), "the counts of a series"),
        (with_counts(1, -1), "the counts of a series"),
        (with_counts(4, 99), "the counts of a series"),
        (with_counts(3, math.nan), "the sum of errors"),
        (with_counts(6, 0), "the length of a stretch"),
        (lambda watch: watch[1].append([1, -1.0, None, None]), "a point"),
        (lambda watch: watch[1].append([1, 1.0, 2.0, None]), "a point"),
        (lambda watch: watch[1].extend(watch[1][:1] * MOST_POINTS), "the number of points"),
        (lambda watch: watch[2].__setitem__(0, "x"), "the last stretch"),
        (lambda watch: watch[3].append([1.0, 2]), "an error"),
        (lambda watch: watch[4].append(["id", [], None, None, 1.0, 1.0]), "one of the last rows"),
    ],
)
def test_sums_that_no_rows_lead_to(change, words):
    watch = Watch()
    for k in range(3):
        watch.told([Ticket(f"{k}", 1.0, 0.0, 2.0)], [1.5], [0.5], lambda: 0.5)
    saved = json.loads(watch.dumps())
    change(saved)
    with pytest.raises(ValueError, match=words):
        Watch.loads(json.dumps(saved))


def test_checkpoints_that_no_events_lead_to():
    do = Events()
    do("ask", {"x": {"a": 1.0}, "id": "i"})
    do("tell", {"id": "i", "y": 4.0})
    do("ask", {"x": {"a": 1.0}, "id": "j"})
    state = do.models.state()

    def refused(name, change, words):
        value = json.loads(bytes(state[name]))
        forged = state | {name: np.frombuffer(json.dumps(change(value)).encode(), dtype=np.uint8)}
        with pytest.raises(checkpoint.CheckpointError, match=words):
            Models.of_state(forged)

    refused("about", lambda about: about | {"bounds": [1, 2, 3, -1]}, "a limit")
    refused("about", lambda about: about | {"kinds": {"m": "classes"}}, "what a series predicts")
    refused("about", lambda about: about | {"kinds": {"m": "colour"}}, "the kind of a model")
    refused("about", lambda about: about | {"kinds": {"m": "number", "../m": "number"}}, "the name of a model")
    refused("rows.0", lambda rows: {"j": 3}, "what rows are recognised by")
    refused("rows.0", lambda rows: [["j", "x"]], "what rows are recognised by")
    for place, value in ((2, 3), (3, []), (4, "low"), (6, [["a", 2.0]]), (7, {}), (8, -1.0)):
        refused(
            "memory", lambda memory, p=place, v=value: [[*memory[0][:p], v, *memory[0][p + 1 :]]], "ticket that was answered"
        )
    refused("memory", lambda memory: [["0", *memory[0][1:]]], "the series of an answered")
    assert snapshot(Models.of_state(state)) == snapshot(do.models)


def test_durations_by_hand():
    durations = Durations()
    for seconds in (0.0005, 0.001, 0.3, 99.0):
        durations.add(seconds)
    lines = list(durations.lines("d", "about"))
    assert lines[2:4] == ['d_bucket{le="0.001"} 2', 'd_bucket{le="0.0025"} 2']
    assert lines[-3:] == ['d_bucket{le="+Inf"} 4', "d_sum 99.3015", "d_count 4"]
    assert len(lines) == 2 + len(BUCKETS) + 1 + 2


def test_the_gate():
    gate = Gate("secret-token", {"localhost", "::1"})
    gate.require_token(b"Bearer secret-token", b"", b"localhost:80")
    gate.require_token(b"bearer  secret-token", b"http://localhost:80", b"localhost:80")
    for given in (b"", b"Bearer", b"Bearer secret-toke", b"Bearer secret-token2", b"secret-token"):
        with pytest.raises(Refusal) as refusal:
            gate.require_token(given, b"", b"")
        assert refusal.value.status == 401
    for host in (b"localhost", b"LOCALHOST:1", b"[::1]:80", b"[::1]"):
        gate.require_host(host)
    for host in (b"evil", b"localhost.evil:80", b"[::2]"):
        with pytest.raises(Refusal) as refusal:
            gate.require_host(host)
        assert refusal.value.status == 421
    assert [is_local(host) for host in ("127.0.0.9", "::1", "localhost", "0.0.0.0", "::", "10.0.0.1", "here")] == [True] * 3 + [
        False
    ] * 4


def test_tokens_are_compared_in_constant_time(monkeypatch):
    """Whatever is sent, two digests of the same length are compared by the function that is made for it."""
    from swordplay.serving import tokens

    lengths = []

    def spied(one, other):
        lengths.append((len(one), len(other)))
        return False

    monkeypatch.setattr(tokens.hmac, "compare_digest", spied)
    for given in (b"", b"Bearer x", b"Bearer " + b"x" * 1000):
        with pytest.raises(Refusal):
            Gate("secret-token", None).require_token(given, b"", b"")
    assert lengths == [(32, 32)] * 3


def test_failures_are_logged_without_data(caplog):
    try:
        raise KeyError("somebody's data")
    except KeyError as error:
        refusal = failed(error)
    assert refusal.status == 500
    assert "somebody's data" not in caplog.text + refusal.message
    assert "KeyError in " in caplog.text


def test_the_picture_of_a_series():
    do = Events()
    do("ask", {"x": {"a": 1.0}, "id": "i"})
    do("tell", {"id": "i", "y": 4.0})
    told = live.told(do.models.series["m", ""])
    assert (told["asks"], told["tells"], told["pending"], told["recent"]["error"]) == (1, 1, 0, 4.0)
    assert told["step_size"] == pytest.approx(do.models.series["m", ""].late.model.effective_step_size_)
