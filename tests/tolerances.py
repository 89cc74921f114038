"""Every tolerance of the tests, named and justified once."""

ROUNDING = 1e-12
"""Relative error of a handful of double-precision operations, with room for sums of a few thousand terms."""
