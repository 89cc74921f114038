"""FixedShare, AdaNormalHedge, AdaptMLProd, Squint: plain Python, bounds, invariances, errors."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

import naive_metas
import swordplay as sp
from swordplay.parts import metas
from swordplay.parts.metas import AdaNormalHedge, AdaptMLProd, FixedShare, Squint
from swordplay.parts.metas.meta import scaled_regrets
from swordplay.parts.metas.other_metas import fixed_share_default_rate, log_integral
from swordplay.theory import bounds
from tolerances import ROUNDING, SHIFTED_HEDGE, TWIN, WEIGHT_SUM

QUICK, DEEP, CHUNK = 100, 1_000, 50
RANGE = 2.0
METAS = {
    "fixed share": lambda range: FixedShare(0.03, 0.7, range=range),
    "AdaNormalHedge": lambda range: AdaNormalHedge(range=range),
    "Adapt-ML-Prod": lambda range: AdaptMLProd(range=range),
    "Squint": lambda range: Squint(range=range),
}
TWINS = {
    "fixed share": lambda *game: naive_metas.fixed_share(*game, share=0.03, rate=0.7, range=RANGE),
    "AdaNormalHedge": lambda *game: naive_metas.ada_normal_hedge(*game, range=RANGE),
    "Adapt-ML-Prod": lambda *game: naive_metas.adapt_ml_prod(*game, range=RANGE),
    "Squint": lambda *game: naive_metas.squint(*game, range=RANGE),
}
every_meta = pytest.mark.parametrize("name", METAS)


def run(meta, prior, losses, optimism):
    """Weights p_1 .. p_{T+1}."""
    state = meta.start(np.array(prior))
    weights = [state.weights]
    for loss, guess in zip(losses, optimism, strict=True):
        state = meta.weigh(meta.learn(state, np.array(loss), 0.0), np.array(guess))
        weights.append(state.weights)
    return np.array(weights)


def random_losses(rng, rounds, experts, size=RANGE / 2):
    """Losses in [0, size] of several kinds: noise, leaders that change, and an expert that is a
    little better.
    """
    losses = rng.uniform(0, size, (rounds, experts))
    kind = rng.integers(3)
    if kind:
        block = int(rng.integers(1, rounds + 1))
        leaders = rng.integers(0, experts, rounds // block + 1)[np.arange(rounds) // block]
        losses[np.arange(rounds), leaders if kind == 1 else 0] *= rng.uniform(0, 1)
    return losses


@every_meta
@pytest.mark.parametrize("optimistic", [False, True], ids=["plain", "optimistic"])
def test_weights_are_those_of_plain_loops(name, optimistic):
    rng = np.random.default_rng(len(name))
    for rounds, experts in [(1, 1), (4, 1), (12, 2), (6, 3)]:
        losses = random_losses(rng, rounds, experts)
        optimism = rng.uniform(0, RANGE / 2, losses.shape) if optimistic else np.zeros_like(losses)
        prior = rng.uniform(0.1, 1.0, experts)
        prior /= prior.sum()
        plain = TWINS[name](prior.tolist(), losses.tolist(), optimism.tolist())
        np.testing.assert_allclose(
            run(METAS[name](RANGE), prior, losses, optimism), plain, rtol=0, atol=TWIN
        )


@every_meta
def test_weights_are_those_of_plain_loops_when_rates_have_shrunk(name):
    """Losses as far apart as they may be, long enough for the rates of Adapt-ML-Prod to leave
    their cap of 1/2.
    """
    losses = random_losses(np.random.default_rng(5), 60, 3, RANGE)
    nothing = np.zeros_like(losses)
    prior = [0.5, 0.3, 0.2]
    state = AdaptMLProd(range=RANGE).start(np.array(prior))
    for loss in losses:
        state = AdaptMLProd(range=RANGE).learn(state, loss, 0.0)
    assert state.rates.min() < 0.45
    plain = TWINS[name](prior, losses.tolist(), nothing.tolist())
    np.testing.assert_allclose(
        run(METAS[name](RANGE), prior, losses, nothing), plain, rtol=0, atol=TWIN
    )


# ---------------------------------------------------------------------- bounds


def regrets_of(meta, losses, adversary=None):
    """Each expert's regrets, shape (T, N), against given losses or those that an adversary makes
    from the weights.
    """
    N = losses.shape[1]
    state = meta.start(metas.uniform(N))
    rows = []
    for loss in losses:
        loss = loss if adversary is None else adversary(state.weights, loss)
        rows.append(state.weights @ loss - loss)
        state = meta.weigh(meta.learn(state, loss, 0.0), np.zeros(N))
    return np.array(rows)


def charge_the_heaviest(weights, loss):
    return np.where(weights >= np.median(weights), loss.max(), loss)


def check(name, seed):
    """The largest share of a bound that one expert used up, in a game of this seed."""
    rng = np.random.default_rng(seed)
    T, N, unit = int(rng.integers(1, 120)), int(rng.integers(1, 9)), 10 ** rng.uniform(-2, 2)
    losses = random_losses(rng, T, N, unit)
    adversary = charge_the_heaviest if seed % 3 == 0 else None
    meta = FixedShare(0.03, 0.7, range=unit) if name == "fixed share" else METAS[name](unit)
    r = regrets_of(meta, losses, adversary)
    known = {"prior": 1 / N, "horizon": T, "range": unit}
    if name == "fixed share":
        return max(
            tracked(r, m)
            / bounds.fixed_share(
                experts=N, share=0.03, learning_rate=0.7, switches=m, horizon=T, range=unit
            )
            for m in {0, min(1, T - 1), min(7, T - 1)}
        )
    limit = {
        "AdaNormalHedge": lambda own: bounds.ada_normal_hedge(**known, magnitude=np.abs(own).sum()),
        "Adapt-ML-Prod": lambda own: bounds.adapt_ml_prod(
            **known, experts=N, squares=np.square(own).sum()
        ),
        "Squint": lambda own: bounds.squint(**known, squares=np.square(own).sum()),
    }[name]
    return max((own.sum() / limit(own) for own in r.T if own.sum() > 0), default=0.0)


def tracked(regrets, switches):
    """The largest sum of regrets over sequences of experts with a bounded number of switches."""
    best = np.tile(regrets[0], (switches + 1, 1))
    for row in regrets[1:]:
        jumped = np.vstack(
            [
                np.full((1, len(row)), -np.inf),
                np.repeat(best[:-1].max(axis=1)[:, None], len(row), axis=1),
            ]
        )
        best = np.maximum(best, jumped) + row
    return best.max()


@every_meta
def test_no_bound_is_broken(name):
    used = [check(name, seed) for seed in range(QUICK)]
    assert max(used) <= 1 + ROUNDING
    assert max(used) > 0.1  # not idle


@pytest.mark.deep
@every_meta
@pytest.mark.parametrize("first", range(QUICK, QUICK + DEEP, CHUNK))
def test_no_bound_is_broken_in_the_campaign(name, first, record_property):
    used = max(check(name, seed) for seed in range(first, first + CHUNK))
    record_property("used", {name: float(used)})
    assert used <= 1 + ROUNDING


# ---------------------------------------------------------------------- numbers and invariances


@pytest.mark.parametrize("R", [-1e7, -300.0, -49.9, -1.0, 0.0, 0.3, 20.0, 51.0, 400.0, 1e7])
@pytest.mark.parametrize("V", [0.0, 1e-9, 0.7, 1.3, 50.0, 1e3, 1e9])
def test_the_integral_of_squint(R, V):
    """Beside scipy, around the peak of the integrand, where most of it lies."""
    peak = min(max(R / (2 * V) if V else (0.5 if R > 0 else 0.0), 0.0), 0.5)
    top = peak * R - peak * peak * V
    width = 1 / max(math.sqrt(2 * V), abs(R - 2 * peak * V), 2.0)
    marks = sorted({min(max(peak + k * width, 0.0), 0.5) for k in (-40, -8, -2, 0, 2, 8, 40)})
    total = sum(
        quad(lambda e: math.exp(e * R - e * e * V - top), a, b, epsrel=1e-12)[0]
        for a, b in pairwise(marks)
    )
    assert log_integral(R, V) == pytest.approx(top + math.log(total), rel=1e-11, abs=1e-9)


@every_meta
def test_a_shift_and_a_unit_of_all_losses_change_nothing(name):
    rng = np.random.default_rng(0)
    losses, nothing = random_losses(rng, 30, 4), np.zeros((30, 4))
    prior = metas.uniform(4)
    for range in (RANGE, None):
        plain = run(METAS[name](range), prior, losses, nothing)
        assert (
            np.abs(run(METAS[name](range), prior, losses + 1e6, nothing) - plain).max()
            <= SHIFTED_HEDGE
        )
        scaled = run(METAS[name](range and 1e3 * range), prior, 1e3 * losses, nothing)
        np.testing.assert_allclose(scaled, plain, rtol=0, atol=TWIN)


@every_meta
def test_weights_are_positive_and_sum_to_one_for_extreme_losses(name):
    """A range that is far too small is outgrown, and losses of 1e200 are only losses."""
    rng = np.random.default_rng(1)
    losses = rng.normal(size=(60, 5)) * 10.0 ** rng.integers(-200, 200, (60, 1))
    optimism = np.where(rng.random((60, 1)) < 0.5, losses * rng.normal(size=(60, 5)), 0.0)
    weights = run(METAS[name](1e-3), metas.telescoping(5), losses, optimism)
    assert (weights > 0).all()
    assert np.abs(weights.sum(axis=1) - 1).max() <= WEIGHT_SUM


def test_weights_are_the_prior_until_losses_differ():
    prior = metas.telescoping(3)
    for make in METAS.values():
        weights = run(make(None), prior, np.full((3, 3), 5.0), np.zeros((3, 3)))
        if isinstance(make(None), AdaptMLProd | FixedShare | Squint | AdaNormalHedge):
            np.testing.assert_allclose(weights, np.tile(prior, (4, 1)), rtol=ROUNDING)


def test_the_best_expert_is_found_and_a_new_one_too():
    """All weigh the best expert most after 50 rounds.

    When the best one changes, fixed share is the first to follow.
    """
    losses = np.ones((100, 3))
    losses[:50, 1] = losses[50:, 2] = 0.0
    found = {}
    for name, make in METAS.items():
        weights = run(make(1.0), metas.uniform(3), losses, np.zeros_like(losses))
        assert weights[50].argmax() == 1
        found[name] = int(np.argmax(weights[50:, 2] > 0.5))
    assert 0 < found["fixed share"] <= 10
    assert all(
        found["fixed share"] < later or later == 0
        for other, later in found.items()
        if other != "fixed share"
    )


def test_correct_optimism_keeps_the_regret_constant():
    """With l = m no regret is unexpected: the total is below what the first round may cost."""
    rng = np.random.default_rng(2)
    losses = rng.uniform(0, 1, (200, 4))
    ahead = np.vstack([losses[1:], np.zeros((1, 4))])
    for make in (METAS["Adapt-ML-Prod"], METAS["Squint"], METAS["fixed share"]):
        weights = run(make(2.0), metas.uniform(4), losses, ahead)[:-1]
        plain = run(make(2.0), metas.uniform(4), losses, np.zeros_like(losses))[:-1]
        regret, blind = (
            (np.einsum("ti,ti->t", p, losses).sum() - losses.sum(axis=0).min())
            for p in (weights, plain)
        )
        assert regret < blind


def test_defaults():
    assert FixedShare().share == 0.01
    assert fixed_share_default_rate(0.01, 5) == pytest.approx(
        math.sqrt(0.08 * (1 + math.log(500))), rel=ROUNDING
    )
    assert [make(None).range for make in METAS.values()] == [None] * 4
    state = AdaptMLProd().start(metas.uniform(8))
    np.testing.assert_array_equal(state.rates, 0.5)


@every_meta
def test_copies_share_the_weight_of_their_parent(name):
    rng = np.random.default_rng(3)
    meta, prior = METAS[name](None), np.array([0.2, 0.3, 0.5])
    state = meta.start(prior)
    for loss in rng.uniform(size=(20, 3)):
        state = meta.weigh(meta.learn(state, loss, 0.0), np.zeros(3))
    forked = meta.copy_experts(state, np.array([0, 1, 2, 2]), np.array([0.2, 0.3, 0.1, 0.4]))
    np.testing.assert_allclose(
        forked.weights,
        np.append(state.weights[:2], state.weights[2] * np.array([0.2, 0.8])),
        rtol=ROUNDING,
    )
    again = meta.weigh(forked, np.zeros(4))
    np.testing.assert_allclose(again.weights, forked.weights, rtol=1e-9, atol=1e-300)


# ---------------------------------------------------------------------- in a learner


@pytest.mark.parametrize(
    "make",
    [
        lambda meta: sp.Sword(sp.Ball(2), meta=meta),
        lambda meta: sp.Ader(sp.Ball(2), horizon=9, gradient_bound=1.0, meta=meta),
    ],
)
def test_the_engine_does_not_compile_them(make):
    stream = sp.streams.drift.jumps(20, 2)
    with pytest.raises(sp.engine.NotCompilable, match="NoLearningRate is not known to the engine"):
        sp.play(make(Squint()), stream, engine="compiled")
    assert sp.play(make(Squint()), stream).rounds == 20


def test_refusals():
    for bad in (0.0, -1.0, math.nan, "1"):
        for make in (AdaNormalHedge, AdaptMLProd, Squint, FixedShare):
            with pytest.raises((ValueError, TypeError), match="range must"):
                make(range=bad)
    for bad in (0.0, 1.0, 2.0):
        with pytest.raises(ValueError, match="share must"):
            FixedShare(bad)
    with pytest.raises(ValueError, match="learning_rate must"):
        FixedShare(0.1, 0.0)
    given = {"horizon": 9, "gradient_bound": 1.0}
    with pytest.raises(ValueError, match="give meta or learning_rate, not both"):
        sp.Ader(sp.Ball(1), **given, learning_rate=sp.rates.Fixed(1.0), meta=Squint())
    with pytest.raises(TypeError, match=r"meta must be a meta such as sp.metas.Squint\(\)"):
        sp.Ader(sp.Ball(1), **given, meta=3)


MOST_SQUARES = 2.0**54
"""Four for each of the 2^52 rounds that a saved learner may have played."""


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("weights", -1.0),
        ("unit", -1.0),
        ("squares", -1.0),
        ("squares", np.nextafter(MOST_SQUARES, np.inf)),
        ("log_prior", 0.5),
    ],
)
def test_a_damaged_state_is_refused(entry, value):
    learner = sp.Ader(sp.Ball(1), horizon=9, gradient_bound=1.0, meta=Squint())
    learner.observe(sp.SquaredLoss([1.0], 0.5))
    saved = learner.state()
    damaged = (
        np.full_like(saved[f"meta.{entry}"], value) if np.ndim(saved[f"meta.{entry}"]) else value
    )
    with pytest.raises(ValueError, match="state"):
        learner.load_state({**saved, f"meta.{entry}": damaged})


def test_settings_are_compared():
    def ader(meta):
        return sp.Ader(sp.Ball(1), horizon=9, gradient_bound=1.0, meta=meta)

    with pytest.raises(ValueError, match="meta was Squint and is AdaNormalHedge here"):
        ader(AdaNormalHedge()).load_state(ader(Squint()).state())
    with pytest.raises(ValueError, match=r"meta.range was 2.0 and is not set here"):
        ader(Squint()).load_state(ader(Squint(range=2.0)).state())
    with pytest.raises(ValueError, match=r"meta.share was 0.1 and is 0.2 here"):
        ader(FixedShare(0.2)).load_state(ader(FixedShare(0.1)).state())


def test_sums_of_before_shrink_when_the_unit_grows():
    """By hand: regrets are 2 and -2, so that a unit of 1 grows to 2, and one of 4 stays."""
    weights, losses, none = np.array([0.5, 0.5]), np.array([0.0, 4.0]), np.zeros(2)
    grown = scaled_regrets(weights, losses, none, 1.0)
    assert (grown.unit, grown.unit_ratio, grown.regrets.tolist()) == (2.0, 0.5, [1.0, -1.0])
    kept = scaled_regrets(weights, losses, none, 4.0)
    assert (kept.unit, kept.unit_ratio, kept.regrets.tolist()) == (4.0, 1.0, [0.5, -0.5])
    first = scaled_regrets(weights, losses, none, 0.0)
    assert (first.unit, first.unit_ratio) == (2.0, 0.0)
    nothing = scaled_regrets(weights, none, none, 0.0)
    assert (nothing.unit, nothing.unit_ratio, nothing.regrets.tolist()) == (0.0, 1.0, [0.0, 0.0])


def test_the_largest_possible_squares_are_accepted():
    learner = sp.Ader(sp.Ball(1), horizon=9, gradient_bound=1.0, meta=AdaptMLProd())
    learner.observe(sp.SquaredLoss([1.0], 0.5))
    saved = learner.state()
    learner.load_state({**saved, "meta.squares": np.full_like(saved["meta.squares"], MOST_SQUARES)})
    learner.observe(sp.SquaredLoss([1.0], 0.5))
    assert learner.rounds == 2
