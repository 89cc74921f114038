r"""Bounds of Sword_var, Sword_small and Sword_best: Theorems 3, 5 and 7.

In the formulas D is the diameter, G the gradient bound, L the smoothness, :math:`A = D^2 + 2 D
P_T`, and :math:`\lambda = \ln N` with N the number of experts. ``tuning="safe"`` gives the bound
of the library's default pools and rates, with all constants explicit; ``tuning="paper"`` gives the
bound of the paper's pools and fixed rates. The decorator
:func:`~swordplay.theory.bounds.theorem.theorem` checks ``assumptions``.
"""

from __future__ import annotations

import math
import warnings

from swordplay.parts import pools
from swordplay.parts.learners.assumptions import Assumptions
from swordplay.theory.bounds.meta_lemma_1_theorems_2_6 import (
    LEARNED_OPTIMISM_ERROR,
    paper_loss_free_meta_terms,
    paper_meta_regret,
    safe_meta_regret,
    warn_of_optimism_claim,
)
from swordplay.theory.bounds.ogd_oegd_theorems_1_4 import path_term
from swordplay.theory.bounds.theorem import (
    CALLER_STACKLEVEL,
    NonNegative,
    Positive,
    PositiveInt,
    Tuning,
    theorem,
)


@theorem
def sword_var(
    *,
    diameter: Positive,
    gradient_bound: Positive,
    smoothness: Positive,
    path_length: NonNegative,
    variation: NonNegative,
    experts: PositiveInt,
    tuning: Tuning = "safe",
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of Sword_var.

    .. math:: \text{safe: } E_v + 2 D \sqrt{\lambda (V_T + 2 G^2)} + 2 L D^2 \lambda, \qquad
        E_v = \sqrt{\tfrac32 A (V_T + \tfrac34 G^2)} + L A

    The paper's form is the sum of two of the paper's bounds: of the expert with the best step size
    of the paper's pool, and of the meta with the paper's fixed rate :math:`\varepsilon`,

    .. math:: \tfrac32 \sqrt{2 A V_T} + 4 L A + G D + \frac{2 + \lambda}{\varepsilon} + 2
        \varepsilon D^2 V_T
        + \varepsilon D^2 G^2, \qquad \varepsilon = \min\Big\{\frac{1}{\sqrt 8 L D^2},
        \sqrt{\frac{2 + \lambda}{2 D^2 V_T}}\Big\}.

    References
    ----------
    Zhao et al. (2020), Theorem 3; the safe form: ``docs/proofs.md``, "Theorems 3, 5 and 7".
    """
    D, G, L, lam = diameter, gradient_bound, smoothness, math.log(experts)
    A, V = path_term(D, path_length), variation
    if tuning == "paper":
        return _paper_variation_regret(A, D, G, L, V) + paper_meta_regret(
            D, G, L, lam, square_sum=2 * V
        )
    return _safe_variation_regret(A, G, L, V) + safe_meta_regret(D, L, lam, square_sum=V + 2 * G**2)


@theorem
def sword_small(
    *,
    diameter: Positive,
    gradient_bound: Positive,
    smoothness: Positive,
    path_length: NonNegative,
    comparator_loss: NonNegative,
    experts: PositiveInt,
    horizon: PositiveInt | None = None,
    tuning: Tuning = "safe",
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of Sword_small, for losses that are nowhere negative.

    .. math:: \text{safe: } c + \tfrac a2 + \sqrt{\tfrac{a^2}{4} + a (F_T + c)}, \qquad
        a = 2 L D^2 \lambda, \quad c = E_s + D G \sqrt\lambda, \quad E_s = 3 \sqrt{L A F_T} + 2 L A

    The paper's form has :math:`a = 16 L D^2 (2 + \lambda)` and c the regret bound of the best
    expert of the paper's pool. The paper bounds the meta's regret by
    :math:`2 D \sqrt{(2 + \lambda) \bar F_T}`, with :math:`\bar F_T` the sum of the learner's
    squared gradients. The self-bounding lemma bounds this sum by :math:`4 L F^x_T`, with
    :math:`F^x_T` the learner's loss.

    The paper's pool assumes :math:`F_T \le G D T`, which is false for some losses with their
    minimum outside the domain. For these the bound uses the best step size that the pool has, for
    which ``horizon`` is needed. Without ``horizon`` the function presumes :math:`F_T \le G D T` and
    warns.

    References
    ----------
    Zhao et al. (2020), Theorem 5; the self-bounding lemma is Lemma 4. The safe form:
    ``docs/proofs.md``, "Theorems 3, 5 and 7".
    """
    D, G, L, lam = diameter, gradient_bound, smoothness, math.log(experts)
    A, F = path_term(D, path_length), comparator_loss
    if tuning == "paper":
        expert_regret = _paper_small_loss_regret("sword_small", A, D, G, L, F, horizon)
        return _solve_self_bounding(expert_regret, 16 * L * D**2 * (2 + lam), F)
    return _solve_self_bounding(
        _safe_small_loss_regret(A, L, F) + D * G * math.sqrt(lam), 2 * L * D**2 * lam, F
    )


@theorem
def sword_best(
    *,
    diameter: Positive,
    gradient_bound: Positive,
    smoothness: Positive,
    path_length: NonNegative,
    variation: NonNegative,
    comparator_loss: NonNegative,
    experts: PositiveInt,
    horizon: PositiveInt | None = None,
    tuning: Tuning = "safe",
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of Sword_best for losses that are nowhere negative: the smaller of two forms.

    .. math:: \text{safe: } \min\Big\{ E_v + 2 D \sqrt{\lambda (V_T + (2 + 4 \ln 2) G^2)} + 2 L D^2
        \lambda, \quad c + \tfrac a2 + \sqrt{\tfrac{a^2}{4} + a (F_T + c)} \Big\}

    with :math:`a = 4 L D^2 \lambda`, :math:`c = E_s + L D^2 \lambda + 2 D G \sqrt{(2 + 4 \ln 2)
    \lambda}`, :math:`E_v` and :math:`E_s` as in :func:`sword_var` and :func:`sword_small`;
    ``experts`` counts both kinds. The paper's form is the smaller of

    - the paper's form of :func:`sword_var`, its meta part with :math:`V_T + \tfrac12 \ln 2` for
      :math:`V_T`;
    - the paper's form of :func:`sword_small`, with :math:`c + 2 \sqrt 8 L D^2 (2 + \lambda) + 2 D
      \sqrt{(2 + \lambda) \ln 2}` for c.

    It assumes the paper's claim about the learned optimism, which holds for G <= 1/4; for larger G
    the function warns.

    References
    ----------
    Zhao et al. (2020), Theorem 7; the safe form: ``docs/proofs.md``, "Theorems 3, 5 and 7".
    """
    D, G, L, lam = diameter, gradient_bound, smoothness, math.log(experts)
    A, V, F = path_term(D, path_length), variation, comparator_loss
    if tuning == "paper":
        warn_of_optimism_claim("sword_best", G)
        variation_form = _paper_variation_regret(A, D, G, L, V) + paper_meta_regret(
            D, G, L, lam, square_sum=2 * V + math.log(2)
        )
        loss_free_meta_terms = paper_loss_free_meta_terms(D, L, lam)
        expert_regret = _paper_small_loss_regret("sword_best", A, D, G, L, F, horizon)
        loss_form = _solve_self_bounding(
            expert_regret + loss_free_meta_terms, 16 * L * D**2 * (2 + lam), F
        )
        return min(variation_form, loss_form)
    added_squared_error = LEARNED_OPTIMISM_ERROR * G**2
    variation_form = _safe_variation_regret(A, G, L, V) + safe_meta_regret(
        D, L, lam, square_sum=V + added_squared_error
    )
    constant = (
        _safe_small_loss_regret(A, L, F)
        + L * D**2 * lam
        + 2 * D * math.sqrt(added_squared_error * lam)
    )
    return min(variation_form, _solve_self_bounding(constant, 4 * L * D**2 * lam, F))


def _safe_variation_regret(A: float, G: float, L: float, V: float) -> float:
    """E_v: regret bound of the best expert of the safe pool, by the gradient variation.

    Proof: ``docs/proofs.md``, "The best expert of the safe pool".
    """
    return math.sqrt(1.5 * A * (V + 0.75 * G**2)) + L * A


def _safe_small_loss_regret(A: float, L: float, F: float) -> float:
    """E_s: regret bound of the best expert of the safe pool, by the comparators' loss.

    Proof: ``docs/proofs.md``, "The best expert of the safe pool".
    """
    return 3 * math.sqrt(L * A * F) + 2 * L * A


def _paper_variation_regret(A: float, D: float, G: float, L: float, V: float) -> float:
    """Regret bound of the best expert of the paper's pool, by the gradient variation.

    An expert's bound is A/(2 eta) + eta V + G D. If the pool has a step size between half the best
    eta and the best eta, the first two terms are at most 1.5 sqrt(2 A V). Otherwise the best eta is
    above the largest step size, which is at least 1/(4L), and at that one they are at most 4 L A.
    The sum covers both cases.
    """
    return 1.5 * math.sqrt(2 * A * V) + 4 * L * A + G * D


def _paper_small_loss_regret(
    bound_name: str, A: float, D: float, G: float, L: float, F: float, horizon: int | None
) -> float:
    """Regret bound of the best expert of the paper's pool, by the comparators' loss.

    An expert's bound is (A/(2 eta) + eta L F) / (1 - eta L), where 1 - eta L >= 1/2. Let the best
    eta be the minimiser of the numerator. If the pool has a step size between half of the best eta
    and the best eta, the bound is at most 3 sqrt(2 L A F). Otherwise the best eta is above the
    largest step size, which is at least 1/(4L), and there the bound is at most 6 L A. The sum
    covers both cases.

    The smallest step size of the pool is the best one for F_T = G D T. For larger F_T the result is
    the smallest bound of any step size of the pool.
    """
    if horizon is None:
        warnings.warn(
            f"bounds.{bound_name}(tuning='paper') presumes comparator_loss <= gradient_bound * "
            "diameter * horizon, as the paper does, and is false otherwise. Give horizon=T, and "
            "the bound holds in both cases.",
            UserWarning,
            stacklevel=CALLER_STACKLEVEL,
        )
    elif G * D * horizon < F:
        steps = pools.small_loss(
            diameter=D, gradient_bound=G, smoothness=L, horizon=horizon
        ).tolist()
        return float(
            min((A / (2 * eta) + eta * L * F) / (1 - eta * L) for eta in steps if eta * L < 1)
        )
    return 3 * math.sqrt(2 * L * A * F) + 6 * L * A


def _solve_self_bounding(c: float, a: float, F: float) -> float:
    """The largest regret R with R <= c + sqrt(a (F + R)), where F + R is the learner's loss."""
    return c + a / 2 + math.sqrt(a**2 / 4 + a * (F + c))
