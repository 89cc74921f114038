"""Several threads on one model: calls are taken one after the other, and the result is that of
some order of them.
"""

import copy
import functools
import itertools
import os
import pickle
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone

import swordplay as sp
from swordplay import river, sklearn
from swordplay.core import checkpoint, model_lock
from swordplay.late import LateModel

ROUNDS = 150
HOUR = 3600.0
PERIOD, BURST = 1.0, 0.06
"""Seconds: over an hour four threads wake together once a period and call for as long as a
burst, as clients of a server do.
"""


def together(*calls):
    """Run calls at once; the first error is raised."""
    errors = []
    gate = threading.Barrier(len(calls))

    def go(call):
        gate.wait()
        try:
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=go, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=HOUR + 600)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def everything(model):
    return checkpoint.dumps(model.state(), kind="x")


def test_names_join_while_others_predict():
    model, twin = river.SwordRegressor(), river.SwordRegressor()
    rows = [({f"n{k}": 1.0, "b": float(k % 7)}, float(k % 5)) for k in range(ROUNDS)]

    def learn():
        for x, y in rows:
            model.learn_one(x, y)

    def predict():
        for x, _ in rows:
            assert np.isfinite(model.predict_one(x))

    together(learn, predict, predict)
    for x, y in rows:
        twin.learn_one(x, y)
    assert everything(model._model) == everything(twin._model)  # who only asks leaves no trace


def learn_all(model, rows):
    for x, y in rows:
        model.learn_one(x, y)


@pytest.mark.parametrize("kind", ["SwordRegressor", "SwordClassifier"])
def test_two_learn_as_if_they_took_turns(kind):
    rows = [[({f"{who}{k}": 1.0 + k, "c": 2.0}, k % 3) for k in range(3)] for who in "ab"]
    orders = []
    for first in itertools.combinations(range(6), 3):  # the turns that the first one has
        left = [list(mine) for mine in rows]
        twin = getattr(river, kind)()
        for turn in range(6):
            twin.learn_one(*left[turn not in first].pop(0))
        orders.append(everything(twin._model))
    for _ in range(30):
        model = getattr(river, kind)()
        together(*(functools.partial(learn_all, model, mine) for mine in rows))
        assert everything(model._model) in orders


def test_predict_during_partial_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    for model, y in (
        (sklearn.SwordRegressor(), X[:, 0]),
        (sklearn.SwordClassifier(), X[:, 0] > 0),
        (sklearn.SwordAggregator(), X[:, 0]),
    ):
        model.fit(X, y)
        ask = getattr(model, "predict_proba", model.predict)

        def learn(model=model, y=y):
            for _ in range(ROUNDS):
                model.partial_fit(X, y)

        def predict(ask=ask, model=model):
            for _ in range(ROUNDS):
                assert np.isfinite(ask(X)).all()
                assert np.isfinite(model.effective_step_size_)

        together(learn, learn, predict, predict)
        assert (
            model.model_.counts.sum()
            if hasattr(model.model_, "counts")
            else model.model_.rounds == (2 * ROUNDS + 1) * len(X)
        )


def test_the_online_engine():
    model, rng = sp.engine.online(sp.Sword(sp.Ball(3, radius=5.0))), np.random.default_rng(0)
    rows = rng.normal(size=(ROUNDS, 3))

    def learn():
        for row in rows:
            model.learn(row, float(row[0]))

    together(learn, learn, lambda: [model.predict(row) for row in rows])
    assert model.rounds == 2 * ROUNDS
    assert np.isfinite(model.decision).all()


class TakenError(Exception):
    """Somebody wanted the lock."""


class Taken:
    """A lock that nobody gets."""

    def __enter__(self):
        raise TakenError

    def __exit__(self, *error):
        """Nobody comes here."""


PUBLIC = [
    (kind, name)
    for library in (sklearn, river)
    for kind in (getattr(library, one) for one in library.__all__)
    for name in dir(kind)
    if not name.startswith("_")
    and any(
        name in vars(base) and issubclass(base, model_lock.LockedModel) for base in kind.__mro__
    )
]


