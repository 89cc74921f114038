"""What is true of all commands: help that is quick, completion, exit codes that are told."""

import os
import subprocess
import sys

import pytest

from swordplay.cli import run
from swordplay.cli.commands import COMMANDS, program


@pytest.mark.parametrize(
    "arguments", [[], ["track"], ["predict"], ["learn"], ["inspect"], ["completion"]]
)
def test_help_imports_nothing_heavy(arguments):
    code = f"""
import sys
from swordplay.cli import run
run([*{arguments!r}, "--help"])
heavy = {{"numba", "matplotlib", "scipy", "rich", "pyarrow", "altair", "bokeh"}} & set(sys.modules)
heavy |= {{"swordplay.report"}} & set(sys.modules)
sys.exit(f"imported {{sorted(heavy)}}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_fits_and_examples(capsys, name):
    assert run([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert "Usage: swordplay" in text
    assert "Examples:" in text
    assert max(map(len, text.splitlines())) <= 100
    assert COMMANDS[name].help in program.get_help(
        program.make_context("swordplay", [], resilient_parsing=True)
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(capsys, shell):
    assert run(["completion", shell]) == 0
    assert "_SWORDPLAY_COMPLETE" in capsys.readouterr().out


def test_completion_of_a_shell_that_is_none(capsys):
    assert run(["completion", "tcsh"]) == 2
    assert "'tcsh' is not one of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "offered"), [("swordplay tr", "track"), ("swordplay track --ta", "--target")]
)
def test_what_is_typed_is_completed(typed, offered):
    environment = {**os.environ, "_SWORDPLAY_COMPLETE": "bash_complete", "COMP_WORDS": typed}
    environment["COMP_CWORD"] = str(len(typed.split()) - 1)
    done = subprocess.run(
        [sys.executable, "-m", "swordplay"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"plain,{offered}" in done.stdout.splitlines()
