"""A program to kill: it plays a stream for ever, row by row, and saves itself every 50 rows.

``python player.py PATH DRIVER ROW`` plays on from the checkpoint until that row and ends. Without a
row it reads delays from standard input: for each, a fork of this process plays on from the
checkpoint and is killed (-9) after so many seconds. Forks start in a millisecond, so nearly all of
a delay is spent playing and saving.
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
from swordplay.core import checkpoint
from swordplay.core.types import State

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
        self.driver, self.player = driver, DRIVERS[driver]()
        self.position, self.predictions = 0, ""
        if saved is not None:
            state = dict(saved)
            self.position, self.predictions = state.pop("position"), state.pop("predictions")
            self.player.load_state(state)

    def state(self) -> State:
        return {**self.player.state(), "position": self.position, "predictions": self.predictions}

    def save(self, path: Path) -> None:
        checkpoint.save(path, self.state(), kind=self.driver)

    @classmethod
    def load(cls, path: Path, driver: str) -> Run:
        return cls(driver, checkpoint.load(path, kind=driver))

    def play(self) -> None:
        """The rows until the next checkpoint."""
        said = np.array(
            [
                self.player.play(*row(number))
                for number in range(self.position, self.position + EVERY)
            ]
        )
        self.position += EVERY
        self.predictions = hashlib.sha256(self.predictions.encode() + said.tobytes()).hexdigest()


class EstimatorRun(Run):
    """The same by an estimator's own files, which hold nothing but the estimator: the rows that
    it learned say where it is.
    """

    def state(self) -> State:
        model, around = self.player.estimator._learned()
        return {**model.state(), **around, "position": self.position}

    def save(self, path: Path) -> None:
        self.player.estimator.save(path)

    @classmethod
    def load(cls, path: Path, driver: str) -> Run:
        run = cls(driver)
        run.player.estimator = type(run.player.estimator).load(path)
        run.position = run.player.rounds()
        return run


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
    """Sword by the engine, in the engine's own state: the readable one would round on the way
    there and back.
    """

    def __init__(self) -> None:
        self.model = sp.engine.online(sp.Sword(DOMAIN))
        self.state, self.load_state = self.model.compact_state, self.model.load_compact_state

    @staticmethod
    def essence(state: State) -> State:
        """All of it: columns that are kept free for experts to come are not saved."""
        return state

    def play(self, features: np.ndarray, target: float) -> float:
        prediction = self.model.predict(features)
        self.model.learn(features, target)
        return prediction


class ScikitLearn:
    """A regressor of scikit-learn."""

    def __init__(self) -> None:
        from swordplay.sklearn import SwordRegressor

        self.estimator = SwordRegressor(lags=1)

    essence = staticmethod(Readable.essence)

    def rounds(self) -> int:
        return self.estimator.model_.rounds

    def play(self, features: np.ndarray, target: float) -> float:
        return float(self.estimator.predict_then_learn(features[None], [target])[0])


class River:
    """A classifier of river, whose features and classes join on the way."""

    def __init__(self) -> None:
        from swordplay.river import SwordClassifier

        self.estimator = SwordClassifier()

    essence = staticmethod(Readable.essence)

    def rounds(self) -> int:
        return int(self.estimator._model.counts.sum())

    def play(self, features: np.ndarray, target: float) -> float:
        x = {f"feature {k}": value for k, value in enumerate(features.tolist()) if value < 2.0}
        label = "low" if target < -1.0 else "high" if target > 1.0 else "middle"
        chance = self.estimator.predict_proba_one(x).get(label, 0.0)
        self.estimator.learn_one(x, label)
        return chance


DRIVERS = {"readable": Readable, "engine": Compiled, "sklearn": ScikitLearn, "river": River}
RUNS = {"sklearn": EstimatorRun, "river": EstimatorRun}


def new(driver: str) -> Run:
    return RUNS.get(driver, Run)(driver)


def resumed(path: Path, driver: str) -> Run:
    try:
        return RUNS.get(driver, Run).load(path, driver)
    except checkpoint.CheckpointMissing:
        return new(driver)


def play_on(path: Path, driver: str, until: float = float("inf")) -> None:
    run = resumed(path, driver)
    while run.position < until:
        run.play()
        run.save(path)


def be_killed(path: Path, driver: str) -> None:
    new(driver).play()  # whatever has to be compiled is compiled before the clock starts
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
