"""What goes wrong takes a line or two.

The exit code tells whether it could not be started or failed on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


class Refused(click.ClickException):
    """It could not be started as asked."""

    exit_code = 2


class Failed(click.ClickException):
    """It failed on the way."""

    exit_code = 1


@contextmanager
def in_words(begun: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Errors about tables, options and states as a line or two.

    ``begun`` says whether it failed on the way.
    """
    from swordplay.core.checkpoint import CheckpointError
    from swordplay.tables import TableError
    from swordplay.tracking import TrackingError

    try:
        yield
    except (TableError, TrackingError, CheckpointError) as error:
        raise (Failed if begun() else Refused)(str(error)) from error
