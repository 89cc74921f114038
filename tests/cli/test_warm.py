"""``swordplay warm``: a folder of machine code that does elsewhere."""

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import swordplay
from swordplay.cli import run, warming
from swordplay.cli.warm import NAMES

COOK = """
import sys
from swordplay.cli import warming
from swordplay.compile.kernel_cache import compile_timer
for name in sys.argv[1:]:
    warming.cook(name)
print(compile_timer.seconds > 0.0, swordplay.__file__) if (swordplay := sys.modules["swordplay"]) else None
"""  # noqa: E501
TRACK = """
import sys
from swordplay.cli import run
from swordplay.compile.kernel_cache import compile_timer
code = run(["track", sys.argv[1], "--target", "y", "--quiet"])
print(code, compile_timer.seconds > 0.0)
"""
NO_HOME = {"HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache"}


def python(code, *arguments, **environment):
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()[-1].split()


def warmed(folder, *names):
    command = [sys.executable, "-m", "swordplay", "warm", *names, "--into", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    return done


def contents(folder):
    return {file: file.stat().st_mtime_ns for file in folder.rglob("*")}


def test_the_names_are_those_of_the_recipes():
    assert set(NAMES) == set(warming.RECIPES)
    for recipe in warming.RECIPES.values():
        assert not recipe.source or (Path(swordplay.__file__).parent / recipe.source).is_file()


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """A folder filled by the command, and another installation beside which nothing can be kept."""
    folder, copy = tmp_path_factory.mktemp("kernels"), tmp_path_factory.mktemp("elsewhere")
    done = warmed(folder, "steps")
    assert "steps" in done.stderr
    assert "2 kernels compiled" in done.stdout
    assert str(folder) in done.stdout
    package = shutil.copytree(
        Path(swordplay.__file__).parent,
        copy / "swordplay",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (package / "engine" / "__pycache__").write_text("no folder can be made here, by root either")
    return folder, copy


def test_a_process_without_a_home_compiles_nothing(shipped):
    folder, copy = shipped
    before = contents(folder)
    compiled, where = python(
        COOK, "steps", **NO_HOME, NUMBA_CACHE_DIR=str(folder), PYTHONPATH=str(copy)
    )
    assert (compiled, where.startswith(str(copy))) == ("False", True)
    assert contents(folder) == before


def test_what_is_there_is_not_compiled_again(shipped):
    assert "everything was there already" in warmed(shipped[0], "steps").stdout


def test_a_folder_that_cannot_be_written_to_is_named(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert run(["warm", "steps", "--into", str(tmp_path / "file" / "folder")]) == 1
    assert "--into" in capsys.readouterr().err


def test_a_recipe_that_fails_is_named_and_is_the_last():
    (found,) = warming.cook_all(["nothing", "steps", "intervals"], 1)
    assert (found.name, found.error) == ("nothing", "KeyError: 'nothing'")
    assert found.seconds > 0.0


def test_a_process_that_ends_without_a_word_is_an_error(monkeypatch):
    silent = [sys.executable, "-c", "import sys; sys.stdin.readline(); sys.exit(3)"]
    popen = subprocess.Popen
    monkeypatch.setattr(
        warming.subprocess, "Popen", lambda command, **pipes: popen(silent, **pipes)
    )
    (found,) = warming.cook_all(["steps"], 2)
    assert (found.name, found.error) == ("steps", "its process ended with code 3")


def test_whoever_stops_early_leaves_no_process(monkeypatch):
    started, popen, before = [], subprocess.Popen, threading.active_count()
    endless = [
        sys.executable,
        "-c",
        "import sys, time; print(input(), flush=True); time.sleep(600)",
    ]

    def start(command, **pipes):
        started.append(popen(endless, **pipes))
        return started[-1]

    monkeypatch.setattr(warming.subprocess, "Popen", start)
    cooking = warming.cook_all(["late", "keys", "games"], 2)
    assert next(cooking).error == ""
    cooking.close()
    assert [process.poll() for process in started] == [-15, -15]
    assert threading.active_count() == before


@pytest.mark.deep
def test_every_kernel_is_compiled(tmp_path):
    """Of all that the package has, one by one: none has to be compiled where the folder is used."""
    warmed(tmp_path)
    kept = {file.name.partition("-")[0] for file in tmp_path.rglob("*.kernel")}
    kernels = {
        f"{source.stem}.{found.group(1)}"
        for source in Path(swordplay.__file__).parent.rglob("*.py")
        for found in re.finditer(
            r"^@kernel\ndef (\w+)", source.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
    assert len(kernels) > 30
    assert kept == kernels


@pytest.mark.deep
@pytest.mark.parametrize("targets", [["1.5", "2.5", "0.5", "7.25"], ["up", "down", "down", "up"]])
def test_a_run_after_it_compiles_nothing(tmp_path, targets):
    table, folder = tmp_path / "table.csv", tmp_path / "kernels"
    table.write_text("x,y\n" + "".join(f"{k % 7},{targets[k % 4]}\n" for k in range(300)))
    warmed(folder, "learn", "intervals", "steps", "curves")
    assert python(TRACK, str(table), **NO_HOME, NUMBA_CACHE_DIR=str(folder)) == ["0", "False"]
