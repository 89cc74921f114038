"""The regret of a run against the best models of hindsight, for the section --hindsight adds."""

from __future__ import annotations

from swordplay.comparison.field import FEWEST_ROWS, Contest, field
from swordplay.comparison.perspective import ROWS, LeftOut, Perspective, perspective
from swordplay.tables import TableError
from swordplay.theory.hindsight import Progress
from swordplay.tracking import Job, TrackingError
from swordplay.tracking.trackers import AnyTracker
from swordplay.tracking.whole import whole


def perspective_of_run(
    job: Job, tracker: AnyTracker, *, progress: Progress | None = None
) -> Perspective | LeftOut:
    """Compute the regret on the first rows of a run, or say why that is not possible.

    The table of the run is read a second time.

    Parameters
    ----------
    job, tracker
        The run, over one series, and its tracker at the end.
    progress
        As for :func:`perspective`.
    """
    game = game_of_run(job)
    if isinstance(game, LeftOut):
        return game
    view = perspective(game, progress=progress)
    learned = tracker.rows - tracker.unlabelled
    return view if isinstance(view, LeftOut) else view._replace(of=max(view.rows, learned))


def game_of_run(job: Job) -> Contest | LeftOut:
    """Read the first rows of the table of a run as a game, or say why that is not possible."""
    if job.source == "-":
        return LeftOut("the rows came through a pipe and cannot be read again")
    try:
        most = ROWS if job.rows is None else min(ROWS, job.rows)
        how = {"encoding": job.encoding, "on_bad": job.on_bad}
        table = whole(job.source, job.settings, job.order, most=most, format=job.format, **how)
    except (
        TableError,
        TrackingError,
    ) as error:  # too few classes so far, or a file that has changed
        return LeftOut(f"the first rows alone cannot be looked at: {error}")
    if len(table.rows) < FEWEST_ROWS:
        return LeftOut(f"there are fewer than {FEWEST_ROWS} rows")
    return field(table.rows, table.targets, len(table.classes))._replace(model=job.settings.model)
