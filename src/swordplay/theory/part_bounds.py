r"""The theorems that the bounds of the Swords are put together from: the meta's part, and the step
that suits an expert best.

As in :mod:`swordplay.bounds`, D is the diameter, G the gradient bound, L the smoothness, :math:`A =
D^2 + 2 D P_T`, and :math:`\lambda = \ln N` with N the number of experts.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.parts.learners.assumptions import Assumptions, stand

Tuning = Literal["safe", "paper"]

LEARNING = 2 + 4 * math.log(2)
"""Times G^2: what telling the two guesses of Sword_best apart costs, at the safe rate."""
BISECTIONS = 200
"""Of the interval of steps: more than a double has digits and exponents to tell apart."""

LONGEST_CLAIMED = 0.25
"""Up to here the loss of the learned optimism is exp-concave at the paper's rate: its claim
holds.
"""


def is_paper(tuning: Tuning) -> bool:
    """Whether the paper's form is asked for."""
    if tuning not in ("safe", "paper"):
        raise ValueError(f"tuning must be 'safe' or 'paper', got {arguments.short_repr(tuning)}.")
    return tuning == "paper"


@checked
def optimistic_hedge(
    *,
    experts: int,
    learning_rates: Any,
    mismatches: Any,
    stability: Any = None,
    tuning: Tuning = "safe",
) -> float:
    r"""Optimistic Hedge, against every expert.

    .. math:: \text{safe: } \frac{\lambda}{\varepsilon_T} + \sum_t \varepsilon_t\,
        \mathrm{hr}(\ell_t - m_t)^2
        - \sum_{t \ge 2} \frac{\|p_t - p_{t-1}\|_1^2}{4 \varepsilon_{t-1}}, \qquad
        \text{paper: } \frac{2 + \lambda}{\varepsilon} + \varepsilon \sum_t \|\ell_t -
        m_t\|_\infty^2
        - \frac{1}{4 \varepsilon} \sum_{t \ge 2} \|p_t - p_{t-1}\|_1^2

    Parameters
    ----------
    experts
        N.
    learning_rates
        :math:`\varepsilon_t`, one for all rounds or shape ``(T,)``, never increasing; the paper's
        form takes one.
    mismatches
        Half ranges of losses less guesses (safe) or their largest magnitudes (paper), shape
        ``(T,)``.
    stability
        :math:`\|p_t - p_{t-1}\|_1` for t = 2..T, shape ``(T - 1,)``; without it the bound is
        larger.

    References
    ----------
    Zhao et al. (2020), the lemma on OptimisticHedge.
    """
    lam, misses = (
        math.log(arguments.integer("experts", experts)),
        arguments.array("mismatches", mismatches, ndim=1),
    )
    given = arguments.positive_vector("learning_rates", learning_rates)
    if len(given) not in (1, len(misses)) or (is_paper(tuning) and len(given) > 1):
        raise ValueError(
            f"learning_rates must be one, or one a round ({len(misses)}) for the safe form, got "
            f"{len(given)}."
        )
    rates = np.broadcast_to(given, misses.shape)
    if (np.diff(rates) > 0).any():
        raise ValueError(
            "learning_rates must never increase: the lemma does not hold for rates that do."
        )
    moves = (
        np.zeros(max(0, len(misses) - 1))
        if stability is None
        else arguments.array("stability", stability, ndim=1)
    )
    if len(moves) != max(0, len(misses) - 1):
        raise ValueError(
            f"stability must have one entry per round but the first ({len(misses) - 1}), got "
            f"{len(moves)}."
        )
    entropy = 2 + lam if is_paper(tuning) else lam
    return float(
        entropy / given[-1]
        + rates @ np.square(misses)
        - (np.square(moves) / (4 * rates[:-1])).sum()
    )


