r"""Bounds of the learners beside Sword, such as Sword++, Ader, MetaGrad, OMGD, SAOL and Aligator.

In the formulas D is the diameter, G the gradient bound, L the smoothness, :math:`A = D^2 + 2 D
P_T`, and :math:`\lambda = \ln N` with N the number of experts. ``docs/theory.md`` and
``docs/proofs.md`` prove the bounds that the literature gives as rates only. The decorator
:func:`~swordplay.theory.bounds.theorem.theorem` checks ``assumptions``.

The bounds of SAOL, CBCE and SACS hold on any interval of rounds. The interval is cut into
intervals of the learner's cover, at the start of each of which an expert begins. On an interval of
n rounds the meta's regret to its expert is bounded, and the regret of this expert to any fixed
decision is at most :math:`\tfrac32 D G \sqrt n`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from swordplay.parts.learners.assumptions import Assumptions
from swordplay.parts.learners.metagrad_curved import metagrad_rates
from swordplay.parts.metas import telescoping
from swordplay.theory.bounds.ogd_oegd_theorems_1_4 import path_term
from swordplay.theory.bounds.other_metas import largest_solution
from swordplay.theory.bounds.theorem import NonNegative, Positive, PositiveInt, theorem

EXPERT_FACTOR = 1.5
"""Regret of an expert with AdaGrad-norm steps D/(2 sqrt(E)), as a multiple of D sqrt(E).

E is the sum of squared gradient norms. The distance to the comparator contributes D sqrt(E), the
steps contribute D sqrt(E)/2.
"""
CBCE_PRIOR_SUM = math.pi**2 / 6
"""Sum of all priors of CBCE: at most 1/tau^2 for the experts that begin in round tau."""


@theorem
def sword_plus_plus(
    *,
    diameter: Positive,
    gradient_bound: Positive,
    smoothness: Positive,
    path_length: NonNegative,
    experts: PositiveInt,
    variation: NonNegative | None = None,
    comparator_loss: NonNegative | None = None,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of Sword++ with its default pool and rate: the smaller of two forms.

    .. math:: \tfrac32 \sqrt{2 A (V_T + \tfrac12 G^2)} + 4 L A + 2 D \sqrt{\lambda (V_T + 2 G^2)} +
        \tfrac{14}{3} L D^2 \lambda

    and, for losses that are nowhere negative, the largest R with

    .. math:: R \le 4 L A + 2 L D^2 \lambda + 2 D G \sqrt{2 \lambda}
        + \big(5 \sqrt{L A} + 4 D \sqrt{L \lambda}\big) \sqrt{F_T + R}.

    Give ``variation``, ``comparator_loss`` or both.

    References
    ----------
    Zhao, Zhang, Zhang, Zhou (2024), Sword++; constants of our own.
    """
    D, G, L, lam = diameter, gradient_bound, smoothness, math.log(experts)
    A = path_term(D, path_length)
    forms = []
    if variation is not None:
        V = variation
        expert_regret = 1.5 * math.sqrt(2 * A * (V + G**2 / 2)) + 4 * L * A
        forms.append(
            expert_regret + 2 * D * math.sqrt(lam * (V + 2 * G**2)) + 14 / 3 * L * D**2 * lam
        )
    if comparator_loss is not None:
        F = comparator_loss
        constant = 4 * L * A + 2 * L * D**2 * lam + 2 * D * G * math.sqrt(2 * lam)
        root_factor = 5 * math.sqrt(L * A) + 4 * D * math.sqrt(L * lam)
        # The largest R with R <= constant + root_factor sqrt(F + R).
        forms.append(
            constant
            + root_factor**2 / 2
            + math.sqrt(root_factor**4 / 4 + root_factor**2 * (F + constant))
        )
    if not forms:
        raise ValueError(
            "bounds.sword_plus_plus needs variation or comparator_loss. Give one or both."
        )
    return min(forms)


