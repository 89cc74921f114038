"""How do I put Sword into a scikit-learn pipeline, and keep it learning once it is in use?

Hourly rentals of a bike-sharing scheme that grows, changes its rush hours and closes stations (made up here, so that the
example needs no file; the shape is that of the real ones). The pipeline is fitted on the first weeks and then lives on: its
first steps transform what comes, its last one predicts each hour before it learns it. A ridge regression of the same columns,
fitted on the same weeks, stands beside it, and so do the two forecasts that need no model.
"""

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from swordplay.sklearn import SwordRegressor

DAY, WEEK = 24, 168
HOURS, HISTORY = 120 * DAY, 28 * DAY


def rentals(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Raw columns (hour since the start, temperature) and the number of rentals."""
    time = np.arange(HOURS)
    hour, weekend = time % DAY, (time // DAY) % 7 >= 5
    warmth = 15 + 8 * np.sin(2 * np.pi * time / HOURS) + 4 * np.sin(2 * np.pi * (hour - 9) / DAY) + rng.normal(size=HOURS)
    rush = np.exp(-((hour - 8) ** 2) / 4) + np.exp(-((hour - 17.5 - time / HOURS) ** 2) / 6)  # the evening's comes later
    size = 300 * (1 + time / HOURS) * np.where((time > HOURS // 2) & (time < HOURS * 2 // 3), 0.6, 1.0)  # closed stations
    mean = size * (np.where(weekend, 0.3, 1.0) * rush + 0.02 * np.maximum(warmth, 0))
    return np.column_stack([time, warmth]), rng.poisson(mean).astype(float)


def clock(raw: np.ndarray) -> np.ndarray:
    """Columns that a linear model can use: three harmonics of the day, for workdays and weekends, and the temperature."""
    time, warmth = raw.T
    angles = 2 * np.pi * np.outer(time % DAY, [1, 2, 3]) / DAY
    waves = np.hstack([np.sin(angles), np.cos(angles)])
    weekend = ((time // DAY) % 7 >= 5)[:, None]
    return np.hstack([waves, waves * weekend, weekend, warmth[:, None]])


X, y = rentals(np.random.default_rng(0))
past, future = slice(0, HISTORY), slice(HISTORY, HOURS)

sword = make_pipeline(FunctionTransformer(clock), SwordRegressor(lags=1)).fit(X[past], y[past])
ridge = make_pipeline(FunctionTransformer(clock), Ridge()).fit(X[past], y[past])

forecasts = {
    "no change": y[HISTORY - 1 : HOURS - 1],
    "a week ago": y[HISTORY - WEEK : HOURS - WEEK],
    "ridge, fitted once": ridge.predict(X[future]),
    "Sword, living on": sword[-1].predict_then_learn(sword[:-1].transform(X[future]), y[future]),
}
print("root mean squared error of the weeks to come")
for name, forecast in forecasts.items():
    print(f"  {name:20} {np.sqrt(np.mean((forecast - y[future]) ** 2)):6.1f}")
print()
print(sword[-1].summary())
