"""The columns of a frame: checked before a query starts, and translated on the way in and out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, functions, types

from swordplay.base.arguments import shown

WHOLE = (types.ByteType, types.ShortType, types.IntegerType, types.LongType)
NUMBERS = (*WHOLE, types.FloatType, types.DoubleType, types.DecimalType, types.BooleanType)
KEYS = (*WHOLE, types.StringType, types.BooleanType, types.DateType)
ORDERS = (*WHOLE, types.TimestampType, types.DateType)
ADDED = ("prediction", "lower", "upper", "probabilities", "error")
LABELS = (*WHOLE, types.StringType, types.BooleanType)


class Columns:
    """Columns of a frame by what they are for.

    Parameters
    ----------
    frame
        A Spark frame.
    key, features, target, order
        Names of its columns.
    classes
        Labels of the target, or None where it is a number.
    """

    def __init__(
        self, frame: Any, key: str, features: Sequence[str], target: str, order: str, classes: Sequence[Any] | None
    ) -> None:
        if isinstance(features, str) or not isinstance(features, Sequence) or not features:
            raise TypeError(f"features must be a list of one or more names of columns, got {shown(features)}.")
        names = [key, *features, target, order]
        self.types = {field.name: field.dataType for field in frame.schema.fields}
        for role, name in (("key", key), *(("features", name) for name in features), ("target", target), ("order", order)):
            if not isinstance(name, str) or name not in self.types:
                there = ", ".join(self.types)
                raise ValueError(f"{role} names the column {shown(name)}, which is not there. The frame has: {there}.")
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"key, features, target and order must be different columns, got {twice} more than once.")
        if taken := sorted({key, target, order}.intersection(ADDED)):
            raise ValueError(f"key, target and order must not be called as columns that are added, got {taken}. Rename it.")
        self.key, self.features, self.target, self.order, self.classes = key, tuple(features), target, order, classes
        self._require("key", key, KEYS, "a string, a whole number, a truth value or a date")
        self._require("order", order, ORDERS, "a timestamp, a date or a whole number")
        for name in features:
            self._require("features", name, NUMBERS, "numbers")
        if classes is None:
            self._require("target", target, NUMBERS, "numbers. For a classification give classes=[...]")
        else:
            self._require("target", target, LABELS, "strings, whole numbers or truth values, where classes are given")

    def _require(self, role: str, name: str, kinds: tuple[Any, ...], wanted: str) -> None:
        kind = self.types[name]
        if not isinstance(kind, kinds):
            raise TypeError(f"{role} {name!r} must hold {wanted}; it is a column of {kind.simpleString()}. Cast it first.")

    def inwards(self) -> list[Column]:
        """Columns of ``Plan.schema``."""
        numbers = [_column(name).cast("double").alias(f"x{j}") for j, name in enumerate(self.features)]
        return [_column(self.key).cast("string").alias("key"), self._as_whole(), *numbers, self._as_number()]

    def outwards(self, *, intervals: bool) -> list[Column]:
        """Columns of ``Plan.answers`` under their own names and types."""
        key = _column("key").cast(self.types[self.key]).alias(self.key)
        rest = [self._from_whole(), self._label("target").alias(self.target), self._label("prediction").alias("prediction")]
        ends = [_column("lower"), _column("upper")] if intervals else []
        shares = [] if self.classes is None else [_column("probabilities")]
        return [key, *rest, *ends, *shares, _column("error")]

    def _as_whole(self) -> Column:
        column, kind = _column(self.order), self.types[self.order]
        if isinstance(kind, types.TimestampType):
            column = functions.unix_micros(column)
        elif isinstance(kind, types.DateType):
            column = functions.unix_date(column)
        return column.cast("long").alias("order")

    def _from_whole(self) -> Column:
        column, kind = _column("order"), self.types[self.order]
        if isinstance(kind, types.TimestampType):
            column = functions.timestamp_micros(column)
        elif isinstance(kind, types.DateType):
            column = functions.date_from_unix_date(column.cast("int"))
        return column.cast(kind).alias(self.order)

    def _as_number(self) -> Column:
        column = _column(self.target)
        if self.classes is not None:
            place = functions.array_position(self._labels(), column)
            column = functions.when(place > 0, place - 1)
        return column.cast("double").alias("target")

    def _label(self, name: str) -> Column:
        if self.classes is None:
            return _column(name)
        return functions.element_at(self._labels(), _column(name).cast("int") + 1)

    def _labels(self) -> Column:
        return functions.array(*(functions.lit(label).cast(self.types[self.target]) for label in self.classes or ()))


def labels(classes: Any) -> list[Any] | None:
    """Two or more different labels."""
    if classes is None:
        return None
    if isinstance(classes, str) or not isinstance(classes, Sequence):
        raise TypeError(f"classes must be a list of labels, got {shown(classes)}.")
    if len(classes) < 2 or len(set(classes)) < len(classes) or not all(isinstance(label, str | int) for label in classes):
        raise ValueError(f"classes must be two or more different strings, whole numbers or truth values, got {shown(classes)}.")
    return list(classes)


def _column(name: str) -> Column:
    quoted = name.replace("`", "``")
    return functions.col(f"`{quoted}`")
