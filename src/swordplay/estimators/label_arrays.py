"""Labels as scikit-learn has them: an array of classes, and the place of each label among them."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from swordplay.base.arguments import shown


def declared(classes: Any) -> Any:
    """Classes that somebody names before their labels come; a fraction is none, as scikit-learn takes it for a measurement."""
    found = np.asarray(classes)
    if not _are_labels(found):
        raise ValueError(f"classes must be whole numbers, truth values or strings, got {shown(found.tolist())}. Convert them.")
    return found


def joined(known: Any, more: Any) -> Any:
    """Classes that were known, and behind them those that join, so that no column of ``predict_proba`` moves."""
    _require_kind(known, more)
    if np.array_equal(known, more):  # as where all classes are declared in every call
        return known
    late = np.unique(more[~np.isin(more, known)])
    return np.concatenate([known, late]) if len(late) else known


def places(classes: Any, y: Any) -> Any:
    """The place of each label among the classes."""
    _require_kind(classes, y)
    if len(classes) == 2 and ((second := y == classes[1]) | (y == classes[0])).all():  # the usual case, in a fifth of the time
        return second.astype(np.intp)
    order = np.argsort(classes)
    found = order[np.minimum(np.searchsorted(classes, y, sorter=order), len(classes) - 1)]
    strange = classes[found] != y
    if strange.any():
        raise ValueError(
            f"y holds the label {y[strange][0]!r}, which is none of the classes {shown(classes.tolist())}. "
            "Declare it with classes=, or let predict_then_learn take it in."
        )
    return found


def dump(classes: Any) -> Any:
    """Classes as a checkpoint holds them: numbers as they are, strings as text."""
    if classes.dtype.kind not in "UO":
        return classes
    if classes.dtype.kind == "O" and not all(isinstance(label, str) for label in classes):
        raise ValueError(f"classes_ must be numbers or strings to be saved, got {shown(classes.tolist())}.")
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
            raise ValueError(f"its classes are {shown(labels)}, and not strings.")
        classes = np.array(labels, dtype=object) if dtype == np.dtype(object).str else _words(dtype, labels)
    if classes.ndim != 1 or not 1 <= len(classes) == len(np.unique(classes)) or not _are_labels(classes):
        raise ValueError(f"its classes are {shown(classes.tolist())}, and not different labels.")
    return classes


def _are_labels(classes: Any) -> bool:
    """Whether labels can be like these: of doubles, whole numbers only."""
    return classes.dtype.kind != "f" or bool((np.isfinite(classes) & (np.floor(classes) == classes)).all())


def _words(dtype: Any, labels: list[str]) -> Any:
    """Strings, with room for longer ones if their type says so and is no attempt to fill the memory."""
    classes = np.array(labels, dtype=np.str_)
    width = re.fullmatch(r"[<>=|]U(\d{1,4})", dtype) if isinstance(dtype, str) else None
    return classes.astype(f"U{max(int(width[1]), classes.itemsize // 4)}") if width else classes


def _require_kind(classes: Any, labels: Any) -> None:
    """Labels that can be saved; strings and numbers have no common order, and a label of the other kind is a mistake."""
    for some in (classes, labels):
        if some.dtype.kind not in "iubfUO" or (some.dtype.kind == "O" and not all(isinstance(label, str) for label in some)):
            raise ValueError(
                f"labels must be numbers, truth values or strings, got {shown(some.tolist())} of {some.dtype}. "
                "Convert y, such as with y.astype(str)."
            )
    whole = classes.dtype.kind in "iub" and labels.dtype.kind in "iub"
    if whole and np.result_type(classes, labels).kind == "f":  # the only type that numpy finds for both
        raise ValueError(
            f"labels of {labels.dtype} would be rounded beside classes of {classes.dtype}. Convert y to {classes.dtype}."
        )
    if (classes.dtype.kind in "USO") != (labels.dtype.kind in "USO"):
        raise ValueError(
            f"labels must stay of one kind: the classes are {shown(classes.tolist())}, "
            f"got {shown(np.unique(labels).tolist())}. Convert y."
        )
