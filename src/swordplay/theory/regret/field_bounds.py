r"""The theorems of the systems beside the Swords: explicit numbers, no O().

In the formulas D is the diameter, G the gradient bound, L the smoothness, :math:`A = D^2 + 2 D P_T`, :math:`\lambda = \ln N`.
``docs/theory.md`` has the proofs of those that the literature gives as rates only.
"""

from __future__ import annotations

import math

from swordplay.base import arguments


def sword_plus_plus(
    *,
    diameter: float,
    gradient_bound: float,
    smoothness: float,
    path_length: float,
    experts: int,
    variation: float | None = None,
    comparator_loss: float | None = None,
) -> float:
    r"""Sword++ with its default pool and rate: the smaller of two forms.

    .. math:: \tfrac32 \sqrt{2 A (V_T + \tfrac12 G^2)} + 4 L A + 2 D \sqrt{\lambda (V_T + 2 G^2)} + \tfrac{14}{3} L D^2 \lambda

    and, for losses that are nowhere negative, the largest R with

    .. math:: R \le 4 L A + 2 L D^2 \lambda + 2 D G \sqrt{2 \lambda}
        + \big(5 \sqrt{L A} + 4 D \sqrt{L \lambda}\big) \sqrt{F_T + R}.

    Give ``variation``, ``comparator_loss`` or both.

    References
    ----------
    Zhao, Zhang, Zhang, Zhou (2024), Sword++; constants of our own.
    """
    D, P = arguments.positive("diameter", diameter), arguments.nonnegative("path_length", path_length)
    G, L = arguments.positive("gradient_bound", gradient_bound), arguments.positive("smoothness", smoothness)
    A, lam = D**2 + 2 * D * P, math.log(arguments.whole("experts", experts))
    forms = []
    if variation is not None:
        V = arguments.nonnegative("variation", variation)
        experts_part = 1.5 * math.sqrt(2 * A * (V + G**2 / 2)) + 4 * L * A
        forms.append(experts_part + 2 * D * math.sqrt(lam * (V + 2 * G**2)) + 14 / 3 * L * D**2 * lam)
    if comparator_loss is not None:
        F = arguments.nonnegative("comparator_loss", comparator_loss)
        constant = 4 * L * A + 2 * L * D**2 * lam + 2 * D * G * math.sqrt(2 * lam)
        root = 5 * math.sqrt(L * A) + 4 * D * math.sqrt(L * lam)
        forms.append(constant + root**2 / 2 + math.sqrt(root**4 / 4 + root**2 * (F + constant)))
    if not forms:
        raise ValueError("bounds.sword_plus_plus needs variation or comparator_loss. Give one or both.")
    return min(forms)
