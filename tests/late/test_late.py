"""Tickets: what was predicted is judged, what was asked is learned, in whatever order the
answers come.
"""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from swordplay import river, sklearn
from swordplay.cli import run
from swordplay.core.checkpoint import CheckpointError
from swordplay.estimators.class_model import ClassModel
from swordplay.estimators.dict_models import DictClassifier
from swordplay.estimators.forecast import Forecast
from swordplay.estimators.linear_model import LinearModel
from swordplay.intervals import SwordIntervals
from swordplay.late import (
    LateModel,
    Ticket,
    TicketError,
    TicketPending,
    TooManyPending,
    UnknownTicket,
)

STEPS = st.lists(
    st.tuples(st.sampled_from(["ask", "ask", "tell", "tell", "drop", "save"]), st.integers(0, 99)),
    max_size=40,
)
"""What happens, and to which of the pending tickets."""
LABELS = ("up", "down", "same")
EXPERTS = 28


def assert_same(one, other):
    """Two states, bit by bit."""
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert np.array_equal(
            value, other[name], equal_nan=isinstance(value, float | np.ndarray)
        ), name


def saved(model, folder):
    model.save(folder / "m.late")
    return LateModel.load(folder / "m.late")


class NaiveNumbers:
    """Lags are columns in front that the caller fills in.

    Nothing is batched, and nothing is saved.
    """

    def __init__(self, lags):
        self.lags, self.model, self.bands = lags, LinearModel(2 + lags), SwordIntervals(0.9)
        self.told, self.pending, self.said = [], {}, {}

    def ask(self, id, x):
        newest = [*reversed(self.told), *[math.nan] * self.lags][: self.lags]
        row = np.array([[*newest, *x]])
        said = float(self.model.predict(row)[0]) if self.told else None
        self.said[id] = self.model.forecast(row) if self.told else Forecast.empty(1)
        lower, upper = (
            (None, None)
            if said is None
            else self.bands.intervals([said], [x] if self.bands.rows else None)[0]
        )
        self.pending[id] = row, Ticket(id, said, lower, upper)
        return self.pending[id][1]

    def tell(self, id, y):
        row, ticket = self.pending.pop(id)
        asked = self.said.pop(id)
        before = int(asked.rounds[0])
        self.model.predict_then_learn(row, np.array([y]), earlier_forecast=asked)
        self.told.append(y)
        if ticket.prediction is None:
            return None
        self.bands.learn(
            ticket.prediction,
            y,
            row[0, self.lags :],
            given=(ticket.lower, ticket.upper),
            late=len(self.told) - 1 - before,
        )
        return (ticket.prediction - y) ** 2


