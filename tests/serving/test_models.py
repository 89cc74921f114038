"""The models of a server without the wire: sums that are watched, tokens, limits, and what
refusals leave behind (nothing).
"""

import hashlib
import json
import math
import struct

import numpy as np
import pytest

from swordplay.core import checkpoint
from swordplay.estimators.dict_columns import NumericRows
from swordplay.estimators.forecast import Forecast
from swordplay.late import Ticket
from swordplay.late.tickets import TicketBlock
from swordplay.serving import learning, live, replies
from swordplay.serving.limits import Bounds, Limits
from swordplay.serving.log import Event
from swordplay.serving.metrics import BUCKETS, Durations
from swordplay.serving.models import Models, failed
from swordplay.serving.recognition import fingerprint, fingerprints, is_same
from swordplay.serving.refusals import Refusal
from swordplay.serving.requests import read
from swordplay.serving.series import Told
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
    ("target", "answers"),
    [("number", [1, 2.5, -3.0]), ("yes-no", [True, 0, 1.0]), ("classes", ["a", 2, True])],
)
def test_a_state_goes_on_where_it_was(target, answers):
    do = Events()
    for k, y in enumerate(answers * 3):
        do(
            "ask",
            [{"x": {"a": k, "w": "xyz"[k % 3]}, "id": f"{k}"}, {"x": {}, "key": "other"}],
            target=target,
        )
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
    [
        ("number", 3, 3.0),
        ("yes-no", 1, True),
        ("yes-no", 0.0, False),
        ("classes", "a", "a"),
        ("classes", 3, 3),
    ],
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
    assert learning.error(Ticket("i", None), 5.0) is None  # nothing was predicted
    assert learning.error(Ticket("i", "a", probabilities={"a": 1.0}), "a") == 0.0
    assert learning.error(Ticket("i", None), "a") is None
    several = [Ticket("i", 2.0), Ticket("j", 7.5)]
    assert learning.errors(several, [5.0, 7.0]) == [3.0, 0.5]
    assert learning.errors([*several, Ticket("k", None)], [5.0, 7.0, 1.0]) == [3.0, 0.5, None]
    assert learning.errors([Ticket("i", "a", probabilities={"a": 1.0})], ["b"]) == [1.0]


def test_replies_by_hand():
    def said(reply):
        return replies.listed([reply], many=False).decode()

    one, other = (
        Ticket('"', 1.5, -math.inf, 2.0),
        Ticket("i", True, probabilities={True: 0.75, 3: 0.25}),
    )
    assert said(replies.ticket(one)) == '{"id":"\\"","prediction":1.5,"lower":null,"upper":2.0}'
    assert (
        said(replies.ticket(other))
        == '{"id":"i","prediction":true,"probabilities":{"true":0.75,"3":0.25}}'
    )
    numbers = np.array([[1.5, -math.inf, 2.0], [0.0, 0.0, 1.0]])
    chances = np.array([[0.75, 0.25]])
    for block in (
        TicketBlock(["i"], [{}], [True, 3], chances, Forecast.empty(1), np.empty((1, 2, 0))),
        TicketBlock(['"', "b"], [{}] * 2, None, numbers, Forecast.empty(2), np.empty((2, 2, 0))),
    ):
        assert replies.said(block) == list(map(replies.ticket, block.tickets()))
        assert replies.ticket(block.ticket(0)) == replies.ticket(one if len(block) > 1 else other)
    assert (
        said(replies.Told("i", None, "ü", None))
        == '{"id":"i","prediction":null,"y":"ü","error":null}'
    )
    assert (
        replies.listed([replies.Dropped("i")] * 2, many=True)
        == b'[{"id":"i","dropped":true},{"id":"i","dropped":true}]'
    )
    for told in (
        Told("row", Ticket("i", 3, None, None, {3: 0.5, "a": 0.5}), "a", 1.0),
        Told(2**64 - 1, Ticket("i", 5e-324, -math.inf, math.inf), 1.7e308, None),
        Told("ü", Ticket("i", 0.1, -math.inf, 0.3), 2**70, 0.0),  # beyond 64 bits, as labels may be
    ):
        assert repr(Told.of_saved(*json.loads(replies.saved([("i", *told.saved())]))[0])) == repr(
            told
        )


