"""How a round of a meta-expert learner passes through the package."""

import sys
from pathlib import Path

import numpy as np

import swordplay as sp

MAX_FILES = 12
"""Files of this package that one round of SwordBest may pass through."""


def files_passed(call):
    """The files of this package in which functions are called."""
    folder, found = str(Path(sp.__file__).parent), set()

    def note(frame, event, _argument):
        if event == "call" and frame.f_code.co_filename.startswith(folder):
            found.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return {str(Path(file).relative_to(folder)) for file in found}


def test_a_round_passes_through_few_files():
    learner = sp.SwordBest(sp.Ball(3), horizon=10, gradient_bound=4.0, smoothness=1.0)
    learner.observe(sp.SquaredLoss([1.0, 0.5, 0.2], 1.0))
    passed = files_passed(lambda: learner.observe(sp.SquaredLoss.trusted(np.ones(3), -1.0)))
    assert {"parts/losses.py", "parts/learners/meta_expert.py"} <= passed
    assert len(passed) <= MAX_FILES, sorted(passed)
