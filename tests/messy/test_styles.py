"""Whatever is written in one of the styles is read back as it was meant.

What is not is a bad value.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, time, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from swordplay.tables import Parser, infer_parser, parser_for
from swordplay.tables.date_names import MONTH_NAMES
from swordplay.tables.date_parser import (
    ORDER_NAMES,
    DateParser,
    DurationParser,
    EpochParser,
    TimeParser,
)
from swordplay.tables.number_parser import THOUSANDS_NAMES, NumberParser
from swordplay.tables.parsers import NULL_MARKS, NULL_TEXTS, BoolParser, IsoDateParser, TextParser
from swordplay.tables.schema import parser_from_json

UNITS = ("", "$", "€", "%", "kg", "USD")
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(
    lambda moment: moment.replace(second=0, microsecond=0)
)
CENTURY = st.datetimes(datetime(1969, 1, 1), datetime(2068, 12, 31)).map(
    lambda moment: moment.replace(second=0, microsecond=0)
)


def read(parser: Parser, texts: list[str]) -> list[Any]:
    """Values, all of them good, by a parser that has been through JSON."""
    again = parser_from_json(json.loads(json.dumps(parser.to_json())))
    assert again.to_json() == parser.to_json()
    assert (again.description, again.expected, again.type) == (
        parser.description,
        parser.expected,
        parser.type,
    )
    found = again.parse(pa.array(texts))
    assert not found.bad.any()
    assert found.values.type == parser.type
    return list(found.values.to_pylist())


@st.composite
def amounts(draw: st.DrawFn) -> tuple[NumberParser, list[str], list[float]]:
    """A style, texts and their meaning."""
    decimal = draw(st.sampled_from(".,"))
    thousands = draw(st.sampled_from([sign for sign in THOUSANDS_NAMES if sign != decimal]))
    unit = draw(st.sampled_from(UNITS))
    numbers = draw(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=8))
    digits = draw(st.integers(0, 4))
    texts, means = [], []
    for number in numbers:
        plain = f"{abs(number) / 10**digits:,.{digits}f}"
        text = plain.replace(",", "\0").replace(".", decimal).replace("\0", thousands)
        shape = draw(
            st.sampled_from(
                ["{0} {1}", "{0}{1}"] + (["{1}{0}", "{1} {0}"] if unit not in ("%", "kg") else [])
            )
        )
        text = shape.format(text, unit).strip()
        texts.append(
            draw(
                st.sampled_from(["-{}", "({})", "−{}"] if number < 0 else ["{}", " {} ", "+{}"])
            ).format(text)
        )
        means.append(float(plain.replace(",", "")) * (-1 if number < 0 else 1))
    return NumberParser(decimal, thousands, unit), texts, means


@given(amounts())
def test_numbers_come_back(written: tuple[NumberParser, list[str], list[float]]) -> None:
    parser, texts, means = written
    assert read(parser, texts) == means


@given(amounts())
def test_numbers_are_recognised(written: tuple[NumberParser, list[str], list[float]]) -> None:
    """With a value that decides, the column as a whole tells its style."""
    style, texts, means = written
    assume(style.unit != "USD" or style.decimal == ".")
    decides = f"1{style.thousands}234{style.thousands}567{style.decimal}25"
    texts, means = [*texts, f"{decides} {style.unit}".strip()], [*means, 1234567.25]
    if not style.thousands:
        texts, means = [*texts, f"0{style.decimal}25 {style.unit}".strip()], [*means, 0.25]
    found = infer_parser("x", pa.array(texts), decimal=style.decimal)
    assert isinstance(found.parser, NumberParser)
    assert found.remarks == ()
    assert found.parser.parse(pa.array(texts)).values.to_pylist() == means


def written(
    moment: datetime, order: str, separator: str, digits: int, named: bool, width: int
) -> str:
    """A date in a style, by Python's own means."""
    month = (
        MONTH_NAMES[moment.month - 1].title()[: 3 if width == 2 else 9]
        if named
        else f"{moment.month:0{width}d}"
    )
    year = f"{moment.year:04d}" if digits == 4 else f"{moment.year % 100:02d}"
    return separator.join(
        {"d": f"{moment.day:0{width}d}", "m": month, "y": year}[letter] for letter in order
    )


