"""Settings of a query, the schemas that follow from them, and the settings that must not change."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from swordplay.estimators.model_settings import AUTO, LossName
from swordplay.keyed.key_table import KeyTable
from swordplay.keyed.record_layout import KeyModel, RecordLayout

if TYPE_CHECKING:
    from swordplay.spark.columns import Columns


ORDER_TYPES = {
    "timestamp": "a timestamp",
    "timestamp_ntz": "a timestamp without a zone",
    "date": "a date",
}
"""Types of orders that are not whole numbers: these count in units of their own."""

START_SETTING = "start"
"""Name of the setting that says whether keys began with states learned from a table.

It is the only setting that may be left out later.
"""


@dataclass(frozen=True)
class QueryPlan:
    """The settings of a query, in plain values."""

    features: tuple[str, ...]
    loss: LossName
    classes: int
    """Number of classes; 0 for a regression."""
    lags: int | str
    """As in ``SwordRegressor``."""
    buckets: int
    frozen: tuple[tuple[str, str], ...] = ()
    """Settings that a checkpoint is bound to, by name (see :func:`frozen_settings`)."""
    level: float | None = None
    """Of a regression: share of the targets that intervals shall hold; None for no intervals."""
    keeps: bool = False
    """Whether rows carry other columns along, as text."""
    forget: int | None = None
    """How far the last row of a key may lie behind before it is forgotten; None for ever.

    In units of the order, as ``delay``.
    """
    delay: int = 0
    """How long rows wait for earlier ones."""
    has_start: bool = False
    """Whether keys begin with states that were learned from a table."""
    curves: str | None = AUTO
    """As in ``SwordRegressor``."""

    @property
    def model(self) -> KeyModel:
        """What every key learns with."""
        return KeyModel(
            len(self.features),
            self.loss,
            classes=self.classes,
            lags=self.lags,
            curves=self.curves,
            level=self.level,
        )

    @property
    def digest(self) -> bytes:
        """Eight bytes that stand for the settings that a checkpoint is bound to."""
        return self.model.digest(self.features, self.buckets, self.frozen)

    def table(self, *, any_settings: bool = False, from_table: bool = False) -> KeyTable:
        """Return a table without keys, for the keys of a bucket.

        Parameters
        ----------
        any_settings
            Whether it accepts states of any settings with as many columns.
        from_table
            Whether it accepts states that were learned from a table (see :meth:`portable`).
        """
        digests = (self.digest, self.portable().digest) if from_table else (self.digest,)
        accepted = None if any_settings else digests
        return KeyTable(self.model, digests=accepted, layout=_layout(self.model))

    def portable(self) -> QueryPlan:
        """Return the plan without settings of a stream: its states fit streams of any of these."""
        kept = tuple((name, value) for name, value in self.frozen if name != "buckets")
        return replace(self, buckets=1, frozen=kept, keeps=False, forget=None, delay=0)

    @property
    def schema(self) -> pa.Schema:
        """Schema of the rows that Python receives.

        The key is text, the order a whole number, the target a number or the index of a class. Keys
        are text of any size: a ``pa.string()`` holds 2 GiB at the most, and rows beyond would be
        another chunk.
        """
        numbers = [(f"x{j}", pa.float64()) for j in range(len(self.features))]
        kept = [("kept", pa.large_string())] if self.keeps else []
        return pa.schema(
            [
                ("key", pa.large_string()),
                ("order", pa.int64()),
                *numbers,
                ("target", pa.float64()),
                *kept,
            ]
        )

    @property
    def answers(self) -> pa.Schema:
        """Schema of the rows with their predictions; a class is the index of its label."""
        number = pa.float64()
        shares = [("probabilities", pa.list_(number))] if self.classes else []
        ends = [] if self.level is None else [("lower", number), ("upper", number)]
        always = [
            ("key", pa.string()),
            ("order", pa.int64()),
            ("target", number),
            ("prediction", number),
        ]
        kept = [("kept", pa.string())] if self.keeps else []
        return pa.schema([*always, *ends, *shares, ("error", pa.string()), *kept])


@lru_cache(maxsize=4)
def _layout(model: KeyModel) -> RecordLayout:
    """Make the layout of records once in a process, and not once for each bucket."""
    return RecordLayout(model)


def frozen_settings(
    columns: Columns, loss: str, lags: int | str, curves: str | None, buckets: int
) -> tuple[tuple[str, str], ...]:
    """Names and JSON values of the settings that a checkpoint is bound to.

    The order of the labels counts, because learners know labels by their positions.
    """
    settings = {
        "key": columns.keys if len(columns.keys) > 1 else columns.keys[0],
        "features": columns.features,
        "target": columns.target,
        "order": columns.order,
        "type of order": ORDER_TYPES.get(
            columns.types[columns.order].simpleString(), "a whole number"
        ),
        "loss": loss,
        "classes": columns.classes,
        "lags": lags,
        "curves": curves,
        "buckets": buckets,
    }
    return tuple((name, json.dumps(value)) for name, value in settings.items())


def setting_changes(saved: Mapping[str, str], mine: Mapping[str, str]) -> list[str]:
    """Return a sentence about every setting that differs: its saved and its present value."""
    was = dict(saved)
    began_with = was.pop(START_SETTING, None)
    found = [
        f"{name} was {was[name]} and is {mine.get(name)}"
        for name in was
        if was[name] != mine.get(name)
    ]
    is_late = START_SETTING in mine and began_with is None
    return [
        *found,
        *(
            ["start was not given, and is given now that keys have begun without it"]
            if is_late
            else []
        ),
    ]


def check_settings(saved: Mapping[str, str], mine: Mapping[str, str]) -> None:
    """Refuse settings that differ from those of the first start.

    Raises
    ------
    ValueError
        Names each setting that has changed.
    """
    if changed := setting_changes(saved, mine):
        raise ValueError(
            "the state in this checkpointLocation was saved with other settings: "
            f"{'; '.join(changed)}. Start the query as it "
            "was started first, or give it a new checkpointLocation."
        )
