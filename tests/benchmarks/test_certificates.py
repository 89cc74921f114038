"""How tight certificates are, as docs/theory.md tells it: the medians over the drift worlds."""

import numpy as np
import pytest

from benchmarks import certificates

MOST = {"SwordBest": 3.0, "SwordAgeless": 3.0, "Sword": 4.0}


def medians(seeds):
    found = [
        line
        for world in certificates.WORLDS
        for seed in seeds
        for line in certificates.lines(world, seed)
    ]
    return {
        name: float(np.median([line.worst for line in found if line.learner == name]))
        for name in MOST
    }


@pytest.mark.deep
def test_medians_are_within_their_bars():
    """Against the best sequence of the planted comparators' path length.

    New seeds beside those of the page.
    """
    for seeds in (certificates.SEEDS, (4, 5, 6)):
        found = medians(seeds)
        assert all(found[name] <= most for name, most in MOST.items()), found
