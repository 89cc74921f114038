"""Checks of class labels, and their conversion to class numbers 0 to K - 1 and back."""

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

# ---------------------------------------------------------------------- arrays of labels


def check_classes(classes: Any) -> Any:
    """Return labels that are declared before their rows come, as an array.

    Raises
    ------
    ValueError
        If they are no list of strings, booleans or whole numbers; scikit-learn takes fractions
        for the targets of a regression.
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
    """Return labels as an array in which different labels stay different.

    numpy removes NUL characters at the end of strings, and converts numbers beside a string to
    strings. A list in which a string ends with NUL becomes an array of objects; a list of both
    strings and numbers is refused.

    Parameters
    ----------
    name
        Name of the argument, for messages.
    values
        A list, array or series.

    Raises
    ------
    ValueError, TypeError
        Names the entry that is missing, or neither a number nor a string.
    """
    return arguments.without_mask(name, check_entries(name, values))


def check_entries(name: str, values: Any) -> Any:
    """Return targets or labels; a list that numpy would change becomes an array of objects.

    Only lists and arrays of objects with one dimension are checked; None and others pass.

    Raises
    ------
    ValueError, TypeError
        Names the entry that is missing, or neither a number nor a string.
    """
    if values is None or getattr(getattr(values, "dtype", None), "kind", "O") != "O":
        return values
    array = arguments.without_mask(name, values)
    if array.ndim != 1 or array.dtype.kind not in "OUS":
        return values
    entries = list(values) if array.dtype.kind != "O" else array.tolist()
    is_string = [isinstance(entry, str) for entry in entries]
    for k, entry in enumerate(entries):
        if arguments.is_missing(entry):
            raise ValueError(
                f"{name} must not be missing, got {short_repr(entry)} at index {k}. Leave out such "
                "rows."
            )
        is_number = isinstance(entry, bytes | np.bool_ | Decimal) or arguments.is_real(entry)
        if not (is_string[k] or is_number):
            raise TypeError(
                f"{name} must hold numbers or strings, got {short_repr(entry, 40)} "
                f"({type(entry).__name__}) at index {k}. Convert it, or leave out such rows."
            )
    if any(is_string) and not all(is_string):
        number, string = entries[is_string.index(False)], entries[is_string.index(True)]
        raise TypeError(
            f"{name} must hold either numbers or strings, got {short_repr(number, 40)} "
            f"({type(number).__name__}) beside {short_repr(string, 40)} "
            f"(str). Convert it, such as with [str(label) for label in {name}]."
        )
    if array.dtype.kind == "U" and any(entry.endswith("\0") for entry in entries):
        return np.array(entries, dtype=object)
    return values


def add_classes(known: Any, labels: Any) -> Any:
    """Return the known classes, followed by new labels in sorted order.

    The columns of ``predict_proba`` thus never move.
    """
    _check_same_kind(known, labels)
    if np.array_equal(known, labels):  # all classes are declared again in every call
        return known
    new = np.unique(labels[~np.isin(labels, known)])
    return np.concatenate([known, new]) if len(new) else known


def class_numbers(classes: Any, y: Any) -> Any:
    """Return the position of each label among the classes, shape ``(T,)``.

    Raises
    ------
    ValueError
        If a label is none of the classes.
    """
    _check_same_kind(classes, y)
    if len(classes) == 2:  # five times as fast as sorting
        is_second = y == classes[1]
        if (is_second | (y == classes[0])).all():
            return is_second.astype(np.intp)
    order = np.argsort(classes)
    found = order[np.minimum(np.searchsorted(classes, y, sorter=order), len(classes) - 1)]
    is_unknown = classes[found] != y
    if is_unknown.any():
        raise ValueError(
            f"y holds the label {y[is_unknown][0]!r}, which is none of the classes "
            f"{short_repr(classes.tolist())}. Declare it with classes=, or let predict_then_learn "
            "take it in."
        )
    return found


def dump_classes(classes: Any) -> Any:
    """Return classes as a checkpoint holds them: numbers as an array, strings as JSON."""
    if classes.dtype.kind not in "UO":
        return classes
    if classes.dtype.kind == "O" and not all(isinstance(label, str) for label in classes):
        raise ValueError(
            f"classes_ must be numbers or strings to be saved, got {short_repr(classes.tolist())}."
        )
    return json.dumps([classes.dtype.str, classes.tolist()])


def load_classes(saved: Any) -> Any:
    """Return the classes that :func:`dump_classes` returned.

    Raises
    ------
    ValueError
        If it cannot have returned this.
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
            else _string_array(dtype, labels)
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
    """Return whether these can be labels: strings, or numbers of which floats are whole."""
    if classes.dtype.kind == "f":
        return bool((np.isfinite(classes) & (np.floor(classes) == classes)).all())
    return _are_sortable(classes)


