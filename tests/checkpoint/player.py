"""A program to kill: it plays a stream for ever, row by row, and saves itself every 50 rows.

``python player.py PATH DRIVER ROW`` plays on from the checkpoint until that row and ends. Without a row it reads delays
from standard input: for each, a fork of this process plays on from the checkpoint and is killed (-9) after so many seconds.
Forks start in a millisecond, so nearly all of a delay is spent playing and saving.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import swordplay as sp
from swordplay import checkpoint
from swordplay.engine.layout import LIVE
from swordplay.types import State

EVERY = 50
DIM = 4
DOMAIN = sp.Ball(DIM, radius=3.0)
FEATURES = np.random.default_rng(20).normal(size=(997, DIM))


def row(number: int) -> tuple[np.ndarray, float]:
    """Row ``number`` of a stream without an end, whose planted point turns round every 300 rows."""
    features = FEATURES[number % len(FEATURES)]
    return features, float(features.sum() * (-1) ** (number // 300) + 0.1 * np.sin(number))


class Run:
    """A learner, where it is in the stream, and a digest of all its predictions so far."""

    def __init__(self, driver: str, saved: State | None = None) -> None:
        self.player = DRIVERS[driver]()
        self.position, self.predictions = 0, ""
        if saved is not None:
            state = dict(saved)
            self.position, self.predictions = state.pop("position"), state.pop("predictions")
            self.player.load_state(state)

    def state(self) -> State:
        return {**self.player.state(), "position": self.position, "predictions": self.predictions}

    def play(self) -> None:
        """The rows until the next checkpoint."""
        said = np.array([self.player.play(*row(number)) for number in range(self.position, self.position + EVERY)])
        self.position += EVERY
        self.predictions = hashlib.sha256(self.predictions.encode() + said.tobytes()).hexdigest()


class Readable:
    """Sword by its readable learner."""

    def __init__(self) -> None:
        self.learner = sp.Sword(DOMAIN)
        self.state, self.load_state = self.learner.state, self.learner.load_state

    @staticmethod
    def essence(state: State) -> State:
        """All of it."""
        return state

    def play(self, features: np.ndarray, target: float) -> float:
        prediction = float(features @ self.learner.decision)
        self.learner.observe(sp.SquaredLoss(features, target))
        return prediction


class Compiled:
    """Sword by the engine, in the engine's own state: the readable one would round on the way there and back."""

    def __init__(self) -> None:
        self.model = sp.engine.online(sp.Sword(DOMAIN))
        self.state, self.load_state = self.model.compact_state, self.model.load_compact_state

    @staticmethod
    def essence(state: State) -> State:
        """Less the columns that are kept free for experts to come: how many these are is no part of the game."""
        experts = int(state["live"][LIVE.experts])
        return {**state, "rows": state["rows"][:, :experts], "coords": state["coords"][:, :experts]}

    def play(self, features: np.ndarray, target: float) -> float:
        prediction = self.model.predict(features)
        self.model.learn(features, target)
        return prediction


DRIVERS = {"readable": Readable, "engine": Compiled}


def resumed(path: Path, driver: str) -> Run:
    try:
        return Run(driver, checkpoint.load(path, kind=driver))
    except checkpoint.CheckpointMissing:
        return Run(driver)


def play_on(path: Path, driver: str, until: float = float("inf")) -> None:
    run = resumed(path, driver)
    while run.position < until:
        run.play()
        checkpoint.save(path, run.state(), kind=driver)


def be_killed(path: Path, driver: str) -> None:
    Run(driver).play()  # whatever has to be compiled is compiled before the clock starts
    for line in sys.stdin:
        victim = os.fork()
        if victim == 0:
            play_on(path, driver)
        time.sleep(float(line))
        os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        print(-os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    arguments = Path(sys.argv[1]), sys.argv[2]
    if len(sys.argv) > 3:
        play_on(*arguments, until=int(sys.argv[3]))
    else:
        be_killed(*arguments)
