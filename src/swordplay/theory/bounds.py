r"""The theorems as functions: explicit numbers, no O().

Each function returns an upper bound on dynamic regret. ``tuning="safe"`` (the default) is the bound
that holds with every constant for the library's default pools and rates; ``tuning="paper"`` is what
the paper's own pools and fixed rates give with the paper's lemmas. In the formulas D is the
diameter, G the gradient bound, L the smoothness, :math:`A = D^2 + 2 D P_T`, and :math:`\lambda =
\ln N` with N the number of experts.

A bound is worth no more than its assumptions. Give ``assumptions=learner.assumptions`` and it is
refused where the learner has seen that one of them does not hold: a longer gradient than G, a loss
less smooth than L, more rounds than T, a negative loss.
"""

from __future__ import annotations

import math
import warnings

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.parts import pools
from swordplay.parts.learners.assumptions import Assumptions, stand
from swordplay.theory.cover_bounds import aligator, cbce, sacs, saol
from swordplay.theory.curved_bounds import curved_expert
from swordplay.theory.field_bounds import (
    ader_true_losses,
    metagrad,
    omgd,
    optimistic_ogd,
    restarted_ogd,
    sword_plus_plus,
)
from swordplay.theory.meta_bounds import ada_normal_hedge, adapt_ml_prod, fixed_share, squint
from swordplay.theory.part_bounds import (
    LEARNING,
    Tuning,
    best_step_oegd,
    best_step_ogd,
    is_paper,
    meta_best,
    meta_small,
    meta_var,
    optimistic_hedge,
    paper_learned,
    paper_meta,
    safe_meta,
    warn_of_optimism,
)
from swordplay.theory.single_bounds import oegd, ogd, spread

__all__ = [
    "Tuning",
    "ada_normal_hedge",
    "adapt_ml_prod",
    "ader",
    "ader_true_losses",
    "aligator",
    "best_step_oegd",
    "best_step_ogd",
    "cbce",
    "curved_expert",
    "fixed_share",
    "meta_best",
    "meta_small",
    "meta_var",
    "metagrad",
    "oegd",
    "ogd",
    "omgd",
    "optimistic_hedge",
    "optimistic_ogd",
    "restarted_ogd",
    "sacs",
    "saol",
    "squint",
    "sword_best",
    "sword_plus_plus",
    "sword_small",
    "sword_var",
]


@checked
def sword_var(
    *,
    diameter: float,
    gradient_bound: float,
    smoothness: float,
    path_length: float,
    variation: float,
    experts: int,
    tuning: Tuning = "safe",
    assumptions: Assumptions | None = None,
) -> float:
    r"""Sword_var.

    .. math:: \text{safe: } E_v + 2 D \sqrt{\lambda (V_T + 2 G^2)} + 2 L D^2 \lambda, \qquad
        E_v = \sqrt{\tfrac32 A (V_T + \tfrac34 G^2)} + L A

    The paper's: its expert bound at the best step of its pool, plus its meta bound at its fixed
    rate,

    .. math:: \tfrac32 \sqrt{2 A V_T} + 4 L A + G D + \frac{2 + \lambda}{\varepsilon} + 2
        \varepsilon D^2 V_T
        + \varepsilon D^2 G^2.

    References
    ----------
    Zhao et al. (2020), Theorem 3.
    """
    stand(assumptions, "bounds.sword_var")
    A, lam = spread(diameter, path_length), math.log(arguments.integer("experts", experts))
    D, G, L = (
        diameter,
        arguments.positive("gradient_bound", gradient_bound),
        arguments.positive("smoothness", smoothness),
    )
    V = arguments.nonnegative("variation", variation)
    if is_paper(tuning):
        return _paper_variation_experts(A, D, G, L, V) + paper_meta(D, G, L, lam, 2 * V)
    return _safe_variation_experts(A, G, L, V) + safe_meta(D, L, lam, V + 2 * G**2)


