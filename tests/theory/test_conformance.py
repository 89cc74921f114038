"""Every domain, loss, expert, meta and learner of the package passes the conformance checks.

Objects with one property changed fail them.
"""

import numpy as np
import pytest

import swordplay as sp
from swordplay.core.types import GameConstants
from swordplay.parts import rates
from swordplay.parts.domains import Shrunken
from swordplay.parts.experts import (
    AdaGradNorm,
    Constant,
    NewtonExperts,
    OEGDExperts,
    OGDExperts,
    OptimisticExperts,
)
from swordplay.parts.streams import drift
from swordplay.theory.conformance import (
    check_domain,
    check_expert,
    check_learner,
    check_loss,
    check_meta,
    check_weighing,
)

DOMAINS = [
    sp.Ball(1),
    sp.Ball(3, 2.0, [1.0, -5.0, 0.3]),
    sp.Ball(2, 1e-3, [100.0, 200.0]),
    sp.Box([0.0], [1.0]),
    sp.Box([-1.0, 0.0, 5.0], [1.0, 0.0, 9.0]),
    sp.Simplex(2, 100.0),
    sp.Simplex(5),
]
every_domain = pytest.mark.parametrize("domain", DOMAINS, ids=repr)


def on_every_domain(name, things):
    """Each thing on each domain: every fourth pair in ``make test``, so that all things and all
    domains are among them.
    """
    pairs = [
        (k + j, thing, f"{label}-{domain!r}", domain)
        for k, (label, thing) in enumerate(things.items())
        for j, domain in enumerate(DOMAINS)
    ]
    return pytest.mark.parametrize(
        (name, "domain"),
        [
            pytest.param(thing, domain, id=label, marks=pytest.mark.deep if place % 4 else ())
            for place, thing, label, domain in pairs
        ],
    )


def features(dim):
    return np.linspace(-1.0, 1.5, dim)


