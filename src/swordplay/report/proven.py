"""What a run has proven, stretch by stretch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from swordplay.report import words
from swordplay.report.page import Section, Table, Text

if TYPE_CHECKING:
    from swordplay.tracking.story import Proven, Story

TITLE = "What is proven, stretch by stretch"
MOST_SHOWN = 12
"""Stretches in the table, those with the strongest proof."""
WHAT = (
    "From what it saw, a run can prove how well others can have done at the best: all linear "
    "models of the scaled columns "
    "whose coefficients stay fixed within a stretch and are, together, no larger than the largest "
    "of {learner}'s own "
    "first-order experts there."
)


def section(story: Story) -> tuple[Section, ...]:
    """The stretches of which something is proven.

    Nothing where there are no proofs, a line where they say nothing.
    """
    if not story.proven:
        return ()
    said = [one for one in story.proven if one.says_something]
    what = WHAT.format(learner=story.learner)
    if not said:
        nothing = (
            f" In none of {_stretches(len(story.proven))} does that say anything here: the bound "
            "on what they might have saved "
            f"is larger than all that {story.learner} lost."
        )
        return (Section(TITLE, (Text(what + nothing),)),)
    ahead = sum(one.bound < 0.0 for one in said)
    text = (
        f"{what} In {len(said)} of {_stretches(len(story.proven))} that says something"
        + (
            f"; in {ahead} of them every such model lost more than {story.learner}."
            if ahead
            else "."
        )
        + " Losses are those that it learns from: "
        + ("squared errors" if story.task == "regression" else "log losses")
        + ", each row's divided by the squared length of its scaled columns."
    )
    clearest = sorted(said, key=lambda one: -one.at_least)[:MOST_SHOWN]
    shown = [one for one in said if one in clearest]
    dated = bool(story.clock) and all(
        math.isfinite(one.began) and math.isfinite(one.ended) for one in shown
    )
    head = (
        *(("from", "to") if dated else ()),
        "rows",
        f"the least that one can have lost, of what {story.learner} did",
    )
    shares = words.percents([one.at_least for one in shown])
    rows = tuple(
        (*(_dates(one) if dated else ()), f"{one.first:,} to {one.last:,}", share)
        for one, share in zip(shown, shares, strict=True)
    )
    caption = (
        ""
        if len(shown) == len(said)
        else f"The {len(shown)} stretches with the strongest proof, of {len(said)}"
    )
    numbers = (2, 3) if dated else (0, 1)
    return (Section(TITLE, (Text(text), Table(caption, head, rows, numbers))),)


def _dates(one: Proven) -> tuple[str, str]:
    """Both ends of a stretch, as fine as its own length deserves."""
    span = one.ended - one.began
    return words.moment(one.began, span), words.moment(one.ended, span)


def _stretches(count: int) -> str:
    return f"{count:,} stretch{'' if count == 1 else 'es'}"
