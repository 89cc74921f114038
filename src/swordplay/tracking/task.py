"""Which question the target asks: how much, which of two, or which of several."""

from __future__ import annotations

from typing import Any, NamedTuple

from swordplay.core.arguments import short_repr
from swordplay.core.state import OneOf, damaged, fits_json, read_json
from swordplay.tables.errors import shell_name
from swordplay.tables.lean import values_of
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.story import Task

MOST_NUMBERS = 10
"""So many different whole numbers may be names of classes; with more they are amounts."""
ROWS_PER_NUMBER = 10
"""Names of classes come again: among fewer rows than this for each, few different numbers mean
little.
"""
MOST_HINTED = 2 * MOST_NUMBERS
"""With up to so many different whole numbers, amounts might be meant as classes: it is said how."""
MOST_CLASSES = 100
"""Beyond this a target does not name classes: every class has a model of its own."""
FEWEST_NAMES = 20
"""So many different words, most of them only once, name rows and no classes."""
TASKS: tuple[Task, ...] = ("regression", "binary", "multi-class")


class Recognised(NamedTuple):
    """A task, and why it is this one."""

    task: Task
    why: str
    hint: str = ""
    """What to say if something else was meant; empty where there is no doubt."""
    whole: bool = False
    """Whether whole numbers were taken for classes: any other number is no class then."""

    @property
    def of_classes(self) -> bool:
        """Whether classes are predicted, two or more; otherwise amounts."""
        return self.task != "regression"


LABELS = {"double": (int, float), "bool": (bool,), "string": (str,)}
"""Types of classes, by the name of the target's Arrow type."""


def read_task(text: Any, kind: Any) -> Recognised:
    """Read a task that was saved as a JSON list of its fields.

    Parameters
    ----------
    text
        As it was saved.
    kind
        Name of the target's Arrow type, which must be able to have the task.

    Raises
    ------
    ValueError
        If a field has a value that it cannot have, or the target another type.
    """
    found = Recognised(*read_json("recognised", text, (OneOf(TASKS), str, str, bool)))
    kinds = ("double", "bool") if found.task == "regression" else tuple(LABELS)
    if kind not in kinds or (found.whole and (kind != "double" or not found.of_classes)):
        raise damaged(f"the task is {tuple(found)} for a target of type {short_repr(kind)}")
    return found


def check_classes(classes: Any, kind: str) -> None:
    """Check that saved classes are a list of values of the target's Arrow type.

    Raises
    ------
    ValueError
        Names the classes.
    """
    if not fits_json(classes, [OneOf(LABELS.get(kind, ()))]):
        raise damaged(f"the classes are {short_repr(classes)} for a target of type {kind}")


def recognise(target: str, values: Any, wanted: Task | None = None, how: str = "") -> Recognised:
    """The task that a target's first values ask for.

    Parameters
    ----------
    target
        Its name, for messages.
    values
        A pyarrow array of numbers, truths, words or dates; nulls are missing.
    wanted
        What the user says it is.
    how
        How the values are written, where that is worth a word.
    """
    kind = str(values.type)
    distinct = values_of(values.drop_null().unique())
    if (
        kind != "double" or len(distinct) <= MOST_HINTED
    ):  # of more numbers none is named, and sorting them takes its time
        distinct.sort(key=repr)
    if kind not in ("double", "bool", "string", "null"):
        what = "times of the day" if kind.startswith("time6") else "dates"
        raise TrackingError(
            f"the target {target!r} holds {what}, which cannot be predicted. Choose another "
            "column as --target."
        )
    if kind == "string" and len(distinct) > min(
        MOST_CLASSES, max(FEWEST_NAMES - 1, 0.5 * (len(values) - values.null_count))
    ):
        raise too_many(
            target,
            distinct[0],
            f"{len(distinct):,} different words in {len(values) - values.null_count:,} rows",
        )
    if wanted == "regression" and kind == "string" and distinct:
        raise TrackingError(
            f"the target {target!r} holds words such as {short_repr(distinct[0])}, and a "
            "regression needs numbers. Leave out --task to predict the words; if they are numbers, "
            f"--types {shell_name(target)}=number says which one is not."
        )
    if not distinct:
        raise TrackingError(
            f"the target {target!r} is missing in all of the first {len(values):,} rows, so there "
            "is nothing to learn. Choose another column as --target, or leave these rows out."
        )
    written = f"; written {how}" if how else ""
    if wanted is not None:
        if wanted != "regression" and len(distinct) > MOST_CLASSES:
            raise too_many(target, distinct[0])
        return Recognised(wanted, f"you said so{written}")
    if kind != "double":
        several = len(distinct) > 2
        if len(distinct) > MOST_CLASSES:
            raise too_many(target, distinct[0])
        return Recognised(
            "multi-class" if several else "binary", f"{_listed(distinct)} are {_words(kind)}"
        )
    found = _of_numbers(distinct, len(values) - values.null_count)
    whole = all(number.is_integer() for number in distinct)
    return found._replace(
        why=f"{found.why}{written}",
        hint=_hint(target, found.task, distinct),
        whole=whole and found.task != "regression",
    )


