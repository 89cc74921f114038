"""The settings of a query in plain values, and the arrays and schemas that follow from them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pyarrow as pa

from swordplay.estimators.model import LossName
from swordplay.keyed.bands import BandForm
from swordplay.keyed.group import Group
from swordplay.keyed.record import Form
from swordplay.spark.bucket import Bucket


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
    ``settings``).
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
        """Rows on their way: the key as text, the order as a whole number, the target as a number
        or place of a class.

        Keys are text of any size: a ``pa.string()`` holds 2 GiB at the most, and rows beyond would
        be another chunk.
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
