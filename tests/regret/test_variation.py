"""V_T and V^f_T against corners, grids and climbers that know only values and gradients."""

from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse

import pairs
import swordplay as sp
from swordplay.parts.streams.linear import Rows
from swordplay.theory.variation_linear import LinearChange
from tolerances import CLIMB, RIM_GRID, ROUNDING, SPHERE_GRID, TWIN

CLIMBERS = 40
SLOPE_OF_SLOPES = 10.0
"""How fast, relative to itself, the derivative that stands in for a small step changes along the
drift, generously.
"""


class Segment:
    """A stranger's domain: the points between two ends, as a diagonal of the plane or an
    interval.
    """

    def __init__(self, start, end):
        self.start, self.end = np.asarray(start, float), np.asarray(end, float)
        self.dim, self.center = len(self.start), (self.start + self.end) / 2
        self.diameter = float(np.linalg.norm(self.end - self.start))

    def along(self, share):
        return self.start + share[..., None] * (self.end - self.start)

    def project(self, points):
        share = (points - self.start) @ (self.end - self.start) / self.diameter**2
        return self.along(np.clip(share, 0.0, 1.0))

    def contains(self, points, atol=1e-9):
        return np.linalg.norm(self.project(points) - points, axis=-1) <= atol

    def support(self, directions):
        return np.maximum(directions @ self.start, directions @ self.end)


def domains(dim, rng):
    yield sp.Ball(dim, rng.uniform(0.5, 2.0), rng.normal(size=dim))
    yield sp.Box(-rng.uniform(0.1, 2.0, dim), rng.uniform(0.1, 2.0, dim))
    if dim > 1:
        yield sp.Simplex(dim, rng.uniform(0.5, 2.0))


def quadratic(rng, dim, diagonal=False):
    root = rng.normal(size=(dim, dim))
    matrix = np.diag(rng.uniform(0.0, 2.0, dim)) if diagonal else root @ root.T
    return sp.QuadraticLoss(matrix, rng.normal(size=dim), rng.normal())


def squared(rng, rounds, dim):
    return sp.LinearStream(rng.normal(size=(rounds, dim)), rng.normal(size=rounds))


def inside(domain, rng, count=CLIMBERS):
    return domain.project(domain.center + domain.diameter * rng.normal(size=(count, domain.dim)))


def climb(domain, rng, value, gradient, steepest, steps=400):
    """The highest point that projected gradient ascent finds from many starts: never above the
    supremum.
    """
    points = np.concatenate([inside(domain, rng), domain.center[None]])
    for _ in range(steps):
        points = domain.project(points + gradient(points) / steepest)
    return float(value(points).max())


def climbed_function_variation(stream, domain, rng):
    def largest(now, before):
        return climb(
            domain,
            rng,
            lambda x: now.value(x) - before.value(x),
            lambda x: now.gradient(x) - before.gradient(x),
            now.smoothness + before.smoothness,
        )

    return sum(max(largest(now, before), largest(before, now)) for before, now in pairwise(stream))


def squared_changes(stream, points):
    """Sum over rounds of the largest squared change of gradient over some points."""
    return sum(
        np.square(now.gradient(points) - before.gradient(points)).sum(axis=1).max()
        for before, now in pairwise(stream)
    )


def value_changes(stream, points):
    return sum(
        np.abs(now.value(points) - before.value(points)).max() for before, now in pairwise(stream)
    )


def climbed_gradient_variation(stream, domain, rng):
    """Ascent on a convex function: jump to the best point for the current slope (on a ball,
    along it).
    """
    total = 0.0
    for before, now in pairwise(stream):
        # bound to this round
        change = lambda x, n=now, b=before: n.gradient(x) - b.gradient(x)  # noqa: E731
        hessian = change(np.eye(domain.dim)) - change(np.zeros((1, domain.dim)))
        points = inside(domain, rng)
        for _ in range(500):
            slope = change(points) @ hessian
            points = domain.center + domain.radius * slope / np.linalg.norm(
                slope, axis=1, keepdims=True
            )
        total += np.square(change(points)).sum(axis=1).max()
    return total


def corners(domain):
    if isinstance(domain, sp.Simplex):
        return domain.total * np.eye(domain.dim)
    return np.array(list(product(*zip(domain.lower, domain.upper, strict=True))))


