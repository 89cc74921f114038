"""Requests as they are read: anything at all is a request or a refusal in words, and never
anything else.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swordplay.estimators.dict_columns import NumericRows
from swordplay.serving import plain
from swordplay.serving.bodies import SHORT, parsed
from swordplay.serving.limits import Limits
from swordplay.serving.log import Event
from swordplay.serving.refusals import Refusal
from swordplay.serving.requests import Ask, Declaration, Drop, Tell, Wanted, model_name, read

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
    return read(Event(action, "m", "number", body, lines), LIMITS)


def refused(body, action="ask"):
    """Why a request is refused; None if it is not."""
    try:
        asked(body, action)
    except Refusal as refusal:
        return refusal
    return None


def test_a_request_is_read_by_series():
    rows = [{"x": {"a": 1}, "id": "1"}, {"x": {"a": 2}, "key": "k"}, {"x": {}, "id": "3"}]
    assert asked(json.dumps(rows).encode()) == Wanted(
        [Ask("", [0, 2], ["1", "3"], [{"a": 1}, {}]), Ask("k", [1], [None], [{"a": 2}])], 3, True
    )
    assert asked(b'{"id": "1", "y": "red"}', "tell") == Wanted(
        [Tell("", [0], ["1"], ["red"])], 1, False
    )
    assert asked(b'{"id": "1", "key": "k"}', "drop") == Wanted([Drop("k", [0], ["1"])], 1, False)
    assert asked(b'{"target": "yes-no"}', "declare") == Declaration("yes-no")
    assert asked(b'\n{"x": {}}\r\n\n', lines=True).rows == 1


@pytest.mark.parametrize("end", range(len(WHOLE)))
def test_whatever_is_cut_off_is_refused_with_its_byte(end):
    with pytest.raises(Refusal) as refusal:
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
    with pytest.raises(Refusal) as refusal:
        parsed('{"ü": }'.encode(), False)
    assert refusal.value.where == {"byte": 7}
    with pytest.raises(Refusal) as refusal:
        parsed('1\n{"ü": }'.encode(), True)
    assert refusal.value.where == {"byte": 9, "line": 2}
    with pytest.raises(Refusal) as refusal:
        parsed(b'{"a": \xff}', False)
    assert refusal.value.where == {"byte": 6}


@pytest.mark.parametrize("action", ["ask", "tell", "drop", "declare"])
@given(body=st.binary(max_size=30) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_anything_is_read_or_refused(action, body):
    refusal = refused(body, action)
    assert refusal is None or (
        refusal.status in (400, 413) and json.loads(json.dumps(refusal.body()))["error"]
    )


def test_limits():
    assert (
        asked(b'[{"x": {}}, {"x": {}}, {"x": {}}, {"x": {}}, {"x": {"a": 1, "b": 2, "c": 3}}]').rows
        == 5
    )
    for body in (
        b"[" + b",".join([b'{"x": {}}'] * 6) + b"]",
        b'{"x": {"a": 1, "b": 2, "c": 3, "d": 4}}',
    ):
        with pytest.raises(Refusal) as refusal:
            asked(body)
        assert refusal.value.status == 413


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a.b", "a b", "ä", "a\n", "n" * 65, "%2e"])
def test_names_of_models_are_no_paths(name):
    with pytest.raises(Refusal, match="a model is named by 1 to 64"):
        model_name(name)


def test_names_of_models():
    assert [model_name(name) for name in ("a", "A-b_9", "n" * 64)] == ["a", "A-b_9", "n" * 64]


def many(count, **more):
    return [{"x": {"a": k, "b": 0.5}, "id": f"{k}", **more} for k in range(count)]


WIDE = Limits(rows=100, columns=3)


def test_a_batch_of_numbers_is_one_table():
    for lines in (False, True):
        rows = many(70, key="k")
        body = "\n".join(map(json.dumps, rows)) + "\n" if lines else json.dumps(rows)
        (part,) = read(Event("ask", "m", "number", body.encode(), lines), WIDE).parts
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
        (part,) = read(Event("ask", "m", "number", body.encode(), lines), WIDE).parts
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
    wanted = read(Event("ask", "m", "number", json.dumps(rows).encode()), WIDE)
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
    before = plain._decoders.cache_info()
    for k in range(50):
        for value in ({"x": {f"column {k}": 1.0}}, [{"x": {f"column {k}": 1.0}}] * plain.SMALL):
            read(Event("ask", "m", "number", json.dumps(value).encode()), WIDE)
    assert plain._decoders.cache_info() == before


@pytest.mark.parametrize("name", ['"', "\\", "a\\u0041"])
def test_names_with_quotes_are_read_row_by_row(name):
    rows = [{"x": {"a": 0.5, name: float(k)}} for k in range(70)]
    (part,) = read(Event("ask", "m", "number", json.dumps(rows).encode()), WIDE).parts
    assert part.rows == [row["x"] for row in rows]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": {"a": [], "b": 1}}, "x\\['a'\\] must be a number"),
        ({"x": {"a": 1, "b": 2, "c": 3, "d": 4}}, "at most 3 columns"),
        ({"id": "#1"}, "are given by the server"),
        ({"id": ""}, "id must be a text"),
        ({"id": "a\n"}, "id must be a text"),
        ({"key": ""} | {"z": 1}, "no field 'z'"),
        ({"key": None}, "key must be a text"),
    ],
)
def test_a_wrong_row_of_a_batch_is_refused_in_words(change, words):
    rows = many(70)
    rows[41] |= change
    with pytest.raises(Refusal, match=words) as refusal:
        read(Event("ask", "m", "number", json.dumps(rows).encode()), WIDE)
    assert refusal.value.where["row"] == 41
    with pytest.raises(Refusal, match="at most 100 rows"):
        read(Event("ask", "m", "number", json.dumps(many(101)).encode()), WIDE)


@given(value=VALUES, spaces=st.booleans())
def test_values_are_what_python_reads(value, spaces):
    body = json.dumps(value, indent=1 if spaces else None, ensure_ascii=spaces)
    try:
        body.encode()
    except UnicodeEncodeError:
        return
    found = parsed(body.encode(), False)
    assert repr(found) == repr(json.loads(body))


@pytest.mark.parametrize(
    "text", ["123456789012345678901234567890", "-0", "-0.0", "5e-324", "1E5", '"\\ud800"']
)
def test_odd_values_are_what_python_reads(text):
    assert repr(parsed(text.encode(), False)) == repr(json.loads(text))


@given(value=VALUES, spaces=st.booleans(), name=st.sampled_from(["a", ":", '":', " :", "x"]))
def test_a_name_twice_is_refused_wherever_it_is(value, spaces, name):
    body = json.dumps({"x": {name: value, "other": 1, "name": 2}}, indent=1 if spaces else None)
    assert parsed(body.encode(), False) == json.loads(body)
    doubled = body.replace('"other"', json.dumps(name))
    with pytest.raises(Refusal, match="is there twice in one object"):
        parsed(doubled.encode(), False)
    long = doubled + " " * SHORT  # searched another way
    with pytest.raises(Refusal, match="is there twice in one object"):
        parsed(long.encode(), False)


def test_a_batch_is_one_however_long_its_first_rows_are_and_whatever_its_ids_hold_behind_the_first_letter():  # noqa: E501
    rows = [{"id": f"{k}#", "x": {"a": k / 3.0, "b": -1e-300, "c": 5}} for k in range(70)]
    spaced = (
        json.dumps(rows[:1])[:-1] + " " * plain.FAR + "," + json.dumps(rows[1:])[1:]
    )  # beyond what is looked through first
    for body in (json.dumps(rows), spaced):
        key, ids, found = plain.asked(body.encode(), False, Limits())
        assert (key, ids, found.names) == ("", [row["id"] for row in rows], ["a", "b", "c"])
        assert found.values.tolist() == [[k / 3.0, -1e-300, 5.0] for k in range(70)]
        assert found.values.flags.writeable  # kernels are compiled for such
    ours = [*rows[:-1], rows[-1] | {"id": "#1"}]
    assert plain.asked(json.dumps(ours).encode(), False, Limits()) is None
    assert plain.asked((json.dumps(rows[:64]) + " " * plain.FAR).encode(), False, Limits()) is None