@checked
def sword_small(
    *,
    diameter: float,
    gradient_bound: float,
    smoothness: float,
    path_length: float,
    comparator_loss: float,
    experts: int,
    horizon: int | None = None,
    tuning: Tuning = "safe",
    assumptions: Assumptions | None = None,
) -> float:
    r"""Sword_small, for losses that are nowhere negative.

    .. math:: \text{safe: } c + \tfrac a2 + \sqrt{\tfrac{a^2}{4} + a (F_T + c)}, \qquad
        a = 2 L D^2 \lambda, \quad c = E_s + D G \sqrt\lambda, \quad E_s = 3 \sqrt{L A F_T} + 2 L A

    The paper's has the same form, with :math:`a = 16 L D^2 (2 + \lambda)`: its meta regret is
    :math:`2 D \sqrt{(2 + \lambda) \bar F_T}` and :math:`\bar F_T \le 4 L F^x_T` by its
    self-bounding lemma. Its pool presumes :math:`F_T \le G D T`, which losses with their minimum
    outside the domain break: give ``horizon`` and the bound is that of the pool's smallest step
    there; without it you are warned.

    References
    ----------
    Zhao et al. (2020), Theorem 5; its self-bounding lemma is Lemma 4.
    """
    stand(assumptions, "bounds.sword_small")
    A, lam = spread(diameter, path_length), math.log(arguments.integer("experts", experts))
    D, G, L = (
        diameter,
        arguments.positive("gradient_bound", gradient_bound),
        arguments.positive("smoothness", smoothness),
    )
    F = arguments.nonnegative("comparator_loss", comparator_loss)
    if is_paper(tuning):
        experts_part = _paper_small_loss_experts("sword_small", A, D, G, L, F, horizon)
        return _self_bounded(experts_part, 16 * L * D**2 * (2 + lam), F)
    return _self_bounded(
        _safe_small_loss_experts(A, L, F) + D * G * math.sqrt(lam), 2 * L * D**2 * lam, F
    )


@checked
def sword_best(
    *,
    diameter: float,
    gradient_bound: float,
    smoothness: float,
    path_length: float,
    variation: float,
    comparator_loss: float,
    experts: int,
    horizon: int | None = None,
    tuning: Tuning = "safe",
    assumptions: Assumptions | None = None,
) -> float:
    r"""Sword_best: the smaller of two forms, for losses that are nowhere negative.

    .. math:: \text{safe: } \min\Big\{ E_v + 2 D \sqrt{\lambda (V_T + (2 + 4 \ln 2) G^2)} + 2 L D^2
        \lambda, \quad c + \tfrac a2 + \sqrt{\tfrac{a^2}{4} + a (F_T + c)} \Big\}

    with :math:`a = 4 L D^2 \lambda`, :math:`c = E_s + L D^2 \lambda + 2 D G \sqrt{(2 + 4 \ln 2)
    \lambda}`; ``experts`` counts both kinds. The paper's form takes its claim about the learned
    optimism at face value, which is right only for G <= 1/4; above it warns.

    References
    ----------
    Zhao et al. (2020), Theorem 7.
    """
    stand(assumptions, "bounds.sword_best")
    A, lam = spread(diameter, path_length), math.log(arguments.integer("experts", experts))
    D, G, L = (
        diameter,
        arguments.positive("gradient_bound", gradient_bound),
        arguments.positive("smoothness", smoothness),
    )
    V, F = (
        arguments.nonnegative("variation", variation),
        arguments.nonnegative("comparator_loss", comparator_loss),
    )
    if is_paper(tuning):
        warn_of_optimism("sword_best", G)
        by_variation = _paper_variation_experts(A, D, G, L, V) + paper_meta(
            D, G, L, lam, 2 * V + math.log(2)
        )
        meta = paper_learned(D, L, lam)
        experts_part = _paper_small_loss_experts("sword_best", A, D, G, L, F, horizon)
        by_loss = _self_bounded(experts_part + meta, 16 * L * D**2 * (2 + lam), F)
        return min(by_variation, by_loss)
    learning = LEARNING * G**2
    by_variation = _safe_variation_experts(A, G, L, V) + safe_meta(D, L, lam, V + learning)
    constant = (
        _safe_small_loss_experts(A, L, F) + L * D**2 * lam + 2 * D * math.sqrt(learning * lam)
    )
    return min(by_variation, _self_bounded(constant, 4 * L * D**2 * lam, F))


