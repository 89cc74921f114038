"""Every bound checks its arguments and assumptions in words, and shows its signature."""

import inspect
import math
import typing
import warnings

import pytest

from swordplay import bounds
from swordplay.parts.learners.assumptions import Assumptions, DeclaredConstants, LossExtremes
from swordplay.theory.bounds.theorem import (
    NonNegative,
    NonNegativeInt,
    Positive,
    PositiveInt,
    Tuning,
    theorem,
)

WIDE = {"diameter": 2.0, "path_length": 3.0, "gradient_bound": 3.0, "smoothness": 0.5}
BOUNDS = [getattr(bounds, name) for name in bounds.__all__ if name != "Tuning"]


@theorem
def example(
    *,
    diameter: Positive,
    path_length: NonNegative = 0.0,
    experts: PositiveInt = 1,
    switches: NonNegativeInt = 0,
    variation: NonNegative | None = None,
    tuning: Tuning = "safe",
    anything: typing.Any = None,
) -> tuple:
    """An example."""
    return diameter, path_length, experts, switches, variation, tuning, anything


def test_arguments_become_plain_numbers():
    given = example(diameter=3, experts=2.0, switches=True + 1, variation=None, anything="x")
    assert given == (3.0, 0.0, 2, 2, None, "safe", "x")
    assert [type(value) for value in given[:4]] == [float, float, int, int]


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        ({"diameter": 0.0}, ValueError, "diameter must be greater than 0, got 0.0"),
        ({"diameter": math.nan}, ValueError, "diameter must be finite, got nan"),
        ({"diameter": None}, TypeError, "diameter must be a real number, got None"),
        ({"path_length": -1.0}, ValueError, "path_length must be at least 0, got -1.0"),
        ({"experts": 0}, ValueError, "experts must be at least 1, got 0"),
        ({"experts": 1.5}, TypeError, "experts must be a whole number, got 1.5"),
        ({"switches": -1}, ValueError, "switches must be at least 0, got -1"),
        ({"variation": -2}, ValueError, "variation must be at least 0, got -2.0"),
        ({"variation": "2"}, TypeError, "variation must be a real number, got '2'"),
        ({"tuning": "best"}, ValueError, "tuning must be 'safe' or 'paper', got 'best'"),
        ({"tuning": ["safe"]}, ValueError, "tuning must be 'safe' or 'paper'"),
        ({"diametre": 2.0}, TypeError, r"example\(\) got an unexpected keyword argument"),
    ],
)
def test_bad_arguments_are_refused_by_name(changes, kind, words):
    with pytest.raises(kind, match=words):
        example(**({"diameter": 1.0} | changes))


def test_missing_and_positional_arguments_are_refused_by_the_name_of_the_bound():
    with pytest.raises(TypeError, match=r"example\(\) missing 1 required"):
        example()
    with pytest.raises(TypeError, match=r"example\(\) takes 0 positional arguments"):
        example(1.0)


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: bound.__name__)
def test_every_bound_shows_and_declares_its_arguments(bound):
    signature = inspect.signature(bound)
    hints = typing.get_type_hints(bound)
    assert set(hints) == {*signature.parameters, "return"}
    for parameter in signature.parameters.values():
        assert parameter.kind is parameter.KEYWORD_ONLY
        if hints[parameter.name] in (float, int):  # without a check this would be a plain type
            assert typing.get_type_hints(bound, include_extras=True)[parameter.name] not in (
                float,
                int,
            )


def test_an_unknown_tuning_is_refused():
    with pytest.raises(ValueError, match="tuning must be 'safe' or 'paper', got 'best'"):
        bounds.sword_var(**WIDE, variation=1.0, experts=2, tuning="best")


def test_overflow_names_the_bound_and_its_numbers():
    with pytest.raises(ValueError, match=r"sword_var\(diameter=2.0, .*leaves the range of doubles"):
        bounds.sword_var(**(WIDE | {"gradient_bound": 1e200}), variation=1.0, experts=2)


