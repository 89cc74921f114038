"""What a run over many keys has to tell, and how it is put together from the runs of the keys."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self, final

import numpy as np

from swordplay.tables.column_plans import ColumnPlan
from swordplay.tracking.band import FIGURES
from swordplay.tracking.contestants import BEST_STEP, LEARNER, NO_CHANGE
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.story import Column, Intervals, RunStory
from swordplay.tracking.telling import common, intervals_of

if TYPE_CHECKING:
    from swordplay.tracking.bulk import BulkTracker
    from swordplay.tracking.keyed import KeyedTracker

NOTES = {
    "number": "as it is",
    "truth": "1 and 0",
    "category": "one column for each category that the key has",
    "date": "day of the week, day of the year",
    "date and time": "hour of the day, day of the week, day of the year",
}
"""What is made of columns, by kind."""
FEWEST_ROWS = 10
"""Predicted rows of a key before it may be called the best or the worst."""
NAMED = 5
"""Keys that are named as best, as worst, as largest."""
LITTLE = 50
"""Rows of the median key below which there is little to learn a model of its own from."""

Key = tuple[Any, ...]
"""Values of the key's columns, None where missing."""


SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Of the keys, up to which it is told how well they do."""


class Spread(NamedTuple):
    """What a share of the keys does not exceed; of those with ten predicted rows or more."""

    share: float
    error: float
    """Of the learner."""
    ratio: float
    """The same in units of the error of no change."""


class KeyLine(NamedTuple):
    """How one key went."""

    key: Key
    rows: int
    """Rows that were predicted and then learned."""
    errors: Mapping[str, float]
    """Of the learner and the baselines."""

    @property
    def name(self) -> str:
        """The key for people."""
        return ", ".join(
            "(missing)" if one is None else f"{one:g}" if isinstance(one, float) else str(one)
            for one in self.key
        )

    @property
    def ratio(self) -> float:
        """The learner's error in units of that of no change: below 1 it is better.

        1 where neither erred.
        """
        ours, theirs = self.errors[LEARNER], self.errors[NO_CHANGE]
        return ours / theirs if theirs > 0.0 else math.inf if ours > 0.0 else 1.0


@final
class Lines:
    """How many keys went, in arrays: a line is made of one when it is asked for.

    Parameters
    ----------
    keys
        Those that have a prediction.
    rows, errors, names
        Of each, the rows that were predicted and then learned, shape ``(K,)``, and the errors of
        the learner and the baselines, shape ``(K, len(names))``.
    """

    def __init__(self, keys: Sequence[Key], rows: Any, errors: Any, names: Sequence[str]) -> None:
        self._keys, self.rows, self._errors, self._names = keys, rows, errors, tuple(names)

    @classmethod
    def of(cls, lines: Sequence[KeyLine]) -> Self:
        """Those that are there already."""
        names = tuple(lines[0].errors) if lines else (LEARNER, NO_CHANGE)
        errors = np.array([[line.errors[name] for name in names] for line in lines]).reshape(
            -1, len(names)
        )
        return cls(
            [line.key for line in lines],
            np.array([line.rows for line in lines], dtype=np.int64),
            errors,
            names,
        )

    def __len__(self) -> int:
        return len(self._keys)

    def __getitem__(self, place: int) -> KeyLine:
        errors = dict(zip(self._names, self._errors[place].tolist(), strict=True))
        return KeyLine(self._keys[place], int(self.rows[place]), errors)

    def errors(self, name: str) -> Any:
        """Of all keys."""
        return self._errors[:, self._names.index(name)]

    def ratios(self) -> Any:
        """``KeyLine.ratio`` of all keys."""
        ours, theirs = self.errors(LEARNER), self.errors(NO_CHANGE)
        either = np.where(ours > 0.0, math.inf, 1.0)
        with np.errstate(invalid="ignore", over="ignore"):
            return np.divide(ours, theirs, out=either, where=theirs > 0.0)


@final
@dataclass(frozen=True, kw_only=True)
class KeyedStory(RunStory):
    """What a run over many keys has to tell: made at its end, read by ``report.keys``."""

    key: tuple[str, ...]
    """Names of the columns that tell the keys apart."""
    keys: int
    """How many keys there are."""
    ahead: int
    """How many of those with a prediction have a smaller error than no change."""
    best: tuple[KeyLine, ...]
    """Keys that do best beside no change (classes: with fewest mistakes), best first.

    Of those with ten predicted rows.
    """
    worst: tuple[KeyLine, ...]
    """Those that do worst, worst first; none that is among the best."""
    largest: tuple[KeyLine, ...]
    """Those with most rows; none where all keys have the same number."""

    spread: tuple[Spread, ...] = ()
    """How errors are distributed over the keys; empty where no key has ten predicted rows."""
    asked: tuple[KeyLine, ...] = ()
    """Keys that were asked for."""

    @property
    def named(self) -> dict[str, tuple[KeyLine, ...]]:
        """The keys to be shown, by what they are.

        The largest ones only where best and worst are not all there are.
        """
        largest = self.largest if self.keys > len(self.best) + len(self.worst) else ()
        lists = {
            "asked for": self.asked,
            "best": self.best,
            "worst": self.worst,
            "largest": largest,
        }
        return {title: lines for title, lines in lists.items() if lines}


def lines(tracker: KeyedTracker) -> Lines:
    """How every key went that has a prediction."""
    found = ((key, one.recorder.rows, one.errors()[0]) for key, one in tracker.trackers.items())
    return Lines.of(
        [KeyLine(key, rows, _without_best_step(errors)) for key, rows, errors in found if rows]
    )


def errors(tracker: KeyedTracker) -> dict[str, float]:
    """RMSE or share of mistakes over the rows of all keys."""
    rows = sum(one.recorder.rows for one in tracker.trackers.values())
    if not rows:
        return {}
    every = [_without_best_step(one.recorder.totals()[0]) for one in tracker.trackers.values()]
    means = {name: math.fsum(totals[name] for totals in every) / rows for name in every[0]}
    return {n: math.sqrt(m) for n, m in means.items()} if tracker.task == "regression" else means


def intervals(tracker: KeyedTracker) -> Intervals | None:
    """How the intervals of all keys did together; None where there are none."""
    rows = sum(one.recorder.rows for one in tracker.trackers.values())
    if tracker.blank.band is None or not rows:
        return None
    every = [one.recorder.figures for one in tracker.trackers.values()]
    sums = (math.fsum(figures[k] for figures in every) for k in range(len(FIGURES)))
    return intervals_of(tracker.settings.level, rows, dict(zip(FIGURES, sums, strict=True)))


def story(
    tracker: KeyedTracker | BulkTracker, source: str, refused: int, seconds: float
) -> KeyedStory:
    """All that a report needs (see ``Tracker.story``)."""
    facts = common(tracker, source, refused, seconds)
    found, regression = tracker.lines(), tracker.task == "regression"
    ratios = found.ratios()
    judged = np.flatnonzero(found.rows >= FEWEST_ROWS)
    ranked = judged[
        np.argsort((ratios if regression else found.errors(LEARNER))[judged], kind="stable")
    ].tolist()
    best = ranked[: min(NAMED, (len(ranked) + 1) // 2)]
    largest = (
        np.argsort(-found.rows, kind="stable")[:NAMED].tolist()
        if len(np.unique(found.rows)) > 1
        else []
    )
    return KeyedStory(
        **facts,
        rows=int(found.rows.sum()),
        errors=tracker.errors()[0],
        intervals=tracker.intervals(),
        columns=tuple(column(one) for one in tracker.plans),
        key=tracker.settings.key,
        keys=len(tracker.trackers),
        ahead=int((found.errors(LEARNER) < found.errors(NO_CHANGE)).sum()),
        best=tuple(map(found.__getitem__, best)),
        worst=tuple(map(found.__getitem__, ranked[len(best) :][: -NAMED - 1 : -1])),
        largest=tuple(map(found.__getitem__, largest)),
        remarks=(*(remark.text for remark in tracker.remarks()), *_little(found.rows)),
        spread=_spread(found.errors(LEARNER)[judged], ratios[judged]),
    )


def with_key(
    story: KeyedStory, tracker: KeyedTracker | BulkTracker, values: tuple[str, ...]
) -> KeyedStory:
    """The story with one more key in it, given by the values of its columns as they are shown.

    Raises
    ------
    TrackingError
        If there is no such key, or none of its rows was predicted.
    """
    wanted = ", ".join(values)
    found = tracker.lines()
    for line in map(found.__getitem__, range(len(found))):
        if line.name == wanted:
            return replace(story, asked=(*story.asked, line))
    raise TrackingError(
        f"--show-key: no row was predicted of a key {wanted!r}. Give the values of "
        f"{' and '.join(story.key)} as the predictions have them, such as {found[0].name!r}."
        if story.rows
        else "--show-key: no row was predicted."
    )


def _spread(errors: Any, ratios: Any) -> tuple[Spread, ...]:
    """Errors that a key has, and that so many keys do not exceed."""
    if not len(errors):
        return ()
    every = (
        np.quantile(values, SHARES, method="inverted_cdf").tolist() for values in (errors, ratios)
    )
    return tuple(Spread(*one) for one in zip(SHARES, *every, strict=True))


def _little(rows: Any) -> tuple[str, ...]:
    """A remark where most keys have few rows."""
    middle = float(np.median(rows)) if len(rows) else LITTLE
    if middle >= LITTLE:
        return ()
    return (f"The median key has {middle:.0f} predicted rows: little data for a model each.",)


def _without_best_step(errors: Mapping[str, float]) -> dict[str, float]:
    """The learner and the baselines: a step size chosen anew for each key is no rival."""
    return {name: error for name, error in errors.items() if name != BEST_STEP}


def column(one: ColumnPlan) -> Column:
    """A column and what was made of it, for a run that keeps no more than that."""
    note = f"left out: {one.why}" if one.kind == "left out" else NOTES[one.kind]
    return Column(one.name, one.kind.removesuffix(" and time"), note)
