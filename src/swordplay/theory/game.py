"""The repeated game between a learner and a stream: ``play`` and ``rounds``."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, Learner, Loss, Vector
from swordplay.engine import Assembled, NotCompilable, compiled_twin
from swordplay.parts.streams import LinearStream
from swordplay.theory.ledger import Ledger

KeepOption = Literal["losses", "decisions", "weights"]
KEEP_OPTIONS = ("losses", "decisions", "weights")
"""Values that the argument ``keep`` of ``play`` may contain."""
SAMPLE_ROWS = 100
"""Number of rows tested for underflow first; nearly always they show that there is none."""
MIN_SMOOTHNESS = 1e-290
"""Smoothness below which a row's squared norm may have underflowed (normal doubles: 2e-308)."""
MAX_KEPT_NUMBERS = 1 << 24
"""Largest ``T * d`` of a dense ``LinearStream`` whose decisions are kept by default (128 MB)."""


@runtime_checkable
class RecordsExtremes(Protocol):
    """A learner that records the extremes of the losses that the engine plays for it."""

    def add_extremes(
        self, rounds: int, max_gradient_norm: float, max_smoothness: float, min_loss: float, /
    ) -> None:
        """Record the number of rounds played and the extremes of their losses."""
        ...


class Round(NamedTuple):
    """One round that was played."""

    number: int
    """t, from 1."""
    decision: Vector
    """x_t, chosen before the loss was known."""
    loss: Loss
    """f_t."""
    value: float
    """f_t(x_t)."""


def rounds(learner: Learner, stream: Iterable[Loss]) -> Iterator[Round]:
    """Play round by round: the learner decides, the loss is revealed, the learner observes it.

    Each round is yielded after the learner has observed its loss. Memory is constant, so that the
    stream may be endless.
    """
    arguments.learner(learner)
    for number, loss in enumerate(arguments.stream(stream), start=1):
        if not callable(getattr(loss, "value", None)):
            raise arguments.loss_type_error(loss)
        decision = learner.decision
        value = float(loss.value(decision))
        if not np.isfinite(value):
            raise ValueError(
                f"loss.value must be finite, got {value} at the decision of round {number}. "
                "Check that row."
            )
        learner.observe(loss)
        yield Round(number, decision, loss, value)


