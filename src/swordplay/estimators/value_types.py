"""Rows by name that come one at a time, as JSON has them: numbers, truths, words, dates and gaps
become numbers by name.

What a column holds is decided by its first value and kept; a value of another kind is refused. What
is made of it is what ``swordplay track`` makes: a column for each of the first fifty words, and
circles of the hour, the week and the year for dates.
"""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, cast, final

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.types import State
from swordplay.estimators.dict_columns import NumericRows, dump_names, load_names, number
from swordplay.estimators.model import LARGEST

MOST_WORDS = 50
"""Of one column that get columns of their own; later ones share one."""
LONGEST_WORD = 1000
"""Characters of a word; longer ones are texts to be read, and no categories."""
DAY, WEEK, YEAR = 86_400.0, 7.0, 365.2425
"""Seconds of a day, days of a week and of a mean year."""
NOTHING = frozenset({"", "na", "n/a", "nan", "null", "none"})
"""Texts that stand for a missing value, in small letters."""
CIRCLES = tuple(
    f"{part}_{wave}" for part in ("hour", "weekday", "yearday") for wave in ("sin", "cos")
)
"""What a date becomes; a time of the day becomes the first two."""
OTHERS = None
"""Stands for all words beyond the first :data:`MOST_WORDS`."""
KINDS = {"number": "numbers", "word": "words", "date": "dates", "time": "times of the day"}
"""What a column may hold, and what many of them are called."""

COLUMNS = {"number": 1, "date": len(CIRCLES), "time": 2}
"""Columns of the model that a column of rows becomes.

One of words has one for each word that was learned.
"""

NUMBERS = frozenset({float})
Row = dict[Hashable, float | str]
"""Values that are not missing: numbers, words, and dates and times as ISO 8601 writes them."""


