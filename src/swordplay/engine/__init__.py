"""The learners compiled with numba, for losses of a linear prediction.

``sp.play`` uses the engine by itself. This package has the two other ways to use it: one row at a
time (:func:`online`), and many streams at once (:func:`play_many`). numba is imported when the
first round is played.
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
    """A learner that names its parts and can let an engine hold its state."""

    holder: Any

    @property
    def parts(self) -> Composition:
        """What the learner is made of."""
        ...

    @property
    def is_fresh(self) -> bool:
        """Whether the learner has neither observed nor loaded anything."""
        ...

    def state(self) -> State:
        """Return everything that the next round needs."""
        ...

    def attach_engine(self, engine: Any) -> None:
        """Let an engine hold the state until the learner observes or loads something."""
        ...


def loss_parameter(loss: str, threshold: float, level: float) -> float:
    """Return the threshold of the Huber loss, the level of the pinball loss, or 1; check both."""
    threshold = arguments.positive("threshold", threshold)
    level = arguments.fraction("level", level)
    return threshold if loss == "huber" else level if loss == "pinball" else 1.0


def compiled_twin(
    learner: Any, loss: str, *, threshold: float = 1.0, level: float = 0.5, dtype: Any = "float64"
) -> Any:
    """Return the compiled learner that holds a learner's state, or a new one with that state.

    Parameters
    ----------
    learner
        A readable learner of this package.
    loss
        ``"squared"``, ``"logistic"``, ``"huber"`` or ``"pinball"``.
    threshold, level
        Parameter of the Huber or the pinball loss.
    dtype
        Of the coordinates: ``float64``, or ``float32`` at half the memory.

    Raises
    ------
    NotCompilable
        If the engine does not know one of the learner's parts.
    """
    precision = np.dtype(dtype).name
    if precision not in ("float64", "float32"):
        raise ValueError(f"dtype must be 'float64' or 'float32', got {dtype!r}.")
    return _compiled_twin(learner, loss, loss_parameter(loss, threshold, level), precision)


def _compiled_twin(learner: Any, loss: str, parameter: float, precision: str) -> Any:
    """Return :func:`compiled_twin` for a parameter of the loss that was checked before."""
    from swordplay.engine.compiled_learner import CompiledLearner

    holder = getattr(learner, "holder", None)
    if isinstance(holder, CompiledLearner):
        held = (holder.loss, holder.threshold, holder.dtype)
        if held == (loss, parameter, precision):
            return holder
    if not isinstance(learner, Assembled):
        raise NotCompilable(
            f"a learner of type {type(learner).__name__} does not say what it is made of (no "
            ".parts)."
        )
    state = None if learner.is_fresh else learner.state()
    twin = CompiledLearner(learner.parts, loss, threshold=parameter, state=state, dtype=precision)
    learner.attach_engine(twin)
    return twin


def online(
    learner: Any,
    loss: Literal["squared", "logistic", "huber", "pinball"] = "squared",
    *,
    threshold: float = 1.0,
    level: float = 0.5,
    dtype: Literal["float64", "float32"] = "float64",
) -> Any:
    """Return the compiled learner that plays one row at a time for a learner.

    It has ``predict(features)`` and ``learn(features, target)``. The decision, weights and
    certificate of the learner itself are those of the rows learned so far.

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
    """Let each of K learners play a stream of its own, on all cores; return losses ``(K, T)``.

    Parameters
    ----------
    learners
        K learners with the same settings, on a ball. They continue from their states.
    features, targets
        Shapes ``(K, T, d)`` and ``(K, T)``.
    loss, threshold, level
        As in :class:`~swordplay.LinearStream`.
    threads
        How many threads to run; one per core unless given.
    """
    from swordplay.engine.stack import LearnerStack

    parameter = loss_parameter(loss, threshold, level)
    twins = [_compiled_twin(learner, loss, parameter, "float64") for learner in learners]
    return LearnerStack(twins).play_each(features, targets, threads=threads)[1]
