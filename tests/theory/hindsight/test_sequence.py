"""Best sequences for penalties and budgets, and the frontier: certificates, limits and refusals."""

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import pairs
import swordplay as sp
from strategies import domains as random_domains
from strategies import losses
from swordplay.theory.hindsight import interior_point, sequence
from swordplay.theory.hindsight.losses_in_domain import BlackBoxLosses
from swordplay.theory.hindsight.sequence import Problem
from theory.hindsight.problems import (
    FAMILIES,
    ProjectionOnly,
    ball_box_simplex,
    drifting_stream,
    jumping_stream,
    penalised_loss,
    small_ball_box_simplex,
    value,
)
from tolerances import FLAT_MINIMUM, ROUNDING, SCIPY_MINIMUM, SEQUENCE_GAP

CASES = [
    ("squared", 1),
    ("huber", 1),
    ("logistic", 1),
    ("squared", 2),
    ("huber", 3),
    ("logistic", 2),
]


class TestPenalty:
    @pytest.mark.parametrize(("loss", "penalty"), pairs.of(FAMILIES, [0.01, 0.3, 10.0, 1e5]))
    def test_gap_is_closed_and_true(self, loss, penalty):
        stream, rng = drifting_stream(loss, 60, 3), np.random.default_rng(1)
        for domain in ball_box_simplex(3):
            best = sp.hindsight.best_sequence(stream, domain, penalty=penalty)
            assert domain.contains(best.comparators).all()
            assert sp.comparator_loss(stream, best.comparators) == pytest.approx(
                best.loss, rel=ROUNDING
            )
            assert sp.path_length(best.comparators) == pytest.approx(
                best.path_length, rel=SCIPY_MINIMUM, abs=ROUNDING
            )
            assert best.gap <= SEQUENCE_GAP * Problem(stream, domain, None).scale
            rivals = [
                np.tile(sp.hindsight.best_fixed(stream, domain), (60, 1)),
                sp.hindsight.minimizers(stream, domain),
            ]
            rivals += [
                domain.project(best.comparators + size * rng.normal(size=(60, 3)))
                for size in (1e-6, 1e-3, 0.1)
            ]
            for rival in rivals:
                assert value(best) - best.gap <= penalised_loss(stream, penalty, rival) * (
                    1 + ROUNDING
                )

    # no phase that shrinks: a smaller example is not worth thousands of solves
    @settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])
    @given(domain=random_domains(max_dim=3), data=st.data())
    def test_gap_is_true_for_any_losses(self, domain, data):
        stream = data.draw(st.lists(losses(domain.dim), min_size=2, max_size=6))
        penalty = data.draw(st.floats(1e-3, 1e3))
        # Huber losses among losses of other families become black boxes, whose Hessians jump: some
        # of these problems are not solved.
        has_jumps = isinstance(Problem(stream, domain, None).losses, BlackBoxLosses) and any(
            isinstance(loss, sp.HuberLoss) for loss in stream
        )
        try:
            best = sp.hindsight.best_sequence(stream, domain, penalty=penalty, tolerance=1e-4)
        except RuntimeError:
            if has_jumps:
                return
            raise
        rng = np.random.default_rng(0)
        scale = Problem(stream, domain, None).scale + abs(best.loss)
        # Where the best loss is 0, the rounding error of a slope times the diameter remains.
        assert best.gap <= 1e-4 * scale + ROUNDING * max(1.0, domain.diameter)
        for size in (0.0, 0.1, 1.0):
            moved = best.comparators + size * domain.diameter * rng.normal(
                size=best.comparators.shape
            )
            rival = domain.project(moved)
            assert value(best) - best.gap <= penalised_loss(stream, penalty, rival) + 1e-9 * scale

    def test_losses_that_nearly_vanish_at_the_centre(self):
        """The logistic losses are at most 6e-21 at the centre, and log 2 at a simplex's corner."""
        stream = [sp.LogisticLoss([-2.6, 0.0, -2.2], 0), sp.LogisticLoss([-1.1, 0.0, -1.1], 0)]
        domain = sp.Simplex(3, total=63.5)
        assert Problem(stream, domain, None).scale < 1e-18
        assert sp.hindsight.best_sequence(stream, domain, penalty=500.0).gap < 1e-18

    def test_a_large_penalty_gives_the_best_fixed_decision(self):
        stream = drifting_stream("huber", 50, 3)
        for domain in ball_box_simplex(3):
            best = sp.hindsight.best_sequence(stream, domain, penalty=1e6)
            fixed = sp.comparator_loss(stream, sp.hindsight.best_fixed(stream, domain))
            assert best.path_length <= SCIPY_MINIMUM
            assert best.loss == pytest.approx(fixed, rel=SCIPY_MINIMUM)

    def test_a_tiny_penalty_gives_the_minimizers_of_the_rounds(self):
        stream = drifting_stream("logistic", 50, 3)
        for domain in ball_box_simplex(3):
            best = sp.hindsight.best_sequence(stream, domain, penalty=1e-9)
            each = sp.comparator_loss(stream, sp.hindsight.minimizers(stream, domain))
            assert best.loss == pytest.approx(each, rel=SCIPY_MINIMUM)

    @pytest.mark.parametrize("factor", [1e-6, 1e6])
    def test_the_unit_of_the_losses_does_not_matter(self, factor):
        stream, ball = list(drifting_stream("huber", 40, 3)), sp.Ball(3)
        scaled = [sp.WeightedLoss(f, factor) for f in stream]
        ours = sp.hindsight.best_sequence(scaled, ball, penalty=0.2 * factor)
        plain = sp.hindsight.best_sequence(stream, ball, penalty=0.2)
        assert value(ours) == pytest.approx(factor * value(plain), rel=SCIPY_MINIMUM)

    def test_losses_that_are_constant_give_the_centre(self):
        stream = sp.LinearStream(np.zeros((5, 2)), np.ones(5))
        best = sp.hindsight.best_sequence(stream, sp.Ball(2, 1.0, [3.0, 4.0]), penalty=1.0)
        assert (best.comparators == [3.0, 4.0]).all()
        assert best.gap == best.path_length == 0.0


