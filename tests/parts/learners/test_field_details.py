"""The systems beside the Swords: constants, what they ask of a loss, what they refuse, and rates
as slopes.
"""

import math

import numpy as np
import pytest

import swordplay as sp
from swordplay.parts.domains import inner_radius
from swordplay.parts.learners.one_projection_pbgd import one_point_step
from tolerances import ROUNDING, TWIN

BALL = sp.Ball(2)
GIVEN = {"horizon": 100, "gradient_bound": 3.0}


def is_close(number):
    return pytest.approx(number, rel=ROUNDING)


def taught(learner, rounds=5):
    rng = np.random.default_rng(3)
    for _ in range(rounds):
        learner.observe(sp.SquaredLoss(rng.uniform(-1, 1, learner.domain.dim), rng.uniform(-1, 1)))
    return learner


def test_constants():
    assert (
        sp.RestartedOGD(BALL, **GIVEN, function_variation=12.5).every == 4
    )  # (100/12.5)^(2/3) = 4
    assert sp.RestartedOGD(BALL, **GIVEN, function_variation=12.4).every == 5
    assert sp.RestartedOGD(BALL, **GIVEN, function_variation=0.0).every == 100
    assert sp.RestartedOGD(BALL, **GIVEN, function_variation=1e9).every == 1
    assert sp.RestartedOGD(BALL, **GIVEN, every=9).step_size == is_close(2 / 9)
    learner = sp.OMGD(BALL, strong_convexity=0.5, smoothness=2.0)
    assert (learner.step_size, learner.steps) == (0.5, math.ceil(2.5 * math.log(4)))
    assert sp.PBGD(BALL, **GIVEN).step == is_close(0.1)  # r / sqrt(T)
    one = sp.PBGD(BALL, horizon=10_000, gradient_bound=3.0, value_bound=1.5, points=1)
    assert one.step == is_close(math.sqrt(2 * 1.5 * 2 / (3 * 5)) / 10)
    assert one_point_step(2.0, 3.0, 1.5, 1.0, 2, 10_000) == one.step
    assert sp.PBGD(BALL, horizon=1, gradient_bound=3.0).step == 0.5  # r/sqrt(1) would be all of r
    arrows = sp.Arrows(BALL, noise=0.5, horizon=100)
    assert arrows.coefficient_threshold == is_close(0.5 * math.sqrt(2 * math.log(100)))
    np.testing.assert_allclose(
        sp.Aligator(sp.Box([0.0, 0.0], [1.0, 4.0])).rate, [0.5, 1 / 32], rtol=ROUNDING
    )
    np.testing.assert_allclose(
        sp.MetaGrad(BALL, **GIVEN).rates, 1 / 30 / 2.0 ** np.arange(5), rtol=ROUNDING
    )
    assert sp.CBCE(BALL, gradient_bound=3.0).range == 6.0
    assert (inner_radius(sp.Ball(2, 3.0)), inner_radius(sp.Box([0.0, 0.0], [1.0, 4.0]))) == (
        3.0,
        0.5,
    )


def test_without_delay_mild_ogd_is_ader():
    mild, ader = sp.MildOGD(BALL, **GIVEN), sp.Ader(BALL, **GIVEN)
    np.testing.assert_array_equal(mild.step_sizes, ader.step_sizes)
    for loss in [sp.SquaredLoss([1.0, 0.5], y) for y in (0.5, -0.5, 1.0)]:
        mild.observe(loss)
        ader.observe(loss)
        np.testing.assert_allclose(mild.decision, ader.decision, atol=TWIN)


def asked_for(learner):
    """Points at which values and gradients are asked for in the third round."""
    asked = {"value": 0, "gradient": 0}

    class Counted:
        smoothness = 1.0

        def value(self, points):
            asked["value"] += int(np.prod(points.shape[:-1]))
            return 0.5 * np.square(points - 0.2).sum(-1)

        def gradient(self, points):
            asked["gradient"] += int(np.prod(points.shape[:-1]))
            return points - 0.2

    for _ in range(3):
        asked.update(value=0, gradient=0)
        learner.observe(Counted())
    return asked["value"], asked["gradient"]