@final
class ValueTypes:
    """What every column holds, and the words that were learned."""

    def __init__(self) -> None:
        self.kinds: dict[Hashable, str] = {}
        self._usual: tuple[dict[Hashable, str], list[Hashable]] = (
            {},
            [],
        )  # names of the last row of numbers alone
        self.words: dict[Hashable, list[str | None]] = {}
        """Of each column of words, those with a column of their own, in the order in which they
        were learned.
        """
        self._counted = (0, 0), 0
        """Counts of names and of words, and the columns that these lead to."""
        self._most = 0, 0
        """Count of names, and the columns that these lead to at the most."""

    @property
    def columns(self) -> int:
        """Columns of a model that has learned a row with every known name and every known word."""
        known = len(self.kinds), sum(map(len, self.words.values()))
        if self._counted[0] != known:
            texts = [name for name, kind in self.kinds.items() if kind == "word"]
            others = sum(COLUMNS[kind] for kind in self.kinds.values() if kind != "word")
            now = others + sum(max(1, len(self.words.get(name, ()))) for name in texts)
            self._counted = known, now
        return self._counted[1]

    @property
    def most_columns(self) -> int:
        """Columns of such a model if every column of words had all words that it may have."""
        if self._most[0] != len(self.kinds):
            kinds = self.kinds.values()
            most = sum(MOST_WORDS + 1 if kind == "word" else COLUMNS[kind] for kind in kinds)
            self._most = len(self.kinds), most
        return self._most[1]

    def columns_with(self, rows: Sequence[Mapping[Hashable, Any]]) -> int:
        """Columns after rows that were not read yet: what a new name holds is decided by its
        first value.
        """
        if isinstance(rows, NumericRows):
            return self.columns + sum(name not in self.kinds for name in rows.names)
        fresh: dict[Hashable, int] = {}
        for row in rows:
            if not self.kinds.keys() >= row.keys():
                for name, value in row.items():
                    if not (
                        name in self.kinds or name in fresh or value is None or _is_nothing(value)
                    ):
                        fresh[name] = COLUMNS.get(_kind(value), 1) if isinstance(value, str) else 1
        return self.columns + sum(fresh.values())

    def columns_learned(self, rows: Iterable[Row]) -> int:
        """Columns after rows that were read are learned: words that are new have a column of
        their own then.
        """
        fresh: dict[Hashable, set[Any]] = {}
        for row in rows:
            for name, value in row.items():
                if (
                    type(value) is str
                    and self.kinds[name] == "word"
                    and value not in self.words.get(name, ())
                ):
                    fresh.setdefault(name, set()).add(value)
        known = {name: len(self.words.get(name, ())) for name in fresh}
        more = (
            min(MOST_WORDS + 1, known[name] + len(words)) - max(1, known[name])
            for name, words in fresh.items()
        )
        return self.columns + sum(more)

    def read(self, x: Any) -> Row:
        """A row made clean; its new columns are decided.

        Refused in words, and then nothing is decided.

        Parameters
        ----------
        x
            Values by name: numbers, truths, texts, dates or times of Python; None, NaN and an empty
            text are missing.
        """
        if not isinstance(x, Mapping):
            raise TypeError(
                f"x must hold values by name (a dictionary), got {short_repr(x)} "
                f"({type(x).__name__})."
            )
        if type(x) is dict and self._holds_numbers(x):  # the usual case
            return x.copy()
        row: Row = {}
        fresh: dict[Hashable, str] = {}
        for name, value in x.items():
            kind = self.kinds.get(name)
            if (
                kind == "number" and type(value) is float and -LARGEST <= value <= LARGEST
            ):  # the usual case
                row[name] = value
            elif (plain := _plain(name, value)) is not None:
                if kind is None:
                    dump_names([name])  # refuses names that no checkpoint can hold
                    kind = fresh[name] = _kind(plain)
                row[name] = _of_kind(name, kind, plain)
        self.kinds |= fresh
        return row

    def _holds_numbers(self, x: dict[Any, Any]) -> bool:
        """Whether all values are numbers in columns of numbers.

        Whatever is not plainly so is looked at one by one.
        """
        values = x.values()
        if (
            not values
            or not NUMBERS.issuperset(map(type, values))
            or not math.isfinite(sum(values))
        ):
            return False
        if not (max(values) <= LARGEST and min(values) >= -LARGEST):
            return False
        return self._are_numbers(list(x))

    def holds_plain(self, rows: NumericRows) -> bool:
        """Whether all rows of a table are what :meth:`read` would leave as they are."""
        return self._are_numbers(rows.names) and rows.is_sound

    def _are_numbers(self, names: list[Hashable]) -> bool:
        """Whether columns of these names hold numbers, as is decided already."""
        kinds = self.kinds
        if (
            self._usual[0] is not kinds or self._usual[1] != names
        ):  # what a column holds stays as long as the dictionary
            if not all(kinds.get(name) == "number" for name in names):
                return False
            self._usual = kinds, names
        return True

    def numbers(self, row: Row) -> dict[Hashable, float]:
        """The numbers that a row becomes, by name.

        A word that was never learned has one, too, which nobody knows yet.
        """
        if NUMBERS.issuperset(map(type, row.values())):  # the usual case
            return cast("dict[Hashable, float]", row)
        found: dict[Hashable, float] = {}
        for name, value in row.items():
            if type(value) is float:
                found[name] = value
            elif (kind := self.kinds[name]) == "word":
                known = self.words.get(name, [])
                found |= dict.fromkeys([(name, word) for word in known], 0.0)
                found[name, self._word(known, value)] = 1.0
            else:
                waves = _circles(value) if kind == "date" else _hour(time.fromisoformat(str(value)))
                found |= {(name, part): wave for part, wave in zip(CIRCLES, waves, strict=False)}
        return found

    def learn(self, row: Row) -> None:
        """Let the words of a row have columns of their own from now on."""
        for name, value in row.items():
            if type(value) is str and self.kinds[name] == "word":
                known = self.words.setdefault(name, [])
                if (word := self._word(known, value)) not in known:
                    known.append(word)

    @staticmethod
    def _word(known: list[str | None], value: Any) -> str | None:
        """The word, or what stands for it and others."""
        return value if value in known or len(known) < MOST_WORDS else OTHERS

    def state(self) -> State:
        """All that the next row needs, as texts."""
        return {
            "kinds": json.dumps([json.loads(dump_names(self.kinds)), list(self.kinds.values())]),
            "words": json.dumps([json.loads(dump_names(self.words)), list(self.words.values())]),
        }

    @classmethod
    def of_state(cls, saved: Mapping[str, Any]) -> ValueTypes:
        """What was saved, checked."""
        rows = cls()
        rows.kinds = dict(zip(*_pairs("kinds", saved["kinds"]), strict=True))
        rows.words = dict(zip(*_pairs("words", saved["words"]), strict=True))
        if not set(rows.kinds.values()) <= set(KINDS):
            raise ValueError(
                f"its columns are {short_repr(rows.kinds)}, and some hold what no column does."
            )
        for name, words in rows.words.items():
            own = (
                [word for word in words if word is not OTHERS]
                if isinstance(words, list)
                else [OTHERS]
            )
            right = (
                all(type(word) is str for word in own)
                and len(set(words)) == len(words) <= MOST_WORDS + 1
            )
            if (
                not right
                or rows.kinds.get(name) != "word"
                or (OTHERS in words and words.index(OTHERS) != MOST_WORDS)
            ):
                raise ValueError(
                    f"the words of its column {short_repr(name)} are {short_repr(words)}."
                )
        return rows