def too_many(
    target: str, example: Any, count: str = f"more than {MOST_CLASSES} different words"
) -> TrackingError:
    """The error for a target with more different values than classes can have."""
    if isinstance(example, str):
        return TrackingError(
            f"the target {target!r} holds {count}, such as {short_repr(example)}: too many for "
            "classes, and no numbers as far as could be seen.\n"
            "Choose another column as --target; if they are numbers, --types "
            f"{shell_name(target)}=number says which one is not."
        )
    return TrackingError(
        f"the target {target!r} has more than {MOST_CLASSES} different values, too many for "
        "classes. Use --task regression if they are amounts, or choose another target."
    )


def _of_numbers(distinct: list[float], rows: int) -> Recognised:
    few = (
        f" (only {rows:,} row{'s' * (rows != 1)} to tell by; --task insists)"
        if rows < 2 * ROWS_PER_NUMBER
        else ""
    )
    if set(distinct) <= {0.0, 1.0} and distinct:
        return Recognised("binary", f"all values are 0 or 1{few}")
    if len(distinct) == 2 and not few:
        return Recognised("binary", f"there are two values, {_listed(distinct)}")
    if any(not number.is_integer() for number in distinct):
        return Recognised("regression", f"the values are numbers, not all of them whole{few}")
    if 2 < len(distinct) <= min(MOST_NUMBERS, rows // ROWS_PER_NUMBER):
        return Recognised(
            "multi-class", f"there are {len(distinct)} different whole numbers, {_listed(distinct)}"
        )
    return Recognised(
        "regression",
        f"the values are numbers, {len(distinct):,} different in the first {rows:,} rows{few}",
    )


def _hint(target: str, task: Task, distinct: list[float]) -> str:
    """Counts and ratings look like classes, and classes like counts: how to say which it is."""
    if (
        len(distinct) < 3
        or len(distinct) > MOST_HINTED
        or any(not number.is_integer() for number in distinct)
    ):
        return ""
    numbers = sorted(int(number) for number in distinct)
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        what = f"The target {target!r} has the whole numbers {numbers[0]} to {numbers[-1]}"
    else:
        what = (
            f"The target {target!r} has {len(numbers)} different whole numbers from "
            f"{numbers[0]} to {numbers[-1]}"
        )
    if task == "regression":
        return f"{what}: taken for amounts. If they name classes, say --task multi-class."
    return f"{what}: taken for classes. If they are amounts or ratings, say --task regression."


def _words(kind: str) -> str:
    return "truths" if kind == "bool" else "words"


def _listed(distinct: list[Any], most: int = 4) -> str:
    """The first few values, shortened.

    >>> _listed([1.0, 2.5, 3.0])
    '1, 2.5 and 3'
    """
    parts = [
        f"{value:g}" if isinstance(value, float) else short_repr(value, 24)
        for value in distinct[:most]
    ]
    if len(distinct) > most:
        return f"{', '.join(parts)} and more"
    return (
        " and ".join([", ".join(parts[:-1]), parts[-1]])
        if len(parts) > 1
        else "".join(parts) or "no value"
    )
