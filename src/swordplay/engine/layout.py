"""How a learner lies in memory: five arrays of doubles.

======== ============== =====================================================================================
array    shape          what
======== ============== =====================================================================================
coords   ``(d, C)``     base points of the experts, a column each; on a ball relative to its centre and unscaled
rows     ``(ROWS, C)``  numbers of each expert, a row per kind of number (the constants below)
vectors  ``(4, d)``     centre (or lower corner), last features, features under way, upper corner
live     ``(LIVE,)``    numbers that change each round
config   ``(CONFIG,)``  numbers that never change
======== ============== =====================================================================================

C is the number of experts, padded to whole vector registers: every loop over experts runs over whole blocks and leaves no
rest. A padded column is a copy of the last expert that has no prior, so that it changes no sum and no extreme. There are few
arrays because each one costs a tenth of a microsecond whenever Python calls a kernel, and they hold plain doubles because
anything else costs more.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

# The meta's view of each expert.
STEP = 0  # step size, or the multiplier c of an adaptive one
EXTRA = 1  # 1 for extra-gradient experts, 0 for gradient descent
LOG_PRIOR = 2
WEIGHT = 3  # p_t
CUMULATIVE = 4  # sum of losses, up to a number common to all
GUESS = 5  # m_t
# The expert's own memory.
ENERGY = 6  # sum of squared surprises
REPLAY = 7  # M_t = REPLAY * last features
LEAD = 8  # norm(x_t - xhat_t)^2
ETA = 9  # step used in the last round; a constant step is always here
# The certificate's sums.
ADVANTAGE = 10
DRIFT = 11
INVERSE = 12
GROWTH = 13
LARGEST = 14
# The ball's lazy coordinates: xhat = SCALE * (coords + COEFFICIENT * last features), x = ALPHA xhat - GAMMA * last features.
SCALE = 15
UNSCALE = 16  # 1 / SCALE
COEFFICIENT = 17
NORM = 18  # norm(xhat)^2
ALPHA = 19
GAMMA = 20
# Scratch of the round under way.
AT_BASE = 21  # <a, xhat_t>, then <a, xhat_{t+1}>
PLAYED = 22  # <a, x_t>
SLOPE = 23  # g_{t,i} = SLOPE * a
AHEAD = 24  # <a, x_{t+1}>
SCRATCH = 25
ROWS = 26

CENTER = 0
LAST = 1
UNDER_WAY = 2
UPPER = 3
VECTORS = 4

SQUARED, LOGISTIC, HUBER = 0, 1, 2
FIXED, SELF_CONFIDENT, DOUBLING = 0, 1, 2
NO_OPTIMISM, REPLAYED, LEARNED = 0, 1, 2
SIMPLEX, BOX = 0, 1


class _Config(NamedTuple):
    loss: int = 0
    threshold: int = 1  # of the Huber loss
    domain: int = 2  # where points are explicit: SIMPLEX or BOX
    size: int = 3  # radius of the ball, total of the simplex, farthest corner of the box
    diameter: int = 4
    centered: int = 5  # 1 if the ball's centre is not the origin
    adaptive: int = 6  # 1 if steps are c D / sqrt(energy)
    shared: int = 7  # 1 if all experts descend along the gradient at the decision
    grows: int = 8  # 1 if the fastest experts are forked as rounds go by
    rate: int = 9
    cap: int = 10
    offset: int = 11
    factor: int = 12
    floor: int = 13
    optimism: int = 14
    kappa: int = 15
    refresh: int = 16  # rounds between two recomputations of the norms
    smallest_scale: int = 17  # columns are rescaled before they get here
    retention: int = 18  # what is kept of the past losses from one round to the next
    diameter_per_size: int = 19  # 2 on a ball


class _Live(NamedTuple):
    rounds: int = 0
    experts: int = 1  # columns in use
    prepared: int = 2  # 1 if the round's products are in the scratch rows already
    last_norm: int = 3  # squared norm of the last features
    candidate: int = 4  # replayed gradient = candidate * last features
    difference: int = 5
    trust: int = 6
    total: int = 7
    level: int = 8
    rate: int = 9
    smallest: int = 10  # smallest cumulative loss, to be taken off all of them
    norm: int = 11  # of the features under way: squared norm,
    cross: int = 12  # product with the last ones,
    turn: int = 13  # product with their difference from the last ones,
    gap: int = 14  # squared distance from the last ones,
    offset: int = 15  # product with the centre
    prediction: int = 16  # product with the decision, less the offset
    refresh_at: int = 17  # round after which the norms are recomputed
    entropy: int = 18  # ln(1 / smallest prior)
    magnitude: int = 19
    weight: int = 20  # of the round under way


CONFIG = _Config()
"""Places in the array ``config``: ``config[CONFIG.size]``."""
LIVE = _Live()
"""Places in the array ``live``: ``live[LIVE.rate]``."""

BLOCK = 8
"""Experts per block: one vector register of 512 bits, two of 256."""


CACHE_LINE = 64
"""Bytes. A register that is loaded across two lines costs two loads, which wide learners feel."""


def zeros(shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
    """An array of zeros that begins at a cache line, which numpy does not promise."""
    kind = np.dtype(dtype)
    size = math.prod(shape) * kind.itemsize
    room = np.zeros(size + CACHE_LINE, dtype=np.uint8)
    skip = -room.ctypes.data % CACHE_LINE
    return room[skip : skip + size].view(kind).reshape(shape)


def padded(experts: int) -> int:
    """Columns to allocate for so many experts."""
    return -(-experts // BLOCK) * BLOCK
