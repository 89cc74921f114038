"""The same learners compiled, for losses of a linear prediction: a whole Sword for the price of one
SGD.

``play`` uses the engine by itself. Here are the other two ways to drive it: one row at a time, and
many streams at once. numba is imported when the first engine is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Matrix, State
from swordplay.engine.recipe import LARGEST_EXPLICIT, NotCompilable
from swordplay.engine.saved_state import describe, is_state
from swordplay.parts.metas import Composition

__all__ = [
    "LARGEST_EXPLICIT",
    "Assembled",
    "NotCompilable",
    "compiled_twin",
    "describe",
    "is_state",
    "online",
    "play_many",
]


@runtime_checkable
class Assembled(Protocol):
    """A learner that can say what it is made of and leave its state with an engine."""

    holder: Any

    @property
    def parts(self) -> Composition:
        """What the learner is made of."""
        ...

    @property
    def is_fresh(self) -> bool:
        """Whether no state was made or loaded yet."""
        ...

    def state(self) -> State:
        """All that the next round needs."""
        ...

    def attach_engine(self, engine: Any) -> None:
        """Let an engine hold the state."""
        ...


def loss_parameter(loss: str, threshold: float, level: float) -> float:
    """The number that a loss is made with: the threshold of Huber's, the level of the pinball loss.

    1 for the others.
    """
    threshold, level = (
        arguments.positive("threshold", threshold),
        arguments.fraction("level", level),
    )
    return threshold if loss == "huber" else level if loss == "pinball" else 1.0


def compiled_twin(
    learner: Any, loss: str, *, threshold: float = 1.0, level: float = 0.5, dtype: Any = "float64"
) -> Any:
    """The engine that plays for a learner: the one it has, or a new one that goes on from its
    state.

    Raises
    ------
    NotCompilable
        If the engine does not know one of the learner's parts.
    """
    precision = np.dtype(dtype).name
    if precision not in ("float64", "float32"):
        raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}.")
    return _compiled_twin(learner, loss, loss_parameter(loss, threshold, level), precision)


def _compiled_twin(learner: Any, loss: str, threshold: float, precision: str) -> Any:
    """The same, for settings that were checked: once for all of many learners."""
    from swordplay.engine.compiled_learner import CompiledLearner

    holder = getattr(learner, "holder", None)
    if isinstance(holder, CompiledLearner) and (holder.loss, holder.threshold, holder.dtype) == (
        loss,
        threshold,
        precision,
    ):
        return holder
    if not isinstance(learner, Assembled):
        raise NotCompilable(
            f"a learner of type {type(learner).__name__} does not say what it is made of (no "
            ".parts)."
        )
    state = None if learner.is_fresh else learner.state()
    engine = CompiledLearner(learner.parts, loss, threshold=threshold, state=state, dtype=precision)
    learner.attach_engine(engine)
    return engine


def online(
    learner: Any,
    loss: Literal["squared", "logistic", "huber", "pinball"] = "squared",
    *,
    threshold: float = 1.0,
    level: float = 0.5,
    dtype: Literal["float64", "float32"] = "float64",
) -> Any:
    """Drive a learner one row at a time: ``predict(features)``, then ``learn(features, target)``.

    The learner follows: its decision, weights and certificate are those of the rows learned so far.

    Examples
    --------
    >>> import swordplay as sp
    >>> model = sp.engine.online(sp.Sword(sp.Ball(dim=2, radius=3.0)))
    >>> for _ in range(100):
    ...     _ = model.learn([1.0, 0.5], target=2.0)
    >>> round(model.predict([1.0, 0.5]), 1)
    2.0
    """
    return compiled_twin(learner, loss, threshold=threshold, level=level, dtype=dtype)


def play_many(
    learners: Sequence[Any],
    features: Any,
    targets: Any,
    *,
    loss: Literal["squared", "logistic", "huber", "pinball"] = "squared",
    threshold: float = 1.0,
    level: float = 0.5,
    threads: int | None = None,
) -> Matrix:
    """Let K learners of one make play a stream each, over the cores.

    Returns their losses, shape ``(K, T)``.

    Parameters
    ----------
    learners
        K learners made with the same settings, on a ball. They go on from where they are.
    features, targets
        Shapes ``(K, T, d)`` and ``(K, T)``.
    loss, threshold, level
        As in :class:`~swordplay.LinearStream`.
    threads
        How many to run at once; one per core unless given.
    """
    from swordplay.engine.stack import LearnerStack

    parameter = loss_parameter(loss, threshold, level)
    twins = [_compiled_twin(learner, loss, parameter, "float64") for learner in learners]
    return LearnerStack(twins).play_each(features, targets, threads=threads)[1]
