"""Pairs to test: a third of them in ``make test``, all of them in the deep campaign."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def of(first: Iterable[Any], second: Iterable[Any]) -> list[Any]:
    """Every one of the first with every one of the second.

    Who stands in one place of either comes up in ``make test``.
    """
    seconds = list(second)
    return [
        pytest.param(one, other, marks=() if (k + j) % 3 == 0 else pytest.mark.deep)
        for k, one in enumerate(first)
        for j, other in enumerate(seconds)
    ]