@pytest.mark.parametrize(
    ("bound", "given"),
    [
        (bounds.sword_small, {**WIDE, "comparator_loss": 1.0}),
        (bounds.sword_best, {**WIDE, "comparator_loss": 1.0, "variation": 1.0}),
        (
            bounds.meta_best,
            {
                "diameter": 2.0,
                "gradient_bound": 3.0,
                "smoothness": 0.5,
                "variation": 1.0,
                "learner_loss": 1.0,
            },
        ),
    ],
)
def test_warnings_name_the_line_of_the_caller(bound, given):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bound(**given, experts=2, tuning="paper")
    assert {warning.filename for warning in caught} == {__file__}


ONE_INTERVAL = {"diameter": 2.0, "gradient_bound": 4.0, "first": 1, "last": 3}
GAME = {"diameter": 2.0, "gradient_bound": 4.0, "smoothness": 1.0, "experts": 3}
WITH_ASSUMPTIONS = {
    "ogd": {
        "diameter": 2.0,
        "step_size": 0.1,
        "path_length": 1.0,
        "gradient_bound": 4.0,
        "horizon": 3,
    },
    "oegd": {
        "diameter": 2.0,
        "step_size": 0.1,
        "path_length": 1.0,
        "variation": 1.0,
        "smoothness": 1.0,
        "gradient_bound": 4.0,
    },
    "sword_var": {**GAME, "path_length": 1.0, "variation": 1.0},
    "sword_small": {**GAME, "path_length": 1.0, "comparator_loss": 1.0},
    "sword_best": {**GAME, "path_length": 1.0, "variation": 1.0, "comparator_loss": 1.0},
    "sword_plus_plus": {**GAME, "path_length": 1.0, "variation": 1.0},
    "meta_var": {**GAME, "variation": 1.0},
    "meta_small": {**GAME, "learner_loss": 1.0},
    "meta_best": {**GAME, "variation": 1.0, "learner_loss": 1.0},
    "ader": {"diameter": 2.0, "gradient_bound": 4.0, "path_length": 1.0, "horizon": 3},
    "ader_true_losses": {"diameter": 2.0, "gradient_bound": 4.0, "path_length": 1.0, "horizon": 3},
    "optimistic_ogd": {"diameter": 2.0, "path_length": 1.0, "surprise": 1.0},
    "restarted_ogd": {
        "diameter": 2.0,
        "gradient_bound": 4.0,
        "horizon": 3,
        "function_variation": 1.0,
        "every": 2,
    },
    "saol": ONE_INTERVAL,
    "cbce": ONE_INTERVAL,
    "sacs": ONE_INTERVAL,
    "aligator": {"width": 1.0, "last": 3},
}


@pytest.mark.parametrize("name", WITH_ASSUMPTIONS)
def test_bounds_are_refused_if_an_observed_loss_breaks_an_assumption(name):
    bound, broken = (
        getattr(bounds, name),
        Assumptions(DeclaredConstants(gradient_bound=4.0), LossExtremes(3, 5.0, 1.0, 0.0), 3),
    )
    held = Assumptions(DeclaredConstants(gradient_bound=4.0), LossExtremes(3, 3.0, 1.0, 0.0), 3)
    assert bound(**WITH_ASSUMPTIONS[name], assumptions=held) == bound(**WITH_ASSUMPTIONS[name])
    with pytest.raises(
        ValueError, match=rf"bounds.{name} does not hold: gradient_bound=4 was declared"
    ):
        bound(**WITH_ASSUMPTIONS[name], assumptions=broken)


def test_every_bound_with_assumptions_is_in_the_table():
    takes = {
        name
        for name in bounds.__all__
        if "assumptions" in inspect.signature(getattr(bounds, name)).parameters
    }
    assert takes - {"omgd", "metagrad"} == set(WITH_ASSUMPTIONS)
