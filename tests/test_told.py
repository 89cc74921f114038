"""JSON texts of saved states against the shape that they must have."""

import json

import pytest

from swordplay.core.state import ROWS, Range
from swordplay.core.told import Either, fits, read

SHARE = Range(0.0, 1.0)


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (3, int),
        (None, None),
        (True, bool),
        (0, ROWS),
        (1, SHARE),
        (0.5, SHARE),
        ([], [str]),
        (["a", "b"], [str]),
        ([1, "a"], (int, str)),
        ({}, {str: int}),
        ({"a": 1}, {str: int}),
        (None, Either((None, [str]))),
        (["a"], Either((None, [str]))),
    ],
)
def test_what_fits(value, shape):
    assert fits(value, shape)
    assert read("x", json.dumps(value), shape) == value


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (3.0, int),
        (True, int),
        (0, None),
        (1.0, ROWS),
        (-1, ROWS),
        (10**300, ROWS),
        (True, SHARE),
        (1.1, SHARE),
        (float("nan"), SHARE),
        ([], SHARE),
        ([[]], SHARE),
        ("0.5", SHARE),
        ("ab", [str]),
        (["a", 1], [str]),
        ([1], (int, str)),
        ([1, "a", "a"], (int, str)),
        ({"a": "1"}, {str: int}),
        ([["a", 1]], {str: int}),
        (0, Either((None, [str]))),
    ],
)
def test_what_does_not(value, shape):
    assert not fits(value, shape)
    with pytest.raises(
        ValueError,
        match=r"state\['x'\] holds something else than it should, .*The state is damaged",
    ):
        read("x", json.dumps(value), shape)


@pytest.mark.parametrize("text", ["", "[", "x", 3, "[" * 100_000])
def test_what_is_no_json(text):
    with pytest.raises(ValueError, match=r"state\['x'\] must be JSON"):
        read("x", text, [])
