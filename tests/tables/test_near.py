"""The beginning of a table is recognised from a few lines, and the same as from all of them."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from swordplay.tables import TableError, csv_header, open_table, parsers, records
from swordplay.tables.parsers import BOOL, DOUBLE, STRING
from swordplay.tables.schema import ColumnRequest
from swordplay.tables.text_format import TextHead

NUMBERS = "a,b\n" + "".join(f"{k},{k / 7:.3f}\n" for k in range(200))
TEXTS = {
    "plain": NUMBERS,
    "carriage returns": NUMBERS.replace("\n", "\r\n"),
    "old carriage returns": NUMBERS.replace("\n", "\r"),
    "semicolons": NUMBERS.replace(",", ";"),
    "a preamble": "made by hand\n\n# on a day\n" + NUMBERS,
    "a preamble and empty lines": "title\n" + "\n" * 300 + NUMBERS,
    "names only": "a,b\n",
    "few rows": NUMBERS[:30],
    "quotes over lines": 'a,b\n"1\n2",3\n' * 100,
    "a quote that ends late": 'a,"b' + "\n" * 500 + '"\n' + "1,2\n" * 60,
    "a quote that never ends": 'a,"b\n' + "1,2\n" * 600,
    "quotes of one delimiter": "a;b\n" + '1;"' + "x,\n" * 300 + '"\n' + "1;2\n" * 60,
    "units": "a,b\nm,kg\n" + "1,2\n" * 100,
    "no names": "1,2\n" * 100,
}


PIECES = ["a", "1", ",", ";", '"', "\n", "\r", "\r\n", "#", " ", "1,2\n"]


def found(text, near, monkeypatch, choice=None):
    monkeypatch.setattr(csv_header, "NEAR", near)
    head = TextHead("table", text.encode(), ended=False)
    try:
        return csv_header.read_header(head, choice or ColumnRequest(None))
    except TableError as error:
        return str(error)


@pytest.mark.parametrize("name", TEXTS)
def test_a_few_lines_are_as_good_as_all(name, monkeypatch):
    for choice in (ColumnRequest(None), ColumnRequest("b"), ColumnRequest(None, header=False)):
        whole = found(TEXTS[name], 0, monkeypatch, choice)
        for near in (1, 50, 400, 1000, 1 << 16):
            assert found(TEXTS[name], near, monkeypatch, choice) == whole


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(["a", "1", ",", ";", '"', "\n", "\r", "\r\n", "#", " ", "1,2\n"]),
        max_size=200,
    ),
    st.integers(0, 300),
)
def test_whatever_the_lines_are(parts, near):
    text = "x" + "".join(parts) * 20
    with pytest.MonkeyPatch.context() as patch:
        assert found(text, near, patch) == found(text, 0, patch)


@pytest.mark.parametrize("near", [1, 50, 400, 1000, 1 << 16])
@pytest.mark.parametrize("name", TEXTS)
def test_records_are_those_of_all_lines(name, near, monkeypatch):
    """By every delimiter; one may find enough of them in a few lines where another does not."""
    monkeypatch.setattr(csv_header, "NEAR", near)
    head = TextHead("table", TEXTS[name].encode(), ended=True)
    lines = head.data.splitlines(keepends=True)
    try:
        wanted = {
            delimiter: csv_header._records(head, lines, delimiter)
            for delimiter in csv_header.DELIMITERS
        }
    except TableError as error:
        with pytest.raises(TableError, match=re.escape(str(error))):
            csv_header._beginning(head, head.data)
    else:
        assert csv_header._beginning(head, head.data)[1] == wanted


@pytest.mark.parametrize("text", [*TEXTS.values(), "", "\n\n", 'a"b\n', 'a,"b\n"c"\n'])
def test_records_end_where_those_with_fields_do(text):
    assert (
        records.record_ends(text.encode(), ",").tolist()
        == records.boundaries(text.encode(), ",")[0].tolist()
    )


def test_numbers_that_are_rounded():
    for whole, rounded in (
        ("9" * 15, False),
        ("1" + "0" * 15, False),
        ("9" * 16, True),
        ("-" + "9" * 16, True),
    ):
        assert parsers.has_inexact_integers(pa.array(["1.5", None, whole])) == rounded
    assert not parsers.has_inexact_integers(pa.array(["0.1234567890123456789"]))
    assert not parsers.has_inexact_integers(pa.array([None], STRING))


def test_marks_are_no_values_of_any_type_but_strings():
    values = pa.array(["1", " - ", "x", None, "--", "true", "2"])
    without_marks = parsers.null_marks_removed(values)
    for type in (DOUBLE, BOOL):
        misfits = parsers.plain_misfits_without_marks(without_marks, type)
        assert misfits.tolist() == parsers.plain_misfits(values, type).tolist()
    assert parsers.plain_misfits(values, DOUBLE).tolist() == [
        text in ("x", "true") for text in values.to_pylist()
    ]
    assert parsers.commonest_plain_type(without_marks, [BOOL]) == STRING
    assert (
        parsers.commonest_plain_type(without_marks, [BOOL, DOUBLE]) == STRING
    )  # 2 of 4 is not most
    assert parsers.commonest_plain_type(pa.array(["1", "2", "x"]), [BOOL, DOUBLE]) == DOUBLE
    assert parsers.commonest_plain_type(pa.array([None, None], STRING), [DOUBLE]) == STRING


@pytest.mark.parametrize("between", ["", "\n", "\r\n\n"])
def test_empty_lines_among_the_first_rows_are_none(tmp_path, between):
    path = tmp_path / "table.csv"
    path.write_bytes(("x,y\n" + f"1,2\n{between}" * 30).encode())
    with open_table(path, target="y") as table:
        assert [row for batch in table.batches() for row in batch.rows.to_pylist()] == [
            {"x": 1.0, "y": 2.0}
        ] * 30
