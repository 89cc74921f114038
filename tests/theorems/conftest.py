"""What the theorem tests share: the paper's experiment, and a summary of how much of each bound the games used up."""

from __future__ import annotations

import pytest

from swordplay.reproduce import Row, reproduce

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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The largest ratio regret / bound of each learner over all games; reports carry it home from every worker."""
    largest: dict[str, float] = {}
    games = 0
    for report in terminalreporter.stats.get("passed", []):
        for name, used in getattr(report, "user_properties", []):
            if name == "used":
                games += 1
                for what, share in used.items():
                    largest[what] = max(share, largest.get(what, share))
    if largest:
        terminalreporter.section(f"largest regret / bound over {games} random games")
        for what, share in sorted(largest.items(), key=lambda item: -item[1]):
            terminalreporter.write_line(f"{share:8.4f}  {what}")
