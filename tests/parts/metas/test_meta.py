"""Priors, and weights that agree with their expected regrets."""

import numpy as np
import pytest

from swordplay import metas
from swordplay.parts.metas.meta import solve_self_consistent
from tolerances import WEIGHT_SUM


@pytest.mark.parametrize("prior", [metas.uniform, metas.telescoping, metas.telescoping_with_tail])
@pytest.mark.parametrize("experts", [1, 2, 3, 17])
def test_priors_are_probabilities(prior, experts):
    values = prior(experts)
    assert values.shape == (experts,)
    assert (values > 0).all()
    assert values.sum() == pytest.approx(1.0, abs=WEIGHT_SUM)


def test_priors_are_their_formulas():
    np.testing.assert_allclose(metas.telescoping(3), (4 / 3) / np.array([2.0, 6.0, 12.0]))
    np.testing.assert_allclose(metas.telescoping_with_tail(4), [1 / 2, 1 / 6, 1 / 12, 1 / 4])


def test_self_consistent_weights_agree_with_their_expected_regrets():
    optimism = np.array([0.3, -1.0, 2.0])
    p = solve_self_consistent(optimism, lambda expected: np.exp(expected) / np.exp(expected).sum())
    hoped = p @ optimism - optimism
    np.testing.assert_allclose(p, np.exp(hoped) / np.exp(hoped).sum(), rtol=1e-12)
