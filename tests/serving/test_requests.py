"""Requests as they are read: anything at all is a request or a refusal in words, and never
anything else.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swordplay.estimators.dict_columns import NumericRows
from swordplay.serving import requests
from swordplay.serving.errors import RequestError
from swordplay.serving.limits import Bounds, Limits
from swordplay.serving.log_format import Event
from swordplay.serving.messages import Declaration
from swordplay.serving.requests import (
    SHORT_BODY,
    AskRows,
    DropTickets,
    RowRequest,
    TellRows,
    check_model_name,
    parse,
)

LIMITS = Limits(rows=5, columns=3)
WHOLE = json.dumps(
    [{"x": {"a": 1.5, "ü": "wörd"}, "id": "i", "key": "k"}, {"x": {"b": None}}], ensure_ascii=False
).encode()
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers()
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["x", "id", "key", "y", "a"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def asked(body, action="ask", lines=False):
    return parse(Event(action, "m", "number", body, lines), LIMITS)


def refused(body, action="ask"):
    """Why a request is refused; None if it is not."""
    try:
        asked(body, action)
    except RequestError as refusal:
        return refusal
    return None


def test_a_request_is_read_by_series():
    rows = [{"x": {"a": 1}, "id": "1"}, {"x": {"a": 2}, "key": "k"}, {"x": {}, "id": "3"}]
    assert asked(json.dumps(rows).encode()) == RowRequest(
        [AskRows("", [0, 2], ["1", "3"], [{"a": 1}, {}]), AskRows("k", [1], [None], [{"a": 2}])],
        3,
        True,
    )
    assert asked(b'{"id": "1", "y": "red"}', "tell") == RowRequest(
        [TellRows("", range(1), ["1"], ["red"])], 1, False
    )
    assert asked(b'{"id": "1", "key": "k"}', "drop") == RowRequest(
        [DropTickets("k", range(1), ["1"])], 1, False
    )
    assert asked(b'{"target": "yes-no"}', "declare") == Declaration("yes-no")
    assert asked(b'\n{"x": {}}\r\n\n', lines=True).row_count == 1


@pytest.mark.parametrize("end", range(len(WHOLE)))
def test_whatever_is_cut_off_is_refused_with_its_byte(end):
    with pytest.raises(RequestError) as refusal:
        asked(WHOLE[:end])
    assert refusal.value.status == 400
    assert 0 <= refusal.value.where["byte"] <= end


@pytest.mark.parametrize("place", range(len(WHOLE)))
@pytest.mark.parametrize("wrong", [b"\xff", b"\x00", b"}", b'"', b"7"])
def test_a_wrong_byte_is_refused_or_makes_another_request(place, wrong):
    refusal = refused(WHOLE[:place] + wrong + WHOLE[place + 1 :])
    assert refusal is None or (
        refusal.status == 400 and 0 <= refusal.where.get("byte", 0) <= len(WHOLE)
    )


def test_the_byte_is_counted_in_bytes():
    assert refused('{"x": {"ü": }}'.encode()).where == {"byte": 13}
    assert refused(b'{"x": {"a": \xff}}').where == {"byte": 12}
    with pytest.raises(RequestError) as refusal:
        asked('{"x": {}}\n{"x": {"ü": }}'.encode(), lines=True)
    assert refusal.value.where == {"byte": 23, "line": 2}


@pytest.mark.parametrize(
    ("action", "body", "reason", "row"),
    [
        ("ask", b"3", "expected `object | array`, got `int`", 0),
        ("ask", b"[3]", "expected `object`, got `int` - at `$[0]`", 0),
        ("ask", b'[{"x": {}}, {"x": [1]}]', "expected `object`, got `array` - at `$[1].x`", 1),
        ("ask", b'{"id": "i"}', "object missing required field `x`", 0),
        ("ask", b'{"x": {}, "z": 1}', "object contains unknown field `z`", 0),
        ("ask", b'[{"x": {}}, {"x": {"a": 1, "b": []}}]', "got `array` - at `$[1].x['b']`", 1),
        ("ask", b'{"x": {"a": {"b": 1}}}', "got `object` - at `$.x['a']`", 0),
        (
            "tell",
            b'[{"id": "i", "y": 1}, {"id": "j"}]',
            "missing required field `y` - at `$[1]`",
            1,
        ),
        ("tell", b'{"id": "i", "y": null}', "got `null` - at `$.y`", 0),
        ("tell", b'{"id": "i", "y": ""}', "expected `str` of length >= 1 - at `$.y`", 0),
        ("drop", b'{"id": 3}', "expected `str`, got `int` - at `$.id`", 0),
        ("drop", b'[{"id": "a"}, {"id": "a\\n"}]', "printable characters, got 'a\\n'", 1),
        ("drop", b'{"id": "\\ud800"}', "printable characters", 0),
        ("ask", b'{"\\ud800": 1}', "the name of a field has a lone surrogate", 0),
        ("declare", b'{"target": "words"}', "invalid enum value 'words' - at `$.target`", None),
    ],
)
def test_errors_name_the_place_and_the_remedy(action, body, reason, row):
    error = refused(body, action)
    assert reason in error.message
    assert "Send {" in error.message or "got '" in error.message
    assert error.where == ({} if row is None else {"row": row})


def test_errors_of_lines_name_the_line():
    lines = b'{"x": {}}\n\n{"x": {"a": []}}'
    with pytest.raises(RequestError, match=r"at `\$\.x\['a'\]`") as refusal:
        asked(lines, lines=True)
    assert refusal.value.where == {"line": 3, "row": 1}


@pytest.mark.parametrize("action", ["ask", "tell", "drop", "declare"])
@given(body=st.binary(max_size=30) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_anything_is_read_or_refused(action, body):
    refusal = refused(body, action)
    assert refusal is None or (
        refusal.status in (400, 413) and json.loads(json.dumps(refusal.body()))["error"]
    )


def test_limits():
    assert (
        asked(
            b'[{"x": {}}, {"x": {}}, {"x": {}}, {"x": {}}, {"x": {"a": 1, "b": 2, "c": 3}}]'
        ).row_count
        == 5
    )
    for body in (
        b"[" + b",".join([b'{"x": {}}'] * 6) + b"]",
        b'{"x": {"a": 1, "b": 2, "c": 3, "d": 4}}',
    ):
        with pytest.raises(RequestError) as refusal:
            asked(body)
        assert refusal.value.status == 413


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a.b", "a b", "ä", "a\n", "n" * 65, "%2e"])
def test_names_of_models_are_no_paths(name):
    with pytest.raises(RequestError, match="the name of a model has 1 to 64"):
        check_model_name(name)


def test_names_of_models():
    for name in ("a", "A-b_9", "n" * 64):
        check_model_name(name)


def many(count, **more):
    return [{"x": {"a": k, "b": 0.5}, "id": f"{k}", **more} for k in range(count)]


WIDE = Limits(rows=100, columns=3)


def test_a_batch_of_numbers_is_one_table():
    for lines in (False, True):
        rows = many(70, key="k")
        body = "\n".join(map(json.dumps, rows)) + "\n" if lines else json.dumps(rows)
        (part,) = parse(Event("ask", "m", "number", body.encode(), lines), WIDE).parts
        assert isinstance(part.rows, NumericRows)
        assert (part.key, part.ids, list(part.places)) == (
            "k",
            [f"{k}" for k in range(70)],
            list(range(70)),
        )
        assert list(part.rows) == [{"a": float(k), "b": 0.5} for k in range(70)]
        assert (part.rows[3], len(part.rows[:5])) == ({"a": 3.0, "b": 0.5}, 5)


@pytest.mark.parametrize("lines", [False, True])
def test_columns_of_a_batch_come_in_the_order_of_its_first_row(lines):
    for names in (["a", "b"], ["b", "a"], ["b", "a"], ["for", "é %"]):
        rows = [{"id": f"{k}", "x": {names[k % 2]: 1.0, names[1 - k % 2]: 2.5}} for k in range(70)]
        body = "\n".join(map(json.dumps, rows)) if lines else json.dumps(rows)
        (part,) = parse(Event("ask", "m", "number", body.encode(), lines), WIDE).parts
        assert isinstance(part.rows, NumericRows)
        assert part.rows.names == names
        assert list(part.rows) == [row["x"] for row in rows]


@pytest.mark.parametrize(
    "change",
    [
        {"x": {"a": 1.0, "b": "word"}},
        {"x": {"a": True, "b": 1.0}},
        {"x": {"a": 1.0}},
        {"x": {"a": 1.0, "b": 0.5, "c": 1.0}},
        {"key": "other"},
        {"id": None},
    ],
)
def test_whatever_is_no_plain_table_is_read_row_by_row(change):
    rows = many(70)
    rows[41] |= change
    wanted = parse(Event("ask", "m", "number", json.dumps(rows).encode()), WIDE)
    read_ = {
        place: row
        for part in wanted.parts
        for place, row in zip(part.places, part.rows, strict=True)
    }
    assert [read_[k] for k in range(70)] == [row["x"] for row in rows]
    assert not any(isinstance(part.rows, NumericRows) for part in wanted.parts)


def test_what_is_no_batch_makes_no_decoder():
    """Of any columns that a client thinks of, one row at a time: to make one takes longer than
    to read the row.
    """
    before = requests._table_decoders.cache_info()
    for k in range(50):
        for value in (
            {"x": {f"column {k}": 1.0}},
            [{"x": {f"column {k}": 1.0}}] * requests.MAX_SMALL_ROWS,
        ):
            parse(Event("ask", "m", "number", json.dumps(value).encode()), WIDE)
    assert requests._table_decoders.cache_info() == before


@pytest.mark.parametrize("name", ['"', "\\", "a\\u0041"])
def test_names_with_quotes_are_read_row_by_row(name):
    rows = [{"x": {"a": 0.5, name: float(k)}} for k in range(70)]
    (part,) = parse(Event("ask", "m", "number", json.dumps(rows).encode()), WIDE).parts
    assert part.rows == [row["x"] for row in rows]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": {"a": [], "b": 1}}, "got `array` - at `\\$\\[41\\].x\\['a'\\]`"),
        ({"x": {"a": 1, "b": 2, "c": 3, "d": 4}}, "at most 3 columns"),
        ({"id": "#1"}, "are made by the server"),
        ({"id": ""}, "expected `str` of length >= 1 - at `\\$\\[41\\].id`"),
        ({"id": "a\n"}, "id must be a string"),
        ({"key": ""} | {"z": 1}, "unknown field `z` - at `\\$\\[41\\]`"),
        ({"key": None}, "expected `str`, got `null` - at `\\$\\[41\\].key`"),
    ],
)
def test_a_wrong_row_of_a_batch_is_refused_in_words(change, words):
    rows = many(70)
    rows[41] |= change
    with pytest.raises(RequestError, match=words) as refusal:
        parse(Event("ask", "m", "number", json.dumps(rows).encode()), WIDE)
    assert refusal.value.where["row"] == 41
    with pytest.raises(RequestError, match="at most 100 rows"):
        parse(Event("ask", "m", "number", json.dumps(many(101)).encode()), WIDE)


SCALARS = (
    st.none()
    | st.booleans()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.integers()
    | st.text(max_size=5)
)


def value_of(text):
    """A value of a row as it is parsed."""
    (part,) = parse(Event("ask", "m", "number", b'{"x": {"a": %b}}' % text), WIDE).parts
    return part.rows[0]["a"]


@given(value=SCALARS)
def test_values_are_what_python_reads(value):
    text = json.dumps(value, ensure_ascii=False)
    try:
        body = text.encode()
    except UnicodeEncodeError:
        return
    assert repr(value_of(body)) == repr(json.loads(text))


@pytest.mark.parametrize(
    "text",
    ["123456789012345678901234567890", "-0", "-0.0", "5e-324", "1E5", '"\\ud800"', '"\\u0000"'],
)
def test_odd_values_are_what_python_reads(text):
    assert repr(value_of(text.encode())) == repr(json.loads(text))


@given(value=SCALARS, spaces=st.booleans(), name=st.sampled_from(["a", ":", '":', " :", "x"]))
def test_a_name_twice_is_refused_wherever_it_is(value, spaces, name):
    row = {"x": {name: value, "other": 1, "name": 2}, "id": "1"}
    body = json.dumps(row, indent=1 if spaces else None)
    (part,) = asked(body.encode()).parts
    assert part.rows == [row["x"]]
    for doubled in (
        body.replace('"other"', json.dumps(name)),
        body.replace('"id"', '"id": "2", "id"'),
    ):
        with pytest.raises(RequestError, match="occurs twice in one JSON object"):
            asked(doubled.encode())
        with pytest.raises(RequestError, match="occurs twice in one JSON object"):
            asked(doubled.encode() + b" " * SHORT_BODY)  # counted another way


def test_an_id_that_is_null_and_an_empty_key_are_accepted():
    """They leave the count of names too high, and no name occurs twice."""
    for body in (b'{"x": {"a": 1}, "id": null}', b'{"x": {"a": 1}, "key": ""}'):
        (part,) = asked(body).parts
        assert part == AskRows("", range(1), [None], [{"a": 1}])


@pytest.mark.parametrize(
    ("action", "body", "is_ndjson"),
    [
        ("ask", '{"x": {"a": 123456789012345678901234567890}}', False),
        ("ask", '{"x": {"a": "\\ud800", "b": null, "c": -0.0}, "id": null, "key": ""}', False),
        ("ask", ' \n[{"key": "k", "x": {}}, {"x": {}, "id": "🎈"}] ', False),
        ("ask", '\n\n{"x": {"a": true}}\r\n \n{"x": {}}', True),
        ("ask", "[]", False),
        ("ask", "", True),
        ("ask", json.dumps([{"x": {"a": 1}, "id": f"{k}"} for k in range(70)]), False),
        ("tell", '{"id": "#1.0", "y": 36893488147419103232}', False),
        ("tell", '[{"y": true, "id": "a"}, {"y": "b", "id": "a", "key": ""}]', False),
        ("drop", '{"id": "a", "key": "k"}', False),
        ("declare", ' {"target": "classes"}', False),
        ("bounds", json.dumps(Bounds()._asdict()), False),
    ],
)
def test_what_was_accepted_once_stays_accepted(action, body, is_ndjson):
    """A log is replayed with the parser of today: this list may only get longer."""
    parse(Event(action, "m", "number", body.encode(), is_ndjson), Limits(rows=100))


def table(body):
    return requests._parse_table(Event("ask", "m", "number", body.encode()), Limits())


def test_a_batch_is_one_however_long_its_first_rows_are_and_whatever_its_ids_hold_behind_the_first_letter():  # noqa: E501
    rows = [{"id": f"{k}#", "x": {"a": k / 3.0, "b": -1e-300, "c": 5}} for k in range(70)]
    # beyond the prefix that is searched first
    spaced = json.dumps(rows[:1])[:-1] + " " * requests.LONG_PREFIX + "," + json.dumps(rows[1:])[1:]
    for body in (json.dumps(rows), spaced):
        (part,) = table(body).parts
        assert (part.key, part.ids) == ("", [row["id"] for row in rows])
        assert part.rows.names == ["a", "b", "c"]
        assert part.rows.values.tolist() == [[k / 3.0, -1e-300, 5.0] for k in range(70)]
        assert part.rows.values.flags.writeable  # kernels are compiled for such
    assert table(json.dumps([*rows[:-1], rows[-1] | {"id": "#1"}])) is None
    assert table(json.dumps(rows[:64]) + " " * requests.LONG_PREFIX) is None
