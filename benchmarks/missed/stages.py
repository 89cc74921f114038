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
from swordplay.engine import ball, dual_sum, meta, rounds, step_sizes


@inline
def no_losses(learner: Any, products: Any, prediction: float, target: float) -> float:
    """Without gradients, certificate and losses of the meta."""
    return 0.0


@inline
def no_move(learner: Any, products: Any, row: Any, target: float) -> float:
    """Without steps."""
    return math.inf


@inline
def no_weights(learner: Any, products: Any, target: float) -> None:
    """Weights stay what they are."""


@inline
def no_trust(learner: Any, products: Any, slope: float) -> None:
    """The trust in the optimism stays what it is."""


@inline
def no_rate(learner: Any, products: Any, slope: float, late: float, error_range: float) -> None:
    """The learning rate stays what it is."""


@inline
def no_steps(learner: Any, products: Any, slope: float) -> None:
    """Step sizes stay what they are."""


@inline
def no_distance(learner: Any) -> None:
    """Without the largest distances of experts, and their largest dual norms."""


@inline
def no_overflow(learner: Any, products: Any, target: float) -> bool:
    """Without the check whether a row would overflow."""
    return False


@inline
def expanded_distance(slope: float, last_slope: float, products: Any) -> float:
    """|slope a - last_slope a'|^2 by expanding the square alone, although digits may cancel."""
    return float(
        larger(
            slope * slope * products.squared_norm
            + last_slope * last_slope * products.last_squared_norm
            - 2.0 * slope * last_slope * products.dot_last,
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
    """Return a kernel like ``rounds.play_dense`` with other parts of the round."""
    usual = {
        "move": ball.move,
        "copy_points": ball.copy_points,
        "track_distance": step_sizes.track_dual_norm,
        "add_dual_sum": dual_sum.add_dual_sum,
    }
    play_round = rounds.make_round(
        ball.row_products, ball.predict, keep_row=ball.keep_row, **usual | parts
    )
    play_rows = rounds.make_rows(rounds.of_dense(play_round))

    def play_dense(learner: Any, rows: Any, targets: Any, schedule: Any, outputs: Any) -> int:
        return int(play_rows(learner, rows, targets, schedule, rows[:0], outputs))

    found: Any = kernel(play_dense)
    found._cache = NullCache()
    return found


def variants() -> dict[str, tuple[dict[Any, dict[str, Any]], dict[str, Any]]]:
    """Return what each variant takes away, by name.

    Names that are replaced in modules while its kernel is compiled (by None to compile the same
    function anew), and parts of the round.
    """
    without_weights = {"update_trust": no_trust, "update_weights": no_weights}
    rate = {"update_rate": no_rate}
    return {
        "pass": (
            {rounds: without_weights | {"learn_losses": no_losses}, meta: rate},
            {"move": no_move, "track_distance": no_distance},
        ),
        "steps": ({rounds: without_weights | {"learn_losses": None}, meta: rate}, {}),
        "whole": ({rounds: {"learn_losses": None}}, {}),
        "unchecked": ({rounds: {"overflows": no_overflow, "learn_losses": None}}, {}),
        "one form": (
            {
                meta: {
                    "squared_distance": expanded_distance,
                    "set_squared_errors": None,
                    "update_rate": None,
                },
                rounds: {"learn_losses": None},
            },
            {},
        ),
        "fixed steps": (
            {
                rounds: without_weights | {"learn_losses": None},
                meta: rate | {"update_steps": no_steps},
            },
            {},
        ),
    }


PLACES = {
    "set_squared_errors": (meta, expert_loop),
    "update_rate": (meta, inline),
    "learn_losses": (meta, inline),
}
"""Module of each function that is compiled anew, and its decorator."""


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
