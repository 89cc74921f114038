"""``track_stream``, ``track_table`` and ``learn_table``: a model for each key of a Spark frame."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import timedelta
from importlib.util import find_spec
from typing import Any

from pyspark.sql import functions, types

from swordplay.core import arguments, extras
from swordplay.estimators.model_settings import (
    AUTO,
    LossName,
    checked_curves,
    checked_lags,
    regression_loss,
)
from swordplay.intervals import SwordIntervals
from swordplay.spark.columns import Columns, labels
from swordplay.spark.plan import QueryPlan, frozen_settings
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
MAX_BUCKETS = 1 << 20
WATERMARK = "spark.watermarkDelayMs"
"""Entry of a column's metadata in which Spark keeps the delay of its watermark."""


def track_stream(
    df: Any,
    *,
    key: str | Sequence[str],
    features: Sequence[str],
    target: str,
    order: str,
    loss: LossName = "squared",
    classes: Sequence[Any] | None = None,
    lags: int | str = AUTO,
    curves: str | None = AUTO,
    level: float | None = 0.9,
    keep: Sequence[str] = (),
    start: Any = None,
    buckets: int = 64,
    forget: int | timedelta | None = None,
    delay: int | timedelta = 0,
) -> Any:
    """Predict every row of a stream by the model of its key, then learn from the row.

    The models are those of ``swordplay.sklearn``. Their state is kept in Spark's state store: a
    query that was killed continues from its checkpoint, processes each row exactly once and gives
    the same numbers.

    Parameters
    ----------
    df
        A streaming frame.
    key
        Column, or several columns, each of whose values has a model of its own: strings, whole
        numbers, booleans or dates.
    features
        Columns of numbers, d of them.
    target
        Column to predict: a number, or one of ``classes``. A row whose target is null is predicted
        and not learned. Send the same row again with its target when that is known.
    order
        Column of the time of a row: a timestamp, a date or a whole number, increasing within a key.
        Within a micro-batch rows may come in any order. A row is late, and refused, if its key has
        learned from a row of the same or a later order.
    loss
        ``"squared"`` or ``"huber"``, for numbers.
    classes
        All labels of a classification. ``prediction`` is then the most probable label, and
        ``probabilities`` an array.
    lags, curves
        As in :class:`swordplay.sklearn.SwordRegressor`. ``lags=0, curves=None`` is the cheap form:
        linear models of first order, with a third of the state.
    level
        Share of the targets that the intervals of numbers shall hold (``lower`` and ``upper``);
        None for no intervals.
    keep
        Other columns that are copied beside the predictions.
    start
        States that keys begin with: a frame that :func:`learn_table` has made with the same
        settings. It is read when a query starts for the first time, and may be left out when the
        query continues.
    buckets
        Number of groups of keys that Python is called for. It is part of the checkpoint and must
        never change. Choose at least the number of cores of the cluster, and some hundred keys in
        each.
    forget
        How far a key's last row may lie behind the newest row of its bucket before the key is
        forgotten, in units of the order: a ``timedelta`` for timestamps and dates. None keeps keys
        for ever.
    delay
        How long rows wait for earlier ones, in the same units: each is learned when its bucket has
        one that is so much later. Rows without a target do not wait.

    Returns
    -------
    A streaming frame with the columns key, order, target, ``prediction``, ``lower`` and ``upper``
    (of numbers; null where the interval has no ends, as in the first five rows of a key) and
    ``error``. A row that cannot be learned has a reason in ``error`` and no prediction, and does
    not change the model of its key.
    """
    if not getattr(df, "isStreaming", False):
        raise ValueError(
            "df must be a streaming frame, such as spark.readStream gives. For a table use "
            "track_table."
        )
    columns = Columns(df, key, features, target, order, labels(classes), keep)
    plan = _plan(
        columns,
        loss=loss,
        lags=lags,
        curves=curves,
        level=level,
        buckets=buckets,
        forget=forget,
        delay=delay,
        has_start=start is not None,
    )
    _require_state_store(df.sparkSession)
    _warn_of_partitions(df.sparkSession, plan.buckets)
    _warn_of_watermark(df)
    bucket = (
        functions.pmod(functions.xxhash64(functions.col("key")), functions.lit(plan.buckets))
        .cast("int")
        .alias("bucket")
    )
    rows = df.select(*columns.to_python()).select(bucket, "*")
    packed = rows.mapInArrow(packets(plan), PACKETS)
    answers = packed.groupBy("bucket").transformWithStateInPandas(
        statefulProcessor=BucketProcessor(plan),
        outputStructType=_answers(plan),
        outputMode="Append",
        timeMode="None",
        initialState=None if start is None else group_start(start, bucket, plan),
    )
    return answers.select(*columns.from_python(intervals=plan.level is not None))


