"""Events that are done together leave what they leave one after the other, bit by bit, and are
answered the same.
"""

import asyncio
import json

import numpy as np
import pytest

from swordplay.serving.errors import RequestError
from swordplay.serving.group_commit import WaitingRequest, answers_first
from swordplay.serving.limits import Bounds, Limits
from swordplay.serving.log_format import Event
from swordplay.serving.models import Models
from swordplay.serving.requests import parse


def events(kind, count, seed):
    """Asks, tells and drops, some of them again, some wrong, some of several rows or for another
    key.
    """
    rng, made, asked = np.random.default_rng(seed), [], []

    def y():
        return {
            "number": float(rng.normal()),
            "yes-no": bool(rng.integers(2)),
            "classes": str(rng.integers(3)),
        }[kind]

    def row():
        return {
            "a": float(rng.normal()),
            "b": [1, "w", None, 2.5][0 if rng.random() < 0.99 else rng.integers(1, 4)],
        }

    what = 0.0
    for k in range(count):
        what = (
            what if what < 0.9 and rng.random() < 0.8 else rng.random()
        )  # several of the same one after the other
        key = {"key": "k"} if rng.random() < 0.1 else {}
        if what < 0.4 or not asked:
            ids = [f"{k}.{j}" for j in range(rng.integers(1, 4))]
            rows = [{"x": row(), **({"id": id} if rng.random() < 0.9 else {}), **key} for id in ids]
            asked += [(one["id"], key) for one in rows if "id" in one]
            made.append(("ask", rows if len(rows) > 1 else rows[0]))
        elif what < 0.9:
            some = [
                asked.pop(0) if rng.random() < 0.9 else asked[-1]
                for _ in range(min(len(asked) - 1, 2) + 1)
            ]
            told = [
                {"id": id, "y": y(), **key}
                for id, key in {id: (id, key) for id, key in some}.values()
            ]
            made.append(("tell", told if len(told) > 1 else told[0]))
        elif what < 0.95:
            id, key = asked[int(rng.integers(len(asked)))]
            made.append(("drop", {"id": id, **key}))
        else:
            made.append(made[int(rng.integers(len(made)))])
    return [Event(action, "default", kind, json.dumps(value).encode()) for action, value in made]


def alone(models, number, event):
    try:
        return models.apply(number, event, parse(event, Limits()))
    except RequestError as refusal:
        return refusal.body()


@pytest.mark.parametrize("kind", ["number", "yes-no", "classes"])
def test_together_is_one_after_the_other(kind, monkeypatch):
    bounds = Bounds(pending=80, remembered=30)
    one, many, made = Models(bounds), Models(bounds), events(kind, 700, 3)
    wanted = [alone(one, number, event) for number, event in enumerate(made, start=1)]
    rng, done, found, runs = np.random.default_rng(1), 0, [], 0
    apply = Models.apply

    def counted(models, number, event, request):
        nonlocal runs
        runs += 1
        return apply(models, number, event, request)

    monkeypatch.setattr(Models, "apply", counted)
    while done < len(made):
        part = made[done : done + int(rng.integers(1, 30))]
        outcomes = many.apply_group(done + 1, [(event, parse(event, Limits())) for event in part])
        found += [one.body() if isinstance(one, RequestError) else one for one in outcomes]
        done += len(part)
    assert found == wanted
    states = one.state(), many.state()
    assert states[0].keys() == states[1].keys()
    for name, value in states[0].items():
        assert np.asarray(value).tobytes() == np.asarray(states[1][name]).tobytes(), name
    assert (
        runs < len(made) - 80
    )  # and many of them did go together, though stretches of the watch are short at first
    assert any(isinstance(answer, dict) for answer in found)


def test_answers_go_before_rows_that_came_at_the_same_time():
    async def played():
        def waiting(action, value):
            event = Event(action, "default", "number", json.dumps(value).encode())
            return WaitingRequest(event, parse(event, Limits()), print)

        ask, tell, drop = (
            waiting("ask", {"x": {}, "id": "a"}),
            waiting("tell", {"id": "b", "y": 1}),
            waiting("drop", {"id": "c"}),
        )
        own = waiting("tell", {"id": "a", "y": 1})
        assert answers_first([ask, tell]) == [tell, ask]
        assert answers_first([ask, tell, ask, tell]) == [tell, tell, ask, ask]
        assert answers_first([ask, own]) == [
            ask,
            own,
        ]  # its answer, sent before it was known that the row had come
        assert answers_first([ask, drop, tell]) == [ask, drop, tell]
        assert answers_first([tell]) == [tell]

    asyncio.run(played())
