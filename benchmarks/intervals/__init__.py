"""Intervals under drift: ours and those of the papers, on the same forecasts (``python -m
benchmarks.intervals``).
"""
