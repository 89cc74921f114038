"""What spreadsheets write: words for errors, months with two digits of the year.

And marks for nothing among numbers.
"""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from swordplay.cli.words import columns
from swordplay.tables import TableError, infer_parser, open_table
from swordplay.tables.column_plans import planned
from swordplay.tracking.task import recognise

ERRORS = ["#DIV/0!", "#N/A", "#REF!", "#VALUE!", "#NAME?", "#NULL!", "#NUM!"]


def read(path, values, **options):
    path.write_text("x,y\n" + "".join(f"{value},1.5\n" for value in values))
    with open_table(str(path), **options) as table:
        return [row["x"] for batch in table.batches() for row in batch.rows.to_pylist()]


def test_words_for_errors_are_missing(tmp_path):
    assert read(tmp_path / "t.csv", ["1.5", *ERRORS, *["2.5"] * 8]) == [
        1.5,
        *[None] * 7,
        *[2.5] * 8,
    ]


@pytest.mark.parametrize(
    ("value", "offered"),
    [
        ("n.d.", "n.d."),
        ("#LEER", "'#LEER'"),
        ("closed", "closed"),
        ("inf", None),
        ("-Infinity", None),
        ("12abc", None),
    ],
)
def test_a_mark_among_numbers_may_stand_for_nothing(tmp_path, value, offered):
    with pytest.raises(TableError, match="is not a finite number") as caught:
        read(tmp_path / "t.csv", ["1.5", "2.5", value, "4"])
    found = re.search(r"If it stands for nothing, say --missing (.*)\.$", str(caught.value))
    assert (found and found[1]) == offered
    if offered:
        assert read(tmp_path / "t.csv", ["1.5", "2.5", value, "4"], missing=(value,)) == [
            1.5,
            2.5,
            None,
            4.0,
        ]


@pytest.mark.parametrize("label", ["Grand total", "Total", "Sum of all", "Source: the office"])
def test_a_total_is_left_out_and_never_taken_for_missing(tmp_path, label):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "1,2\n" * 40 + f"{label},80\n")
    with (
        open_table(path) as table,
        pytest.raises(TableError, match="a row that is no data") as raised,
    ):
        list(table.batches())
    assert "--on-bad skip" in str(raised.value)
    assert "--missing" not in str(raised.value)


def test_the_example_of_a_share_is_one():
    assert infer_parser("x", pa.array(["50%", "7%"])).parser.expected == "a number such as 12.5%"
    assert (
        infer_parser("x", pa.array(["$1,280", "$7,000.5"])).parser.expected
        == "a number such as $1,280.5"
    )


def test_months_with_two_digits_of_the_year():
    names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    texts = pa.array([f"{name}-{year}" for year in (98, 99) for name in names] + ["Jan-00"])
    found = infer_parser("month", texts).parser
    assert (found.kind, found.description) == ("date", "as in Jan 12")
    months = found.parse(texts).values.to_pylist()
    assert [(one.year, one.month, one.day) for one in (months[0], months[13], months[-1])] == [
        (1998, 1, 1),
        (1999, 2, 1),
        (2000, 1, 1),
    ]
    days = pa.array(
        [f"{name}-{day:02}" for name in names[:3] for day in range(1, 29)]
    )  # days of a year, not in the order of years
    assert (
        infer_parser("month", days).parser is None
        or infer_parser("month", days).parser.kind == "word"
    )


def test_words_beyond_the_fiftieth_are_said():
    lines = [
        columns([planned("town", pa.array([f"t{k % count}" for k in range(200)]), insisted=False)])
        for count in (50, 51)
    ]
    assert lines == [
        ["  town  words, one column each"],
        ["  town  words, one column each; the 51st and later share one"],
    ]


def test_a_list_of_values_ends_without_dots():
    assert (
        recognise("y", pa.array([float(k % 5) for k in range(100)])).why
        == "there are 5 different whole numbers, 0, 1, 2, 3 and more"
    )