@pytest.mark.parametrize("lags", [0, 2])
@given(steps=STEPS, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_random_interleavings_are_those_of_a_naive_twin(tmp_path_factory, lags, steps, seed):
    rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("late")
    late, naive = LateModel(sklearn.SwordRegressor(lags=lags, curves=None)), NaiveNumbers(lags)
    for number, (what, which) in enumerate(steps):
        ids = list(naive.pending)
        if what == "save":
            late = saved(late, folder)
        elif what == "ask":
            x = rng.normal(size=2)
            assert late.ask(x, str(number)) == naive.ask(str(number), x)
        elif ids:
            id = ids[which % len(ids)]
            y = float(10.0 + rng.normal())
            if what == "tell":
                assert late.tell(id, y) == naive.tell(id, y)
            else:
                late.drop(id)
                del naive.pending[id], naive.said[id]
        assert late.pending == {id: ticket for id, (_, ticket) in naive.pending.items()}
        assert list(reversed(late.pending)) == list(reversed(naive.pending))
    if naive.told:
        told = naive.model.state()
        mine = {
            name: value for name, value in late.model.model_.state().items() if name != "recent"
        }
        assert_same(mine, {name: value for name, value in told.items() if name != "recent"})
        assert late.model.model_.recent.tolist()[: len(naive.told)] == naive.told[::-1][:lags]


def named_row(rng):
    """Numbers, words and gaps as JSON has them."""
    row = {
        "a": float(rng.normal()),
        "b": int(rng.integers(5)),
        "c": None if rng.random() < 0.2 else float(rng.normal()),
    }
    return row | ({"town": str(rng.choice(["Bern", "Genf", "Zug"]))} if rng.random() < 0.8 else {})


class NaiveLabels:
    """One model per class, one column per word; words and labels join when they are learned."""

    def __init__(self):
        self.columns, self.words, self.labels, self.pending, self.said = [], [], [], {}, {}
        self.model = ClassModel(lambda: LinearModel(max(1, len(self.columns)), loss="logistic"))

    def numbers(self, x):
        found = {
            name: float(value) for name, value in x.items() if name != "town" and value is not None
        }
        if "town" in x:
            found |= {("town", word): float(word == x["town"]) for word in [*self.words, x["town"]]}
        return found

    def ask(self, id, x):
        numbers = self.numbers(x)
        row = np.array([[numbers.get(name, math.nan) for name in self.columns]])
        chances = self.model.predict(row)[0].tolist() if self.labels else []
        self.said[id] = self.model.forecast(row) if self.labels else Forecast.empty(1)
        said = dict(zip(self.labels, chances, strict=True))
        self.pending[id] = (
            x,
            Ticket(id, max(said, key=said.get) if said else None, probabilities=said or None),
        )
        return self.pending[id][1]

    def tell(self, id, label):
        x, ticket = self.pending.pop(id)
        numbers = self.numbers(x)
        news = sorted((name for name in numbers if name not in self.columns), key=repr)
        if news:
            self.columns += news
            if self.labels:
                self.model.widen(len(self.columns))
        self.words += [x["town"]] if "town" in x and x["town"] not in self.words else []
        if label not in self.labels:
            self.labels.append(label)
        before = float(self.model.counts.sum())
        self.model.grow(len(self.labels))
        row = np.array([[numbers.get(name, math.nan) for name in self.columns]])
        self.model.predict_then_learn(
            row, np.array([self.labels.index(label)]), earlier_forecast=self.said.pop(id)
        )
        if ticket.prediction is None:
            return None
        return -math.log(max(ticket.probabilities.get(label, 1.0 / (1.0 + before)), 1e-15))


@given(steps=STEPS, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_rows_by_name_and_labels_too(tmp_path_factory, steps, seed):
    rng, folder = np.random.default_rng(seed), tmp_path_factory.mktemp("late")
    late, naive = LateModel(DictClassifier(lags=0, curves=None)), NaiveLabels()
    for number, (what, which) in enumerate(steps):
        ids = list(naive.pending)
        if what == "save":
            late = saved(late, folder)
        elif what == "ask":
            x = named_row(rng)
            assert late.ask(x, str(number)) == naive.ask(str(number), x)
        elif ids and what == "tell":
            id, label = ids[which % len(ids)], str(rng.choice(LABELS))
            assert late.tell(id, label) == naive.tell(id, label)
        elif ids:
            late.drop(id := ids[which % len(ids)])
            del naive.pending[id], naive.said[id]
    if naive.labels:
        assert_same(late.model._model.state(), naive.model.state())


KINDS = {
    "by name": lambda: LateModel("regression"),
    "classes by name": lambda: LateModel("classification"),
    "lags by name": lambda: LateModel(river.SwordRegressor(lags=2)),
    "river": lambda: LateModel(river.SwordRegressor(), level=0.5),
    "river's classes": lambda: LateModel(river.SwordClassifier(lags=1)),
    "arrays": lambda: LateModel(sklearn.SwordRegressor()),
    "classes of arrays": lambda: LateModel(sklearn.SwordClassifier()),
    "forecasts": lambda: LateModel(sklearn.SwordAggregator(), level=None),
    "left unscaled": lambda: LateModel(sklearn.SwordRegressor(standardize=False)),
}


def stream(kind, rows, seed=5):
    """Rows and their answers, as a model of this kind takes them."""
    rng = np.random.default_rng(seed)
    arrays = kind in ("arrays", "classes of arrays", "forecasts", "left unscaled")
    xs = [rng.normal(size=3) if arrays else named_row(rng) for _ in range(rows)]
    ys = [float(rng.normal()) for _ in range(rows)]
    return xs, [str(rng.choice(LABELS)) for _ in range(rows)] if "classes" in kind else ys


@pytest.mark.parametrize("kind", KINDS)
def test_many_at_once_are_one_after_the_other_bit_by_bit(kind, tmp_path):
    xs, ys = stream(kind, 60)
    one, many = KINDS[kind](), KINDS[kind]()
    for first in range(0, 60, 20):
        part = slice(first, first + 20)
        single = [one.ask(x) for x in xs[part]]
        assert many.ask_many(xs[part]) == single
        order = np.random.default_rng(first).permutation(20)[:15]
        losses = [one.tell(single[k], ys[first + k]) for k in order]
        assert (
            many.tell_many([single[k].id for k in order], [ys[first + k] for k in order]) == losses
        )
    assert_same(one.state(), many.state())
    again = saved(many, tmp_path)
    assert_same(again.state(), many.state())
    assert again.pending == many.pending
    assert len(many.pending) == 15
    assert many.score.told == 45


@pytest.mark.parametrize("kind", KINDS)
def test_without_delay_it_is_the_estimator_alone(kind):
    xs, ys = stream(kind, 50)
    late = KINDS[kind]()
    alone = KINDS[kind]().model
    for x, y in zip(xs, ys, strict=True):
        late.tell(late.ask(x), y)
    if kind.startswith(("by name", "classes by", "lags", "river")):
        rows = KINDS[kind]().deferred.value_types
        for x, y in zip(xs, ys, strict=True):
            clean = rows.read(x)
            alone.learn_one(rows.numbers(clean), y)
            rows.learn(clean)
    else:
        for x, y in zip(xs, ys, strict=True):
            alone.predict_then_learn([x], [y])
    assert_same(late.model.state(), alone.state())


def test_the_ordinary_predictions_and_intervals_without_delay():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), 5.0 + rng.normal(size=200)
    late = LateModel(sklearn.SwordRegressor(lags=1))
    tickets = []
    for x, target in zip(X, y, strict=True):
        tickets.append(late.ask(x))
        late.tell(tickets[-1], target)
    ordinary = sklearn.SwordRegressor(lags=1).predict_then_learn(X, y)
    said = np.array([ticket.prediction for ticket in tickets[1:]])
    assert np.allclose(said, ordinary[1:], rtol=1e-12)
    bounds = SwordIntervals(0.9).interval_then_learn(said, y[1:], X[1:])
    assert [(ticket.lower, ticket.upper) for ticket in tickets[1:]] == [
        tuple(row) for row in bounds.tolist()
    ]
    inside = (bounds[:, 0] <= y[1:]) & (y[1:] <= bounds[:, 1])
    assert late.score.missed == np.count_nonzero(~inside)
    assert late.score.loss == pytest.approx(np.sum((said - y[1:]) ** 2))
    assert tickets[0] == Ticket("1", None)


def test_tickets_that_cannot_be():
    model = LateModel("regression", max_pending=2)
    before = model.state()
    first = model.ask({"a": 1.0}, "first")
    with pytest.raises(TicketPending, match="'first' is pending already"):
        model.ask({"a": 1.0}, "first")
    with pytest.raises(TicketPending):
        model.ask_many([{"a": 1.0}] * 2, ["x", "x"])
    with pytest.raises(UnknownTicket, match="no ticket 'x' is pending"):
        model.tell("x", 1.0)
    model.ask({"a": 2.0})
    with pytest.raises(TooManyPending, match="2 tickets are pending, and there may be no more"):
        model.ask({"a": 3.0})
    whole = model.state()
    for bad in (math.nan, math.inf, "1", None, 1e70):
        with pytest.raises((TypeError, ValueError), match="y must be"):
            model.tell(first, bad)
    with pytest.raises(TicketError):
        model.tell_many(["first", "first"], [1.0, 1.0])
    with pytest.raises(ValueError, match="ys must have one entry for each of the 1 tickets"):
        model.tell_many(["first"], [])
    assert_same(model.state(), whole)
    assert model.tell(first, 1.0) is None
    with pytest.raises(UnknownTicket):
        model.tell(first, 1.0)
    model.drop("1")
    with pytest.raises(UnknownTicket):
        model.drop("1")
    assert (model.score.asked, model.score.told, model.score.dropped, len(model.pending)) == (
        2,
        1,
        1,
        0,
    )
    assert before["pending.ids"] == "[]"
    for bad in ("", "a\nb", 3, "x" * 201):
        with pytest.raises((TypeError, ValueError), match="id must be a text"):
            model.ask({"a": 1.0}, bad)


@pytest.mark.parametrize(
    ("kind", "bad", "words"),
    [
        ("by name", 3, "values by name"),
        ("by name", {"a": [1]}, "must be a number, a text, a date or missing"),
        ("by name", {"a": "wide"}, "is 'wide', and 'a' held numbers so far"),
        ("by name", {"town": 3.0}, "held words so far"),
        ("by name", {"a": math.inf}, "must be finite"),
        ("arrays", [1.0, 2.0], "x must have 3 number"),
        ("arrays", [1.0, 2.0, math.nan], "NaN|nan|finite"),
        ("arrays", ["1", "2", "3"], "must hold numbers"),
        ("arrays", sparse.csr_array([[1.0, 2.0, 3.0]]), "got a sparse one"),
        (
            "arrays",
            np.ma.masked_array([1.0, 2.0, 3.0], mask=[True, False, False]),
            "must not be masked",
        ),
        ("arrays", {"a": 1.0}, "not fitted to columns with names"),
    ],
)
def test_rows_that_are_refused_change_nothing(kind, bad, words):
    model = KINDS[kind]()
    good = {"a": 1.0, "town": "Bern"} if kind == "by name" else [1.0, 2.0, 3.0]
    model.tell(model.ask(good), 1.0)
    before = model.state()
    with pytest.raises((TypeError, ValueError), match=words):
        model.ask_many([good, bad])
    assert_same(model.state(), before)


@pytest.mark.parametrize("model", ["number", 3, LinearModel(2), sklearn.SwordRegressor])
def test_what_is_no_estimator_of_ours(model):
    with pytest.raises(TypeError, match="model must be an estimator of"):
        LateModel(model)


def test_copies_go_their_own_way():
    model = LateModel("regression")
    model.ask({"a": 1.0}, "first")
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        other.tell("first", 2.0)
        assert list(model.pending) == ["first"]
        assert not other.pending


def test_states_that_no_tickets_lead_to(tmp_path):
    model = LateModel(sklearn.SwordRegressor(lags=1))
    for k in range(5):
        ticket = model.ask([float(k), 1.0])
        if k < 3:
            model.tell(ticket, float(k))
    good = model.state()
    assert LateModel.from_state(good).pending == model.pending
    broken = {
        "pending.ids": '["4", "4"]',
        "pending.blocks.0.predictions": np.array([[1.0, 2.0, 3.0]] * 2),
        "pending.blocks.0.lags": np.full((2, 1), 1e200),
        "pending.rows": np.ones((2, 3)),
        "pending.blocks.0.rounds": np.array([3]),
        "pending.blocks.0.notes": np.full((2, 1), 1e200),
        "pending.blocks.0.expert_scores": np.ones(3),
        "pending.blocks.0.frozen": np.ones((2, 2, 3)),
        "score.asked": 9,
        "score.missed": 9,
        "max_pending": 1,
        "level": 2.0,
        "serial": -1,
        "estimator": "DictRegressor",
    }
    for name, value in broken.items():
        with pytest.raises(ValueError, match="the state is not one of a LateModel, or damaged"):
            LateModel.from_state(good | {name: value})
    with pytest.raises(ValueError, match="damaged"):
        LateModel.from_state(
            {name: value for name, value in good.items() if name != "pending.blocks.0.notes"}
        )
    model.model.save(tmp_path / "estimator")
    with pytest.raises(CheckpointError):
        LateModel.load(tmp_path / "estimator")


def test_data_frames_of_one_row():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"size": rng.normal(size=60), "town": ["Bern", "Genf", "Zug"] * 20})
    y = 2.0 * frame["size"] + frame["town"].map({"Bern": 0.0, "Genf": 1.0, "Zug": 5.0})
    encoded = LateModel(sklearn.SwordRegressor(encode=True).partial_fit(frame[:40], y[:40]))
    alone = sklearn.SwordRegressor(encode=True).partial_fit(frame[:40], y[:40])
    for k in range(40, 60):
        ticket = encoded.ask(frame.iloc[k].to_dict())
        assert ticket.prediction == alone.predict(frame[k : k + 1])[0]
        encoded.tell(ticket, y[k])
        alone.partial_fit(frame[k : k + 1], y[k : k + 1])
    assert (
        LateModel.from_state(encoded.state()).ask({"size": 1.0, "town": "Chur"}).prediction
        is not None
    )
    with pytest.raises(ValueError, match="differs in"):
        encoded.ask({"size": 1.0})
    named = LateModel(sklearn.SwordRegressor().partial_fit(frame[["size"]], y))
    named.tell(named.ask({"size": 1.0}), 2.0)
    assert named.ask([1.0]).prediction == named.ask({"size": 1.0}).prediction
    assert named.model.feature_names_in_.tolist() == ["size"]


