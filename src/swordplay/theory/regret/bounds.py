r"""The theorems as functions: explicit numbers, no O().

Each function returns an upper bound on dynamic regret. ``tuning="safe"`` (the default) is the bound that holds with
every constant for the library's default pools and rates; ``tuning="paper"`` is what the paper's own pools and fixed
rates give with the paper's lemmas. In the formulas D is the diameter, G the gradient bound, L the smoothness,
:math:`A = D^2 + 2 D P_T`, and :math:`\lambda = \ln N` with N the number of experts.
"""

from __future__ import annotations

import math
from typing import Literal

from swordplay.base import arguments
from swordplay.theory.regret.field_bounds import sword_plus_plus as sword_plus_plus
from swordplay.theory.regret.meta_bounds import ada_normal_hedge as ada_normal_hedge
from swordplay.theory.regret.meta_bounds import adapt_ml_prod as adapt_ml_prod
from swordplay.theory.regret.meta_bounds import fixed_share as fixed_share
from swordplay.theory.regret.meta_bounds import squint as squint

Tuning = Literal["safe", "paper"]


def ogd(
    *,
    diameter: float,
    step_size: float,
    path_length: float,
    smoothness: float | None = None,
    comparator_loss: float | None = None,
    gradient_bound: float | None = None,
    horizon: int | None = None,
) -> float:
    r"""Online gradient descent.

    .. math:: \min\Big\{ \frac{A/(2\eta) + \eta L F_T}{1 - \eta L} \ (\eta L < 1), \quad
        \frac{A}{2\eta} + \frac{\eta G^2 T}{2} \Big\}

    The first form needs ``smoothness`` and ``comparator_loss`` and losses that are nowhere negative, the second
    ``gradient_bound`` and ``horizon``; give either or both.

    References
    ----------
    Zhao et al. (2020), the theorem on OGD; Zinkevich (2003).
    """
    A = _spread(diameter, path_length)
    eta = arguments.positive("step_size", step_size)
    forms = []
    if smoothness is not None and comparator_loss is not None:
        L = arguments.nonnegative("smoothness", smoothness)
        if eta * L < 1:
            F = arguments.nonnegative("comparator_loss", comparator_loss)
            forms.append((A / (2 * eta) + eta * L * F) / (1 - eta * L))
        else:
            forms.append(math.inf)
    if gradient_bound is not None and horizon is not None:
        G, T = arguments.nonnegative("gradient_bound", gradient_bound), arguments.whole("horizon", horizon, least=0)
        forms.append(A / (2 * eta) + eta * G**2 * T / 2)
    if not forms:
        raise ValueError(
            "bounds.ogd needs smoothness and comparator_loss, or gradient_bound and horizon. Give one pair or both."
        )
    return min(forms)


def oegd(
    *,
    diameter: float,
    step_size: float,
    path_length: float,
    variation: float,
    smoothness: float,
    gradient_bound: float,
    tuning: Tuning = "safe",
) -> float:
    r"""Online extra-gradient descent.

    .. math:: \text{safe, } \eta L < 1: \frac{A}{2\eta} + \frac{\eta V_T}{2 (1 - \eta^2 L^2)} + \frac{\eta G^2}{2};
        \qquad \text{paper, } \eta \le \frac{1}{4L}: \frac{A}{2\eta} + \eta V_T + G D

    Infinite where the step is too long for the bound to say anything.

    References
    ----------
    Zhao et al. (2020), the theorem on OEGD.
    """
    A = _spread(diameter, path_length)
    eta, V = arguments.positive("step_size", step_size), arguments.nonnegative("variation", variation)
    L, G = arguments.nonnegative("smoothness", smoothness), arguments.nonnegative("gradient_bound", gradient_bound)
    if _is_paper(tuning):
        return A / (2 * eta) + eta * V + G * diameter if eta * L <= 0.25 else math.inf
    return A / (2 * eta) + eta * V / (2 * (1 - (eta * L) ** 2)) + eta * G**2 / 2 if eta * L < 1 else math.inf