LOSSES = {
    "SquaredLoss": lambda d: sp.SquaredLoss(features(d), 0.4),
    "LogisticLoss": lambda d: sp.LogisticLoss(features(d), 1),
    "HuberLoss": lambda d: sp.HuberLoss(features(d), 0.4, threshold=0.3),
    "QuadraticLoss": lambda d: sp.QuadraticLoss(np.diag(np.arange(float(d))), features(d), 2.0),
    "FunctionLoss": lambda d: sp.FunctionLoss(
        lambda x: np.exp(x / 300).sum(-1), lambda x: np.exp(x / 300) / 300
    ),
    "FunctionLoss, one by one": lambda d: sp.FunctionLoss(
        lambda x: float(x @ x), lambda x: 2 * x, 2.0, batched=False
    ),
    "PinballLoss": lambda d: sp.PinballLoss(features(d), 0.4, level=0.9),
    "WeightedLoss": lambda d: sp.WeightedLoss(sp.HuberLoss(features(d), 0.4), weight=2.5),
    "a row of LinearStream": lambda d: next(
        iter(sp.LinearStream(features(d)[None], [0.3], "huber", threshold=0.1))
    ),
}
EXPERTS = {
    "OGD": lambda domain: OGDExperts(domain, Constant([0.01, 0.1, 1.0])),
    "OEGD": lambda domain: OEGDExperts(domain, Constant([0.01, 0.1, 1.0])),
    "OGD, adaptive": lambda domain: OGDExperts(domain, AdaGradNorm(domain.diameter)),
    "OEGD, adaptive": lambda domain: OEGDExperts(domain, AdaGradNorm(domain.diameter)),
    "optimistic": lambda domain: OptimisticExperts(domain, Constant([0.01, 0.1, 1.0])),
    "optimistic, adaptive": lambda domain: OptimisticExperts(domain, AdaGradNorm(domain.diameter)),
    "curved": lambda domain: NewtonExperts(domain, [0.5, 0.9, 0.999], 0.1),
}
TOLD = {"horizon": 40, "gradient_bound": 5.0, "smoothness": 3.0}
SINGLES = {
    "OGD": lambda domain: sp.OGD(domain, 0.1),
    "OEGD": lambda domain: sp.OEGD(domain, 0.1),
    "OptimisticOGD": sp.OptimisticOGD,
    "OMGD": lambda domain: sp.OMGD(domain, strong_convexity=1.0, smoothness=3.0),
    "RestartedOGD": lambda domain: sp.RestartedOGD(domain, horizon=40, gradient_bound=5.0, every=7),
    "MildOGD": lambda domain: sp.MildOGD(domain, horizon=40, gradient_bound=5.0, delay=1.5),
    "OneProjection of Ader": lambda domain: sp.OneProjection(
        domain, lambda ball: sp.Ader(ball, horizon=40, gradient_bound=5.0)
    ),
    "OneProjection of Sword": lambda domain: sp.OneProjection(domain, sp.Sword),
    "SAOL": lambda domain: sp.SAOL(domain, gradient_bound=5.0),
    "CBCE": lambda domain: sp.CBCE(domain, gradient_bound=5.0),
    "SACS": lambda domain: sp.SACS(domain, gradient_bound=5.0),
    "MetaGrad": lambda domain: sp.MetaGrad(domain, horizon=40, gradient_bound=5.0),
    "MetaGrad, diagonal": lambda domain: sp.MetaGrad(
        domain, horizon=40, gradient_bound=5.0, diagonal=True
    ),
}
BANDITS = {
    "PBGD, one point": lambda domain: sp.PBGD(
        domain, horizon=40, gradient_bound=5.0, value_bound=50.0, points=1
    ),
    "PBGD, two points": lambda domain: sp.PBGD(domain, horizon=40, gradient_bound=5.0),
}
FORECASTERS = {
    "Arrows": lambda domain: sp.Arrows(domain, noise=0.1, horizon=40),
    "Aligator": sp.Aligator,
}
METAS = {
    "Ader": lambda domain: sp.Ader(domain, horizon=40, gradient_bound=5.0),
    "SwordVar": lambda domain: sp.SwordVar(domain, **TOLD),
    "SwordSmall": lambda domain: sp.SwordSmall(domain, **TOLD),
    "SwordBest": lambda domain: sp.SwordBest(domain, **TOLD),
    "SwordAgeless": lambda domain: sp.SwordAgeless(
        domain, smoothness=TOLD["smoothness"], memory=40
    ),
    "SwordBest, doubling": lambda domain: sp.SwordBest(
        domain, **TOLD, learning_rate=rates.Doubling()
    ),
    "SwordBest, fixed": lambda domain: sp.SwordBest(
        domain, **TOLD, learning_rate=rates.Fixed(0.2), optimism_rate=2.0
    ),
    "Sword": sp.Sword,
    "Curved": sp.Curved,
    "Curved, Squint": lambda domain: sp.Curved(domain, meta=sp.metas.Squint()),
    "AderTrueLosses": lambda domain: sp.AderTrueLosses(domain, horizon=40, gradient_bound=5.0),
    "SwordPlusPlus": lambda domain: sp.SwordPlusPlus(domain, **TOLD),
    "SwordSmall, Squint": lambda domain: sp.SwordSmall(domain, **TOLD, meta=sp.metas.Squint()),
    "SwordBest, Adapt-ML-Prod": lambda domain: sp.SwordBest(
        domain, **TOLD, meta=sp.metas.AdaptMLProd()
    ),
    "Sword, AdaNormalHedge": lambda domain: sp.Sword(domain, meta=sp.metas.AdaNormalHedge()),
    "SwordAgeless, fixed share": lambda domain: sp.SwordAgeless(
        domain, smoothness=3.0, meta=sp.metas.FixedShare()
    ),
}
METAS_ALONE = {
    "Hedge": lambda: sp.metas.OptimisticHedge(rates.Fixed(0.3), GameConstants(1.0)),
    "fixed share": sp.metas.FixedShare,
    "AdaNormalHedge": sp.metas.AdaNormalHedge,
    "Adapt-ML-Prod": sp.metas.AdaptMLProd,
    "Squint": sp.metas.Squint,
}


