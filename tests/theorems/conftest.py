"""What the theorem tests share: the paper's experiment."""

from __future__ import annotations

import pytest

from swordplay.theory.reproduce import Row, reproduce

QUICK_HORIZONS = [100, 1_000, 10_000]
DEEP_HORIZONS = [*QUICK_HORIZONS, 100_000]


@pytest.fixture(scope="session")
def quick_rows() -> list[Row]:
    """Every learner on both instances, T up to 1e4."""
    return reproduce(QUICK_HORIZONS)


@pytest.fixture(scope="session")
def deep_rows(quick_rows: list[Row]) -> list[Row]:
    """The same with T = 1e5."""
    return [*quick_rows, *reproduce([DEEP_HORIZONS[-1]])]