def play(
    learner: Learner,
    stream: Iterable[Loss],
    engine: Literal["auto", "python", "compiled"] = "auto",
    *,
    keep: Collection[KeepOption] | None = None,
    max_rounds: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Ledger:
    """Play a stream with a learner, and return the record of the game.

    Parameters
    ----------
    learner
        Continues from its state: playing two halves of a stream equals playing the whole.
    stream
        Losses in their order in time: a list, a :class:`LinearStream`, an endless generator.
    engine
        ``"python"`` for the Python loop, ``"compiled"`` for the engine, ``"auto"`` for the engine
        if it can play: a ``LinearStream`` and a learner made of parts that the engine knows.
    keep
        What to keep of each round, of ``"losses"``, ``"decisions"`` and ``"weights"``; the total
        loss is always kept. By default the losses and the decisions, but no decisions for a
        ``LinearStream`` that is sparse or has more than 2^24 features in all. With ``keep=()``
        memory does not grow.
    max_rounds
        Number of rounds after which to stop, for endless streams.
    progress
        Called now and then with the number of rounds played.

    Examples
    --------
    >>> import swordplay as sp
    >>> stream = sp.streams.paper.alternating(100)
    >>> ledger = sp.play(sp.Sword(stream.domain), stream)
    >>> round(ledger.regret(stream.comparators), 2)
    2.56
    """
    if engine not in ("auto", "python", "compiled"):
        raise ValueError(
            f"engine must be 'auto', 'python' or 'compiled', got {arguments.short_repr(engine)}."
        )
    if keep is not None and (unknown_options := sorted(set(keep) - set(KEEP_OPTIONS))):
        raise ValueError(f"keep must be among {list(KEEP_OPTIONS)}, got {unknown_options}.")
    learner, stream = arguments.learner(learner), arguments.stream(stream)
    max_rounds = None if max_rounds is None else arguments.integer("max_rounds", max_rounds)
    keep = _default_keep(stream) if keep is None else keep
    if engine != "python":
        try:
            return _play_compiled(learner, stream, keep, max_rounds, progress)
        except NotCompilable as reason:
            if engine == "compiled":
                raise NotCompilable(f"{reason} Use engine='python'.") from None
    return _play_python(learner, stream, keep, max_rounds, progress)


def _default_keep(stream: Iterable[Loss]) -> tuple[KeepOption, ...]:
    """The default of the argument ``keep``: decisions only if they need little memory."""
    if isinstance(stream, LinearStream) and (
        stream.sparse or len(stream) * stream.dim > MAX_KEPT_NUMBERS
    ):
        return ("losses",)
    return ("losses", "decisions")


def _play_compiled(
    learner: Any,
    stream: Iterable[Loss],
    keep: Collection[KeepOption],
    max_rounds: int | None,
    progress: Callable[[int], None] | None,
) -> Ledger:
    if not isinstance(stream, LinearStream):
        raise NotCompilable(f"the engine plays a LinearStream, got {type(stream).__name__}.")
    if isinstance(learner, Assembled) and stream.dim != (dim := learner.parts.domain.dim):
        raise ValueError(
            f"stream has {stream.dim} feature(s), but the learner's domain has {dim}. Make "
            "them agree."
        )
    played_stream = (
        stream if max_rounds is None or max_rounds >= len(stream) else stream[:max_rounds]
    )
    if "weights" in keep:
        _weights(learner)  # raises a ValueError if the learner has none
    # The sample is a cheap test; only if it fails are all rows examined.
    if (
        _squares_underflow(played_stream[:SAMPLE_ROWS])
        and _squares_underflow(played_stream)
        and (played_stream.features != 0).sum()
    ):
        raise NotCompilable(
            "the features are so small that their squares vanish, and the engine would take them "
            "for 0."
        )
    compiled_learner = compiled_twin(
        learner, stream.loss, threshold=stream.threshold, level=stream.level
    )
    result = compiled_learner.play(
        played_stream.features,
        played_stream.targets,
        checked=True,
        keep_decisions="decisions" in keep,
        keep_weights="weights" in keep,
        progress=progress,
    )
    if isinstance(learner, RecordsExtremes) and len(played_stream):
        max_gradient_norm, max_squared_row_norm = result.max_gradient, result.max_squared_row
        # L = max |φ''| |a|^2; max |φ''| is infinite for losses that are not smooth (pinball).
        curvature = played_stream.family.curvature
        smoothness = curvature * max_squared_row_norm if math.isfinite(curvature) else curvature
        learner.add_extremes(
            len(played_stream), max_gradient_norm, smoothness, float(result.losses.min())
        )
    return Ledger(
        rounds=len(played_stream),
        total_loss=float(result.losses.sum()),
        losses=result.losses if "losses" in keep else None,
        decisions=result.decisions,
        weights=result.weights,
        stream=stream,
        domain=_domain(learner),
    )


def _squares_underflow(rows: LinearStream) -> bool:
    """Whether squared norms and smoothness of all rows are 0 or may have underflowed."""
    return min(rows.family.curvature, 1.0) * _max_squared_norm(rows) < MIN_SMOOTHNESS


def _max_squared_norm(rows: LinearStream) -> float:
    """Largest squared norm of a row."""
    return float(rows.squared_norms().max(initial=0.0))


def _play_python(
    learner: Learner,
    stream: Iterable[Loss],
    keep: Collection[KeepOption],
    max_rounds: int | None,
    progress: Callable[[int], None] | None,
) -> Ledger:
    total_loss, rounds_played = 0.0, 0
    losses: list[float] = []
    decisions: list[Vector] = []
    weights: list[Vector] = []
    keeps_losses, keeps_decisions, keeps_weights = (option in keep for option in KEEP_OPTIONS)
    current_weights = _weights(learner) if keeps_weights else None
    for number, decision, _, value in rounds(learner, islice(stream, max_rounds)):
        total_loss, rounds_played = total_loss + value, number
        if keeps_losses:
            losses.append(value)
        if keeps_decisions:
            decisions.append(decision)
        if current_weights is not None:  # read before the learner observed the loss
            weights.append(current_weights)
            current_weights = _weights(learner)
        if progress is not None:
            progress(number)
    return Ledger(
        rounds=rounds_played,
        total_loss=total_loss,
        losses=np.array(losses) if keeps_losses else None,
        decisions=np.array(decisions).reshape(rounds_played, len(learner.decision))
        if keeps_decisions
        else None,
        weights=weights if keeps_weights else None,
        stream=stream,
        domain=_domain(learner),
    )


def _weights(learner: Any) -> Vector:
    """The learner's weights of its experts; a ValueError if it has none."""
    try:
        weights: Vector = learner.weights
    except AttributeError:
        raise ValueError(
            f"keep asks for weights, but a {type(learner).__name__} has none. Leave 'weights' out."
        ) from None
    return weights


def _domain(learner: Any) -> Domain | None:
    """The learner's domain, or None if it has none."""
    domain = getattr(learner, "domain", None)
    return domain if isinstance(domain, Domain) else None
