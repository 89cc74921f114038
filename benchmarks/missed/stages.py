"""The engine with parts taken away, to see what each of them costs: kernels that are compiled for
this and kept nowhere.

What is left computes something else, of course; its time is what matters. Parts are frozen into a
kernel when it is compiled, so the ones that call a part that is taken away are made anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from numba.core.caching import NullCache

import swordplay as sp
from benchmarks.timing import processor_seconds, timed
from benchmarks.workloads import KEPT, Workload
from swordplay.compile import expert_loop, inline, kernel, larger
from swordplay.engine import ball, certificate_sum, meta, rounds, step_sizes
from swordplay.engine.layout import LearnerArrays


@inline
def no_judge(me: Any, of: Any, prediction: float, target: float) -> float:
    """No gradients, no certificate, no losses for the meta."""
    return 0.0


@inline
def no_move(me: Any, of: Any, features: Any, target: float) -> float:
    """No steps."""
    return math.inf


@inline
def no_weigh(me: Any, of: Any, target: float) -> None:
    """Weights stay what they are."""


@inline
def no_look_back(live: Any, config: Any, of: Any, h: float) -> None:
    """Trust in guesses stays what it is."""


@inline
def no_settle(me: Any, of: Any, h: float, late: float, seen: Any) -> None:
    """The rate stays what it is."""


@inline
def no_adapt(me: Any, of: Any, h: float) -> None:
    """Steps stay what they are."""


@inline
def no_venture(me: Any) -> None:
    """Nobody notes how far experts have been, and how hard steps that change have pulled them."""


@inline
def no_overflow(me: Any, of: Any, target: float) -> bool:
    """Nobody looks whether a row would overflow."""
    return False


@inline
def one_form(now: float, before: float, of: Any) -> float:
    """norm(now a - before a')^2 by expanding the square alone, whatever cancels."""
    return float(
        larger(
            now * now * of.squared_norm
            + before * before * of.last_squared_norm
            - 2.0 * now * before * of.dot_last,
            0.0,
        )
    )


def anew(function: Any, make: Callable[[Any], Any] = inline) -> Any:
    """The same part, compiled once more."""
    return make(function.py_func)


@contextmanager
def replaced(module: Any, **names: Any) -> Iterator[None]:
    """Other things under some names of a module."""
    before = {name: getattr(module, name) for name in names}
    for name, value in names.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


def player(**parts: Any) -> Any:
    """A kernel like ``rounds.play_dense`` with other parts of the round."""
    usual = {
        "move": ball.move,
        "fork": ball.fork,
        "track_distance": step_sizes.track_dual_norm,
        "lean": certificate_sum.lean,
    }
    rows = rounds.make_rows(
        ball.decide, rounds.make_round(ball.measure, ball.predict, keep=ball.keep, **usual | parts)
    )

    def play_dense(
        coords: Any, numbers: Any, vectors: Any, live: Any, config: Any, features: Any, targets: Any, schedule: Any,  # noqa: E501
        predictions: Any, losses: Any, decisions: Any, weights: Any,
    ) -> int:  # fmt: skip
        me = LearnerArrays(coords, numbers, vectors, live, config)
        return int(rows(me, features, targets, schedule, predictions, losses, decisions, weights))

    found: Any = kernel(play_dense)
    found._cache = NullCache()
    return found


def variants() -> dict[str, tuple[dict[Any, dict[str, Any]], dict[str, Any]]]:
    """What is taken away: names replaced in modules while a kernel is compiled, and parts of the
    round, made anew there.
    """
    without_weights = {"update_trust": no_look_back, "weigh": no_weigh}
    rate = {"settle": no_settle}
    return {
        "pass": (
            {rounds: without_weights | {"judge": no_judge}, meta: rate},
            {"move": no_move, "track_distance": no_venture},
        ),
        "steps": ({rounds: without_weights | {"judge": None}, meta: rate}, {}),
        "whole": ({rounds: {"judge": None}}, {}),
        "unchecked": ({rounds: {"overflows": no_overflow, "judge": None}}, {}),
        "one form": (
            {
                meta: {"distance": one_form, "surprises": None, "settle": None},
                rounds: {"judge": None},
            },
            {},
        ),
        "fixed steps": (
            {rounds: without_weights | {"judge": None}, meta: rate | {"adapt": no_adapt}},
            {},
        ),
    }


PLACES = {
    "surprises": (meta, expert_loop),
    "settle": (meta, inline),
    "judge": (meta, inline),
}
"""Where parts that are made anew come from, and how."""


class Stage:
    """The engine as far as a variant goes.

    Parameters
    ----------
    name
        Of the variant.
    make
        Makes a fresh learner.
    world
        What it plays.
    """

    def __init__(self, name: str, make: Callable[[], Any], world: Workload) -> None:
        self.names, self.parts = variants()[name]
        self.make, self.world, self.stream = make, world, world.stream()
        self.best, self.around, self._inside = math.inf, math.inf, 0.0
        with ExitStack() as stack:
            for module, names in self.names.items():
                for one, value in names.items():
                    new = (
                        value
                        if value is not None
                        else anew(getattr(PLACES[one][0], one), PLACES[one][1])
                    )
                    stack.enter_context(replaced(module, **{one: new}))
            self.kernel = player(**self.parts)
            self._play(sp.LinearStream(world.features[:50], world.targets[:50]), make())  # compiles

    def turn(self) -> None:
        """Once more.

        The fastest turn counts: a round of the kernel, and what ``sp.play`` does around it.
        """
        learner, self._inside = self.make(), 0.0
        seconds, _ = timed(lambda: self._play(self.stream, learner), processor_seconds)
        self.best = min(self.best, self._inside / self.world.rounds * 1e6)
        self.around = min(self.around, (seconds - self._inside) / self.world.rounds * 1e6)

    def _play(self, stream: Any, learner: Any) -> None:
        with replaced(rounds, play_dense=self._counted):
            sp.play(learner, stream, engine="compiled", keep=KEPT)

    def _counted(self, *arguments: Any) -> Any:
        began = processor_seconds()
        played = self.kernel(*arguments)
        self._inside += processor_seconds() - began
        return played