def sword_var(
    *,
    diameter: float,
    gradient_bound: float,
    smoothness: float,
    path_length: float,
    variation: float,
    experts: int,
    tuning: Tuning = "safe",
) -> float:
    r"""Sword_var.

    .. math:: \text{safe: } E_v + 2 D \sqrt{\lambda (V_T + 2 G^2)} + 2 L D^2 \lambda, \qquad
        E_v = \sqrt{\tfrac32 A (V_T + \tfrac34 G^2)} + L A

    The paper's: its expert bound at the best step of its pool, plus its meta bound at its fixed rate,

    .. math:: \tfrac32 \sqrt{2 A V_T} + 4 L A + G D + \frac{2 + \lambda}{\varepsilon} + 2 \varepsilon D^2 V_T
        + \varepsilon D^2 G^2.

    References
    ----------
    Zhao et al. (2020), Theorem 3.
    """
    A, lam = _spread(diameter, path_length), math.log(arguments.whole("experts", experts))
    D, G, L = diameter, arguments.positive("gradient_bound", gradient_bound), arguments.positive("smoothness", smoothness)
    V = arguments.nonnegative("variation", variation)
    if _is_paper(tuning):
        return _paper_variation_experts(A, D, G, L, V) + _paper_meta(D, G, L, lam, 2 * V)
    return _safe_variation_experts(A, G, L, V) + 2 * D * math.sqrt(lam * (V + 2 * G**2)) + 2 * L * D**2 * lam


def sword_small(
    *,
    diameter: float,
    gradient_bound: float,
    smoothness: float,
    path_length: float,
    comparator_loss: float,
    experts: int,
    tuning: Tuning = "safe",
) -> float:
    r"""Sword_small, for losses that are nowhere negative.

    .. math:: \text{safe: } c + \tfrac a2 + \sqrt{\tfrac{a^2}{4} + a (F_T + c)}, \qquad
        a = 2 L D^2 \lambda, \quad c = E_s + D G \sqrt\lambda, \quad E_s = 3 \sqrt{L A F_T} + 2 L A

    The paper's has the same form, with :math:`a = 16 L D^2 (2 + \lambda)`: its meta regret is
    :math:`2 D \sqrt{(2 + \lambda) \bar F_T}` and :math:`\bar F_T \le 4 L F^x_T` by its self-bounding lemma.

    References
    ----------
    Zhao et al. (2020), Theorem 5; its self-bounding lemma is Lemma 4.
    """
    A, lam = _spread(diameter, path_length), math.log(arguments.whole("experts", experts))
    D, G, L = diameter, arguments.positive("gradient_bound", gradient_bound), arguments.positive("smoothness", smoothness)
    F = arguments.nonnegative("comparator_loss", comparator_loss)
    if _is_paper(tuning):
        return _self_bounded(_paper_small_loss_experts(A, L, F), 16 * L * D**2 * (2 + lam), F)
    return _self_bounded(_safe_small_loss_experts(A, L, F) + D * G * math.sqrt(lam), 2 * L * D**2 * lam, F)


def sword_best(
    *,
    diameter: float,
    gradient_bound: float,
    smoothness: float,
    path_length: float,
    variation: float,
    comparator_loss: float,
    experts: int,
    tuning: Tuning = "safe",
) -> float:
    r"""Sword_best: the smaller of two forms, for losses that are nowhere negative.

    .. math:: \text{safe: } \min\Big\{ E_v + 2 D \sqrt{\lambda (V_T + (2 + 4 \ln 2) G^2)} + 2 L D^2 \lambda, \quad
        c + \tfrac a2 + \sqrt{\tfrac{a^2}{4} + a (F_T + c)} \Big\}

    with :math:`a = 4 L D^2 \lambda`, :math:`c = E_s + L D^2 \lambda + 2 D G \sqrt{(2 + 4 \ln 2) \lambda}`; ``experts``
    counts both kinds. The paper's form takes its claim about the learned optimism at face value, which is right only
    for G <= 1/4.

    References
    ----------
    Zhao et al. (2020), Theorem 7.
    """
    A, lam = _spread(diameter, path_length), math.log(arguments.whole("experts", experts))
    D, G, L = diameter, arguments.positive("gradient_bound", gradient_bound), arguments.positive("smoothness", smoothness)
    V, F = arguments.nonnegative("variation", variation), arguments.nonnegative("comparator_loss", comparator_loss)
    if _is_paper(tuning):
        by_variation = _paper_variation_experts(A, D, G, L, V) + _paper_meta(D, G, L, lam, 2 * V + math.log(2))
        meta = 2 * math.sqrt(8) * D**2 * L * (2 + lam) + 2 * D * math.sqrt((2 + lam) * math.log(2))
        by_loss = _self_bounded(_paper_small_loss_experts(A, L, F) + meta, 16 * L * D**2 * (2 + lam), F)
        return min(by_variation, by_loss)
    learning = (2 + 4 * math.log(2)) * G**2  # what telling the two guesses apart costs
    by_variation = _safe_variation_experts(A, G, L, V) + 2 * D * math.sqrt(lam * (V + learning)) + 2 * L * D**2 * lam
    constant = _safe_small_loss_experts(A, L, F) + L * D**2 * lam + 2 * D * math.sqrt(learning * lam)
    return min(by_variation, _self_bounded(constant, 4 * L * D**2 * lam, F))


