"""What a server counts, as Prometheus reads it: numbers about requests and models, never their
content.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from typing import final

from swordplay.serving.keeper import Keeper

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Ends of the classes of durations, in seconds."""


@final
class Durations:
    """How long something took: a histogram."""

    def __init__(self) -> None:
        self.counts, self.total = [0] * (len(BUCKETS) + 1), 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds

    def lines(self, name: str, about: str) -> Iterator[str]:
        """As Prometheus reads it: counts up to each end."""
        yield from (f"# HELP {name} {about}", f"# TYPE {name} histogram")
        sums = list(accumulate(self.counts))
        for end, count in zip((*map(str, BUCKETS), "+Inf"), sums, strict=True):
            yield f'{name}_bucket{{le="{end}"}} {count}'
        yield from (f"{name}_sum {self.total!r}", f"{name}_count {sums[-1]}")


@final
class Counts:
    """Counted while the process lives."""

    def __init__(self) -> None:
        self.begun = time.monotonic()
        self.answers: Counter[tuple[str, int]] = Counter()
        """By action and status."""
        self.requests, self.commits, self.checkpoints = Durations(), Durations(), Durations()
        self.watchers = 0

    def answered(self, action: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self.answers[action, status] += 1
        self.requests.add(seconds)

    def committed(self, seconds: float) -> None:
        """A group of events reached the disk."""
        self.commits.add(seconds)

    def saved(self, seconds: float) -> None:
        """A checkpoint was saved."""
        self.checkpoints.add(seconds)

    def text(self, keeper: Keeper) -> str:
        """All of it, and what the models have counted."""
        return "\n".join([*self._own(keeper), *_of_models(keeper), ""])

    def _own(self, keeper: Keeper) -> Iterator[str]:
        yield from _head(
            "swordplay_answers_total",
            "counter",
            "Requests that change something, by what they were answered.",
        )
        for (action, status), count in sorted(self.answers.items()):
            yield f'swordplay_answers_total{{action="{action}",status="{status}"}} {count}'
        yield from self.requests.lines(
            "swordplay_request_seconds", "From the head of a request to its answer."
        )
        yield from self.commits.lines(
            "swordplay_commit_seconds", "Until a group of events is on the disk."
        )
        yield from self.checkpoints.lines(
            "swordplay_checkpoint_seconds", "Until a checkpoint is on the disk."
        )
        gauges = {
            "swordplay_uptime_seconds": ("Since the process began.", time.monotonic() - self.begun),
            "swordplay_live_pages": ("Open now.", self.watchers),
            "swordplay_last_event": ("Number of the newest event in the log.", keeper.number),
            "swordplay_unsaved_events": ("Events that no checkpoint holds yet.", keeper.unsaved),
            "swordplay_log_bytes": ("Of the log of events on the disk.", keeper.log.size()),
            "swordplay_remembered_tickets": (
                "Answered tickets that are still recognised.",
                len(keeper.models.memory),
            ),
        }
        for name, (about, value) in gauges.items():
            yield from (*_head(name, "gauge", about), f"{name} {value}")


def _of_models(keeper: Keeper) -> Iterator[str]:
    models = {
        name: [series for _, series in keeper.models.of(name)] for name in keeper.models.kinds
    }
    tables = {
        "swordplay_asks_total": (
            "counter",
            "Rows that were predicted.",
            lambda one: one.watch.asks,
        ),
        "swordplay_tells_total": (
            "counter",
            "Answers that were learned.",
            lambda one: one.watch.tells,
        ),
        "swordplay_drops_total": (
            "counter",
            "Tickets that were dropped.",
            lambda one: one.watch.drops,
        ),
        "swordplay_error_total": (
            "counter",
            "The sum of the errors of all answered rows.",
            lambda one: one.watch.error,
        ),
        "swordplay_intervals_total": (
            "counter",
            "Answered rows with an interval.",
            lambda one: one.watch.bounded,
        ),
        "swordplay_covered_total": (
            "counter",
            "Of these, those whose interval held the truth.",
            lambda one: one.watch.covered,
        ),
        "swordplay_pending_tickets": (
            "gauge",
            "Tickets that wait for their answer.",
            lambda one: len(one.pending),
        ),
        "swordplay_series": ("gauge", "Keys of the model.", lambda one: 1),
    }
    for name, (kind, about, value) in tables.items():
        yield from _head(name, kind, about)
        for model, series in models.items():
            yield f'{name}{{model="{model}"}} {sum(map(value, series))}'


def _head(name: str, kind: str, about: str) -> tuple[str, str]:
    return f"# HELP {name} {about}", f"# TYPE {name} {kind}"
