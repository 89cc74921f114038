"""What every learner is made of unless told otherwise: pools, priors, rates, caps, offsets and
guesses, in numbers.

D = 2, G = 3, L = 0.5, T = 100 in the first world and D = 1, G = 2, L = 4, T = 10,000 in the second.
"""

import math

import numpy as np
import pytest

import swordplay as sp
from swordplay.parts import experts, metas, pools, rates
from tolerances import ROUNDING

FIRST, SECOND = sp.Ball(2), sp.Box([0.0], [1.0])
CONSTANTS = {
    FIRST: {"horizon": 100, "gradient_bound": 3.0, "smoothness": 0.5},
    SECOND: {"horizon": 10_000, "gradient_bound": 2.0, "smoothness": 4.0},
}
# G sqrt(T) / (0.8 L D) is 30 / 0.8 = 37.5 and 200 / 3.2 = 62.5: six halvings of 1/(2L) in both
# worlds.
POOLS = {FIRST: 1.0 / 2.0 ** np.arange(6, -1, -1), SECOND: 0.125 / 2.0 ** np.arange(6, -1, -1)}
worlds = pytest.mark.parametrize("domain", [FIRST, SECOND], ids=["ball", "interval"])


def is_close(number):
    return pytest.approx(number, rel=ROUNDING)


def kinds(learner):
    return [type(kind) for kind in learner.parts.experts]


def first_rate(learner):
    return learner.state()["meta.rate.value"]


def stated(rate):
    """All settings of a self-confident rate."""
    return {
        "cap": rate.cap,
        "offset": rate.offset,
        "factor": rate.factor,
        "floor": rate.floor,
        "memory": rate.memory,
    }


def made_of(rate, **settings):
    """The rate is self-confident, with these settings and nothing else."""
    plain = {"cap": None, "offset": None, "factor": 0.5, "floor": 0.0, "memory": None}
    assert type(rate) is rates.SelfConfident
    assert stated(rate) == plain | settings


@worlds
def test_sword_var(domain):
    learner = sp.SwordVar(domain, **CONSTANTS[domain])
    np.testing.assert_array_equal(learner.step_sizes, POOLS[domain])
    assert kinds(learner) == [experts.OEGDExperts]
    np.testing.assert_allclose(learner.weights, np.full(7, 1 / 7), rtol=ROUNDING)
    made_of(learner.parts.rate, cap={FIRST: 1 / (0.5 * 4), SECOND: 1 / 4}[domain])
    # sqrt(ln 7 / (2 D^2 G^2)), below the cap; with a large gradient bound and few losses the cap
    # would hold.
    assert first_rate(learner) == is_close(
        {FIRST: math.sqrt(math.log(7) / 72), SECOND: 0.25}[domain]
    )
    assert type(learner.parts.optimism) is metas.VariationOptimism
    assert learner.trust == 1.0


@worlds
def test_sword_small(domain):
    learner = sp.SwordSmall(domain, **CONSTANTS[domain])
    np.testing.assert_array_equal(learner.step_sizes, POOLS[domain])
    assert kinds(learner) == [experts.OGDExperts]
    np.testing.assert_allclose(learner.weights, np.full(7, 1 / 7), rtol=ROUNDING)
    made_of(learner.parts.rate, offset={FIRST: 9.0, SECOND: 1.0}[domain], factor=1.0)
    assert first_rate(learner) == is_close(
        math.sqrt(math.log(7) / {FIRST: 9.0, SECOND: 1.0}[domain])
    )
    assert type(learner.parts.optimism) is metas.NullOptimism
    assert learner.trust == 0.0


@worlds
def test_sword_best(domain):
    learner = sp.SwordBest(domain, **CONSTANTS[domain])
    np.testing.assert_array_equal(learner.step_sizes, np.tile(POOLS[domain], 2))
    assert kinds(learner) == [experts.OEGDExperts, experts.OGDExperts]
    np.testing.assert_allclose(learner.weights, np.full(14, 1 / 14), rtol=ROUNDING)
    made_of(learner.parts.rate, cap={FIRST: 0.5, SECOND: 0.25}[domain])
    assert first_rate(learner) == is_close(
        {FIRST: math.sqrt(math.log(14) / 72), SECOND: 0.25}[domain]
    )
    assert type(learner.parts.optimism) is metas.LearnedOptimism
    assert learner.parts.optimism.rate == is_close({FIRST: 1 / 72, SECOND: 1 / 32}[domain])
    assert learner.trust == 0.5