@pytest.mark.parametrize(
    ("kind", "name"), PUBLIC, ids=lambda one: one if isinstance(one, str) else one.__module__
)
def test_every_public_method_holds_the_lock(kind, name):
    found = next(vars(base)[name] for base in kind.__mro__ if name in vars(base))
    if isinstance(found, classmethod | staticmethod) or not (
        callable(found) or isinstance(found, property)
    ):
        return
    function = found.fget if isinstance(found, property) else found
    if getattr(function, "locks_itself", False):
        model = kind()
        model._lock = Taken()
        with pytest.raises(TakenError):
            getattr(model, name)({"a": 1.0}, *[1.0] * (name == "learn_one"))
    else:
        assert hasattr(function, "__wrapped__"), f"{name} can be called while another thread learns"


def learned():
    model = river.SwordClassifier()
    for k in range(40):
        model.learn_one({"a": float(k % 5), "b": 1.0}, k % 3)
    return model


def test_copies_have_a_lock_of_their_own():
    model = learned()
    for twin in (
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
        copy.copy(model),
        model.clone(),
    ):
        assert twin._lock is not model._lock
        twin.learn_one({"a": 1.0, "b": 2.0}, 1)
    fitted = sklearn.SwordRegressor().fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 3.0])
    for twin in (clone(fitted), copy.deepcopy(fitted), pickle.loads(pickle.dumps(fitted))):
        assert twin._lock is not fitted._lock
        assert "_lock" not in vars(twin)
        twin.fit([[1.0], [2.0]], [1.0, 2.0])


def test_a_copy_made_while_another_thread_learns_is_whole():
    model, stop = learned(), threading.Event()

    def learn():
        k = 0
        while not stop.is_set():
            k += 1
            model.learn_one({f"n{k % 60}": 1.0}, k % 3)

    def duplicate():
        try:
            for _ in range(20):
                for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
                    twin.learn_one({"a": 1.0}, 1)
                    assert np.isfinite(list(twin.predict_proba_one({"a": 1.0}).values())).all()
        finally:
            stop.set()

    together(learn, duplicate)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_another_thread_learns():
    model, stop = learned(), threading.Event()

    def learn():
        k = 0
        while not stop.is_set():
            k += 1
            model.learn_one({f"n{k % 60}": 1.0}, k % 3)

    def fork():
        try:
            for _ in range(10):
                child = os.fork()
                if not child:
                    model.learn_one({"a": 1.0}, 1)
                    os._exit(
                        0
                        if np.isfinite(list(model.predict_proba_one({"a": 1.0}).values())).all()
                        else 1
                    )
                deadline = time.monotonic() + 60
                while (done := os.waitpid(child, os.WNOHANG)) == (0, 0):
                    assert time.monotonic() < deadline, (
                        "the child waits for a lock that nobody holds"
                    )
                    time.sleep(0.005)
                assert done[1] == 0
        finally:
            stop.set()

    together(learn, fork)


class Turns:
    """A model's lock that notes who got it, in which order."""

    def __init__(self, lock):
        self.lock, self.depth, self.order = lock, 0, []

    def __enter__(self):
        self.lock.acquire()
        if not self.depth:
            self.order.append(threading.get_ident())
        self.depth += 1

    def __exit__(self, *_):
        self.depth -= 1
        self.lock.release()


def number_row(rng):
    return {f"n{k}": float(rng.normal()) for k in rng.integers(0, 40, size=3)}


def river_calls(model, rng):
    """Calls without end, the same for the same generator: what is learned, and what is asked."""
    target = (
        (lambda: int(rng.integers(0, 4)))
        if isinstance(model, river.SwordClassifier)
        else rng.normal
    )
    ask = getattr(model, "predict_proba_one", model.predict_one)
    while True:
        yield (
            (model.learn_one, (number_row(rng), target()))
            if rng.random() < 0.5
            else (ask, (number_row(rng),))
        )


