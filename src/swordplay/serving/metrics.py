"""Metrics in Prometheus' text format: counts and durations of requests, figures of models."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import NamedTuple, final

from swordplay.serving.series import Series
from swordplay.serving.storage import Storage

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Upper ends of the buckets of durations, in seconds."""


@final
class Histogram:
    """Counts of durations by bucket."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0
        """Sum of all durations, in seconds."""

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds

    def lines(self, name: str, about: str) -> Iterator[str]:
        """Yield the lines of a metric: for each bucket, the count of durations up to its end."""
        yield from _head(name, "histogram", about)
        sums = list(accumulate(self.counts))
        for end, count in zip((*map(str, BUCKETS), "+Inf"), sums, strict=True):
            yield f'{name}_bucket{{le="{end}"}} {count}'
        yield from (f"{name}_sum {self.total!r}", f"{name}_count {sums[-1]}")


@final
class Metrics:
    """Counts since the process began."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.responses: Counter[tuple[str, int]] = Counter()
        """By action and status."""
        self.requests = Histogram()
        self.commits = Histogram()
        self.checkpoints = Histogram()
        self.live_pages = 0
        """Open live pages."""

    def add_response(self, action: str, status: int, seconds: float) -> None:
        """Count a response, and the time since its request began."""
        self.responses[action, status] += 1
        self.requests.add(seconds)

    def add_commit(self, seconds: float) -> None:
        """Count a group of events that was written to the disk."""
        self.commits.add(seconds)

    def add_checkpoint(self, seconds: float) -> None:
        """Count a checkpoint that was saved."""
        self.checkpoints.add(seconds)

    def text(self, storage: Storage) -> str:
        """Return all metrics of a server."""
        return "\n".join([*self._lines(storage), *_model_lines(storage), ""])

    def _lines(self, storage: Storage) -> Iterator[str]:
        yield from _head(
            "swordplay_answers_total",
            "counter",
            "Responses to requests that change something, by action and status.",
        )
        for (action, status), count in sorted(self.responses.items()):
            yield f'swordplay_answers_total{{action="{action}",status="{status}"}} {count}'
        yield from self.requests.lines(
            "swordplay_request_seconds", "Time from the head of a request to its response."
        )
        yield from self.commits.lines(
            "swordplay_commit_seconds", "Time to write a group of events to the disk."
        )
        yield from self.checkpoints.lines(
            "swordplay_checkpoint_seconds", "Time to save a checkpoint."
        )
        gauges = {
            "swordplay_uptime_seconds": (
                "Time since the process began.",
                time.monotonic() - self.begun,
            ),
            "swordplay_live_pages": ("Open live pages.", self.live_pages),
            "swordplay_last_event": ("Number of the newest event in the log.", storage.number),
            "swordplay_unsaved_events": ("Events that are in no checkpoint.", storage.unsaved),
            "swordplay_log_bytes": ("Size of the event log.", storage.log.size()),
            "swordplay_remembered_tickets": (
                "Answered tickets that are kept to recognise repeated requests.",
                len(storage.models.recent),
            ),
        }
        for name, (about, value) in gauges.items():
            yield from (*_head(name, "gauge", about), f"{name} {value}")


class SeriesMetric(NamedTuple):
    """A metric that is summed over the series of each model."""

    kind: str
    about: str
    value: Callable[[Series], float]


SERIES_METRICS = {
    "swordplay_asks_total": SeriesMetric(
        "counter", "Rows that were predicted.", lambda series: series.stats.counts.asks
    ),
    "swordplay_tells_total": SeriesMetric(
        "counter", "Answers that were learned.", lambda series: series.stats.counts.tells
    ),
    "swordplay_drops_total": SeriesMetric(
        "counter", "Tickets that were dropped.", lambda series: series.stats.counts.drops
    ),
    "swordplay_error_total": SeriesMetric(
        "counter",
        "Sum of the errors of all answered rows.",
        lambda series: series.stats.counts.error,
    ),
    "swordplay_intervals_total": SeriesMetric(
        "counter", "Answered rows with an interval.", lambda series: series.stats.counts.bounded
    ),
    "swordplay_covered_total": SeriesMetric(
        "counter",
        "Answered rows whose interval contained the answer.",
        lambda series: series.stats.counts.covered,
    ),
    "swordplay_pending_tickets": SeriesMetric(
        "gauge", "Tickets that wait for their answer.", lambda series: len(series.pending)
    ),
    "swordplay_series": SeriesMetric("gauge", "Series (keys) of the model.", lambda series: 1),
}


def _model_lines(storage: Storage) -> Iterator[str]:
    models = {
        name: [series for _, series in storage.models.series_of(name)]
        for name in storage.models.kinds
    }
    for name, metric in SERIES_METRICS.items():
        yield from _head(name, metric.kind, metric.about)
        for model, series in models.items():
            yield f'{name}{{model="{model}"}} {sum(map(metric.value, series))}'


def _head(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"
