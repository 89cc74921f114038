"""Rooms can still be imported under the names that they had before they were grouped into
houses.
"""

import importlib
import pickle
import sys

import pytest

import swordplay as sp
from swordplay.base.earlier import HOUSES, PLACES, present_name
from swordplay.sklearn import SwordRegressor


@pytest.mark.parametrize("earlier", sorted(PLACES))
def test_an_earlier_name_is_the_same_module(earlier):
    now = importlib.import_module(PLACES[earlier])
    assert importlib.import_module(earlier) is now
    assert now.__name__ == PLACES[earlier]
    assert now.__spec__.name == PLACES[earlier]


def test_modules_within_a_room_too():
    from swordplay.streams import paper
    from swordplay.streams.drift import jumps

    assert paper is sys.modules["swordplay.parts.streams.paper"] is sp.streams.paper
    assert jumps is sys.modules["swordplay.parts.streams.drift"].jumps


def test_what_never_was_is_not_found():
    assert present_name("swordplay.base") is None
    assert present_name("swordplay.parts.streams") is None
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("swordplay.streams.nowhere")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("swordplay.nowhere")


def test_every_room_of_a_house_that_was_grouped_is_listed_once():
    rooms = [room for house in HOUSES.values() for room in house]
    assert len(rooms) == len(set(rooms)) == len(PLACES) - 1 == 27  # a contest is a comparison now


def test_pickles_of_before_find_their_classes():
    text = pickle.dumps(sp.Ball(2), protocol=0).replace(
        b"swordplay.parts.domains", b"swordplay.domains"
    )
    assert pickle.loads(text).radius == 1.0
    assert type(pickle.loads(pickle.dumps(SwordRegressor()))) is SwordRegressor
