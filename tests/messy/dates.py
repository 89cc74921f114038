"""Messy dates and times."""

from __future__ import annotations

from datetime import UTC, datetime, time

from messy.cases import BOTH, FEBRUARY, JANUARY, LATE, Messy, column, date, word

MONTHS = [
    f"{datetime(2012 + k // 12, 1 + k % 12, 1):%b}-{12 + k // 12}" for k in range(24)
]  # Jan-12 to Dec-13
DATES = {
    "month first": date("01/31/2012", "2/1/2012", means=BOTH, how="month first (01/31/2012)"),
    "day first": date("31/01/2012", "1/2/2012", means=BOTH, how="day first (31/01/2012)"),
    "points and hours": date(
        "31.01.2012 14:30", "1.2.2012 0:05:00", means=LATE, how="day first (31.01.2012)"
    ),
    "points without a decision": date(
        "02.01.2012",
        "03.01.2012",
        means=[datetime(2012, 1, 2), datetime(2012, 1, 3)],
        how="day first (31.01.2012)",
    ),
    "no value decides": date(
        "01/02/2012",
        "03/02/2012",
        means=[datetime(2012, 1, 2), datetime(2012, 3, 2)],
        how="month first (01/31/2012)",
        remarks=(
            "01/02/2012 are read with the month first, as no value decides. --types day=day-first "
            "overrules.",
        ),
    ),
    "dashes decide nothing": date(
        "01-02-2012",
        "03-02-2012",
        means=[FEBRUARY, datetime(2012, 2, 3)],
        how="day first (31-01-2012)",
        remarks=(
            "01-02-2012 are read with the day first, as no value decides. --types day=month-first "
            "overrules.",
        ),
    ),
    "decimal commas put the day first": Messy(
        "day;y\n01/02/2012;1,5\n03/02/2012;2,5\n",
        {"day": "date"},
        {"day": [FEBRUARY, datetime(2012, 2, 3)], "y": [1.5, 2.5]},
        {"day": "day first (31/01/2012)"},
        remarks=("with the day first, as no value decides", "semicolons", "decimal comma"),
    ),
    "not a date among names": date(
        "31-Jan-2012",
        "1-Feb-2012",
        "soon",
        means=BOTH,
        how="as in 31 Jan 2012",
        refused=((3, "soon", "is not a date as in 31 Jan 2012"),),
    ),
    "a plain day that is none": Messy(
        column("2012-01-31", "2012-02-30", "2012-02-01"),
        {"x": "date"},
        {"x": BOTH},
        refused=((2, "2012-02-30", "is not a date such as 2024-05-17"),),
    ),
    "said to be day first": date(
        "01/02/2012",
        "03/02/2012",
        means=[FEBRUARY, datetime(2012, 2, 3)],
        how="day first (31/01/2012)",
        options={"types": {"day": "day-first"}},
    ),
    "the order decides": date(
        "01/02/2012",
        "02/02/2012",
        "01/03/2012",
        means=[FEBRUARY, datetime(2012, 2, 2), datetime(2012, 3, 1)],
        how="day first (31/01/2012)",
        remarks=("with the day first, as only then the rows are in the order of time",),
    ),
    "a day that is none": date(
        "31/01/2012",
        "30/02/2012",
        "01/02/2012",
        means=BOTH,
        how="day first (31/01/2012)",
        refused=((2, "30/02/2012", "is not a date with the day first (31/01/2012)"),),
    ),
    "short names": date("31-Jan-2012", "1-feb-2012", means=BOTH, how="as in 31 Jan 2012"),
    "long names": date(
        "January 31, 2012", "February 1, 2012", means=BOTH, how="as in Jan 31, 2012"
    ),
    "days of the week": date(
        "Tue, 31 Jan 2012 14:30",
        "Wednesday, 1 February 2012 0:05",
        means=LATE,
        how="as in 31 Jan 2012",
    ),
    "year first": date("2012/01/31", "2012/2/1", means=BOTH, how="as in 2012/01/31"),
    "eight digits": date("20120131", "20120201", means=BOTH, how="as in 20120131"),
    "named months of a year": date(
        "2012-Jan", "2012 February", means=[datetime(2012, 1, 1), FEBRUARY], how="as in 2012 Jan"
    ),
    "named months and years": date(
        "Jan 2012", "Feb-2012", means=[datetime(2012, 1, 1), FEBRUARY], how="as in Jan 2012"
    ),
    "named months, two digits": date("31-Jan-12", "1-Feb-12", means=BOTH, how="as in 31 Jan 12"),
    "months": date(
        "2012-01", "2012-02", means=[datetime(2012, 1, 1), FEBRUARY], how="as in 2012-01"
    ),
    "a total below short months": date(
        *MONTHS,
        "Grand total",
        means=[datetime(2012 + k // 12, 1 + k % 12, 1) for k in range(24)],
        how="as in Jan 12",
        refused=((25, "Grand total", "is not a date as in Jan 12"),),
    ),
    "two digits of a year": date(
        "01/31/12",
        "02/01/12",
        "12/31/99",
        means=[JANUARY, FEBRUARY, datetime(1999, 12, 31)],
        how="month first (01/31/12)",
    ),
    "two digits that decide nothing": word(
        "01/02/12",
        "03/02/12",
        name="day",
        remarks=("may have the day or the month first, and no value decides",),
    ),
    "morning and evening": date(
        "1/31/2012 2:30 PM", "2/1/2012 12:05 am", means=LATE, how="month first (01/31/2012)"
    ),
    "a mark among dates": date("2012/01/31", "-", means=[JANUARY, None], how="as in 2012/01/31"),
    "a mark among plain dates": Messy(
        column("2012-01-31", "-"), {"x": "date"}, {"x": [JANUARY, None]}
    ),
    "offsets": Messy(
        column("2012-01-31T14:30:00+01:00", "2012-01-31T14:30:00Z"),
        {"x": "zoned"},
        {
            "x": [
                datetime(2012, 1, 31, 13, 30, tzinfo=UTC),
                datetime(2012, 1, 31, 14, 30, tzinfo=UTC),
            ]
        },
    ),
    "offsets after slashes": Messy(
        column("01/31/2012 14:30 +0100", "02/01/2012 00:05 UTC"),
        {"x": "zoned"},
        {"x": [datetime(2012, 1, 31, 13, 30, tzinfo=UTC), datetime(2012, 2, 1, 0, 5, tzinfo=UTC)]},
        {"x": "month first (01/31/2012)"},
    ),
    "24:00 is midnight of the next day": date(
        "30/01/2012 23:00",
        "30/01/2012 24:00",
        "31/01/2012 24:00:00",
        "31/01/2012 24:01",
        "31/01/2012 01:00",
        means=[datetime(2012, 1, 30, 23), JANUARY, FEBRUARY, datetime(2012, 1, 31, 1)],
        how="day first (31/01/2012)",
        refused=((4, "31/01/2012 24:01", "is not a date with the day first (31/01/2012)"),),
    ),
    "24:00 among plain dates": date(
        "2012-01-30 23:00",
        "2012-01-30 24:00",
        "2012-01-31 01:00",
        "2012-01-31 24:00",
        "2012-02-01 01:00",
        means=[
            datetime(2012, 1, 30, 23),
            JANUARY,
            datetime(2012, 1, 31, 1),
            FEBRUARY,
            datetime(2012, 2, 1, 1),
        ],
        how="as in 2012-01-31",
    ),
    "24:00 without a date": Messy(
        column("23:00", "24:00", "1:00"), {"x": "time"}, {"x": [time(23), time(0), time(1)]}
    ),
    "times with Uhr": Messy(
        column("13:30 Uhr", "9:05 Uhr", "00:00 Uhr"),
        {"x": "time"},
        {"x": [time(13, 30), time(9, 5), time(0)]},
    ),
    "dates with Uhr": date(
        "31.01.2012 14:30 Uhr", "01.02.2012, 0:05 Uhr", means=LATE, how="day first (31.01.2012)"
    ),
    "durations": Messy(
        column("0 days 00:00:01", "1 days 02:00:00.5", "-1 days +23:59:59", "-"),
        {"x": "number"},
        {"x": [1.0, 93_600.5, -1.0, None]},
        {"x": "durations in seconds"},
    ),
    "durations as Python writes them": Messy(
        column("1 day, 0:00:05", "2 days, 1:00:00", "3 days", "soon"),
        {"x": "number"},
        {"x": [86_405.0, 176_400.0, 259_200.0]},
        {"x": "durations in seconds"},
        refused=((4, "soon", "is not a duration such as 0 days 00:00:01"),),
    ),
    "times of the day": Messy(
        column("13:30", "9:05:07.5", "1:30 PM"),
        {"x": "time"},
        {"x": [time(13, 30), time(9, 5, 7, 500000), time(13, 30)]},
    ),
    "seconds since 1970": Messy(
        "ts,y\n1328020200,1\n1328020260,2\n",
        {"ts": "zoned"},
        {
            "ts": [
                datetime(2012, 1, 31, 14, 30, tzinfo=UTC),
                datetime(2012, 1, 31, 14, 31, tzinfo=UTC),
            ]
        },
        {"ts": "seconds since 1970"},
    ),
    "thousandths since 1970": Messy(
        "createdAt,y\n1328020200500,1\n,2\n",
        {"createdAt": "zoned"},
        {"createdAt": [datetime(2012, 1, 31, 14, 30, 0, 500000, tzinfo=UTC), None]},
        {"createdAt": "milliseconds since 1970"},
    ),
}
