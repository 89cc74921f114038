"""Bounds of Sword_var, Sword_small and Sword_best at numbers computed by hand.

With D = 2 and P = 3, A = D^2 + 2 D P is 16; with D = 1 and P = 0.5 it is 2.
"""

from math import log, sqrt

import numpy as np
import pytest

import swordplay as sp
from swordplay import bounds
from tolerances import ROUNDING

WIDE = {"diameter": 2.0, "path_length": 3.0, "gradient_bound": 3.0, "smoothness": 0.5}
NARROW = {"diameter": 1.0, "path_length": 0.5, "gradient_bound": 2.0, "smoothness": 4.0}
GIVEN = {"diameter": 2.0, "gradient_bound": 3.0, "smoothness": 0.5}
ROOT8 = 2.8284271247461903


def is_close(number):
    return pytest.approx(number, rel=ROUNDING)


def largest(c, a, F):
    """The largest R with R <= c + sqrt(a (F + R)), by repeating the right-hand side until it
    stands still.
    """
    R = c
    for _ in range(2000):
        R = c + sqrt(a * (F + R))
    return R


SWORD_VAR = [
    (
        "safe",
        WIDE,
        6.0,
        8,
        sqrt(1.5 * 16 * (6 + 0.75 * 9))
        + 0.5 * 16
        + 2 * 2 * sqrt(log(8) * (6 + 18))
        + 2 * 0.5 * 4 * log(8),
    ),
    (
        "safe",
        NARROW,
        10.0,
        5,
        sqrt(1.5 * 2 * (10 + 3)) + 4 * 2 + 2 * sqrt(log(5) * (10 + 8)) + 2 * 4 * log(5),
    ),
    # The rate is the cap 1 / (sqrt8 * 4 * 0.5) = 0.1768, below sqrt((2 + ln 8) / (4 * 12)) =
    # 0.2915.
    (
        "paper",
        WIDE,
        6.0,
        8,
        1.5 * sqrt(2 * 16 * 6)
        + 4 * 0.5 * 16
        + 3 * 2
        + (2 + log(8)) * ROOT8 * 2
        + (2 * 4 * 6 + 4 * 9) / (ROOT8 * 2),
    ),
    # The rate is sqrt((2 + ln 5) / 2000) = 0.0425, below the cap 1 / (sqrt8 * 4) = 0.0884.
    (
        "paper",
        NARROW,
        1000.0,
        5,
        1.5 * sqrt(2 * 2 * 1000)
        + 4 * 4 * 2
        + 2
        + 2 * sqrt((2 + log(5)) * 2000)
        + 4 * sqrt((2 + log(5)) / 2000),
    ),
    ("paper", NARROW, 0.0, 5, 4 * 4 * 2 + 2 + (2 + log(5)) * ROOT8 * 4 + 4 / (ROOT8 * 4)),
]


@pytest.mark.parametrize(("tuning", "given", "variation", "experts", "expected"), SWORD_VAR)
def test_sword_var(tuning, given, variation, experts, expected):
    assert bounds.sword_var(
        **given, variation=variation, experts=experts, tuning=tuning
    ) == is_close(expected)


SWORD_SMALL = [
    (
        "safe",
        WIDE,
        7.0,
        8,
        3 * sqrt(0.5 * 16 * 7) + 2 * 0.5 * 16 + 2 * 3 * sqrt(log(8)),
        2 * 0.5 * 4 * log(8),
    ),
    (
        "safe",
        NARROW,
        2.0,
        5,
        3 * sqrt(4 * 2 * 2) + 2 * 4 * 2 + 1 * 2 * sqrt(log(5)),
        2 * 4 * log(5),
    ),
    ("paper", WIDE, 7.0, 8, 3 * sqrt(2 * 0.5 * 16 * 7) + 6 * 0.5 * 16, 16 * 0.5 * 4 * (2 + log(8))),
    ("paper", NARROW, 2.0, 5, 3 * sqrt(2 * 4 * 2 * 2) + 6 * 4 * 2, 16 * 4 * (2 + log(5))),
]


@pytest.mark.parametrize(("tuning", "given", "loss", "experts", "c", "a"), SWORD_SMALL)
def test_sword_small(tuning, given, loss, experts, c, a):
    assert bounds.sword_small(
        **given, comparator_loss=loss, experts=experts, horizon=LONG, tuning=tuning
    ) == is_close(largest(c, a, loss))