class TestBudget:
    @pytest.mark.parametrize(("loss", "dim"), CASES)
    @pytest.mark.parametrize("budget", [1e-3, 0.5, 3.0])
    def test_the_budget_is_kept_and_used(self, loss, dim, budget):
        stream = drifting_stream(loss, 40, dim)
        for domain in ball_box_simplex(dim):
            best = sp.hindsight.best_sequence(stream, domain, path_length=budget)
            assert domain.contains(best.comparators).all()
            assert best.path_length <= budget * (1 + ROUNDING)
            assert best.loss == pytest.approx(
                sp.comparator_loss(stream, best.comparators), rel=ROUNDING
            )
            assert best.gap <= Problem(stream, domain, None).target_gap
            # The penalty that is returned leads to the same objective; a mixture of two solutions
            # may lie a little above.
            priced = sp.hindsight.best_sequence(stream, domain, penalty=best.penalty)
            paid = best.loss + best.penalty * budget
            assert priced.loss + priced.penalty * priced.path_length - priced.gap <= paid * (
                1 + ROUNDING
            )

    def test_a_budget_of_0_gives_the_best_fixed_decision(self):
        stream = drifting_stream("squared", 40, 3)
        for domain in ball_box_simplex(3):
            best = sp.hindsight.best_sequence(stream, domain, path_length=0)
            fixed = sp.comparator_loss(stream, sp.hindsight.best_fixed(stream, domain))
            assert best.path_length == 0.0
            assert (best.comparators == best.comparators[0]).all()
            assert best.loss == pytest.approx(fixed, rel=SCIPY_MINIMUM)

    @pytest.mark.parametrize("budget", [1e3, 1e12])
    def test_a_large_budget_gives_the_minimizers_of_the_rounds(self, budget):
        stream = drifting_stream("squared", 40, 3)
        for domain in ball_box_simplex(3):
            best = sp.hindsight.best_sequence(stream, domain, path_length=budget)
            each = sp.comparator_loss(stream, sp.hindsight.minimizers(stream, domain))
            assert best.loss == pytest.approx(each, abs=Problem(stream, domain, None).target_gap)
            assert best.path_length <= sp.path_length(sp.hindsight.minimizers(stream, domain))

    def test_loss_is_convex_and_falls_with_the_budget(self):
        stream, ball = drifting_stream("huber", 40, 2), sp.Ball(2)
        bests = [
            sp.hindsight.best_sequence(stream, ball, path_length=P) for P in np.linspace(0, 8, 9)
        ]
        losses, slack = (
            np.array([best.loss for best in bests]),
            Problem(stream, ball, None).target_gap,
        )
        assert (np.diff(losses) <= slack).all()
        assert (np.diff(losses, 2) >= -3 * slack).all()  # and convex

    def test_a_frontier_that_is_one_segment(self):
        """Losses with constant slopes: all points of the segment are solutions of one penalty."""
        stream = sp.LinearStream(np.ones((4, 1)), [-9.0, -9.0, 9.0, 9.0], "huber")
        best = sp.hindsight.best_sequence(stream, sp.Ball(1), path_length=0.7)
        fixed = sp.comparator_loss(stream, [0.0])
        assert best.loss == pytest.approx(fixed - 2 * 0.7, rel=ROUNDING)
        assert best.penalty == pytest.approx(2.0, rel=SCIPY_MINIMUM)

    def test_too_few_penalties(self, monkeypatch):
        monkeypatch.setattr(sequence, "MAX_PENALTIES", 1)
        with pytest.raises(
            RuntimeError, match=r"tried 1 penalties for path_length=0.5 .* Give a larger tolerance"
        ):
            sp.hindsight.best_sequence(
                drifting_stream("squared", 40, 2), sp.Ball(2), path_length=0.5
            )


