"""``Columns``: checks the columns of a frame, and translates them for Python and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, functions, types

from swordplay.core.arguments import short_repr

WHOLE = (types.ByteType, types.ShortType, types.IntegerType, types.LongType)
NUMBERS = (*WHOLE, types.FloatType, types.DoubleType, types.DecimalType, types.BooleanType)
KEYS = (*WHOLE, types.StringType, types.BooleanType, types.DateType)
ORDERS = (*WHOLE, types.TimestampType, types.TimestampNTZType, types.DateType)
ADDED = ("prediction", "lower", "upper", "probabilities", "error")
"""Columns that answers have beside the key, the target and the order."""
FORMATS = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "ignoreNullFields": "false",
}
"""Formats in which kept columns are written as text, with microseconds."""
LABELS = (*WHOLE, types.StringType, types.BooleanType)


class Columns:
    """The columns of a frame by their roles: key, features, target, order and kept columns.

    Parameters
    ----------
    frame
        A Spark frame.
    key
        Name of a column, or several names.
    features, target, order
        Names of its columns.
    classes
        Labels of the target, or None where it is a number.
    keep
        Names of other columns that stand beside the predictions.
    """

    def __init__(
        self,
        frame: Any,
        key: str | Sequence[str],
        features: Sequence[str],
        target: str,
        order: str,
        classes: Sequence[Any] | None,
        keep: Sequence[str] = (),
    ) -> None:
        if isinstance(features, str) or not isinstance(features, Sequence) or not features:
            raise TypeError(
                "features must be a list of one or more names of columns, got "
                f"{short_repr(features)}."
            )
        if isinstance(keep, str) or not isinstance(keep, Sequence):
            raise TypeError(f"keep must be a list of names of columns, got {short_repr(keep)}.")
        keys = (key,) if isinstance(key, str) or not isinstance(key, Sequence) else tuple(key)
        if not keys:
            raise ValueError("key must be a column, or one or more columns, got none.")
        names = [*keys, *features, target, order]
        self.types = {field.name: field.dataType for field in frame.schema.fields}
        roles = {
            "key": keys,
            "features": features,
            "target": [target],
            "order": [order],
            "keep": keep,
        }
        for role, name in ((role, name) for role, some in roles.items() for name in some):
            if not isinstance(name, str) or name not in self.types:
                there = ", ".join(self.types)
                raise ValueError(
                    f"{role} names the column {short_repr(name)}, which is not there. The frame "
                    f"has: {there}."
                )
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(
                f"key, features, target and order must be different columns, got {twice} more "
                "than once."
            )
        if again := sorted({*keys, target, order}.intersection(keep)):
            raise ValueError(
                f"keep names {again}, which stand beside the predictions anyway. Leave them out."
            )
        if taken := sorted({*keys, target, order, *keep}.intersection(ADDED)):
            raise ValueError(
                "key, target and order must not be called as columns that are added, got "
                f"{taken}. Rename it."
            )
        self.keys, self.features, self.target, self.order, self.classes = (
            keys,
            tuple(features),
            target,
            order,
            classes,
        )
        self.keep = tuple(dict.fromkeys(keep))
        for name in keys:
            self._require("key", name, KEYS, "a string, a whole number, a truth value or a date")
        self._require("order", order, ORDERS, "a timestamp, a date or a whole number")
        for name in features:
            self._require("features", name, NUMBERS, "numbers")
        if classes is None:
            self._require(
                "target", target, NUMBERS, "numbers. For a classification give classes=[...]"
            )
        else:
            self._require(
                "target",
                target,
                LABELS,
                "strings, whole numbers or truth values, where classes are given",
            )

    def _require(self, role: str, name: str, kinds: tuple[Any, ...], wanted: str) -> None:
        kind = self.types[name]
        if not isinstance(kind, kinds):
            raise TypeError(
                f"{role} {name!r} must hold {wanted}; it is a column of {kind.simpleString()}. "
                "Cast it first."
            )

    def to_python(self) -> list[Column]:
        """Return the columns of ``QueryPlan.schema``, made of those of the frame."""
        numbers = [
            _column(name).cast("double").alias(f"x{j}") for j, name in enumerate(self.features)
        ]
        kept = (
            [functions.to_json(functions.struct(*map(_column, self.keep)), FORMATS).alias("kept")]
            if self.keep
            else []
        )
        return [self._as_text().alias("key"), self._as_whole(), *numbers, self._as_number(), *kept]

    def from_python(self, *, intervals: bool) -> list[Column]:
        """Return the columns of ``QueryPlan.answers`` with names and types of the frame."""
        keys = [
            column.cast(self.types[name]).alias(name)
            for name, column in zip(self.keys, self._from_text(), strict=True)
        ]
        rest = [
            self._from_whole(),
            self._label("target").alias(self.target),
            self._label("prediction").alias("prediction"),
        ]
        ends = [_column("lower"), _column("upper")] if intervals else []
        shares = [] if self.classes is None else [_column("probabilities")]
        schema = types.StructType([types.StructField(name, self.types[name]) for name in self.keep])
        kept = functions.from_json(_column("kept"), schema, FORMATS)
        return [
            *keys,
            *rest,
            *ends,
            *shares,
            _column("error"),
            *(kept.getField(name).alias(name) for name in self.keep),
        ]

    def _as_text(self) -> Column:
        """The key as text: of several columns a JSON list, null where one of them is."""
        if len(self.keys) == 1:
            return _column(self.keys[0]).cast("string")
        missing = functions.lit(False)
        for name in self.keys:
            missing = missing | _column(name).isNull()
        return functions.when(
            ~missing,
            functions.to_json(functions.array(*(_column(n).cast("string") for n in self.keys))),
        )

    def _from_text(self) -> list[Column]:
        if len(self.keys) == 1:
            return [_column("key")]
        parts = functions.from_json(_column("key"), types.ArrayType(types.StringType()))
        return [parts[k] for k in range(len(self.keys))]

    def _as_whole(self) -> Column:
        column, kind = _column(self.order), self.types[self.order]
        if isinstance(kind, types.TimestampType):
            column = functions.unix_micros(column)
        elif isinstance(kind, types.TimestampNTZType):
            column = functions.timestamp_diff("MICROSECOND", _epoch(), column)
        elif isinstance(kind, types.DateType):
            column = functions.unix_date(column)
        return column.cast("long").alias("order")

    def _from_whole(self) -> Column:
        column, kind = _column("order"), self.types[self.order]
        if isinstance(kind, types.TimestampType):
            column = functions.timestamp_micros(column)
        elif isinstance(kind, types.TimestampNTZType):
            column = functions.timestamp_add("MICROSECOND", column, _epoch())
        elif isinstance(kind, types.DateType):
            column = functions.date_from_unix_date(column.cast("int"))
        return column.cast(kind).alias(self.order)

    def _as_number(self) -> Column:
        column = _column(self.target)
        if self.classes is not None:
            place = functions.array_position(self._labels(), column)
            unknown = functions.lit(float("nan"))  # and null where there is no label
            column = functions.when(place > 0, (place - 1).cast("double")).when(place == 0, unknown)
        return column.cast("double").alias("target")

    def _label(self, name: str) -> Column:
        if self.classes is None:
            return _column(name)
        return functions.element_at(self._labels(), _column(name).cast("int") + 1)

    def _labels(self) -> Column:
        return functions.array(
            *(functions.lit(label).cast(self.types[self.target]) for label in self.classes or ())
        )


def labels(classes: Any) -> list[Any] | None:
    """Check that there are two or more different labels."""
    if classes is None:
        return None
    if isinstance(classes, str) or not isinstance(classes, Sequence):
        raise TypeError(f"classes must be a list of labels, got {short_repr(classes)}.")
    if (
        len(classes) < 2
        or len(set(classes)) < len(classes)
        or not all(isinstance(label, str | int) for label in classes)
    ):
        raise ValueError(
            "classes must be two or more different strings, whole numbers or truth values, got "
            f"{short_repr(classes)}."
        )
    return list(classes)


def _epoch() -> Column:
    """Return the beginning of 1970 without a zone."""
    return functions.lit("1970-01-01 00:00:00").cast("timestamp_ntz")


def _column(name: str) -> Column:
    quoted = name.replace("`", "``")
    return functions.col(f"`{quoted}`")
