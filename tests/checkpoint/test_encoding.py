"""Bytes of a state: they load bit by bit, and equal states have equal bytes."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import swordplay as sp
from checkpoint.samples import KIND, bits, every_type, same_bits
from swordplay.core import checkpoint
from swordplay.core.checkpoint import CheckpointError
from swordplay.parts.streams import drift

shapes = array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
any_array = st.sampled_from(sorted(checkpoint.DTYPES)).flatmap(
    lambda dtype: arrays(np.dtype(dtype), shapes)
)
values = st.one_of(
    any_array, st.integers(-(2**200), 2**200), st.floats(), st.booleans(), st.text(max_size=20)
)
states = st.dictionaries(st.text(max_size=10), values, max_size=8)


@given(states, st.text(min_size=1, max_size=20))
def test_a_state_comes_back_bit_by_bit(state, kind):
    back = checkpoint.loads(checkpoint.dumps(state, kind=kind), kind=kind)
    assert same_bits(back, state)
    assert all(
        value.flags.writeable and value.flags.owndata
        for value in back.values()
        if isinstance(value, np.ndarray)
    )


@given(states, st.randoms(use_true_random=False))
def test_equal_states_have_equal_bytes(state, random):
    names = list(state)
    random.shuffle(names)
    shuffled = {
        name: np.copy(state[name]) if isinstance(state[name], np.ndarray) else state[name]
        for name in names
    }
    assert checkpoint.dumps(shuffled, kind=KIND) == checkpoint.dumps(state, kind=KIND)


@given(states, states)
def test_other_states_have_other_bytes(one, other):
    assert (checkpoint.dumps(one, kind=KIND) == checkpoint.dumps(other, kind=KIND)) == same_bits(
        one, other
    )


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4)[:, ::2],
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(5, dtype=">i8"),
        np.broadcast_to(1.5, (2, 3)),
    ],
    ids=["strided", "fortran", "big-endian", "broadcast"],
)
def test_how_an_array_lies_in_memory_does_not_matter(array):
    plain = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
    data = checkpoint.dumps({"x": array}, kind=KIND)
    assert data == checkpoint.dumps({"x": plain}, kind=KIND)
    assert bits(checkpoint.loads(data)["x"]) == bits(plain)


def test_numpy_scalars_come_back_as_numbers():
    back = checkpoint.loads(
        checkpoint.dumps({"a": np.float64(0.1), "b": np.int32(3), "c": np.bool_(True)}, kind=KIND)
    )
    assert [bits(back[name]) for name in "abc"] == [bits(0.1), bits(3), bits(True)]


@pytest.mark.parametrize("form", [bytes, bytearray, memoryview])
def test_any_bytes_will_do(form):
    assert same_bits(
        checkpoint.loads(form(checkpoint.dumps(every_type(), kind=KIND))), every_type()
    )


def test_a_learner_goes_on_from_its_bytes_bit_by_bit():
    stream = drift.jumps(200, 3, every=50)
    losses = list(stream)
    learner, other = sp.Sword(stream.domain), sp.Sword(stream.domain)
    for loss in losses[:100]:
        learner.observe(loss)
    other.load_state(
        checkpoint.loads(checkpoint.dumps(learner.state(), kind="Sword"), kind="Sword")
    )
    for loss in losses[100:]:
        assert other.decision.tobytes() == learner.decision.tobytes()
        learner.observe(loss)
        other.observe(loss)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [1, 2],
        {"a": 1},
        1j,
        b"bytes",
        np.array([1j]),
        np.array(["a"]),
        np.array([None]),
        np.array([1.0], dtype=np.float16),
        np.array(["2020"], dtype="M8[D]"),
        np.ma.masked_array([1.0], [True]),
        np.longdouble(1),
    ],
    ids=lambda value: f"{type(value).__name__} {getattr(value, 'dtype', '')}",
)
def test_what_would_not_come_back_as_it_was_is_refused(value):
    with pytest.raises(TypeError, match=r"state\['x'\] must be an array"):
        checkpoint.dumps({"x": value}, kind=KIND)


def test_other_arguments_are_refused_in_words():
    with pytest.raises(ValueError, match=r"state\['x'\] must be an int of at most 2048 bits"):
        checkpoint.dumps({"x": 2**2048}, kind=KIND)
    with pytest.raises(TypeError, match="state must have strings for names, got 1"):
        checkpoint.dumps({1: 1.0}, kind=KIND)
    with pytest.raises(TypeError, match="state must be a dictionary"):
        checkpoint.dumps([1.0], kind=KIND)
    for kind in ("", None, "x" * 201):
        with pytest.raises(ValueError, match="kind must be a name of 1 to 200 characters"):
            checkpoint.dumps({}, kind=kind)
    with pytest.raises(TypeError, match="data must be the bytes that dumps returned"):
        checkpoint.loads("text")


def test_the_largest_ints_survive_pythons_strictest_limit_on_digits():
    digits = len(str(2**checkpoint.MAX_INT_BITS))
    assert digits <= 640  # sys.int_info.str_digits_check_threshold: no setting can be below
    for number in (2**2048 - 1, 1 - 2**2048):
        assert checkpoint.loads(checkpoint.dumps({"x": number}, kind=KIND)) == {"x": number}


def test_another_kind_is_refused():
    data = checkpoint.dumps({"rounds": 1}, kind="SwordBest")
    assert checkpoint.loads(data) == checkpoint.loads(data, kind="SwordBest") == {"rounds": 1}
    with pytest.raises(
        CheckpointError, match=r"is of kind 'SwordBest', not 'Sword'\. Load it as a 'SwordBest'"
    ):
        checkpoint.loads(data, kind="Sword")


def test_errors_are_value_errors_that_travel_between_processes():
    error = CheckpointError("the checkpoint is damaged")
    assert isinstance(error, ValueError)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (CheckpointError, str(error))


def test_floats_keep_their_sign_and_their_infinities():
    back = checkpoint.loads(checkpoint.dumps({"zero": -0.0, "rate": math.inf}, kind=KIND))
    assert math.copysign(1.0, back["zero"]) == -1.0
    assert back["rate"] == math.inf