@pytest.mark.parametrize(("seed", "dim"), pairs.of(range(4), [1, 2, 3, 5]))
@pytest.mark.parametrize("kind", ["squared", "quadratic", "mixed"])
def test_gradient_variation_of_quadratics_is_exact(seed, dim, kind):
    rng = np.random.default_rng([seed, dim])
    stream = list(squared(rng, 6, dim))
    if kind != "squared":
        stream = [
            quadratic(rng, dim) if kind == "quadratic" or t % 3 else loss
            for t, loss in enumerate(stream)
        ]
    ball, *polytopes = domains(dim, rng)
    answer = sp.gradient_variation(stream, ball)
    assert answer.exact
    found = climbed_gradient_variation(stream, ball, rng)
    assert found * (1 - ROUNDING) <= answer <= found * (1 + CLIMB)
    for domain in polytopes:
        answer = sp.gradient_variation(stream, domain)
        assert answer.exact
        assert answer == pytest.approx(squared_changes(stream, corners(domain)), rel=TWIN)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dim", [1, 2, 4])
def test_function_variation_of_squared_losses_is_exact(seed, dim):
    rng = np.random.default_rng([seed, dim])
    stream = squared(rng, 3, dim)
    for domain in domains(dim, rng):
        answer, found = (
            sp.function_variation(stream, domain),
            climbed_function_variation(stream, domain, rng),
        )
        assert answer.exact
        assert found * (1 - ROUNDING) <= answer <= found * (1 + CLIMB)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dim", [1, 2, 4])
@pytest.mark.parametrize("diagonal", [True, False])
def test_function_variation_of_quadratics(seed, dim, diagonal):
    rng = np.random.default_rng([seed, dim])
    stream = [quadratic(rng, dim, diagonal) for _ in range(3)]
    for domain in domains(dim, rng):
        answer, found = (
            sp.function_variation(stream, domain),
            climbed_function_variation(stream, domain, rng),
        )
        assert answer >= found * (1 - ROUNDING)
        if isinstance(domain, sp.Ball) or (isinstance(domain, sp.Box) and (diagonal or dim == 1)):
            assert answer.exact
        if answer.exact:
            assert answer <= found * (1 + CLIMB)


def test_worst_at_a_vertex_of_the_simplex_is_known_to_be_exact():
    stream = [sp.QuadraticLoss(np.zeros((3, 3)), b) for b in ([0.0, 0.0, 0.0], [1.0, 2.0, -5.0])]
    answer = sp.function_variation(stream, sp.Simplex(3))
    assert answer.exact
    assert answer == 5.0


def test_circle_and_interval_by_brute_force():
    rng = np.random.default_rng(0)
    stream, ball = squared(rng, 30, 2), sp.Ball(2, 1.5, [0.3, -2.0])
    angles = np.linspace(0, 2 * np.pi, 20_000, endpoint=False)
    circle = ball.center + ball.radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert sp.gradient_variation(stream, ball) == pytest.approx(
        squared_changes(stream, circle), rel=SPHERE_GRID
    )

    stream, grid = squared(rng, 30, 1), np.linspace(-1.0, 1.0, 20_001)[:, None]
    for interval in (sp.Ball(1), sp.Box(-1.0, 1.0), Segment([-1.0], [1.0])):
        gradients, values = (
            sp.gradient_variation(stream, interval),
            sp.function_variation(stream, interval),
        )
        assert gradients.exact
        assert values.exact
        assert gradients == pytest.approx(squared_changes(stream, grid), rel=ROUNDING)
        assert values == pytest.approx(value_changes(stream, grid), rel=SPHERE_GRID)


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("drift", [0.01, 1.0])
def test_no_sample_exceeds_the_answer(loss, dim, drift):
    rng = np.random.default_rng([dim, len(loss)])
    features = np.cumsum(rng.normal(size=(40, dim)) * drift, axis=0) + 1.0
    targets = (
        rng.integers(0, 2, 40) if loss == "logistic" else np.cumsum(rng.normal(size=40) * drift)
    )
    stream = sp.LinearStream(features, targets, loss, threshold=0.3)
    for domain in (*domains(dim, rng), Segment(rng.normal(size=dim), rng.normal(size=dim))):
        points = inside(domain, rng, 2000)
        gradients, values = (
            sp.gradient_variation(stream, domain),
            sp.function_variation(stream, domain),
        )
        assert squared_changes(stream, points) <= gradients * (1 + ROUNDING)
        assert value_changes(stream, points) <= values * (1 + ROUNDING)
        assert gradients.exact == (dim == 1 or not isinstance(domain, Segment))


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
@pytest.mark.parametrize("drift", [0.03, 0.3, 3.0])
def test_no_single_term_is_too_small(loss, drift):
    rng = np.random.default_rng(len(loss))
    features = 1.0 + drift * rng.normal(size=(800, 2))
    targets = rng.integers(0, 2, 800) if loss == "logistic" else drift * rng.normal(size=800)
    stream = sp.LinearStream(features, targets, loss)
    change = LinearChange(Rows.of_stream(stream))
    for domain in (
        Segment([-0.5, 1.0], [2.0, -0.3]),
        Segment([0.2, 0.1], [0.3, 0.4]),
        sp.Ball(2, 0.3),
    ):
        points = np.concatenate(
            [
                inside(domain, rng, 20),
                domain.project(np.array([[9.0, 9.0], [-9.0, 9.0], [9.0, -9.0]])),
            ]
        )
        gradients = np.max([change.squared_gradients(x) for x in points], axis=0)
        values = np.max([np.abs(change.values(x)) for x in points], axis=0)
        assert (gradients <= change.gradient_suprema(domain).values * (1 + TWIN)).all()
        assert (values <= change.function_suprema(domain).values * (1 + TWIN)).all()


