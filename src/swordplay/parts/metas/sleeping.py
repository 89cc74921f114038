r"""Metas of experts that live for an interval each: all that they remember of an expert is a row of
two numbers.

In round t the cover has one interval of each length :math:`2^k`, k = 0 .. K-1, at most; its expert
has the row k. Regrets :math:`r_k = f_t(x_t) - f_t(x_{t,k})` come in units of the largest that there
can be.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, final

import numpy as np

from swordplay.core.types import Matrix, Vector
from swordplay.parts.metas.other_metas import log_potential_slope


class Life(NamedTuple):
    """Where the experts of a round stand in their lives, shapes ``(K,)``."""

    started: Vector
    """The round in which each began."""
    age: Vector
    """Which round of its life this is, from 1."""
    length: Vector
    """How many rounds it will live."""


class Sleeping(Protocol):
    """Weighs those experts that are awake."""

    def scores(self, memory: Matrix, life: Life) -> Vector:
        """Logarithms of weights, not normalised, shape ``(K,)``; minus infinity for nothing."""
        ...

    def prior(self, life: Life) -> Vector:
        """What they are where nobody has earned anything, shape ``(K,)``."""
        ...

    def learn(self, memory: Matrix, life: Life, regrets: Vector) -> Matrix:
        """The rows after a round, shape ``(K, 2)``; a new expert's row is 0."""
        ...

    def sane(self, memory: Matrix, life: Life) -> Any:
        """Which rows regrets from -1 to 1 can have led to, before a round; shape ``(K,)``.

        A saved state is asked.
        """
        ...


@final
class Multiplicative:
    r"""Products with one rate for each length, as in SAOL.

    .. math:: p_k \propto \eta_k w_k, \qquad w_k \leftarrow w_k (1 + \eta_k r_k), \qquad \eta_k =
        \min\{1/2, 2^{-k/2}\}

    The first column holds :math:`\ln w_k`.

    References
    ----------
    Daniely, Gonen, Shalev-Shwartz (2015), "Strongly adaptive online learning".
    """

    def scores(self, memory: Matrix, life: Life) -> Vector:
        """ln(eta w)."""
        return np.asarray(np.log(self._rates(life)) + memory[:, 0])

    def prior(self, life: Life) -> Vector:
        """Never asked for: products stay positive."""
        return np.asarray(np.log(self._rates(life)))

    def learn(self, memory: Matrix, life: Life, regrets: Vector) -> Matrix:
        """Multiply."""
        return np.asarray(
            memory
            + np.stack([np.log1p(self._rates(life) * regrets), np.zeros(len(memory))], axis=1)
        )

    def sane(self, memory: Matrix, life: Life) -> Any:
        """A round changes a logarithm by ln 2 at the most."""
        return (np.abs(memory[:, 0]) <= life.length) & (memory[:, 1] == 0.0)

    def _rates(self, life: Life) -> Vector:
        return np.asarray(np.minimum(0.5, life.length**-0.5))


@final
class CoinBetting:
    r"""Bets on the regrets, as in CBCE.

    .. math:: p_k \propto \pi_k [w_k]_+, \qquad w_k = \frac{\sum z_{s,k}}{\text{age}} \Big(1 + \sum
        z_{s,k} w_{s,k}\Big), \qquad z_k = r_k \text{ if } w_k > 0, \text{ else } [r_k]_+

    over the rounds of the expert's life so far, with :math:`\pi_k = 1/(\tau^2 (1 + \lfloor \log_2
    \tau \rfloor))` for an expert that began in round :math:`\tau`. The columns hold :math:`\sum z`
    and the logarithm of the wealth in brackets.

    References
    ----------
    Jun, Orabona, Wright, Willett (2017), "Improved strongly adaptive online learning using coin
    betting".
    """

    def scores(self, memory: Matrix, life: Life) -> Vector:
        """ln(prior [w]+)."""
        with np.errstate(divide="ignore"):
            return np.asarray(
                self.prior(life) + np.log(np.maximum(memory[:, 0] / life.age, 0.0)) + memory[:, 1]
            )

    def prior(self, life: Life) -> Vector:
        """-ln(tau^2 (1 + floor(log2 tau)))."""
        return np.asarray(-2 * np.log(life.started) - np.log1p(np.floor(np.log2(life.started))))

    def learn(self, memory: Matrix, life: Life, regrets: Vector) -> Matrix:
        """Win or lose what was bet."""
        fraction = memory[:, 0] / life.age
        coins = np.where(fraction > 0, regrets, np.maximum(regrets, 0.0))
        return np.stack([memory[:, 0] + coins, memory[:, 1] + np.log1p(coins * fraction)], axis=1)

    def sane(self, memory: Matrix, life: Life) -> Any:
        """A coin a round, so that never everything is bet.

        A round loses all but one part in its age.
        """
        return (np.abs(memory[:, 0]) <= life.age - 1.0) & (
            np.abs(memory[:, 1]) <= np.log(2.0 * life.age) * life.age
        )


@final
class Normal:
    """AdaNormalHedge of experts that begin with nothing, as in SACS.

    The columns hold the regrets R and their magnitudes C.

    References
    ----------
    Zhang, Liu, Zhou (2019), "Adaptive regret of convex and smooth functions"; Luo and Schapire
    (2015).
    """

    def scores(self, memory: Matrix, life: Life) -> Vector:
        """The slope of the potential."""
        return log_potential_slope(memory[:, 0], memory[:, 1])

    def prior(self, life: Life) -> Vector:
        """One is as good as the other."""
        return np.zeros(len(life.age))

    def learn(self, memory: Matrix, life: Life, regrets: Vector) -> Matrix:
        """Add the regrets and their magnitudes."""
        return np.asarray(memory + np.stack([regrets, np.abs(regrets)], axis=1))

    def sane(self, memory: Matrix, life: Life) -> Any:
        """One a round, and no regret beyond its magnitude."""
        return (np.abs(memory[:, 0]) <= memory[:, 1]) & (memory[:, 1] <= life.length)
