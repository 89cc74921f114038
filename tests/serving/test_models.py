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
from swordplay.late import Ticket
from swordplay.serving import messages
from swordplay.serving.auth import Auth, is_loopback
from swordplay.serving.errors import RequestError
from swordplay.serving.limits import Bounds, Limits
from swordplay.serving.log_format import Event
from swordplay.serving.metrics import BUCKETS, Histogram
from swordplay.serving.models import Models, internal_error
from swordplay.serving.pages import series_figures
from swordplay.serving.recent_tickets import (
    RecentTicket,
    RecentTickets,
    has_hash,
    hash_row,
    hash_table,
    new_recent_ticket,
)
from swordplay.serving.requests import parse
from swordplay.serving.series import convert_answer, prediction_errors
from swordplay.serving.series_stats import (
    MAX_POINTS,
    RECENT_ANSWERS,
    SHOWN_ROWS,
    AnsweredRows,
    CurvePoint,
    SeriesStats,
)

LIMITS = Limits()


class Events:
    """Events in their order, for models of their own."""

    def __init__(self, **bounds):
        self.models, self.number = Models(Bounds(**bounds)), 0

    def __call__(self, action, value, model="m", target="number"):
        self.number += 1
        event = Event(action, model, target, json.dumps(value).encode())
        return json.loads(self.models.apply(self.number, event, parse(event, LIMITS)))


def snapshot(models):
    """All of it, bit by bit."""
    return checkpoint.dumps(models.state(), kind="serve")


def test_a_request_of_several_series_is_accepted_whole_or_not_at_all():
    do = Events()
    do("ask", [{"x": {"a": 1.0}, "id": "1"}, {"x": {"a": 1.0}, "id": "2", "key": "k"}])
    with pytest.raises(RequestError, match="no ticket 'unknown' is pending"):
        do("tell", [{"id": "1", "y": 1}, {"id": "unknown", "y": 1, "key": "k"}])
    with pytest.raises(RequestError, match="must be finite"):
        do("ask", [{"x": {"a": 2.0}, "id": "3"}, {"x": {"a": 1e300}, "id": "4", "key": "k"}])
    with pytest.raises(RequestError, match="must be finite"):
        do("ask", [{"x": {"a": 2.0}, "id": "3"}, {"x": {"a": 1e300}, "id": "4", "key": "new"}])
    assert [list(series.late.pending) for series in do.models.series.values()] == [["1"], ["2"]]
    assert [series.stats.counts.asks for series in do.models.series.values()] == [1, 1]
    assert list(do.models.series) == [("m", ""), ("m", "k")]


def test_limits_on_models_series_and_tickets():
    do = Events(models=1, series=2, pending=3)
    do("ask", {"x": {}})
    do("ask", {"x": {}, "key": "k"})
    before = snapshot(do.models)
    for value, model, words in (
        ({"x": {}, "key": "l"}, "m", "at most 2 series"),
        ({"x": {}}, "n", "at most 1 models"),
        ([{"x": {}}] * 3, "m", "1 tickets are pending, and 3 is the limit"),
    ):
        with pytest.raises(RequestError, match=words) as refusal:
            do("ask", value, model)
        assert refusal.value.status == 429
    with pytest.raises(RequestError) as refusal:
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
    again.models, again.number = Models.from_state(do.models.state()), do.number
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
    found = convert_answer(kind, raw, 0)
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
    with pytest.raises(RequestError, match="y must be") as refusal:
        convert_answer(kind, raw, 7)
    assert refusal.value.where == {"row": 7}


def test_errors_by_hand():
    assert prediction_errors([2.0, None, 7.5], [5.0, 5.0, 7.0], is_class=False) == [3.0, None, 0.5]
    assert prediction_errors(["a", "a", None], ["a", "b", "a"], is_class=True) == [0.0, 1.0, None]


def test_responses_by_hand():
    def encoded(response):
        return messages.encode_rows([response], is_list=False).decode()

    one = Ticket('"', 1.5, -math.inf, 2.0)
    other = Ticket("i", True, probabilities={True: 0.75, 3: 0.25})
    assert (
        encoded(messages.prediction_of(one))
        == '{"id":"\\"","prediction":1.5,"lower":null,"upper":2.0}'
    )
    assert (
        encoded(messages.prediction_of(other))
        == '{"id":"i","prediction":true,"probabilities":{"true":0.75,"3":0.25}}'
    )
    assert (
        encoded(messages.LearnedAnswer("i", None, "ü", None))
        == '{"id":"i","prediction":null,"y":"ü","error":null}'
    )
    assert (
        messages.encode_rows([messages.DroppedTicket("i")] * 2, is_list=True)
        == b'[{"id":"i","dropped":true},{"id":"i","dropped":true}]'
    )


