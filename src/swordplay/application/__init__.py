"""From a table to predictions and their report: tracking, comparisons, the page, and the
commands that start them.
"""
