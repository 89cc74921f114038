"""The house keeps its measure: files and functions that can be read at one sitting, and nothing written twice.

The limits hold for all of ``src``, without exceptions.
"""

import ast
import functools
import re
import statistics
from collections import defaultdict
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "swordplay"
FILES = sorted(SOURCE.rglob("*.py"))
MOST_LINES, MEDIAN_LINES = 300, 120
"""Of a file, and of half of the files."""
LONGEST_FUNCTION = 60
"""Lines from its ``def`` to its end, docstring included."""
MOST_ARGUMENTS = 10
"""Of a function but for ``self``; kernels, which take floats and arrays only, may have more."""
KERNELS = frozenset({"inline_exact", "expert_loop", "kernel", "inline"})
"""Decorators of functions that are compiled (``compile/jit.py``)."""
PARAMETER = re.compile(r"\w+: [^()]*,")
"""A line that declares one."""
SAME_LINES = 6
"""So many lines that stand in two rooms are one too many."""


def name(path):
    return path.relative_to(SOURCE).as_posix()


@functools.cache
def functions(path):
    """Every function of a file by its name."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [(f"{name(path)}: {node.name}", node) for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def arguments(node):
    """How many arguments a function takes, but for ``self`` and ``cls``."""
    given = node.args
    named = [one.arg for one in (*given.posonlyargs, *given.args)]
    count = len(named) + len(given.kwonlyargs) + (given.vararg is not None) + (given.kwarg is not None)
    return count - (named[:1] in (["self"], ["cls"]))


def is_kernel(node):
    return any(word in KERNELS for one in node.decorator_list for word in re.findall(r"\w+", ast.unparse(one)))


def room(path):
    """The folder of a room: a house's rooms stand in it, other houses are one room."""
    parts = path.relative_to(SOURCE).parts
    rooms = parts[0] in ("application", "base", "data", "parts", "theory")
    return "/".join(parts[: 2 if rooms else 1]).removesuffix(".py")


def test_files_are_short():
    lines = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {file for file, count in lines.items() if count > MOST_LINES} == set()
    assert statistics.median(lines.values()) < MEDIAN_LINES


def test_functions_are_short():
    long = {who for path in FILES for who, node in functions(path) if node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION}
    assert long == set()


def test_functions_have_few_arguments():
    every = ((who, node) for path in FILES for who, node in functions(path))
    assert {who for who, node in every if arguments(node) > MOST_ARGUMENTS and not is_kernel(node)} == set()


def test_kernels_have_fewer_than_25():
    every = ((who, node) for path in FILES for who, node in functions(path))
    assert {who for who, node in every if arguments(node) >= 25} == set()


def windows(path):
    """Runs of lines that say something: no blank lines, comments, imports, lone brackets, parameters; where they begin."""
    text = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    told = [(number, " ".join(line.split())) for number, line in text]
    said = [
        (number, line)
        for number, line in told
        if re.search(r"\w", line) and not line.startswith(("#", "import ", "from ")) and not PARAMETER.fullmatch(line)
    ]
    for first in range(len(said) - SAME_LINES + 1):
        part = said[first : first + SAME_LINES]
        yield tuple(line for _, line in part), part[0][0]


def test_no_six_lines_stand_in_two_rooms():
    places = defaultdict(dict)
    for path in (path for path in FILES if path.name != "__init__.py"):  # which list names
        for lines, number in windows(path):
            places[lines].setdefault(room(path), f"{name(path)}:{number}")
    assert [sorted(found.values()) for found in places.values() if len(found) > 1] == []


@pytest.mark.xdist_group("house")
def test_tests_of_a_group_stay_in_one_process(request):
    """xdist marks the names of grouped tests; where pytest does not let it, groups are silently shared out."""
    assert not getattr(request.config.option, "loadgroup", False) or request.node.nodeid.endswith("@house")
