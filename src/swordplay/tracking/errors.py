"""What cannot be tracked, and what to do about it."""

from __future__ import annotations

from swordplay.tables import Refusal


class TrackingError(ValueError):
    """A table, an option or a state that does not go together with the others.

    Says which, why, and the remedy.
    """


def unusable(name: str, bad: Refusal) -> TrackingError:
    """A row ends the run as its target cannot be used."""
    return TrackingError(
        f"{name}, row {bad.row}, column {bad.column!r}: {bad.value} {bad.reason}. "
        "Repair it, or leave such rows out with --on-bad skip."
    )


def nothing_to_learn(name: str, refused: int, listed_in: str | None) -> TrackingError:
    """No row of a table could be learned from; ``refused`` ones are listed in a file."""
    listed = f" ({refused:,} refused, listed in {listed_in})" if refused else ""
    return TrackingError(
        f"{name}: there is no row with a target to learn from{listed}. Give a table with such rows."
    )


def nothing_to_predict(name: str, refused: int) -> TrackingError:
    """No row of a table could be predicted."""
    why = f"all {refused:,} of its rows were refused" if refused else "it has no rows"
    return TrackingError(f"{name}: there is nothing to predict, as {why}. Give a table with rows.")
