"""The same in NDJSON and Parquet."""

from __future__ import annotations

from datetime import time

import pyarrow as pa

from messy.cases import BOTH, JANUARY, Messy, ndjson, parquet

OTHER_FORMATS = {
    "NDJSON": Messy(
        ndjson(
            {"price": "$1,280.50", "day": "31/01/2012", "n": "7", "y": 1},
            {"price": "n.d.", "day": "01/02/2012", "n": "-", "y": 2},
        ),
        {"price": "number", "day": "date", "n": "number"},
        {"price": [1280.5, None], "day": BOTH, "n": [7, None]},
        {"price": "in $, thousands by commas", "day": "day first (31/01/2012)"},
        options={"missing": ["n.d."]},
        suffix="ndjson",
    ),
    "NDJSON with strings for nothing": Messy(
        ndjson(
            *(
                {"x": text, "day": "2012-01-31", "t": True, "w": "-", "y": 1}
                for text in ("-", "NA", "", "n.d.")
            ),
            {"x": 1.5, "day": "-", "t": "?", "w": "a", "y": 2},
            {"x": "1.5", "day": None, "t": False, "w": "a", "y": 3},
        ),
        {"x": "number", "day": "date", "t": "truth", "w": "word"},
        {
            "x": [None] * 4 + [1.5],
            "day": [JANUARY] * 4 + [None],
            "t": [True] * 4 + [None],
            "w": ["-"] * 4 + ["a"],
        },
        refused=((6, '"1.5"', "is not a finite number"),),
        options={"missing": ["n.d."]},
        suffix="ndjson",
    ),
    "NDJSON with values in quotes": Messy(
        ndjson(
            {"x": "7.5", "t": "true", "d": "2012-01-31", "y": 1},
            {"x": "8", "t": "false", "d": "2012-02-01", "y": 2},
        ),
        {"x": "number", "t": "truth", "d": "date"},
        {"x": [7.5, 8], "t": [True, False], "d": BOTH},
        suffix="ndjson",
    ),
    "NDJSON with a bad row": Messy(
        ndjson(
            {"price": "$1", "y": 1},
            {"price": "$2", "y": 2},
            {"price": "free", "y": 3},
            {"price": 4, "y": 4},
        ),
        {"price": "number"},
        {"price": [1, 2]},
        {"price": "in $"},
        refused=((3, "free", "is not a number such as $12.5"), (4, "4", "is not a number such as")),
        suffix="ndjson",
    ),
    "NDJSON with lists and objects": Messy(
        ndjson({"a": [1], "b": {"c": 1}, "x": 1, "y": 1}, {"a": [], "b": {}, "x": 2, "y": 2}),
        {"x": "number"},
        {"y": [1, 2]},
        remarks=(
            """are needed: 'a' (holds nested values such as [1]), 'b' (holds nested values such as {"c": 1}).""",  # noqa: E501
        ),
        suffix="ndjson",
    ),
    "NDJSON with moments": Messy(
        ndjson({"timestamp": 1328020200, "y": 1}, {"timestamp": 1328020260, "y": 2}),
        {"timestamp": "zoned"},
        {},
        {"timestamp": "seconds since 1970"},
        suffix="ndjson",
    ),
    "Parquet": Messy(
        parquet(
            price=["$1,280.50", "n.d."],
            day=pa.array(["31/01/2012", "01/02/2012"]).dictionary_encode(),
            w=["-", "a"],
            y=[1, 2],
        ),
        {"price": "number", "day": "date", "w": "word"},
        {"price": [1280.5, None], "day": BOTH, "w": ["-", "a"]},
        {"price": "in $, thousands by commas", "day": "day first (31/01/2012)"},
        options={"missing": ["n.d."]},
        suffix="parquet",
    ),
    "Parquet with a bad row": Messy(
        parquet(price=["$1", "$2", "free"], y=[1.0, 2.0, float("inf")]),
        {"price": "number"},
        {"price": [1, 2]},
        {"price": "in $"},
        refused=((3, "free", "is not a number such as $12.5"),),
        suffix="parquet",
    ),
    "Parquet with moments": Messy(
        parquet(when=[1328020200000, 1328020260000], day=[20120131, 20120201], y=[1, 2]),
        {"when": "zoned", "day": "date"},
        {"day": BOTH},
        {"when": "milliseconds since 1970", "day": "as in 20120131"},
        suffix="parquet",
    ),
    "Parquet with times and lengths of time": Messy(
        parquet(
            t=pa.array([time(13, 30), None]), d=pa.array([1500, None], pa.duration("ms")), y=[1, 2]
        ),
        {"t": "time", "d": "number"},
        {"t": [time(13, 30), None], "d": [1.5, None]},
        suffix="parquet",
    ),
    "Parquet with lists, objects and bytes": Messy(
        parquet(a=[[1], [2]], b=[{"c": 1}, {"c": 2}], d=[b"x", b"y"], x=[1, 2], y=[1, 2]),
        {"x": "number"},
        {"y": [1, 2]},
        remarks=(
            "Left out, as numbers, words and dates are needed: 'a' (holds values of type "
            "list<element: int64>), 'b' (",
        ),
        suffix="parquet",
    ),
    "Parquet, all problems at once": Messy(
        parquet(a=[[1], [2]], b=["u", "v"], y=[[1], [2]]),
        error=(
            "column 'a' holds values of type list",
            "--types b=number does not fit: 'u' is not a number",
            "column 'y' holds values of type list",
        ),
        options={"keep": ["a", "b"], "types": {"b": "number"}},
        suffix="parquet",
    ),
}
