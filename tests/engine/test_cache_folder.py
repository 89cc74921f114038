"""Where compiled kernels are kept: nowhere if nothing can be written to, and unharmed by two who
compile at once.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import swordplay
from lowest import lowest

PROGRAM = """
import numpy as np
from swordplay.engine import column_stats
answer = np.empty((1, 2))
centers, spreads = np.array([1.0, 1.0]), np.array([2.0, 1.0])
column_stats.scale_rows(np.array([[3.0, 5.0]]), centers, spreads, 5.0, answer)
hits = sum(column_stats.scale_rows.stats.cache_hits.values())
print(answer.tolist(), column_stats.__file__, hits)
"""


def started(**environment):
    command = [sys.executable, "-B", "-c", PROGRAM]
    return subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def told(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-2000:]
    assert not err
    return out.split()


@pytest.fixture(scope="module")
def read_only(tmp_path_factory):
    """The folder of an installation beside whose engine nothing can be kept."""
    folder = tmp_path_factory.mktemp("installed")
    copy = folder / "swordplay"
    shutil.copytree(
        Path(swordplay.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__")
    )
    (copy / "engine" / "__pycache__").write_text("no folder can be made here, by root either")
    return folder


def test_an_installation_that_cannot_be_written_to_by_a_user_without_a_home(read_only):
    clean = {
        "NUMBA_CACHE_DIR": "",
        "HOME": "/dev/null",
        "XDG_CACHE_HOME": "/dev/null/cache",
        "PYTHONPATH": str(read_only),
    }
    first, second, where, hits = told(started(**clean))
    assert (first, second, hits) == ("[[1.0,", "4.0]]", "0")
    assert where.startswith(str(read_only))


def test_an_installation_that_cannot_be_written_to_by_a_user_with_a_home(read_only, tmp_path):
    own = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment = {"NUMBA_CACHE_DIR": "", "PYTHONPATH": str(read_only), **own}
    assert told(started(**environment))[3] == "0"
    assert list((tmp_path / "cache").rglob("*.kernel"))
    assert told(started(**environment))[3] == "1"  # from the user's own folder


def test_two_who_compile_at_once(tmp_path):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    both = [started(**environment) for _ in range(2)]
    answers = [told(process)[:2] for process in both]
    assert answers == [["[[1.0,", "4.0]]"]] * 2
    assert told(started(**environment))[3] == "1"  # the third one finds it there


def test_the_lowest_versions_are_those_of_the_project():
    project = {
        "dependencies": ["numpy>=1.26"],
        "optional-dependencies": {
            "sklearn": ["a>=1.9,<2"],
            "river": ["a>=1.10"],
            "cli": [],
            "serve": [],
            "sweep": [],
            "spark": [],
            "test": [],
        },
    }
    assert lowest(project) == {"numpy": "1.26", "a": "1.10"}