def test_what_is_asked_for():
    """Values and gradients a round.

    Every learner that is not inside another takes one value to watch its assumptions by.
    """
    N = len(sp.Ader(BALL, **GIVEN).weights)
    assert asked_for(sp.AderTrueLosses(BALL, **GIVEN)) == (1 + N + 1, N)
    assert asked_for(sp.OneProjection(BALL, lambda ball: sp.Ader(ball, **GIVEN))) == (0, 1)
    assert asked_for(sp.OneProjection(BALL, sp.Sword)) == (0, 1)
    assert asked_for(sp.OptimisticOGD(BALL)) == (1, 1)
    assert asked_for(sp.RestartedOGD(BALL, **GIVEN, every=5)) == (1, 1)
    assert asked_for(sp.OMGD(BALL, strong_convexity=1.0, smoothness=1.0)) == (1, 2)
    assert asked_for(sp.PBGD(BALL, **GIVEN)) == (2, 0)
    assert asked_for(sp.PBGD(BALL, **GIVEN, value_bound=9.0, points=1)) == (1, 0)
    assert asked_for(sp.MetaGrad(BALL, **GIVEN)) == (1, 1)
    assert asked_for(sp.SAOL(BALL, gradient_bound=3.0)) == (
        1 + 3,
        2,
    )  # in round 3 the intervals 3 and 2-3 are awake
    assert asked_for(sp.SACS(BALL, gradient_bound=3.0)) == (1 + 3, 2)
    assert asked_for(sp.MildOGD(BALL, **GIVEN)) == (1, 1)


TOO_SMALL = {
    "CBCE": lambda: sp.CBCE(BALL, gradient_bound=1e-3),
    "AderTrueLosses": lambda: sp.AderTrueLosses(BALL, horizon=9, gradient_bound=1e-3),
    "RestartedOGD": lambda: sp.RestartedOGD(BALL, horizon=9, gradient_bound=1e-3, every=3),
    "MetaGrad": lambda: sp.MetaGrad(BALL, horizon=9, gradient_bound=1e-3),
    "MildOGD": lambda: sp.MildOGD(BALL, horizon=9, gradient_bound=1e-3),
    "OneProjection": lambda: sp.OneProjection(
        BALL, lambda ball: sp.Ader(ball, horizon=9, gradient_bound=1e-3)
    ),
}


@pytest.mark.parametrize("name", TOO_SMALL)
def test_broken_assumptions_are_seen(name):
    learner = TOO_SMALL[name]()
    assert learner.assumptions.hold
    taught(learner)
    assert any("gradient_bound=0.001 was declared" in words for words in learner.assumptions.broken)
    assert learner.assumptions.seen.rounds == 5


def test_a_late_gradient_is_watched_too():
    learner = sp.MildOGD(BALL, horizon=9, gradient_bound=1e-3)
    number = learner.wait()
    assert learner.assumptions.hold
    learner.arrive(number, FLAT)
    assert not learner.assumptions.hold


def test_one_projection_on_the_domain_a_round():
    calls = []

    class Slow(sp.Simplex):
        def project(self, points):
            calls.append(np.shape(points))
            return super().project(points)

    domain = Slow(3)
    learner = sp.OneProjection(domain, lambda ball: sp.Ader(ball, **GIVEN))
    for _ in range(6):
        learner.observe(sp.SquaredLoss([1.0, 0.0, 2.0], 0.7))
    assert calls == [(3,)] * 6


def test_one_projection_certifies_windows_too():
    learner = taught(sp.OneProjection(sp.Simplex(3), lambda ball: sp.Ader(ball, **GIVEN)))
    moment, total, losses = (
        learner.moment,
        0.0,
        [sp.SquaredLoss([1.0, -1.0, 0.5], y) for y in (0.9, -0.9, 0.9)],
    )
    for loss in losses:
        total += float(loss.value(learner.decision))
        learner.observe(loss)
    u = np.array([1.0, 0.0, 0.0])
    regret = total - sum(float(loss.value(u)) for loss in losses)
    assert regret <= learner.certificate(0.0, since=moment)
    assert learner.certificate(0.0, since=moment) != learner.certificate(0.0)


