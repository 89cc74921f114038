"""Numbers at the ends of what a double can hold: refused in words, never with a bare OverflowError, never ignored."""

import pytest

import swordplay as sp

BALL = sp.Ball(2)
SWORDS = [sp.SwordVar, sp.SwordSmall, sp.SwordBest]
REFUSED = r"leaves the range of doubles.*Choose other units"


def make(kind, **changes):
    settings = {"horizon": 10, "gradient_bound": 1.0, "smoothness": 1.0} | changes
    return kind(BALL, **settings)


@pytest.mark.parametrize("changes", [{"horizon": 10**400}, {"smoothness": 1e-320}])
@pytest.mark.parametrize("kind", SWORDS)
def test_swords_refuse_what_overflows(kind, changes):
    with pytest.raises(ValueError, match=REFUSED):
        make(kind, **changes)


def test_the_refusal_names_the_learner_and_the_numbers():
    with pytest.raises(ValueError, match=r"SwordSmall\(horizon=10, gradient_bound=1e\+155, smoothness=1.0\) leaves"):
        make(sp.SwordSmall, gradient_bound=1e155)


@pytest.mark.parametrize("changes", [{"horizon": 10**400}, {"gradient_bound": 1e155}, {"gradient_bound": 1e-200}])
def test_ader_refuses_what_overflows(changes):
    with pytest.raises(ValueError, match=REFUSED):
        sp.Ader(BALL, **({"horizon": 10, "gradient_bound": 1.0} | changes))


@pytest.mark.parametrize(
    ("bound", "given"),
    [
        (sp.bounds.ogd, {"step_size": 1.0, "horizon": 10}),
        (sp.bounds.oegd, {"step_size": 0.1, "variation": 1.0, "smoothness": 1.0}),
        (sp.bounds.sword_var, {"variation": 1.0, "smoothness": 1.0, "experts": 3}),
        (sp.bounds.sword_best, {"variation": 1.0, "comparator_loss": 1.0, "smoothness": 1.0, "experts": 3}),
    ],
)
def test_bounds_refuse_what_overflows(bound, given):
    with pytest.raises(ValueError, match=REFUSED):
        bound(diameter=1.0, gradient_bound=1e155, path_length=1.0, **given)


def test_horizons_paths_pools_and_rates():
    for refused in (
        lambda: sp.bounds.ader(diameter=1.0, gradient_bound=1.0, path_length=1.0, horizon=10**400),
        lambda: sp.bounds.ader(diameter=1.0, gradient_bound=1.0, path_length=1e308, horizon=10),
        lambda: sp.pools.variation(diameter=1e-160, gradient_bound=1.0, smoothness=1.0, horizon=10),
        lambda: sp.rates.paper_variation(diameter=1e200, smoothness=1.0, experts=2, variation=1.0),
    ):
        with pytest.raises(ValueError, match=REFUSED):
            refused()


@pytest.mark.parametrize("size", [1e-170, 1e-155])
def test_gradients_whose_squares_vanish_are_refused_and_change_nothing(size):
    learner = sp.Sword(BALL)
    with pytest.raises(ValueError, match=r"their squares vanish.*Multiply the losses by a constant"):
        learner.observe(sp.SquaredLoss([size, 0.0], 1.0))
    assert learner.rounds == 0
    learner.observe(sp.WeightedLoss(sp.SquaredLoss([size, 0.0], 1.0), 1e100))  # the remedy
    assert learner.decision[0] > 0


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_nor_does_the_engine_take_them_for_nothing(loss):
    """Rows of 1e-170: the engine declines, the readable learner refuses in words; rows of zeros are played."""
    stream = sp.LinearStream([[1e-170, 0.0]] * 3, [1.0] * 3, loss)
    with pytest.raises(ValueError, match="their squares vanish"):
        sp.play(sp.Sword(BALL), stream)
    with pytest.raises(sp.engine.NotCompilable, match="so small that their squares vanish"):
        sp.play(sp.Sword(BALL), stream, engine="compiled")
    assert sp.play(sp.Sword(BALL), sp.LinearStream([[0.0, 0.0]] * 3, [1.0] * 3, loss), engine="compiled").rounds == 3


def test_short_gradients_among_others_are_no_trouble():
    learner = sp.Sword(BALL)
    for features in ([1.0, 0.0], [1e-170, 0.0], [0.0, 0.0]):
        learner.observe(sp.SquaredLoss(features, 1.0))
    assert learner.rounds == 3
