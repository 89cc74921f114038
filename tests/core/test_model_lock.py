"""A fork waits for running calls, and happens all the same after a time limit."""

import os
import threading
import time
from contextlib import contextmanager

import pytest

from swordplay.core import model_lock
from swordplay.core.model_lock import LockedModel


class Model(LockedModel):
    def rounds(self):
        return 3


@contextmanager
def running_call(model):
    """A call of the model that runs in another thread, until the context ends."""
    started, end = threading.Event(), threading.Event()

    def call():
        with model._lock:
            started.set()
            end.wait(10.0)

    thread = threading.Thread(target=call)
    thread.start()
    started.wait(10.0)
    yield end
    end.set()
    thread.join()


def is_locked(model):
    """Whether another thread could not call the model."""
    answers = []

    def call():
        answers.append(model._lock.acquire(blocking=False))
        if answers[0]:
            model._lock.release()

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return not answers[0]


def known(*models):
    registry = model_lock._Models()
    for model in models:
        registry.add(model)
    return registry


def test_after_the_time_limit_all_models_are_locked_that_are_not_busy(monkeypatch):
    monkeypatch.setattr(model_lock, "FORK_TIMEOUT_SECONDS", 0.05)
    before, busy, after = models = Model(), Model(), Model()
    registry = known(*models)
    with running_call(busy):
        registry.acquire()
        assert is_locked(before)
        assert is_locked(after)
        registry.release()
        assert [is_locked(model) for model in models] == [False, True, False]


def test_a_call_that_ends_in_time_is_waited_for():
    free, busy = models = Model(), Model()
    registry = known(*models)
    with running_call(busy) as end:
        threading.Timer(0.05, end.set).start()
        began = time.monotonic()
        registry.acquire()
        assert 0.02 < time.monotonic() - began < model_lock.FORK_TIMEOUT_SECONDS
        assert is_locked(free)
        assert is_locked(busy)
        registry.release()
    assert not is_locked(busy)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_locks_of_a_child_are_free(monkeypatch):
    monkeypatch.setattr(model_lock, "FORK_TIMEOUT_SECONDS", 0.05)
    free, busy = Model(), Model()
    with running_call(busy):
        child = os.fork()
        if child == 0:
            os._exit(busy.rounds() + free.rounds())  # without a new lock, busy.rounds() would hang
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 6
        assert not is_locked(free)
