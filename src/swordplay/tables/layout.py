"""The columns of an input: their names, and what is made of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from swordplay.core.arguments import short_repr
from swordplay.tables.readings import Reading, from_declared
from swordplay.tables.readings.reading import DATES, NUMBER, TIME, TRUTH, WORD, known

TYPES = {str(kind): kind for kind in (NUMBER, TRUTH, WORD, TIME, *DATES, pa.null())}
HOW, LEFT = b"reading", b"left out"
"""Keys of a schema's metadata: how a column was read, and which columns were left out, why
(JSON).
"""

SHAPES: dict[str, type] = {
    "names": list,
    "types": list,
    "readings": dict,
    "stored": dict,
    "left": dict,
    "missing": list,
}
"""What the entries of a layout are in JSON."""


class Layout(NamedTuple):
    """Names of all columns in the input in their order, and the types of those that are kept."""

    names: tuple[str, ...]
    types: tuple[pa.DataType | None, ...]
    """None for a column that is left out, and null for one that has had no value so far."""
    readings: Mapping[str, Reading] = {}
    """Of columns whose values are not written plainly."""
    stored: Mapping[str, pa.DataType] = {}
    """What the values of these are in the input."""
    left: Mapping[str, str] = {}
    """Columns that cannot be used, and why."""
    missing: tuple[str, ...] = ()
    """Further texts that stand for nothing."""

    @property
    def schema(self) -> pa.Schema:
        """Of the columns that are kept; its metadata tell how they were read."""
        kept = [
            (name, kind)
            for name, kind in zip(self.names, self.types, strict=True)
            if kind is not None
        ]
        said = {name: reading.said for name, reading in self.readings.items() if reading.said}
        fields = [
            pa.field(name, kind, metadata={HOW: said[name]} if name in said else None)
            for name, kind in kept
        ]
        return pa.schema(
            fields, metadata={LEFT: json.dumps(dict(self.left))} if self.left else None
        )

    @property
    def input(self) -> pa.Schema:
        """The same columns as they are in the input, before they are read."""
        schema = self.schema.remove_metadata()
        return pa.schema(
            [(field.name, self.stored.get(field.name, field.type)) for field in schema]
        )

    def joined(self, kinds: Mapping[str, pa.DataType | None]) -> Layout:
        """The same, where columns that had no value so far, or were not there at all, have
        become what they are.
        """
        types = dict(zip(self.names, self.types, strict=True)) | dict(kinds)
        useless = {name: "it holds nested values" for name, kind in kinds.items() if kind is None}
        return self._replace(
            names=tuple(types), types=tuple(types.values()), left={**self.left, **useless}
        )

    def converted(
        self, rows: pa.RecordBatch
    ) -> tuple[pa.RecordBatch, dict[str, NDArray[np.bool_]]]:
        """Rows of the input as rows of the schema, and which values of which columns do not fit."""
        if not self.readings and not self.left:
            return rows, {}
        columns, bad = [], {}
        for name, values in zip(rows.schema.names, rows.columns, strict=True):
            if name in self.readings:
                values, wrong = self.readings[name].convert(values)
                if wrong.any():
                    bad[name] = wrong
            columns.append(values)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema), bad

    def known(self, values: pa.Array) -> pa.Array:
        """The same strings with null for the further texts that stand for nothing."""
        return known(values, self.missing) if self.missing and values.type == WORD else values

    def text(self, **details: str) -> str:
        """As JSON, with whatever else a format has to remember."""
        types = [None if kind is None else str(kind) for kind in self.types]
        more: dict[str, Any] = {
            "readings": {name: reading.declared() for name, reading in self.readings.items()},
            "stored": {name: str(kind) for name, kind in self.stored.items()},
            "left": dict(self.left),
            "missing": list(self.missing),
        }
        return json.dumps(
            {"names": self.names, "types": types, **{k: v for k, v in more.items() if v}, **details}
        )

    @classmethod
    def read(cls, text: str) -> tuple[Layout, dict[str, str]]:
        """The way back.

        Raises
        ------
        ValueError
            If the text is not one that :meth:`text` makes.
        """
        details = json.loads(text)
        if not isinstance(details, dict) or any(
            not isinstance(details.get(k, kind()), kind) for k, kind in SHAPES.items()
        ):
            raise ValueError(f"the layout of a table is {short_repr(text)}. Load an earlier state.")
        names, types = details.pop("names"), details.pop("types")
        texts = (*names, *details.get("left", {}).values(), *details.get("missing", ()))
        if len(types) != len(names) or not all(isinstance(one, str) for one in texts):
            raise ValueError(f"the layout of a table is {short_repr(text)}. Load an earlier state.")
        layout = cls(
            tuple(names),
            tuple(None if kind is None else TYPES[kind] for kind in types),
            {name: from_declared(one) for name, one in details.pop("readings", {}).items()},
            {name: TYPES[kind] for name, kind in details.pop("stored", {}).items()},
            details.pop("left", {}),
            tuple(details.pop("missing", ())),
        )
        return layout, details
