"""Where compiled kernels are kept: nowhere if nothing can be written to, and unharmed by two who compile at once."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import swordplay
from lowest import lowest

PROGRAM = """
import numpy as np
from swordplay.engine import scaling
answer = np.empty((1, 2))
scaling.scale_rows(np.array([[3.0, 5.0]]), np.array([1.0, 1.0]), np.array([2.0, 1.0]), 5.0, answer)
print(answer.tolist(), scaling.__file__, sum(scaling.scale_rows.stats.cache_hits.values()))
"""


def started(**environment):
    command = [sys.executable, "-B", "-c", PROGRAM]
    return subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def told(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-2000:]
    assert not err
    return out.split()


def test_an_installation_that_cannot_be_written_to_by_a_user_without_a_home(tmp_path):
    copy = tmp_path / "swordplay"
    shutil.copytree(Path(swordplay.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "engine" / "__pycache__").write_text("no folder can be made here, by root either")
    clean = {"NUMBA_CACHE_DIR": "", "HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache", "PYTHONPATH": str(tmp_path)}
    first, second, where, hits = told(started(**clean))
    assert (first, second, hits) == ("[[1.0,", "4.0]]", "0")
    assert where.startswith(str(tmp_path))


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
            "sweep": [],
            "spark": [],
            "test": [],
        },
    }
    assert lowest(project) == {"numpy": "1.26", "a": "1.10"}
