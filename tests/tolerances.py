"""Every tolerance of the tests, named and justified once."""

ROUNDING = 1e-12
"""Relative error of a handful of double-precision operations, with room for sums of a few
thousand terms.
"""

PROJECTION = 1e-12
"""Error of a projection relative to the numbers that enter it: one norm or one sort and
cumulative sum of a few terms.
"""

SHIFTED_HEDGE = 1e-9
"""Weights after 1e6 was added to every loss: 1e6 costs ten of sixteen digits, times rates and
sums of order 1 to 10.
"""

WEIGHT_SUM = 1e-12
"""Distance of a sum of weights from 1: a division and a sum over at most a few dozen experts."""

TWIN = 1e-10
"""Library against plain loops: the same formulas in another order of additions, over at most a
few hundred rounds.
"""

CERTIFIED = 1e-9
"""Certificates of the library against those of whole histories: sums of a few hundred terms that
partly cancel.
"""

RESCALED = 1e-8
"""Decisions after every loss was multiplied by 1e-6 or 1e6: each product rounds afresh and a few
hundred rounds carry it on.
"""

MOVED = 1e-7
"""Decisions after domain and losses were moved by up to a hundred diameters: two digits are lost
to the move, in each round.
"""

SPEC_FIGURES = 5e-4
"""Relative difference from figures that the design gives to three or more digits."""

THEOREM = 1e-9
"""Relative rounding of regrets and certificates: differences of sums of some hundred losses,
each exact to about 1e-15.
"""

SUMMED = 1e-14
"""Rounding of a regret beside its certificate, relative to 1 plus the losses: both are differences
of sums of up to fifty terms
of size 1, and a sum rounds by some units in the last place of its largest part, however small the
difference is. An allowance that is relative to the certificate is none where that is 1e-8 and
attained, as in a window of one round: 5.5e-17 above it was met."""

UNIT_OF_LOSS = 1e-7
"""Decisions after a thousand rounds of losses in another unit: the square root of the unit
rounds each row afresh.
"""

MEASURED_REGRET = 0.1
"""Relative distance from the regrets measured on the paper's instances: known to two digits, and
they need a fixed point.
"""

SPHERE_GRID = 1e-6
"""Relative error of a smooth maximum on a circle from 20,000 samples: (half their spacing)^2."""

ASCENT = 1e-6
"""Relative error of a maximum after a few hundred steps of gradient ascent from forty points."""

SCIPY_MINIMUM = 1e-6
"""Relative error of scipy's SLSQP in smooth problems of a few coordinates, at ftol 1e-14."""

FIXED_GAP = 2e-9
"""The tolerance of fixed comparators, 1e-9 of the range of the losses, and as much for rounding."""

FLAT_MINIMUM = 1e-3
"""Distance of two points within 1e-9 of a minimum whose curvature is a few percent."""

THIRD_IMPLEMENTATION = 1e-10
"""SwordBest in C beside the readable learner over thousands of rounds, relative to the largest
number; measured: 1e-13.
"""

LAST_BIT = 1e-15
"""Relative change of a feature by a few units in its last place: less than any sum of a few
products rounds.
"""

OWN_SPREAD = 100.0
"""Engine against readable learner where a game multiplies rounding: so many times what the
readable one strays from itself.
"""

HALF_A_BIT = 2.0**-53
"""Relative error of one operation in double precision, for bounds that are counted out where
they are used.
"""

DRIVEN = 1e-11
"""One compiled engine against another way of driving it: sums in another order, over at most a
few hundred rounds.
"""

SINGLE_PRECISION = 1e-4
"""Engine with single-precision coordinates: 6e-8 a rounding, over a hundred rounds whose steps
forget slowly.
"""

LAZY_NORM = 1e-13
"""Squared norms updated by differences between two fresh measurements, relative to the squared
radius; measured: 7e-15.
"""

FADING = 5e-16
"""The engine's own exponential, relative: two units in the last place."""

SETTLED = 1e-4
"""Distance from a fixed target after two hundred thousand rounds: adaptive steps shrink as one
over a root.
"""

FIRST_ORDER = 1e-3
"""A response to a weight of 1e-5 that is in proportion to it: the next order is as much smaller
as the weight, times a few.
"""

SCALED_FORECASTS = 1e-6
"""Combined forecasts in units of 1e-9 or 1e9: each row rounds afresh, and a few thousand rounds
carry it on.
"""

THREE_DIGITS = 5.001e-3
"""Half a unit in the third digit, relative to the smallest number that has three, and the
rounding of a decimal half.
"""

DRAWN = 1e-5
"""Numbers of a chart have six digits: half a unit in the last, relative, and as much again for
the sums behind them.
"""

CLARABEL_OBJECTIVE = 1e-6
"""Difference from a cone solver, relative to the objective, or to 1 if that is smaller."""

SEQUENCE_GAP = 1.01e-7
"""The default tolerance of best_sequence, relative to its scale, and rounding."""

DENSE_SYSTEM = 1e-9
"""Error of Newton systems of a few hundred unknowns with condition numbers of about a million."""

SEEN_FROM_THE_END = 1e-3
"""A frontier computed for a picture, to 1e-5 of what the losses can change by, beside the best
fixed decision.
"""

BOUNDARY_GRID = 1e-2
"""Relative error of a supremum from a few thousand samples: a kink may lie between two of them."""

ANOTHER_MACHINE = 1e-11
"""Golden files come from another processor, whose sums may be added up in another order."""
