"""Learners whose arrays lie behind one another in one block of memory."""

import copy
import pickle

import numpy as np
import pytest

import swordplay as sp
from swordplay.engine.layout import EXPERT, LearnerArrays
from swordplay.engine.stack import LearnerStack

ROWS = np.random.default_rng(0).normal(size=(20, 3))
TARGETS = ROWS @ [1.0, -2.0, 0.5]


def learner(rows=20):
    made = sp.engine.compiled_twin(sp.SwordAgeless(sp.Ball(3, 5.0), smoothness=9.0), "squared")
    made.play(ROWS[:rows], TARGETS[:rows])
    return made


def shares_memory(stack):
    return all(
        np.shares_memory(block[k], own)
        for k, one in enumerate(stack.learners)
        for block, own in zip(stack.arrays, one.memory.arrays, strict=True)
    )


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_every_learner_plays_on_its_slice_and_goes_on_as_alone(count):
    stack, alone = LearnerStack(), [learner(4 * k) for k in range(count)]
    for k in range(count):
        assert stack.add(learner(4 * k)) == k
        assert len(stack.arrays.scalars) == len(stack) == k + 1
    assert shares_memory(stack)
    for inside, outside in zip(stack.learners, alone, strict=True):
        inside.play(ROWS, TARGETS)
        outside.play(ROWS, TARGETS)
        for name, array in outside.memory.arrays._asdict().items():
            np.testing.assert_array_equal(getattr(inside.memory, name), array)
    assert shares_memory(stack)


def test_a_copy_shares_nothing_with_its_original():
    stack = LearnerStack([learner()])
    assert stack.copy(0) == 1
    before = stack.arrays.experts[0].copy()
    np.testing.assert_array_equal(stack.arrays.experts[1], before)
    stack.learners[1].play(ROWS[:3], TARGETS[:3])
    np.testing.assert_array_equal(stack.arrays.experts[0], before)
    assert not np.array_equal(stack.arrays.experts[1], before)


def test_arrays_that_a_learner_has_got_since_are_copied_into_its_slice():
    stack = LearnerStack([learner(), learner()])
    block = stack.arrays
    fresh = LearnerArrays(*(array.copy() for array in stack.learners[1].memory.arrays))
    fresh.experts[EXPERT.weight] = 0.5
    stack.learners[1].use_arrays(fresh)
    assert (stack.arrays.experts[1, EXPERT.weight] == 0.5).all()
    assert np.shares_memory(stack.arrays.experts, block.experts)
    assert shares_memory(stack)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_stack_can_be_copied_and_pickled(again):
    stack = LearnerStack([learner(), learner(7)])
    wanted = [array.copy() for array in stack.arrays]
    other = again(stack)
    for found, array in zip(other.arrays, wanted, strict=True):
        np.testing.assert_array_equal(found, array)
        assert not any(np.shares_memory(found, own) for own in stack.arrays)


def test_new_coordinates_are_zero_in_front_of_the_last_ones():
    stack = LearnerStack([learner(), learner(7)])
    before = stack.arrays.coordinates.copy()
    for width in (4, 6, 11):
        stack.widen(width, last=1)
        assert stack.width == width
        assert shares_memory(stack)
    for k, one in enumerate(stack.learners):
        np.testing.assert_array_equal(one.memory.coordinates[:2], before[k, :2])
        np.testing.assert_array_equal(one.memory.coordinates[10], before[k, 2])
        assert not one.memory.coordinates[2:10].any()
        assert one.memory.vectors.shape[1] == 11