@given(
    st.lists(MOMENTS, min_size=1, max_size=6),
    st.sampled_from(["dmy", "mdy", "ymd"]),
    st.sampled_from("/.-"),
    st.booleans(),
    st.sampled_from([1, 2]),
    st.sampled_from(["", " %H:%M", "T%H:%M:%S", ", %I:%M %p"]),
)
def test_dates_come_back(
    days: list[datetime], order: str, separator: str, named: bool, width: int, clock: str
) -> None:
    texts = [written(day, order, separator, 4, named, width) + day.strftime(clock) for day in days]
    means = [day if clock else day.replace(hour=0, minute=0) for day in days]
    assert read(DateParser(order, "" if named else separator, 4, named), texts) == means


@given(
    st.lists(CENTURY, min_size=1, max_size=6),
    st.sampled_from(["dmy", "mdy", "ymd"]),
    st.sampled_from("/.-"),
)
def test_years_of_two_digits_come_back(days: list[datetime], order: str, separator: str) -> None:
    texts = [written(day, order, separator, 2, False, 2) for day in days]
    assert read(DateParser(order, separator, 2), texts) == [
        day.replace(hour=0, minute=0) for day in days
    ]


@given(
    st.lists(MOMENTS, min_size=1, max_size=6),
    st.sampled_from(["dmy", "mdy"]),
    st.booleans(),
    st.sampled_from([" %H:%M", ""]),
)
def test_dates_are_recognised(days: list[datetime], order: str, named: bool, clock: str) -> None:
    """With a day beyond the twelfth, the column as a whole tells which part is which."""
    days = [*days, datetime(2012, 1, 31)]
    texts = [written(day, order, "/", 4, named, 2) + day.strftime(clock) for day in days]
    found = infer_parser("x", pa.array(texts))
    assert isinstance(found.parser, DateParser)
    assert found.parser.order == order
    assert found.parser.parse(pa.array(texts)).values.to_pylist() == [
        day if clock else day.replace(hour=0, minute=0) for day in days
    ]
    said = parser_for("x", pa.array(texts), "day-first" if order == "dmy" else "month-first").parser
    assert said is not None
    assert said.to_json() == found.parser.to_json()


@given(
    st.lists(MOMENTS.filter(lambda moment: 2 < moment.year < 9998), min_size=1, max_size=6),
    st.integers(-23, 23),
    st.booleans(),
)
def test_zones_come_back(moments_: list[datetime], hours: int, colon: bool) -> None:
    zone = timezone(timedelta(hours=hours, minutes=30 if hours >= 0 else -30))
    texts = [moment.replace(tzinfo=zone).strftime("%d/%m/%Y %H:%M %z") for moment in moments_]
    if len(str(moments_[0].year)) < 4:  # strftime does not pad years
        texts = [
            written(moment, "dmy", "/", 4, False, 2)
            + moment.replace(tzinfo=zone).strftime(" %H:%M %z")
            for moment in moments_
        ]
    texts = [text[:-2] + ":" + text[-2:] if colon else text for text in texts]
    means = [moment.replace(tzinfo=zone).astimezone(UTC) for moment in moments_]
    assume(all(len(text.split("/")[2].split(" ")[0]) == 4 for text in texts))
    assert read(DateParser("dmy", "/", zoned=True), texts) == means


@given(st.lists(st.times(), min_size=1, max_size=6))
def test_times_come_back(times: list[time]) -> None:
    assert read(TimeParser(), [moment.isoformat() for moment in times]) == times


@given(
    st.lists(st.datetimes(datetime(1990, 1, 2), datetime(2049, 12, 30)), min_size=1, max_size=6),
    st.sampled_from(["s", "ms", "us"]),
)
def test_moments_since_1970_come_back(days: list[datetime], unit: str) -> None:
    digits = {"s": 0, "ms": 3, "us": 6}[unit]
    whole = [
        day.replace(
            tzinfo=UTC, microsecond=day.microsecond // 10 ** (6 - digits) * 10 ** (6 - digits)
        )
        for day in days
    ]
    counts = [
        str((day - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=10 ** (6 - digits)))
        for day in whole
    ]
    assert read(EpochParser(unit), counts) == whole
    found = infer_parser("created_at", pa.array(counts)).parser
    assert isinstance(found, EpochParser)
    assert found.unit == unit
    assert isinstance(infer_parser("amount", pa.array(counts)).parser, NumberParser)
    assert isinstance(
        infer_parser("created_at", pa.array(counts), target=True).parser, NumberParser
    )


