"""Layout of the state of intervals in memory, and the constants of their parts.

========= ========================= ===========================================================================
array     shape                     what
========= ========================= ===========================================================================
live      ``(LIVE,)``               numbers about the residuals so far (the places below); last, how hastily intervals narrow
location  ``(SETS, width, STEPS)``  coefficients of the experts that say where the residual will lie
spread    ``(SETS, width, STEPS)``  coefficients of those that say how far from there it will lie
bins      ``(2, d, BINS, STEPS)``   what each bin of each of the caller's columns adds to location, and to spread
losses    ``(2, SETS + 1, STEPS)``  what the experts of location and of spread have lost, fading; last, experts that expect nothing
radii     ``(levels, STEPS)``       the experts of each level: quantiles of the scores, a step size each
debts     ``(levels, STEPS)``       what these have lost, fading
balances  ``(levels,)``             misses so far beyond those that each level allows
========= ========================= ===========================================================================

The width is that of a row of the shape: a 1, six columns made of the forecast and of what came
before, then the caller's columns, scaled. The arrays of ``engine.column_stats`` follow the forecast
first, then the caller's columns.
"""  # noqa: E501

from __future__ import annotations

SETS = 3
"""Kinds of experts of the shape by what they look at: the 1 alone, the columns that are made
here too, all columns.
"""
STEPS = 8
"""Step sizes: of each kind of experts of the shape, 1/2, ..., 1/256 of the way to what was seen.

Of each level, 1, 1/2, ... of the largest. They fill whole vector registers. And as many experts of
the shape learn nothing: see ``intervals.shape``."""
OWN = 7
"""Columns that are made here: 1.

The last residual; the usual residual of the last few and of some ten rows; how far the last truth
lies from this forecast, with its sign and without; and the forecast."""
BINS = 24
"""Parts that each of the caller's columns is cut into, besides its line: what hour or
temperature says is seldom a line.
"""
EDGE = 2.0
"""Spreads on either side of the centre that the bins lie within.

Those at the ends hold what lies beyond.
"""

# Places in ``live``.
ROWS = 0  # learned so far
TYPICAL = 1  # usual size of a residual, followed slowly
LAST = 2  # the last residual, clipped
LATE = 3  # two usual sizes of late, followed at the PACES
NEWEST = 5  # sizes of the last FEW residuals, unsorted
SCORE = 10  # usual score
LARGEST_SCORE = 11
LARGEST = 12  # size of the largest residual of late
TRUTH = 13  # the last one
HASTE = 14  # NARROWING
LIVE = 15

FEW = 5
"""Residuals that have to be known before anything is said: of five, two may be outliers."""
PACES = (0.5, 0.1)
"""How fast the usual sizes of late follow."""
PACE = 1.0 / 500.0
"""How fast the usual size of a residual and the usual score follow."""
OUTLIER = 20.0
"""Residuals beyond so many usual ones, and scores likewise, are clipped before anything is
learned from them.
"""
LATELY = 2.0
"""But not residuals below so many middle ones of the last few: a forecaster that jumps is followed
at once. Nor those that are
no larger than the one before: two in a row are no accident."""
REACH = 1.5
"""No interval but everything reaches farther than so many largest residuals of late."""
FALL = 20.0
"""The usual size is at most so many usual sizes of some ten rows: where residuals become small
for good, it follows.
"""
LARGEST_RATIO = 5.0
"""Columns made of residuals are clipped at this many usual sizes, as the other columns are at
this many spreads.
"""
FLOOR = 0.2
"""The spread is at least this share of the usual size."""
FIRST_SCORE = 1.0
"""The usual score to begin with: a spread is the mean distance from the location, and scores are
distances in spreads.
"""
MEMORY = 500.0
"""Rows that the weights of experts remember."""
SHARPNESS = 0.1
"""Rate of the weights: for the shape per squared usual size, for a level divided by the share of
misses that it allows.
"""
LARGEST_LOSS = OUTLIER * OUTLIER
"""Of an expert of the shape in one row, in squared usual sizes."""
FIRST_RADIUS_STEP = 1.0 / 32.0
"""The largest step of a level's experts in usual scores, times the share of misses that it allows.

The others are halves.
"""
LIMIT = 9.5
"""Balance at which an interval becomes everything, or a point: no window of rows has 2 LIMIT + 1
= 20 misses too many.
"""
GAIN = 0.02
"""How much a miss too many widens the next interval, relatively."""
BEND = 4.0
"""How much more so near the limit: the answer to a balance c is GAIN c (1 + BEND (c / LIMIT)^2)."""
NARROWING = 16.0
"""How much more hits too many narrow an interval than misses too many widen it, times the square of
the share of misses.
Where half of the rows are to be missed, a few truths that equal their forecasts, and so cannot be
missed, soon use up all surplus hits: they have to be made up for before the next ones come."""
LARGEST_RAW_SCORE = 1e12
"""Scores beyond this say the same: far outside."""
SMALLEST_SCORE = 1e-200
"""Scores below this are none: losses are told in usual scores, and divided by such a one they
would overflow.
"""
TINY = 1e-300
"""Residuals below this are none."""

# What a call of the kernel does.
GIVE = 0  # say intervals, learn nothing
LEARN = 1  # learn rows by the intervals that were given for them
BOTH = 2  # say each interval, then learn its row
