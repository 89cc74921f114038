"""Predictions for a table whose targets are not known yet, by a model that a run has left; nothing is learned."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

import pyarrow as pa

from swordplay.application.tracking.errors import TrackingError, nothing_to_predict
from swordplay.application.tracking.job import Job
from swordplay.application.tracking.outputs import Outputs
from swordplay.application.tracking.taught import Taught, require_columns, unknown, without_target
from swordplay.application.tracking.threads import GLANCE, Ahead
from swordplay.application.tracking.trackers import AnyTracker
from swordplay.application.tracking.twice import TwiceTracker
from swordplay.data.tables import Refusal, open_table
from swordplay.data.tables.earlier import Earlier

ANSWERS = ("truth", "loss", "running_error")
"""Columns that predictions have only where targets are known."""
Watch = Callable[[int, float | None], None]
"""Is called with rows that are done, and their share of all where that is known."""
FEW = 5
"""Refused rows that are told one by one."""


class Predicted(NamedTuple):
    """What became of a table."""

    rows: int
    refused: int
    refusals: tuple[Refusal, ...]
    """The first few of them."""
    silent: int
    """Rows without a prediction: of a key that was never learned."""
    unknown: tuple[str, ...]
    """Columns that the model does not know."""
    stopped: bool
    partial: str | None = None
    """Where predictions are that a stopped run has left."""


def predict(
    job: Job,
    model: Taught,
    state: str,
    told: Callable[[], bool] = lambda: False,
    watch: Watch = lambda rows, share: None,
) -> Predicted:
    """Predict the rows of a table, each as the row that comes next.

    Parameters
    ----------
    job
        What to read and where to write; it has no state of its own.
    model
        Left by a run. It is used up: what it says of later rows is not to be relied on.
    state
        Where it was saved, for messages.
    told, watch
        Asked now and then whether to stop; called after every batch with rows that are done and, where known, their share.

    Raises
    ------
    TableError, TrackingError
        One or two lines: what is wrong, where, and what to do.
    """
    tracker, target = model.tracker, model.settings.target
    _require_learned(tracker, state)
    before = {**model.earlier, target: Earlier(None)}
    said = job.reading | {"target": None, "drop": (), "keep": None, "types": None, "before": before, "others": False}
    outputs, rows, silent, refusals = Outputs(job, None), 0, 0, list[Refusal]()
    with ExitStack() as stack:
        table = open_table(job.source, **said)
        stack.callback(table.close)
        require_columns(table, tracker, state, joined=False)
        stack.enter_context(outputs)
        names = [name for name in tracker.schema.names if name not in ANSWERS]
        schema = pa.schema([tracker.schema.field(name) for name in names])
        outputs.begin(schema, table.start.format if table.start else "csv")
        reader = Ahead(table.batches())
        stack.callback(reader.close)
        stack.callback(table.close)  # comes first on the way out: the reader may be waiting for a pipe
        stopped = False
        for batch in reader.arriving(GLANCE):
            if batch is not None:
                answers = tracker.track(without_target(batch.rows, model), batch.numbers).predictions.select(names)
                outputs.write(answers, batch.refusals)
                rows, silent = rows + len(answers), silent + answers.column("prediction").null_count
                refusals += batch.refusals
                watch(rows, table.share(batch.position))
            if stopped := told():
                break
        if not rows and not stopped:
            outputs.finish_refused()
            raise nothing_to_predict(table.name, len(refusals))
        partial = outputs.keep() if stopped else None
        if not stopped:
            outputs.finish(schema)
    news = tuple(unknown(table, before))
    return Predicted(rows, len(refusals), tuple(refusals[:FEW]), silent, news, stopped, partial)


def _require_learned(tracker: AnyTracker, state: str) -> None:
    """Refuse a model that knows nothing; one whose rows come twice predicts them as they come."""
    if not tracker.started:
        raise TrackingError(f"the model in {state} has not learned anything yet. Let it learn first: swordplay learn.")
    if isinstance(tracker, TwiceTracker):
        tracker.only_predicts = True


def without_answers(names: Any) -> list[str]:
    """Columns of predictions whose targets are not known."""
    return [name for name in names if name not in ANSWERS]
