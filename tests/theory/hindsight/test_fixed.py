"""The best fixed, block-wise and per-round comparators: against grids, scipy and certificates."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import swordplay as sp
from swordplay import hindsight
from tolerances import FIXED_GAP, FLAT_MINIMUM, PROJECTION, ROUNDING, SCIPY_MINIMUM, TWIN

FAMILIES = ["squared", "logistic", "huber"]


def random_stream(loss, rounds, dim, seed=0, noise=1.0):
    rng = np.random.default_rng([seed, rounds, dim])
    features = rng.normal(size=(rounds, dim))
    scores = features @ rng.normal(size=dim) + noise * rng.normal(size=rounds)
    return sp.LinearStream(
        features, (scores > 0).astype(float) if loss == "logistic" else scores, loss, threshold=0.7
    )


def domains(dim):
    yield sp.Ball(dim, 0.8, np.full(dim, 0.3))
    yield sp.Box(-np.ones(dim), np.linspace(0.1, 0.6, dim))
    if dim > 1:
        yield sp.Simplex(dim, 1.5)


def black_boxes(losses):
    """The same losses as black boxes with values and gradients."""
    return [sp.FunctionLoss(f.value, f.gradient) for f in losses]


def total(stream, point):
    return sum(float(loss.value(point)) for loss in stream)


def constraints(domain):
    if isinstance(domain, sp.Ball):
        return [
            {"type": "ineq", "fun": lambda x: domain.radius**2 - np.square(x - domain.center).sum()}
        ]
    if isinstance(domain, sp.Simplex):
        return [{"type": "eq", "fun": lambda x: x.sum() - domain.total}]
    return []


def bounds(domain):
    if isinstance(domain, sp.Box):
        return list(zip(domain.lower, domain.upper, strict=True))
    return [(0.0, None)] * domain.dim if isinstance(domain, sp.Simplex) else None


def scipy_minimum(function, domain):
    """scipy's minimum over the domain."""
    return scipy.optimize.minimize(
        function,
        domain.center,
        method="SLSQP",
        bounds=bounds(domain),
        constraints=constraints(domain),
        options={"ftol": 1e-14, "maxiter": 500},
    )


def dykstra(domain, features, target, rounds=2000):
    """The nearest point to the centre with <a, x> = y, by Dykstra's alternating projections."""
    point, correction = domain.center, np.zeros(domain.dim)
    for _ in range(rounds):
        on_plane = point + (target - features @ point) * features / (features @ features)
        point = domain.project(on_plane + correction)
        correction = on_plane + correction - point
    return point