class TestFrontier:
    @pytest.mark.parametrize(("loss", "dim"), CASES)
    def test_brackets_the_best_sequences(self, loss, dim):
        stream = drifting_stream(loss, 40, dim)
        for domain in ball_box_simplex(dim):
            curve, slack = (
                sp.hindsight.frontier(stream, domain, points=7),
                Problem(stream, domain, None).target_gap,
            )
            assert len(curve.losses) <= 7
            assert curve.path_lengths[0] == 0.0
            assert (np.diff(curve.path_lengths) >= 0).all()
            assert (np.diff(curve.losses) <= slack).all()
            assert (np.diff(curve.penalties) < 0).all()
            assert (curve.gaps <= slack).all()
            for P in (0.0, 0.3, 2.0, 1e4):
                best = sp.hindsight.best_sequence(stream, domain, path_length=P)
                assert best.loss - best.gap <= curve.least_loss(P) + slack
                assert curve.lower_bound(P) <= best.loss + slack

    def test_more_points_give_tighter_bounds(self):
        stream, ball = drifting_stream("squared", 60, 2), sp.Ball(2)
        paths = np.linspace(0, 20, 41)
        widths = []
        for points in (2, 4, 8, 16):
            curve = sp.hindsight.frontier(stream, ball, points=points)
            widths.append((curve.least_loss(paths) - curve.lower_bound(paths)).max())
        assert widths == sorted(widths, reverse=True)
        assert widths[-1] < 0.05 * widths[0]

    def test_hull_is_convex_and_below_the_points(self):
        curve = sp.hindsight.Frontier(
            np.array([0.0, 1.0, 2.0, 4.0]),
            np.array([9.0, 8.5, 3.0, 3.1]),
            np.array([4.0, 3.0, 2.0, 0.1]),
            np.zeros(4),
        )
        paths, losses = curve.hull
        assert paths.tolist() == [0.0, 2.0, 4.0]
        assert losses.tolist() == [9.0, 3.0, 3.0]
        assert curve.least_loss([0.5, 3.0, 99.0]).tolist() == [7.5, 3.0, 3.0]
        assert curve.least_loss(1.0).shape == ()

    def test_stops_when_the_bounds_are_within_the_tolerance(self):
        constant = sp.LinearStream(np.ones((20, 1)), np.full(20, 0.3))
        assert len(sp.hindsight.frontier(constant, sp.Ball(1)).losses) == 2

    @pytest.mark.parametrize("dim", [1, 3])
    def test_losses_of_0(self, dim):
        """Losses that are 0 everywhere: every sequence is as good as any other."""
        zeros = sp.LinearStream(np.zeros((5, dim)), np.zeros(5))
        assert sp.hindsight.frontier(zeros, sp.Ball(dim)).least_loss([0.0, 1.0]).tolist() == [
            0.0,
            0.0,
        ]
        best = sp.hindsight.best_sequence(zeros, sp.Ball(dim), path_length=1.0)
        assert best.loss == best.gap == best.path_length == 0.0

    def test_bad_settings(self):
        stream = drifting_stream("squared", 10, 2)
        with pytest.raises(ValueError, match="points must be at least 2, got 1"):
            sp.hindsight.frontier(stream, sp.Ball(2), points=1)
        with pytest.raises(ValueError, match="tolerance must be greater than 0"):
            sp.hindsight.frontier(stream, sp.Ball(2), tolerance=0.0)
        with pytest.raises(ValueError, match="path_length must be at least 0, got -1"):
            sp.hindsight.frontier(stream, sp.Ball(2), points=2).least_loss([0.0, -1.0])

    def test_progress_is_reported(self):
        reports = []
        sp.hindsight.frontier(
            drifting_stream("squared", 30, 2),
            sp.Ball(2),
            points=5,
            progress=lambda *what: reports.append(what),
        )
        assert [done for done, _, _ in reports] == [1, 2, 3, 4, 5]
        assert {planned for _, planned, _ in reports} == {5}


