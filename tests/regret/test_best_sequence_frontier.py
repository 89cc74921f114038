"""Budgets of path, and the curve of all of them."""

import numpy as np
import pytest

import swordplay as sp
from regret.test_best_sequence import drifting, shapes
from swordplay.theory.hindsight import sequence
from swordplay.theory.hindsight.sequence import Problem
from tolerances import JUDGE, ROUNDING

CASES = [
    ("squared", 1),
    ("huber", 1),
    ("logistic", 1),
    ("squared", 2),
    ("huber", 3),
    ("logistic", 2),
]


class TestBudget:
    @pytest.mark.parametrize(("loss", "dim"), CASES)
    @pytest.mark.parametrize("budget", [1e-3, 0.5, 3.0])
    def test_the_budget_is_kept_and_used(self, loss, dim, budget):
        stream = drifting(loss, 40, dim)
        for domain in shapes(dim):
            best = sp.hindsight.best_sequence(stream, domain, path_length=budget)
            assert domain.contains(best.comparators).all()
            assert best.path_length <= budget * (1 + ROUNDING)
            assert best.loss == pytest.approx(
                sp.comparator_loss(stream, best.comparators), rel=ROUNDING
            )
            assert best.gap <= Problem(stream, domain, None).target
            # Whoever pays this price for a unit of path ends up where the budget ends; a mixture
            # may lie a little above.
            priced = sp.hindsight.best_sequence(stream, domain, penalty=best.penalty)
            paid = best.loss + best.penalty * budget
            assert priced.loss + priced.penalty * priced.path_length - priced.gap <= paid * (
                1 + ROUNDING
            )

    def test_no_budget_is_the_best_fixed_decision(self):
        stream = drifting("squared", 40, 3)
        for domain in shapes(3):
            best = sp.hindsight.best_sequence(stream, domain, path_length=0)
            fixed = sp.comparator_loss(stream, sp.hindsight.best_fixed(stream, domain))
            assert best.path_length == 0.0
            assert (best.comparators == best.comparators[0]).all()
            assert best.loss == pytest.approx(fixed, rel=JUDGE)

    @pytest.mark.parametrize("budget", [1e3, 1e12])
    def test_more_than_enough_is_the_best_of_each_round(self, budget):
        stream = drifting("squared", 40, 3)
        for domain in shapes(3):
            best = sp.hindsight.best_sequence(stream, domain, path_length=budget)
            each = sp.comparator_loss(stream, sp.hindsight.minimizers(stream, domain))
            assert best.loss == pytest.approx(each, abs=Problem(stream, domain, None).target)
            assert best.path_length <= sp.path_length(sp.hindsight.minimizers(stream, domain))

    def test_more_path_never_loses_more(self):
        stream, ball = drifting("huber", 40, 2), sp.Ball(2)
        bests = [
            sp.hindsight.best_sequence(stream, ball, path_length=P) for P in np.linspace(0, 8, 9)
        ]
        losses, slack = np.array([best.loss for best in bests]), Problem(stream, ball, None).target
        assert (np.diff(losses) <= slack).all()
        assert (np.diff(losses, 2) >= -3 * slack).all()  # and convex

    def test_a_straight_frontier_is_met_between_its_ends(self):
        """Slopes that do not change with u: one penalty has a whole segment of answers, and no
        other touches it.
        """
        stream = sp.LinearStream(np.ones((4, 1)), [-9.0, -9.0, 9.0, 9.0], "huber")
        best = sp.hindsight.best_sequence(stream, sp.Ball(1), path_length=0.7)
        fixed = sp.comparator_loss(stream, [0.0])
        assert best.loss == pytest.approx(fixed - 2 * 0.7, rel=ROUNDING)
        assert best.penalty == pytest.approx(2.0, rel=JUDGE)

    def test_too_few_penalties(self, monkeypatch):
        monkeypatch.setattr(sequence, "SOLVES", 1)
        with pytest.raises(
            RuntimeError, match=r"tried 1 penalties for path_length=0.5 .* Give a larger tolerance"
        ):
            sp.hindsight.best_sequence(drifting("squared", 40, 2), sp.Ball(2), path_length=0.5)


