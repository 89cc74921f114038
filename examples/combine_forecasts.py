"""Several forecasts, each good at times: which one should I believe?

Three simple ones of an hourly count: the last value, that of a day ago and that of a week ago (on a made-up stream, so that the
example needs no file). At night the last value is good, on ordinary days that of a day ago, around weekends that of a week ago;
``SwordAggregator`` is told none of this and learns weights that drift. Beside it stands the best fixed combination,
which hindsight alone could have known.
"""

import numpy as np
from scipy.optimize import nnls

from swordplay.sklearn import SwordAggregator

DAY, WEEK = 24, 168
HOURS = 200 * DAY

rng = np.random.default_rng(0)
time = np.arange(HOURS)
hour, weekend = time % DAY, (time // DAY) % 7 >= 5
busy = np.where(weekend, np.exp(-((hour - 14) ** 2) / 20), np.exp(-((hour - 8) ** 2) / 4) + np.exp(-((hour - 18) ** 2) / 6))
weather = np.repeat(rng.gamma(4.0, 0.25, size=HOURS // DAY), DAY)  # another factor each day
level = np.where((time // (40 * DAY)) % 2, 1.0, 0.3)  # times when everybody rides, and times when only few do
count = rng.poisson(400 * level * weather * (busy + 0.1)).astype(float)

target = count[WEEK:]
names = ("last value", "a day ago", "a week ago")
forecasts = np.column_stack([count[WEEK - lag : HOURS - lag] for lag in (1, DAY, WEEK)])

combined = SwordAggregator()
predictions = combined.predict_then_learn(forecasts, target)  # each made before its target is learned

# The best weights that are not negative and sum to 1: a heavy extra row asks for the sum.
heavy = 1e6 * np.abs(forecasts).max()
fixed, _ = nnls(np.vstack([forecasts, np.full(3, heavy)]), np.append(target, heavy))


def error(guess: np.ndarray) -> float:
    """Root mean squared error."""
    return float(np.sqrt(np.mean((guess - target) ** 2)))


for name, forecast in zip(names, forecasts.T, strict=True):
    print(f"{name:24} {error(forecast):6.1f}")
print(f"{'best fixed combination':24} {error(forecasts @ fixed):6.1f}   weights {fixed.round(2)}")
print(f"{'SwordAggregator':24} {error(predictions):6.1f}   weights {combined.weights_.round(2)} at the end")