class TestDeadline:
    """A clock that advances with every call, so that the tests do not depend on the machine."""

    @pytest.fixture
    def ticks(self, monkeypatch):
        """A clock that advances by a second with every call."""
        now = iter(range(10**9))
        monkeypatch.setattr("time.monotonic", lambda: float(next(now)))

    def test_points_so_far_are_returned_at_the_deadline(self, ticks):
        stream, domain = drifting_stream("squared", 60, 2), sp.Ball(2)
        complete = sp.hindsight.frontier(stream, domain)
        some = sp.hindsight.frontier(stream, domain, seconds=60.0)
        assert 2 <= len(some.losses) < len(complete.losses)
        paths = np.linspace(0.0, float(complete.path_lengths[-1]), 50)
        assert (some.lower_bound(paths) <= complete.least_loss(paths) + 1e-9).all()
        assert (some.least_loss(paths) >= complete.lower_bound(paths) - 1e-9).all()

    def test_no_result_before_both_ends_are_computed(self, ticks):
        with pytest.raises(
            sp.hindsight.OutOfTime, match="Give more seconds, fewer rounds or fewer columns"
        ):
            sp.hindsight.frontier(drifting_stream("squared", 60, 2), sp.Ball(2), seconds=3.0)

    @pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
    def test_seconds_must_be_positive(self, seconds):
        with pytest.raises(ValueError, match="seconds"):
            sp.hindsight.frontier(drifting_stream("squared", 60, 2), sp.Ball(2), seconds=seconds)


class TestOneRound:
    @pytest.mark.parametrize("dim", [1, 3])
    @pytest.mark.parametrize("loss", FAMILIES)
    def test_the_minimizer_of_a_single_round(self, loss, dim):
        stream, ball = jumping_stream(loss, 1, dim), sp.Ball(dim, 0.3)
        least = sp.comparator_loss(stream, sp.hindsight.minimizers(stream, ball))
        by_penalty = sp.hindsight.best_sequence(stream, ball, penalty=0.5)
        by_budget = sp.hindsight.best_sequence(stream, ball, path_length=2.0)
        curve = sp.hindsight.frontier(stream, ball)
        for best in (by_penalty, by_budget):
            assert best.loss == pytest.approx(least, abs=1e-6)
            assert best.path_length == 0.0
            assert best.comparators.shape == (1, dim)
        assert curve.least_loss([0.0, 5.0]) == pytest.approx([least] * 2, abs=1e-6)
        assert (curve.lower_bound([0.0, 5.0]) <= least + ROUNDING).all()


@pytest.mark.parametrize("loss", FAMILIES)
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
def test_gaps_are_within_the_tolerance(loss, tolerance):
    stream = jumping_stream(loss, 50, 3)
    for domain in small_ball_box_simplex(3):
        scale = domain.diameter * sum(np.linalg.norm(f.gradient(domain.center)) for f in stream)
        rounding = 1e-11 * sum(abs(float(f.value(domain.center))) for f in stream)
        for asked in ({"penalty": 0.7}, {"path_length": 0.5}):
            best = sp.hindsight.best_sequence(stream, domain, tolerance=tolerance, **asked)
            assert best.gap <= tolerance * scale + rounding
        fixed = sp.hindsight.best_fixed(stream, domain, tolerance=tolerance)
        assert sp.hindsight.gap(stream, domain, fixed) <= tolerance * scale + rounding


def test_coordinates_that_no_loss_depends_on_stay_at_the_centre():
    stream = sp.LinearStream([[1.0, 0.0]] * 4, [0.0, 0.0, 1.0, 1.0])
    best = sp.hindsight.best_sequence(stream, sp.Ball(2, 2.0), penalty=0.1)
    np.testing.assert_allclose(best.comparators[:, 1], 0.0, atol=FLAT_MINIMUM)


def test_progress_is_reported():
    reports = []
    sp.hindsight.best_sequence(
        drifting_stream("squared", 30, 2),
        sp.Ball(2),
        path_length=0.5,
        progress=lambda *what: reports.append(what),
        tolerance=1e-6,
    )
    assert [done for done, _, _ in reports] == list(range(1, len(reports) + 1))
    assert all("gap" in label for _, _, label in reports)


