"""What changed, and when: the error, coefficients, the level of the target and the shares of
classes, block by block of a run.

A change with one date is a jump: the levels just before and just after it differ, and both are
told. A slow change is told with the dates of both of its ends, and what comes and goes is not told
at all (see :mod:`swordplay.tracking.jumps`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from swordplay.core.types import Vector
from swordplay.tracking.jumps import jumps, slope
from swordplay.tracking.story import Driver, Story

Kind = Literal["error", "coefficient", "target", "share"]

MOST_BLOCKS = 128
"""Neighbouring stretches are joined to at most so many blocks: what is left of their noise is
nearly independent.
"""
FEWEST_ROWS = 64
"""In a block: the mean error of fewer is mostly chance."""
SETTLING = 0.05
"""Share of the run at its beginning that is not looked at: the learner is learning its first
coefficients.
"""
LOUD = 1.4
"""Errors have to grow, or shrink, by this factor to be worth a word;"""
LARGE = 0.15
"""a coefficient has to move by this share of the spread of what is predicted;"""
SHIFT = 0.5
"""the level of the target by this share of its spread;"""
SHARE = 0.15
"""and the share of a class by so much."""
FINE = 0.01
"""Noise is taken to be no smaller than this share of what is worth a word: levels without any
noise can be cut, too.
"""
MOST = 6
"""Changes that are told, the strongest ones."""


class DetectedChange(NamedTuple):
    """A level that was another before."""

    what: str
    """``"error"``, the name of a column, or that of the target."""
    about: str
    """The class whose log-odds a coefficient moves, or whose share changed; empty otherwise."""
    row: int
    """The first row of the new level, about, among the rows that were predicted and then
    learned.
    """
    time: float | None
    """When that was, in milliseconds since 1970; None where there is no clock."""
    before: float
    after: float
    """Levels just before and just after: the error (RMSE or share of mistakes), the coefficient per
    spread of its column, the
    mean of the target, the share of a class. Of a slow change: around its two ends."""
    strength: float
    """How clear it is: the gain of the cut in units of the price of one."""
    kind: Kind = "coefficient"
    """What sort of level it is: a column may be called "error", too."""
    since_row: int | None = None
    """Of a slow change the row around which it began; None for a jump."""
    since_time: float | None = None
    """When that was; None for a jump, or where there is no clock."""


class _Series(NamedTuple):
    """A series of levels, one a block."""

    kind: Kind
    what: str
    about: str
    levels: Vector
    """In the units in which noise is alike everywhere."""
    edges: NDArray[np.int64]
    """Of the blocks, as places among the ends of stretches, of which 0 is the beginning."""
    least: float
    """Differences of levels that are worth a word."""
    floor: float
    """Variance that the noise has at least."""
    shown: Callable[[slice], float]
    """The level over some blocks, as it is told."""


def changes(story: Story) -> tuple[DetectedChange, ...]:
    """The clearest changes of a run, in the order of time."""
    if not len(story.course.ends):
        return ()
    found = [
        change for one in _series(story) for change in _told(story, one) if _worth(change, story)
    ]
    chosen = sorted(found, key=lambda one: -one.strength)[:MOST]
    return tuple(sorted(chosen, key=lambda one: (one.row, one.what, one.about)))


def _series(story: Story) -> Iterator[_Series]:
    """All that is looked at."""
    yield _errors(story)
    if story.task == "regression":
        yield _target(story)
    else:
        yield from _shares(story)
    for driver in story.drivers:
        yield from _coefficient(story, driver)


def _errors(story: Story) -> _Series:
    """The logarithm of the learner's error, or its share of mistakes."""
    edges, rows = _blocks_of_rows(story)
    lost = np.maximum(_sums(story.course.losses[story.learner], edges), 0.0)
    if story.task != "regression":
        return _share("error", "error", "", lost, rows, edges)
    means = lost / rows
    floor = 1e-12 * float(means.max(initial=0.0)) or 1.0
    levels = 0.5 * np.log(np.maximum(means, floor))

    def error(some: slice) -> float:
        return float(np.sqrt(lost[some].sum() / rows[some].sum()))

    # the logarithm of the root of a mean of n squares of normal variables has the variance 1 / (2
    # n)
    return _Series(
        "error", "error", "", levels, edges, float(np.log(LOUD)), 0.5 / float(rows.mean()), error
    )


def _target(story: Story) -> _Series:
    edges, rows = _blocks_of_rows(story)
    sums = _sums(story.course.figures["actual"], edges)
    least = SHIFT * _scale(story)

    def level(some: slice) -> float:
        return float(sums[some].sum() / rows[some].sum())

    return _Series(
        "target", story.target, "", sums / rows, edges, least, (FINE * least) ** 2, level
    )