def sklearn_calls(model, rng):
    ask = getattr(model, "predict_proba", model.predict)
    labels = isinstance(model, sklearn.SwordClassifier)
    while True:
        X = rng.normal(size=(rng.integers(1, 6), 4))
        y = rng.integers(0, 3, size=len(X)) if labels else rng.normal(size=len(X))
        yield (model.partial_fit, (X, y)) if rng.random() < 0.5 else (ask, (X,))


def late_calls(model, rng):
    mine = []
    while True:
        if mine and rng.random() < 0.5:
            yield model.tell, (mine.pop(int(rng.integers(len(mine)))), float(rng.normal()))
        else:
            mine.append((yield model.ask, (number_row(rng),)))


def online_calls(model, rng):
    while True:
        row = rng.normal(size=3)
        yield (
            (model.learn, (row, float(rng.normal())))
            if rng.random() < 0.5
            else (model.predict, (row,))
        )


MODELS = {
    "river numbers": (river.SwordRegressor, river_calls),
    "river classes": (river.SwordClassifier, river_calls),
    "sklearn numbers": (
        lambda: sklearn.SwordRegressor().fit(np.eye(4), np.arange(4.0)),
        sklearn_calls,
    ),
    "sklearn classes": (
        lambda: sklearn.SwordClassifier().fit(np.eye(4), [0, 1, 2, 0]),
        sklearn_calls,
    ),
    "sklearn aggregator": (
        lambda: sklearn.SwordAggregator().fit(np.eye(4), np.arange(4.0)),
        sklearn_calls,
    ),
    "late": (lambda: LateModel("regression"), late_calls),
    "engine": (lambda: sp.engine.online(sp.Sword(sp.Ball(3, radius=5.0))), online_calls),
}


def answered(calls, answer):
    """What the next call answers, in a form that can be compared.

    ``answer`` is that of the call before.
    """
    function, arguments = calls.send(answer)
    return function(*arguments)


def comparable(answer):
    if isinstance(answer, dict):
        return sorted(answer.items())
    return (
        answer.tolist()
        if isinstance(answer, np.ndarray)
        else answer
        if isinstance(answer, float)
        else None
    )


def shared(name, seed, seconds, burst=np.inf):
    """Four threads on one model, each with calls of its own.

    Every answer is that of the same calls one after the other.
    """
    make, calls_of = MODELS[name]
    model, heard, places = make(), {}, {}
    model._lock = turns = Turns(model._lock)
    end = time.monotonic() + seconds

    def live(who):
        calls, answer, mine = calls_of(model, np.random.default_rng([seed, who])), None, []
        places[threading.get_ident()], heard[who] = who, mine
        while (now := time.monotonic()) < end or len(mine) < 3:  # some calls on a busy machine
            if now % PERIOD > burst:
                time.sleep(PERIOD - now % PERIOD)
            answer = answered(calls, answer)
            mine.append(comparable(answer))

    together(*(functools.partial(live, who) for who in range(4)))
    order = [places[ident] for ident in turns.order]
    twin = make()
    calls = [calls_of(twin, np.random.default_rng([seed, who])) for who in range(4)]
    last, left = [None] * 4, [iter(heard[who]) for who in range(4)]
    for who in order:
        last[who] = answered(calls[who], last[who])
        assert comparable(last[who]) == next(left[who])
    assert [list(rest) for rest in left] == [[]] * 4
    return order


@pytest.mark.parametrize("name", MODELS)
def test_four_threads_get_what_one_would(name):
    order = shared(name, seed=1, seconds=0.3)
    assert len(set(order)) == 4


@pytest.mark.deep
@pytest.mark.parametrize("name", MODELS)
def test_an_hour_of_four_threads_on_one_model(name):
    """SWORDPLAY_SECONDS shortens it. The comparison comes on top."""
    order = shared(
        name, seed=2, seconds=float(os.environ.get("SWORDPLAY_SECONDS", HOUR)), burst=BURST
    )
    assert len(set(order)) == 4
    turns = sum(one != other for one, other in itertools.pairwise(order))
    print(f"{name}: {len(order):,} calls, {turns:,} times another thread had its turn", flush=True)