def ader(*, diameter: float, gradient_bound: float, path_length: float, horizon: int) -> float:
    r"""Ader, against every comparator.

    .. math:: \tfrac{3G}{4} \sqrt{2 T (7 D^2 + 4 D P_T)} + \tfrac{G D \sqrt{2T}}{2} \big[1 + 2 \ln(k + 1)\big], \qquad
        k = \Big\lfloor \tfrac12 \log_2\big(1 + \tfrac{4 P_T}{7 D}\big) \Big\rfloor + 1

    References
    ----------
    Zhang, Lu, Zhou (2018), Theorem 4 of "Adaptive online learning in dynamic environments".
    """
    D, G = arguments.positive("diameter", diameter), arguments.positive("gradient_bound", gradient_bound)
    P, T = arguments.nonnegative("path_length", path_length), arguments.whole("horizon", horizon)
    k = math.floor(0.5 * math.log2(1 + 4 * P / (7 * D))) + 1
    meta = G * D * math.sqrt(2 * T) / 2 * (1 + 2 * math.log(k + 1))
    return 0.75 * G * math.sqrt(2 * T * (7 * D**2 + 4 * D * P)) + meta


def _spread(diameter: float, path_length: float) -> float:
    """A = D^2 + 2 D P_T: how far the comparators start and travel."""
    D, P = arguments.positive("diameter", diameter), arguments.nonnegative("path_length", path_length)
    return D**2 + 2 * D * P


def _is_paper(tuning: Tuning) -> bool:
    if tuning not in ("safe", "paper"):
        raise ValueError(f"tuning must be 'safe' or 'paper', got {arguments.shown(tuning)}.")
    return tuning == "paper"


def _safe_variation_experts(A: float, G: float, L: float, V: float) -> float:
    """E_v: the best expert of the safe pool, in terms of gradient variation."""
    return math.sqrt(1.5 * A * (V + 0.75 * G**2)) + L * A


def _safe_small_loss_experts(A: float, L: float, F: float) -> float:
    """E_s: the best expert of the safe pool, in terms of the comparators' loss."""
    return 3 * math.sqrt(L * A * F) + 2 * L * A


def _paper_variation_experts(A: float, D: float, G: float, L: float, V: float) -> float:
    """A/(2 eta) + eta V + G D within a factor of two of the best eta: 1.5 times its minimum, or the cap's 4 L A."""
    return 1.5 * math.sqrt(2 * A * V) + 4 * L * A + G * D


def _paper_small_loss_experts(A: float, L: float, F: float) -> float:
    """A/(2 eta) + eta L F over 1 - eta L >= 1/2, within a factor of two of the best eta, or at the cap 1/(4L)."""
    return 3 * math.sqrt(2 * L * A * F) + 6 * L * A


def _paper_meta(D: float, G: float, L: float, lam: float, total: float) -> float:
    """(2 + lam)/eps + eps D^2 total at the paper's rate; the first round, which has no guess, adds eps D^2 G^2."""
    cap = 1 / (math.sqrt(8) * D**2 * L)
    eps = min(cap, math.sqrt((2 + lam) / (D**2 * total))) if total > 0 else cap
    return (2 + lam) / eps + eps * D**2 * (total + G**2)


def _self_bounded(c: float, a: float, F: float) -> float:
    """The largest R with R <= c + sqrt(a (F + R)): regret that is bounded by the learner's own loss F + R."""
    return c + a / 2 + math.sqrt(a**2 / 4 + a * (F + c))