@checked
def meta_var(
    *,
    diameter: float,
    gradient_bound: float,
    smoothness: float,
    variation: float,
    experts: int,
    tuning: Tuning = "safe",
    assumptions: Assumptions | None = None,
) -> float:
    r"""The meta's part of Sword_var's regret: decisions against the best expert, whichever it is.

    .. math:: \text{safe: } 2 D \sqrt{\lambda (V_T + 2 G^2)} + 2 L D^2 \lambda, \qquad
        \text{paper: } \frac{2 + \lambda}{\varepsilon} + \varepsilon D^2 (2 V_T + G^2)

    The paper's is at its rate :math:`\varepsilon = \min\{1/(\sqrt 8 D^2 L), \sqrt{(2 + \lambda)/(2
    D^2 V_T)}\}`.

    References
    ----------
    Zhao et al. (2020), the meta-regret in the proof of Theorem 3.
    """
    stand(assumptions, "bounds.meta_var")
    D, G, L, lam = _constants(diameter, gradient_bound, smoothness, experts)
    V = arguments.nonnegative("variation", variation)
    return (
        paper_meta(D, G, L, lam, 2 * V) if is_paper(tuning) else safe_meta(D, L, lam, V + 2 * G**2)
    )


@checked
def meta_small(
    *,
    diameter: float,
    gradient_bound: float,
    smoothness: float,
    learner_loss: float,
    experts: int,
    tuning: Tuning = "safe",
    assumptions: Assumptions | None = None,
) -> float:
    r"""The meta's part of Sword_small's regret, in terms of the learner's own loss :math:`F^x_T`.

    .. math:: \text{safe: } D G \sqrt\lambda + D \sqrt{2 L \lambda F^x_T}, \qquad
        \text{paper: } 2 D \sqrt{(2 + \lambda) \bar F_T} \le 4 D \sqrt{L (2 + \lambda) F^x_T}

    References
    ----------
    Zhao et al. (2020), the meta-regret in the proof of Theorem 5. Its self-bounding lemma has 4 L
    where 2 L is enough.
    """
    stand(assumptions, "bounds.meta_small")
    D, G, L, lam = _constants(diameter, gradient_bound, smoothness, experts)
    F = arguments.nonnegative("learner_loss", learner_loss)
    if is_paper(tuning):
        return 4 * D * math.sqrt(L * (2 + lam) * F)
    return D * G * math.sqrt(lam) + D * math.sqrt(2 * L * lam * F)


@checked
def meta_best(
    *,
    diameter: float,
    gradient_bound: float,
    smoothness: float,
    variation: float,
    learner_loss: float,
    experts: int,
    tuning: Tuning = "safe",
    assumptions: Assumptions | None = None,
) -> float:
    r"""The meta's part of Sword_best's regret: the smaller of its two forms.

    .. math:: \text{safe: } \min\Big\{ 2 D \sqrt{\lambda (V_T + (2 + 4 \ln 2) G^2)} + 2 L D^2
        \lambda, \quad L D^2 \lambda + 2 D G \sqrt{(2 + 4 \ln 2) \lambda} + 2 D \sqrt{L \lambda
        F^x_T} \Big\}

    .. math:: \text{paper: } \min\Big\{ \frac{2 + \lambda}{\varepsilon} + \varepsilon D^2 (2 V_T +
        \ln 2 + G^2), \quad 2 \sqrt 8 L D^2 (2 + \lambda) + 2 D \sqrt{(2 + \lambda) \ln 2} + 4 D
        \sqrt{L (2 + \lambda) F^x_T} \Big\}

    The paper's takes its claim about the learned optimism at face value, as ``sword_best`` does.

    References
    ----------
    Zhao et al. (2020), the meta-regret in the proof of Theorem 7.
    """
    stand(assumptions, "bounds.meta_best")
    D, G, L, lam = _constants(diameter, gradient_bound, smoothness, experts)
    if is_paper(tuning):
        warn_of_optimism("meta_best", G)
        V, F = (
            arguments.nonnegative("variation", variation),
            arguments.nonnegative("learner_loss", learner_loss),
        )
        by_loss = paper_learned(D, L, lam) + 4 * D * math.sqrt(L * (2 + lam) * F)
        return min(paper_meta(D, G, L, lam, 2 * V + math.log(2)), by_loss)
    V, F = (
        arguments.nonnegative("variation", variation),
        arguments.nonnegative("learner_loss", learner_loss),
    )
    by_loss = (
        L * D**2 * lam + 2 * D * G * math.sqrt(LEARNING * lam) + 2 * D * math.sqrt(L * lam * F)
    )
    return min(safe_meta(D, L, lam, V + LEARNING * G**2), by_loss)


