"""Labels of classes that may appear at any time, each with its place among the classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.checkpoint import MAX_INT_BITS
from swordplay.estimators.named_rows import dump_names, load_names

PLAIN: dict[type, Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
}
"""What a label is, whatever a class derived from these says of itself: so it is compared, and so
it is saved.
"""


class Labels:
    """The place of each label, in the order in which they came. Truth values come in a pair."""

    def __init__(self) -> None:
        self.places: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self.places)

    def check(self, label: Any) -> Any:
        """A label that is a truth value, a finite number or a string."""
        if type(label) is bool or type(label) is str:
            return label  # the usual cases
        if isinstance(label, np.generic):
            label = label.item()
        if not isinstance(label, bool | int | float | str):
            raise TypeError(
                f"y must be a truth value, a number or a string, got {short_repr(label)} "
                f"({type(label).__name__})."
            )
        if not isinstance(label, bool):
            label = next(plain(label) for kind, plain in PLAIN.items() if isinstance(label, kind))
        if isinstance(label, float) and not math.isfinite(label):
            raise ValueError(
                f"y must be finite, got {label}. Leave out rows whose label is missing."
            )
        if isinstance(label, int) and label.bit_length() > MAX_INT_BITS:
            raise ValueError(
                f"y must be a number of at most {MAX_INT_BITS} bits, got one of "
                f"{label.bit_length()}."
            )
        return label

    def place(self, label: Any) -> int:
        """The place of a checked label, which joins if it is new."""
        if label not in self.places:
            for one in (False, True) if isinstance(label, bool) else (label,):
                self.places.setdefault(one, len(self.places))
        return self.places[label]

    def runs(self, labels: list[Any]) -> Iterator[tuple[int, list[int]]]:
        """Runs of checked labels between which classes join: where each begins, and the places
        of its labels.
        """
        first, run = 0, list[int]()
        for t, label in enumerate(labels):
            if label not in self.places and run:
                yield first, run
                first, run = t, []
            run.append(self.place(label))
        if run:
            yield first, run

    def dumps(self) -> str:
        """The labels, as text."""
        return dump_names(self.places)

    def loads(self, text: str) -> None:
        """Labels from text; refused if one is there twice."""
        labels = [self.check(label) for label in load_names(text)]
        places = {label: place for place, label in enumerate(labels)}
        if len(places) < len(labels):
            raise ValueError(
                f"its labels are {short_repr(labels)}, and one of them is there twice."
            )
        self.places = places
