"""What a meta promises, whoever its experts are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from swordplay.core import state
from swordplay.parts.metas import Meta, telescoping
from swordplay.theory.conformance.promises import ROUNDING, at_most, has_shape, is_refused, promise

SHIFT = 100.0
"""Added to every loss: two of sixteen digits are lost to it."""
SHIFTED = 1e-7
"""How far weights may move then: the digits lost, over some tens of rounds."""


def check_weighing(
    make: Callable[[], Meta], *, experts: int = 4, rounds: int = 40, seed: int = 0
) -> None:
    """Hold a meta to its promises.

    Weights that start at the prior and stay positive with a sum of 1; rounds that are functions
    from state to state and write into nothing; losses that all rise by one number and change no
    weight; forks that share their parent's weight; a prior that is none refused.

    Parameters
    ----------
    make
        Makes the meta.
    experts, rounds
        How many experts it weighs, and how often.
    seed
        Of the losses.
    """
    rng = np.random.default_rng(seed)
    losses, optimism = rng.uniform(-1, 1, (2, rounds, experts))
    optimism[::3] = 0.0
    meta, prior = make(), telescoping(experts)
    now = shifted = meta.start(prior)
    at_most(np.abs(now.weights - prior), ROUNDING, "weights start at the prior")
    for t, (loss, guess) in enumerate(zip(losses, optimism, strict=True), start=1):
        before = _bits(now)
        learned = meta.learn(now, loss, 1.0)
        promise(
            _bits(learned) == _bits(meta.learn(now, loss, 1.0)),
            "learning is a function of the state",
            f"round {t}",
        )
        promise(
            _bits(now) == before, "learning writes into no state that it is given", f"in round {t}"
        )
        has_shape("weights", learned.weights, (experts,))
        weighed = meta.weigh(learned, guess)
        promise(
            np.array_equal(weighed.optimism, guess),
            "the optimism are written down",
            f"in round {t}",
        )
        p = weighed.weights
        promise(
            bool((p > 0).all()) and abs(float(p.sum()) - 1) <= ROUNDING,
            "weights are positive and sum to 1",
            f"got {p}",
        )
        shifted = meta.weigh(meta.learn(shifted, loss + SHIFT, 1.0), guess)
        at_most(
            np.abs(shifted.weights - p),
            SHIFTED,
            f"a shift of all losses changes no weight (round {t})",
        )
        now = weighed
    parents, split = np.append(np.arange(experts), experts - 1), np.append(prior, prior[-1] / 2)
    split[experts - 1] /= 2
    forked = meta.copy_experts(now, parents, split).weights
    expected = np.append(now.weights, now.weights[-1] / 2)
    expected[experts - 1] /= 2
    at_most(np.abs(forked - expected), ROUNDING, "a copy_experts shares the weight of its parent")
    is_refused(lambda: meta.start(prior / 2), "a prior whose sum is not 1 is refused")


def _bits(meta_state: Any) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in state.save(meta_state).values()]
