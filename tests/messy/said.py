"""What users say that columns are."""

from __future__ import annotations

from datetime import datetime

from messy.cases import BOTH, FEBRUARY, Messy, column, date, ndjson, parquet

SAID = {
    "words that look like numbers": Messy(
        "code,y\n17,1\n18,2\n",
        {"code": "word"},
        {"code": ["17", "18"]},
        options={"types": {"code": "word"}},
    ),
    "a category": Messy(
        column("1,280", "3"),
        {"x": "word"},
        {"x": ["1,280", "3"]},
        options={"types": {"x": "category"}},
    ),
    "truths": Messy(
        column("yes", "No", "-"),
        {"x": "truth"},
        {"x": [True, False, None]},
        options={"types": {"x": "truth"}},
    ),
    "numbers as truths": Messy(
        column("1", "0"), {"x": "truth"}, {"x": [True, False]}, options={"types": {"x": "truth"}}
    ),
    "a number of eight digits": date(
        "20120131",
        "20120201",
        name="x",
        means=BOTH,
        how="as in 20120131",
        options={"types": {"x": "date"}},
    ),
    "times": Messy(
        column("13:30", "late"),
        error=("--types x=time does not fit: 'late' is not a time of the day such as 13:30",),
        options={"types": {"x": "time"}},
    ),
    "two digits of a year, said": date(
        "01/02/12",
        "03/02/12",
        means=[FEBRUARY, datetime(2012, 2, 3)],
        how="day first (31/01/12)",
        options={"types": {"day": "day-first"}},
    ),
    "left out": Messy(column("a", "b"), {"y": "number"}, options={"types": {"x": "skip"}}),
    "nothing to tell dates by": Messy(
        column("", ""),
        error=(
            "--types x=date cannot be followed: the column has no value to tell by. Leave it out "
            "of --types.",
        ),
        options={"types": {"x": "date"}},
    ),
    "no numbers": Messy(
        column("a7", "b8"),
        error=("--types x=number does not fit: 'a7' is not a number", "x=word", "x=skip"),
        options={"types": {"x": "number"}},
    ),
    "no dates": Messy(
        column("1.5", "2.5"),
        error=("--types x=day-first does not fit: '1.5' is not a date with the day first",),
        options={"types": {"x": "day-first"}},
    ),
    "two mistakes at once": Messy(
        "a,b,y\nu,v,1\nw,x,2\n",
        error=("--types a=number does not fit: 'u'", "\n--types b=date does not fit: 'v'"),
        options={"types": {"a": "number", "b": "date"}},
    ),
    "an unknown column": Messy(
        "price,y\n1,2\n",
        error=("no column 'prize'", "Did you mean 'price'?"),
        options={"types": {"prize": "number"}},
    ),
    "an unknown kind": Messy(
        "price,y\n1,2\n",
        error=("'price' the kind 'numbr'", "Did you mean 'number'?", "month-first"),
        options={"types": {"price": "numbr"}},
    ),
    "the target left out": Messy(
        "x,y\n1,2\n", error=("says skip of the target 'y'",), options={"types": {"y": "skip"}}
    ),
    "Parquet numbers as words": Messy(
        parquet(code=[17, 18], y=[1, 2]),
        {"code": "word"},
        {"code": ["17", "18"]},
        options={"types": {"code": "word"}},
        suffix="parquet",
    ),
    "NDJSON numbers as words": Messy(
        ndjson({"code": 17, "y": 1}, {"code": 18, "y": 2}),
        {"code": "word"},
        {"code": ["17", "18"]},
        options={"types": {"code": "word"}},
        suffix="ndjson",
    ),
}