@worlds
def test_ader(domain):
    """log2(1 + 400 / 7) / 2 = 2.93 and log2(1 + 40,000 / 7) / 2 = 6.24: 4 and 8 experts."""
    constants = {name: value for name, value in CONSTANTS[domain].items() if name != "smoothness"}
    learner = sp.Ader(domain, **constants)
    steps, first, epsilon = {
        FIRST: (4, 2 / 3 * math.sqrt(0.035), math.sqrt(2 / 3600)),
        SECOND: (8, 1 / 2 * math.sqrt(0.00035), math.sqrt(2 / 40_000)),
    }[domain]
    np.testing.assert_allclose(learner.step_sizes, first * 2.0 ** np.arange(steps), rtol=ROUNDING)
    assert kinds(learner) == [experts.OGDExperts]
    if domain is FIRST:
        np.testing.assert_allclose(
            learner.weights, [1.25 / 2, 1.25 / 6, 1.25 / 12, 1.25 / 20], rtol=ROUNDING
        )
    assert type(learner.parts.rate) is rates.Fixed
    assert first_rate(learner) == is_close(epsilon)
    assert type(learner.parts.optimism) is metas.NullOptimism
    assert learner.parts.shared_gradient


@pytest.mark.parametrize(("smoothness", "largest"), [(0.5, 2.0), (4.0, 0.25)])
def test_sword_ageless(smoothness, largest):
    learner = sp.SwordAgeless(FIRST, smoothness=smoothness)
    np.testing.assert_array_equal(learner.step_sizes, np.tile(largest / 2.0 ** np.arange(14), 2))
    assert kinds(learner) == [experts.OEGDExperts, experts.OGDExperts]
    np.testing.assert_allclose(learner.weights, np.full(28, 1 / 28), rtol=ROUNDING)
    made_of(learner.parts.rate, offset=0.0, factor=8.0, floor=1e-4, memory=2000.0)
    assert learner.parts.rate.decay == 0.9995
    assert type(learner.parts.optimism) is metas.LearnedOptimism
    assert learner.parts.optimism.rate == math.inf


def test_sword():
    learner = sp.Sword(FIRST)
    assert kinds(learner) == [experts.OEGDExperts, experts.OGDExperts]
    assert all(
        type(kind.steps) is experts.AdaGradNorm and kind.steps.diameter == 2.0
        for kind in learner.parts.experts
    )
    np.testing.assert_array_equal(learner.weights, [0.25, 0.25, 0.25, 0.25])
    assert learner.parts.uses_domain_scale
    assert learner.parts.grows
    made_of(learner.parts.rate, offset=0.0, floor=1e-4)
    assert learner.parts.optimism.rate == math.inf
    np.testing.assert_array_equal(
        experts.AdaGradNorm(2.0).sizes(np.array([4.0, 4.0, 4.0])), [0.5, 1.0, 2.0]
    )


def test_when_sword_adds_experts():
    """Another multiplier as soon as 1 + 2 t > 4^(multipliers - 1)."""
    learner, found = sp.Sword(FIRST), {}
    for t in range(1, 34):
        learner.observe(sp.SquaredLoss([1.0, 0.0], 0.5))
        found[t] = len(learner.weights)
    assert {t: found[t] for t in (1, 2, 7, 8, 31, 32)} == {1: 4, 2: 6, 7: 6, 8: 8, 31: 8, 32: 10}


@pytest.mark.parametrize(
    ("learner", "kind"), [(sp.OGD, experts.OGDExperts), (sp.OEGD, experts.OEGDExperts)]
)
def test_single_experts(learner, kind):
    made = learner(FIRST, 0.3)
    assert kinds(made) == [kind]
    np.testing.assert_array_equal(made.step_sizes, [0.3])


def test_rates_unless_told_otherwise():
    made_of(rates.SelfConfident())
    assert (rates.Doubling().initial, rates.Doubling().cap) == (None, None)
    assert rates.Fixed(0.5).decay == rates.Doubling().decay == rates.SelfConfident().decay == 1.0


@pytest.mark.parametrize(
    ("pool", "given", "first", "count"),
    [
        # G^2 T / (2 D^2 L^2) is 450 and 1250: log2 / 2 is 4.41 and 5.14.
        (pools.variation, FIRST, math.sqrt(4 / 7200), 6),
        (pools.variation, SECOND, math.sqrt(1 / 320_000), 7),
        # G T / (D L) is 300 and 5000: log2 / 2 is 4.11 and 6.14.
        (pools.small_loss, FIRST, math.sqrt(2 / 2400), 6),
        (pools.small_loss, SECOND, math.sqrt(1 / 1_280_000), 8),
        (pools.safe, FIRST, 1 / 64, 7),
        (pools.safe, SECOND, 1 / 512, 7),
    ],
)
def test_pools(pool, given, first, count):
    found = pool(diameter=given.diameter, **CONSTANTS[given])
    np.testing.assert_allclose(found, first * 2.0 ** np.arange(count), rtol=ROUNDING)


def test_a_pool_that_is_just_long_enough():
    """T = 222: G^2 T / (2 D^2 L^2) = 999, and log2 / 2 = 4.98.

    A ratio that is twice as large would need one step more.
    """
    found = pools.variation(diameter=2.0, gradient_bound=3.0, smoothness=0.5, horizon=222)
    np.testing.assert_allclose(
        found, math.sqrt(4 / (72 * 222)) * 2.0 ** np.arange(6), rtol=ROUNDING
    )
