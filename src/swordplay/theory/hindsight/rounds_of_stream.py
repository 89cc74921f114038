"""The losses of a stream in a domain's own coordinates, in the most telling family that fits
them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Loss, Matrix, Vector
from swordplay.parts.losses import HuberLoss, LinearLoss, LogisticLoss, SquaredLoss, WeightedLoss
from swordplay.parts.streams import LinearStream
from swordplay.theory.affine_change import Quadratic, as_quadratic
from swordplay.theory.hindsight.frame import Frame
from swordplay.theory.hindsight.round_families import (
    LogisticRounds,
    QuadraticRounds,
    ResidualRounds,
    StrangeRounds,
)
from swordplay.theory.hindsight.rounds import Rounds
from swordplay.theory.objectives import require_dim


def rounds_of(stream: Iterable[Loss], frame: Frame) -> Rounds:
    """The losses of a finite stream in a domain's coordinates.

    The most telling form that fits them all.
    """
    if isinstance(stream, LinearStream) and stream.loss != "pinball":
        require_dim(stream.dim, frame.domain)
        rows = stream.features.toarray() if stream.sparse else stream.features
        threshold = stream.threshold if stream.loss == "huber" else np.inf
        plenty = np.ones(len(stream))
        return _of_arrays(
            stream.family,
            np.asarray(rows, dtype=np.float64),
            stream.targets,
            plenty,
            threshold * plenty,
            frame,
        )
    losses = list(stream)
    bare = [_unweighted(loss) for loss in losses]
    for family in ((SquaredLoss, HuberLoss), (LogisticLoss,)):
        if losses and all(isinstance(loss, family) for loss, _ in bare):
            return _of_rows(family[0], bare, frame)
    forms = [(as_quadratic(loss), weight) for loss, weight in bare]
    if losses and all(form is not None for form, _ in forms):
        return _of_quadratics(forms, frame)
    for loss in losses:
        arguments.gradient_of(loss)
    return StrangeRounds(losses, frame)


def _of_rows(family: type[LinearLoss], bare: Sequence[tuple[Any, float]], frame: Frame) -> Rounds:
    for loss, _ in bare:
        require_dim(loss.dim, frame.domain)
    features = np.array([loss.features for loss, _ in bare])
    targets, weights = (
        np.array([loss.target for loss, _ in bare]),
        np.array([weight for _, weight in bare]),
    )
    thresholds = np.array(
        [loss.threshold if isinstance(loss, HuberLoss) else np.inf for loss, _ in bare]
    )
    return _of_arrays(family, features, targets, weights, thresholds, frame)


def _of_arrays(
    family: type[LinearLoss],
    features: Matrix,
    targets: Vector,
    weights: Vector,
    thresholds: Vector,
    frame: Frame,
) -> Rounds:
    at_center = features @ frame.domain.center
    features = np.ascontiguousarray(features @ frame.basis)
    if family is LogisticLoss:
        signs = 1.0 - 2.0 * targets
        return LogisticRounds(signs[:, None] * features, signs * at_center, weights)
    return ResidualRounds.within(
        frame.domain.diameter, features, at_center - targets, weights, thresholds
    )


def _of_quadratics(forms: Sequence[tuple[Any, float]], frame: Frame) -> QuadraticRounds:
    quadratics: list[tuple[Quadratic, float]] = list(forms)
    for form, _ in quadratics:
        require_dim(len(form.vector), frame.domain)
    weights = np.array([weight for _, weight in quadratics])
    M = weights[:, None, None] * np.array([form.matrix for form, _ in quadratics])
    b = weights[:, None] * np.array([form.vector for form, _ in quadratics])
    c = weights * np.array([form.constant for form, _ in quadratics])
    center, basis = frame.domain.center, frame.basis
    pull = M @ center
    constants = c - b @ center + 0.5 * (pull @ center)
    return QuadraticRounds(np.ascontiguousarray(basis.T @ M @ basis), (b - pull) @ basis, constants)


def _unweighted(loss: Loss) -> tuple[Loss, float]:
    """The loss under any number of weights, and their product."""
    if not isinstance(loss, WeightedLoss):
        return loss, 1.0
    inside, weight = _unweighted(loss.loss)
    return inside, loss.weight * weight
