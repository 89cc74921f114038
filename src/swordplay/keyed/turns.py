"""Rows with and without a target, of many keys: who learns and who is asked when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def turns(numbers: Any, by_key: Any, learned: Any) -> Iterator[tuple[Any, bool]]:
    """Rows key by key, in turns in which each key's next ones all have a target, or none has.

    And whether they have.

    Parameters
    ----------
    numbers
        Of each row's key.
    by_key
        Places of the rows, key by key and in their order.
    learned
        Which rows have a target.
    """
    if learned[by_key].all():
        yield by_key, True
        return
    keys, has = numbers[by_key], learned[by_key]
    changes = np.concatenate([[True], (np.diff(keys) != 0) | (np.diff(has.astype(np.int8)) != 0)])
    starts = np.concatenate([[True], np.diff(keys) != 0])
    place = np.cumsum(changes)
    place -= np.maximum.accumulate(np.where(starts, place, 0))
    for wave in range(int(place.max(initial=-1)) + 1):
        for learn in (False, True):
            turn = by_key[(place == wave) & (has == learn)]
            if len(turn):
                yield turn, learn