def track_table(
    df: Any,
    *,
    key: str | Sequence[str],
    features: Sequence[str],
    target: str,
    order: str,
    loss: LossName = "squared",
    classes: Sequence[Any] | None = None,
    lags: int | str = AUTO,
    curves: str | None = AUTO,
    level: float | None = 0.9,
    keep: Sequence[str] = (),
) -> Any:
    """Predict and learn every row of a table, with the numbers of a stream of its rows in order.

    Spark sorts the rows by key and order, on disk if necessary, and Python reads them in constant
    memory.

    Parameters
    ----------
    df
        A frame that is not a stream.
    key, features, target, order
        As in :func:`track_stream`.
    loss
        ``"squared"`` or ``"huber"``, for numbers.
    classes
        All labels of a classification. ``prediction`` is then the most probable label, and
        ``probabilities`` an array.
    lags, curves
        As in :class:`swordplay.sklearn.SwordRegressor`. ``lags=0, curves=None`` is the cheap form:
        linear models of first order, with a third of the state.
    level
        Share of the targets that the intervals of numbers shall hold (``lower`` and ``upper``);
        None for no intervals.
    keep
        Other columns that are copied beside the predictions.

    Returns
    -------
    A frame with the same columns as the result of :func:`track_stream`. Only rows that repeat the
    key and order of another row are late.
    """
    _require_table("track_table", df)
    columns = Columns(df, key, features, target, order, labels(classes), keep)
    plan = _plan(columns, loss=loss, lags=lags, curves=curves, level=level)
    rows = _sorted_rows(df, columns, plan)
    return rows.mapInArrow(predict_sorted(plan), _answers(plan)).select(
        *columns.from_python(intervals=plan.level is not None)
    )


def learn_table(
    df: Any,
    *,
    key: str | Sequence[str],
    features: Sequence[str],
    target: str,
    order: str,
    loss: LossName = "squared",
    classes: Sequence[Any] | None = None,
    lags: int | str = AUTO,
    curves: str | None = AUTO,
    level: float | None = 0.9,
) -> Any:
    """Learn all rows of a table and return the model of each key, to start a stream with.

    Give the result to :func:`track_stream` as ``start``. Save it if the stream is to be started
    more than once:
    ``learn_table(...).write.parquet("learned")``, and ``start=spark.read.parquet("learned")``.

    Parameters
    ----------
    df
        A frame that is not a stream.
    key, features, target, order
        As in :func:`track_stream`.
    loss
        ``"squared"`` or ``"huber"``, for numbers.
    classes
        All labels of a classification. ``prediction`` is then the most probable label, and
        ``probabilities`` an array.
    lags, curves
        As in :class:`swordplay.sklearn.SwordRegressor`. ``lags=0, curves=None`` is the cheap form:
        linear models of first order, with a third of the state.
    level
        Share of the targets that the intervals of numbers shall hold (``lower`` and ``upper``);
        None for no intervals.

    Returns
    -------
    A frame with a row for each key: ``key`` as text, and ``fmt`` and ``blob``, its model, which
    ``open_state`` opens.
    """
    _require_table("learn_table", df)
    columns = Columns(df, key, features, target, order, labels(classes))
    plan = _plan(columns, loss=loss, lags=lags, curves=curves, level=level).portable()
    states = _sorted_rows(df, columns, plan).mapInArrow(learn_sorted(plan), STATE_SCHEMA)
    return states.select(
        "key", "fmt", functions.col("blob").alias("blob", metadata=settings_metadata(plan))
    )