@pytest.mark.parametrize("loss", ["logistic", "huber"])
@pytest.mark.parametrize(("scale", "drift"), pairs.of([0.3, 3.0, 20.0], [1e-7, 1.0]))
def test_variation_of_curved_losses_is_attained(loss, scale, drift):
    """Gradients at many points of the rim, the ends of the ranges and the corners come within a
    grid's width of the answer.
    """
    rng = np.random.default_rng(7)
    features = scale * (rng.normal(size=2) + drift * rng.normal(size=(12, 2)))
    targets = (
        rng.integers(0, 2, 12) * (drift == 1.0)
        if loss == "logistic"
        else scale * drift * rng.normal(size=12)
    )
    stream = sp.LinearStream(features, targets, loss, threshold=0.5 * scale)
    angles = np.linspace(0.0, 2 * np.pi, 40_001)
    ball, box, simplex = (
        sp.Ball(2, 0.9, [0.1, -0.2]),
        sp.Box([-0.5, 0.1], [0.7, 0.9]),
        sp.Simplex(2, 1.5),
    )
    rims = {
        ball: ball.center + ball.radius * np.stack([np.cos(angles), np.sin(angles)], axis=1),
        box: box.project(box.center + 9.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)),
        simplex: np.stack(
            [1.5 * np.linspace(0, 1, 40_001), 1.5 - 1.5 * np.linspace(0, 1, 40_001)], axis=1
        ),
    }
    square = np.linspace(0, 1, 10_001)[:, None]
    edges = [box.lower + square * np.array([0.0, 0.8]), box.upper - square * np.array([0.0, 0.8])]
    edges += [box.lower + square * np.array([1.2, 0.0]), box.upper - square * np.array([1.2, 0.0])]
    rims[box] = np.concatenate(edges)
    change = LinearChange(Rows.of_stream(stream))
    for domain, rim in rims.items():
        largest = np.zeros(len(stream) - 1)
        for x in rim[::16]:
            largest = np.maximum(largest, change.squared_gradients(x))
        answer = sp.gradient_variation(stream, domain)
        assert answer.exact
        assert largest.sum() <= answer * (
            1 + CLIMB
        )  # at a drift of 1e-7 the samples' own differences lose seven digits
        assert answer <= largest.sum() * (1 + RIM_GRID)


def test_curved_losses_far_apart_are_worth_what_their_slopes_allow():
    """By hand: labels that flip on a row change the slope by 1 everywhere.

    Saturated Huber losses by twice the threshold.
    """
    flip = sp.LinearStream([[3.0, 4.0], [3.0, 4.0]], [0, 1], "logistic")
    assert sp.gradient_variation(flip, sp.Ball(2)) == pytest.approx(25.0, rel=TWIN)
    jump = sp.LinearStream([[3.0, 4.0], [3.0, 4.0]], [-100.0, 100.0], "huber", threshold=0.5)
    assert sp.gradient_variation(jump, sp.Ball(2)) == pytest.approx(25.0, rel=TWIN)


def test_wide_simplices_of_curved_losses_are_bounded():
    stream = sp.LinearStream(np.random.default_rng(0).normal(size=(3, 30)), [0, 1, 0], "logistic")
    assert not sp.gradient_variation(stream, sp.Simplex(30)).exact
    assert sp.gradient_variation(stream, sp.Box(-np.ones(30), np.ones(30))).exact


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_bounds_shrink_with_the_drift(loss):
    # A bound that only knew each round's own smoothness would stay where it is, whatever the drift.
    rng = np.random.default_rng(1)
    walk, ball = np.cumsum(rng.normal(size=(50, 3)), axis=0), sp.Ball(3)
    gradients, values = [], []
    for drift in (1e-1, 1e-3, 1e-5):
        stream = sp.LinearStream(1.0 + drift * walk, np.ones(50), loss)
        gradients.append(sp.gradient_variation(stream, ball))
        values.append(sp.function_variation(stream, ball))
    assert gradients[2] < 1e-3 * gradients[1] < 1e-6 * gradients[0]
    assert values[2] < 2e-2 * values[1] < 4e-4 * values[0]


