"""Kinds of the values of single rows: words, dates and times as numbers by name, gaps left out.

Rows are dictionaries as JSON has them and come one at a time. The kind of a column (``"number"``,
``"word"``, ``"date"`` or ``"time"``) is decided by its first value and kept; values of another
kind are refused. The numbers are those that ``swordplay track`` makes of a table: an indicator
column for each of the first fifty words, and sines and cosines of hour, weekday and day of the year
for dates.
"""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, cast, final

import numpy as np

from swordplay.core.arguments import short_repr
from swordplay.core.types import State
from swordplay.estimators.dict_columns import NumericRows, dump_names, load_names, number
from swordplay.estimators.model_settings import LARGEST

MAX_WORDS = 50
"""Words of a column that have an indicator column of their own; later words share one."""
MAX_WORD_LENGTH = 1000
"""Characters of a word; longer strings are texts to be read, not categories."""
SECONDS_PER_DAY = 86_400.0
DAYS_PER_WEEK = 7.0
DAYS_PER_YEAR = 365.2425
"""Mean of the Gregorian calendar."""
MISSING_TEXTS = frozenset({"", "na", "n/a", "nan", "null", "none"})
"""Strings that stand for a missing value, in lower case."""
DATE_FEATURES = (
    "hour_sin",
    "hour_cos",
    "weekday_sin",
    "weekday_cos",
    "yearday_sin",
    "yearday_cos",
)
"""Numbers made of a date; of a time of the day, only the first two."""
OTHER_WORDS = None
"""Stands for all words beyond the first ``MAX_WORDS`` in the list of a column's words."""
KINDS = {"number": "numbers", "word": "words", "date": "dates", "time": "times of the day"}
"""Kinds of columns, and the plural of each for messages."""
COLUMNS_OF_KIND = {"number": 1, "date": len(DATE_FEATURES), "time": 2}
"""Columns of the model for a column of each kind; words have one for each learned word."""
FLOAT_ONLY = frozenset({float})

Row = dict[Hashable, float | str]
"""Values that are not missing: numbers, words, and dates and times in the format of ISO 8601."""


