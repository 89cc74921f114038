r"""The theorems of the systems beside the Swords: explicit numbers, no O().

In the formulas D is the diameter, G the gradient bound, L the smoothness, :math:`A = D^2 + 2 D
P_T`, :math:`\lambda = \ln N`. ``docs/theory.md`` has the proofs of those that the literature gives
as rates only.
"""

from __future__ import annotations

import math

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.parts.learners.assumptions import Assumptions, stand
from swordplay.parts.learners.metagrad import metagrad_rates
from swordplay.parts.metas import telescoping


@checked
def sword_plus_plus(
    *,
    diameter: float,
    gradient_bound: float,
    smoothness: float,
    path_length: float,
    experts: int,
    variation: float | None = None,
    comparator_loss: float | None = None,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Sword++ with its default pool and rate: the smaller of two forms.

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
    stand(assumptions, "bounds.sword_plus_plus")
    D, P = (
        arguments.positive("diameter", diameter),
        arguments.nonnegative("path_length", path_length),
    )
    G, L = (
        arguments.positive("gradient_bound", gradient_bound),
        arguments.positive("smoothness", smoothness),
    )
    A, lam = D**2 + 2 * D * P, math.log(arguments.integer("experts", experts))
    forms = []
    if variation is not None:
        V = arguments.nonnegative("variation", variation)
        experts_part = 1.5 * math.sqrt(2 * A * (V + G**2 / 2)) + 4 * L * A
        forms.append(
            experts_part + 2 * D * math.sqrt(lam * (V + 2 * G**2)) + 14 / 3 * L * D**2 * lam
        )
    if comparator_loss is not None:
        F = arguments.nonnegative("comparator_loss", comparator_loss)
        constant = 4 * L * A + 2 * L * D**2 * lam + 2 * D * G * math.sqrt(2 * lam)
        root = 5 * math.sqrt(L * A) + 4 * D * math.sqrt(L * lam)
        forms.append(constant + root**2 / 2 + math.sqrt(root**4 / 4 + root**2 * (F + constant)))
    if not forms:
        raise ValueError(
            "bounds.sword_plus_plus needs variation or comparator_loss. Give one or both."
        )
    return min(forms)


@checked
def ader_true_losses(
    *,
    diameter: float,
    gradient_bound: float,
    path_length: float,
    horizon: int,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Ader with true losses, against every comparator.

    .. math:: \tfrac{3G}{4} \sqrt{2 T (7 D^2 + 4 D P_T)} + \tfrac{G D \sqrt{2T}}{4} \big[1 + 2 \ln(k
        + 1)\big], \qquad k = \Big\lfloor \tfrac12 \log_2\big(1 + \tfrac{4 P_T}{7 D}\big)
        \Big\rfloor + 1

    The meta's part is half of that with surrogate losses: values of one loss lie D G apart, not 2 D
    G.

    References
    ----------
    Zhang, Lu, Zhou (2018), Theorem 3 of "Adaptive online learning in dynamic environments".
    """
    stand(assumptions, "bounds.ader_true_losses")
    D, G = (
        arguments.positive("diameter", diameter),
        arguments.positive("gradient_bound", gradient_bound),
    )
    P, T = arguments.nonnegative("path_length", path_length), arguments.integer("horizon", horizon)
    k = math.floor(0.5 * math.log2(1 + 4 * P / (7 * D))) + 1
    return 0.75 * G * math.sqrt(2 * T * (7 * D**2 + 4 * D * P)) + G * D * math.sqrt(2 * T) / 4 * (
        1 + 2 * math.log(k + 1)
    )


@checked
def optimistic_ogd(
    *, diameter: float, path_length: float, surprise: float, assumptions: Assumptions | None = None
) -> float:
    r"""Optimistic gradient descent with AdaGrad-norm steps, against every comparator.

    .. math:: \sqrt{E_T} \Big(\frac{A}{D} + \frac{1 + \sqrt{17}}{4} D\Big), \qquad E_T = \sum_t
        \|g_t - M_t\|^2

    with :math:`M_t = 0` until a gradient was met. The first term is :math:`A/(2 \eta)` at the last
    step; a round adds at most :math:`\min\{\eta q/2, D \sqrt q\}`, and with :math:`\eta = D/(2
    \sqrt{E})` for the E before the round this is at most :math:`\tfrac{1 + \sqrt{17}}{4} D (\sqrt{E
    + q} - \sqrt E)`: the ratio is largest where both are equal, at q = 16 E.
    """
    stand(assumptions, "bounds.optimistic_ogd")
    D, P = (
        arguments.positive("diameter", diameter),
        arguments.nonnegative("path_length", path_length),
    )
    root = math.sqrt(arguments.nonnegative("surprise", surprise))
    return root * (D + 2 * P + (1 + math.sqrt(17)) / 4 * D)


@checked
def restarted_ogd(
    *,
    diameter: float,
    gradient_bound: float,
    horizon: int,
    function_variation: float,
    every: int,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Restarted gradient descent, against the minimisers of each round.

    .. math:: \Big\lceil \frac T\Delta \Big\rceil D G \sqrt\Delta + 2 \Delta V^f_T

    References
    ----------
    Besbes, Gur, Zeevi (2015), Proposition 2 and Theorem 2.
    """
    stand(assumptions, "bounds.restarted_ogd")
    D, G = (
        arguments.positive("diameter", diameter),
        arguments.positive("gradient_bound", gradient_bound),
    )
    T, period = arguments.integer("horizon", horizon), arguments.integer("every", every)
    V = arguments.nonnegative("function_variation", function_variation)
    return math.ceil(T / period) * D * G * math.sqrt(period) + 2 * period * V


@checked
def omgd(
    *,
    gradient_bound: float,
    smoothness: float,
    path_length: float,
    squared_path_length: float,
    first_distance: float,
    minimizer_gradients: float,
    assumptions: Assumptions | None = None,
) -> float:
    r"""Online multiple gradient descent, against the minimisers :math:`x^*_t` of each round over
    the domain.

    .. math:: \min\Big\{ 2 G (P^* + \delta), \quad \min_{a > 0} \frac{Q}{2a} + (L + a) (2 S^* +
        \delta^2) \Big\}

    with :math:`\delta = \|x_1 - x^*_1\|`, :math:`Q = \sum \|\nabla f_t(x^*_t)\|^2` (0 where the
    minimisers lie inside the domain) and the path length and its squares those of the minimisers.
    The second form is :math:`\sqrt{2 Q B} + L B`, :math:`B = 2 S^* + \delta^2`.

    References
    ----------
    Zhang, Yang, Yi, Jin, Zhou (2017), Theorem 3 and Corollary 4.
    """
    stand(assumptions, "bounds.omgd")
    G, L = (
        arguments.nonnegative("gradient_bound", gradient_bound),
        arguments.nonnegative("smoothness", smoothness),
    )
    P, S = (
        arguments.nonnegative("path_length", path_length),
        arguments.nonnegative("squared_path_length", squared_path_length),
    )
    delta, Q = (
        arguments.nonnegative("first_distance", first_distance),
        arguments.nonnegative("minimizer_gradients", minimizer_gradients),
    )
    B = 2 * S + delta**2
    return min(2 * G * (P + delta), math.sqrt(2 * Q * B) + L * B)


@checked
def metagrad(
    *,
    diameter: float,
    gradient_bound: float,
    horizon: int,
    dim: int,
    deviation: float,
    squared_gradients: float,
    distance: float,
    diagonal: bool = False,
    assumptions: Assumptions | None = None,
) -> float:
    r"""MetaGrad against a fixed decision u.

    .. math:: \min_i \eta_i V + \frac1{\eta_i} \Big[\frac{\|u - c\|^2}{2 D^2} + \frac d2 \ln\Big(1 +
        \frac{2 \eta_i^2 D^2}{d} \sum_t \|g_t\|^2\Big) + \kappa \ln\frac1{\pi_i}\Big]

    over its grid of rates, with :math:`\kappa = 1` and :math:`V = \sum \langle g_t, y_t - u
    \rangle^2`, or :math:`\kappa = d` and :math:`V = \sum_{t,j} g_{t,j}^2 (y_{t,j} - u_j)^2` for the
    diagonal one. ``diameter`` is that of the ball where the experts live, c its centre, g and y as
    there.

    References
    ----------
    Van Erven and Koolen (2016), Theorem 7, before the rate is optimised.
    """
    stand(assumptions, "bounds.metagrad")
    D, G = (
        arguments.positive("diameter", diameter),
        arguments.positive("gradient_bound", gradient_bound),
    )
    d, V = arguments.integer("dim", dim), arguments.nonnegative("deviation", deviation)
    S, far = (
        arguments.nonnegative("squared_gradients", squared_gradients),
        arguments.nonnegative("distance", distance),
    )
    rates = metagrad_rates(D, G, horizon)
    kappa = d if diagonal else 1
    return min(
        float(
            eta * V
            + (
                far**2 / (2 * D**2)
                + d / 2 * math.log1p(2 * eta**2 * D**2 * S / d)
                - kappa * math.log(prior)
            )
            / eta
        )
        for eta, prior in zip(rates, telescoping(len(rates)), strict=True)
    )