def test_no_certificate_is_said_in_words():
    for learner in (
        sp.CBCE(BALL, gradient_bound=3.0),
        sp.OMGD(BALL, strong_convexity=1.0, smoothness=1.0),
        sp.Aligator(BALL),
    ):
        with pytest.raises(
            NotImplementedError,
            match=f"{type(learner).__name__} has no certificate. Its bound, known before",
        ):
            learner.certificate(1.0)


def test_guesses_of_the_caller():
    """A guess that comes true in every round leaves regret of the first round only.

    A wrong one costs and is certified.
    """
    slopes = [np.array([s, 0.3]) for s in np.random.default_rng(0).choice([-1.0, 1.0], 60)]
    losses = [
        sp.FunctionLoss(lambda x, s=s: x @ s, lambda x, s=s: np.broadcast_to(s, x.shape))
        for s in slopes
    ]
    regret = {}
    for sign in (1.0, -1.0):
        learner, total = sp.OptimisticOGD(BALL), 0.0
        for loss, ahead in zip(losses, [*slopes[1:], None], strict=True):
            total += float(loss.value(learner.decision))
            learner.observe(loss)
            if ahead is not None:
                learner.expect(sign * ahead)
        best = BALL.project(-1e9 * sum(slopes))
        regret[sign] = total - float(best @ sum(slopes))
        assert regret[sign] <= learner.certificate(0.0)
    assert regret[1.0] <= 4.0 < regret[-1.0]
    learner = sp.OptimisticOGD(BALL)
    for bad, kind in (
        ([1.0], ValueError),
        ([math.nan, 0.0], ValueError),
        ("x", TypeError),
        ([1e200, 0.0], ValueError),
    ):
        with pytest.raises(kind, match="gradient must"):
            learner.expect(bad)
    learner.expect([5.0, 0.0])  # nothing was met yet: it does not count
    np.testing.assert_array_equal(learner.decision, [0.0, 0.0])


class Wordy:
    smoothness = None

    def __init__(self, value=lambda x: "a lot"):
        self.value = value

    def gradient(self, points):
        return points


FLAT = sp.SquaredLoss([1.0, 0.0], 1.0)
REFUSED = {
    "RestartedOGD needs function_variation or every": lambda: sp.RestartedOGD(BALL, **GIVEN),
    "RestartedOGD needs function_variation or every. ": lambda: sp.RestartedOGD(
        BALL, **GIVEN, function_variation=1.0, every=2
    ),
    "strong_convexity must not exceed smoothness": lambda: sp.OMGD(
        BALL, strong_convexity=2.0, smoothness=1.0
    ),
    "step_size must be at most 1/smoothness": lambda: sp.OMGD(
        BALL, strong_convexity=1.0, smoothness=1.0, step_size=1.1
    ),
    "points must be 1 or 2": lambda: sp.PBGD(BALL, **GIVEN, points=3),
    "value_bound must be given if points is 1": lambda: sp.PBGD(BALL, **GIVEN, points=1),
    "domain must have interior points": lambda: sp.PBGD(sp.Simplex(3), **GIVEN),
    "domain must have interior points, got Box": lambda: sp.PBGD(
        sp.Box([0.0, 0.0], [1.0, 0.0]), **GIVEN
    ),
    "step must be below the inner radius": lambda: sp.PBGD(BALL, **GIVEN, step=1.0),
    "make must make a learner such as sp.Ader": lambda: sp.OneProjection(BALL, lambda ball: 3),
    "number must be that of a round whose loss is still to come": lambda: sp.MildOGD(
        BALL, **GIVEN
    ).arrive(0, sp.SquaredLoss([1.0, 0.0], 1.0)),
    "diagonal must be True or False, got 5": lambda: sp.MetaGrad(BALL, **GIVEN, diagonal=5),
    "diagonal must be True or False, got 1": lambda: sp.MetaGrad(BALL, **GIVEN, diagonal=1),
    "noise must": lambda: sp.Arrows(BALL, noise=0.0, horizon=5),
    "loss must be 0.5 norm": lambda: sp.Aligator(BALL).observe(sp.SquaredLoss([1.0, 0.0], 1.0)),
    "loss.value must return numbers": lambda: sp.PBGD(BALL, **GIVEN).observe(Wordy()),
    "loss.value returned shape": lambda: sp.PBGD(BALL, **GIVEN).observe(Wordy(lambda x: x)),
    "loss.value's answer must be finite": lambda: sp.PBGD(BALL, **GIVEN).observe(
        Wordy(lambda x: np.inf * x[..., 0] ** 2)
    ),
    "loss.value's answer must not pass": lambda: sp.PBGD(BALL, **GIVEN).observe(
        Wordy(lambda x: 1e200 * (1 + x[..., 0] ** 2))
    ),
    "gradient_bound must": lambda: sp.SACS(BALL, gradient_bound=-1.0),
    "domain must": lambda: sp.CBCE(3, gradient_bound=1.0),
}


