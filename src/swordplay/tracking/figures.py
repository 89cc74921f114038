"""A run in figures: what ``swordplay track --json`` prints and ``swordplay.track`` returns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from swordplay import __version__
from swordplay.tracking.accounts import Outcome
from swordplay.tracking.changes import changes
from swordplay.tracking.keyed_story import KeyedStory, KeyLine
from swordplay.tracking.story import Story
from swordplay.tracking.verdict import verdict

AnyStory = Story | KeyedStory
"""The results of a run over one series, or over many keys."""


def figures(outcome: Outcome, story: AnyStory, files: Mapping[str, str]) -> dict[str, Any]:
    """Text, numbers, lists and dictionaries only.

    All but the last two are the same however often the run was interrupted.

    Parameters
    ----------
    outcome, story
        Of the run.
    files
        What was written, by what it is.
    """
    match story:
        case KeyedStory():
            own = _of_keys(story)
        case _:
            own = _of_series(outcome, story)
    return _run(outcome, story) | own | _end(outcome, files)


def _run(outcome: Outcome, story: AnyStory) -> dict[str, Any]:
    """What every run has to tell, of one series or of many."""
    return {
        "swordplay": __version__,
        "source": story.source,
        "target": story.target,
        "task": story.task,
        "why": outcome.tracker.recognised.why,
        "rows": outcome.tracker.rows,
        "predicted": story.rows,
        "unlabelled": story.unlabelled,
        "refused": story.refused,
        "first_refused": [refusal._asdict() for refusal in outcome.refusals],
        "measure": story.measure,
        "learner": story.learner,
        "errors": dict(story.errors),
        "verdict": verdict_of(outcome, story),
    }


def _end(outcome: Outcome, files: Mapping[str, str]) -> dict[str, Any]:
    return {
        "remarks": list(outcome.remarks),
        "files": dict(files),
        "seconds": round(outcome.seconds, 3),
        "rows_per_second": round(outcome.tracker.rows / max(outcome.seconds, 1e-9)),
    }


def verdict_of(outcome: Outcome, story: AnyStory) -> str:
    """What is said of the learner beside the baselines; empty where there is nothing to say."""
    lags = outcome.tracker.settings.lags != 0
    if not isinstance(story, Story):
        return verdict(
            story.errors, story.task, story.rows, lags=lags, same_key=isinstance(story, KeyedStory)
        )
    confusion = None if story.task == "regression" else story.confusion
    return verdict(story.errors, story.task, story.rows, lags=lags, confusion=confusion)


def _of_series(outcome: Outcome, story: Story) -> dict[str, Any]:
    """Of a run over one series."""
    return {
        **_more(story),
        "best_step_size": story.best_step if story.rows else None,
        "effective_step_size": outcome.tracker.effective_step_size,
        "changes": [one._asdict() for one in changes(story)],
        "columns": [column._asdict() for column in story.columns],
        "worst": [moment._asdict() for moment in story.worst],
    }


def _more(story: Story) -> dict[str, Any]:
    """The figures that are not the measure."""
    if story.task == "regression":
        return {"mean_absolute_errors": dict(story.more), **_intervals(story)}
    return {name.lower().replace(" ", "_"): value for name, value in story.more.items()}


def _intervals(story: AnyStory) -> dict[str, Any]:
    """How they did, where there are any."""
    return {} if story.intervals is None else {"intervals": story.intervals._asdict()}


def _of_keys(story: KeyedStory) -> dict[str, Any]:
    """Of a run over many keys."""
    return {
        "columns": [column._asdict() for column in story.columns],
        "key": list(story.key),
        "keys": story.keys,
        "keys_ahead": story.ahead,
        **_intervals(story),
        "spread": [
            {**one._asdict(), "ratio": one.ratio if math.isfinite(one.ratio) else None}
            for one in story.spread
        ],
        **{
            name: [_line(line, story.key) for line in getattr(story, name)]
            for name in ("asked", "best", "worst", "largest")
        },
    }


def _line(line: KeyLine, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        "key": dict(zip(names, line.key, strict=True)),
        "rows": line.rows,
        "errors": dict(line.errors),
    }
