"""A learner for every key of a Spark frame."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import timedelta
from importlib.util import find_spec
from typing import Any, Unpack

from pyspark.sql import functions, types

from swordplay.core import arguments, extras
from swordplay.core.options import completed, spelled_out
from swordplay.estimators.model import regression_loss
from swordplay.intervals import SwordIntervals
from swordplay.spark.columns import Columns, labels
from swordplay.spark.options import (
    USUAL,
    USUAL_OF_LEARNERS,
    USUAL_OF_TABLES,
    LearnerOptions,
    StreamOptions,
    TableOptions,
)
from swordplay.spark.plan import Plan, frozen_settings
from swordplay.spark.processors import (
    PACKETS,
    STATE_SCHEMA,
    BucketProcessor,
    group_start,
    learn_sorted,
    packets,
    predict_sorted,
    settings_metadata,
)

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKS = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
MOST_BUCKETS = 1 << 20
WATERMARK = "spark.watermarkDelayMs"
"""Under which Spark notes, beside a column, how far its watermark lies behind."""


@spelled_out(StreamOptions, USUAL)
def track_stream(
    df: Any,
    *,
    key: str | Sequence[str],
    features: Sequence[str],
    target: str,
    order: str,
    **options: Unpack[StreamOptions],
) -> Any:
    """Predict every row of a stream by a learner of its key's own, then learn it.

    The learners are those of ``swordplay.sklearn``: raw columns, nothing to set. Their state lives
    in Spark's state store, so that a query that was killed goes on from its checkpoint with nothing
    lost, nothing doubled and the same numbers.

    Parameters
    ----------
    df
        A streaming frame.
    key
        Column whose values have a learner each: strings, whole numbers, truth values or dates. Or
        several of them.
    features
        Columns of numbers, d of them.
    target
        Column to predict: a number, or one of ``classes``. Rows where it is null are predicted by
        what their key knows, and not learned; when the answer is known, the same row with its
        target is.
    order
        Column that says when a row happened: a timestamp, a date or a whole number, increasing
        within a key. Within a micro-batch rows may come in any order; a row whose key has learned a
        later one (or one of the same order) is late, and refused.
    **options
        See :class:`StreamOptions`.

    Returns
    -------
    A streaming frame with the columns key, order, target, ``prediction``, ``lower`` and ``upper``
    (of numbers; null where the interval has no ends, as in the first five rows of a key) and
    ``error``. A row that cannot be learned has a reason in ``error``, no prediction, and has left
    no trace in its key's learner.
    """
    asked = completed("track_stream", options, USUAL)
    if not getattr(df, "isStreaming", False):
        raise ValueError(
            "df must be a streaming frame, such as spark.readStream gives. For a table use "
            "track_table."
        )
    columns = Columns(df, key, features, target, order, labels(asked["classes"]), asked["keep"])
    plan = _plan(columns, asked)
    _require_state_store(df.sparkSession)
    _warn_of_partitions(df.sparkSession, plan.buckets)
    _warn_of_watermark(df)
    bucket = (
        functions.pmod(functions.xxhash64(functions.col("key")), functions.lit(plan.buckets))
        .cast("int")
        .alias("bucket")
    )
    rows = df.select(*columns.inwards()).select(bucket, "*")
    packed = rows.mapInArrow(packets(plan), PACKETS)
    answers = packed.groupBy("bucket").transformWithStateInPandas(
        statefulProcessor=BucketProcessor(plan),
        outputStructType=_answers(plan),
        outputMode="Append",
        timeMode="None",
        initialState=None if asked["start"] is None else group_start(asked["start"], bucket, plan),
    )
    return answers.select(*columns.outwards(intervals=plan.level is not None))


@spelled_out(TableOptions, USUAL_OF_TABLES)
def track_table(
    df: Any,
    *,
    key: str | Sequence[str],
    features: Sequence[str],
    target: str,
    order: str,
    **options: Unpack[TableOptions],
) -> Any:
    """The same for a table that is there already: the same numbers as a stream of its rows in
    order.

    Rows are sorted by key and order (Spark sorts on disk where it has to), and Python walks along
    them in constant memory.

    Parameters
    ----------
    df
        A frame that is not a stream.
    key, features, target, order
        As in :func:`track_stream`.
    **options
        See :class:`TableOptions`.

    Returns
    -------
    A frame with the same columns as :func:`track_stream` gives. The only rows that are late are
    those that repeat the key and order of another.
    """
    asked = completed("track_table", options, USUAL_OF_TABLES)
    rows, columns, plan = _sorted("track_table", df, (key, features, target, order), asked)
    return rows.mapInArrow(predict_sorted(plan), _answers(plan)).select(
        *columns.outwards(intervals=plan.level is not None)
    )


@spelled_out(LearnerOptions, USUAL_OF_LEARNERS)
def learn_table(
    df: Any,
    *,
    key: str | Sequence[str],
    features: Sequence[str],
    target: str,
    order: str,
    **options: Unpack[LearnerOptions],
) -> Any:
    """What the learner of each key knows after all rows of a table: a stream can begin with it
    (``start=``).

    Keep it, if the stream is to be started more than once:
    ``learn_table(...).write.parquet("learned")``, and ``start=spark.read.parquet("learned")``.

    Parameters
    ----------
    df
        A frame that is not a stream.
    key, features, target, order
        As in :func:`track_stream`.
    **options
        See :class:`LearnerOptions`.

    Returns
    -------
    A frame with a row for each key: ``key`` as text, ``fmt`` and ``blob``, its learner, which
    ``open_state`` opens.
    """
    asked = completed("learn_table", options, USUAL_OF_LEARNERS)
    rows, _, plan = _sorted(
        "learn_table", df, (key, features, target, order), {**USUAL_OF_TABLES, **asked}
    )
    alone = plan.portable()
    found = rows.mapInArrow(learn_sorted(alone), STATE_SCHEMA)
    return found.select(
        "key", "fmt", functions.col("blob").alias("blob", metadata=settings_metadata(alone))
    )


def _sorted(
    function: str, df: Any, names: tuple[Any, Any, Any, Any], asked: TableOptions
) -> tuple[Any, Columns, Plan]:
    """The rows of a table by key and order, its columns, and what is done to them."""
    if getattr(df, "isStreaming", True):
        raise ValueError(
            f"df of {function} must be a Spark frame that is not a stream. For spark.readStream "
            "use track_stream."
        )
    columns = Columns(df, *names, labels(asked["classes"]), asked["keep"])
    plan = _plan(columns, {**USUAL, **asked, "buckets": 1})
    return (
        df.select(*columns.inwards()).repartition("key").sortWithinPartitions(*plan.schema.names),
        columns,
        plan,
    )


def _plan(columns: Columns, asked: StreamOptions) -> Plan:
    """Settings that make sense, for columns that are there."""
    buckets = arguments.integer("buckets", asked["buckets"])
    if buckets > MOST_BUCKETS:
        raise ValueError(
            f"buckets must be at most {MOST_BUCKETS}, got {buckets}. Some hundred keys in each "
            "are a good number."
        )
    checked = regression_loss(asked["loss"])
    lags, loss = (
        arguments.integer("lags", asked["lags"], least=0),
        "logistic" if columns.classes else checked,
    )
    return Plan(
        features=columns.features,
        loss=loss,
        classes=len(columns.classes or ()),
        lags=lags,
        buckets=buckets,
        frozen=frozen_settings(columns, loss, lags, buckets),
        level=None if columns.classes else _level(asked["level"]),
        keeps=bool(columns.keep),
        forget=None if asked["forget"] is None else _span("forget", asked["forget"], columns),
        delay=_span("delay", asked["delay"], columns),
        begun=asked["start"] is not None,
    )


def _span(name: str, span: Any, columns: Columns) -> int:
    """A stretch of time in units of the order: microseconds of timestamps, days of dates, or as
    it is.
    """
    kind = columns.types[columns.order]
    if not isinstance(span, timedelta):
        return arguments.integer(name, span, least=0)
    if isinstance(kind, types.TimestampType | types.TimestampNTZType):
        return arguments.integer(name, span // timedelta(microseconds=1), least=0)
    if isinstance(kind, types.DateType):
        return arguments.integer(name, span // timedelta(days=1), least=0)
    raise TypeError(
        f"{name} must be a whole number where {columns.order!r} holds whole numbers, got {span!r}."
    )


def _warn_of_partitions(session: Any, buckets: int) -> None:
    """A task costs half a second however little it has to do, and Spark's own default is 200 of
    them.
    """
    partitions = int(session.conf.get("spark.sql.shuffle.partitions", "200"))
    if partitions > 2 * buckets:
        warnings.warn(
            f"spark.sql.shuffle.partitions is {partitions}, and there are {buckets} buckets: most "
            "tasks of a micro-batch will have nothing to do but start. Set it to the number of "
            "cores before the first start; it cannot be changed later.",
            stacklevel=4,
        )


def _warn_of_watermark(df: Any) -> None:
    """Spark loses a watermark on the way through Python, and allows none behind it where there was
    one before.

    It could be handed on (``eventTimeColumnName``), but then a row that comes later than the
    watermark ends the query.
    """
    if found := [field.name for field in df.schema.fields if WATERMARK in field.metadata]:
        warnings.warn(
            f"df has a watermark on {found[0]!r}, which predictions do not have, and Spark takes "
            "no second one. For windows "
            "behind track_stream call withWatermark on what it returns, and not on df.",
            stacklevel=4,
        )


def _level(level: Any) -> float | None:
    """A share between 0 and 1, or None."""
    return None if level is None else SwordIntervals((level,)).levels[0]


def _answers(plan: Plan) -> str:
    """``Plan.answers`` in Spark's words."""
    shares = "probabilities array<double>, " if plan.classes else ""
    ends = "" if plan.level is None else "lower double, upper double, "
    kept = ", kept string" if plan.keeps else ""
    return (
        f"key string, order long, target double, prediction double, {ends}{shares}error "
        f"string{kept}"
    )


def _require_state_store(session: Any) -> None:
    """What a stateful query needs.

    Without it Spark stops in its first batch, with messages that do not say why.
    """
    if find_spec("google") is None or find_spec("google.protobuf") is None:
        raise ImportError(
            "Spark needs protobuf for state in Python. Install it with: "
            f"{extras.pip_command('spark')}"
        )
    if not session.conf.get(PROVIDER, "").endswith("RocksDBStateStoreProvider"):
        raise ValueError(
            "a stateful query in Python needs the RocksDB state store. Say: "
            f"spark.conf.set({PROVIDER!r}, {ROCKS!r})."
        )
