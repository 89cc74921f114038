"""Threads beside a run: an error in one of them is raised once, and soon."""

import errno
import threading

import pytest

from swordplay.tracking.threads import Ahead, Behind


def failing(error):
    yield 1
    raise error


def test_a_timeout_of_the_source_is_an_error_and_not_a_pause():
    reader = Ahead(failing(OSError(errno.ETIMEDOUT, "no answer")))
    items = reader.arriving(5.0)
    assert next(items) == 1
    with pytest.raises(TimeoutError, match="no answer"):
        next(items)
    reader.close()


def test_a_pause_gives_none_and_loses_nothing():
    released = threading.Event()

    def slow():
        released.wait(30.0)
        yield 1

    reader = Ahead(slow())
    items = reader.arriving(0.01)
    assert next(items) is None
    released.set()
    assert [item for item in items if item is not None] == [1]
    reader.close()


def test_an_error_of_the_writer_is_raised_by_the_next_call():
    failed, called = threading.Event(), []

    def fail():
        failed.set()
        raise OSError("no room")

    writer = Behind()
    writer.call(fail)
    failed.wait(30.0)
    writer._pool.submit(int).result()  # behind the failed call: its result is there
    with pytest.raises(OSError, match="no room"):
        writer.call(called.append, 1)
    assert not called
    writer.call(called.append, 2)
    writer.drain()
    assert called == [2]
    writer.close()
