"""Kernels compiled before they are needed: all of them by ``swordplay warm``, some beside a run that will come to them.

numba compiles one function at a time in a process, so what is to go faster is compiled by several processes. They share what
they compile through the disk (``base.kept_code``).

A kernel is compiled for the types of its arguments, and these are what the code that calls it hands over. So a recipe does
something small that calls the kernels of a room. Whoever adds kernels adds a recipe, or calls them in one that is there.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from swordplay.base.types import Matrix, Vector


class Recipe(NamedTuple):
    """Something small that calls the kernels of a room."""

    what: str
    """What the kernels are for, in a few words."""
    cook: Callable[[Matrix, Vector], None]
    """Calls them, given features and targets."""
    source: str = ""
    """The file, below the package, of kernels that a run comes to only after others: they can be compiled beside it."""


def _learn(features: Matrix, targets: Vector) -> None:
    from swordplay.estimators.heads import Heads

    heads = Heads(features.shape[1])
    heads.add()
    heads.learn(features, targets)
    heads.predict(features)


def _intervals(features: Matrix, targets: Vector) -> None:
    from swordplay.intervals import SwordIntervals

    SwordIntervals().interval_then_learn(targets, targets, features)


def _steps(features: Matrix, targets: Vector) -> None:
    from swordplay.application.tracking.rungs import COUNT, Rungs
    from swordplay.estimators.heads import Heads
    from swordplay.estimators.scratch import Scratch

    heads, rungs, losses = Heads(features.shape[1]), Rungs(features.shape[1]), np.zeros(COUNT)
    heads.add()
    told = Scratch.make(len(targets), heads.columns.width, heads.stack)  # what a model writes when it learns: here nothing
    for written in (told.scaled, told.norms, told.goals, told.where):
        written[:] = 0.0
    rungs.play_values(told, losses)
    rungs.play_labels(told, np.zeros(len(targets)), losses)


def _curves(features: Matrix, targets: Vector) -> None:
    from swordplay.estimators.scaler import Scaler
    from swordplay.estimators.second_order import SecondOrder

    Scaler(features.shape[1]).middles(features, 0)  # for entries that are missing
    second = SecondOrder(features.shape[1], logistic=False, intercept=True, lags=0)
    second.learn(features, targets, None, targets, np.ones((len(targets), 2)))
    second.predict(features, targets, 1)


def _keys(features: Matrix, targets: Vector) -> None:
    from swordplay.application.tracking.bulk_kernel import judge
    from swordplay.keyed import Keyed
    from swordplay.keyed.bands import BandForm

    keys, model = [0, 1] * (len(targets) // 2), Keyed()
    model.predict_then_learn(keys, features, targets)
    model.predict(keys, features)
    numbers, bands = np.zeros(len(targets), dtype=np.int64), BandForm(0.9)
    bands.play(bands.fresh[None].copy(), numbers[:1], np.array([0, len(targets)]), targets, targets)
    sums, seen = np.zeros((1, 3)), np.zeros(len(targets), dtype=bool)
    judge(numbers, targets, targets, np.zeros(1), np.zeros(1), numbers[:1].copy(), sums, seen)


def _late(features: Matrix, targets: Vector) -> None:
    from swordplay.late import LateModel

    rows, labels = [dict(zip("ab", row, strict=True)) for row in features.tolist()], ["a", "b", "c"] * (len(targets) // 3)
    for task, truths in (("regression", targets.tolist()), ("classification", labels)):
        model = LateModel(task)
        for _ in range(2):  # models come into being with the first answers: only then rows can be late
            tickets = model.ask_many(rows)
            model.tell(tickets[0], truths[0])
            model.tell_many(tickets[1:], truths[1:])


def _games(features: Matrix, targets: Vector) -> None:
    import swordplay as sp

    stream = sp.LinearStream(features, targets)
    for domain in (sp.Ball(features.shape[1]), sp.Simplex(features.shape[1])):
        sp.play(sp.Sword(domain), stream, engine="compiled")
    online = sp.engine.online(sp.Sword(sp.Ball(features.shape[1])))
    online.predict(features[0])
    online.learn(features[0], float(targets[0]))


RECIPES: Mapping[str, Recipe] = {
    "learn": Recipe("learning rows, one step size beside the other", _learn),
    "intervals": Recipe("intervals", _intervals, "intervals/rounds.py"),
    "steps": Recipe("single step sizes, to compare with", _steps, "engine/ladder.py"),
    "late": Recipe("answers that come late, and servers", _late),
    "curves": Recipe("second-order experts", _curves, "engine/curved/rounds.py"),
    "keys": Recipe("a model per key", _keys),
    "games": Recipe("the learners of the game", _games),
}
"""By name, those first that take longest, so that no process is left alone with one at the end."""


def cook(name: str) -> None:
    """Call the kernels of a recipe: what is not kept on disk yet is compiled, and kept."""
    rng = np.random.default_rng(0)
    RECIPES[name].cook(rng.normal(size=(12, 2)), rng.normal(size=12))


class Cooked(NamedTuple):
    """A recipe that is done."""

    name: str
    seconds: float
    error: str
    """What went wrong; empty if nothing did."""


def cook_all(names: Sequence[str], processes: int) -> Iterator[Cooked]:
    """Let several processes cook recipes, each one at a time; tell of each when it is done."""
    waiting = list(names)
    running: list[tuple[str, float, subprocess.Popen[bytes]]] = []
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                name = waiting.pop(0)
                running.append((name, time.monotonic(), _started([name])))
            done = next((one for one in running if one[2].poll() is not None), None)
            if done is None:
                time.sleep(0.02)
                continue
            running.remove(done)
            name, began, process = done
            _, said = process.communicate()
            error = said.decode(errors="replace").strip().splitlines()[-1:] if process.returncode else []
            yield Cooked(name, time.monotonic() - began, error[0] if error else "")
    finally:
        for _, _, process in running:
            _stop(process)


def beside(names: Sequence[str]) -> None:
    """Begin to compile in another process what a run will come to later, unless it is kept already or nothing can be kept.

    The run waits for it where it comes to it, and ends it at its own end.
    """
    from swordplay.base import compiling, kept_code

    missing = [name for name in names if not compiling.is_kept(RECIPES[name].source)]
    if compiling.DISABLED or not missing or (os.cpu_count() or 1) < 2 or not compiling.can_be_kept():
        return
    process = _started(missing)
    atexit.register(_stop, process)
    for name in missing:
        kept_code.expect(compiling.PACKAGE / RECIPES[name].source, process.wait)


def _started(names: Sequence[str]) -> subprocess.Popen[bytes]:
    """A process that cooks, and finds the package where this one has found it."""
    code = f"import sys; sys.path[:0] = {[path for path in sys.path if path]!r}; " + (
        f"from swordplay.application import warming; [warming.cook(name) for name in {list(names)!r}]"
    )
    nothing = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-c", code], stdin=nothing, stdout=nothing, stderr=subprocess.PIPE)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End it if it has not ended, and forget what it had to say."""
    if process.poll() is None:
        process.terminate()
    process.communicate()