class TestBestFixed:
    @pytest.mark.parametrize("loss", FAMILIES)
    @pytest.mark.parametrize("dim", [1, 3])
    def test_as_good_as_scipy(self, loss, dim):
        stream = random_stream(loss, 40, dim)
        for domain in domains(dim):
            best = sp.hindsight.best_fixed(stream, domain)
            assert domain.contains(best, atol=PROJECTION)
            theirs = scipy_minimum(lambda x: total(stream, x), domain)
            assert total(stream, best) == pytest.approx(theirs.fun, rel=SCIPY_MINIMUM)

    @pytest.mark.parametrize("loss", FAMILIES)
    def test_no_point_of_a_grid_is_better(self, loss):
        stream, ball = random_stream(loss, 60, 2), sp.Ball(2, 0.9)
        axis = np.linspace(-0.9, 0.9, 61)
        grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        grid = grid[ball.contains(grid, atol=0.0)]
        values = sum(loss.value(grid) for loss in stream)
        best = hindsight.best_fixed(stream, ball)
        assert total(stream, best) - hindsight.gap(stream, ball, best) <= values.min()
        assert total(stream, best) <= values.min() * (1 + SCIPY_MINIMUM)

    @pytest.mark.parametrize("loss", FAMILIES)
    def test_all_forms_of_a_stream_have_the_same_minimum(self, loss):
        stream = random_stream(loss, 50, 4)
        sparse = sp.LinearStream(
            scipy.sparse.csr_matrix(stream.features), stream.targets, loss, threshold=0.7
        )
        # a loss of 0, but of another family
        mixed = [*stream, sp.QuadraticLoss(np.zeros((4, 4)), np.zeros(4))]
        for domain in domains(4):
            best = total(stream, hindsight.best_fixed(stream, domain))
            for other in (sparse, list(stream), iter(stream), mixed, black_boxes(stream)):
                assert total(stream, hindsight.best_fixed(other, domain)) == pytest.approx(
                    best, rel=SCIPY_MINIMUM
                )

    def test_sum_of_quadratics(self):
        rng = np.random.default_rng(0)
        roots = rng.normal(size=(8, 3, 3))
        stream = [sp.QuadraticLoss(R @ R.T, rng.normal(size=3)) for R in roots]
        wide = sp.Ball(3, 100.0)
        expected = np.linalg.solve(sum(f.matrix for f in stream), sum(f.vector for f in stream))
        np.testing.assert_allclose(
            hindsight.best_fixed(stream, wide, tolerance=1e-13), expected, atol=SCIPY_MINIMUM
        )

    def test_minimum_does_not_depend_on_the_scale_of_the_losses(self):
        stream, ball = random_stream("squared", 50, 3), sp.Ball(3, 0.5)
        best = hindsight.best_fixed(stream, ball)
        for factor in (1e-6, 1e6):
            scaled = sp.LinearStream(factor * stream.features, factor * stream.targets)
            np.testing.assert_allclose(hindsight.best_fixed(scaled, ball), best, atol=SCIPY_MINIMUM)

    def test_a_centre_that_is_the_minimum(self):
        stream = sp.LinearStream([[1.0, 0.0], [1.0, 0.0]], [1.0, -1.0])
        assert hindsight.best_fixed(stream, sp.Ball(2)).tolist() == [0.0, 0.0]
        assert hindsight.best_fixed(
            sp.LinearStream(np.zeros((3, 2)), np.ones(3)), sp.Ball(2)
        ).tolist() == [0.0, 0.0]

    def test_an_open_gap_is_an_error_with_a_remedy(self, monkeypatch):
        for steps in ("fixed.MAX_STEPS", "fixed.STEPS_BEFORE_NEWTON", "interior_point.MAX_STEPS"):
            monkeypatch.setattr(f"swordplay.theory.hindsight.{steps}", 2)
        stream = random_stream("logistic", 40, 5)
        with pytest.raises(RuntimeError, match=r"certified gap of .* Give a larger tolerance"):
            hindsight.best_fixed(stream, sp.Ball(5, 3.0))
        assert sp.Ball(5, 3.0).contains(
            hindsight.best_fixed(stream, sp.Ball(5, 3.0), tolerance=1.0)
        )

    def test_alternating_instance(self):
        stream = sp.streams.paper.alternating(100)
        # Half of the rounds have their minimum at 1 and half at -1.
        assert hindsight.best_fixed(stream, stream.domain) == pytest.approx(0.0, abs=SCIPY_MINIMUM)


class TestGap:
    @pytest.mark.parametrize("loss", FAMILIES)
    def test_gap_bounds_the_distance_of_any_point(self, loss):
        stream, rng = random_stream(loss, 30, 3), np.random.default_rng(1)
        for domain in domains(3):
            least = total(stream, hindsight.best_fixed(stream, domain))
            for point in domain.project(rng.normal(size=(20, 3))):
                assert total(stream, point) - least <= hindsight.gap(stream, domain, point)

    def test_gap_is_small_at_the_minimum(self):
        stream, ball = random_stream("squared", 30, 3), sp.Ball(3, 0.5)
        steepness = sum(np.linalg.norm(f.gradient(ball.center)) for f in stream)
        assert (
            hindsight.gap(stream, ball, hindsight.best_fixed(stream, ball))
            <= FIXED_GAP * ball.diameter * steepness
        )

    def test_refuses_points_outside(self):
        with pytest.raises(ValueError, match=r"point must lie in the domain.*Project it first"):
            hindsight.gap(random_stream("squared", 5, 2), sp.Ball(2), [2.0, 0.0])
        with pytest.raises(ValueError, match="point must have length 2"):
            hindsight.gap(random_stream("squared", 5, 2), sp.Ball(2), [0.0])


