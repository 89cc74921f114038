"""The command: what it prints, what it refuses, and how quickly it gets going."""

import json
import re
import shlex
import subprocess
import sys
from io import StringIO

import pytest
from rich.console import Console

import swordplay
from swordplay.cli import reproduction, run, tables
from swordplay.theory.reproduce import ENTRIES, INSTANCES, Row, horizons, reproduce

SHORT = "20"
COLOURED = re.compile(r"\x1b\[[0-9;]*3[0-8]")


def python(code):
    """A fresh interpreter, because this one has long imported everything."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.fixture
def no_game(monkeypatch):
    """Fail if a game begins."""

    def begun(*args, **kwargs):
        raise AssertionError("the run began before the options were checked")

    monkeypatch.setattr(reproduction, "reproduce", begun)


def test_version(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"swordplay {swordplay.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help(capsys, arguments):
    assert run(arguments) == 0
    assert "reproduce" in capsys.readouterr().out


def test_help_imports_nothing_heavy():
    code = """
import sys
from swordplay.cli import run
run(["reproduce", "--help"])
heavy = {"numba", "matplotlib", "scipy", "rich"} & set(sys.modules)
sys.exit(f"imported {sorted(heavy)}" if heavy else 0)
"""
    done = python(code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_the_extra_the_remedy_is_named(missing):
    done = python(
        f"import sys; sys.modules[{missing!r}] = None; from swordplay.cli import "
        "main; main(['reproduce'])"
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert missing in done.stderr
    assert "pip install 'click>=" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "swordplay", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"swordplay {swordplay.__version__}\n"


def test_json_is_the_rows(capsys):
    assert run(["reproduce", "--rounds", SHORT, "--json", "--quiet"]) == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert captured.err == ""
    assert answer["swordplay"] == swordplay.__version__
    assert [Row(**row) for row in answer["rows"]] == reproduce(horizons(int(SHORT)))


def test_table_names_every_learner_and_what_it_lost(capsys):
    assert run(["reproduce", "--rounds", SHORT]) == 0
    captured = capsys.readouterr()
    for row in reproduce([int(SHORT)]):
        cells = [row.learner, row.regret, row.bound, row.certificate]
        shown = [
            cell if isinstance(cell, str) else "-" if cell is None else tables.number(cell)
            for cell in cells
        ]
        pattern = r"^\s+" + r"\*?\s+".join(re.escape(cell) for cell in shown) + r"\s*$"
        assert re.search(pattern, captured.out, re.MULTILINE), row
    assert captured.err.startswith("Done in ")


@pytest.mark.parametrize("largest", [1000, 100_000, 10_000_000])
def test_tables_fit_in_eighty_columns(largest):
    big = 54_321.0  # OGD's regret at T = 1e7 and the loosest bound have five digits
    rows = [
        Row(
            instance,
            entry.learner,
            entry.tuning,
            T,
            T,
            40,
            big,
            None if entry.tuning == "none" else big,
            big,
        )
        for T in horizons(largest)
        for instance in INSTANCES
        for entry in ENTRIES
    ]
    page = Console(width=80, file=StringIO())
    tables.show(rows, page)
    text = page.file.getvalue()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("54,321") >= 2 * len(ENTRIES) * min(4, len(horizons(largest)))


def test_examples_of_the_help_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = [
        line.split(">")[0]
        for line in reproduction.EXAMPLES.splitlines()
        if line.startswith("  swordplay ")
    ]
    assert len(examples) == 3
    for example in examples:
        words = shlex.split(example)[1:]
        assert run([SHORT if word == "1000" else word for word in words]) == 0, (
            capsys.readouterr().err
        )
    assert (tmp_path / "regret.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--rounds", "9"], "from 10 to"),
        (["--rounds", "-100"], "from 10 to"),
        (["--rounds", "many"], "got 'many'"),
        (["--rounds", "10.5"], "whole number"),
        (["--rounds", "nan"], "whole number"),
        (["--rounds", "inf"], "whole number"),
        (["--rounds", "1e12"], "10000000"),
        (["--figure", "regret.gif"], ".png or .svg"),
        (["--figure", "regret"], ".png or .svg"),
        (["--figure", "missing/regret.png"], "cannot write 'missing/regret.png'"),
        (["--figure", "folder.png"], "cannot write 'folder.png'"),
        (["--speed", "9"], "No such option"),
        (["now"], "unexpected extra argument"),
    ],
)
@pytest.mark.usefixtures("no_game")
def test_bad_options_are_refused_in_two_lines_before_any_game(
    capsys, tmp_path, monkeypatch, options, told
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    assert run(["reproduce", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert told in captured.err
    assert len(captured.err.splitlines()) <= 2
    assert [path.name for path in tmp_path.iterdir()] == ["folder.png"]


def test_unknown_command(capsys):
    assert run(["conquer"]) == 2
    assert "No such command 'conquer'" in capsys.readouterr().err


def test_checking_the_path_keeps_what_is_there(capsys, tmp_path, monkeypatch):
    """A run that fails must not have emptied the last figure."""
    figure = tmp_path / "regret.svg"
    figure.write_text("precious")

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduction, "reproduce", interrupted)
    assert run(["reproduce", "--figure", str(figure)]) == 130
    assert capsys.readouterr().err.strip() == "swordplay: interrupted."
    assert figure.read_text() == "precious"


def test_a_figure_that_cannot_be_written_after_all(capsys, tmp_path, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()

    def folder_goes_away(*args, **kwargs):
        folder.rmdir()
        return reproduce(*args, **kwargs)

    monkeypatch.setattr(reproduction, "reproduce", folder_goes_away)
    assert run(["reproduce", "--rounds", SHORT, "--figure", str(folder / "regret.png")]) == 1
    captured = capsys.readouterr()
    assert "could not write" in captured.err
    assert "Instance 2" in captured.out  # the table was worth the wait all the same


@pytest.mark.parametrize("colour", [True, False])
def test_progress_bar_on_standard_error_respects_no_color(capsys, monkeypatch, colour):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    if colour:
        monkeypatch.delenv("NO_COLOR", raising=False)
    else:
        monkeypatch.setenv("NO_COLOR", "1")
    assert run(["reproduce", "--rounds", "200", "--json"]) == 0
    captured = capsys.readouterr()
    assert "alternating, T = 200" in captured.err
    assert bool(COLOURED.search(captured.err)) == colour
    assert json.loads(captured.out)


def test_no_bar_where_nobody_looks(capsys, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    assert run(["reproduce", "--rounds", SHORT]) == 0
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.3812, "0.381"),
        (0.99949, "0.999"),
        (0.9996, "1.00"),
        (9.996, "10.0"),
        (99.96, "100"),
        (1234.5, "1,234"),
        (-2.5, "-2.50"),
    ],
)
def test_numbers_show_three_digits(value, shown):
    assert tables.number(value) == shown