def _require_table(function: str, df: Any) -> None:
    """Raise ValueError if ``df`` is a stream, or no Spark frame."""
    if getattr(df, "isStreaming", True):
        raise ValueError(
            f"df of {function} must be a Spark frame that is not a stream. For spark.readStream "
            "use track_stream."
        )


def _sorted_rows(df: Any, columns: Columns, plan: QueryPlan) -> Any:
    """Rows of a table in the plan's columns, sorted by key and order, each key in one partition."""
    return (
        df.select(*columns.to_python()).repartition("key").sortWithinPartitions(*plan.schema.names)
    )


def _plan(
    columns: Columns,
    *,
    loss: str,
    lags: int | str,
    curves: str | None,
    level: float | None,
    buckets: int = 1,
    forget: int | timedelta | None = None,
    delay: int | timedelta = 0,
    has_start: bool = False,
) -> QueryPlan:
    """Check the options of a query and return its plan."""
    buckets = arguments.integer("buckets", buckets)
    if buckets > MAX_BUCKETS:
        raise ValueError(
            f"buckets must be at most {MAX_BUCKETS}, got {buckets}. Some hundred keys in each "
            "are a good number."
        )
    checked_loss = regression_loss(loss)
    lags, curves = checked_lags(lags), checked_curves(curves)
    used_loss: LossName = "logistic" if columns.classes else checked_loss
    return QueryPlan(
        features=columns.features,
        loss=used_loss,
        classes=len(columns.classes or ()),
        lags=lags,
        curves=curves,
        buckets=buckets,
        frozen=frozen_settings(columns, used_loss, lags, curves, buckets),
        level=None if columns.classes else _level(level),
        keeps=bool(columns.keep),
        forget=None if forget is None else _span("forget", forget, columns),
        delay=_span("delay", delay, columns),
        has_start=has_start,
    )


def _span(name: str, span: Any, columns: Columns) -> int:
    """Return a time span in units of the order: microseconds, days or whole numbers."""
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
    """Warn of many more partitions than buckets: an empty task of a micro-batch takes 0.5 s."""
    partitions = int(session.conf.get("spark.sql.shuffle.partitions", "200"))
    if partitions > 2 * buckets:
        warnings.warn(
            f"spark.sql.shuffle.partitions is {partitions}, and there are {buckets} buckets: most "
            "tasks of a micro-batch will have nothing to do but start. Set it to the number of "
            "cores before the first start; it cannot be changed later.",
            stacklevel=3,
        )


def _warn_of_watermark(df: Any) -> None:
    """Warn of a watermark on the rows: Spark drops it in Python and allows no second one behind.

    Spark could pass it on (``eventTimeColumnName``), but a row that is later than the watermark
    would then end the query.
    """
    if found := [field.name for field in df.schema.fields if WATERMARK in field.metadata]:
        warnings.warn(
            f"df has a watermark on {found[0]!r}, which predictions do not have, and Spark takes "
            "no second one. For windows behind track_stream call withWatermark on what it "
            "returns, and not on df.",
            stacklevel=3,
        )


def _level(level: Any) -> float | None:
    """Check the level of the intervals: a share between 0 and 1, or None."""
    return None if level is None else SwordIntervals((level,)).levels[0]


def _answers(plan: QueryPlan) -> str:
    """Return ``QueryPlan.answers`` as a schema of Spark."""
    shares = "probabilities array<double>, " if plan.classes else ""
    ends = "" if plan.level is None else "lower double, upper double, "
    kept = ", kept string" if plan.keeps else ""
    return (
        f"key string, order long, target double, prediction double, {ends}{shares}error "
        f"string{kept}"
    )


def _require_state_store(session: Any) -> None:
    """Raise an error if protobuf or the RocksDB state store is missing.

    Without them Spark stops in its first batch, with messages that do not name the cause.
    """
    if find_spec("google") is None or find_spec("google.protobuf") is None:
        raise ImportError(
            "Spark needs protobuf for state in Python. Install it with: "
            f"{extras.pip_command('spark')}"
        )
    if not session.conf.get(PROVIDER, "").endswith("RocksDBStateStoreProvider"):
        raise ValueError(
            "a stateful query in Python needs the RocksDB state store. Call: "
            f"spark.conf.set({PROVIDER!r}, {ROCKS!r})."
        )
