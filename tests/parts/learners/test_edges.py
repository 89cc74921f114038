"""Numbers at the ends of what a double can hold: refused in words, never with a bare
OverflowError, never ignored.
"""

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
    with pytest.raises(
        ValueError, match=r"SwordSmall\(horizon=10, gradient_bound=1e\+155, smoothness=1.0\) leaves"
    ):
        make(sp.SwordSmall, gradient_bound=1e155)


@pytest.mark.parametrize("size", [1e154, 1e155])
@pytest.mark.parametrize("kind", [*SWORDS, sp.SwordPlusPlus])
def test_swords_refuse_gradients_whose_squares_overflow_when_they_are_made(kind, size):
    with pytest.raises(ValueError, match=REFUSED):
        make(kind, gradient_bound=size)


def test_a_gradient_bound_short_of_that_is_played():
    for kind in (*SWORDS, sp.SwordPlusPlus):
        make(kind, gradient_bound=1e150).observe(sp.SquaredLoss([0.5, 0.5], 1.0))


FIELD = [sp.AderTrueLosses, sp.MildOGD, sp.PBGD, sp.SwordPlusPlus]


@pytest.mark.parametrize("kind", FIELD)
def test_the_rest_of_the_field_refuses_horizons_beyond_doubles(kind):
    more = {"smoothness": 1.0} if kind is sp.SwordPlusPlus else {}
    with pytest.raises(ValueError, match=REFUSED):
        kind(BALL, horizon=10**400, gradient_bound=1.0, **more)


def test_restarts_refuse_them_too():
    with pytest.raises(ValueError, match=REFUSED):
        sp.RestartedOGD(BALL, horizon=10**400, gradient_bound=1.0, function_variation=1.0)


@pytest.mark.parametrize("kind", [sp.MildOGD, sp.MetaGrad])
@pytest.mark.parametrize("size", [1e155, 1e-170])
def test_gradient_bounds_without_a_square_are_refused(kind, size):
    with pytest.raises(
        ValueError, match=r"gradient_bound must lie between 1e-100 and 1e\+100, got"
    ):
        kind(BALL, horizon=10, gradient_bound=size)


@pytest.mark.parametrize(
    ("bound", "given"),
    [
        (sp.bounds.ader_true_losses, {"diameter": 1.0, "gradient_bound": 1.0, "path_length": 1.0}),
        (
            sp.bounds.restarted_ogd,
            {"diameter": 1.0, "gradient_bound": 1.0, "function_variation": 1.0, "every": 5},
        ),
        (sp.bounds.squint, {"prior": 0.5, "squares": 1.0}),
        (sp.bounds.ada_normal_hedge, {"prior": 0.5, "magnitude": 1.0}),
        (sp.bounds.adapt_ml_prod, {"prior": 0.5, "experts": 3, "squares": 1.0}),
    ],
)
def test_bounds_of_the_field_refuse_horizons_beyond_doubles(bound, given):
    with pytest.raises(ValueError, match=REFUSED):
        bound(horizon=10**400, **given)


@pytest.mark.parametrize(
    "changes",
    [
        {"horizon": 10**400},
        {"gradient_bound": 1e154},
        {"gradient_bound": 1e155},
        {"gradient_bound": 1e-200},
    ],
)
def test_ader_refuses_what_overflows(changes):
    with pytest.raises(ValueError, match=REFUSED):
        sp.Ader(BALL, **({"horizon": 10, "gradient_bound": 1.0} | changes))


@pytest.mark.parametrize(
    ("bound", "given"),
    [
        (sp.bounds.ogd, {"step_size": 1.0, "horizon": 10}),
        (sp.bounds.oegd, {"step_size": 0.1, "variation": 1.0, "smoothness": 1.0}),
        (sp.bounds.sword_var, {"variation": 1.0, "smoothness": 1.0, "experts": 3}),
        (sp.bounds.sword_plus_plus, {"variation": 1.0, "smoothness": 1.0, "experts": 3}),
        (
            sp.bounds.sword_best,
            {"variation": 1.0, "comparator_loss": 1.0, "smoothness": 1.0, "experts": 3},
        ),
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
    with pytest.raises(
        ValueError, match=r"their squares vanish.*Multiply the losses by a constant"
    ):
        learner.observe(sp.SquaredLoss([size, 0.0], 1.0))
    assert learner.rounds == 0
    learner.observe(sp.WeightedLoss(sp.SquaredLoss([size, 0.0], 1.0), 1e100))  # the remedy
    assert learner.decision[0] > 0


@pytest.mark.parametrize("loss", ["squared", "huber"])
def test_nor_does_the_engine_take_them_for_nothing(loss):
    """Rows of 1e-170: the engine declines, the readable learner refuses in words.

    Rows of zeros are played.
    """
    stream = sp.LinearStream([[1e-170, 0.0]] * 3, [1.0] * 3, loss)
    with pytest.raises(ValueError, match="their squares vanish"):
        sp.play(sp.Sword(BALL), stream)
    with pytest.raises(sp.engine.NotCompilable, match="so small that their squares vanish"):
        sp.play(sp.Sword(BALL), stream, engine="compiled")
    assert (
        sp.play(
            sp.Sword(BALL), sp.LinearStream([[0.0, 0.0]] * 3, [1.0] * 3, loss), engine="compiled"
        ).rounds
        == 3
    )


def test_short_gradients_among_others_are_no_trouble():
    learner = sp.Sword(BALL)
    for features in ([1.0, 0.0], [1e-170, 0.0], [0.0, 0.0]):
        learner.observe(sp.SquaredLoss(features, 1.0))
    assert learner.rounds == 3
