"""Kernels compiled before they are needed: all of them by ``swordplay warm``, some beside a run
that will come to them.

numba compiles one function at a time in a process, so what is to go faster is compiled by several
processes. They share what they compile through the disk (``compile.kernel_cache``).

A kernel is compiled for the types of its arguments, and these are what the code that calls it hands
over. So a recipe does something small that calls the kernels of a room. Whoever adds kernels adds a
recipe, or calls them in one that is there.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from swordplay.core.types import Matrix, Vector


class KernelSet(NamedTuple):
    """Something small that calls the kernels of a room."""

    what: str
    """What the kernels are for, in a few words."""
    cook: Callable[[Matrix, Vector], None]
    """Calls them, given features and targets."""
    source: str = ""
    """The file, below the package, of kernels that a run comes to only after others: they can be
    compiled beside it.
    """


def _learn(features: Matrix, targets: Vector) -> None:
    from swordplay.estimators.column_scaler import ColumnStats
    from swordplay.estimators.linear_model import LinearModel

    model = LinearModel(features.shape[1])
    model.predict_then_learn(features, targets)
    model.predict(features)
    columns = ColumnStats(features.shape[1])
    columns.scale_and_update(features)
    columns.scale(features)


def _intervals(features: Matrix, targets: Vector) -> None:
    from swordplay.intervals import SwordIntervals

    SwordIntervals().interval_then_learn(targets, targets, features)


def _steps(features: Matrix, targets: Vector) -> None:
    from swordplay.estimators.linear_model import LinearModel
    from swordplay.estimators.workspace import Workspace
    from swordplay.tracking.rungs import COUNT, Places, Rungs

    model, rungs = LinearModel(features.shape[1]), Rungs(features.shape[1])
    losses = Places(np.zeros((1, COUNT)))
    told = Workspace(model, features, targets)
    for written in (told.scaled, told.squared_norms, told.relative_targets, told.rounds):
        written[:] = 0.0  # what a model writes when it learns: here nothing
    rungs.play_values(told, losses)
    rungs.play_labels(told, np.zeros(len(targets)), losses)


def _curves(features: Matrix, targets: Vector) -> None:
    from swordplay.estimators.second_order_layer import SecondOrderLayer

    second = SecondOrderLayer(features.shape[1], logistic=False, intercept=True, lags=0)
    second.learn(features, targets, None, targets, np.ones((len(targets), 2)))
    second.predict(features, targets, 1)


def _keys(features: Matrix, targets: Vector) -> None:
    from swordplay.keyed import Keyed
    from swordplay.keyed.key_table import KeyTable
    from swordplay.keyed.record_layout import KeyModel
    from swordplay.tracking.bulk_kernel import hold, judge, sort_by_key

    keys, model = [0, 1] * (len(targets) // 2), Keyed()
    model.predict_then_learn(keys, features, targets)
    model.predict(keys, features)
    table = KeyTable(KeyModel(features.shape[1], "squared", level=0.9))
    numbers = table.add([0])[np.zeros(len(targets), dtype=np.int64)]
    found = table.intervals(numbers, targets, targets)
    sums, seen = np.zeros((1, 3)), np.zeros(len(targets), dtype=bool)
    judge(numbers, targets, targets, np.zeros(1), np.zeros(1), numbers[:1].copy(), sums, seen)
    hold(numbers, targets, found, np.zeros((1, 3)))
    sort_by_key(numbers, numbers[:1].copy(), numbers.copy())


def _late(features: Matrix, targets: Vector) -> None:
    from swordplay.late import LateModel

    rows, labels = (
        [dict(zip("ab", row, strict=True)) for row in features.tolist()],
        ["a", "b", "c"] * (len(targets) // 3),
    )
    for task, truths in (("regression", targets.tolist()), ("classification", labels)):
        model = LateModel(task)
        for _ in range(
            2
        ):  # models come into being with the first answers: only then rows can be late
            tickets = model.ask_many(rows)
            model.tell(tickets[0], truths[0])
            model.tell_many(tickets[1:], truths[1:])


def _games(features: Matrix, targets: Vector) -> None:
    import swordplay as sp

    stream, ball = sp.LinearStream(features, targets), sp.Ball(features.shape[1])
    for domain in (ball, sp.Simplex(features.shape[1])):
        sp.play(sp.Sword(domain), stream, engine="compiled")
    online = sp.engine.online(sp.Sword(ball))
    online.predict(features[0])
    online.learn(features[0], float(targets[0]))
    sp.engine.play_many([sp.Sword(ball)], features[None], targets[None])


def _field(features: Matrix, targets: Vector) -> None:
    import swordplay as sp

    ball = sp.Ball(features.shape[1])
    make = functools.partial(
        sp.SwordPlusPlus, ball, horizon=len(targets), gradient_bound=10.0, smoothness=10.0
    )
    sp.play(make(), sp.LinearStream(features, targets), engine="compiled")
    sp.engine.online(make()).learn(features[0], float(targets[0]))
    sp.engine.play_many([make()], features[None], targets[None])


def _sparse(features: Matrix, targets: Vector) -> None:
    try:
        from scipy.sparse import csr_array
    except (
        ModuleNotFoundError
    ):  # sparse rows are scipy's: whoever has none needs no kernels for them
        return
    import swordplay as sp

    ball = sp.Ball(features.shape[1])
    plus = sp.SwordPlusPlus(ball, horizon=len(targets), gradient_bound=10.0, smoothness=10.0)
    for learner in (sp.Sword(ball), plus):
        sp.play(learner, sp.LinearStream(csr_array(features), targets), engine="compiled")


def _combine(features: Matrix, targets: Vector) -> None:
    from swordplay.estimators.forecast_mixture import ForecastMixture

    ForecastMixture(features.shape[1]).predict_then_learn(features, targets)


def _tables(features: Matrix, targets: Vector) -> None:
    try:
        import pyarrow as pa
    except ModuleNotFoundError:  # tables are read by it: whoever has none reads none
        return
    from swordplay.tables.date_parser import DateParser
    from swordplay.tables.records import boundaries

    boundaries(b'"a","b"\n', ",")
    DateParser("dmy", ".").parse(pa.array(["31.12.2026"]))


def _hindsight(features: Matrix, targets: Vector) -> None:
    import swordplay as sp

    for columns in (1, 2):
        sp.hindsight.best_sequence(
            sp.LinearStream(features[:, :columns], targets), sp.Ball(columns), penalty=0.1
        )


RECIPES: Mapping[str, KernelSet] = {
    "late": KernelSet("answers that come late, and servers", _late),
    "keys": KernelSet("a model per key", _keys),
    "games": KernelSet("the learners of the game", _games),
    "field": KernelSet("Sword++, and one projection a round", _field),
    "sparse": KernelSet("sparse rows", _sparse),
    "learn": KernelSet("learning rows, one step size beside the other", _learn),
    "intervals": KernelSet("intervals", _intervals, "intervals/kernel.py"),
    "curves": KernelSet("second-order experts", _curves, "engine/second_order/layer.py"),
    "hindsight": KernelSet("the best comparators of hindsight", _hindsight),
    "combine": KernelSet("forecasts of others, combined", _combine),
    "tables": KernelSet("quotes and dates in tables", _tables),
    "steps": KernelSet("single step sizes, to compare with", _steps, "engine/step_size_grid.py"),
}
"""By name; those first that take longest, so that no process is left alone with one at the end."""


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
    """Let several processes cook recipes, each one after the other; tell of each when it is done.

    One that fails is the last.

    Kernels share pieces, and a process that has cooked one recipe has the pieces for the next: all
    recipes take half the computing that they would take in processes of their own.
    """
    waiting, done = deque(names), queue.SimpleQueue[Cooked]()
    cooks = [_started((), subprocess.PIPE) for _ in range(min(processes, len(names)))]
    threads = [
        threading.Thread(target=_employ, args=(process, waiting, done), daemon=True)
        for process in cooks
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in names:
            yield (found := done.get())
            if found.error:
                return
    finally:
        waiting.clear()
        for process in cooks:
            process.terminate()
        for thread in threads:
            thread.join()  # as its process has ended, it waits for nothing
        for process in cooks:
            process.communicate()


def _employ(
    process: subprocess.Popen[bytes], waiting: deque[str], done: queue.SimpleQueue[Cooked]
) -> None:
    """Hand a process one recipe after the other, as long as some wait and none fails."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    error = ""
    while not error:
        try:
            name = waiting.popleft()
        except IndexError:
            return
        began = time.monotonic()
        with contextlib.suppress(OSError):  # it has ended: it says why below
            process.stdin.write(f"{name}\n".encode())
            process.stdin.flush()
        if not process.stdout.readline():
            said = process.stderr.read().decode(errors="replace").strip().splitlines()
            error = said[-1] if said else f"its process ended with code {process.wait()}"
        done.put(Cooked(name, time.monotonic() - began, error))