class TestBlockMinimizers:
    @pytest.mark.parametrize("loss", FAMILIES)
    @pytest.mark.parametrize("length", [1, 3, 7, 20, 50])
    def test_each_block_has_its_own_minimum(self, loss, length):
        stream = random_stream(loss, 20, 3)
        for domain in domains(3):
            points = hindsight.block_minimizers(stream, domain, length)
            assert points.shape == (20, 3)
            assert domain.contains(points, atol=PROJECTION).all()
            for start in range(0, 20, length):
                block = stream[start : start + length]
                assert (points[start : start + length] == points[start]).all()
                scale = domain.diameter * sum(
                    np.linalg.norm(f.gradient(domain.center)) for f in block
                )
                assert hindsight.gap(block, domain, points[start]) <= FIXED_GAP * scale

    def test_all_forms_of_a_stream_and_chunks_agree(self, monkeypatch):
        stream = random_stream("logistic", 23, 3)
        ball = sp.Ball(3, 0.5)
        expected = hindsight.block_minimizers(stream, ball, 5)
        for other in (list(stream), iter(stream), black_boxes(stream)):
            np.testing.assert_allclose(
                hindsight.block_minimizers(other, ball, 5), expected, atol=FLAT_MINIMUM
            )
        monkeypatch.setattr("swordplay.theory.hindsight.descent.CHUNK_NUMBERS", 40)
        np.testing.assert_allclose(
            hindsight.block_minimizers(stream, ball, 5), expected, atol=PROJECTION
        )

    def test_blocks_of_quadratics(self):
        rng = np.random.default_rng(0)
        stream = [sp.QuadraticLoss(np.eye(2), rng.normal(size=2) / 10) for _ in range(7)]
        expected = np.repeat(
            [np.mean([f.vector for f in stream[i : i + 3]], axis=0) for i in (0, 3, 6)], 3, axis=0
        )[:7]
        np.testing.assert_allclose(
            hindsight.block_minimizers(stream, sp.Ball(2), 3), expected, atol=SCIPY_MINIMUM
        )

    def test_shorter_blocks_have_smaller_losses(self):
        stream, ball = random_stream("squared", 24, 2), sp.Ball(2)
        losses = [
            sp.comparator_loss(stream, hindsight.block_minimizers(stream, ball, length))
            for length in (1, 2, 4, 8, 24)
        ]
        assert losses == sorted(losses)


