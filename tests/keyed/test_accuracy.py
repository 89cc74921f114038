"""A key predicts as well as a table of its own: sensors and stores, in ``Keyed`` and ``track``."""

import numpy as np
import pandas as pd
import pytest

import swordplay
from swordplay.keyed import Keyed
from swordplay.sklearn import SwordRegressor

pytestmark = pytest.mark.xdist_group("keyed")

WITHIN = 1.02
"""Largest error of a key, in errors of a SwordRegressor on the rows of this key alone."""
CHEAP = {"lags": 0, "curves": None}
SKIPPED = 20
"""First rows of a key that are not counted: before anything is known, its error is the target."""


def sensors(rows, seed=0):
    """Two sensors: slow noise around a daily cycle, which repeating the last value follows well."""
    rng, parts = np.random.default_rng(seed), []
    for key in ("north", "south"):
        hour = np.arange(rows) / 12.0
        humidity = 60.0 + 10.0 * np.sin(hour / 3.7) + rng.normal(size=rows)
        slow = np.cumsum(0.03 * rng.normal(size=rows))
        y = 20.0 + 2.0 * np.sin(2.0 * np.pi * hour / 24.0) + slow - 0.002 * humidity
        parts.append(
            pd.DataFrame(
                {
                    "key": key,
                    "sin": np.sin(2.0 * np.pi * hour / 24.0),
                    "cos": np.cos(2.0 * np.pi * hour / 24.0),
                    "humidity": humidity,
                    "y": y,
                }
            )
        )
    return interleaved(parts)


def stores(count, days, seed=0):
    """Sales of stores with effects of weekday, promotion and price, and slow changes of demand."""
    rng, parts = np.random.default_rng(seed), []
    day = np.arange(days)
    for number in range(count):
        promotion = (rng.random(days) < 0.2).astype(float)
        price = 5.0 + np.cumsum(0.05 * rng.normal(size=days))
        weekday = rng.normal(size=7)[day % 7]
        demand = np.zeros(days)
        noise = rng.normal(size=days)
        for t in range(1, days):
            demand[t] = 0.9 * demand[t - 1] + 0.2 * noise[t]
        level = 100.0 * np.exp(rng.normal(scale=0.5))
        lift = 1.0 + 0.3 * weekday / 3.0 + 0.4 * promotion - 0.1 * (price - 5.0) + demand
        sales = level * lift + 0.05 * level * rng.normal(size=days)
        frame = pd.DataFrame({"key": f"store {number}", "promotion": promotion, "price": price})
        for k in range(6):
            frame[f"weekday {k}"] = (day % 7 == k).astype(float)
        parts.append(frame.assign(y=sales))
    return interleaved(parts)


def interleaved(parts):
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def rms_by_key(frame, predictions):
    counted = (frame.groupby("key").cumcount() >= SKIPPED).to_numpy()
    squares = (np.asarray(predictions)[counted] - frame["y"][counted]) ** 2
    return np.sqrt(squares.groupby(frame["key"][counted].to_numpy()).mean())


def compare(frame, better_than_cheap):
    """Check errors of keys against models of their own, and against the cheap form."""
    X = frame.drop(columns=["key", "y"]).to_numpy()
    y = frame["y"].to_numpy()
    alone = np.full(len(frame), np.nan)
    for rows in frame.groupby("key").indices.values():
        alone[rows] = SwordRegressor().predict_then_learn(X[rows], y[rows])
    of_each = rms_by_key(frame, alone)
    full = rms_by_key(frame, Keyed().predict_then_learn(frame["key"], X, y))
    cheap = rms_by_key(frame, Keyed(**CHEAP).predict_then_learn(frame["key"], X, y))
    assert (full <= WITHIN * of_each).all()
    assert full.mean() <= better_than_cheap * cheap.mean()
    tracked = swordplay.track(frame, target="y", key="key").predictions.to_pandas()
    assert (rms_by_key(frame, tracked["prediction"]) <= WITHIN * of_each).all()
    return {"alone": of_each.mean(), "full": full.mean(), "cheap": cheap.mean()}


def test_two_sensors():
    compare(sensors(2000), better_than_cheap=0.6)


def test_stores():
    compare(stores(20, 200), better_than_cheap=0.9)


@pytest.mark.deep
def test_two_sensors_for_long():
    compare(sensors(20_000), better_than_cheap=0.6)


@pytest.mark.deep
def test_five_hundred_stores():
    compare(stores(500, 500), better_than_cheap=0.9)