class TestFrontier:
    @pytest.mark.parametrize(("loss", "dim"), CASES)
    def test_brackets_the_best_sequences(self, loss, dim):
        stream = drifting(loss, 40, dim)
        for domain in shapes(dim):
            curve, slack = (
                sp.hindsight.frontier(stream, domain, points=7),
                Problem(stream, domain, None).target,
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

    def test_more_points_say_more(self):
        stream, ball = drifting("squared", 60, 2), sp.Ball(2)
        paths = np.linspace(0, 20, 41)
        doubts = []
        for points in (2, 4, 8, 16):
            curve = sp.hindsight.frontier(stream, ball, points=points)
            doubts.append((curve.least_loss(paths) - curve.lower_bound(paths)).max())
        assert doubts == sorted(doubts, reverse=True)
        assert doubts[-1] < 0.05 * doubts[0]

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

    def test_stops_where_nothing_is_left_to_learn(self):
        still = sp.LinearStream(np.ones((20, 1)), np.full(20, 0.3))
        assert len(sp.hindsight.frontier(still, sp.Ball(1)).losses) == 2

    @pytest.mark.parametrize("dim", [1, 3])
    def test_nothing_to_gain(self, dim):
        """Losses that are 0 everywhere: every sequence is as good as any other."""
        nothing = sp.LinearStream(np.zeros((5, dim)), np.zeros(5))
        assert sp.hindsight.frontier(nothing, sp.Ball(dim)).least_loss([0.0, 1.0]).tolist() == [
            0.0,
            0.0,
        ]
        best = sp.hindsight.best_sequence(nothing, sp.Ball(dim), path_length=1.0)
        assert best.loss == best.gap == best.path_length == 0.0

    def test_bad_settings(self):
        stream = drifting("squared", 10, 2)
        with pytest.raises(ValueError, match="points must be at least 2, got 1"):
            sp.hindsight.frontier(stream, sp.Ball(2), points=1)
        with pytest.raises(ValueError, match="tolerance must be greater than 0"):
            sp.hindsight.frontier(stream, sp.Ball(2), tolerance=0.0)
        with pytest.raises(ValueError, match="path_length must be at least 0, got -1"):
            sp.hindsight.frontier(stream, sp.Ball(2), points=2).least_loss([0.0, -1.0])

    def test_progress_is_told(self):
        said = []
        sp.hindsight.frontier(
            drifting("squared", 30, 2),
            sp.Ball(2),
            points=5,
            progress=lambda *what: said.append(what),
        )
        assert [done for done, _, _ in said] == [1, 2, 3, 4, 5]
        assert {planned for _, planned, _ in said} == {5}


class TestClock:
    """Time is counted in looks at the clock, so that the tests do not depend on the machine."""

    @pytest.fixture
    def ticks(self, monkeypatch):
        """A clock that goes on by a second at every look."""
        now = iter(range(10**9))
        monkeypatch.setattr("time.monotonic", lambda: float(next(now)))

    def test_what_is_there_when_time_is_over_is_the_answer(self, ticks):
        stream, domain = drifting("squared", 60, 2), sp.Ball(2)
        all_of_it = sp.hindsight.frontier(stream, domain)
        some = sp.hindsight.frontier(stream, domain, seconds=60.0)
        assert 2 <= len(some.losses) < len(all_of_it.losses)
        paths = np.linspace(0.0, float(all_of_it.path_lengths[-1]), 50)
        assert (some.lower_bound(paths) <= all_of_it.least_loss(paths) + 1e-9).all()
        assert (some.least_loss(paths) >= all_of_it.lower_bound(paths) - 1e-9).all()

    def test_without_both_ends_there_is_no_answer(self, ticks):
        with pytest.raises(
            sp.hindsight.OutOfTime, match="Give more seconds, fewer rounds or fewer columns"
        ):
            sp.hindsight.frontier(drifting("squared", 60, 2), sp.Ball(2), seconds=3.0)

    @pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
    def test_no_time_at_all_is_refused(self, seconds):
        with pytest.raises(ValueError, match="seconds"):
            sp.hindsight.frontier(drifting("squared", 60, 2), sp.Ball(2), seconds=seconds)
