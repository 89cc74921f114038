"""The model as it was when answers began to come late has its share in what is predicted, by
what it said.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from swordplay.late import LateModel, frozen_copy
from swordplay.late.frozen_copy import FrozenSums
from tolerances import TWIN

ROWS, HISTORY, DELAY = 64, 25, 6


@pytest.fixture(autouse=True)
def _early(monkeypatch):
    """A model that has learned 20 answers is worth keeping."""
    monkeypatch.setattr(frozen_copy, "MIN_TOLD", 20)


def rows(task):
    """A world that turns after a third; a word and a label that are new then."""
    rng = np.random.default_rng(3)
    xs = [
        {"a": float(rng.normal()), "b": float(rng.normal()), "c": "xyz"[k % (2 + (k > 30))]}
        for k in range(ROWS)
    ]
    ys = [
        (x["a"] if k < ROWS // 3 else -x["b"]) + 0.1 * float(rng.normal()) for k, x in enumerate(xs)
    ]
    if task == "classification":
        ys = [
            "odd" if k > 35 and k % 7 == 0 else "high" if y > 0 else "low" for k, y in enumerate(ys)
        ]
    return xs, ys


def played(model, xs, ys, *, block=1, save=False):
    """Tickets of all rows: those of history are answered at once, the others some rows late, so
    many together.
    """
    tickets = []
    for x, y in zip(xs[:HISTORY], ys, strict=False):
        tickets.append(model.ask(x))
        model.tell(tickets[-1], y)
    for first in range(HISTORY, ROWS, block):
        tickets += model.ask_many(xs[first : first + block])
        ready = range(max(HISTORY, first - DELAY), max(HISTORY, min(first + block, ROWS) - DELAY))
        model.tell_many([tickets[k] for k in ready], [ys[k] for k in ready])
        if save:
            model = LateModel.from_state(model.state())
    return model, tickets


MIXED = HISTORY + DELAY + 2
"""The first row that is asked when there is an anchor: row HISTORY + 1, the first one that comes
late, is told before it.
"""


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_share_of_who_goes_on_learning_is_learned_by_slopes(task, monkeypatch):
    monkeypatch.setattr(frozen_copy, "DROP_EXPONENT", 1e9)  # it stays, however far behind
    xs, ys = rows(task)
    _, tickets = played(LateModel(task), xs, ys)
    own, frozen = apart(task, xs, ys)
    pull = spread = 0.0
    shares = []
    for k in range(1, ROWS):  # nothing is predicted before the first target
        if (told := k - 1 - DELAY) >= MIXED and ys[told] in (
            own[told].probabilities or {ys[told]: 1.0}
        ):
            labels = list(own[told].probabilities or [None])
            truth = (
                [float(label == ys[told]) for label in labels]
                if own[told].probabilities
                else [ys[told]]
            )
            one, other = (
                values(own[told]),
                values(frozen[told]) if len(labels) == 1 else filled(frozen[told], own[told]),
            )
            said = values(tickets[told])
            slope = sum(
                (y - p) * (o - f) for y, p, o, f in zip(truth, said, one, other, strict=True)
            )
            pull, spread = pull + slope, spread + (1 + 2 * DELAY) * slope**2
        x = max(0.0, pull / math.sqrt(spread)) if spread else 0.0
        shares.append(1.0 - min(1.0, 0.25 * x * math.exp(x * x / 2.0)))
        wanted = mean(own[k], frozen[k], shares[-1]) if k >= MIXED else values(own[k])
        assert values(tickets[k]) == pytest.approx(wanted, rel=TWIN, abs=TWIN), k
    assert min(shares) < 1.0 == max(shares)


def apart(task, xs, ys):
    """What one model says that never has an anchor, and one that stops before the first answer
    that comes late.
    """
    alone, stopped = LateModel(task), LateModel(task)
    alone._was_copied = True
    own = played(alone, xs, ys)[1]
    for x, y in zip(xs[: HISTORY + 1], ys, strict=False):
        stopped.tell(stopped.ask(x), y)
    return own, stopped.ask_many(xs)


def mean(own, frozen, share):
    if own.probabilities is None:
        return [(1.0 - share) * own.prediction + share * frozen.prediction]
    both = [
        (1.0 - share) * one + share * other
        for one, other in zip(own.probabilities.values(), filled(frozen, own), strict=True)
    ]
    return [one / sum(both) for one in both]


def test_shares_by_hand():
    for slope_sum, slope_squares, live_share in (
        (0.0, 0.0, 0.0),
        (-3.0, 1.0, 0.0),
        (1.0, 1.0, 0.25 * math.exp(0.5)),
        (2.0, 1.0, 1.0),
    ):
        sums = FrozenSums(0, slope_sum=slope_sum, slope_squares=slope_squares)
        assert sums.share == pytest.approx(1.0 - live_share, abs=1e-15)
    assert FrozenSums(0, slope_sum=1e9, slope_squares=1.0).share == 0.0  # and nothing overflows
    # Two targets: differences of the losses, and slopes; 0 and 3 targets came between.
    sums = FrozenSums(7).add(np.array([3.0, -1.0]), np.array([0.5, -2.0]), np.array([0.0, 3.0]))
    assert (sums.told, sums.loss_difference) == (7, 3.0 - 1.0)
    assert sums.squared_differences == 0.5 * 9.0 + 3.5 * 1.0
    assert (sums.slope_sum, sums.slope_squares) == (0.5 - 2.0, 0.25 + 7.0 * 4.0)


def values(ticket):
    """What a ticket says, as numbers."""
    return (
        [ticket.prediction] if ticket.probabilities is None else list(ticket.probabilities.values())
    )


def filled(ticket, like):
    """The chances of labels that were not known yet are those of the other."""
    return [
        (ticket.probabilities | dict(like.probabilities) | ticket.probabilities)[label]
        for label in like.probabilities
    ]


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_blocks_saves_and_loads_change_nothing(task):
    xs, ys = rows(task)
    one, many = played(LateModel(task), xs, ys, save=True), played(LateModel(task), xs, ys)
    assert one[1] == many[1]
    assert one[0]._frozen.sums == many[0]._frozen.sums
    assert one[0]._frozen.sums.loss_difference != 0.0
    # Those that are told together: the anchor is the model before the first of them that is late.
    three, by_three = (
        played(LateModel(task), xs, ys, block=3),
        played(LateModel(task), xs, ys, block=3, save=True),
    )
    assert three[1] == by_three[1]
    asked = LateModel(task)
    for x, y in zip(xs[:HISTORY], ys, strict=False):
        asked.tell(asked.ask(x), y)
    rest, truths = asked.ask_many(xs[HISTORY:]), ys[HISTORY:]
    single, block = LateModel.from_state(asked.state()), LateModel.from_state(asked.state())
    for ticket, y in zip(rest, truths, strict=True):
        single.tell(ticket, y)
    block.tell_many(rest, truths)
    assert single._frozen.sums.told == block._frozen.sums.told == HISTORY + 1
    assert single.ask(xs[0]) == block.ask(xs[0])


def test_a_model_that_is_told_at_once_or_has_learned_little_has_none(monkeypatch):
    xs, ys = rows("regression")
    model = LateModel("regression")
    for x, y in zip(xs, ys, strict=True):
        model.tell(model.ask(x), y)
    assert not model._was_copied
    monkeypatch.setattr(frozen_copy, "MIN_TOLD", ROWS + 1)
    assert not played(LateModel("regression"), xs, ys)[0]._was_copied


def test_it_is_let_go_when_it_has_nothing_to_say_and_does_not_come_back(monkeypatch):
    monkeypatch.setattr(
        frozen_copy, "DROP_EXPONENT", 0.0
    )  # as soon as the model is ahead by anything
    xs, ys = rows("regression")
    model, _ = played(LateModel("regression"), xs, ys)
    assert model._frozen is None
    assert model._was_copied
    assert "frozen" not in model.summary()
    again = LateModel.from_state(model.state())
    again.tell_many(list(again.pending), ys[-DELAY:])
    assert again._frozen is None


def test_damaged_files_are_refused():
    xs, ys = rows("regression")
    model, _ = played(LateModel("regression"), xs, ys)
    state = model.state()
    assert "itself as of answer 26" in model.summary()
    wrong = {
        "frozen.squared_differences": -1.0,
        "frozen.told": 0.5,
        "frozen.loss_difference": math.nan,
        "pending.blocks.0.frozen": np.ones((DELAY, 2, 2)),
    }
    for name, value in (
        wrong | {"frozen.slope_sum": math.inf, "frozen.slope_squares": -1.0}
    ).items():
        with pytest.raises(ValueError, match="not one of a LateModel"):
            LateModel.from_state(state | {name: value})


def test_it_is_dropped_when_its_weight_falls_below_a_thousandth():
    squares = 7.0
    # exponential weights of 0.001, by hand
    edge = -math.log(0.9 * 999.0 / 0.1) * math.sqrt(squares / (2.0 * math.log(10.0)))
    nothing = np.zeros(1)
    stays = [
        FrozenSums(0, edge * factor, squares).add(nothing, nothing, nothing) is not None
        for factor in (0.999, 1.001, -1.001)
    ]
    assert stays == [True, False, True]
    differences = np.array([0.002 * edge, -10.0 * edge])  # over the edge, and back
    sums = FrozenSums(0, 0.999 * edge, squares)
    assert sums.add(differences, np.zeros(2), np.zeros(2)) is None
    assert sums.add(differences[1:], nothing, nothing) is not None