def _shares(story: Story) -> Iterator[_Series]:
    """How often each class was true; of two classes one says it all."""
    edges, rows = _blocks_of_rows(story)
    two = len(story.classes) == 2
    for k, name in enumerate(story.classes):
        counts = story.course.figures.get(
            f"actual {k}"
        )  # of very many classes only the first are on record
        if counts is not None and not (two and name == min(story.classes)):
            yield _share("share", story.target, name, _sums(counts, edges), rows, edges)


def _share(
    kind: Kind, what: str, about: str, counts: Vector, rows: Vector, edges: NDArray[np.int64]
) -> _Series:
    """A share of rows as the arcsine of its root: of independent rows the variance is then 1 /
    (4 n) everywhere.
    """
    levels = np.arcsin(np.sqrt(np.clip(counts / rows, 0.0, 1.0)))

    def share(some: slice) -> float:
        return float(np.clip(counts[some].sum() / rows[some].sum(), 0.0, 1.0))

    return _Series(kind, what, about, levels, edges, 0.0, 0.25 / float(rows.mean()), share)


def _coefficient(story: Story, driver: Driver) -> Iterator[_Series]:
    known = np.flatnonzero(np.isfinite(driver.path))
    if not len(known):
        return
    marks = np.concatenate([[0], story.course.marks])
    ends = np.concatenate([[0.0], story.course.ends])[marks]
    settled = int(np.searchsorted(ends, SETTLING * ends[-1]))
    begun = min(
        max(int(known[0]), settled), len(marks) - 2
    )  # columns and classes that join late are not there before
    edges = begun + _blocks(ends[begun:])
    sums = np.concatenate([[0.0], np.cumsum(np.nan_to_num(driver.path))])
    means = np.diff(sums[edges]) / np.diff(edges)
    least = LARGE * (_scale(story) if story.task == "regression" else 1.0)

    def level(some: slice) -> float:
        return float(np.median(means[some]))

    yield _Series(
        "coefficient",
        driver.name,
        driver.about,
        means,
        marks[edges],
        least,
        (FINE * least) ** 2,
        level,
    )


def _told(story: Story, one: _Series) -> Iterator[DetectedChange]:
    """The jumps of a series or, where there are none, its slow change."""
    ends = np.concatenate([[0.0], story.course.ends])

    def moment(edge: int) -> tuple[int, float | None]:
        return int(ends[edge]) + 1, float(story.course.times[edge]) if story.clock else None

    def middle(some: slice) -> tuple[int, float | None]:
        return moment(int(one.edges[(some.start + some.stop) // 2]))

    found = jumps(one.levels, one.least, one.floor)
    for jump in found:
        levels = one.shown(jump.before), one.shown(jump.after)
        yield DetectedChange(
            one.what,
            one.about,
            *moment(int(one.edges[jump.place])),
            *levels,
            jump.strength,
            one.kind,
        )
    slow = None if found else slope(one.levels, one.least, one.floor)
    if slow:
        levels = one.shown(slow.before), one.shown(slow.after)
        ended, began = middle(slow.after), middle(slow.before)
        yield DetectedChange(one.what, one.about, *ended, *levels, slow.strength, one.kind, *began)


def _worth(change: DetectedChange, story: Story) -> bool:
    """Whether the levels that would be told are worth a word, too."""
    low, high = sorted((change.before, change.after))
    if change.kind == "error":
        return high >= LOUD * low
    if change.kind == "share":
        return high - low >= SHARE
    return high - low >= (SHIFT * _scale(story) if change.kind == "target" else 0.0)


def _blocks_of_rows(story: Story) -> tuple[NDArray[np.int64], Vector]:
    """Edges of the blocks after the settling, and how many rows each block has."""
    ends = np.concatenate([[0.0], story.course.ends])
    settled = min(int(np.searchsorted(ends, SETTLING * ends[-1])), len(ends) - 2)
    edges = settled + _blocks(ends[settled:])
    return edges, np.diff(ends[edges])


def _sums(values: Vector, edges: NDArray[np.int64]) -> Vector:
    """Over blocks, from sums over stretches."""
    return np.asarray(np.diff(np.concatenate([[0.0], np.cumsum(values)])[edges]))


def _blocks(ends: Vector) -> NDArray[np.int64]:
    """Edges of blocks of neighbouring stretches, as places in ``ends``, whose first is the
    beginning: few, of enough rows.
    """
    stretches = len(ends) - 1
    rows = max(float(ends[-1] - ends[0]), 1.0)
    blocks = int(min(MOST_BLOCKS, stretches, max(1.0, rows // FEWEST_ROWS)))
    return np.unique(np.round(np.linspace(0, stretches, blocks + 1)).astype(np.int64))


def _scale(story: Story) -> float:
    """What a number is large or small beside: the spread of the target."""
    return float(story.errors.get("running mean", 0.0))