@final
class ValueTypes:
    """Kind of every column, and the words that were learned of it."""

    def __init__(self) -> None:
        self.kinds: dict[Hashable, str] = {}
        """Kind of each column; replaced, not changed, when columns are added."""
        self.words: dict[Hashable, list[str | None]] = {}
        """Words with an indicator column, in order of learning, for each column of words.

        The last of ``MAX_WORDS + 1`` is ``OTHER_WORDS``.
        """
        self._number_names: tuple[dict[Hashable, str], list[Hashable]] = ({}, [])
        """``kinds`` and the names of the last row that held only numbers."""
        self._cached_columns = (0, 0), 0
        """Counts of names and words, and the value of :attr:`columns` for them."""
        self._cached_max_columns = 0, 0
        """Count of names, and the value of :attr:`max_columns` for it."""

    @property
    def columns(self) -> int:
        """Columns of a model that has learned every known name and every known word; cached."""
        counts = len(self.kinds), sum(map(len, self.words.values()))
        if self._cached_columns[0] != counts:
            columns = sum(
                max(1, len(self.words.get(name, ()))) if kind == "word" else COLUMNS_OF_KIND[kind]
                for name, kind in self.kinds.items()
            )
            self._cached_columns = counts, columns
        return self._cached_columns[1]

    @property
    def max_columns(self) -> int:
        """Columns of a model if every column of words had all its possible words; cached."""
        if self._cached_max_columns[0] != len(self.kinds):
            columns = sum(
                MAX_WORDS + 1 if kind == "word" else COLUMNS_OF_KIND[kind]
                for kind in self.kinds.values()
            )
            self._cached_max_columns = len(self.kinds), columns
        return self._cached_max_columns[1]

    def columns_after_reading(self, rows: Sequence[Mapping[Hashable, Any]]) -> int:
        """Return :attr:`columns` as it will be after :meth:`read` of these raw rows."""
        if isinstance(rows, NumericRows):
            return self.columns + sum(name not in self.kinds for name in rows.names)
        new: dict[Hashable, int] = {}
        for row in rows:
            if self.kinds.keys() >= row.keys():
                continue
            for name, value in row.items():
                is_known = name in self.kinds or name in new
                if not (is_known or value is None or _is_missing_text(value)):
                    kind = _kind_of(value) if isinstance(value, str) else "number"
                    new[name] = COLUMNS_OF_KIND.get(kind, 1)
        return self.columns + sum(new.values())

    def columns_after_learning(self, rows: Iterable[Row]) -> int:
        """Return :attr:`columns` as it will be after :meth:`learn` of these rows."""
        new: dict[Hashable, set[Any]] = {}
        for row in rows:
            for name, value in row.items():
                if (
                    type(value) is str
                    and self.kinds[name] == "word"
                    and value not in self.words.get(name, ())
                ):
                    new.setdefault(name, set()).add(value)
        added = 0
        for name, words in new.items():
            known = len(self.words.get(name, ()))
            added += min(MAX_WORDS + 1, known + len(words)) - max(1, known)
        return self.columns + added

    def read(self, x: Any) -> Row:
        """Return a checked row without missing values, and decide the kinds of new columns.

        A row that is refused decides nothing.

        Parameters
        ----------
        x
            Values by name: numbers, booleans, strings, dates or times of Python. None, NaN and an
            empty string are missing.

        Raises
        ------
        TypeError, ValueError
            Names the column whose value is not of its kind.
        """
        if type(x) is dict and self._has_numbers_only(x):
            return x.copy()
        if not isinstance(x, Mapping):
            raise TypeError(
                f"x must hold values by name (a dictionary), got {short_repr(x)} "
                f"({type(x).__name__})."
            )
        row: Row = {}
        new_kinds: dict[Hashable, str] = {}
        for name, value in x.items():
            kind = self.kinds.get(name)
            if kind == "number" and type(value) is float and -LARGEST <= value <= LARGEST:
                row[name] = value
                continue
            plain = _plain_value(name, value)
            if plain is None:
                continue
            if kind is None:
                dump_names([name])  # refuses names that no checkpoint can hold
                kind = new_kinds[name] = _kind_of(plain)
            row[name] = _as_kind(name, kind, plain)
        self.kinds |= new_kinds
        return row

    def _has_numbers_only(self, x: dict[Any, Any]) -> bool:
        """Return whether all values are finite floats in columns of numbers: the common case."""
        values = x.values()
        return bool(
            values
            and FLOAT_ONLY.issuperset(map(type, values))
            and math.isfinite(sum(values))
            and max(values) <= LARGEST
            and min(values) >= -LARGEST
            and self._are_number_columns(list(x))
        )

    def accepts_unchanged(self, rows: NumericRows) -> bool:
        """Return whether :meth:`read` would leave all rows of a table as they are."""
        return self._are_number_columns(rows.names) and rows.is_valid

    def _are_number_columns(self, names: list[Hashable]) -> bool:
        """Return whether the columns of these names are all known to hold numbers."""
        kinds, last_names = self._number_names
        # the kind of a column stays as long as the dictionary is the same object
        if kinds is not self.kinds or last_names != names:
            if not all(self.kinds.get(name) == "number" for name in names):
                return False
            self._number_names = self.kinds, names
        return True

    def numbers(self, row: Row) -> dict[Hashable, float]:
        """Return the numbers made of a checked row, by name.

        A word that was never learned has a name as well, which no model has a column for.
        """
        if FLOAT_ONLY.issuperset(map(type, row.values())):
            return cast("dict[Hashable, float]", row)
        found: dict[Hashable, float] = {}
        for name, value in row.items():
            if type(value) is float:
                found[name] = value
                continue
            kind = self.kinds[name]
            if kind == "word":
                known = self.words.get(name, [])
                found |= dict.fromkeys([(name, word) for word in known], 0.0)
                found[name, self._indicator(known, value)] = 1.0
            else:
                text = str(value)
                features = (
                    _date_features(datetime.fromisoformat(text))
                    if kind == "date"
                    else _hour_features(time.fromisoformat(text))
                )
                # a time of the day has the first two features only
                names = DATE_FEATURES[: len(features)]
                found |= {(name, part): value for part, value in zip(names, features, strict=True)}
        return found

    def learn(self, row: Row) -> None:
        """Give the words of a row indicator columns from now on."""
        for name, value in row.items():
            if type(value) is str and self.kinds[name] == "word":
                known = self.words.setdefault(name, [])
                if (word := self._indicator(known, value)) not in known:
                    known.append(word)

    @staticmethod
    def _indicator(known: list[str | None], value: Any) -> str | None:
        """Return the word whose indicator column stands for a value: itself or OTHER_WORDS."""
        return value if value in known or len(known) < MAX_WORDS else OTHER_WORDS

    def state(self) -> State:
        """Return kinds and words as JSON texts by name."""
        return {
            "kinds": json.dumps([json.loads(dump_names(self.kinds)), list(self.kinds.values())]),
            "words": json.dumps([json.loads(dump_names(self.words)), list(self.words.values())]),
        }

    @classmethod
    def from_state(cls, saved: Mapping[str, Any]) -> ValueTypes:
        """Check what :meth:`state` returned, and make the object again.

        Raises
        ------
        TypeError, ValueError
            If no rows lead to these kinds and words.
        """
        found = cls()
        found.kinds = dict(zip(*_load_pairs("kinds", saved["kinds"]), strict=True))
        found.words = dict(zip(*_load_pairs("words", saved["words"]), strict=True))
        if not set(found.kinds.values()) <= set(KINDS):
            raise ValueError(
                f"its columns are {short_repr(found.kinds)}; each must be one of {list(KINDS)}."
            )
        for name, words in found.words.items():
            if found.kinds.get(name) != "word" or not _are_words(words):
                raise ValueError(
                    f"the words of its column {short_repr(name)} are {short_repr(words)}."
                )
        return found


