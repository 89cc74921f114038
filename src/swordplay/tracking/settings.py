"""What a user says about a table before it is tracked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from swordplay.core.state import Field, OneOf, read_json
from swordplay.estimators.model_settings import AUTO, RICH, LossName
from swordplay.tracking.ordered import AS_IT_IS, Order
from swordplay.tracking.story import Task
from swordplay.tracking.task import TASKS

LOSSES = ("squared", "huber")
NAMES = [str]
SAVED = (
    str,  # target
    OneOf((None, *TASKS)),  # task
    OneOf((AUTO, int)),  # lags
    OneOf((None, NAMES)),  # features
    NAMES,  # drop
    OneOf(LOSSES),  # loss
    NAMES,  # key
    OneOf((None, {str: str})),  # types
    NAMES,  # missing
    OneOf((None, bool)),  # header
    OneOf((None, NAMES)),  # id
    OneOf((None, Field(math.nextafter(0.0, 1.0), math.nextafter(1.0, 0.0)))),  # level
    OneOf((None, AUTO, RICH)),  # curves
)
"""Shape of the JSON text of :class:`Settings`, in the order of its fields."""


class Settings(NamedTuple):
    """What a user may say about a table; all but the target may be left unsaid."""

    target: str
    task: Task | None = None
    lags: int | str = 0
    """How many of the last targets join the columns.

    ``"auto"`` leaves it to the model whether they help.
    """
    features: tuple[str, ...] | None = None
    """Columns to use; all unless given."""
    drop: tuple[str, ...] = ()
    """Columns not to use."""
    loss: LossName = "squared"
    """Of a regression: ``"squared"`` or ``"huber"``."""
    key: tuple[str, ...] = ()
    """Columns whose values name series: each has a model, baselines and lags of its own."""
    types: Mapping[str, str] | None = None
    """What columns are, by name (see ``tables.open_table``); recognised unless given."""
    missing: tuple[str, ...] = ()
    """Further texts that stand for nothing."""
    header: bool | None = None
    """Whether CSV begins with names; recognised unless given."""
    id: tuple[str, ...] | None = None
    """Columns that predictions carry, and that are no features unless they hold dates.

    None for the date of the row.
    """
    level: float | None = None
    """Of a regression: what share of the truths its intervals are to hold.

    None for no intervals.
    """
    curves: str | None = None
    """``"auto"`` or ``"rich"`` for second-order experts beside the first-order ones; None for none.
    """

    @classmethod
    def from_json(cls, text: Any) -> Settings:
        """Read settings that were saved as a JSON list of their fields.

        Raises
        ------
        ValueError
            If a field is missing or has a value that it cannot have.
        """
        return cls(*read_json("settings", text, SAVED))

    @property
    def columns_of_lags(self) -> int:
        """How many of the last targets are columns of the table: none where the model has its
        own.
        """
        return 0 if self.lags == AUTO else int(self.lags)

    @property
    def model(self) -> dict[str, Any]:
        """Lags and curves of the model; a number of lags are columns of the table instead."""
        return {"lags": AUTO if self.lags == AUTO else 0, "curves": self.curves}

    @property
    def read(self) -> tuple[str, ...] | None:
        """The only columns to be read beside the target; None for all."""
        return None if self.features is None else (*self.features, *self.key, *(self.id or ()))

    @property
    def unread(self) -> tuple[str, ...]:
        """Columns that need not be read."""
        return tuple(name for name in self.drop if name not in (*self.key, *(self.id or ())))

    def reading(
        self,
        order: Order = AS_IT_IS,
        *,
        format: str | None = None,
        encoding: str = "utf-8",
        on_bad: str = "stop",
    ) -> dict[str, Any]:
        """How a table is to be read so that these columns are there, and the one to sort by."""
        return {
            "format": format,
            "target": self.target,
            "drop": order.unwanted(self.unread),
            "keep": order.wanted(self.read),
            "on_bad": on_bad,
            "encoding": encoding,
            "types": self.types,
            "missing": self.missing,
            "header": self.header,
        }