@pytest.mark.parametrize("name", [*SINGLES, *METAS])
def test_losses_whose_squares_under_or_overflow_are_refused(name):
    """Those that underflow: as long as no longer gradient was met by experts in use."""
    learner = (SINGLES | METAS)[name](sp.Ball(1))
    plain = sp.SquaredLoss([1.0], 3.0)
    tiny, huge = sp.WeightedLoss(plain, 1e-170), sp.WeightedLoss(plain, 1e170)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"their squares vanish.*Multiply the losses by"):
            learner.observe(tiny)
        with pytest.raises(ValueError, match=r"must not pass.*Rescale the loss"):
            learner.observe(huge)
    assert learner.rounds == 0
    learner.observe(plain)
    if name not in ("SAOL", "CBCE", "SACS"):  # their experts restart with each interval
        learner.observe(tiny)
        assert learner.rounds == 2


def test_late_losses_whose_squares_underflow_are_refused():
    learner = SINGLES["MildOGD"](sp.Ball(1))
    first, second = learner.wait(), learner.wait()
    plain = sp.SquaredLoss([1.0], 3.0)
    with pytest.raises(ValueError, match="their squares vanish"):
        learner.arrive(first, sp.WeightedLoss(plain, 1e-170))
    assert learner.outstanding == [first, second]
    learner.arrive(second, plain)
    learner.arrive(first, sp.WeightedLoss(plain, 1e-170))


def test_a_learner_that_was_not_told_of_its_longest_gradient_takes_short_ones():
    """A state holds no extremes of its losses, unlike a file."""
    learner, other = (SINGLES["OMGD"](sp.Ball(1)) for _ in range(2))
    learner.observe(sp.SquaredLoss([1.0], 3.0))
    other.load_state(learner.state())
    other.observe(sp.WeightedLoss(sp.SquaredLoss([1.0], 3.0), 1e-170))
    assert other.rounds == 2


@pytest.mark.parametrize("make", METAS_ALONE.values(), ids=METAS_ALONE.keys())
def test_metas(make):
    check_weighing(make)


@every_domain
def test_domains(domain):
    check_domain(domain)


@every_domain
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_losses(loss, domain):
    check_loss(loss(domain.dim), domain)


@on_every_domain("experts", EXPERTS)
def test_experts(experts, domain):
    check_expert(experts, domain)


@on_every_domain("learner", SINGLES)
def test_single_learners(learner, domain):
    check_learner(learner, domain)


@pytest.mark.parametrize(
    "domain",
    [sp.Ball(1), sp.Ball(3, 2.0, [1.0, -5.0, 0.3]), sp.Box([0.0, 5.0], [1.0, 9.0])],
    ids=repr,
)
@pytest.mark.parametrize("learner", BANDITS.values(), ids=BANDITS.keys())
def test_bandits(learner, domain):
    check_learner(learner, domain)


@every_domain
@pytest.mark.parametrize("learner", FORECASTERS.values(), ids=FORECASTERS.keys())
def test_forecasters(learner, domain):
    rng = np.random.default_rng(0)
    targets = (
        domain.center
        + domain.diameter * rng.normal(size=(40, domain.dim)) * (np.arange(40) > 20)[:, None]
    )
    check_learner(
        learner,
        domain,
        [sp.QuadraticLoss(np.eye(domain.dim), y, 0.5 * float(y @ y)) for y in targets],
    )


@pytest.mark.parametrize(
    "domain", [Shrunken(sp.Ball(2, 3.0, [1.0, 0.0]), 0.7), Shrunken(sp.Simplex(4), 0.5)], ids=repr
)
def test_shrunken_domains(domain):
    check_domain(domain)