@checked
def best_step_ogd(
    *, diameter: float, path_length: float, smoothness: float, comparator_loss: float
) -> float:
    r"""η* of online gradient descent: the step whose small-loss bound :func:`swordplay.bounds.ogd`
    is smallest.

    .. math:: \eta^* = \frac{\sqrt{A^2 L^2 + 2 A L F_T} - A L}{2 L F_T}, \qquad \tfrac{1}{2L} \text{
        where } F_T = 0

    It needs the future, which is why there are pools.
    """
    D, P = (
        arguments.positive("diameter", diameter),
        arguments.nonnegative("path_length", path_length),
    )
    A, L = D**2 + 2 * D * P, arguments.positive("smoothness", smoothness)
    F = arguments.nonnegative("comparator_loss", comparator_loss)
    # The same, with the root in the denominator: nothing cancels where F is small.
    return A / (A * L + math.sqrt((A * L) ** 2 + 2 * A * L * F))


@checked
def best_step_oegd(
    *,
    diameter: float,
    path_length: float,
    variation: float,
    smoothness: float,
    gradient_bound: float,
) -> float:
    r"""η* of online extra-gradient descent: the step whose bound :func:`swordplay.bounds.oegd` is
    smallest, below 1/L.

    The root of :math:`-\frac{A}{2\eta^2} + \frac{V_T (1 + \eta^2 L^2)}{2 (1 - \eta^2 L^2)^2} +
    \frac{G^2}{2}`, which rises. The paper's form is smallest at :math:`\min\{1/(4L), \sqrt{A/(2
    V_T)}\}`.
    """
    D, P = (
        arguments.positive("diameter", diameter),
        arguments.nonnegative("path_length", path_length),
    )
    A, L = D**2 + 2 * D * P, arguments.positive("smoothness", smoothness)
    V, G = (
        arguments.nonnegative("variation", variation),
        arguments.nonnegative("gradient_bound", gradient_bound),
    )
    low, high = 0.0, 1.0 / L
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        bent = (middle * L) ** 2
        rising = (V * (1 + bent) / (1 - bent) ** 2 + G**2) * middle**2 >= A
        low, high = (low, middle) if rising else (middle, high)
    return low


def safe_meta(D: float, L: float, lam: float, total: float) -> float:
    """2 D sqrt(lam total) + 2 L D^2 lam: the meta with a self-confident rate below 1/(L D^2)."""
    return 2 * D * math.sqrt(lam * total) + 2 * L * D**2 * lam


def paper_meta(D: float, G: float, L: float, lam: float, total: float) -> float:
    """(2 + lam)/eps + eps D^2 total at the paper's rate.

    The first round, which has no guess, adds eps D^2 G^2.
    """
    cap = 1 / (math.sqrt(8) * D**2 * L)
    eps = min(cap, math.sqrt((2 + lam) / (D**2 * total))) if total > 0 else cap
    return (2 + lam) / eps + eps * D**2 * (total + G**2)


def paper_learned(D: float, L: float, lam: float) -> float:
    """What the paper's learned optimism costs the meta of Sword_best where losses are small, but
    for the term in the loss.
    """
    return 2 * math.sqrt(8) * D**2 * L * (2 + lam) + 2 * D * math.sqrt((2 + lam) * math.log(2))


def warn_of_optimism(what: str, G: float) -> None:
    """Say that the paper's claim about the learned optimism, at its rate of 2, need not hold for
    gradients as long as this.
    """
    if G > LONGEST_CLAIMED:
        warnings.warn(
            f"bounds.{what}(tuning='paper') takes the paper's claim about the learned optimism at "
            "face value, which is "
            f"proven for gradients up to {LONGEST_CLAIMED} and false above 0.335; "
            f"gradient_bound={G:g}. "
            "Use tuning='safe' for a bound that holds.",
            UserWarning,
            stacklevel=4,
        )


def _constants(
    diameter: float, gradient_bound: float, smoothness: float, experts: int
) -> tuple[float, float, float, float]:
    return (
        arguments.positive("diameter", diameter),
        arguments.positive("gradient_bound", gradient_bound),
        arguments.positive("smoothness", smoothness),
        math.log(arguments.integer("experts", experts)),
    )
