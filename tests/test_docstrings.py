"""The examples in docstrings give the results that they show."""

import doctest
import importlib
import pkgutil

import pytest

import swordplay

MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(swordplay.__path__, "swordplay.")
    if not name.endswith("__main__")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(importlib.import_module(name), optionflags=flags).failed == 0