def test_saved_tickets_by_hand():
    for ticket in (
        RecentTicket("i", 3, None, None, {3: 0.5, "a": 0.5}, "a", 1.0, "row"),
        RecentTicket("i", 5e-324, -math.inf, math.inf, None, 1.7e308, None, 2**64 - 1),
        RecentTicket("i", 0.1, -math.inf, 0.3, None, 2**70, 0.0, "ü"),  # labels beyond 64 bits
    ):
        recent = RecentTickets()
        recent.add(7, ["i"], [ticket])
        ((series, again),) = RecentTickets.loads(recent.dumps()).items()
        assert (series, repr(again)) == (7, repr(ticket))
        assert new_recent_ticket(tuple(ticket)) == ticket


def test_rows_are_recognised_as_they_were_written():
    assert hash_row({"a": 1.0, "b": "x"}) == hash_row(json.loads('{"a": 1.0, "b": "x"}'))
    several = [{"a": 1.0}, {"a": 1.5}, {"b": 1.0}, {"a": "1.0"}, {"a": None}, {"a": True}, {}]
    assert len(set(map(hash_row, several))) == len(several)
    for row in several:
        assert [has_hash(other, hash_row(row)) for other in several] == [
            other is row for other in several
        ]
    table = NumericRows(["a", "b"], np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.5], [0.0, 0.0]]))
    prints = hash_table(table).tolist()
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
    assert has_hash({"a": 1, "b": 2.0}, prints[0])  # whole numbers are numbers
    turned = NumericRows(["b", "a"], table.values[:, ::-1])
    assert hash_table(turned).tolist() == prints
    assert has_hash({"b": 2.0, "a": 1.0}, prints[0])
    for other in (
        {"b": 1.0, "a": 2.0},
        {"a": 1.0},
        {"a": True, "b": 2.0},
        {"a": 1.0, "b": "2"},
        {"a": 1.0, "b": 10**400},
        {},
    ):
        assert not has_hash(other, prints[0])


def answered(name, y=2.0, error=0.0, lower=None, upper=None):
    """A row with the prediction 1."""
    return name, 1.0, lower, upper, y, error


def add_answers(stats, *rows, step=0.5):
    stats.add_answers(AnsweredRows(*map(list, zip(*rows, strict=True))), lambda: step)


def test_statistics_by_hand():
    stats = SeriesStats()
    for k in range(3):
        add_answers(stats, answered(f"{k}", 2.0, 1.0 + k, 0.0, 2.0 if k else 1.5))
    assert stats.points == [
        CurvePoint(1, 1.0, 0.0, 0.5),
        CurvePoint(2, 2.0, 1.0, 0.5),
        CurvePoint(3, 3.0, 1.0, 0.5),
    ]
    assert stats.recent() == stats.overall() == {"rows": 3, "error": 2.0, "coverage": 2 / 3}
    assert stats.newest()[0] == {
        "id": "2",
        "prediction": 1.0,
        "lower": 0.0,
        "upper": 2.0,
        "y": 2.0,
        "error": 3.0,
    }
    add_answers(stats, answered("far", 2.0, 0.0, -math.inf, math.inf))
    assert stats.overall()["coverage"] == 3 / 4
    assert stats.newest()[0]["lower"] is None
    add_answers(stats, answered("low", 1.0, 0.0, 1.0, 2.0))  # an end is inside
    add_answers(stats, answered("high", 2.0, 0.0, 1.0, 2.0))
    assert stats.overall()["coverage"] == 5 / 6
    add_answers(stats, answered("first", error=None))
    assert (stats.counts.tells, stats.counts.scored, stats.counts.bounded) == (7, 6, 6)


def test_statistics_of_many_rows_are_those_of_one_after_the_other():
    rng, one, many = np.random.default_rng(11), SeriesStats(), SeriesStats()
    for first in range(0, 900, 300):
        rows = []
        for k in range(300):
            lower, y, upper = np.sort(rng.normal(size=3)).tolist()
            y = rng.choice([y, lower, upper, upper + 1.0])
            error = None if k % 7 == 3 else abs(rng.normal())
            rows.append(answered(f"{first + k}", float(y), error, lower, upper))
        for row in rows:
            add_answers(one, row)
        add_answers(many, *rows)
        assert many.dumps() == one.dumps()
    assert 0 < many.counts.covered < many.counts.bounded < many.counts.tells == 900


