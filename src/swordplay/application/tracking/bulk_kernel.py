"""How predictions of many keys did: of the learner, of the last value, and of the mean of all values so far."""

from __future__ import annotations

from typing import Any

from swordplay.base.compiling import exact, kernel
from swordplay.base.types import Matrix, Vector


@exact
def follow(
    numbers: Any, said: Vector, targets: Vector, last: Vector, total: Vector, counts: Any, sums: Matrix, scored: Any
) -> None:
    """Sums are added up row by row: where a batch ends must not show in the last digit."""
    for t in range(len(numbers)):
        k, y = numbers[t], targets[t]
        scored[t] = counts[k] > 0
        if counts[k] > 0:
            ours, same, usual = said[t] - y, last[k] - y, total[k] / counts[k] - y
            sums[k, 0] += ours * ours
            sums[k, 1] += same * same
            sums[k, 2] += usual * usual
        last[k] = y
        total[k] += y
        counts[k] += 1


@kernel
def judge(
    numbers: Any, said: Vector, targets: Vector, last: Vector, total: Vector, counts: Any, sums: Matrix, scored: Any
) -> None:
    """Squared errors of all three are added to ``sums``, shape ``(K, 3)``, and the baselines learn.

    Parameters
    ----------
    numbers, said, targets
        The number of each row's key, its prediction and its target, shape ``(T,)``; rows of a key in their order.
    last, total, counts
        Of each key: its last target, the sum of its targets, and how many there were.
    scored
        Written: whether the row has a prediction. The first row of a key, before which nothing is known, has none.
    """
    follow(numbers, said, targets, last, total, counts, sums, scored)