@on_every_domain("learner", METAS)
def test_meta_learners(learner, domain):
    check_meta(learner, domain)


@pytest.mark.parametrize("learner", METAS.values(), ids=METAS.keys())
def test_checks_play_the_losses_they_are_given(learner):
    stream = drift.rotation(30, 2)
    check_meta(learner, stream.domain, list(stream))


class WrongBall(sp.Ball):
    """A ball with one thing changed."""

    def __init__(self, **changes):
        super().__init__(2)
        self.changes = changes

    def project(self, points):
        return self.changes.get("project", super().project)(points)

    def contains(self, points, atol=1e-9):
        return self.changes.get("contains", super().contains)(points, atol)

    def support(self, directions):
        return self.changes.get("support", super().support)(directions)

    @property
    def diameter(self):
        return self.changes.get("diameter", 2.0)


ball = sp.Ball(2)


def radial(points):
    """Onto a square, but along the ray to the origin: feasible and idempotent, yet not nearest."""
    return points * np.minimum(1.0, 0.5 / np.abs(points).max(axis=-1, keepdims=True))


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (WrongBall(project=lambda x: x), "a projection lies in the domain"),
        (WrongBall(project=lambda x: 0.9 * ball.project(x)), "projecting twice is projecting once"),
        (
            WrongBall(project=lambda x: np.clip(x, -np.sqrt(0.5), np.sqrt(0.5))),
            "a point that a projection moves is not contained",
        ),
        (
            WrongBall(
                project=lambda x: np.clip(x, -0.5, 0.5),
                contains=lambda x, atol: (abs(x) <= 0.5 + atol).all(-1),
            ),
            "support",
        ),
        (
            WrongBall(project=radial, contains=lambda x, atol: (abs(x) <= 0.5 + atol).all(-1)),
            "variational inequality|non-expansive",
        ),
        (WrongBall(project=lambda x: ball.project(x - x.mean())), "batch|twice"),
        (WrongBall(project=lambda x: ball.project(x)[..., :1]), "project has shape"),
        (
            WrongBall(contains=lambda x, atol: np.ones(x.shape[:-1], bool)),
            "a point that a projection moves is not contained",
        ),
        (
            WrongBall(contains=lambda x, atol: np.zeros(x.shape[:-1], bool)),
            "center lies in the domain",
        ),
        (
            WrongBall(support=lambda a: ball.support(a) * 0.99),
            "support is at least every inner product",
        ),
        (WrongBall(support=lambda a: ball.support(a) * 1.01), "support is reached"),
        (WrongBall(diameter=1.5), "no two points are further apart than the diameter"),
        (WrongBall(diameter=0.0), "positive diameter"),
    ],
)
def test_wrong_domains_fail(domain, message):
    with pytest.raises(AssertionError, match=message):
        check_domain(domain)


def parabola(x):
    return (x * x).sum(-1) / 2


class Drifting:
    """A loss whose batch is not its rows."""

    smoothness = None

    def value(self, points):
        return parabola(points) + points.mean()

    def gradient(self, points):
        return points + 1 / points.size


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (sp.FunctionLoss(parabola, lambda x: 1.001 * x), "slope|tangents"),
        (sp.FunctionLoss(parabola, lambda x: x + 1e-6), "slope|tangents"),
        (sp.FunctionLoss(parabola, lambda x: -x), "slope|tangents"),
        (sp.FunctionLoss(lambda x: -parabola(x), lambda x: -x), "convex"),
        (sp.FunctionLoss(lambda x: np.sin(3 * x).sum(-1), lambda x: 3 * np.cos(3 * x)), "convex"),
        (sp.FunctionLoss(parabola, lambda x: x, smoothness=0.99), "smoothness = 0.99"),
        (sp.FunctionLoss(lambda x: parabola(x) * np.nan, lambda x: x), "finite"),
        (Drifting(), "batch"),
    ],
)
def test_wrong_losses_fail(loss, message):
    with pytest.raises(AssertionError, match=message):
        check_loss(loss, sp.Ball(2))


