"""Predictions for a table whose targets are not known yet, by a model that a run has left.

Nothing is learned.

Intervals are calibrated on forecasts of the row right after the last learned one. A forecast
farther ahead is less accurate, so that the same interval would hold less than its level: rows
behind the first one have no interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from swordplay.estimators.coefficients import mixture_weights
from swordplay.tables import Refusal, open_table
from swordplay.tables.lean import values_of
from swordplay.tables.schema import KnownColumn
from swordplay.tracking.bulk import BulkTracker
from swordplay.tracking.errors import TrackingError, nothing_to_predict
from swordplay.tracking.job import Job
from swordplay.tracking.keyed import KeyedTracker
from swordplay.tracking.outputs import Outputs
from swordplay.tracking.taught import Taught, require_columns, unknown, without_target
from swordplay.tracking.threads import GLANCE, Ahead
from swordplay.tracking.tracker import Tracker
from swordplay.tracking.trackers import AnyTracker

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
    without_interval: int
    """Rows with a prediction and no interval, as they do not come right after the last learned
    row.
    """
    lag_weight: float
    """Weight of the experts that use the last targets, from 0 to 1; the mean over all keys."""
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

    Only the first row has an interval, or with a key the first row of each key.

    Parameters
    ----------
    job
        What to read and where to write; it has no state of its own.
    model
        Left by a run. It is used up: what it says of later rows is not to be relied on.
    state
        Where it was saved, for messages.
    told, watch
        Asked now and then whether to stop; called after every batch with rows that are done and,
        where known, their share.

    Raises
    ------
    TableError, TrackingError
        One or two lines: what is wrong, where, and what to do.
    """
    tracker, target = model.tracker, model.settings.target
    _require_learned(tracker, state)
    before = {**model.earlier, target: KnownColumn(None)}
    said = job.reading | {
        "target": None,
        "drop": (),
        "keep": None,
        "types": None,
        "before": before,
        "others": False,
    }
    outputs, rows, silent, far, refusals = Outputs(job, None), 0, 0, 0, list[Refusal]()
    lag_weight, known_keys = weight_of_last_targets(tracker), set[tuple[Any, ...]]()
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
        stack.callback(
            table.close
        )  # comes first on the way out: the reader may be waiting for a pipe
        stopped = False
        for batch in reader.arriving(GLANCE):
            if batch is not None:
                answers = tracker.track(
                    without_target(batch.rows, model), batch.numbers
                ).predictions.select(names)
                if "lower" in names:
                    is_first = _first_rows(answers, model.settings.key, known_keys)
                    far += int(
                        np.count_nonzero(
                            ~is_first
                            & answers.column("lower").is_valid().to_numpy(zero_copy_only=False)
                        )
                    )
                    answers = _without_intervals(answers, ~is_first)
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
            outputs.finish()
    news = tuple(unknown(table, before))
    return Predicted(
        rows, len(refusals), tuple(refusals[:FEW]), silent, news, far, lag_weight, stopped, partial
    )


def _first_rows(
    answers: pa.RecordBatch, key: Sequence[str], known: set[tuple[Any, ...]]
) -> NDArray[np.bool_]:
    """Which predictions are of the row right after the last learned one: row 1 of the table, or the
    first row of each key.

    Parameters
    ----------
    answers
        Predictions of some rows, with the columns of the key.
    key
        Names of these columns.
    known
        Keys of earlier rows; those of these rows are added.
    """
    if not key:
        return np.asarray(answers.column("row").to_numpy() == 1)
    columns = {f"key {k}": answers.column(name) for k, name in enumerate(key)}
    groups = (
        pa.table({**columns, "place": np.arange(len(answers))})
        .group_by(list(columns))
        .aggregate([("place", "min")])
    )
    is_first = np.zeros(len(answers), dtype=bool)
    for one, place in zip(
        _tuples(groups.select(list(columns))), groups.column("place_min").to_pylist(), strict=True
    ):
        is_first[place] = one not in known
        known.add(one)
    return is_first


def _tuples(rows: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*map(values_of, rows.columns), strict=True)


def _without_intervals(answers: pa.RecordBatch, which: NDArray[np.bool_]) -> pa.RecordBatch:
    """The same predictions with null for the ends of the intervals of some rows."""
    columns = [
        pc.if_else(pa.array(which), None, values) if name in ("lower", "upper") else values
        for name, values in zip(answers.schema.names, answers.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=answers.schema)


def weight_of_last_targets(tracker: AnyTracker) -> float:
    """Weight of the experts that use the last targets, "no change" included, from 0 to 1.

    The mean over all keys.
    """
    if isinstance(tracker, BulkTracker):
        weights_of_keys = tracker.table.weight_of_last_targets()[tracker.counts.rows > 0]
        return float(weights_of_keys.mean()) if len(weights_of_keys) else 0.0
    every = list(tracker.trackers.values()) if isinstance(tracker, KeyedTracker) else [tracker]
    models: list[Any] = [
        one.contestants for one in every if isinstance(one, Tracker) and one.started
    ]
    layers = [one.model.second_order for one in models]
    # Without competing experts there are none of this kind: either none uses the last targets, or
    # all do (--lags K).
    weights = [{} if layer is None else mixture_weights(layer) for layer in layers]
    shares = [one.get("second order with lags", 0.0) + one.get("no change", 0.0) for one in weights]
    return float(np.mean(shares)) if shares else 0.0


def _require_learned(tracker: AnyTracker, state: str) -> None:
    """Raise an error if the model has not learned any row."""
    if not tracker.started:
        raise TrackingError(
            f"the model in {state} has not learned anything yet. Let it learn first: swordplay "
            "learn."
        )


def without_answers(names: Any) -> list[str]:
    """Columns of predictions whose targets are not known."""
    return [name for name in names if name not in ANSWERS]