@checked
def ader(
    *,
    diameter: float,
    gradient_bound: float,
    path_length: float,
    horizon: int,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Ader, against every comparator.

    .. math:: \tfrac{3G}{4} \sqrt{2 T (7 D^2 + 4 D P_T)} + \tfrac{G D \sqrt{2T}}{2} \big[1 + 2 \ln(k
        + 1)\big], \qquad k = \Big\lfloor \tfrac12 \log_2\big(1 + \tfrac{4 P_T}{7 D}\big)
        \Big\rfloor + 1

    References
    ----------
    Zhang, Lu, Zhou (2018), Theorem 4 of "Adaptive online learning in dynamic environments".
    """
    stand(assumptions, "bounds.ader")
    D, G = (
        arguments.positive("diameter", diameter),
        arguments.positive("gradient_bound", gradient_bound),
    )
    P, T = arguments.nonnegative("path_length", path_length), arguments.integer("horizon", horizon)
    k = math.floor(0.5 * math.log2(1 + 4 * P / (7 * D))) + 1
    meta = G * D * math.sqrt(2 * T) / 2 * (1 + 2 * math.log(k + 1))
    return 0.75 * G * math.sqrt(2 * T * (7 * D**2 + 4 * D * P)) + meta


def _safe_variation_experts(A: float, G: float, L: float, V: float) -> float:
    """E_v: the best expert of the safe pool, in terms of gradient variation."""
    return math.sqrt(1.5 * A * (V + 0.75 * G**2)) + L * A


def _safe_small_loss_experts(A: float, L: float, F: float) -> float:
    """E_s: the best expert of the safe pool, in terms of the comparators' loss."""
    return 3 * math.sqrt(L * A * F) + 2 * L * A


def _paper_variation_experts(A: float, D: float, G: float, L: float, V: float) -> float:
    """A/(2 eta) + eta V + G D within a factor of two of the best eta: 1.5 times its minimum, or
    the cap's 4 L A.
    """
    return 1.5 * math.sqrt(2 * A * V) + 4 * L * A + G * D


def _paper_small_loss_experts(
    what: str, A: float, D: float, G: float, L: float, F: float, horizon: int | None
) -> float:
    """A/(2 eta) + eta L F over 1 - eta L >= 1/2, within a factor of two of the best eta, or at the
    cap 1/(4L).

    The paper's pool starts at the step that is best for F_T = G D T and presumes that no comparator
    loses more. Losses whose minimum lies outside the domain do; for those the smallest step of the
    pool is the best there is.
    """
    if horizon is None:
        warnings.warn(
            f"bounds.{what}(tuning='paper') presumes comparator_loss <= gradient_bound * diameter "
            "* horizon, as the paper "
            "does, and is false without. Give horizon=T to have that seen to.",
            UserWarning,
            stacklevel=4,
        )
    elif G * D * arguments.integer("horizon", horizon) < F:
        steps = pools.small_loss(
            diameter=D, gradient_bound=G, smoothness=L, horizon=horizon
        ).tolist()
        return float(
            min((A / (2 * eta) + eta * L * F) / (1 - eta * L) for eta in steps if eta * L < 1)
        )
    return 3 * math.sqrt(2 * L * A * F) + 6 * L * A


def _self_bounded(c: float, a: float, F: float) -> float:
    """The largest R with R <= c + sqrt(a (F + R)): regret that is bounded by the learner's own
    loss F + R.
    """
    return c + a / 2 + math.sqrt(a**2 / 4 + a * (F + c))