def test_flipped_labels_change_the_logistic_gradient_by_the_features():
    stream = sp.LinearStream([[3.0, 4.0], [3.0, 4.0]], [0, 1], "logistic")
    assert sp.gradient_variation(stream, sp.Ball(2)) == pytest.approx(25.0, rel=ROUNDING)


def test_huber_losses_that_differ_only_in_their_threshold_do_differ():
    stream = [sp.HuberLoss([1.0], 0.0, threshold=threshold) for threshold in (0.1, 1.0)]
    assert sp.gradient_variation(stream, sp.Ball(1)) >= 0.9**2
    assert sp.function_variation(stream, sp.Ball(1)) >= 0.5 - 0.095


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_degenerate_rows(loss, scale):
    # Zeros, repetitions, opposites, multiples and all but equal rows: no warning, no loss of the
    # supremum.
    a = np.array([1.0, -2.0, 0.5])
    features = scale * np.array(
        [a, a, -a, 3 * a, 0 * a, 0 * a, [0, 0, 1.0], a, a + 1e-15 * a[::-1], a, [1e-200, 0, 0]]
    )
    stream = sp.LinearStream(features, np.arange(len(features)) % 2, loss)
    rng = np.random.default_rng(8)
    for domain in (*domains(3, rng), Segment([0.0, 0.0, 1.0], [1.0, 0.0, -1.0])):
        points = np.concatenate([inside(domain, rng, 500), domain.center[None]])
        assert squared_changes(stream, points) <= sp.gradient_variation(stream, domain) * (
            1 + ROUNDING
        )
        assert value_changes(stream, points) <= sp.function_variation(stream, domain) * (
            1 + ROUNDING
        )


@pytest.mark.parametrize("dim", [1, 3])
def test_a_loss_that_stays_adds_exactly_nothing(dim):
    rng = np.random.default_rng(2)
    function = sp.FunctionLoss(lambda x: np.abs(x).sum(-1), np.sign)  # not even smooth
    still = [
        *(
            loss(rng.normal(size=dim), 1.0)
            for loss in (sp.SquaredLoss, sp.LogisticLoss, sp.HuberLoss)
        ),
        quadratic(rng, dim),
        function,
    ]
    for loss in still:
        for domain in domains(dim, rng):
            assert sp.gradient_variation([loss] * 4, domain) == 0.0
            assert sp.function_variation([loss] * 4, domain) == 0.0


def test_slow_drift_keeps_its_digits():
    # Steps of 1e-9 on features of size 1: Hessians subtracted from each other would keep seven
    # digits of sixteen.
    T, step = 200, 1e-9
    features = 1.0 + step * np.arange(T)[:, None] * np.array([1.0, 0.0])
    stream = sp.LinearStream(features, np.zeros(T))
    ball = sp.Ball(2)
    answer = sp.gradient_variation(stream, ball)
    # d/dh of |(a'x) a| at a = (1, 1), along e = (1, 0): |(e'x) a + (a'x) e|^2 over the unit ball,
    # largest eigenvalue of M'M with M = a e' + e a' = [[2, 1], [1, 0]]: (1 + sqrt 2)^2.
    assert answer == pytest.approx(
        (T - 1) * step**2 * (1 + np.sqrt(2)) ** 2, rel=SLOPE_OF_SLOPES * T * step
    )


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber"])
def test_arrays_lists_sparse_rows_and_generators_agree(loss):
    rng = np.random.default_rng(3)
    features = rng.normal(size=(30, 6)) * (rng.random((30, 6)) < 0.4)
    targets = rng.integers(0, 2, 30)
    dense = sp.LinearStream(features, targets, loss)
    sparse = sp.LinearStream(scipy.sparse.csr_matrix(features), targets, loss)
    for domain in domains(6, rng):
        for variation in (sp.gradient_variation, sp.function_variation):
            expected = variation(dense, domain)
            for other in (sparse, list(dense), iter(dense)):
                answer = variation(other, domain)
                assert answer == pytest.approx(float(expected), rel=TWIN)
                assert answer.exact == expected.exact