LEARNING = 4.772588722239782
"""2 + 4 ln 2."""
SWORD_BEST_BY_VARIATION = [
    (
        "safe",
        WIDE,
        6.0,
        8,
        sqrt(1.5 * 16 * (6 + 0.75 * 9))
        + 0.5 * 16
        + 2 * 2 * sqrt(log(8) * (6 + LEARNING * 9))
        + 2 * 0.5 * 4 * log(8),
    ),
    (
        "safe",
        NARROW,
        10.0,
        5,
        sqrt(1.5 * 2 * 13) + 4 * 2 + 2 * sqrt(log(5) * (10 + LEARNING * 4)) + 2 * 4 * log(5),
    ),
    (
        "paper",
        WIDE,
        6.0,
        8,
        1.5 * sqrt(2 * 16 * 6)
        + 4 * 0.5 * 16
        + 3 * 2
        + (2 + log(8)) * ROOT8 * 2
        + 4 * (12 + log(2) + 9) / (ROOT8 * 2),
    ),
    (
        "paper",
        NARROW,
        1000.0,
        5,
        1.5 * sqrt(2 * 2 * 1000)
        + 4 * 4 * 2
        + 2
        + 2 * sqrt((2 + log(5)) * (2000 + log(2)))
        + 4 * sqrt((2 + log(5)) / (2000 + log(2))),
    ),
]
LONG = 10**30
"""So many rounds that no comparator loses more than G D T."""
MUCH = 1e9
"""A variation, or a comparators' loss, that makes the other form the smaller one."""


# test_meta_lemma_1_theorems_2_6.py checks the warning
@pytest.mark.filterwarnings("ignore:.*learned optimism:UserWarning")
@pytest.mark.parametrize(
    ("tuning", "given", "variation", "experts", "expected"), SWORD_BEST_BY_VARIATION
)
def test_sword_best_by_variation(tuning, given, variation, experts, expected):
    found = bounds.sword_best(
        **given,
        variation=variation,
        comparator_loss=MUCH,
        experts=experts,
        horizon=LONG,
        tuning=tuning,
    )
    assert found == is_close(expected)


SWORD_BEST_BY_LOSS = [
    (
        "safe",
        WIDE,
        7.0,
        8,
        3 * sqrt(0.5 * 16 * 7)
        + 2 * 0.5 * 16
        + 0.5 * 4 * log(8)
        + 2 * 2 * 3 * sqrt(LEARNING * log(8)),
        4 * 0.5 * 4 * log(8),
    ),
    (
        "safe",
        NARROW,
        2.0,
        5,
        3 * sqrt(4 * 2 * 2) + 2 * 4 * 2 + 4 * log(5) + 2 * 2 * sqrt(LEARNING * log(5)),
        4 * 4 * log(5),
    ),
    (
        "paper",
        WIDE,
        7.0,
        8,
        3 * sqrt(2 * 0.5 * 16 * 7)
        + 6 * 0.5 * 16
        + 2 * ROOT8 * 4 * 0.5 * (2 + log(8))
        + 2 * 2 * sqrt((2 + log(8)) * log(2)),
        16 * 0.5 * 4 * (2 + log(8)),
    ),
    (
        "paper",
        NARROW,
        2.0,
        5,
        3 * sqrt(2 * 4 * 2 * 2)
        + 6 * 4 * 2
        + 2 * ROOT8 * 4 * (2 + log(5))
        + 2 * sqrt((2 + log(5)) * log(2)),
        16 * 4 * (2 + log(5)),
    ),
]


# test_meta_lemma_1_theorems_2_6.py checks the warning
@pytest.mark.filterwarnings("ignore:.*learned optimism:UserWarning")
@pytest.mark.parametrize(("tuning", "given", "loss", "experts", "c", "a"), SWORD_BEST_BY_LOSS)
def test_sword_best_by_loss(tuning, given, loss, experts, c, a):
    found = bounds.sword_best(
        **given, variation=MUCH, comparator_loss=loss, experts=experts, horizon=LONG, tuning=tuning
    )
    assert found == is_close(largest(c, a, loss))


