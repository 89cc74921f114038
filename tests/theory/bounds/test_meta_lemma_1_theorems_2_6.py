"""Bounds of the metas of Sword at numbers computed by hand, and on plain Hedge."""

import warnings
from math import log, sqrt

import numpy as np
import pytest

from swordplay import bounds
from tolerances import ROUNDING, THEOREM

GIVEN = {"diameter": 2.0, "gradient_bound": 3.0, "smoothness": 0.5}


class TestHedge:
    def test_by_hand(self):
        misses, moves = [1.0, 2.0, 0.5], [0.2, 0.4]
        safe = bounds.optimistic_hedge(
            experts=4, learning_rates=[1.0, 0.5, 0.25], mismatches=misses, stability=moves
        )
        expected = log(4) / 0.25 + 1.0 + 0.5 * 4 + 0.25 * 0.25 - (0.04 / 4 + 0.16 / 2)
        assert safe == pytest.approx(expected, rel=ROUNDING)
        paper = bounds.optimistic_hedge(
            experts=4, learning_rates=0.5, mismatches=misses, stability=moves, tuning="paper"
        )
        assert paper == pytest.approx((2 + log(4)) / 0.5 + 0.5 * 5.25 - 0.2 / 2, rel=ROUNDING)
        assert bounds.optimistic_hedge(experts=4, learning_rates=0.5, mismatches=misses) > safe - 9

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"learning_rates": [0.1, 0.2, 0.1]}, "never increase"),
            ({"learning_rates": [0.1, 0.1]}, "one a round"),
            ({"learning_rates": [0.1, 0.1, 0.1], "tuning": "paper"}, "one a round"),
            ({"stability": [0.1]}, "stability must have one entry"),
            ({"experts": 0}, "experts must be at least 1"),
        ],
    )
    def test_refusals(self, changes, words):
        with pytest.raises(ValueError, match=words):
            bounds.optimistic_hedge(
                **({"experts": 2, "learning_rates": 0.1, "mismatches": [1.0] * 3} | changes)
            )

    @pytest.mark.parametrize("seed", range(3))
    def test_holds_for_the_meta_itself(self, seed):
        """Weights of plain Hedge on random losses, against every expert."""
        rng, N, T, rate = np.random.default_rng(seed), 5, 60, 0.3
        losses = rng.normal(size=(T, N)).cumsum(axis=0) / 5
        before = np.vstack([np.zeros(N), losses.cumsum(axis=0)[:-1]])
        weights = np.exp(-rate * (before - before.min(axis=1, keepdims=True)))
        weights /= weights.sum(axis=1, keepdims=True)
        regret = (weights * losses).sum() - losses.sum(axis=0).min()
        ranges = (losses.max(axis=1) - losses.min(axis=1)) / 2
        moves = np.abs(np.diff(weights, axis=0)).sum(axis=1)
        given = {"experts": N, "learning_rates": rate, "stability": moves}
        assert regret <= bounds.optimistic_hedge(**given, mismatches=ranges) * (1 + THEOREM)
        paper = bounds.optimistic_hedge(
            **given, mismatches=np.abs(losses).max(axis=1), tuning="paper"
        )
        assert regret <= paper * (1 + THEOREM)


class TestMeta:
    def test_by_hand(self):
        var = bounds.meta_var(**GIVEN, variation=6.0, experts=8)
        assert var == pytest.approx(4 * sqrt(log(8) * 24) + 4 * log(8), rel=ROUNDING)
        small = bounds.meta_small(**GIVEN, learner_loss=7.0, experts=8)
        assert small == pytest.approx(6 * sqrt(log(8)) + 2 * sqrt(log(8) * 7), rel=ROUNDING)
        paper = bounds.meta_small(**GIVEN, learner_loss=7.0, experts=8, tuning="paper")
        assert paper == pytest.approx(8 * sqrt(0.5 * (2 + log(8)) * 7), rel=ROUNDING)
        learning = 2 + 4 * log(2)
        by_variation = 4 * sqrt(log(8) * (6 + 9 * learning)) + 4 * log(8)
        by_loss = 2 * log(8) + 12 * sqrt(learning * log(8)) + 4 * sqrt(0.5 * log(8) * 7)
        given = {**GIVEN, "experts": 8}
        assert bounds.meta_best(**given, variation=6.0, learner_loss=1e9) == pytest.approx(
            by_variation, rel=ROUNDING
        )
        assert bounds.meta_best(**given, variation=1e9, learner_loss=7.0) == pytest.approx(
            by_loss, rel=ROUNDING
        )

    def test_the_paper_of_sword_best_by_hand(self):
        """Its two forms, each where the other is far larger.

        G = 3 is beyond its claim about optimism, which is said.
        """
        lam, given = log(8), {**GIVEN, "experts": 8, "tuning": "paper"}
        eps = min(1 / (sqrt(8) * 2), sqrt((2 + lam) / (4 * (2 * 6 + log(2)))))
        by_variation = (2 + lam) / eps + eps * 4 * (2 * 6 + log(2) + 9)
        by_loss = (
            2 * sqrt(8) * 2 * (2 + lam)
            + 4 * sqrt((2 + lam) * log(2))
            + 8 * sqrt(0.5 * (2 + lam) * 7)
        )
        with pytest.warns(
            UserWarning,
            match=r"bounds.meta_best\(tuning='paper'\).*false above 0.335; gradient_bound=3\.",
        ):
            assert bounds.meta_best(**given, variation=6.0, learner_loss=1e9) == pytest.approx(
                by_variation, rel=ROUNDING
            )
        with pytest.warns(UserWarning, match="learned optimism"):
            assert bounds.meta_best(**given, variation=1e9, learner_loss=7.0) == pytest.approx(
                by_loss, rel=ROUNDING
            )

    @pytest.mark.parametrize(("gradient_bound", "said"), [(0.25, 0), (0.2501, 1)])
    def test_the_claim_about_optimism_is_warned_about_beyond_a_quarter(self, gradient_bound, said):
        given = {
            "diameter": 2.0,
            "gradient_bound": gradient_bound,
            "smoothness": 0.5,
            "path_length": 0.0,
            "experts": 2,
        }
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            bounds.sword_best(
                **given, comparator_loss=1.0, variation=1.0, horizon=100, tuning="paper"
            )
        assert len(heard) == said

    def test_the_paper_at_its_own_rate(self):
        eps = min(1 / (sqrt(8) * 2), sqrt((2 + log(8)) / (2 * 4 * 6)))
        expected = (2 + log(8)) / eps + eps * 4 * (2 * 6 + 9)
        found = bounds.meta_var(**GIVEN, variation=6.0, experts=8, tuning="paper")
        assert found == pytest.approx(expected, rel=ROUNDING)

    @pytest.mark.parametrize("tuning", ["safe", "paper"])
    def test_the_whole_is_the_meta_and_the_best_expert(self, tuning):
        """Sword_var's bound is its meta's and that of experts, whose form is that of the pool's
        best step.
        """
        whole = bounds.sword_var(**GIVEN, path_length=3.0, variation=6.0, experts=8, tuning=tuning)
        meta = bounds.meta_var(**GIVEN, variation=6.0, experts=8, tuning=tuning)
        experts = bounds.sword_var(
            **GIVEN, path_length=3.0, variation=6.0, experts=1, tuning=tuning
        )
        alone = bounds.meta_var(**GIVEN, variation=6.0, experts=1, tuning=tuning)
        assert whole - meta == pytest.approx(experts - alone, rel=ROUNDING)
