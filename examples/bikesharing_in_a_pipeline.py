"""How do I put Sword into a scikit-learn pipeline, and keep it learning once it is in use?

Bikes rented in Washington, DC, hour by hour over nine years, in which the scheme grows and its
riders change. The pipeline is fitted on the first year and then lives on: its first step transforms
what comes, its last one predicts each hour before it learns it. A ridge regression of the same
columns, fitted on the same year, stands beside it, and so do the two forecasts that need no model.
"""

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from swordplay import datasets
from swordplay.sklearn import SwordRegressor

YEAR = 365 * 24

bikes = datasets.bikesharing()
X, y = bikes.features, bikes.targets
CLOCK = [bikes.names.index(name) for name in ("hour_sin", "hour_cos", "hour2_sin", "hour2_cos")]
WEEKEND, WEEK_AGO = bikes.names.index("weekend"), bikes.names.index("count_168h_ago")


def weekends_apart(rows: np.ndarray) -> np.ndarray:
    """The columns, and the clock once more for weekends alone: people ride at other hours then."""
    return np.hstack([rows, rows[:, CLOCK] * rows[:, [WEEKEND]]])


past, future = slice(0, YEAR), slice(YEAR, len(y))
sword = make_pipeline(FunctionTransformer(weekends_apart), SwordRegressor(lags=1)).fit(
    X[past], y[past]
)
ridge = make_pipeline(FunctionTransformer(weekends_apart), Ridge()).fit(X[past], y[past])

forecasts = {
    "no change": y[YEAR - 1 : -1],
    "a week ago": X[future, WEEK_AGO],
    "ridge, fitted once": ridge.predict(X[future]),
    "Sword, living on": sword[-1].predict_then_learn(sword[:-1].transform(X[future]), y[future]),
}
print("root mean squared error of the years to come")
for name, forecast in forecasts.items():
    print(f"  {name:20} {np.sqrt(np.mean((forecast - y[future]) ** 2)):6.1f}")
print()
print(sword[-1].summary())