def naive(text: str, style: DateParser) -> datetime | None:
    """What a text means, by an expression and Python's own calendar; None if it is bad."""
    month = (
        "(?P<m>[a-z]++)"
        if style.named
        else r"(?P<m>\d{2})"
        if len(style.order) == 2
        else r"(?P<m>\d{1,2})"
    )
    parts = {"d": r"(?P<d>\d{1,2})", "m": month, "y": rf"(?P<y>\d{{{style.digits}}})"}
    between = "[ ./,-]{1,2}" if style.named else re.escape(style.separator)
    weekday = "(?:(?:mon|tue|tuesday|sun|sunday)[ ./,-]{1,2})?" if style.named else ""
    clock = (
        r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,](?P<f>\d{1,9}))?)?(?: *(?P<p>[ap])m)?"
    )
    zone = r" *(?:z|utc|gmt|(?P<s>[+-])(?P<zh>\d{2})(?::?(?P<zm>\d{2}))?)" if style.zoned else ""
    date = between.join(parts[letter] for letter in style.order)
    pattern = f"{weekday}{date}(?:(?:t[ ,]*|[ ,]+){clock}{zone}){'' if zone else '?'}"
    match = re.fullmatch(pattern, text, re.IGNORECASE | re.ASCII)
    if not match:
        return None
    found = {"d": None, **match.groupdict()}
    try:
        number = (
            [name[:3] for name in MONTH_NAMES].index(found["m"].lower()) + 1
            if style.named
            else int(found["m"])
        )
        year = int(found["y"]) + (
            0 if style.digits == 4 else 1900 if int(found["y"]) >= 69 else 2000
        )
        hour = int(found["H"] or 0)
        if found["p"]:
            assert 1 <= hour <= 12
            hour = hour % 12 + 12 * (found["p"] in "pP")
        fraction = int(f"{found['f'] or '0':0<6}"[:6])
        moment = datetime(
            year,
            number,
            int(found["d"] or 1),
            hour,
            int(found["M"] or 0),
            int(found["S"] or 0),
            fraction,
        )
        if not style.zoned:
            return moment
        hours, minutes = int(found["zh"] or 0), int(found["zm"] or 0)
        assert hours <= 23
        assert minutes <= 59
        return moment.replace(tzinfo=UTC) - timedelta(hours=hours, minutes=minutes) * (
            -1 if found["s"] == "-" else 1
        )
    except (ValueError, AssertionError):
        return None


PIECES = [
    "31",
    "1",
    "12",
    "29",
    "2012",
    "1999",
    "02",
    "69",
    "Jan",
    "feb",
    "Tue",
    "Tuesday",
    "10:05",
    "1:30",
    "23:59:59",
    ":07.25",
]
GLUE = ["/", "/", ".", "-", " ", ", ", "T", " pm", "AM", "Z", "+01:30", "-0200", " utc", ",5", "x"]


@given(
    st.lists(
        st.lists(st.sampled_from(PIECES + GLUE + ["/"] * 20), max_size=8).map("".join), max_size=12
    ),
    st.sampled_from(list(ORDER_NAMES)),
    st.sampled_from("/.-"),
    st.sampled_from([2, 4]),
    st.booleans(),
    st.booleans(),
)
def test_a_naive_twin(
    soup: list[str], order: str, separator: str, digits: int, named: bool, zoned: bool
) -> None:
    style = DateParser(order, "" if named else separator, digits, named, zoned)
    between = separator if not named else "-"
    fields = {
        "d": ["31", "1", "29"],
        "m": ["Jan", "feb", "x"] if named else ["1", "02", "12", "13"],
        "y": ["2012", "1999", "69", "12"],
    }
    near = [
        f"{between.join(fields[letter][(k + j) % len(fields[letter])] for j, letter in enumerate(order))}{end}"  # noqa: E501
        for k in range(5)
        for end in (
            "",
            " 10:05",
            "T1:30 pm",
            ", 23:59:59.25Z",
            " 0:30 AM +01:30",
            " 10:05 -0200",
            " 10:05utc",
            " 25:00",
        )
    ]
    texts = [*soup, *near]
    found = style.parse(pa.array(texts, pa.string()))
    nothing = {*NULL_TEXTS, *NULL_MARKS}
    assert found.values.to_pylist() == [
        None if text.strip() in nothing else naive(text.strip(), style) for text in texts
    ]
    assert [text for text, bad in zip(texts, found.bad, strict=True) if bad] == [
        text for text in texts if text.strip() not in nothing and naive(text.strip(), style) is None
    ]


