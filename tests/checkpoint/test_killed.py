"""kill -9 at random moments: the last checkpoint always loads, and the run goes on bit by bit."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from checkpoint import player
from checkpoint.samples import same_bits

QUICK, DEEP = 10, 1000
"""Kills, as the project promises them."""
LONGEST = 0.1
"""Seconds that a process may live: some checkpoints' worth."""
AFTERWARDS = 10 * player.EVERY
"""Rows that a process of another interpreter plays on at the end."""


class Uninterrupted:
    """The run that nobody kills, as far as it is needed."""

    def __init__(self, driver):
        self.run = player.new(driver)

    def at(self, position):
        while self.run.position < position:
            self.run.play()
        assert self.run.position == position
        return self.run.state()


def assert_survives(path, driver, kills, seed):
    """Kill a run again and again; returns how many kills left a half-written file behind."""
    rng = np.random.default_rng(seed)
    uninterrupted = Uninterrupted(driver)
    essence = player.DRIVERS[driver].essence
    program = [sys.executable, player.__file__, str(path), driver]
    position, interrupted, longest = 0, 0, LONGEST
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as killer:
        for _ in range(kills):
            print(rng.uniform(0.0, longest), file=killer.stdin, flush=True)
            assert (
                killer.stdout.readline() == f"{int(signal.SIGKILL)}\n"
            )  # it did not end by itself
            files = os.listdir(path.parent)
            assert len(files) <= 2  # strays do not pile up
            interrupted += any(name.endswith(".tmp") for name in files)
            if path.exists():
                run = player.resumed(path, driver)
                assert run.position >= position
                position = run.position
                assert same_bits(essence(run.state()), essence(uninterrupted.at(position)))
            else:
                assert position == 0
                longest *= 1.5  # a busy machine gets nowhere in so short a life
    assert position > 0
    subprocess.run([*program, str(position + AFTERWARDS)], check=True)
    assert same_bits(
        essence(player.resumed(path, driver).state()),
        essence(uninterrupted.at(position + AFTERWARDS)),
    )
    assert os.listdir(path.parent) == [path.name]
    return interrupted


@pytest.mark.parametrize(
    "driver", ["engine", "sklearn"]
)  # and all of them, a thousand times, in the deep campaign
def test_a_killed_run_goes_on_bit_by_bit(tmp_path, driver):
    assert_survives(tmp_path / "m.ckpt", driver, QUICK, seed=1)


@pytest.mark.deep
@pytest.mark.parametrize("driver", player.DRIVERS)
def test_a_run_killed_a_thousand_times_goes_on_bit_by_bit(tmp_path, driver):
    interrupted = assert_survives(tmp_path / "m.ckpt", driver, DEEP, seed=2)
    assert interrupted > 0  # or no kill came in the middle of a save, and this proved little


@pytest.mark.parametrize("driver", player.DRIVERS)
def test_a_run_that_goes_astray_would_be_seen(driver):
    """The comparison can fail: rows learned twice are another state, and other predictions from
    then on.
    """
    run, other = player.new(driver), player.new(driver)
    run.play()
    other.play()
    other.position = 0
    other.play()
    essence = player.DRIVERS[driver].essence
    assert not same_bits(essence(other.state()), essence(run.state()))
    other.predictions = run.predictions
    run.play()
    other.play()
    assert other.predictions != run.predictions
