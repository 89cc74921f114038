"""Rows of many keys, and what each key's learner says when it is alone."""

import os

import numpy as np
import pandas as pd

from swordplay.estimators.linear_model import LinearModel

FEATURES = ["x0", "x1", "x2"]
MODEL = {"lags": "auto", "curves": "auto"}
"""What the functions of swordplay.spark learn with unless told otherwise."""


def world(keys, batches, seed, most=5):
    """Interleaved rows in a random order within each of several batches.

    Some keys come late, some pause.
    """
    rng = np.random.default_rng(seed)
    first = np.where(rng.random(keys) < 0.3, rng.integers(0, batches, keys), 0)
    counts = rng.integers(0, most + 1, (batches, keys)) * (np.arange(batches)[:, None] >= first)
    batch, who = np.repeat(np.indices(counts.shape).reshape(2, -1), counts.ravel(), axis=1)
    frame = pd.DataFrame({"key": [f"key {k}" for k in who], "batch": batch})
    frame["at"] = frame.groupby("key").cumcount() * 3 + 7  # gaps are no reason to refuse a row
    rows = rng.normal(size=(len(frame), len(FEATURES))) * [1.0, 100.0, 0.01] + [0.0, 5.0, 1.0]
    frame[FEATURES] = rows
    truth = (
        rng.normal(size=(keys, len(FEATURES)))[who] * np.cos(0.02 * frame["at"].to_numpy())[:, None]
    )
    frame["y"] = (rows * truth / [1.0, 100.0, 0.01]).sum(axis=1) + rng.normal(size=len(frame))
    return frame.sample(frac=1.0, random_state=seed).sort_values(
        "batch", kind="stable", ignore_index=True
    )


def write(frame, folder, first=0):
    """A file for each batch."""
    folder.mkdir(exist_ok=True)
    for number, part in frame.groupby("batch"):
        file = folder / f"{first + number:04d}.parquet"
        part.drop(columns="batch").to_parquet(
            file, index=False, coerce_timestamps="us"
        )  # Spark reads no nanoseconds
        stamp = 1_700_000_000 + first + number  # Spark takes files in the order of their times
        os.utime(file, (stamp, stamp))


def alone(frame, features=None, target="y", **settings):
    """Predictions of every row by a model of its key's own, in the order of the frame."""
    features = features or FEATURES
    answer = pd.Series(np.nan, index=frame.index)
    for _, rows in frame.sort_values("at").groupby("key"):
        model = LinearModel(len(features), **MODEL | settings)
        answer[rows.index] = model.predict_then_learn(
            rows[features].to_numpy(dtype=float, copy=True), rows[target].to_numpy()
        )
    return answer.to_numpy()


def matched(answers, frame):
    """Answers in the order of the frame; every row once."""
    assert len(answers) == len(frame)
    found = frame[["key", "at"]].merge(answers, on=["key", "at"], how="left", validate="one_to_one")
    assert len(found) == len(frame)
    return found
