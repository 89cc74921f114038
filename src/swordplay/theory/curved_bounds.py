"""What is proved of a second-order expert, as a number."""

from __future__ import annotations

import numpy as np

from swordplay.core import arguments
from swordplay.core.representable import representable
from swordplay.core.types import Array, Vector


@representable
def curved_expert(
    *,
    diameter: float,
    discount: float,
    gradients: Array,
    curvatures: Array,
    ridges: Vector,
    path_length: float,
) -> float:
    r"""One discount of :class:`~swordplay.parts.experts.NewtonExperts` on squared losses, while no
    step leaves the domain.

    .. math:: \tfrac12 \sum_t g_t^\top A_t^{-1} g_t + \tfrac12 D^2 \sum_t (\lambda_t - \gamma
        \lambda_{t-1})_+
        + \gamma D P_T \max_t \|A_t\|

    with :math:`\lambda_t = \rho \sqrt{E_t}/D` the ridge in :math:`A_t`. ``docs/theory.md`` has the
    proof.

    Parameters
    ----------
    diameter
        D.
    discount
        :math:`\gamma`.
    gradients
        :math:`g_t` at the expert's points, shape ``(T, d)``.
    curvatures
        :math:`A_t` that the steps were made with, shape ``(T, d, d)``, ridge included.
    ridges
        :math:`\lambda_t`, shape ``(T,)``.
    path_length
        Of the comparators.

    References
    ----------
    Jacobsen and Cutkosky (2024), on the discounted Vovk-Azoury-Warmuth forecaster; constants of our
    own.
    """
    D, P = (
        arguments.positive("diameter", diameter),
        arguments.nonnegative("path_length", path_length),
    )
    gamma = arguments.positive("discount", discount)
    if gamma >= 1.0:
        raise ValueError(f"discount must lie in (0, 1), got {discount}.")
    g, A, ridge = (np.asarray(part, dtype=np.float64) for part in (gradients, curvatures, ridges))
    if g.ndim != 2 or A.shape != (*g.shape, g.shape[-1]) or ridge.shape != g.shape[:1]:
        raise ValueError(
            f"curvatures and ridges must have shapes {(*g.shape, g.shape[-1])} and {g.shape[:1]}, "
            f"as gradients have {g.shape}; "
            f"got {A.shape} and {ridge.shape}."
        )
    met = np.einsum("ti,ti->t", g, g) > 0
    steps = np.zeros_like(g)
    steps[met] = np.linalg.solve(A[met], g[met][:, :, None])[:, :, 0]
    growth = np.maximum(ridge - gamma * np.concatenate([[0.0], ridge[:-1]]), 0.0)
    largest = float(np.linalg.norm(A, ord=2, axis=(1, 2)).max()) if len(A) else 0.0
    return float(
        np.einsum("ti,ti->", g, steps) / 2 + D**2 * growth.sum() / 2 + gamma * D * P * largest
    )
