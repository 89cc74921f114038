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


class OwnLoss:
    """norm(x - y)^2 / 2, written outside of the package."""

    smoothness = 1.0

    def __init__(self, y):
        self.y = y

    def value(self, points):
        return 0.5 * np.square(points - self.y).sum(axis=-1)

    def gradient(self, points):
        return points - self.y


def test_a_round_passes_through_few_files():
    learner = sp.SwordBest(sp.Ball(3), horizon=10, gradient_bound=4.0, smoothness=1.0)
    learner.observe(OwnLoss(np.ones(3)))
    passed = files_passed(lambda: learner.observe(OwnLoss(-np.ones(3))))
    assert len(passed) <= MAX_FILES, sorted(passed)
