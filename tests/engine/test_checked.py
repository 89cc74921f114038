"""The checked build: kernels that take indices, run with every index looked at."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OUTSIDE = """
import numpy as np
from swordplay.engine import column_stats
from swordplay.compile import CHECKED
assert CHECKED
state = [np.zeros(2), np.zeros(2), np.zeros(2), np.zeros((column_stats.WARM_UP, 2))]
rows, answer, norms = np.ones((3, 2)), np.empty((3, 2)), np.empty(3)
column_stats.scale_and_update(rows, column_stats.ColumnArrays(*state), 5.0, answer, norms)
assert state[2].tolist() == [3.0, 3.0]
state[2][1] = -1e6  # what a forged checkpoint would say
try:
    column_stats.scale_and_update(rows, column_stats.ColumnArrays(*state), 5.0, answer, norms)
except IndexError:
    print("noticed")
"""

EVERYBODY = """
from pathlib import Path
from checkpoint.campaign import KINDS, run
import sys, tempfile
note = Path(tempfile.mkdtemp()) / "note"
note.write_bytes(b" " * 80)
print(run(0, 30, list(KINDS), note))
"""


def checked(program, timeout):
    path = os.pathsep.join(
        [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    environment = {**os.environ, "SWORDPLAY_CHECKED": "1", "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def test_an_index_outside_its_array_is_an_error():
    done = checked(OUTSIDE, 300)
    assert done.stdout.split() == ["noticed"], done.stderr[-2000:]


@pytest.mark.deep
def test_no_index_lies_outside_its_array():
    """Every estimator, learner, tracker and Spark record, as they are and changed: an index
    outside would be an error.
    """
    done = checked(EVERYBODY, 3600)
    assert done.returncode == 0, done.stderr[-3000:]


GAMES = """
import numpy as np
from scipy.sparse import csr_array
import swordplay as sp
rng = np.random.default_rng(0)
features, targets = rng.normal(size=(60, 9)), rng.normal(size=60)
told = {"horizon": 60, "gradient_bound": 9.0, "smoothness": 9.0}
ball = sp.Ball(9)
for make in (lambda: sp.Sword(ball), lambda: sp.SwordBest(ball, **told), lambda: sp.SwordPlusPlus(ball, **told)):
    for rows in (features, csr_array(features)):
        sp.play(make(), sp.LinearStream(rows, targets), engine="compiled")
    model = sp.engine.online(make())
    model.predict(features[0])
    model.learn(features[0], 1.0)
sp.play(sp.Sword(sp.Simplex(9)), sp.LinearStream(features, targets), engine="compiled")
print("inside")
"""  # noqa: E501


@pytest.mark.deep
def test_no_learner_of_the_game_reaches_outside():
    done = checked(GAMES, 1200)
    assert done.stdout.split() == ["inside"], done.stderr[-3000:]
    assert not done.stderr  # LLVM has nothing to remark
