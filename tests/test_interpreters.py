"""Interpreters are found on PATH and in pyenv's folder.

Files that only look like one are left out.
"""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import interpreters

THIS = sys.version_info[:2]
ROOT = Path(__file__).parents[1]
QUICK = (ROOT / "tests" / "quick.txt").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def path(tmp_path, monkeypatch):
    """An empty folder that is the whole PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def script(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def test_an_interpreter_on_path_is_found_under_its_real_version(path):
    link = path / "python3.99"
    link.symlink_to(sys.executable)
    assert interpreters.others((3, 0)) == {THIS: link}
    assert interpreters.others(THIS) == {}


def test_what_does_not_run_is_left_out(path):
    script(path / "python3.12", "echo 'pyenv: python3.12: command not found' >&2; exit 127")
    script(path / "python3.13", "echo nothing of the kind")
    (path / "python3.14").write_bytes(b"\x7fELF")
    (path / "python3.15").symlink_to(path / "missing")
    script(path / "python3.12-config", "echo 3 12")
    assert interpreters.others((3, 0)) == {}


def test_versions_below_the_lowest_are_left_out(path):
    script(path / "python3.10", "echo 3 10")
    assert interpreters.others((3, 0)) == {}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">={}.{}".format(*interpreters.LOWEST)


def test_those_of_pyenv_are_found_behind_a_shim_that_fails(path, tmp_path):
    script(path / f"python3.{THIS[1]}", "exit 127")
    script(path / "pyenv", f"echo {tmp_path}/pyenv")
    installed = tmp_path / "pyenv" / "versions" / "some" / "bin" / "python3"
    installed.parent.mkdir(parents=True)
    installed.symlink_to(sys.executable)
    assert interpreters.others((3, 0)) == {THIS: installed}


def test_the_program_prints_all_but_its_own_version(path):
    script(path / "python3.98", "echo 3 98")
    (path / "python3").symlink_to(sys.executable)
    (path / f"python3.{THIS[1]}").symlink_to(sys.executable)
    done = subprocess.run(
        [sys.executable, interpreters.__file__],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=os.environ,
    )
    assert done.stdout == f"3.98 {path}/python3.98\n"


def test_the_quick_tests_are_files_that_exist():
    assert list(dict.fromkeys(QUICK)) == QUICK
    assert [name for name in QUICK if not (ROOT / name).is_file()] == []


def test_the_quick_tests_cover_every_package():
    """Spark is left out: its package is larger than all the others together."""
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in QUICK)
    packages = {file.parent.name for file in (ROOT / "src" / "swordplay").glob("*/__init__.py")} - {
        "spark"
    }
    assert {
        package
        for package in packages
        if not re.search(rf"swordplay\.{package}\b|from swordplay import .*\b{package}\b", text)
    } == set()
