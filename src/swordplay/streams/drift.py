"""Drifting generators."""