class TestRefusals:
    stream = drifting_stream("squared", 10, 2)

    def test_one_of_penalty_and_path_length(self):
        for given_, both in (("neither", {}), ("both", {"penalty": 1.0, "path_length": 1.0})):
            with pytest.raises(
                ValueError, match=f"path_length or penalty, got {given_}. Give one of the two"
            ):
                sp.hindsight.best_sequence(self.stream, sp.Ball(2), **both)

    @pytest.mark.parametrize("penalty", [0.0, -1.0, np.inf, np.nan])
    def test_penalty(self, penalty):
        with pytest.raises(ValueError, match="penalty must be"):
            sp.hindsight.best_sequence(self.stream, sp.Ball(2), penalty=penalty)

    def test_path_length(self):
        with pytest.raises(ValueError, match=r"path_length must be at least 0, got -1.0"):
            sp.hindsight.best_sequence(self.stream, sp.Ball(2), path_length=-1.0)

    def test_too_short(self):
        for stream in (self.stream[:0], []):
            with pytest.raises(ValueError, match="at least one round, got none"):
                sp.hindsight.best_sequence(stream, sp.Ball(2), penalty=1.0)
            with pytest.raises(ValueError, match="at least one round, got none"):
                sp.hindsight.frontier(stream, sp.Ball(2))

    def test_other_dimensions_and_no_domain(self):
        for kind in (self.stream, list(self.stream)):
            with pytest.raises(ValueError, match="domain must have the stream's dimension 2"):
                sp.hindsight.best_sequence(kind, sp.Ball(3), penalty=1.0)
        with pytest.raises(TypeError, match="domain must be a domain"):
            sp.hindsight.best_sequence(self.stream, "ball", penalty=1.0)

    def test_a_centre_outside_the_domain(self):
        domain = ProjectionOnly(sp.Ball(2))
        domain.center = np.array([3.0, 0.0])
        with pytest.raises(
            ValueError, match=r"domain.center must lie in the domain, got \[3.0, 0.0\]"
        ):
            sp.hindsight.best_sequence(self.stream, domain, penalty=1.0)

    @pytest.mark.parametrize("dim", [1, 2])
    def test_functions_that_are_not_convex(self, dim):
        saddle = sp.FunctionLoss(lambda x: -np.square(x).sum(-1), lambda x: -2 * x)
        with pytest.raises(
            RuntimeError, match=r"the loss of round \d+ is not convex: .* below its tangent"
        ):
            sp.hindsight.best_sequence([saddle] * 6, sp.Ball(dim), penalty=0.3)

    def test_functions_with_a_kink(self):
        kink = sp.FunctionLoss(lambda x: np.abs(x - 0.3).sum(-1), lambda x: np.sign(x - 0.3))
        with pytest.raises(
            RuntimeError,
            match=r"certified gap of .* larger tolerance; or are the losses not smooth",
        ):
            sp.hindsight.best_sequence([kink] * 6, sp.Ball(2), penalty=0.3)

    def test_gradients_and_values_that_are_not_numbers(self):
        no_slope = sp.FunctionLoss(lambda x: x.sum(-1), lambda x: np.full_like(x, np.nan))
        no_value = sp.FunctionLoss(lambda x: np.full(x.shape[:-1], np.nan), lambda x: x)
        with pytest.raises(ValueError, match=r"loss.gradient's answer must be finite"):
            sp.hindsight.best_sequence([no_slope] * 3, sp.Ball(2), penalty=1.0)
        with pytest.raises(ValueError, match=r"loss.value must be finite, got nan"):
            sp.hindsight.best_sequence([no_value] * 3, sp.Ball(2), penalty=1.0)

    def test_too_few_steps(self, monkeypatch):
        monkeypatch.setattr(interior_point, "MAX_STEPS", 2)
        with pytest.raises(RuntimeError, match=r"certified gap of .* not within tolerance=1e-07"):
            sp.hindsight.best_sequence(self.stream, sp.Ball(2), penalty=0.3)

    @pytest.mark.parametrize("dim", [1, 2])
    def test_ctrl_c_in_a_callback(self, dim):
        reports = []

        def interrupt(done, planned, label):
            reports.append((done, planned, label))
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            sp.hindsight.best_sequence(
                drifting_stream("squared", 10, dim), sp.Ball(dim), penalty=0.3, progress=interrupt
            )
        assert len(reports) == 1
        assert 1 <= reports[0][0] <= reports[0][1]
