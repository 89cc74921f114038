"""Fingerprints tell apart all that makes a game another one, and nothing else; they are the same in every process."""

import functools
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import swordplay as sp
from swordplay.theory.fingerprints import fingerprint
from swordplay.theory.sweeps import sweep

STEP = 0.1
LONG = np.zeros(5000)
LONG[2500] = 1.0
"""Its repr shows the first and last three entries."""


class Maker:
    """Makes learners, with a step size that its repr does not show."""

    factor = 1.0

    def __init__(self, step):
        self.step = step

    def __repr__(self):
        return "Maker()"

    def __call__(self, stream):
        return sp.OGD(stream.domain, self.factor * self.step)

    def make(self, stream):
        return sp.OGD(stream.domain, self.step)


def by_scale(stream, table=None, scale=None, names=None):
    return sp.OGD(stream.domain, STEP if scale is None else scale(1.0))


def twice(value):
    return 2.0 * value


def thrice(value):
    return 3.0 * value


@functools.cache
def kept(value):
    return value


def other_step(monkeypatch):
    monkeypatch.setitem(globals(), "STEP", 0.2)


PAIRS = {
    "callable objects": (Maker(0.1), Maker(0.2)),
    "bound methods": (Maker(0.1).make, Maker(0.2).make),
    "arrays beyond 1,000 entries": (functools.partial(by_scale, table=np.zeros(5000)), functools.partial(by_scale, table=LONG)),
    "arrays of objects": (
        functools.partial(by_scale, table=np.array(["a", None], dtype=object)),
        functools.partial(by_scale, table=np.array(["b", None], dtype=object)),
    ),
    "types of arrays": (
        functools.partial(by_scale, table=np.zeros(2)),
        functools.partial(by_scale, table=np.zeros(2, dtype=np.int64)),
    ),
    "data frames": (
        functools.partial(by_scale, table=pd.DataFrame({"x": np.zeros(5000)})),
        functools.partial(by_scale, table=pd.DataFrame({"x": LONG})),
    ),
    "functions as arguments": (functools.partial(by_scale, scale=twice), functools.partial(by_scale, scale=thrice)),
    "code": (lambda stream: sp.OGD(stream.domain, 0.1), lambda stream: sp.OGD(stream.domain, 0.2)),
    "sets": (functools.partial(by_scale, names={"a", "b"}), functools.partial(by_scale, names={"a", "c"})),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_repr_does_not_show_is_told_apart(name):
    one, other = PAIRS[name]
    assert fingerprint("it", one) == fingerprint("it", one)
    assert fingerprint("it", one) != fingerprint("it", other)


def test_a_resumed_sweep_plays_what_repr_does_not_show(tmp_path):
    streams = {"jumps": functools.partial(sp.streams.drift.jumps, 100, 3)}
    losses = [
        sweep({"OGD": make}, streams, file=tmp_path / "book.jsonl")[0]["total_loss"]
        for make in (Maker(0.1), Maker(0.2), Maker(0.1).make, Maker(0.3).make)
    ]
    assert losses[0] == losses[2]
    assert len(set(losses)) == 3


def test_values_of_the_module_count(monkeypatch):
    before = fingerprint("it", by_scale)
    other_step(monkeypatch)
    assert fingerprint("it", by_scale) != before


def test_what_a_class_defines_counts(monkeypatch):
    before = fingerprint("it", Maker(0.1))
    monkeypatch.setattr(Maker, "factor", 2.0)
    assert fingerprint("it", Maker(0.1)) != before


def test_the_function_behind_a_cache_counts(monkeypatch):
    before = fingerprint("it", kept)
    monkeypatch.setattr(kept, "__wrapped__", twice)
    assert fingerprint("it", kept) != before


def test_an_object_that_holds_itself_has_an_end():
    one, other = Maker(0.1), Maker(0.1)
    one.me = one
    other.me = other
    assert fingerprint("it", one) == fingerprint("it", other)
    assert fingerprint("it", one) != fingerprint("it", Maker(0.1))


def sets(stream):
    return sp.OGD(stream.domain, 0.1 if "some" in {"words", "in", "any", "order", "some"} else 0.2)


ELSEWHERE = "import test_fingerprints as t; print(t.fingerprint('it', t.sets), t.fingerprint('it', t.PAIRS['data frames'][1]))"


def test_another_process_says_the_same():
    """Whose sets are in another order: a set literal once made finished games be played again."""
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        said = subprocess.run([sys.executable, "-c", ELSEWHERE], env=environment, capture_output=True, text=True, check=True)
        assert said.stdout.split() == [fingerprint("it", sets), fingerprint("it", PAIRS["data frames"][1])]


@pytest.mark.parametrize("thing", [threading.Lock(), (number for number in range(3))])
def test_what_has_no_content_is_refused(tmp_path, thing):
    streams, learners = (
        {"jumps": functools.partial(sp.streams.drift.jumps, 100, 3)},
        {"OGD": functools.partial(by_scale, names=thing)},
    )
    with pytest.raises(TypeError, match=r"learner 'OGD' uses .* has no content .* call sweep without file"):
        sweep(learners, streams, file=tmp_path / "book.jsonl")
    assert len(sweep(learners, streams)) == 1