def test_summary_tells_what_was_given():
    model = LateModel("regression")
    for k in range(30):
        model.tell(model.ask({"a": float(k % 5)}), float(k % 5))
    text = model.summary()
    assert "LateModel: 30 asked, 30 told, 0 dropped, 0 pending" in text
    assert f"RMSE {math.sqrt(model.score.error / 29):.6g} over 29 answers" in text
    assert "% held the truth, of 90 % wanted" in text
    assert "DictRegressor after 30 rows" in text


def test_inspect_tells_of_tickets(tmp_path, capsys):
    model = LateModel("regression")
    for k in range(12):
        model.tell(model.ask({"a": float(k % 5), "town": "Bern"}), float(k % 5))
    model.ask({"a": 1.0}, "order-7")
    model.save(tmp_path / "m.late")
    assert run(["inspect", str(tmp_path / "m.late")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "a model whose answers come late, around a DictRegressor" in said
    assert "13 asked, 12 told, 0 dropped, 1 pending" in said
    assert "pending order-7" in said
    assert f"RMSE {math.sqrt(model.score.error / 11):.6g} over 11 answers" in said


def test_many_ids_answers_and_scores_are_those_of_each_alone():
    from swordplay.estimators.deferred_rows import check_numbers
    from swordplay.late.tickets import check_id, check_ids

    for ids in (
        ["a", "b" * 200],
        ["a", ""],
        ["a", "b\n"],
        ["a", 3],
        ["a"],
        [],
        ["a", "b" * 201],
        [Ticket("t", 1.0), "a"],
    ):
        try:
            wanted = [check_id(one) for one in ids]
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                check_ids(ids)
        else:
            assert check_ids(ids) == wanted
    assert check_numbers([1.0, -1e60]) == [1.0, -1e60]
    assert [type(one) for one in check_numbers([1, 2.0, True])] == [float] * 3
    for wrong in ([1.0, math.nan], [1.0, math.inf], [1.0, -1.1e60], [1.0, 1.1e60]):
        with pytest.raises(ValueError, match="y must be finite"):
            check_numbers(wrong)


def test_scores_are_sums_over_tickets():
    from swordplay.late.score import Score
    from swordplay.late.tickets import TicketBlock

    rng = np.random.default_rng(7)
    predictions = np.sort(rng.normal(size=(40, 3)), axis=1)[:, [1, 0, 2]]
    predictions[:3, 1:] = -math.inf, math.inf
    predictions[3, 1:] = math.nan  # no interval
    predictions[4] = math.nan  # no prediction
    ids, truths = [f"{k}" for k in range(40)], rng.normal(size=40).tolist()
    block = TicketBlock(ids, ids, None, predictions, Forecast.empty(40), np.empty((40, 2, 0)))
    before = Score(asked=50, loss=0.1, error=0.3)
    score, losses = before.add(block, truths)
    errors = (predictions[:, 0] - truths) ** 2
    outside = (truths < predictions[:, 1]) | (truths > predictions[:, 2])
    assert losses[4] is None
    assert losses[:4] + losses[5:] == np.delete(errors, 4).tolist()
    assert (score.told, score.judged, score.with_interval) == (40, 39, 38)
    assert score.missed == np.count_nonzero(outside)
    assert score.loss == pytest.approx(0.1 + np.nansum(errors))
    assert score.error == pytest.approx(0.3 + np.nansum(errors))

    labels, chances = ["a", "b"], np.array([[0.4, 0.6], [1.0, math.nan], [math.nan] * 2])
    block = TicketBlock(ids[:3], ids[:3], labels, chances, Forecast.empty(3), np.empty((3, 2, 0)))
    score, losses = Score(asked=9, told=3).add(block, ["a", "b", "a"])
    assert losses == [-math.log(0.4), -math.log(1.0 / 5.0), None]  # 4 targets before the second
    assert (score.told, score.judged, score.error) == (6, 2, 2.0)


def test_a_block_with_few_pending_tickets_is_replaced_by_a_smaller_one():
    model = LateModel("regression")
    tickets = model.ask_many([{"a": float(k)} for k in range(64)])
    blocks = model._pending._blocks
    assert {block.pending for block in blocks.values()} == {64}
    model.tell_many(tickets[:40], [1.0] * 40)
    block = blocks[tickets[50].id]
    assert (block.pending, len(block)) == (24, 64)  # more than a quarter
    model.tell_many(tickets[40:48], [1.0] * 8)
    block = blocks[tickets[50].id]
    assert (block.pending, len(block), len(block.predictions)) == (16, 16, 16)
    assert model.pending.row(tickets[50].id) == {"a": 50.0}


@pytest.mark.parametrize("seed", range(6))
def test_tickets_of_blocks_are_those_of_each_alone(seed):
    """Told whole, in part, in any order, and asked again under an id that another block still
    has.
    """
    rng = np.random.default_rng(seed)
    together, alone = LateModel("regression"), LateModel("regression")
    told, made = list[str](), itertools.count()
    for _ in range(40):
        waiting = list(alone.pending)
        if len(waiting) < 30 or rng.random() < 0.4:
            count = int(rng.integers(1, 40))
            ids = [f"new {next(made)}" if k % 3 or not told else told.pop(0) for k in range(count)]
            rows = [{"a": float(rng.normal()), "b": float(rng.normal())} for _ in ids]
            assert together.ask_many(rows, ids) == [
                alone.ask(row, id) for row, id in zip(rows, ids, strict=True)
            ]
            continue
        first, count = int(rng.integers(0, len(waiting))), int(rng.integers(1, 40))
        some = (
            waiting[first : first + count]
            if rng.random() < 0.7
            else rng.permutation(waiting)[:count].tolist()
        )
        some = together._pending._blocks[some[0]].ids if rng.random() < 0.3 else some
        ys = rng.normal(size=len(some)).tolist()
        if unknown := [
            id for id in some if id not in alone.pending
        ]:  # some of the block were told before
            with pytest.raises(UnknownTicket, match=re.escape(repr(unknown[0]))):
                together.tell_many(list(some), ys)
            continue
        losses = [alone.tell(id, y) for id, y in zip(some, ys, strict=True)]
        assert together.tell_many(list(some), ys) == losses
        told += some
    assert together.pending == alone.pending
    states = [model.state() for model in (together, alone)]
    assert states[0].keys() == states[1].keys()
    for name in states[0]:
        assert np.asarray(states[0][name]).tobytes() == np.asarray(states[1][name]).tobytes(), name


def test_an_id_of_a_block_that_was_asked_again_is_that_of_the_new_one():
    model = LateModel("regression")
    model.tell(model.ask({"a": 1.0}), 1.0)
    model.ask_many([{"a": 2.0}] * 3, ["x", "y", "z"])
    model.tell("y", 5.0)
    again = model.ask({"a": 9.0}, "y")
    assert again == model.pending["y"]
    block = model.pending.select(["x", "y", "z"])
    assert block.ids == ["x", "y", "z"]
    assert [row["a"] for row in block.rows] == [2.0, 9.0, 2.0]
    assert model.tell_many(["x", "y", "z"], [1.0] * 3)[1] == (again.prediction - 1.0) ** 2
    assert not model.pending


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_selected_tickets_are_those_of_each_alone(task):
    """Of blocks from before and after the first target, a new label and a frozen copy."""
    rng = np.random.default_rng(0)
    model, tickets = LateModel(task), []
    answers = [1.0, 2.0, 3.0] if task == "regression" else ["a", "b", "c"]
    for y in answers:
        tickets += model.ask_many([{"a": float(rng.normal())} for _ in range(7)])
        model.tell(tickets[-1], y)
        tickets.pop()
    tickets.append(model.ask({"a": 0.5}))
    for ids in (list(model.pending), rng.permutation(list(model.pending))[:9].tolist()):
        block = model.pending.select(ids)
        wanted = {ticket.id: ticket for ticket in tickets}
        assert block.tickets() == [wanted[id] for id in ids]
        assert [block.ticket(k) for k in range(len(ids))] == block.tickets()
        assert list(block.rows) == [model.pending.row(id) for id in ids]
        part = block.select([3, 1])
        assert part.tickets() == [wanted[ids[3]], wanted[ids[1]]]
        assert part.rows == [model.pending.row(ids[3]), model.pending.row(ids[1])]
        assert block.select(slice(2, 5)).ids == ids[2:5]
        assert block.forecast.rounds.shape == (len(ids),)
    assert model.pending.are_pending(list(model.pending))
    assert not model.pending.are_pending([tickets[0].id] * 2)


def test_texts_of_another_kind_are_no_ids_in_a_block_either():
    model = LateModel("regression")
    model.ask_many([{"a": 2.0}] * 3, ["x", "y", "z"])
    with pytest.raises(TypeError, match="id must be a text"):
        model.tell_many(["x", np.str_("y"), "z"], [1.0] * 3)
    with pytest.raises(TypeError, match="does not support item assignment"):
        model.pending["x"] = None
    assert len(model.pending) == 3