def test_statistics_do_not_grow():
    stats = SeriesStats()
    for k in range(3000):
        add_answers(stats, answered(f"{k}", error=float(k)), step=None)
    assert MAX_POINTS / 2 <= len(stats.points) < MAX_POINTS
    assert stats.counts.bin_rows == 16  # 3000 rows in fewer than 200 points
    assert stats.points[0] == CurvePoint(16, np.mean(np.arange(16)), None, None)
    assert [point.rows for point in stats.points] == [
        16 * (k + 1) for k in range(len(stats.points))
    ]
    assert (stats.recent()["rows"], stats.recent()["error"]) == (
        RECENT_ANSWERS,
        np.mean(np.arange(3000 - RECENT_ANSWERS, 3000)),
    )
    assert len(stats.newest()) == SHOWN_ROWS
    again = SeriesStats.loads(stats.dumps())
    assert again.dumps() == stats.dumps()


def with_counts(place, value):
    def change(stats):
        stats[0][place] = value

    return change


SHAPE = r"state\['stats'\] must not hold"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (with_counts(0, "x"), SHAPE),
        (with_counts(1, -1), SHAPE),
        (with_counts(4, 99), "counts that contradict each other"),
        (with_counts(3, math.nan), SHAPE),
        (with_counts(6, 0), SHAPE),
        (lambda stats: stats[1].append([1, -1.0, None, None]), SHAPE),
        (lambda stats: stats[1].append([1, 1.0, 2.0, None]), SHAPE),
        (lambda stats: stats[1].extend(stats[1][:1] * MAX_POINTS), "fewer than 200 points"),
        (lambda stats: stats[2].__setitem__(0, "x"), SHAPE),
        (lambda stats: stats[2].__setitem__(2, 1), "counts of the open bin"),
        (lambda stats: stats[3].append([1.0, 2]), SHAPE),
        (lambda stats: stats[4].append(["id", [], None, None, 1.0, 1.0]), SHAPE),
    ],
)
def test_sums_that_no_rows_lead_to(change, words):
    stats = SeriesStats()
    for k in range(3):
        add_answers(stats, answered(f"{k}", 1.5, 0.5, 0.0, 2.0))
    saved = json.loads(stats.dumps())
    change(saved)
    with pytest.raises(ValueError, match=words):
        SeriesStats.loads(json.dumps(saved))


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
            Models.from_state(forged)

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
    refused("hashes.0", lambda rows: {"j": -3}, r"state\['hashes.0'\] must not hold")
    refused("hashes.0", lambda rows: {"j": 2**64}, r"state\['hashes.0'\] must not hold")
    refused("hashes.0", lambda rows: {"j": 3.0}, r"state\['hashes.0'\] must not hold")
    refused("hashes.0", lambda rows: [["j", "x"]], r"state\['hashes.0'\] must not hold")
    for place, value in ((2, []), (3, "low"), (5, [["a", 2.0]]), (6, {}), (7, -1.0), (8, -3)):
        refused(
            "recent",
            lambda memory, p=place, v=value: [[*memory[0][:p], v, *memory[0][p + 1 :]]],
            "an answered ticket cannot be",
        )
    refused("recent", lambda memory: [["0", *memory[0][1:]]], "the series of an answered")
    assert snapshot(Models.from_state(state)) == snapshot(do.models)


def test_durations_by_hand():
    durations = Histogram()
    for seconds in (0.0005, 0.001, 0.3, 99.0):
        durations.add(seconds)
    lines = list(durations.lines("d", "about"))
    assert lines[2:4] == ['d_bucket{le="0.001"} 2', 'd_bucket{le="0.0025"} 2']
    assert lines[-3:] == ['d_bucket{le="+Inf"} 4', "d_sum 99.3015", "d_count 4"]
    assert len(lines) == 2 + len(BUCKETS) + 1 + 2


def test_hosts_and_tokens():
    auth = Auth("secret-token", {"localhost", "::1"})
    auth.require_may_change(b"Bearer secret-token", b"", b"localhost:80")
    auth.require_may_change(b"bearer  secret-token", b"http://localhost:80", b"localhost:80")
    for given in (b"", b"Bearer", b"Bearer secret-toke", b"Bearer secret-token2", b"secret-token"):
        with pytest.raises(RequestError) as refusal:
            auth.require_may_change(given, b"", b"")
        assert refusal.value.status == 401
    for host in (b"localhost", b"LOCALHOST:1", b"[::1]:80", b"[::1]"):
        auth.require_host(host)
    for host in (b"evil", b"localhost.evil:80", b"[::2]"):
        with pytest.raises(RequestError) as refusal:
            auth.require_host(host)
        assert refusal.value.status == 421
    assert [
        is_loopback(host)
        for host in ("127.0.0.9", "::1", "localhost", "0.0.0.0", "::", "10.0.0.1", "here")
    ] == [True] * 3 + [False] * 4


