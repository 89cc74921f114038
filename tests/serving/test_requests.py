"""Requests as they are read: anything at all is a request or a refusal in words, and never anything else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from swordplay.serving.bodies import parsed
from swordplay.serving.limits import Limits
from swordplay.serving.log import Event
from swordplay.serving.refusals import Refusal
from swordplay.serving.requests import Ask, Declaration, Drop, Tell, Wanted, model_name, read

LIMITS = Limits(rows=5, columns=3)
WHOLE = json.dumps([{"x": {"a": 1.5, "ü": "wörd"}, "id": "i", "key": "k"}, {"x": {"b": None}}], ensure_ascii=False).encode()
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "id", "key", "y", "a"]), inner, max_size=3)
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
    assert asked(b'{"id": "1", "y": "red"}', "tell") == Wanted([Tell("", [0], ["1"], ["red"])], 1, False)
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
    assert refusal is None or (refusal.status == 400 and 0 <= refusal.where.get("byte", 0) <= len(WHOLE))


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
    assert refusal is None or (refusal.status in (400, 413) and json.loads(json.dumps(refusal.body()))["error"])


def test_limits():
    assert asked(b'[{"x": {}}, {"x": {}}, {"x": {}}, {"x": {}}, {"x": {"a": 1, "b": 2, "c": 3}}]').rows == 5
    for body in (b"[" + b",".join([b'{"x": {}}'] * 6) + b"]", b'{"x": {"a": 1, "b": 2, "c": 3, "d": 4}}'):
        with pytest.raises(Refusal) as refusal:
            asked(body)
        assert refusal.value.status == 413


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a.b", "a b", "ä", "a\n", "n" * 65, "%2e"])
def test_names_of_models_are_no_paths(name):
    with pytest.raises(Refusal, match="a model is named by 1 to 64"):
        model_name(name)


def test_names_of_models():
    assert [model_name(name) for name in ("a", "A-b_9", "n" * 64)] == ["a", "A-b_9", "n" * 64]
