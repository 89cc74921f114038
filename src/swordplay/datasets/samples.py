"""The shipped streams as example files, which ``swordplay sample`` writes."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from swordplay import datasets

FIRST_HOUR = datetime(2010, 9, 27, 12)
"""When the first row of the bikes was counted.

Every later row is an hour after the one before it.
"""
BIKES = {
    "tmin": "tmin",
    "tmax": "tmax",
    "rain": "rain",
    "count_24h_ago": "yesterday",
    "count_168h_ago": "last_week",
}
"""Columns of the bikes that go into the file, and what they are called there.

Hour and season are in the time.
"""


class Sample(NamedTuple):
    """A table to try the command on."""

    target: str
    """The column to predict."""
    about: str
    """What it holds, in a few words."""
    lines: Callable[[], Iterator[str]]
    """The header and the rows, as lines of CSV with their ends."""


def _bikes() -> Iterator[str]:
    data = datasets.bikesharing()
    yield ",".join(["time", *BIKES.values(), "rentals"]) + "\n"
    places = [data.names.index(name) for name in BIKES]
    for k, (row, count) in enumerate(
        zip(data.features[:, places].tolist(), data.targets.tolist(), strict=True)
    ):
        values = [f"{value:.10g}" for value in (*row, count)]
        yield f"{FIRST_HOUR + timedelta(hours=k):%Y-%m-%d %H:%M},{','.join(values)}\n"


def _as_shipped(load: Callable[[], datasets.Dataset]) -> Callable[[], Iterator[str]]:
    def lines() -> Iterator[str]:
        with gzip.open(load().path, "rt", encoding="utf-8", newline="") as text:
            yield from text

    return lines


SAMPLES = {
    "bikes": Sample("rentals", "bikes rented in Washington, DC, hour by hour, 2010-2019", _bikes),
    "electricity": Sample(
        "price_up",
        "did the price of electricity in New South Wales rise, every half hour, 1996-1998",
        _as_shipped(datasets.electricity),
    ),
    "sulfur": Sample(
        "h2s",
        "hydrogen sulfide in the tail gas of a sulfur recovery unit",
        _as_shipped(datasets.sulfur),
    ),
}
"""By the name that is typed."""
