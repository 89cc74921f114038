"""Every mutant is noticed by the tests that it names, and those tests pass without it.

Each mutant lives in a copy of the package, and its tests run in a process of their own that finds
this copy first. The processes are forks of one that has imported pytest, numpy and hypothesis
already, which is most of what a small test costs.
"""

import multiprocessing
import os
import shutil
import sys
import traceback
from pathlib import Path

import pytest

from mutants.mutants import MUTANTS

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "swordplay"
PRELOADED = ["pytest", "numpy", "hypothesis.extra.numpy"]
OPTIONS = ["-q", "-x", "-p", "no:cacheprovider", "-m", "not deep"]
PRELOADED_IS_FINE = ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
FAILED, PASSED, ACCIDENT = 1, 0, 99
"""What pytest exits with if a test failed, and if none did.

Anything else is an accident that proves nothing.
"""
PATIENCE = 600.0
"""Seconds that the tests of a mutant may take."""


def run(folder: str, tests: tuple[str, ...], log: str) -> None:
    """Run tests in this process with the package that lies in the folder, and exit as pytest
    would.
    """
    with open(log, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ |= {"PYTHONPATH": folder, "HYPOTHESIS_PROFILE": "unshrunk", "PYTEST_ADDOPTS": ""}
    # an exception outside of the tests would otherwise end the process with 1, like a test that
    # failed
    code = ACCIDENT
    try:
        assert "swordplay" not in sys.modules
        sys.path.insert(0, folder)
        os.chdir(ROOT)
        code = int(pytest.main([*OPTIONS, *PRELOADED_IS_FINE, *tests]))
        import swordplay  # not yet imported if the tests only start processes

        assert Path(swordplay.__file__ or "").is_relative_to(folder)
    except BaseException:
        code = ACCIDENT
        traceback.print_exc()
    sys.stdout.flush()
    os._exit(code)


def outcome(folder: Path, tests: tuple[str, ...]) -> tuple[int | None, str]:
    """What pytest exits with, and the end of what it says."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(PRELOADED)
    process = processes.Process(target=run, args=(str(folder), tests, str(folder / "log")))
    process.start()
    process.join(PATIENCE)
    if process.exitcode is None:
        process.kill()
        process.join()
    return process.exitcode, (folder / "log").read_text(encoding="utf-8")[-4000:]


def copied(folder: Path) -> Path:
    """The package somewhere else, with its bytecode and machine code: kernels that a mutant
    reaches have another digest.
    """
    return shutil.copytree(SOURCE, folder / "swordplay")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_still_says_what_it_changes(mutant):
    text = (SOURCE / mutant.file).read_text(encoding="utf-8")
    count = len(mutant.places(text))
    assert count == 1, f"{mutant.file} has {count} times {mutant.text!r}"
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
    copied(tmp_path)
    code, said = outcome(tmp_path, tests)
    assert code == PASSED, said


@pytest.mark.deep
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_no_mutant_survives(mutant, tmp_path):
    file = copied(tmp_path) / mutant.file
    file.write_text(mutant.applied(file.read_text(encoding="utf-8")), encoding="utf-8")
    code, said = outcome(tmp_path, mutant.tests)
    assert code == FAILED, f"{mutant.name} survived:\n{said}"