def test_rows_are_recognised_as_they_were_written():
    assert fingerprint({"a": 1.0, "b": "x"}) == fingerprint(json.loads('{"a": 1.0, "b": "x"}'))
    several = [{"a": 1.0}, {"a": 1.5}, {"b": 1.0}, {"a": "1.0"}, {"a": None}, {"a": True}, {}]
    assert len(set(map(fingerprint, several))) == len(several)
    for row in several:
        assert [is_same(fingerprint(row), other) for other in several] == [
            other is row for other in several
        ]
    table = NumericRows(["a", "b"], np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.5], [0.0, 0.0]]))
    prints = fingerprints(table).tolist()
    assert len(set(prints)) == 4 == sum(0 <= one < 2**64 for one in prints)
    # By hand: the names, then for each column: xor its bits, times the odd number modulo 2^64, and
    # fold.
    print_ = int.from_bytes(hashlib.blake2b(b"a\0b", digest_size=8).digest(), "little")
    for value in (1.0, 2.5):
        print_ = (
            (print_ ^ struct.unpack("<Q", struct.pack("<d", value))[0]) * 0x9E3779B97F4A7C15 % 2**64
        )
        print_ ^= print_ >> 32
    assert prints[2] == print_
    assert is_same(prints[0], {"a": 1, "b": 2.0})  # whole numbers are numbers
    turned = NumericRows(["b", "a"], table.values[:, ::-1])
    assert fingerprints(turned).tolist() == prints
    assert is_same(prints[0], {"b": 2.0, "a": 1.0})
    for other in (
        {"b": 1.0, "a": 2.0},
        {"a": 1.0},
        {"a": True, "b": 2.0},
        {"a": 1.0, "b": "2"},
        {"a": 1.0, "b": 10**400},
        {},
    ):
        assert not is_same(prints[0], other)


def test_the_watch_by_hand():
    watch = Watch()
    for k in range(3):
        watch.told([Ticket(f"{k}", 1.0, 0.0, 2.0 if k else 1.5)], [2.0], [1.0 + k], lambda: 0.5)
    assert watch.points == [
        Point(1, 1.0, 0.0, 0.5),
        Point(2, 2.0, 1.0, 0.5),
        Point(3, 3.0, 1.0, 0.5),
    ]
    assert watch.now() == watch.ever() == {"rows": 3, "error": 2.0, "coverage": 2 / 3}
    assert watch.last()[0] == {
        "id": "2",
        "prediction": 1.0,
        "lower": 0.0,
        "upper": 2.0,
        "y": 2.0,
        "error": 3.0,
    }
    watch.told([Ticket("far", 1.0, -math.inf, math.inf)], [2.0], [0.0], lambda: 0.5)
    assert watch.ever()["coverage"] == 3 / 4
    assert watch.last()[0]["lower"] is None


