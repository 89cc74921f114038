"""How far off may a forecast be?

Intervals around somebody else's forecasts, while the world becomes unsure and calm again.
"""

import numpy as np

from swordplay.intervals import SwordIntervals

rng = np.random.default_rng(0)
rows = 3000
noise = np.where((np.arange(rows) >= 1000) & (np.arange(rows) < 2000), 4.0, 1.0)
truths = 20.0 + 5.0 * np.sin(np.arange(rows) / 60.0) + noise * rng.normal(size=rows)
forecasts = np.concatenate(
    [[20.0], truths[:-1]]
)  # the last value again: as plain a forecaster as there is

bounds = SwordIntervals(level=0.9).interval_then_learn(forecasts, truths)

covered = (bounds[:, 0] <= truths) & (truths <= bounds[:, 1])
width = bounds[:, 1] - bounds[:, 0]
for name, part in (
    ("calm", slice(100, 1000)),
    ("unsure", slice(1000, 2000)),
    ("calm again", slice(2000, 3000)),
):
    print(
        f"{name:10}  held {covered[part].mean():.1%} of the truths, {np.median(width[part]):.1f} "
        "wide"
    )

worst = max(abs(covered[first : first + 500].mean() - 0.9) for first in range(rows - 499))
print(f"the worst window of 500 rows is off by {worst:.3f}; 0.040 is promised")
