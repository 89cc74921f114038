"""A run in figures: what ``swordplay track --json`` prints and ``swordplay.track`` returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swordplay import __version__
from swordplay.tracking.run import Outcome
from swordplay.tracking.story import Story


def figures(outcome: Outcome, story: Story, files: Mapping[str, str]) -> dict[str, Any]:
    """Text, numbers, lists and dictionaries only; all but the last two are the same however often the run was interrupted.

    Parameters
    ----------
    outcome, story
        Of the run.
    files
        What was written, by what it is.
    """
    tracker = outcome.tracker
    return {
        "swordplay": __version__,
        "source": story.source,
        "target": story.target,
        "task": story.task,
        "why": tracker.recognised.why,
        "rows": tracker.rows,
        "predicted": story.rows,
        "unlabelled": story.unlabelled,
        "refused": story.refused,
        "measure": story.measure,
        "errors": dict(story.errors),
        "best_step_size": story.best_step if story.rows else None,
        "effective_step_size": tracker.effective_step_size,
        "columns": [column._asdict() for column in story.columns],
        "worst": [moment._asdict() for moment in story.worst],
        "remarks": list(outcome.remarks),
        "files": dict(files),
        "seconds": round(outcome.seconds, 3),
        "rows_per_second": round(tracker.rows / max(outcome.seconds, 1e-9)),
    }
