"""The kernels are right as plain Python: a smaller set of twins with numba switched off, in a
process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.duels import LEARNERS

TESTS = Path(__file__).parents[1]

CODE = """
import sys
import numba
from engine.duels import LEARNERS, LOSSES, duel, gaps
from swordplay.engine import rounds
from tolerances import TWIN

assert numba.config.DISABLE_JIT and not hasattr(rounds.play_dense, "signatures")
learner = sys.argv[1]
for seed, loss in enumerate(LOSSES * 2):
    found = gaps(duel(seed, loss, rounds=25), LEARNERS[learner])
    worst = max(found, key=found.get)
    if found[worst] > TWIN:
        sys.exit(f"seed {seed}, {loss}: {worst} differs by {found[worst]:.1e}")
"""


OTHERS = [
    pytest.param(name, marks=pytest.mark.deep) for name in ("OEGD", "Ader", "SwordBest, doubling")
]


@pytest.mark.parametrize("learner", ["SwordBest", "Sword", *OTHERS])
def test_twins_agree_uncompiled(learner: str) -> None:
    """Six games each: every domain, every loss."""
    assert learner in LEARNERS
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CODE, learner],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def test_one_by_one_uncompiled() -> None:
    code = """
import numpy as np, swordplay as sp
from engine.duels import duel, gap
from tolerances import DRIVEN
game = duel(1, "squared", rounds=20)
whole, single = sp.Sword(game.domain), sp.Sword(game.domain)
ledger = sp.play(whole, game.stream, engine="compiled")
model = sp.engine.online(single)
losses = []
for loss in game.stream:
    model.predict(loss.features)
    losses.append(model.learn(loss.features, loss.target))
assert gap(losses, ledger.losses) <= DRIVEN
many = [sp.Sword(game.domain) for _ in range(2)]
both = sp.engine.play_many(many, np.stack([game.stream.features] * 2), np.stack([game.stream.targets] * 2))
assert gap(both[1], ledger.losses) <= DRIVEN
"""  # noqa: E501
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
