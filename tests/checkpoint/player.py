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
from swordplay.types import State

EVERY = 50
DIM = 4
DOMAIN = sp.Ball(DIM, radius=3.0)
FEATURES = np.random.default_rng(20).normal(size=(997, DIM))
DRIVERS = ("readable", "engine")


def row(number: int) -> tuple[np.ndarray, float]:
    """Row ``number`` of a stream without an end, whose planted point turns round every 300 rows."""
    features = FEATURES[number % len(FEATURES)]
    return features, float(features.sum() * (-1) ** (number // 300) + 0.1 * np.sin(number))


class Run:
    """A learner, where it is in the stream, and a digest of all its predictions so far."""

    def __init__(self, driver: str, saved: State | None = None) -> None:
        self.driver = driver
        self.learner = sp.Sword(DOMAIN)
        self.position, self.predictions = 0, ""
        if saved is not None:
            state = dict(saved)
            self.position, self.predictions = state.pop("position"), state.pop("predictions")
            self.learner.load_state(state)

    def state(self) -> State:
        return {**self.learner.state(), "position": self.position, "predictions": self.predictions}

    def play(self) -> None:
        """The rows until the next checkpoint."""
        predict = self._readable if self.driver == "readable" else self._compiled
        said = np.array([predict(*row(number)) for number in range(self.position, self.position + EVERY)])
        self.position += EVERY
        self.predictions = hashlib.sha256(self.predictions.encode() + said.tobytes()).hexdigest()

    def _readable(self, features: np.ndarray, target: float) -> float:
        prediction = float(features @ self.learner.decision)
        self.learner.observe(sp.SquaredLoss(features, target))
        return prediction

    def _compiled(self, features: np.ndarray, target: float) -> float:
        model = sp.engine.online(self.learner)
        prediction = model.predict(features)
        model.learn(features, target)
        return prediction


def advanced(run: Run) -> tuple[Run, State]:
    """A run at its next checkpoint, and the state to save there.

    The readable learner just goes on. The engine's own memory is not the readable state, and the way there and back
    rounds: so here a run, killed or not, goes on from the state that it saves.
    """
    run.play()
    state = run.state()
    return (run if run.driver == "readable" else Run(run.driver, state)), state


def resumed(path: Path, driver: str) -> Run:
    try:
        return Run(driver, checkpoint.load(path, kind=driver))
    except checkpoint.CheckpointMissing:
        return Run(driver)


def play_on(path: Path, driver: str, until: float = float("inf")) -> None:
    run = resumed(path, driver)
    while run.position < until:
        run, state = advanced(run)
        checkpoint.save(path, state, kind=driver)


def be_killed(path: Path, driver: str) -> None:
    advanced(Run(driver))  # whatever has to be compiled is compiled before the clock starts
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