@pytest.mark.parametrize("words", REFUSED)
def test_refusals(words):
    with pytest.raises((ValueError, TypeError), match=words):
        REFUSED[words]()


OTHERS = {
    "range": (lambda: sp.CBCE(BALL, gradient_bound=1.0), lambda: sp.CBCE(BALL, gradient_bound=2.0)),
    "learner": (
        lambda: sp.CBCE(BALL, gradient_bound=1.0),
        lambda: sp.SAOL(BALL, gradient_bound=1.0),
    ),
    "every": (
        lambda: sp.RestartedOGD(BALL, **GIVEN, every=4),
        lambda: sp.RestartedOGD(BALL, **GIVEN, every=5),
    ),
    "steps": (
        lambda: sp.OMGD(BALL, strong_convexity=1.0, smoothness=1.0),
        lambda: sp.OMGD(BALL, strong_convexity=0.1, smoothness=1.0),
    ),
    "seed": (lambda: sp.PBGD(BALL, **GIVEN), lambda: sp.PBGD(BALL, **GIVEN, seed=1)),
    "lower": (
        lambda: sp.OneProjection(sp.Box([0.0, 0.0], [2.0, 1.0]), sp.Sword),
        lambda: sp.OneProjection(sp.Box([0.5, -0.5], [1.5, 1.5]), sp.Sword),
    ),
    "diagonal": (
        lambda: sp.MetaGrad(BALL, **GIVEN),
        lambda: sp.MetaGrad(BALL, **GIVEN, diagonal=True),
    ),
    "step_sizes": (lambda: sp.MildOGD(BALL, **GIVEN), lambda: sp.MildOGD(BALL, **GIVEN, delay=3)),
    "noise": (
        lambda: sp.Arrows(BALL, noise=0.1, horizon=9),
        lambda: sp.Arrows(BALL, noise=0.2, horizon=9),
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_states_of_other_settings_are_refused(what):
    saved, other = (make() for make in OTHERS[what])
    with pytest.raises(ValueError, match=f"state was saved with other settings: .*{what}"):
        other.load_state(saved.state())
    with pytest.raises(ValueError, match=r"state was saved with other settings: learner was"):
        other.load_state(sp.Ader(BALL, **GIVEN).state())


DAMAGED = {
    "points outside": (lambda: sp.SAOL(BALL, gradient_bound=3.0), "points", 9.0),
    "negative energy": (lambda: sp.SAOL(BALL, gradient_bound=3.0), "squared_gradient_sum", -1.0),
    "no rounds": (lambda: sp.SACS(BALL, gradient_bound=3.0), "rounds", -3),
    "half rounds": (lambda: sp.CBCE(BALL, gradient_bound=3.0), "rounds", 2.5),
    "more rounds than rows": (lambda: sp.CBCE(BALL, gradient_bound=3.0), "rounds", 1000),
    "point outside": (lambda: sp.RestartedOGD(BALL, **GIVEN, every=9), "point", 2.0),
    "experts outside": (lambda: sp.MetaGrad(BALL, **GIVEN), "points", 2.0),
    "weights of 3": (lambda: sp.MildOGD(BALL, **GIVEN), "meta.weights", 1.0),
}


@pytest.mark.parametrize("what", DAMAGED)
def test_damaged_states_are_refused(what):
    make, entry, value = DAMAGED[what]
    learner = taught(make())
    saved, before = learner.state(), learner.decision.tobytes()
    damaged = np.full_like(saved[entry], value) if np.ndim(saved[entry]) else value
    with pytest.raises(ValueError, match="state"):
        learner.load_state({**saved, entry: damaged})
    assert learner.decision.tobytes() == before


def test_damaged_bins_and_late_rounds_are_refused():
    arrows = sp.Arrows(sp.Ball(1), noise=0.1, horizon=9)
    arrows.observe(sp.SquaredLoss([1.0], 0.5))
    with pytest.raises(ValueError, match=r"state\['counts'\] must not exceed the rounds"):
        arrows.load_state({**arrows.state(), "counts": np.array([7.0])})
    curved = taught(sp.MetaGrad(BALL, **GIVEN))
    with pytest.raises(ValueError, match=r"state\['curvature'\] must hold symmetric matrices"):
        curved.load_state({**curved.state(), "curvature": np.array([[1.0, 2.0], [0.0, 1.0]])})
    mild = sp.MildOGD(BALL, **GIVEN)
    mild.wait()
    mild.wait()
    with pytest.raises(ValueError, match=r"state\['outstanding'\] must hold ascending numbers"):
        mild.load_state({**mild.state(), "outstanding": np.array([1.0, 1.0])})
    again = sp.MildOGD(BALL, **GIVEN)
    again.load_state(mild.state())
    assert again.outstanding == [0, 1]


def exponent(sizes, values):
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def test_squared_error_of_arrows_grows_like_the_cube_root():
    """A sequence of total variation 4: T^(1/3) up to logarithms, where repeating the last target
    would give T.
    """
    rng, errors, sizes = np.random.default_rng(0), [], [256, 1024, 4096]
    for T in sizes:
        learner, error = sp.Arrows(sp.Ball(1, 2.0), noise=0.3, horizon=T), 0.0
        for theta in np.sin(2 * np.pi * np.arange(T) / T):
            error += (learner.decision[0] - theta) ** 2
            learner.observe(sp.SquaredLoss([1.0], theta + 0.3 * rng.normal()))
        errors.append(error)
    assert exponent(sizes, errors) < 0.5
    assert errors[-1] < 0.09 * 4096 / 4  # far below what the noise itself has


@pytest.mark.deep
@pytest.mark.parametrize(("points", "most"), [(1, 0.9), (2, 0.65)])
def test_bandit_regret_grows_slower_than_the_rounds(points, most):
    regrets, sizes = [], [128, 512, 2048]
    for T in sizes:
        stream = sp.streams.drift.jumps(T, 2, every=T, noise=0.05, seed=1)
        told = {
            "gradient_bound": stream.gradient_bound(stream.domain),
            "value_bound": 2.0,
            "points": points,
        }
        ledgers = [
            sp.play(sp.PBGD(stream.domain, horizon=T, **told, seed=s), stream) for s in range(2)
        ]
        regrets.append(np.mean([ledger.regret(stream.comparators) for ledger in ledgers]))
    assert exponent(sizes, regrets) < most


def test_late_losses_cost_as_their_delay():
    """Regret with losses d rounds late stays within sqrt(1 + 2 d) of what it is without, and the
    order of arrival is free.
    """
    stream = list(sp.streams.drift.rotation(600, 2, turns=2, seed=0))
    world = sp.streams.drift.rotation(600, 2, turns=2, seed=0)
    bound, totals = world.gradient_bound(world.domain), {}
    for delay in (0, 4, 16):
        learner, total = (
            sp.MildOGD(world.domain, horizon=600, gradient_bound=bound, delay=delay),
            0.0,
        )
        for t, loss in enumerate(stream):
            total += float(loss.value(learner.decision))
            learner.wait()
            if t >= delay:
                learner.arrive(t - delay, stream[t - delay])
        totals[delay] = total - sp.comparator_loss(world, world.comparators)
    assert totals[4] <= 3 * totals[0] * 1.5
    assert totals[16] <= math.sqrt(33) * totals[0] * 1.5


def test_bandit_learner_needs_no_gradients():
    class OnlyValues:
        smoothness = 0.0

        def value(self, points):
            return np.abs(points).sum(axis=-1)

    learner = sp.PBGD(BALL, **GIVEN)
    learner.observe(OnlyValues())
    assert learner.rounds == 1