def test_two_forms_of_the_same_quadratics_agree():
    rng = np.random.default_rng(4)
    stream = squared(rng, 20, 4)
    outer = [
        sp.QuadraticLoss(np.outer(f.features, f.features), f.target * f.features, 0.5 * f.target**2)
        for f in stream
    ]
    for domain in domains(4, rng):
        assert sp.gradient_variation(outer, domain) == pytest.approx(
            sp.gradient_variation(stream, domain), rel=TWIN
        )
        bound = sp.function_variation(outer, domain)
        assert bound >= sp.function_variation(stream, domain) * (1 - TWIN)
        assert bound.exact == isinstance(domain, sp.Ball)


def test_wide_boxes_of_dense_quadratics_are_bounded():
    rng = np.random.default_rng(5)
    stream, box = [quadratic(rng, 12) for _ in range(4)], sp.Box(-np.ones(12), np.ones(12))
    answer = sp.gradient_variation(stream, box)
    assert not answer.exact
    assert squared_changes(stream, corners(box)) <= answer


def test_mixed_losses_are_bounded():
    rng = np.random.default_rng(6)
    stream = [
        sp.SquaredLoss(rng.normal(size=3), 1.0),
        sp.LogisticLoss(rng.normal(size=3), 1),
        sp.HuberLoss(rng.normal(size=3), 0.2, threshold=0.5),
        sp.HuberLoss(rng.normal(size=3), 0.2, threshold=2.0),
        quadratic(rng, 3),
        sp.FunctionLoss(lambda x: 0.5 * (x**2).sum(-1), lambda x: x, smoothness=1.0),
    ]
    for domain in domains(3, rng):
        points = inside(domain, rng, 2000)
        gradients, values = (
            sp.gradient_variation(stream, domain),
            sp.function_variation(stream, domain),
        )
        assert not gradients.exact
        assert not values.exact
        assert squared_changes(stream, points) <= gradients
        assert value_changes(stream, points) <= values


@pytest.mark.parametrize("T", [2, 101, 1000, 5001])
def test_paper_instances(T):
    gradual = sp.streams.paper.gradual(T)
    variation = sp.gradient_variation(gradual, gradual.domain)
    assert variation.exact
    assert 0 < variation <= 4 / len(gradual)

    alternating = sp.streams.paper.alternating(T)
    # Within a half the gradients are (x - u) and (x - u)/4 with u = 1 or -1: they differ by 3/2 at
    # most.
    half = len(alternating) // 2
    turn = squared_changes(alternating[half - 1 : half + 1], np.array([[-1.0], [1.0]]))
    expected = 1.5**2 * (2 * half - 2) + turn
    assert sp.gradient_variation(alternating, alternating.domain) == pytest.approx(
        expected, rel=ROUNDING
    )


def test_long_streams_are_cut_into_chunks_without_losing_a_round(monkeypatch):
    rng = np.random.default_rng(7)
    stream, ball = squared(rng, 50, 3), sp.Ball(3)
    mixed = [quadratic(rng, 3) if t % 7 == 0 else loss for t, loss in enumerate(stream)]
    whole = sp.gradient_variation(stream, ball), sp.function_variation(mixed, ball)
    monkeypatch.setattr("swordplay.theory.variation.CHUNK", 36)
    assert sp.gradient_variation(stream, ball) == pytest.approx(whole[0], rel=ROUNDING)
    assert sp.function_variation(mixed, ball) == pytest.approx(whole[1], rel=ROUNDING)


@pytest.mark.parametrize("rounds", [0, 1])
def test_short_streams_do_not_vary(rounds):
    stream = sp.LinearStream(np.ones((rounds, 2)), np.ones(rounds))
    for kind in (stream, list(stream)):
        assert sp.gradient_variation(kind, sp.Ball(2)) == 0.0
        assert sp.function_variation(kind, sp.Ball(2)).exact


class TestRefusals:
    def test_unknown_smoothness(self):
        stream = [sp.FunctionLoss(lambda x: np.abs(x).sum(-1), np.sign) for _ in range(2)]
        with pytest.raises(ValueError, match=r"smoothness is None.*smoothness=L"):
            sp.gradient_variation(stream, sp.Ball(2))
        with pytest.raises(ValueError, match="smoothness is None"):
            sp.function_variation(stream, sp.Ball(2))

    @pytest.mark.parametrize("variation", [sp.gradient_variation, sp.function_variation])
    def test_other_dimensions(self, variation):
        stream = sp.LinearStream(np.ones((3, 2)), np.ones(3))
        for kind in (stream, list(stream)):
            with pytest.raises(ValueError, match="domain must have the stream's dimension 2"):
                variation(kind, sp.Ball(3))

    def test_no_domain(self):
        with pytest.raises(TypeError, match="domain must be a domain"):
            sp.gradient_variation(sp.LinearStream(np.ones((3, 2)), np.ones(3)), 2.0)