class WrongExperts(OGDExperts):
    """Gradient descent with one thing changed."""

    def __init__(self, domain, wrong):
        super().__init__(domain, Constant([0.1, 0.5]))
        self.wrong = wrong

    def start(self):
        state = super().start()
        return (
            state._replace(points=state.points + 0.01, base=state.points + 0.01)
            if self.wrong == "start"
            else state
        )

    def step(self, state, gradient):
        if self.wrong == "outside":
            gradient(3 * np.ones_like(state.points))
        moved, move = super().step(state, gradient)
        match self.wrong:
            case "feasible":
                moved = moved._replace(points=moved.points + 0.5)
            case "writes":
                state.squared_error_sum[:] += 1.0
            case "squared_error":
                move = move._replace(squared_error=0.01 * move.squared_error)
            case "uphill":
                uphill = self.domain.project(2 * state.points - moved.points)
                moved = moved._replace(points=uphill, base=uphill)
            case "negative":
                move = move._replace(squared_lookahead=-np.ones(2))
        return moved, move


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("start", "every expert starts at the centre"),
        ("outside", "evaluated in the domain only"),
        ("feasible", "the points stay in the domain|evaluated in the domain only"),
        ("writes", "does not change its state in place"),
        ("squared_error", "regret stays below"),
        ("uphill", "regret stays below"),
        ("negative", "squared_lookahead is never negative"),
    ],
)
def test_wrong_experts_fail(wrong, message):
    with pytest.raises(AssertionError, match=message):
        check_expert(lambda domain: WrongExperts(domain, wrong), sp.Ball(2))
    check_expert(lambda domain: WrongExperts(domain, None), sp.Ball(2))


class WrongLearner:
    """Gradient descent by hand with one thing changed."""

    def __init__(self, domain, wrong=None):
        self.domain, self.wrong, self.x, self.rounds, self.sum = (
            domain,
            wrong,
            domain.center.copy(),
            0,
            0.0,
        )

    @property
    def decision(self):
        if self.wrong == "restless":
            self.x = self.domain.project(self.x + 1e-3)
        return 3 + self.x if self.wrong == "infeasible" else self.x.copy()

    def observe(self, loss):
        if self.wrong == "trace":
            self.rounds += 1
        g = loss.gradient(self.x)
        if self.wrong != "credulous":
            if g.shape != self.x.shape or not np.isfinite(g).all():
                raise ValueError("bad gradient")
        elif not np.isfinite(g).all() or g.shape != self.x.shape:
            g = np.zeros_like(self.x)
        self.sum += float(g @ g)
        self.x = self.domain.project(self.x - g / np.sqrt(1 + self.sum))
        if self.wrong not in ("trace", "uncounted"):
            self.rounds += 1

    def state(self):
        saved = {
            "x": self.x if self.wrong == "view" else self.x.copy(),
            "rounds": self.rounds,
            "sum": self.sum,
        }
        return {"x": saved["x"], "rounds": saved["rounds"]} if self.wrong == "forgetful" else saved

    def load_state(self, state_):
        if "x" not in state_:
            raise ValueError("state lacks x")
        self.x = state_["x"] if self.wrong == "view" else np.array(state_["x"])
        self.rounds, self.sum = int(state_["rounds"]), float(state_.get("sum", 0.0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("restless", "reading a decision does not change it"),
        ("infeasible", "decisions lie in the domain"),
        ("uncounted", "rounds counts the losses observed"),
        ("trace", "changes nothing"),
        ("credulous", "is refused"),
        ("forgetful", "continues with the same bits"),
        ("view", "continues with the same bits"),
    ],
)
def test_wrong_learners_fail(wrong, message):
    with pytest.raises(AssertionError, match=message):
        check_learner(lambda domain: WrongLearner(domain, wrong), sp.Ball(2))
    check_learner(WrongLearner, sp.Ball(2))
