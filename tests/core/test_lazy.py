"""Packages import their modules on first use, and agree with what type checkers read."""

import ast
import importlib
import subprocess
import sys

import pytest

from swordplay.core.lazy import lazy_attributes

PACKAGES = [f"swordplay.parts.{name}" for name in ("experts", "learners", "metas", "streams")]


def imports_for_type_checkers(package):
    """Module and name of each import in a package's ``__init__.py`` below ``if TYPE_CHECKING``."""
    with open(package.__file__, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    return [
        (statement.module, alias.name) for statement in branch.body for alias in statement.names
    ]


@pytest.mark.parametrize("name", PACKAGES)
def test_attributes_are_those_that_type_checkers_read(name):
    package = importlib.import_module(name)
    found = imports_for_type_checkers(package)
    assert sorted(attribute for _, attribute in found) == sorted(package.__all__)
    assert set(package.__all__) <= set(dir(package))
    for module, attribute in found:
        if module == name:
            expected = importlib.import_module(f"{name}.{attribute}")
        else:
            expected = getattr(importlib.import_module(module), attribute)
        assert getattr(package, attribute) is expected
        assert package.__getattr__(attribute) is expected


@pytest.mark.parametrize("name", PACKAGES)
def test_an_unknown_attribute_is_refused_by_name(name):
    package = importlib.import_module(name)
    with pytest.raises(AttributeError, match=f"'{name}' has no attribute 'swrod'"):
        package.swrod  # noqa: B018


def test_a_loaded_attribute_is_kept_in_the_package():
    get, names = lazy_attributes("swordplay.parts.streams", {"drift": "", "linear": "LinearStream"})
    assert get("LinearStream") is vars(sys.modules["swordplay.parts.streams"])["LinearStream"]
    assert {"LinearStream", "drift"} <= set(names())


def test_importing_one_learner_does_not_load_the_others():
    code = (
        "import sys\n"
        "from swordplay.parts.learners import Sword\n"
        "print(*(name for name in sys.modules if name.startswith('swordplay.')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    assert "swordplay.parts.learners.sword" in loaded
    others = ("learners.ader", "learners.sword_plus_plus", "metas.other_metas", "experts.newton")
    assert not {f"swordplay.parts.{name}" for name in others} & set(loaded)
    assert "swordplay.core.checkpoint" not in loaded
