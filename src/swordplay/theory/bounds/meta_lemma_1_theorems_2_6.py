r"""Bounds of the meta of Sword: Lemma 1 (optimistic Hedge), Theorems 2 and 6, and Sword_small.

In the formulas D is the diameter, G the gradient bound, L the smoothness, and :math:`\lambda = \ln
N` with N the number of experts.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.parts.learners.assumptions import Assumptions
from swordplay.theory.bounds.theorem import (
    CALLER_STACKLEVEL,
    NonNegative,
    Positive,
    PositiveInt,
    Tuning,
    theorem,
)

LEARNED_OPTIMISM_ERROR = 2 + 4 * math.log(2)
"""Multiple of G^2 that learning the optimism adds to the sum of its squared errors.

Proof: ``docs/proofs.md``, "Theorems 2 and 6: the meta".
"""
MAX_CLAIMED_GRADIENT = 0.25
"""Gradient bound up to which the paper's claim about the learned optimism holds.

Up to it the loss of the learned optimism is exp-concave at the paper's rate.
"""


@theorem
def optimistic_hedge(
    *,
    experts: PositiveInt,
    learning_rates: Any,
    mismatches: Any,
    stability: Any = None,
    tuning: Tuning = "safe",
) -> float:
    r"""Regret bound of optimistic Hedge against every expert.

    .. math:: \text{safe: } \frac{\lambda}{\varepsilon_T} + \sum_t \varepsilon_t\,
        \mathrm{hr}(\ell_t - m_t)^2
        - \sum_{t \ge 2} \frac{\|p_t - p_{t-1}\|_1^2}{4 \varepsilon_{t-1}}, \qquad
        \text{paper: } \frac{2 + \lambda}{\varepsilon} + \varepsilon \sum_t \|\ell_t -
        m_t\|_\infty^2
        - \frac{1}{4 \varepsilon} \sum_{t \ge 2} \|p_t - p_{t-1}\|_1^2

    with losses :math:`\ell_t`, their predictions :math:`m_t`, weights :math:`p_t`, and hr the half
    range of a vector: half of the difference between the largest and the smallest entry.

    Parameters
    ----------
    experts
        N.
    learning_rates
        :math:`\varepsilon_t`, one for all rounds or shape ``(T,)``, never increasing; the paper's
        form takes one.
    mismatches
        Half ranges of :math:`\ell_t - m_t` (safe) or their largest magnitudes (paper), shape
        ``(T,)``.
    stability
        :math:`\|p_t - p_{t-1}\|_1` for t = 2..T, shape ``(T - 1,)``; without it the bound is
        larger.

    References
    ----------
    Zhao et al. (2020), Lemma 1.
    """
    lam, mismatches = math.log(experts), arguments.array("mismatches", mismatches, ndim=1)
    rounds = len(mismatches)
    learning_rates = arguments.positive_vector("learning_rates", learning_rates)
    if len(learning_rates) not in (1, rounds) or (tuning == "paper" and len(learning_rates) > 1):
        raise ValueError(
            f"learning_rates must be one, or one a round ({rounds}) for the safe form, got "
            f"{len(learning_rates)}."
        )
    rates = np.broadcast_to(learning_rates, (rounds,))  # eps_t
    if (np.diff(rates) > 0).any():
        raise ValueError(
            "learning_rates must never increase: the lemma does not hold for rates that do."
        )
    weight_changes = (
        np.zeros(max(0, rounds - 1))
        if stability is None
        else arguments.array("stability", stability, ndim=1)
    )
    if len(weight_changes) != max(0, rounds - 1):
        raise ValueError(
            f"stability must have one entry per round but the first ({rounds - 1}), got "
            f"{len(weight_changes)}."
        )
    prior_term = 2 + lam if tuning == "paper" else lam
    return float(
        prior_term / learning_rates[-1]
        + rates @ np.square(mismatches)
        - (np.square(weight_changes) / (4 * rates[:-1])).sum()
    )


@theorem
def meta_var(
    *,
    diameter: Positive,
    gradient_bound: Positive,
    smoothness: Positive,
    variation: NonNegative,
    experts: PositiveInt,
    tuning: Tuning = "safe",
    assumptions: Assumptions | None = None,
) -> float:
    r"""Bound of Sword_var's meta-regret: of its decisions against every expert.

    .. math:: \text{safe: } 2 D \sqrt{\lambda (V_T + 2 G^2)} + 2 L D^2 \lambda, \qquad
        \text{paper: } \frac{2 + \lambda}{\varepsilon} + \varepsilon D^2 (2 V_T + G^2)

    The paper's form is at its rate :math:`\varepsilon = \min\{1/(\sqrt 8 D^2 L), \sqrt{(2 +
    \lambda)/(2 D^2 V_T)}\}`.

    References
    ----------
    Zhao et al. (2020), Theorem 2.
    """
    D, G, L, lam = diameter, gradient_bound, smoothness, math.log(experts)
    V = variation
    if tuning == "paper":
        return paper_meta_regret(D, G, L, lam, 2 * V)
    return safe_meta_regret(D, L, lam, V + 2 * G**2)


@theorem
def meta_small(
    *,
    diameter: Positive,
    gradient_bound: Positive,
    smoothness: Positive,
    learner_loss: NonNegative,
    experts: PositiveInt,
    tuning: Tuning = "safe",
    assumptions: Assumptions | None = None,
) -> float:
    r"""Bound of Sword_small's meta-regret, in terms of the learner's own loss :math:`F^x_T`.

    .. math:: \text{safe: } D G \sqrt\lambda + D \sqrt{2 L \lambda F^x_T}, \qquad
        \text{paper: } 2 D \sqrt{(2 + \lambda) \bar F_T} \le 4 D \sqrt{L (2 + \lambda) F^x_T}

    References
    ----------
    Zhao et al. (2020), the meta-regret in the proof of Theorem 5. Its self-bounding lemma has 4 L
    where 2 L is enough.
    """
    D, G, L, lam = diameter, gradient_bound, smoothness, math.log(experts)
    F = learner_loss
    if tuning == "paper":
        return 4 * D * math.sqrt(L * (2 + lam) * F)
    return D * G * math.sqrt(lam) + D * math.sqrt(2 * L * lam * F)


@theorem
def meta_best(
    *,
    diameter: Positive,
    gradient_bound: Positive,
    smoothness: Positive,
    variation: NonNegative,
    learner_loss: NonNegative,
    experts: PositiveInt,
    tuning: Tuning = "safe",
    assumptions: Assumptions | None = None,
) -> float:
    r"""Bound of Sword_best's meta-regret: the smaller of two forms.

    .. math:: \text{safe: } \min\Big\{ 2 D \sqrt{\lambda (V_T + (2 + 4 \ln 2) G^2)} + 2 L D^2
        \lambda, \quad L D^2 \lambda + 2 D G \sqrt{(2 + 4 \ln 2) \lambda} + 2 D \sqrt{L \lambda
        F^x_T} \Big\}

    .. math:: \text{paper: } \min\Big\{ \frac{2 + \lambda}{\varepsilon} + \varepsilon D^2 (2 V_T +
        \ln 2 + G^2), \quad 2 \sqrt 8 L D^2 (2 + \lambda) + 2 D \sqrt{(2 + \lambda) \ln 2} + 4 D
        \sqrt{L (2 + \lambda) F^x_T} \Big\}

    The paper's form assumes the paper's claim about the learned optimism, which holds for G <= 1/4;
    for larger G the function warns.

    References
    ----------
    Zhao et al. (2020), Theorem 6.
    """
    D, G, L, lam = diameter, gradient_bound, smoothness, math.log(experts)
    V, F = variation, learner_loss
    if tuning == "paper":
        warn_of_optimism_claim("meta_best", G)
        loss_form = paper_loss_free_meta_terms(D, L, lam) + 4 * D * math.sqrt(L * (2 + lam) * F)
        variation_form = paper_meta_regret(D, G, L, lam, 2 * V + math.log(2))
        return min(variation_form, loss_form)
    loss_form = (
        L * D**2 * lam
        + 2 * D * G * math.sqrt(LEARNED_OPTIMISM_ERROR * lam)
        + 2 * D * math.sqrt(L * lam * F)
    )
    variation_form = safe_meta_regret(D, L, lam, V + LEARNED_OPTIMISM_ERROR * G**2)
    return min(variation_form, loss_form)


def safe_meta_regret(D: float, L: float, lam: float, square_sum: float) -> float:
    """2 D sqrt(lam S) + 2 L D^2 lam: bound on meta-regret at the library's default rate.

    S is ``square_sum``, a bound on the sum of squared errors of the optimism, in units of D^2.
    Proof: ``docs/proofs.md``, "Theorems 2 and 6: the meta".
    """
    return 2 * D * math.sqrt(lam * square_sum) + 2 * L * D**2 * lam


def paper_meta_regret(D: float, G: float, L: float, lam: float, square_sum: float) -> float:
    """(2 + lam)/eps + eps D^2 (S + G^2): bound on meta-regret at the paper's fixed rate eps.

    S is ``square_sum``, as for the default rate but without the first round, whose optimism is 0
    and which adds eps D^2 G^2.
    """
    max_rate = 1 / (math.sqrt(8) * D**2 * L)
    eps = min(max_rate, math.sqrt((2 + lam) / (D**2 * square_sum))) if square_sum > 0 else max_rate
    return (2 + lam) / eps + eps * D**2 * (square_sum + G**2)


def paper_loss_free_meta_terms(D: float, L: float, lam: float) -> float:
    """The terms of Sword_best's meta-regret that do not depend on losses, in the paper's form."""
    return 2 * math.sqrt(8) * D**2 * L * (2 + lam) + 2 * D * math.sqrt((2 + lam) * math.log(2))


def warn_of_optimism_claim(bound: str, gradient_bound: float) -> None:
    """Warn if the paper's claim about its learned optimism, at the rate 2, may be false."""
    if gradient_bound > MAX_CLAIMED_GRADIENT:
        warnings.warn(
            f"bounds.{bound}(tuning='paper') assumes the paper's claim about the learned optimism, "
            f"which is proven for gradients up to {MAX_CLAIMED_GRADIENT} and false above 0.335; "
            f"gradient_bound={gradient_bound:g}. Use tuning='safe' for a bound that holds.",
            UserWarning,
            stacklevel=CALLER_STACKLEVEL,
        )