def _pairs(what: str, text: Any) -> tuple[list[Hashable], list[Any]]:
    names, values = json.loads(text)
    plain = load_names(json.dumps(names))
    if not isinstance(values, list) or len(set(plain)) != len(plain) or len(plain) != len(values):
        raise ValueError(f"its {what} are {short_repr(text)}, and not one for each column.")
    return plain, values


def _plain(name: Hashable, value: Any) -> float | str | datetime | date | time | None:
    """A value as a number, a text, a date or a time; None if it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return None if _is_nothing(value) else value
    if (
        isinstance(value, numbers.Real | date) and value != value
    ):  # NaN, and the NaT of pandas, which calls itself a date
        return None
    if value is None or isinstance(value, date | time):  # a datetime is a date
        return value
    if not isinstance(value, numbers.Real):
        raise TypeError(
            f"x[{name!r}] must be a number, a text, a date or missing (None), got "
            f"{short_repr(value)} ({type(value).__name__}). Make several columns of it, or leave "
            "it out."
        )
    return number(f"x[{name!r}]", value)


def _is_nothing(value: Any) -> bool:
    """Whether a value is a text that stands for a missing one."""
    return isinstance(value, str) and value.strip().lower() in NOTHING


def _kind(value: Any) -> str:
    """What a column holds whose first value this is.

    A text may be the writing of a number, a date or a time.
    """
    if isinstance(value, float):
        return "number"
    if isinstance(value, time):
        return "time"
    if isinstance(value, date):
        return "date"
    for kind in ("number", "date", "time"):
        try:
            _READ[kind](value)
        except ValueError:
            continue
        return kind
    return "word"


def _of_kind(name: Hashable, kind: str, value: Any) -> float | str:
    """A value as its column keeps it; refused if the column holds something else."""
    try:
        kept: float | str = _READ[kind](value)
    except (AttributeError, TypeError, ValueError):
        held = KINDS[kind]
        raise ValueError(
            f"x[{name!r}] is {short_repr(value)}, and {name!r} held {held} so far. Send one of "
            "these, or None if it is missing; what is of another kind needs a column of its own."
        ) from None
    return kept


def _number(value: Any) -> float:
    if isinstance(value, str) and "_" in value:  # Python would read 1_000
        raise ValueError(value)
    if isinstance(value, date | time):
        raise TypeError(value)
    found = float(value)
    if not -LARGEST <= found <= LARGEST:
        raise ValueError(value)
    return found


def _word(value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_WORD:
        raise ValueError(value)
    return value


def _date(value: Any) -> str:
    """A date, in UTC if it has a zone, as ISO 8601 writes it."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    elif not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return str((value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value).isoformat())


def _time(value: Any) -> str:
    if isinstance(value, str):
        if ":" not in value:
            raise ValueError(value)
        value = time.fromisoformat(value.strip())
    return str(value.replace(tzinfo=None).isoformat())


_READ: dict[str, Any] = {"number": _number, "word": _word, "date": _date, "time": _time}
"""A value as its column keeps it, by what that holds.

Raises TypeError, ValueError or AttributeError for anything else.
"""


def _hour(moment: time | datetime) -> tuple[float, float]:
    seconds = (
        3600.0 * moment.hour + 60.0 * moment.minute + moment.second + 1e-6 * moment.microsecond
    )
    return _wave(seconds / DAY)


def _circles(value: Any) -> tuple[float, ...]:
    """Sine and cosine of the hour of the day, the day of the week and the day of the year."""
    moment = datetime.fromisoformat(value)
    return (
        *_hour(moment),
        *_wave(moment.weekday() / WEEK),
        *_wave((moment.timetuple().tm_yday - 1) / YEAR),
    )


def _wave(turn: float) -> tuple[float, float]:
    return math.sin(2.0 * math.pi * turn), math.cos(2.0 * math.pi * turn)
