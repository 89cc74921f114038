"""Class labels as numbers 0..K-1, in arrays and one by one."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import short_repr
from swordplay.core.checkpoint import MAX_INT_BITS
from swordplay.estimators.dict_columns import dump_names, load_names


def check_classes(classes: Any) -> Any:
    """Classes that somebody names before their labels come.

    A fraction is none, as scikit-learn takes it for a measurement.
    """
    found = label_array("classes", classes)
    if found.ndim != 1:
        raise ValueError(
            f"classes must be a list of labels, got {short_repr(classes)}. Give all labels that "
            "may come."
        )
    if not _are_labels(found):
        raise ValueError(
            "classes must be whole numbers, truth values or strings, got "
            f"{short_repr(found.tolist())}. Convert them."
        )
    return found


def label_array(name: str, values: Any) -> Any:
    """Labels as an array that keeps different labels different.

    numpy cuts off NUL characters at the end of strings, and makes strings of the numbers beside a
    string: a list of strings of which one ends so becomes an array of objects, and a list of both
    kinds is refused.

    Raises
    ------
    ValueError, TypeError
        If entries are missing, of both kinds, or neither numbers nor strings; says which one.
    """
    plain = check_entries(name, values)
    return arguments.without_mask(name, plain)


def check_entries(name: str, values: Any) -> Any:
    """Targets or labels as they are, or as an array of objects where numpy would change strings of
    a list.

    None is left to the caller, and so is whatever has not one dimension.
    """
    if values is None or getattr(getattr(values, "dtype", None), "kind", "O") != "O":
        return values
    array = arguments.without_mask(name, values)
    if array.ndim != 1 or array.dtype.kind not in "OUS":
        return values
    entries = list(values) if array.dtype.kind != "O" else array.tolist()
    words = [isinstance(entry, str) for entry in entries]
    for k, entry in enumerate(entries):
        if arguments.is_missing(entry):
            raise ValueError(
                f"{name} must not be missing, got {short_repr(entry)} at index {k}. Leave out such "
                "rows."
            )
        if not (
            words[k] or isinstance(entry, bytes | np.bool_ | Decimal) or arguments.is_real(entry)
        ):
            raise TypeError(
                f"{name} must hold numbers or strings, got {short_repr(entry, 40)} "
                f"({type(entry).__name__}) at index {k}. Convert it, or leave out such rows."
            )
    if any(words) and not all(words):
        odd, word = entries[words.index(False)], entries[words.index(True)]
        raise TypeError(
            f"{name} must hold either numbers or strings, got {short_repr(odd, 40)} "
            f"({type(odd).__name__}) beside {short_repr(word, 40)} "
            f"(str). Convert it, such as with [str(label) for label in {name}]."
        )
    if array.dtype.kind == "U" and any(entry.endswith("\0") for entry in entries):
        return np.array(entries, dtype=object)
    return values


def add_classes(known: Any, more: Any) -> Any:
    """Classes that were known, and behind them those that join, so that no column of
    ``predict_proba`` moves.
    """
    _require_kind(known, more)
    if np.array_equal(known, more):  # as where all classes are declared in every call
        return known
    late = np.unique(more[~np.isin(more, known)])
    return np.concatenate([known, late]) if len(late) else known


def class_numbers(classes: Any, y: Any) -> Any:
    """The place of each label among the classes."""
    _require_kind(classes, y)
    if (
        len(classes) == 2 and ((second := y == classes[1]) | (y == classes[0])).all()
    ):  # the usual case, in a fifth of the time
        return second.astype(np.intp)
    order = np.argsort(classes)
    found = order[np.minimum(np.searchsorted(classes, y, sorter=order), len(classes) - 1)]
    strange = classes[found] != y
    if strange.any():
        raise ValueError(
            f"y holds the label {y[strange][0]!r}, which is none of the classes "
            f"{short_repr(classes.tolist())}. "
            "Declare it with classes=, or let predict_then_learn take it in."
        )
    return found


def dump_classes(classes: Any) -> Any:
    """Classes as a checkpoint holds them: numbers as they are, strings as text."""
    if classes.dtype.kind not in "UO":
        return classes
    if classes.dtype.kind == "O" and not all(isinstance(label, str) for label in classes):
        raise ValueError(
            f"classes_ must be numbers or strings to be saved, got {short_repr(classes.tolist())}."
        )
    return json.dumps([classes.dtype.str, classes.tolist()])


def load_classes(saved: Any) -> Any:
    """And back.

    Raises
    ------
    ValueError
        If there are no such classes.
    """
    if not isinstance(saved, str):
        classes = np.asarray(saved)
    else:
        dtype, labels = json.loads(saved)
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            raise ValueError(f"its classes are {short_repr(labels)}, and not strings.")
        classes = (
            np.array(labels, dtype=object)
            if dtype == np.dtype(object).str
            else _words(dtype, labels)
        )
    if (
        classes.ndim != 1
        or not 1 <= len(classes) == len(np.unique(classes))
        or not _are_labels(classes)
    ):
        raise ValueError(
            f"its classes are {short_repr(classes.tolist())}, and not different labels."
        )
    return classes


def _are_labels(classes: Any) -> bool:
    """Whether labels can be like these: strings or numbers, of doubles whole numbers only."""
    if classes.dtype.kind == "f":
        return bool((np.isfinite(classes) & (np.floor(classes) == classes)).all())
    return _have_an_order(classes)


def _have_an_order(labels: Any) -> bool:
    """Whether labels are numbers or strings, which numpy can sort."""
    return labels.dtype.kind in "iubfU" or (
        labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels)
    )


def _words(dtype: Any, labels: list[str]) -> Any:
    """Strings, with room for longer ones if their type says so and is no attempt to fill the
    memory.
    """
    classes = np.array(labels, dtype=np.str_)
    width = re.fullmatch(r"[<>=|]U(\d{1,4})", dtype) if isinstance(dtype, str) else None
    return classes.astype(f"U{max(int(width[1]), classes.itemsize // 4)}") if width else classes


def _require_kind(classes: Any, labels: Any) -> None:
    """Labels that can be saved.

    Strings and numbers have no common order, and a label of the other kind is a mistake.
    """
    for some in (classes, labels):
        if not _have_an_order(some):
            raise ValueError(
                f"labels must be numbers, truth values or strings, got {short_repr(some.tolist())} "
                f"of {some.dtype}. Convert y, such as with y.astype(str)."
            )
    whole = classes.dtype.kind in "iub" and labels.dtype.kind in "iub"
    if (
        whole and np.result_type(classes, labels).kind == "f"
    ):  # the only type that numpy finds for both
        raise ValueError(
            f"labels of {labels.dtype} would be rounded beside classes of {classes.dtype}. "
            f"Convert y to {classes.dtype}."
        )
    if (classes.dtype.kind in "USO") != (labels.dtype.kind in "USO"):
        raise ValueError(
            f"labels must stay of one kind: the classes are {short_repr(classes.tolist())}, "
            f"got {short_repr(np.unique(labels).tolist())}. Convert y."
        )


PLAIN: dict[type, Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
}
"""What a label is, whatever a class derived from these says of itself: so it is compared, and so
it is saved.
"""


class LabelIndex:
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
