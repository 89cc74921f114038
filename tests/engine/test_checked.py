"""The checked build: kernels that take indices, run with every index looked at."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

OUTSIDE = """
import numpy as np
from swordplay.engine import scaling
from swordplay.base.compiling import CHECKED
assert CHECKED
state = [np.zeros(2), np.zeros(2), np.zeros(2), np.zeros((scaling.WARM_UP, 2))]
rows, answer, norms = np.ones((3, 2)), np.empty((3, 2)), np.empty(3)
scaling.scale_and_follow(rows, *state, 5.0, answer, norms)
assert state[2].tolist() == [3.0, 3.0]
state[2][1] = -1e6  # what a forged checkpoint would say
try:
    scaling.scale_and_follow(rows, *state, 5.0, answer, norms)
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
    path = os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "SWORDPLAY_CHECKED": "1", "PYTHONPATH": path}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=timeout)


def test_an_index_outside_its_array_is_an_error():
    done = checked(OUTSIDE, 300)
    assert done.stdout.split() == ["noticed"], done.stderr[-2000:]


@pytest.mark.deep
def test_nobody_reaches_outside():
    """Every estimator, learner, tracker and Spark record, as they are and changed: an index outside would be an error."""
    done = checked(EVERYBODY, 3600)
    assert done.returncode == 0, done.stderr[-3000:]