def test_the_watch_of_a_table_is_that_of_its_tickets():
    rng, one, other = np.random.default_rng(11), Watch(), Watch()
    for first in range(0, 900, 300):
        given = rng.normal(size=(300, 3))
        given[:, 1:] = np.sort(given[:, 1:], axis=1)
        given[::7, 1:] = -math.inf, math.inf
        ids, ys = [f"{first + k}" for k in range(300)], rng.normal(size=300)
        ys[::5] = given[::5, 1 + first // 300 % 2]  # an end is inside
        ys[~np.isfinite(ys)] = 0.0
        errors = np.abs(given[:, 0] - ys).tolist()
        tickets = [Ticket(name, *row) for name, row in zip(ids, given.tolist(), strict=True)]
        one.told(tickets, ys.tolist(), errors, lambda: 0.5)
        other.told_table(ids, given, ys, errors, lambda: 0.5)
        assert other.dumps() == one.dumps()
    assert 0 < other.covered < other.bounded == 900


def test_the_watch_does_not_grow():
    watch, together = Watch(), Watch()
    for k in range(3000):
        watch.told([Ticket(f"{k}", 1.0)], [2.0], [float(k)], lambda: None)
    for k in range(0, 3000, 1000):
        some = range(k, k + 1000)
        together.told(
            [Ticket(f"{k}", 1.0) for k in some], [2.0] * 1000, list(map(float, some)), lambda: None
        )
    assert together.dumps() == watch.dumps()
    assert MOST_POINTS / 2 <= len(watch.points) < MOST_POINTS
    assert watch.stretch == 16  # 3000 rows in fewer than 200 points
    assert watch.points[0] == Point(16, np.mean(np.arange(16)), None, None)
    assert [point.rows for point in watch.points] == [
        16 * (k + 1) for k in range(len(watch.points))
    ]
    assert (watch.now()["rows"], watch.now()["error"]) == (
        NOW,
        np.mean(np.arange(3000 - NOW, 3000)),
    )
    assert len(watch.last()) == LAST
    again = Watch.loads(watch.dumps())
    assert again.dumps() == watch.dumps()


def with_counts(place, value):
    def change(watch):
        watch[0][place] = value

    return change


SHAPE = r"state\['watch'\] must not hold"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (with_counts(0, "x"), SHAPE),
        (with_counts(1, -1), SHAPE),
        (with_counts(4, 99), "counts that contradict each other"),
        (with_counts(3, math.nan), SHAPE),
        (with_counts(6, 0), SHAPE),
        (lambda watch: watch[1].append([1, -1.0, None, None]), SHAPE),
        (lambda watch: watch[1].append([1, 1.0, 2.0, None]), SHAPE),
        (lambda watch: watch[1].extend(watch[1][:1] * MOST_POINTS), "fewer than 200 points"),
        (lambda watch: watch[2].__setitem__(0, "x"), SHAPE),
        (lambda watch: watch[3].append([1.0, 2]), SHAPE),
        (lambda watch: watch[4].append(["id", [], None, None, 1.0, 1.0]), SHAPE),
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

    refused(
        "about", lambda about: about | {"bounds": [1, 2, 3, -1]}, r"state\['about'\] must not hold"
    )
    refused("about", lambda about: about | {"kinds": {"m": "classes"}}, "cannot predict 'classes'")
    refused("about", lambda about: about | {"kinds": {"m": "colour"}}, "cannot have the models")
    refused(
        "about",
        lambda about: about | {"kinds": {"m": "number", "../m": "number"}},
        "cannot have the models",
    )
    refused("rows.0", lambda rows: {"j": -3}, r"state\['rows.0'\] must not hold")
    refused("rows.0", lambda rows: {"j": 2**64}, r"state\['rows.0'\] must not hold")
    refused("rows.0", lambda rows: {"j": 3.0}, r"state\['rows.0'\] must not hold")
    refused("rows.0", lambda rows: [["j", "x"]], r"state\['rows.0'\] must not hold")
    for place, value in ((2, -3), (3, []), (4, "low"), (6, [["a", 2.0]]), (7, {}), (8, -1.0)):
        refused(
            "memory",
            lambda memory, p=place, v=value: [[*memory[0][:p], v, *memory[0][p + 1 :]]],
            "an answered ticket cannot be",
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
    assert [
        is_local(host)
        for host in ("127.0.0.9", "::1", "localhost", "0.0.0.0", "::", "10.0.0.1", "here")
    ] == [True] * 3 + [False] * 4


def test_tokens_are_compared_in_constant_time(monkeypatch):
    """Whatever is sent, two digests of the same length are compared by the function that is made
    for it.
    """
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
    assert do("tell", {"id": "i", "y": 4.0}) == {
        "id": "i",
        "prediction": None,
        "y": 4.0,
        "error": None,
    }
    told = live.told(do.models.series["m", ""])
    assert (
        told["asks"],
        told["tells"],
        told["pending"],
        told["recent"]["error"],
        told["ever"]["error"],
    ) == (
        1,
        1,
        0,
        None,
        None,
    )
    said = do("ask", {"x": {"a": 1.0}, "id": "j"})["prediction"]
    assert do("tell", {"id": "j", "y": 5.0})["error"] == 5.0 - said
    told = live.told(do.models.series["m", ""])
    assert (
        told["tells"],
        told["recent"]["rows"],
        told["recent"]["error"],
        told["ever"]["error"],
    ) == (
        2,
        1,
        5.0 - said,
        5.0 - said,
    )
    assert [one["error"] for one in told["last"]] == [5.0 - said, None]
    assert told["step_size"] == pytest.approx(
        do.models.series["m", ""].late.model.effective_step_size_
    )


def batch(rng, first, count, whole=False):
    """Rows of one table, and their answers."""
    rows = [
        {"a": int(rng.integers(5)) if whole else float(rng.normal()), "b": float(rng.normal())}
        for _ in range(count)
    ]
    return [{"x": row, "id": f"{first + k}"} for k, row in enumerate(rows)], [
        float(rng.normal()) for _ in rows
    ]


@pytest.mark.parametrize("whole", [False, True])
def test_a_batch_is_its_rows_one_by_one(whole):
    one, many, rng = Events(remembered=150), Events(remembered=150), np.random.default_rng(5)
    asks, late = [], []
    for k in range(6):
        asked, ys = batch(rng, 100 * k, 70 + k, whole)
        tells = [{"id": row["id"], "y": y} for row, y in zip(asked, ys, strict=True)]
        asks.append(asked)
        said = many("ask", asked)
        assert said == [one("ask", row) for row in asked]
        assert many("ask", asked) == said  # again
        late.append(tells)
        if k > 1:  # two batches late
            done = late.pop(0)
            told = many("tell", done)
            assert told == [one("tell", row) for row in done]
            assert many("tell", done) == told
    assert many("tell", late[0][::-1]) == [one("tell", row) for row in late[0][::-1]]
    states = [dict(do.models.state()) for do in (one, many)]
    # What rows are recognised by depends on how they came, and step sizes are noted at the ends of
    # events only.
    own = {"rows.0", "memory", "watch.0"}
    differ = {
        name
        for name in states[0]
        if np.asarray(states[0][name]).tobytes() != np.asarray(states[1][name]).tobytes()
    }
    assert differ <= own
    assert states[0].keys() == states[1].keys()
    watches = [do.models.series["m", ""].watch for do in (one, many)]
    assert watches[0].ever() == watches[1].ever()
    assert [point[:3] for point in watches[0].points] == [point[:3] for point in watches[1].points]
    assert many.models.series["m", ""].prints().keys() == one.models.series["m", ""].prints().keys()
    assert [told[2][1:] for told in many.models.memory.items()] == [
        told[2][1:] for told in one.models.memory.items()
    ]
    again = Events()
    again.models, again.number = Models.of_state(many.models.state()), many.number
    assert snapshot(again.models) == snapshot(many.models)
    for do in (many, again):  # by itself, as part of a batch, or changed
        waiting = asks[-1]
        assert do("ask", waiting[3])["id"] == waiting[3]["id"]
        with pytest.raises(Refusal, match="was asked before, with another row") as refusal:
            do("ask", [*waiting[:9], waiting[9] | {"x": {"a": 1.0, "b": 7.0}}, *waiting[10:]])
        assert refusal.value.where == {"row": 9}
        with pytest.raises(Refusal, match="is there twice in one request"):
            do("ask", [{"x": {"a": 1.0, "b": 1.0}, "id": "new"}] * 70)
        with pytest.raises(Refusal, match=r"must be finite and not pass 1e\+60"):
            do("ask", [{"x": {"a": 1e61, "b": 1.0}, "id": f"new{k}"} for k in range(70)])
        with pytest.raises(Refusal, match="y must be a number, got 'x'"):
            do(
                "tell",
                [{"id": row["id"], "y": "x" if k == 5 else 1.0} for k, row in enumerate(waiting)],
            )
    assert snapshot(again.models) == snapshot(many.models)


def test_batches_without_ids_with_a_key_or_of_new_columns():
    do, rng = Events(), np.random.default_rng(6)
    rows, _ = batch(rng, 0, 66)
    said = do("ask", [{"x": row["x"]} for row in rows])
    assert [one["id"] for one in said] == [f"#1.{k}" for k in range(66)]
    assert not do.models.series["m", ""].prints()
    do("tell", [{"id": one["id"], "y": 1} for one in said])
    assert len(do("ask", [row | {"key": "k"} for row in rows])) == 66
    assert set(do.models.series) == {("m", ""), ("m", "k")}
    wider = do("ask", [{"x": {"c": 1.0} | row["x"], "id": row["id"]} for row in rows])
    assert [one["id"] for one in wider] == [row["id"] for row in rows]
    assert do("tell", [{"id": row["id"], "y": 2.0} for row in rows])[0]["y"] == 2.0


def test_rows_that_came_one_by_one_are_recognised_in_a_batch():
    do, rows = Events(), batch(np.random.default_rng(8), 0, 80, whole=True)[0]
    first = [do("ask", row) for row in rows[:3]]
    said = do("ask", rows)
    assert said[:3] == first
    assert do("ask", rows) == said
    assert len(do.models.series["m", ""].pending) == 80
    with pytest.raises(Refusal, match="was asked before, with another row"):
        do("ask", [rows[0] | {"x": rows[0]["x"] | {"a": 99}}, *rows[1:]])


def test_answers_without_a_prediction_are_not_judged():
    watch = Watch()
    watch.told(
        [Ticket("a", 1.0), Ticket("b", None), Ticket("c", 2.0)],
        [2.0, 3.0, 4.0],
        [1.0, None, 2.0],
        lambda: 0.5,
    )
    assert (watch.tells, watch.judged, watch.ever()["error"], watch.now()["rows"]) == (3, 2, 1.5, 2)
    assert Watch.loads(watch.dumps()).judged == 2