class TestMinimizers:
    @pytest.mark.parametrize("loss", FAMILIES)
    @pytest.mark.parametrize("dim", [1, 2, 4])
    def test_no_sample_does_better(self, loss, dim):
        stream, rng = random_stream(loss, 30, dim), np.random.default_rng(3)
        for domain in domains(dim):
            points = hindsight.minimizers(stream, domain)
            assert points.shape == (30, dim)
            assert domain.contains(points, atol=PROJECTION).all()
            samples = domain.project(domain.center + domain.diameter * rng.normal(size=(500, dim)))
            for f, u in zip(stream, points, strict=True):
                assert float(f.value(u)) <= f.value(samples).min() + ROUNDING

    def test_of_many_minimizers_the_nearest_to_the_centre(self):
        rng = np.random.default_rng(4)
        for domain in domains(3):
            features = rng.normal(size=(10, 3))
            share = rng.uniform(0.1, 0.9, size=10)
            targets = share * domain.support(features) - (1 - share) * domain.support(-features)
            nearest = [dykstra(domain, a, y) for a, y in zip(features, targets, strict=True)]
            ours = hindsight.minimizers(sp.LinearStream(features, targets), domain)
            np.testing.assert_allclose(ours, nearest, atol=SCIPY_MINIMUM)

    def test_of_a_face_of_minimizers_the_nearest_to_the_centre(self):
        box, stream = (
            sp.Box([-1.0, -1.0, 0.0], [1.0, 3.0, 1.0]),
            sp.LinearStream([[2.0, 0.0, 0.0]], [1], "logistic"),
        )
        assert hindsight.minimizers(stream, box).tolist() == [[1.0, 1.0, 0.5]]

    def test_inside_a_ball_the_minimizer_is_along_the_features(self):
        stream = sp.LinearStream([[3.0, 4.0]], [1.0])
        np.testing.assert_allclose(
            hindsight.minimizers(stream, sp.Ball(2)), [[0.12, 0.16]], rtol=ROUNDING
        )

    def test_paper_instances(self):
        for stream in (sp.streams.paper.gradual(101), sp.streams.paper.alternating(100)):
            points = hindsight.minimizers(stream, stream.domain)
            flat = stream.features[:, 0] == 0  # the slope that crosses zero has no preference
            np.testing.assert_allclose(points[~flat], stream.comparators[~flat], rtol=ROUNDING)
            ours, planted = (sp.comparator_loss(stream, u) for u in (points, stream.comparators))
            assert ours == pytest.approx(planted, rel=TWIN, abs=ROUNDING)

    def test_features_of_0_give_the_centre(self):
        ball = sp.Ball(2, 1.0, [3.0, 4.0])
        assert (
            hindsight.minimizers(sp.LinearStream(np.zeros((2, 2)), np.ones(2)), ball).tolist()
            == [[3.0, 4.0]] * 2
        )

    def test_features_of_very_different_sizes(self):
        stream = sp.LinearStream(
            [[1.0, 1e-9, 1e-18]], [10.0]
        )  # cannot be reached: the best corner is wanted
        np.testing.assert_allclose(
            hindsight.minimizers(stream, sp.Box(-np.ones(3), np.ones(3))) @ [1.0, 1e-9, 0.0],
            1.0 + 1e-9,
        )

    def test_other_losses(self):
        stream = [sp.QuadraticLoss(np.eye(2), [0.3, 0.1]), sp.QuadraticLoss(np.eye(2), [3.0, 4.0])]
        np.testing.assert_allclose(
            hindsight.minimizers(stream, sp.Ball(2)), [[0.3, 0.1], [0.6, 0.8]], atol=SCIPY_MINIMUM
        )
        sparse = sp.LinearStream(scipy.sparse.csr_matrix([[3.0, 4.0]]), [1.0])
        np.testing.assert_allclose(
            hindsight.minimizers(sparse, sp.Ball(2)), [[0.12, 0.16]], rtol=ROUNDING
        )


@pytest.mark.parametrize(
    "ask",
    [
        hindsight.best_fixed,
        hindsight.minimizers,
        lambda stream, domain: hindsight.block_minimizers(stream, domain, 2),
        lambda stream, domain: hindsight.gap(stream, domain, domain.center),
    ],
    ids=["best_fixed", "minimizers", "block_minimizers", "gap"],
)
class TestRefusals:
    def test_an_empty_stream(self, ask):
        for empty in (sp.LinearStream(np.ones((0, 2)), []), []):
            with pytest.raises(ValueError, match="stream must hold at least one round"):
                ask(empty, sp.Ball(2))

    def test_other_dimensions(self, ask):
        stream = random_stream("squared", 4, 2)
        for kind in (stream, list(stream)):
            with pytest.raises(ValueError, match="domain must have the stream's dimension 2"):
                ask(kind, sp.Ball(3))

    def test_gradients_that_are_not_numbers(self, ask):
        broken = [sp.FunctionLoss(lambda x: x.sum(-1), lambda x: np.full_like(x, np.nan))] * 3
        with pytest.raises(ValueError, match=r"loss.gradient's answer must be finite"):
            ask(broken, sp.Ball(2))


def test_bad_settings():
    stream = random_stream("squared", 4, 2)
    with pytest.raises(ValueError, match="length must be at least 1, got 0"):
        hindsight.block_minimizers(stream, sp.Ball(2), 0)
    with pytest.raises(ValueError, match="tolerance must be greater than 0"):
        hindsight.best_fixed(stream, sp.Ball(2), tolerance=0.0)
    with pytest.raises(TypeError, match="domain must be a domain"):
        hindsight.minimizers(stream, "ball")
