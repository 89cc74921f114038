"""kill -9 of a Spark driver, again and again: the output is that of a run that nobody killed, none
lost, none doubled.

A driver takes half a minute until it can be killed, so that this is a campaign; ``test_stream``
kills workers in every run.
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from spark import local
from spark.worlds import alone, matched, world, write

pytestmark = pytest.mark.xdist_group("spark")

KILLS = 12
SPARE = 1
"""Micro-batches beyond one for each kill."""
PATIENCE = 180.0
"""Seconds that a driver may take to get to its next micro-batch before the test gives up: a busy
machine starts Java slowly.
"""


def begun(folder):
    """Number of micro-batches that have begun: Spark writes down what is in each before it
    starts.
    """
    offsets = folder / "checkpoint" / "offsets"
    return sum(name.isdigit() for name in os.listdir(offsets)) if offsets.exists() else 0


def start(folder):
    """A driver with its Java and its workers, in a group of processes of its own."""
    program = [sys.executable, local.__file__, str(folder)]
    with open(folder / "log", "ab") as log:
        return subprocess.Popen(program, stdout=log, stderr=log, start_new_session=True)


def kill(driver):
    """The whole group, Java and all."""
    os.killpg(driver.pid, signal.SIGKILL)
    assert driver.wait() == -signal.SIGKILL


def kill_in_the_middle(driver, folder, rng):
    """Wait until a micro-batch begins that was not there before, and a random while longer.

    Then kill.
    """
    before, deadline = begun(folder), time.monotonic() + PATIENCE
    while begun(folder) == before:
        assert driver.poll() is None, (folder / "log").read_text()
        assert time.monotonic() < deadline, "no micro-batch has begun"
        time.sleep(0.01)
    time.sleep(rng.uniform(0.0, 1.5))
    kill(driver)


def assert_survives(spark, folder, kills, seed):
    batches = (
        2 * kills + SPARE
    )  # a kill may come in the middle of the one that begins after it was decided
    frame, rng = world(50, batches, seed=seed), np.random.default_rng(seed)
    write(frame, folder / "in")
    (folder / "scratch").mkdir()
    unfinished = 0
    for _ in range(kills):
        kill_in_the_middle(start(folder), folder, rng)
        commits = folder / "checkpoint" / "commits"
        unfinished += begun(folder) > (
            sum(name.isdigit() for name in os.listdir(commits)) if commits.exists() else 0
        )
    assert begun(folder) < batches, "the driver was done before it could be killed"
    driver = start(folder)
    try:
        assert driver.wait(PATIENCE) == 0, (folder / "log").read_text()
    finally:
        if driver.poll() is None:
            kill(driver)
    answers = spark.read.parquet(
        str(folder / "out")
    ).toPandas()  # Spark knows which of the files count
    found = matched(answers, frame)
    assert found["error"].isna().all()
    assert np.array_equal(found["prediction"], alone(frame))  # bit by bit
    return unfinished


@pytest.mark.deep
def test_a_driver_killed_many_times_goes_on_as_if_nothing_had_happened(spark, tmp_path):
    unfinished = assert_survives(spark, tmp_path, KILLS, seed=2)
    assert unfinished > 0  # or no kill came in the middle of a micro-batch, and this proved little
