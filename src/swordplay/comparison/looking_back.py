"""What perfect tracking of a table would have been worth, for the report of a run over it."""

from __future__ import annotations

from swordplay.comparison.field import FEWEST_ROWS, Field, field
from swordplay.comparison.perspective import ROWS, LeftOut, Perspective, perspective
from swordplay.tables import TableError
from swordplay.theory.hindsight.sequence import Progress
from swordplay.tracking import Job, TrackingError
from swordplay.tracking.trackers import AnyTracker
from swordplay.tracking.whole import whole


def game_of_run(job: Job) -> Field | LeftOut:
    """The first rows of the table once more, as a game to be looked at from its end.

    Or why that cannot be.
    """
    if job.source == "-":
        return LeftOut("the rows came through a pipe and cannot be read again")
    if job.settings.key:
        return LeftOut("every key has a stream of its own")
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


def perspective_of_run(
    game: Field, tracker: AnyTracker, *, progress: Progress | None = None
) -> Perspective | LeftOut:
    """The first rows of a run beside the best sequences of hindsight.

    Parameters
    ----------
    game
        What :func:`game_of_run` made of them.
    tracker
        Of the run, as it ended.
    progress
        See :func:`perspective`.
    """
    view = perspective(game, progress=progress)
    learned = tracker.rows - tracker.unlabelled
    return view if isinstance(view, LeftOut) else view._replace(of=max(view.rows, learned))