class TestStaticCorollaries:
    """At P = 0 the bounds are static ones: A is the squared diameter."""

    def test_by_hand(self):
        var = bounds.sword_var(**GIVEN, path_length=0.0, variation=6.0, experts=1)
        assert var == pytest.approx(sqrt(1.5 * 4 * (6 + 0.75 * 9)) + 0.5 * 4, rel=ROUNDING)
        small = bounds.sword_small(**GIVEN, path_length=0.0, comparator_loss=7.0, experts=1)
        assert small == pytest.approx(3 * sqrt(0.5 * 4 * 7) + 2 * 0.5 * 4, rel=ROUNDING)

    @pytest.mark.parametrize("seed", range(4))
    def test_hold_against_the_best_fixed_decision(self, seed):
        world = sp.streams.drift.jumps(300, 3, every=75, noise=0.3, seed=seed)
        X, G, L = world.domain, world.gradient_bound(world.domain), world.smoothness
        best = sp.hindsight.best_fixed(world, X)
        F, V = sp.comparator_loss(world, best), float(sp.gradient_variation(world, X))
        given = {"horizon": len(world), "gradient_bound": G, "smoothness": L}
        known = {"diameter": X.diameter, "gradient_bound": G, "smoothness": L, "path_length": 0.0}
        for kind, bound, more in (
            (sp.SwordVar, bounds.sword_var, {"variation": V}),
            (sp.SwordSmall, bounds.sword_small, {"comparator_loss": F}),
            (sp.SwordBest, bounds.sword_best, {"variation": V, "comparator_loss": F}),
        ):
            learner = kind(X, **given)
            regret = sp.play(learner, world).regret(best)
            assert regret <= bound(
                **known, **more, experts=len(learner.weights), assumptions=learner.assumptions
            )


class TestLargeComparatorLosses:
    """The paper takes F_T <= G D T for granted.

    Losses with their minimum far outside the domain break it.
    """

    L, T = 1e-6, 4000

    def played(self):
        L, T = self.L, self.T
        targets = (1 / L - 1) * sqrt(L) * np.where(np.arange(T) % 2, -1.0, 1.0)
        stream, X = sp.LinearStream(np.full((T, 1), sqrt(L)), targets), sp.Ball(1)
        G = stream.gradient_bound(X)
        pool = sp.pools.small_loss(diameter=2.0, gradient_bound=G, smoothness=L, horizon=T)
        squares = G**2 * T
        rate = sp.rates.Fixed(
            sp.rates.paper_small_loss(diameter=2.0, experts=len(pool), squared_gradients=squares)
        )
        learner = sp.SwordSmall(
            X, horizon=T, gradient_bound=G, smoothness=L, pool=pool, learning_rate=rate
        )
        ledger = sp.play(learner, stream)
        u = sp.hindsight.minimizers(stream, X).mean(axis=0)
        known = {
            "diameter": 2.0,
            "gradient_bound": G,
            "smoothness": L,
            "path_length": 0.0,
            "experts": len(pool),
        }
        return ledger.regret(u), known | {"comparator_loss": sp.comparator_loss(stream, u)}

    def test_is_warned_about_and_repaired(self):
        regret, known = self.played()
        assert known["comparator_loss"] > known["gradient_bound"] * known["diameter"] * self.T
        with pytest.warns(UserWarning, match="presumes comparator_loss <="):
            believed = bounds.sword_small(**known, tuning="paper")
        repaired = bounds.sword_small(**known, tuning="paper", horizon=self.T)
        assert regret > believed  # 3999 against 1166
        assert regret <= repaired

    def test_by_hand(self):
        """F = 1000 passes G D T = 2 * 3 * 100: the pool's steps are 2^i sqrt(D / (16 L G T)),
        and the best of them counts.
        """
        steps = [2**i * sqrt(2 / (16 * 0.5 * 3 * 100)) for i in range(6)]
        expected = min(
            (4 / (2 * eta) + eta * 0.5 * 1000) / (1 - 0.5 * eta) for eta in steps if 0.5 * eta < 1
        )
        a = 16 * 0.5 * 4 * (2 + log(1))
        found = bounds.sword_small(
            **GIVEN, path_length=0.0, comparator_loss=1000.0, experts=1, tuning="paper", horizon=100
        )
        assert found == pytest.approx(
            expected + a / 2 + sqrt(a * a / 4 + a * (1000 + expected)), rel=ROUNDING
        )

    def test_sword_best_is_warned_about_too(self):
        given = {
            **GIVEN,
            "gradient_bound": 0.2,
            "path_length": 0.0,
            "comparator_loss": 1.0,
            "variation": 1.0,
            "experts": 2,
        }
        with pytest.warns(UserWarning, match="sword_best.*presumes comparator_loss"):
            bounds.sword_best(**given, tuning="paper")
