"""Labels as scikit-learn has them: an array of classes, and the place of each label among them."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import numpy as np

from swordplay.core import arguments
from swordplay.core.arguments import short_repr


def declared(classes: Any) -> Any:
    """Classes that somebody names before their labels come.

    A fraction is none, as scikit-learn takes it for a measurement.
    """
    found = as_labels("classes", classes)
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


def as_labels(name: str, values: Any) -> Any:
    """Labels as an array that keeps different labels different.

    numpy cuts off NUL characters at the end of strings, and makes strings of the numbers beside a
    string: a list of strings of which one ends so becomes an array of objects, and a list of both
    kinds is refused.

    Raises
    ------
    ValueError, TypeError
        If entries are missing, of both kinds, or neither numbers nor strings; says which one.
    """
    plain = require_entries(name, values)
    return arguments.without_mask(name, plain)


def require_entries(name: str, values: Any) -> Any:
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


def joined(known: Any, more: Any) -> Any:
    """Classes that were known, and behind them those that join, so that no column of
    ``predict_proba`` moves.
    """
    _require_kind(known, more)
    if np.array_equal(known, more):  # as where all classes are declared in every call
        return known
    late = np.unique(more[~np.isin(more, known)])
    return np.concatenate([known, late]) if len(late) else known


def places(classes: Any, y: Any) -> Any:
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


def dump(classes: Any) -> Any:
    """Classes as a checkpoint holds them: numbers as they are, strings as text."""
    if classes.dtype.kind not in "UO":
        return classes
    if classes.dtype.kind == "O" and not all(isinstance(label, str) for label in classes):
        raise ValueError(
            f"classes_ must be numbers or strings to be saved, got {short_repr(classes.tolist())}."
        )
    return json.dumps([classes.dtype.str, classes.tolist()])


def load(saved: Any) -> Any:
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