def beside(names: Sequence[str]) -> None:
    """Begin to compile in another process what a run will come to later, unless it is kept already
    or nothing can be kept.

    The run waits for it where it comes to it, and ends it at its own end.
    """
    from swordplay.compile import JIT_DISABLED, kernel_cache
    from swordplay.compile.kernel_folders import PACKAGE, can_store_kernels

    missing = [
        name for name in names if not kernel_cache.has_kernels(PACKAGE / RECIPES[name].source)
    ]
    if JIT_DISABLED or not missing or (os.cpu_count() or 1) < 2 or not can_store_kernels():
        return
    process = _started(missing)
    atexit.register(_stop, process)
    for name in missing:
        kernel_cache.register_wait(PACKAGE / RECIPES[name].source, process.wait)


def say_before_compiling(say: Callable[[str], None]) -> None:
    """Say with this function, once a process, that kernels are compiled."""
    from swordplay.compile import kernel_cache

    kernel_cache.set_compile_notice(say)


def cook_each(names: Iterable[str]) -> None:
    """Cook recipes, and say the name of each on standard output when it is done."""
    for name in names:
        cook(name)
        print(name, flush=True)


def _started(names: Sequence[str], talk: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """A process that cooks these, or those that it is told on its standard input.

    It finds the package where this one does.
    """
    code = f"import sys; sys.path[:0] = {[path for path in sys.path if path]!r}; " + (
        f"from swordplay.cli import warming; warming.cook_each({list(names)!r} or "
        "map(str.strip, sys.stdin))"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=talk, stdout=talk, stderr=subprocess.PIPE
    )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End it if it has not ended, and forget what it had to say."""
    if process.poll() is None:
        process.terminate()
    process.communicate()
