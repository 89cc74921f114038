"""Settings of a query, the schemas that follow from them, and the settings that must not change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from swordplay.estimators.model_settings import LossName
from swordplay.keyed.bands import BandForm
from swordplay.keyed.group import Group
from swordplay.keyed.record import Form
from swordplay.spark.bucket import Bucket

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
class Plan:
    """The settings of a query, in plain values."""

    features: tuple[str, ...]
    loss: LossName
    classes: int
    """How many; 0 for a regression."""
    lags: int
    buckets: int
    frozen: tuple[tuple[str, str], ...] = ()
    """What must be the same whenever a checkpoint is taken up again, by name, in words (see
    :func:`frozen_settings`).
    """
    level: float | None = None
    """Of a regression: what share of the truths its intervals are to hold.

    None for no intervals.
    """

    keeps: bool = False
    """Whether rows carry other columns along, as text."""
    forget: int | None = None
    """How far the last row of a key may lie behind before it is forgotten, in units of the order.

    None for ever.
    """
    delay: int = 0
    """How long rows wait for earlier ones, in units of the order."""
    begun: bool = False
    """Whether keys begin with what they have learned from a table."""

    @property
    def models(self) -> int:
        """Models of each key: two classes share one."""
        return self.classes if self.classes > 2 else 1

    def group(self, *, any_settings: bool = False, begun: bool = False) -> Bucket:
        """A bucket without keys.

        Parameters
        ----------
        any_settings
            Whether it takes states of any settings with as many columns.
        begun
            Whether it takes states that were learned from a table (see :meth:`portable`).
        """
        form = _form(len(self.features), self.loss, self.lags)
        essence = [self.features, self.loss, self.classes, self.lags, self.buckets, len(form.fresh)]
        digest = None if any_settings else _digest([*essence, *self.frozen])
        other = self.portable().group().fingerprint if begun else None
        return Bucket(Group(form, self.models, digest, other), _bands(self.level))

    def portable(self) -> Plan:
        """The plan without settings of a stream: its states fit every stream with the others."""
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
        """Rows with their predictions; a class is told by its place."""
        number = pa.float64()
        shares = [("probabilities", pa.list_(number))] if self.classes else []
        ends = [] if self.level is None else [("lower", number), ("upper", number)]
        told = [
            ("key", pa.string()),
            ("order", pa.int64()),
            ("target", number),
            ("prediction", number),
        ]
        kept = [("kept", pa.string())] if self.keeps else []
        return pa.schema([*told, *ends, *shares, ("error", pa.string()), *kept])


def _digest(essence: list[Any]) -> bytes:
    return hashlib.sha256(json.dumps(essence).encode()).digest()[:8]


@lru_cache(maxsize=4)
def _form(dim: int, loss: LossName, lags: int) -> Form:
    """Made once in a process and not once for each bucket."""
    return Form(dim, loss, lags)


@lru_cache(maxsize=4)
def _bands(level: float | None) -> BandForm | None:
    """Likewise."""
    return None if level is None else BandForm(level)


def frozen_settings(
    columns: Columns, loss: str, lags: int, buckets: int
) -> tuple[tuple[str, str], ...]:
    """Names and JSON values of the settings that a checkpoint is bound to.

    The order of the labels counts, because learners know labels by their positions.
    """
    told = {
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
        "buckets": buckets,
    }
    return tuple((name, json.dumps(value)) for name, value in told.items())


def setting_changes(saved: Mapping[str, str], mine: Mapping[str, str]) -> list[str]:
    """Sentences about every setting that differs: its saved and its present value."""
    was = dict(saved)
    begun = was.pop(START_SETTING, None)
    found = [
        f"{name} was {was[name]} and is {mine.get(name)}"
        for name in was
        if was[name] != mine.get(name)
    ]
    is_late = START_SETTING in mine and begun is None
    return [
        *found,
        *(
            ["start was not given, and is given now that keys have begun without it"]
            if is_late
            else []
        ),
    ]


def check_settings(saved: Mapping[str, str], mine: Mapping[str, str]) -> None:
    """Refuse settings that are not those of the first start.

    Raises
    ------
    ValueError
        Names each that has changed.
    """
    if changed := setting_changes(saved, mine):
        raise ValueError(
            "the state in this checkpointLocation was saved with other settings: "
            f"{'; '.join(changed)}. Start the query as it "
            "was started first, or give it a new checkpointLocation."
        )