def test_tokens_are_compared_in_constant_time(monkeypatch):
    """Whatever is sent, two digests of the same length are compared by the function that is made
    for it.
    """
    from swordplay.serving import auth

    lengths = []

    def spied(one, other):
        lengths.append((len(one), len(other)))
        return False

    monkeypatch.setattr(auth.hmac, "compare_digest", spied)
    for given in (b"", b"Bearer x", b"Bearer " + b"x" * 1000):
        with pytest.raises(RequestError):
            Auth("secret-token", None).require_may_change(given, b"", b"")
    assert lengths == [(32, 32)] * 3


def test_failures_are_logged_without_data(caplog):
    try:
        raise KeyError("a client's data")
    except KeyError as error:
        refusal = internal_error(error)
    assert refusal.status == 500
    assert "a client's data" not in caplog.text + refusal.message
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
    told = series_figures(do.models.series["m", ""])
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
    told = series_figures(do.models.series["m", ""])
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
    own = {"hashes.0", "recent", "stats.0"}
    differ = {
        name
        for name in states[0]
        if np.asarray(states[0][name]).tobytes() != np.asarray(states[1][name]).tobytes()
    }
    assert differ <= own
    assert states[0].keys() == states[1].keys()
    stats = [do.models.series["m", ""].stats for do in (one, many)]
    assert stats[0].overall() == stats[1].overall()
    assert [point[:3] for point in stats[0].points] == [point[:3] for point in stats[1].points]
    hashes = [do.models.series["m", ""].pending_hashes() for do in (one, many)]
    assert hashes[0].keys() == hashes[1].keys()
    tickets = [[ticket[:-1] for _, ticket in do.models.recent.items()] for do in (one, many)]
    assert tickets[0] == tickets[1]
    again = Events()
    again.models, again.number = Models.from_state(many.models.state()), many.number
    assert snapshot(again.models) == snapshot(many.models)
    for do in (many, again):  # by itself, as part of a batch, or changed
        waiting = asks[-1]
        assert do("ask", waiting[3])["id"] == waiting[3]["id"]
        with pytest.raises(RequestError, match="was asked before, with another row") as refusal:
            do("ask", [*waiting[:9], waiting[9] | {"x": {"a": 1.0, "b": 7.0}}, *waiting[10:]])
        assert refusal.value.where == {"row": 9}
        with pytest.raises(RequestError, match="occurs twice in one request"):
            do("ask", [{"x": {"a": 1.0, "b": 1.0}, "id": "new"}] * 70)
        with pytest.raises(RequestError, match=r"must be finite and not pass 1e\+60"):
            do("ask", [{"x": {"a": 1e61, "b": 1.0}, "id": f"new{k}"} for k in range(70)])
        with pytest.raises(RequestError, match="y must be a number, got 'x'"):
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
    assert not do.models.series["m", ""].pending_hashes()
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
    with pytest.raises(RequestError, match="was asked before, with another row"):
        do("ask", [rows[0] | {"x": rows[0]["x"] | {"a": 99}}, *rows[1:]])


def test_rows_of_a_batch_and_single_ones_that_are_answered_together_are_recognised():
    do, rows = Events(), batch(np.random.default_rng(9), 0, 70)[0]
    single = {"id": "single", "x": {"a": 1.0, "b": "word" * 3}, "key": "k"}
    alone = {"id": "alone", "x": {"a": 7.0, "b": 2.5}}
    asked = do("ask", rows)
    asked += [do("ask", alone), do("ask", single)]
    answers = [{"id": row["id"], "y": 1.0} for row in (*rows[60:], alone, *rows[:60])]
    told = do("tell", [*answers, {"id": "single", "key": "k", "y": 2.0}])
    assert [do("ask", row) for row in (*rows, alone, single)] == asked
    assert [do("tell", answer) for answer in answers] == told[:-1]
    for row in (rows[3], rows[64], alone):
        with pytest.raises(RequestError, match="was asked before, with another row"):
            do("ask", row | {"x": {"a": -1.0, "b": 0.0}})


def test_answers_without_a_prediction_are_not_judged():
    stats = SeriesStats()
    rows = [answered("a", 2.0, 1.0), answered("b", 3.0, None), answered("c", 4.0, 2.0)]
    add_answers(stats, *rows)
    assert (stats.counts.tells, stats.counts.scored) == (3, 2)
    assert (stats.overall()["error"], stats.recent()["rows"]) == (1.5, 2)
    assert SeriesStats.loads(stats.dumps()).counts.scored == 2
