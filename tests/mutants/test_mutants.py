"""Every mutant is noticed by the tests that it names, and those tests pass without it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mutants.mutants import MUTANTS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "swordplay"
FAILED, PASSED = 1, 0
"""What pytest exits with if a test failed, and if none did; anything else is an accident that proves nothing."""


def outcome(package: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run tests in a process that finds the package there."""
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist", "-m", "not deep"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(package.parent),
        "HYPOTHESIS_PROFILE": "fixed",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    environment.pop("PYTEST_ADDOPTS", None)
    command = [sys.executable, "-m", "pytest", *options, *tests]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)


def copied(folder: Path) -> Path:
    """The package somewhere else, without what the interpreter and numba left beside it."""
    return shutil.copytree(SOURCE, folder / "swordplay", ignore=shutil.ignore_patterns("__pycache__"))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_still_says_what_it_changes(mutant):
    text = (SOURCE / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.text) == 1, f"{mutant.file} has {text.count(mutant.text)} times {mutant.text!r}"
    assert mutant.instead != mutant.text
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert f"def {name}" in (ROOT / path).read_text(encoding="utf-8")


def test_there_are_many_and_no_two_alike():
    assert len(MUTANTS) >= 53
    assert len({(mutant.name, mutant.tests) for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.deep
@pytest.mark.parametrize("tests", sorted({mutant.tests for mutant in MUTANTS}), ids=" ".join)
def test_the_tests_pass_on_a_copy_without_a_mutant(tests, tmp_path):
    done = outcome(copied(tmp_path), tests)
    assert done.returncode == PASSED, done.stdout[-4000:]


@pytest.mark.deep
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_no_mutant_survives(mutant, tmp_path):
    package = copied(tmp_path)
    file = package / mutant.file
    file.write_text(file.read_text(encoding="utf-8").replace(mutant.text, mutant.instead), encoding="utf-8")
    done = outcome(package, mutant.tests)
    assert done.returncode == FAILED, f"{mutant.name} survived:\n{done.stdout[-4000:]}"
