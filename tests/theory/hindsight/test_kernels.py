"""The kernels give the same results compiled and as plain Python."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import swordplay as sp
from theory.hindsight.problems import ball_box_simplex, drifting_stream, value


def test_kernels_give_the_same_without_compilation():
    code = """
import numba, numpy as np, swordplay as sp
from theory.hindsight.problems import drifting_stream, ball_box_simplex, value
assert numba.config.DISABLE_JIT
for domain in ball_box_simplex(2):
    best = sp.hindsight.best_sequence(drifting_stream("squared", 12, 2), domain, penalty=0.3)
    print(repr(value(best)))
best = sp.hindsight.best_sequence(drifting_stream("squared", 12, 1), sp.Ball(1), penalty=0.3)
print(repr(value(best)))
"""
    path = os.pathsep.join(
        [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    compiled = [
        sp.hindsight.best_sequence(drifting_stream("squared", 12, 2), domain, penalty=0.3)
        for domain in ball_box_simplex(2)
    ]
    compiled.append(
        sp.hindsight.best_sequence(drifting_stream("squared", 12, 1), sp.Ball(1), penalty=0.3)
    )
    np.testing.assert_allclose(
        [float(line) for line in done.stdout.split()],
        [value(best) for best in compiled],
        rtol=1e-9,
    )
