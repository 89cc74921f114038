"""What a loss promises."""

from __future__ import annotations

import numpy as np

from swordplay.core.types import Domain, Loss
from swordplay.theory.conformance.promises import (
    CLOSE,
    ROUNDING,
    around,
    at_most,
    has_shape,
    norms,
    promise,
)

RISE = 1e-14
"""Slack of a rise over ``CLOSE`` of a segment, relative to the values: some fifty roundings,
1e-10 of the slope.
"""


def check_loss(loss: Loss, domain: Domain, *, seed: int = 0) -> None:
    """Hold a loss to its promises on a domain.

    Shapes; a batch that is its rows; gradients that are the slopes of the values; values convex
    along segments and above their tangents; gradients that change no faster than ``smoothness``
    says, where it says.
    """
    rng = np.random.default_rng(seed)
    x, y = domain.project(around(domain, rng, 60)), domain.project(around(domain, rng, 60))
    before = x.copy()
    fx, fy, gx, gy = loss.value(x), loss.value(y), loss.gradient(x), loss.gradient(y)
    promise(
        np.array_equal(x, before),
        "value and gradient leave their argument alone",
        "the points were changed",
    )
    for leading in [(), (60,), (3, 20)]:
        given = x[0] if leading == () else x.reshape(*leading, domain.dim)
        has_shape("value", loss.value(given), leading)
        has_shape("gradient", loss.gradient(given), given.shape)
    promise(
        bool(np.isfinite(fx).all() and np.isfinite(gx).all()),
        "values and gradients are finite",
        "one is not",
    )

    span = norms(y - x)
    size = np.abs(fx) + np.abs(fy) + (span + norms(x)) * (norms(gx) + norms(gy))
    slack = ROUNDING * (size + float(size.max()))
    at_most(
        np.abs(np.array([loss.value(point) for point in x]) - fx),
        slack,
        "the values of a batch are those of its rows",
    )
    singles = np.stack([loss.gradient(point) for point in x])
    at_most(
        norms(singles - gx) * domain.diameter,
        slack,
        "the gradients of a batch are those of its rows",
    )

    for share in (0.1, 0.5, 0.7):
        between = loss.value((1 - share) * x + share * y)
        at_most(
            between - (1 - share) * fx - share * fy,
            slack,
            f"values are convex (at share {share} of a segment)",
        )
    at_most(
        fx + np.einsum("ij,ij->i", gx, y - x) - fy,
        slack,
        "values lie above their tangents (convexity)",
    )
    # A convex value rises between z and w by at least <g(z), w - z> and at most <g(w), w - z>.
    z, w = x, x + CLOSE * (y - x)
    rise = loss.value(w) - loss.value(z)
    low, high = (np.einsum("ij,ij->i", loss.gradient(end), w - z) for end in (z, w))
    at_most(
        np.maximum(low - rise, rise - high), RISE * size, "the gradient is the slope of the value"
    )
    if loss.smoothness is not None:
        allowed = loss.smoothness * span + slack / domain.diameter
        at_most(
            norms(gx - gy) - allowed,
            0.0,
            f"gradients change no faster than smoothness = {loss.smoothness}",
        )
