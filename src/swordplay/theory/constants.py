"""The constants of a game, from its losses: what learners and bounds ask to be told."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import singledispatch
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.types import Domain, Loss
from swordplay.parts.domains import reach
from swordplay.parts.losses import LinearLoss, WeightedLoss
from swordplay.parts.streams import LinearStream
from swordplay.theory.quantities import Quantity
from swordplay.theory.variation_quadratic import AffineChange, as_quadratic


def smoothness(stream: Iterable[Loss]) -> float:
    """L: the smallest that serves every loss of a finite stream.

    Raises
    ------
    ValueError
        If a loss does not know its own smoothness.

    Examples
    --------
    >>> from swordplay.parts.losses import LogisticLoss, SquaredLoss
    >>> smoothness([SquaredLoss([3.0, 4.0], 1.0), LogisticLoss([2.0, 0.0], 1)])
    25.0
    """
    if isinstance(stream, LinearStream):
        return stream.smoothness
    return max(
        (_own_smoothness(t, loss) for t, loss in enumerate(arguments.stream(stream))), default=0.0
    )


def gradient_bound(stream: Iterable[Loss], domain: Domain) -> Quantity:
    r"""G: no gradient of any loss of a finite stream is longer anywhere on the domain.

    .. math:: \max_t \sup_{x \in X} \|\nabla f_t(x)\|

    Exact for losses of a linear prediction on every domain, and for quadratics where gradient
    variation is; elsewhere the certified bound :math:`\|\nabla f(c)\| + L r` with c the centre and
    r the domain's reach.

    Parameters
    ----------
    stream
        The losses, of any kinds, weighted or not.
    domain
        X.

    Returns
    -------
    Quantity
        A float whose ``exact`` says whether it is attained.

    Raises
    ------
    ValueError
        If a loss is none of these and does not know its own smoothness.
    """
    domain = arguments.domain(domain)
    if isinstance(stream, LinearStream):
        return Quantity(stream.gradient_bound(domain), exact=True)
    largest, exact = 0.0, True
    for t, loss in enumerate(arguments.stream(stream)):
        found = _steepest(loss, t, domain)
        if found > largest:
            largest, exact = float(found), found.exact
    return Quantity(largest, exact)


@singledispatch
def _steepest(loss: Any, t: int, domain: Domain) -> Quantity:
    form = as_quadratic(loss)
    if form is not None:
        alone = AffineChange(form.matrix[None], form.vector[None], np.array([form.constant]))
        values, exact = alone.gradient_suprema(domain)
        return Quantity(math.sqrt(float(values[0])), exact)
    at_center = float(np.linalg.norm(arguments.gradient_of(loss)(domain.center)))
    return Quantity(at_center + _own_smoothness(t, loss) * reach(domain), exact=False)


@_steepest.register
def _(loss: LinearLoss, t: int, domain: Domain) -> Quantity:
    # φ is convex: its slopes are steepest at the ends of the range of predictions.
    ends = np.array([-domain.support(-loss.features), domain.support(loss.features)])
    return Quantity(
        float(np.abs(loss.slope(ends)).max() * np.linalg.norm(loss.features)), exact=True
    )


@_steepest.register
def _(loss: WeightedLoss, t: int, domain: Domain) -> Quantity:
    inside = _steepest(loss.loss, t, domain)
    return Quantity(loss.weight * inside, inside.exact)


def _own_smoothness(t: int, loss: Any) -> float:
    own = loss.smoothness
    if own is None:
        raise ValueError(
            f"stream holds a loss whose smoothness is None, number {t}: "
            f"{arguments.short_repr(loss)}. "
            "Give FunctionLoss(value, gradient, smoothness=L)."
        )
    return float(own)