def _are_words(words: Any) -> bool:
    """Return whether these are different words, OTHER_WORDS only behind MAX_WORDS others."""
    if not isinstance(words, list) or len(words) > MAX_WORDS + 1 or len(set(words)) != len(words):
        return False
    if OTHER_WORDS in words and words.index(OTHER_WORDS) != MAX_WORDS:
        return False
    return all(type(word) is str for word in words if word is not OTHER_WORDS)


def _load_pairs(entry: str, text: Any) -> tuple[list[Hashable], list[Any]]:
    """Return the names and values of a JSON text, as many of each."""
    names, values = json.loads(text)
    plain = load_names(json.dumps(names))
    if not isinstance(values, list) or len(set(plain)) != len(plain) or len(plain) != len(values):
        raise ValueError(f"its {entry} are {short_repr(text)}, and not one for each column.")
    return plain, values


# ---------------------------------------------------------------------- single values


def _plain_value(name: Hashable, value: Any) -> float | str | datetime | date | time | None:
    """Return a value as a number, a string, a date or a time; None if it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return None if _is_missing_text(value) else value
    if isinstance(value, numbers.Real | date) and value != value:
        return None  # NaN, or NaT of pandas, which is an instance of date
    if value is None or isinstance(value, date | time):  # a datetime is a date
        return value
    if not isinstance(value, numbers.Real):
        raise TypeError(
            f"x[{name!r}] must be a number, a text, a date or missing (None), got "
            f"{short_repr(value)} ({type(value).__name__}). Make several columns of it, or leave "
            "it out."
        )
    return number(f"x[{name!r}]", value)


def _is_missing_text(value: Any) -> bool:
    """Return whether a value is a string that stands for a missing one."""
    return isinstance(value, str) and value.strip().lower() in MISSING_TEXTS


def _kind_of(value: Any) -> str:
    """Return the kind of a column with this first value; strings are parsed."""
    if isinstance(value, float):
        return "number"
    if isinstance(value, time):
        return "time"
    if isinstance(value, date):
        return "date"
    for kind in ("number", "date", "time"):
        try:
            PARSERS[kind](value)
        except ValueError:
            continue
        return kind
    return "word"


def _as_kind(name: Hashable, kind: str, value: Any) -> float | str:
    """Return a value as rows of this kind hold it; raise ValueError if it is of another kind."""
    try:
        return PARSERS[kind](value)
    except (AttributeError, TypeError, ValueError):
        raise ValueError(
            f"x[{name!r}] is {short_repr(value)}, and {name!r} held {KINDS[kind]} so far. Send one "
            "of these, or None if it is missing; what is of another kind needs a column of its own."
        ) from None


def _parse_number(value: Any) -> float:
    if isinstance(value, str) and "_" in value:  # float("1_000") is 1000.0
        raise ValueError(value)
    if isinstance(value, date | time):
        raise TypeError(value)
    found = float(value)
    if not -LARGEST <= found <= LARGEST:
        raise ValueError(value)
    return found


def _parse_word(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_WORD_LENGTH:
        raise ValueError(value)
    return value


def _parse_date(value: Any) -> str:
    """Return a date in the format of ISO 8601, in UTC if it has a time zone."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    elif not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    if value.tzinfo:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return str(value.isoformat())


def _parse_time(value: Any) -> str:
    if isinstance(value, str):
        if ":" not in value:
            raise ValueError(value)
        value = time.fromisoformat(value.strip())
    return str(value.replace(tzinfo=None).isoformat())


PARSERS: dict[str, Callable[[Any], float | str]] = {
    "number": _parse_number,
    "word": _parse_word,
    "date": _parse_date,
    "time": _parse_time,
}
"""Function of each kind that returns a value as rows hold it.

It raises TypeError, ValueError or AttributeError for values of other kinds.
"""


def _hour_features(moment: time | datetime) -> tuple[float, float]:
    """Return sine and cosine of the hour of the day."""
    seconds = (
        3600.0 * moment.hour + 60.0 * moment.minute + moment.second + 1e-6 * moment.microsecond
    )
    return _sine_cosine(seconds / SECONDS_PER_DAY)


def _date_features(moment: datetime) -> tuple[float, ...]:
    """Return sine and cosine of the hour of the day, the weekday and the day of the year."""
    return (
        *_hour_features(moment),
        *_sine_cosine(moment.weekday() / DAYS_PER_WEEK),
        *_sine_cosine((moment.timetuple().tm_yday - 1) / DAYS_PER_YEAR),
    )


def _sine_cosine(turns: float) -> tuple[float, float]:
    return math.sin(2.0 * math.pi * turns), math.cos(2.0 * math.pi * turns)
