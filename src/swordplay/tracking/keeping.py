"""What is left of a run that failed, in words: where it is, and how to go on."""

from __future__ import annotations

from typing import NamedTuple

from swordplay.tracking.job import Job


class Kept(NamedTuple):
    """What was kept."""

    saved: int
    """The row after which the state was saved; 0 if there is none."""
    partial: str | None
    """Where predictions are, if they are in a file."""


def kept_by(job: Job, rows: int, kept: Kept) -> str:
    """A line about it, for the end of an error message.

    Parameters
    ----------
    job
        What was to be done.
    rows
        Rows of the input that were done.
    kept
        What there is of them.
    """
    if kept.saved:
        predictions = f", their predictions in {kept.partial}" if kept.partial else ""
        return (
            f"\nThe first {kept.saved:,} rows are saved in {job.state}{predictions}. Run the "
            "same command again to go on."
        )
    if kept.partial and job.state is None:
        return (
            f"\nThe predictions of the first {rows:,} rows are kept in {kept.partial}. "
            "To begin anew add --force; with --state PATH a run can go on."
        )
    return ""
