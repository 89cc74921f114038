"""Several forecasts, each good at times: which one should I believe?

Three simple ones of the bikes rented in an hour in Washington, DC: as many as a day ago, as many as
a week ago, and the mean of the last days at this hour. Around weekends last week is good, in
changing weather yesterday, in quiet weeks the mean; ``SwordAggregator`` is told none of this and
learns weights that drift. Beside it stands the best fixed combination, which hindsight alone could
have known.
"""

import numpy as np
from scipy.optimize import nnls

from swordplay import datasets
from swordplay.sklearn import SwordAggregator

bikes = datasets.bikesharing()
column = dict(zip(bikes.names, bikes.features.T, strict=True))
target = bikes.targets
hour = np.round(np.arctan2(column["hour_sin"], column["hour_cos"]) * 12 / np.pi).astype(int) % 24


def running_mean(values: np.ndarray, keys: np.ndarray, pace: float) -> np.ndarray:
    """The mean of the earlier values with the same key; older ones fade."""
    means: dict[int, float] = {}
    said = np.empty(len(values))
    for t, (value, key) in enumerate(zip(values.tolist(), keys.tolist(), strict=True)):
        mean = means.get(key, value)
        said[t] = mean
        means[key] = mean + pace * (value - mean)
    return said


names = ("yesterday", "last week", "mean of the hour")
forecasts = np.column_stack(
    [column["count_24h_ago"], column["count_168h_ago"], running_mean(target, hour, pace=0.1)]
)

combined = SwordAggregator()
predictions = combined.predict_then_learn(
    forecasts, target
)  # each made before its target is learned

# The best weights that are not negative and sum to 1: a heavy extra row asks for the sum.
heavy = 1e6 * np.abs(forecasts).max()
fixed, _ = nnls(np.vstack([forecasts, np.full(3, heavy)]), np.append(target, heavy))


def error(guess: np.ndarray) -> float:
    """Root mean squared error."""
    return float(np.sqrt(np.mean((guess - target) ** 2)))


for name, forecast in zip(names, forecasts.T, strict=True):
    print(f"{name:24} {error(forecast):6.1f}")
print(f"{'best fixed combination':24} {error(forecasts @ fixed):6.1f}   weights {fixed.round(2)}")
print(
    f"{'SwordAggregator':24} {error(predictions):6.1f}   weights {combined.weights_.round(2)} at "
    "the end"
)
