r"""Regret of the strongly adaptive learners on *any* interval, explicit numbers.

The interval is cut along the cover. On each piece the meta owes something to the expert that began
there, and that expert at most :math:`\tfrac32 D G \sqrt n` to any fixed decision, n the rounds of
the piece.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from swordplay.core import arguments
from swordplay.core.arguments import checked
from swordplay.parts.learners.assumptions import Assumptions, stand
from swordplay.theory.meta_bounds import largest

DESCENT = 1.5
"""AdaGrad-norm steps D/(2 sqrt(sum of squared gradients)): D sqrt(E) for the distance and D
sqrt(E)/2 for the steps.
"""
PRIORS = math.pi**2 / 6
"""All priors of CBCE together: at most 1/tau^2 for those that begin in round tau."""


@checked
def saol(
    *,
    diameter: float,
    gradient_bound: float,
    first: int,
    last: int,
    assumptions: Assumptions | None = None,
) -> float:
    r"""SAOL on the rounds ``first`` to ``last``, counted from 1, against any fixed decision.

    .. math:: D G \sum_J \Big[\frac{\ln(2 s)}{\eta} + \eta n + \tfrac32 \sqrt n\Big], \qquad \eta =
        \min\{1/2, n^{-1/2}\}

    over the fewest intervals J of the cover that make up the interval, n the length and s the last
    round of J: the sum of all products is at most the number of experts begun, which is below 2 s.

    References
    ----------
    Daniely, Gonen, Shalev-Shwartz (2015), Lemma 2, with 5 log(s + 1) sqrt(n) in place of the first
    two terms.
    """
    stand(assumptions, "bounds.saol")

    def piece(start: int, rounds: int, end: int) -> float:
        rate = min(0.5, 1 / math.sqrt(rounds))
        return math.log(2 * end) / rate + rate * rounds

    return _summed(diameter, gradient_bound, first, last, _exact, piece)


@checked
def cbce(
    *,
    diameter: float,
    gradient_bound: float,
    first: int,
    last: int,
    assumptions: Assumptions | None = None,
) -> float:
    r"""CBCE on the rounds ``first`` to ``last``, counted from 1, against any fixed decision.

    .. math:: D G \sum_J \Big[R_J + \tfrac32 \sqrt n\Big], \qquad
        \ln \frac{2^n\, \Gamma(\frac{n+1+R_J}{2})\, \Gamma(\frac{n+1-R_J}{2})}{\pi\, \Gamma(n + 1)}
        = \ln \Big(\frac{\pi^2}{6} \tau^2 (1 + \lfloor \log_2 \tau \rfloor)\Big)

    over a chain of intervals J, the last one cut off, that began in rounds :math:`\tau`; the left
    side is the wealth that betting is sure of, the right one what all experts together may have.
    Jun et al. round this up to :math:`\sqrt{n (7 \ln t + 5)}`.

    References
    ----------
    Jun, Orabona, Wright, Willett (2017), Theorem 2; Orabona and Pal (2016) for the wealth.
    """
    stand(assumptions, "bounds.cbce")

    def piece(start: int, rounds: int, end: int) -> float:
        allowed = math.log(PRIORS) + 2 * math.log(start) + math.log1p(math.floor(math.log2(start)))
        return largest(lambda won: won <= rounds and _log_wealth(rounds, won) <= allowed)

    return _summed(diameter, gradient_bound, first, last, _chain, piece)


@checked
def sacs(
    *,
    diameter: float,
    gradient_bound: float,
    first: int,
    last: int,
    assumptions: Assumptions | None = None,
) -> float:
    r"""SACS on the rounds ``first`` to ``last``, counted from 1, against any fixed decision.

    .. math:: D G \sum_J \Big[\sqrt{3 n \ln\big(s (1 + \tfrac32 (1 + \ln(1 + s)))\big)} + \tfrac32
        \sqrt n\Big]

    over a chain of intervals J of the compact cover, the last one cut off, s the last round of J:
    by then s experts have begun.

    References
    ----------
    Zhang, Liu, Zhou (2019); Luo and Schapire (2015).
    """
    stand(assumptions, "bounds.sacs")

    def piece(start: int, rounds: int, end: int) -> float:
        return math.sqrt(3 * rounds * math.log(end * (1 + 1.5 * (1 + math.log1p(end)))))

    return _summed(diameter, gradient_bound, first, last, _chain, piece)


@checked
def aligator(*, width: float, last: int, assumptions: Assumptions | None = None) -> float:
    r"""Aligator on any interval of the cover that ends with round ``last``, against the running
    mean of that interval.

    .. math:: \sum_{t \in J} (x_t - y_t)^2 - (\bar y_{J,t} - y_t)^2 \le 2 b^2 \ln(2 s)

    for targets no further than ``width``, b, from any decision: within b the squared error is
    exp-concave at the rate :math:`1/(2 b^2)`, all weights together never grow, and by round s fewer
    than 2 s intervals have begun. The squared error of order :math:`T^{1/3} C^{2/3}` follows with
    constants that no stream of fewer than millions of rounds would notice.

    References
    ----------
    Baby, Zhao, Wang (2021), Proposition 7.
    """
    stand(assumptions, "bounds.aligator")
    return (
        2 * arguments.positive("width", width) ** 2 * math.log(2 * arguments.integer("last", last))
    )


Pieces = Callable[[int, int], Iterator[tuple[int, int]]]
"""From first and last round to first rounds of pieces and their numbers of rounds."""


def _summed(
    diameter: float,
    gradient_bound: float,
    first: int,
    last: int,
    pieces: Pieces,
    owed: Callable[[int, int, int], float],
) -> float:
    unit = arguments.positive("diameter", diameter) * arguments.positive(
        "gradient_bound", gradient_bound
    )
    start, end = arguments.integer("first", first), arguments.integer("last", last)
    if start > end:
        raise ValueError(
            f"first must not be after last, got {start} > {end}. Rounds are counted from 1."
        )
    return unit * sum(
        owed(at, n, at + n - 1) + DESCENT * math.sqrt(n) for at, n in pieces(start, end)
    )


def _exact(first: int, last: int) -> Iterator[tuple[int, int]]:
    """Intervals of the cover that make up first..last: again and again the longest that does not
    reach beyond.
    """
    at = first
    while at <= last:
        length = at & -at
        while at + length - 1 > last:
            length //= 2
        yield at, length
        at += length


def _chain(first: int, last: int) -> Iterator[tuple[int, int]]:
    """The longest interval of the cover that begins at first, then the one that begins after it,
    the last one cut off.
    """
    at = first
    while at <= last:
        length = min(at & -at, last - at + 1)
        yield at, length
        at += length


def _log_wealth(rounds: int, won: float) -> float:
    """Logarithm of what Krichevsky-Trofimov bets are sure to make of 1 when coins of a sum
    ``won`` came in so many rounds.
    """
    halves = math.lgamma((rounds + 1 + won) / 2) + math.lgamma((rounds + 1 - won) / 2)
    return rounds * math.log(2) + halves - math.log(math.pi) - math.lgamma(rounds + 1)