def _are_sortable(labels: Any) -> bool:
    """Return whether labels are all numbers or all strings, which numpy can sort."""
    return labels.dtype.kind in "iubfU" or (
        labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels)
    )


def _string_array(dtype: Any, labels: list[str]) -> Any:
    """Return an array of strings, of the saved width if that is at most four digits.

    A damaged file could otherwise ask for a width that fills the memory.
    """
    classes = np.array(labels, dtype=np.str_)
    width = re.fullmatch(r"[<>=|]U(\d{1,4})", dtype) if isinstance(dtype, str) else None
    return classes.astype(f"U{max(int(width[1]), classes.itemsize // 4)}") if width else classes


def _check_same_kind(classes: Any, labels: Any) -> None:
    """Refuse labels that cannot be saved, or compared with the known classes."""
    for array in (classes, labels):
        if not _are_sortable(array):
            raise ValueError(
                "labels must be numbers, truth values or strings, got "
                f"{short_repr(array.tolist())} of {array.dtype}. Convert y, such as with "
                "y.astype(str)."
            )
    are_whole = classes.dtype.kind in "iub" and labels.dtype.kind in "iub"
    if are_whole and np.result_type(classes, labels).kind == "f":
        # numpy has no integer type for both, such as int64 beside uint64, and would take doubles
        raise ValueError(
            f"labels of {labels.dtype} would be rounded beside classes of {classes.dtype}. "
            f"Convert y to {classes.dtype}."
        )
    if (classes.dtype.kind in "USO") != (labels.dtype.kind in "USO"):
        raise ValueError(
            f"labels must stay of one kind: the classes are {short_repr(classes.tolist())}, "
            f"got {short_repr(np.unique(labels).tolist())}. Convert y."
        )


# ---------------------------------------------------------------------- single labels

BUILT_IN: dict[type, Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    str: str.__str__,
}
"""Conversions of instances of subclasses to the built-in types.

A subclass may compare and print as it likes; labels are compared and saved as built-in values.
"""


class LabelIndex:
    """Class numbers of labels in order of appearance; ``False`` and ``True`` are added together."""

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        """Class number of each label."""

    def __len__(self) -> int:
        return len(self.numbers)

    def check(self, label: Any) -> Any:
        """Return a label as a boolean, a finite number or a string.

        Raises
        ------
        TypeError, ValueError
            If it is none of these.
        """
        if type(label) is bool or type(label) is str:
            return label
        if isinstance(label, np.generic):
            label = label.item()
        if not isinstance(label, bool | int | float | str):
            raise TypeError(
                f"y must be a truth value, a number or a string, got {short_repr(label)} "
                f"({type(label).__name__}). Convert it."
            )
        if not isinstance(label, bool):
            convert = next(call for kind, call in BUILT_IN.items() if isinstance(label, kind))
            label = convert(label)
        if isinstance(label, float) and not math.isfinite(label):
            raise ValueError(
                f"y must be finite, got {label}. Leave out rows whose label is missing."
            )
        if isinstance(label, int) and label.bit_length() > MAX_INT_BITS:
            raise ValueError(
                f"y must be a number of at most {MAX_INT_BITS} bits, got one of "
                f"{label.bit_length()}. Give it as text."
            )
        return label

    def add(self, label: Any) -> int:
        """Return the class number of a checked label, which is added if it is new."""
        if label not in self.numbers:
            for new in (False, True) if isinstance(label, bool) else (label,):
                self.numbers.setdefault(new, len(self.numbers))
        return self.numbers[label]

    def runs(self, labels: list[Any]) -> Iterator[tuple[int, list[int]]]:
        """Yield runs of checked labels; each begins where a new label is added.

        Yields
        ------
        first
            Index of the first label of the run.
        numbers
            Class numbers of the labels of the run.
        """
        first, run = 0, list[int]()
        for t, label in enumerate(labels):
            if label not in self.numbers and run:
                yield first, run
                first, run = t, []
            run.append(self.add(label))
        if run:
            yield first, run

    def to_json(self) -> str:
        """Return the labels in their order, as JSON."""
        return dump_names(self.numbers)

    def load_json(self, text: str) -> None:
        """Replace the labels by those that :meth:`to_json` returned.

        Raises
        ------
        TypeError, ValueError
            If one is no label, or occurs twice.
        """
        labels = [self.check(label) for label in load_names(text)]
        numbers = {label: number for number, label in enumerate(labels)}
        if len(numbers) < len(labels):
            raise ValueError(f"its labels are {short_repr(labels)}, and one of them occurs twice.")
        self.numbers = numbers