@pytest.mark.parametrize(
    ("parser", "bad"),
    [
        (
            NumberParser(),
            [
                "1,000",
                "1.2.3",
                "$5",
                "1 000",
                "1_000",
                "(1",
                "1)",
                "--5",
                "5-",
                "inf",
                "0x10",
                "1e",
                "1e999",
                "e5",
                "١",
            ],
        ),
        (NumberParser(".", ","), ["1,00", "12,34", "0,123", ",123", "1,234,56", "1.234,5"]),
        (NumberParser(".", "", "kg"), ["5", "5 g", "kg", "5 kg kg", "kgkg5", "5kgs"]),
        (NumberParser(".", "", "$", optional=True), ["€5", "$", "$5$", "5 kg"]),
        (
            DateParser("dmy", "/"),
            [
                "00/01/2012",
                "32/01/2012",
                "29/02/2011",
                "31/04/2012",
                "1/13/2012",
                "1/1/12",
                "1/1/20123",
            ],
        ),
        (
            DateParser("dmy", "/"),
            [
                "1/1/2012 24:00:01",
                "1/1/2012 1:60",
                "1/1/2012 1:1",
                "1/1/2012 13:00 PM",
                "1/1/2012 0:00 AM",
                "1/1/2012Z",
            ],
        ),
        (
            DateParser("dmy", "/"),
            [
                "1/1/2012 ",
                "1/1/2012x",
                "1.1.2012",
                "1/Jan/2012",
                "1//2012",
                "1/1/0000",
                "1/1/2012 1:00:00.",
            ][1:],
        ),
        (
            DateParser("ymd"),
            ["2012013", "201201311", "20121301", "20120230", "2012-01-31", "20120131246060"],
        ),
        (
            DateParser("dmy", "", 4, True),
            ["31-Janu-2012", "31-Mon-2012", "31Jan2012", "31---Jan-2012", "31-01-2012"],
        ),
        (DateParser("ym", "-"), ["2012-1", "2012-13", "2012-00", "12-01"]),
        (
            DateParser("dmy", "/", zoned=True),
            [
                "1/1/2012",
                "1/1/2012 1:00",
                "1/1/2012 1:00 CET",
                "1/1/2012 1:00+24:00",
                "1/1/2012 1:00+1",
            ],
        ),
        (
            TimeParser(),
            [
                "24:01",
                "25:00",
                "1:00 Uh",
                "1:60",
                "13:00 pm",
                "0:00 am",
                "130",
                "1:2",
                "12:00:60",
                "12:00:00.",
                "12:00:00.1234567890",
            ],
        ),
        (DurationParser(), ["0 days 1:00", "1 week", "days 00:00:01", "1 days 00:00:01 ago"]),
        (IsoDateParser(), ["2012-02-30", "31.01.2012", "2012-01-31T00:00Z"]),
        (EpochParser("s"), ["soon", "1e12"]),
        (BoolParser(), ["maybe", "2"]),
    ],
)
def test_bad_values(parser: Parser, bad: list[str]) -> None:
    found = parser.parse(pa.array([*bad, None, "NA", "-"]))
    assert found.bad.tolist() == [True] * len(bad) + [False] * 3, [
        text for text, one in zip(bad, found.bad, strict=False) if not one
    ]
    assert found.values.null_count == len(found.values)


def test_words_take_everything() -> None:
    found = TextParser().parse(pa.array(["-", "NA", "1,5", None]))
    assert found.values.to_pylist() == ["-", None, "1,5", None]
    assert not found.bad.any()
    assert infer_parser("x", pa.array(["", None, "NA"])).parser is None


def test_slices_and_dictionaries() -> None:
    """What is handed over may be a part of something larger, or repeat few texts."""
    texts = pa.array(["x", "31/01/2012", None, "01/02/2012", "y"])
    expected = [datetime(2012, 1, 31), None, datetime(2012, 2, 1)]
    for values in (
        texts.slice(1, 3),
        texts.slice(1, 3).dictionary_encode(),
        texts.slice(1, 3).cast(pa.large_string()),
    ):
        assert DateParser("dmy", "/").parse(values).values.to_pylist() == expected