@theorem
def ader(
    *,
    diameter: Positive,
    gradient_bound: Positive,
    path_length: NonNegative,
    horizon: PositiveInt,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of Ader, with surrogate losses.

    .. math:: \tfrac{3G}{4} \sqrt{2 T (7 D^2 + 4 D P_T)} + \tfrac{G D \sqrt{2T}}{2} \big[1 + 2 \ln(k
        + 1)\big], \qquad k = \Big\lfloor \tfrac12 \log_2\big(1 + \tfrac{4 P_T}{7 D}\big)
        \Big\rfloor + 1

    References
    ----------
    Zhang, Lu, Zhou (2018), Theorem 4 of "Adaptive online learning in dynamic environments".
    """
    D, G, P, T = diameter, gradient_bound, path_length, horizon
    k = _ader_expert(D, P)
    meta_regret = G * D * math.sqrt(2 * T) / 2 * (1 + 2 * math.log(k + 1))
    return _ader_expert_regret(D, G, P, T) + meta_regret


@theorem
def ader_true_losses(
    *,
    diameter: Positive,
    gradient_bound: Positive,
    path_length: NonNegative,
    horizon: PositiveInt,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of Ader with true losses.

    .. math:: \tfrac{3G}{4} \sqrt{2 T (7 D^2 + 4 D P_T)} + \tfrac{G D \sqrt{2T}}{4} \big[1 + 2 \ln(k
        + 1)\big], \qquad k = \Big\lfloor \tfrac12 \log_2\big(1 + \tfrac{4 P_T}{7 D}\big)
        \Big\rfloor + 1

    The second term is half as large as in :func:`ader`: values of one loss differ by at most D G,
    surrogate losses by 2 D G.

    References
    ----------
    Zhang, Lu, Zhou (2018), Theorem 3 of "Adaptive online learning in dynamic environments".
    """
    D, G, P, T = diameter, gradient_bound, path_length, horizon
    k = _ader_expert(D, P)
    meta_regret = G * D * math.sqrt(2 * T) / 4 * (1 + 2 * math.log(k + 1))
    return _ader_expert_regret(D, G, P, T) + meta_regret


@theorem
def optimistic_ogd(
    *,
    diameter: Positive,
    path_length: NonNegative,
    surprise: NonNegative,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of optimistic gradient descent with AdaGrad-norm steps.

    .. math:: \sqrt{E_T} \Big(\frac{A}{D} + \frac{1 + \sqrt{17}}{4} D\Big), \qquad E_T = \sum_t
        \|g_t - M_t\|^2

    where ``surprise`` is :math:`E_T`, the sum of squared prediction errors, and :math:`M_t = 0`
    before the first gradient. The first term is :math:`A/(2 \eta)` at the last step size. With
    :math:`q = \|g_t - M_t\|^2`, round t adds at most :math:`\min\{\eta q/2, D \sqrt q\}`. Here
    :math:`\eta = D/(2 \sqrt{E})`, E being the sum before the round, so this is at most
    :math:`\tfrac{1 + \sqrt{17}}{4} D (\sqrt{E + q} - \sqrt E)`: the worst q is the one at which
    both terms of the minimum are equal, q = 16 E.
    """
    D, P = diameter, path_length
    return math.sqrt(surprise) * (D + 2 * P + (1 + math.sqrt(17)) / 4 * D)


@theorem
def restarted_ogd(
    *,
    diameter: Positive,
    gradient_bound: Positive,
    horizon: PositiveInt,
    function_variation: NonNegative,
    every: PositiveInt,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of restarted gradient descent, against the minimisers of each round.

    .. math:: \Big\lceil \frac T\Delta \Big\rceil D G \sqrt\Delta + 2 \Delta V^f_T

    where ``every`` is :math:`\Delta`, the restart period in rounds.

    References
    ----------
    Besbes, Gur, Zeevi (2015), Proposition 2 and Theorem 2.
    """
    D, G, T, V, period = diameter, gradient_bound, horizon, function_variation, every
    return math.ceil(T / period) * D * G * math.sqrt(period) + 2 * period * V


@theorem
def omgd(
    *,
    gradient_bound: NonNegative,
    smoothness: NonNegative,
    path_length: NonNegative,
    squared_path_length: NonNegative,
    first_distance: NonNegative,
    minimizer_gradients: NonNegative,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of online multiple gradient descent, against the minimisers of each round.

    .. math:: \min\Big\{ 2 G (P^* + \delta), \quad \min_{a > 0} \frac{Q}{2a} + (L + a) (2 S^* +
        \delta^2) \Big\}

    with :math:`x^*_t` the minimiser of round t over the domain, :math:`\delta = \|x_1 - x^*_1\|`,
    ``minimizer_gradients`` the sum of squared norms :math:`Q = \sum \|\nabla f_t(x^*_t)\|^2` (0 if
    the minimisers lie inside the domain), and :math:`P^*` and :math:`S^*` the path length and the
    squared path length of the minimisers. The minimum over a, the second form, is :math:`\sqrt{2 Q
    B} + L B` with :math:`B = 2 S^* + \delta^2`.

    References
    ----------
    Zhang, Yang, Yi, Jin, Zhou (2017), Theorem 3 and Corollary 4.
    """
    G, L, P, S = gradient_bound, smoothness, path_length, squared_path_length
    delta, Q = first_distance, minimizer_gradients
    B = 2 * S + delta**2
    return min(2 * G * (P + delta), math.sqrt(2 * Q * B) + L * B)


@theorem
def metagrad(
    *,
    diameter: Positive,
    gradient_bound: Positive,
    horizon: PositiveInt,
    dim: PositiveInt,
    deviation: NonNegative,
    squared_gradients: NonNegative,
    distance: NonNegative,
    diagonal: bool = False,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of MetaGrad against a fixed decision u.

    .. math:: \min_i \eta_i V + \frac1{\eta_i} \Big[\frac{\|u - c\|^2}{2 D^2} + \frac d2 \ln\Big(1 +
        \frac{2 \eta_i^2 D^2}{d} \sum_t \|g_t\|^2\Big) + \kappa \ln\frac1{\pi_i}\Big]

    over its grid of rates, with :math:`\kappa = 1` and :math:`V = \sum \langle g_t, y_t - u
    \rangle^2`, or :math:`\kappa = d` and :math:`V = \sum_{t,j} g_{t,j}^2 (y_{t,j} - u_j)^2` if
    ``diagonal``. ``diameter`` is D of the ball in which the experts live, c its centre,
    ``distance`` is :math:`\|u - c\|`, ``deviation`` is V; :math:`g_t` and :math:`y_t` are the
    gradients and decisions in that ball.

    References
    ----------
    Van Erven and Koolen (2016), Theorem 7, before the rate is optimised.
    """
    D, d, V, S = diameter, dim, deviation, squared_gradients
    rates = metagrad_rates(D, gradient_bound, horizon)
    kappa = d if diagonal else 1
    return min(
        float(
            eta * V
            + (
                distance**2 / (2 * D**2)
                + d / 2 * math.log1p(2 * eta**2 * D**2 * S / d)
                - kappa * math.log(prior)
            )
            / eta
        )
        for eta, prior in zip(rates, telescoping(len(rates)), strict=True)
    )


@theorem
def saol(
    *,
    diameter: Positive,
    gradient_bound: Positive,
    first: PositiveInt,
    last: PositiveInt,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of SAOL on the rounds ``first`` to ``last`` against any fixed decision.

    .. math:: D G \sum_J \Big[\frac{\ln(2 s)}{\eta} + \eta n + \tfrac32 \sqrt n\Big], \qquad \eta =
        \min\{1/2, n^{-1/2}\}

    over the fewest intervals J of the cover that make up the rounds, which are counted from 1; n is
    the length and s the last round of J. SAOL's weights are products of factors :math:`1 + \eta r`.
    Their sum is at most the number of experts begun so far, which is below 2 s.

    References
    ----------
    Daniely, Gonen, Shalev-Shwartz (2015), Lemma 2, with 5 log(s + 1) sqrt(n) in place of the first
    two terms.
    """

    def meta_regret(start: int, rounds: int) -> float:
        end = start + rounds - 1
        rate = min(0.5, 1 / math.sqrt(rounds))
        return math.log(2 * end) / rate + rate * rounds

    return _sum_over_intervals(diameter, gradient_bound, _whole_intervals(first, last), meta_regret)


@theorem
def cbce(
    *,
    diameter: Positive,
    gradient_bound: Positive,
    first: PositiveInt,
    last: PositiveInt,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of CBCE on the rounds ``first`` to ``last`` against any fixed decision.

    .. math:: D G \sum_J \Big[R_J + \tfrac32 \sqrt n\Big], \qquad
        \ln \frac{2^n\, \Gamma(\frac{n+1+R_J}{2})\, \Gamma(\frac{n+1-R_J}{2})}{\pi\, \Gamma(n + 1)}
        = \ln \Big(\frac{\pi^2}{6} \tau^2 (1 + \lfloor \log_2 \tau \rfloor)\Big)

    over a chain of intervals J, the last one cut off, that began in rounds :math:`\tau`, counted
    from 1. The left side is a lower bound on the wealth of the betting expert, the right side an
    upper bound on the wealth of all experts. Jun et al. round this up to :math:`\sqrt{n (7 \ln t
    + 5)}`.

    References
    ----------
    Jun, Orabona, Wright, Willett (2017), Theorem 2; Orabona and Pal (2016) for the wealth.
    """

    def meta_regret(start: int, rounds: int) -> float:
        max_log_wealth = (
            math.log(CBCE_PRIOR_SUM)
            + 2 * math.log(start)
            + math.log1p(math.floor(math.log2(start)))
        )
        return largest_solution(
            lambda regret: regret <= rounds and _log_wealth(rounds, regret) <= max_log_wealth
        )

    return _sum_over_intervals(diameter, gradient_bound, _cut_intervals(first, last), meta_regret)


@theorem
def sacs(
    *,
    diameter: Positive,
    gradient_bound: Positive,
    first: PositiveInt,
    last: PositiveInt,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Regret bound of SACS on the rounds ``first`` to ``last`` against any fixed decision.

    .. math:: D G \sum_J \Big[\sqrt{3 n \ln\big(s (1 + \tfrac32 (1 + \ln(1 + s)))\big)} + \tfrac32
        \sqrt n\Big]

    over a chain of intervals J of the compact cover, the last one cut off, in rounds counted from
    1; s is the last round of J, by which s experts have begun.

    References
    ----------
    Zhang, Liu, Zhou (2019); Luo and Schapire (2015).
    """

    def meta_regret(start: int, rounds: int) -> float:
        end = start + rounds - 1
        return math.sqrt(3 * rounds * math.log(end * (1 + 1.5 * (1 + math.log1p(end)))))

    return _sum_over_intervals(diameter, gradient_bound, _cut_intervals(first, last), meta_regret)


@theorem
def aligator(
    *, width: Positive, last: PositiveInt, assumptions: Assumptions | None = None
) -> float:
    r"""Bound on Aligator's squared error minus the squared error of an interval's running mean.

    .. math:: \sum_{t \in J} (x_t - y_t)^2 - (\bar y_{J,t} - y_t)^2 \le 2 b^2 \ln(2 s)

    for any interval J of its cover, s = ``last`` its last round, and targets that differ by at most
    b = ``width`` from any decision. Within b the squared error is exp-concave at the rate
    :math:`1/(2 b^2)`, the sum of all weights never grows, and by round s fewer than 2 s intervals
    have begun. A squared error of order :math:`T^{1/3} C^{2/3}` follows, with C the total
    variation of the sequence that the targets equal up to noise. Its constants are so large that
    the order shows only after millions of rounds.

    References
    ----------
    Baby, Zhao, Wang (2021), Proposition 7.
    """
    return 2 * width**2 * math.log(2 * last)


def _ader_expert(D: float, P: float) -> int:
    """k, the number (from 1) of Ader's expert whose step size is next to the best one."""
    return math.floor(0.5 * math.log2(1 + 4 * P / (7 * D))) + 1


def _ader_expert_regret(D: float, G: float, P: float, T: int) -> float:
    """Regret bound of expert k of Ader."""
    return 0.75 * G * math.sqrt(2 * T * (7 * D**2 + 4 * D * P))


Intervals = Iterator[tuple[int, int]]
"""First round and number of rounds of each interval."""


def _sum_over_intervals(
    diameter: float,
    gradient_bound: float,
    intervals: Intervals,
    meta_regret: Callable[[int, int], float],
) -> float:
    """D G times the sum over intervals of meta-regret and expert regret, in units of D G."""
    regret_in_units = sum(
        meta_regret(start, rounds) + EXPERT_FACTOR * math.sqrt(rounds)
        for start, rounds in intervals
    )
    return diameter * gradient_bound * regret_in_units


def _whole_intervals(first: int, last: int) -> Intervals:
    """The fewest intervals of the cover that make up first..last: each as long as possible."""
    _require_order(first, last)
    start = first
    while start <= last:
        length = start & -start  # the lowest set bit: the longest interval that begins at start
        while start + length - 1 > last:
            length //= 2
        yield start, length
        start += length


def _cut_intervals(first: int, last: int) -> Intervals:
    """The longest interval of the cover from each start on; the last one is cut off at ``last``."""
    _require_order(first, last)
    start = first
    while start <= last:
        length = min(start & -start, last - start + 1)
        yield start, length
        start += length


def _require_order(first: int, last: int) -> None:
    if first > last:
        raise ValueError(
            f"first must not be after last, got {first} > {last}. Rounds are counted from 1."
        )


def _log_wealth(rounds: int, regret: float) -> float:
    """Logarithm of the least final wealth of Krichevsky-Trofimov betting with a wealth of 1.

    It bets on ``rounds`` coins, numbers in [-1, 1], whose sum is ``regret``.
    """
    log_gammas = math.lgamma((rounds + 1 + regret) / 2) + math.lgamma((rounds + 1 - regret) / 2)
    return rounds * math.log(2) + log_gammas - math.log(math.pi) - math.lgamma(rounds + 1)
