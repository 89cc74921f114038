"""No forecaster can ruin the aggregator: within 1.1 of the best single one on every prefix of
2,000 rows or more.
"""

import numpy as np
import pytest

from swordplay.estimators.forecast_mixture import ForecastMixture
from swordplay.sklearn import SwordAggregator

ROWS, SHORTEST, MOST = 6000, 2000, 1.1


def wild(rng, truth, good):
    return [truth + rng.normal(size=ROWS) for _ in range(10)] + [1e6 * rng.normal(size=ROWS)]


def all_wild(rng, truth, good):
    return [10.0 ** rng.integers(0, 9) * rng.normal(size=ROWS) for _ in range(11)]


def wild_now_and_then(rng, truth, good):
    spikes = [rng.random(ROWS) < 0.003 for _ in range(11)]
    return [
        np.where(spike, 1e7 * rng.normal(size=ROWS), truth + 0.28 * rng.normal(size=ROWS))
        for spike in spikes
    ]


def mirrored(rng, truth, good):
    return [2 * good - truth + 1e3 * k * (-1) ** np.arange(ROWS) for k in range(1, 12)]


def constants(rng, truth, good):
    return [np.full(ROWS, 10.0**k) for k in range(-3, 8)]


def wrong_at_first(rng, truth, good):
    return [
        np.where(np.arange(ROWS) < 50, 1e9, truth + 0.35 * rng.normal(size=ROWS)) for _ in range(11)
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "others", [wild, all_wild, wild_now_and_then, mirrored, constants, wrong_at_first]
)
def test_within_a_tenth_of_the_best(others, seed):
    """From the second row on: nobody can tell in the first one that a majority lies."""
    rng = np.random.default_rng(seed)
    truth = 0.1 * rng.normal(size=ROWS).cumsum() + 3 * np.sin(np.arange(ROWS) / 50)
    good = truth + 0.3 * rng.normal(size=ROWS)
    forecasts = np.column_stack([good, *others(rng, truth, good)])
    said = SwordAggregator().predict_then_learn(forecasts, truth)
    ours = np.cumsum((said[1:] - truth[1:]) ** 2)
    best = np.cumsum((forecasts[1:] - truth[1:, None]) ** 2, axis=0).min(axis=1)
    assert np.sqrt(ours / best)[SHORTEST:].max() <= MOST


def test_one_liar_in_the_first_row_does_no_harm():
    forecasts = np.array([[1.0, 2.0, 1e9], [1.0, 2.0, 1e9]])
    assert SwordAggregator().predict_then_learn(forecasts, np.array([1.5, 1.5]))[0] == 2.0


def test_weights_are_those_of_the_answer():
    rng = np.random.default_rng(5)
    truth = rng.normal(size=300)
    forecasts = truth[:, None] + rng.normal(size=(300, 4))
    model = SwordAggregator().fit(forecasts, truth)
    assert (model.weights_ >= 0).all()
    assert model.weights_.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(
        model.predict(0.1 * forecasts), 0.1 * forecasts @ model.weights_, atol=1e-9
    )


def test_rows_and_batches_are_the_same():
    rng = np.random.default_rng(6)
    truth = rng.normal(size=80)
    forecasts = truth[:, None] + rng.normal(size=(80, 3))
    whole, single = SwordAggregator(), SwordAggregator()
    together = whole.predict_then_learn(forecasts, truth)
    alone = [
        single.predict_then_learn(forecasts[t : t + 1], truth[t : t + 1])[0] for t in range(80)
    ]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("range", lambda old: np.append(old, 1.0)),
        ("range", lambda old: old * np.nan),
        ("numbers", lambda old: old + 15.0),
        ("numbers", lambda old: old[1:]),
    ],
)
def test_a_damaged_guard_is_refused(name, change):
    model = ForecastMixture(3)
    state = model.state()
    state[f"guard.{name}"] = change(state[f"guard.{name}"])
    with pytest.raises(ValueError, match="guard"):
        model.load_state(state)


def test_losses_are_counted_by_hand():
    """21 losses of 1 each, then one of 1e12, which counts as 1e4 of the best.

    All of them fade by 1 - 1/8000 a round.
    """
    from swordplay.engine.second_order.mixing import robust_mix

    said, numbers = np.ones((22, 2)), np.zeros(5)
    said[21, 1] = 1e6
    robust_mix(
        said, np.zeros(22), np.empty(0), np.ones(22), 0.5, numbers, np.empty(2), np.empty(22)
    )
    fade = 1.0 - 1.0 / 8000.0
    rounds = (1.0 - fade**22) / (1.0 - fade)
    np.testing.assert_allclose(numbers[2:], [rounds, rounds - 1.0 + 1e4, rounds])
