"""Where predictions go, and rows that cannot be used."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import Any, Self, final

import pyarrow as pa

from swordplay.tables import Output, OutputPosition, Refusal, open_output
from swordplay.tables.writing import ENDINGS, is_stream
from swordplay.tracking.errors import TrackingError
from swordplay.tracking.job import Job, RunState
from swordplay.tracking.threads import Behind

NAMES = ("output", "refused")
REFUSED = pa.schema(
    [
        ("row", pa.int64()),
        ("line", pa.int64()),
        *((name, pa.string()) for name in Refusal._fields[2:]),
    ]
)
"""Columns of the rows that could not be used: :class:`Refusal`."""


@final
class Outputs:
    """Files that are opened with the first row that goes there, and written in a thread of their
    own.

    Parameters
    ----------
    job
        Says where.
    saved
        What there is of them already.
    """

    def __init__(self, job: Job, saved: RunState | None) -> None:
        self.job, self.finished = job, saved is not None and saved.finished
        self.stream = job.output is not None and (job.output == "-" or is_stream(job.output))
        """Whether predictions are gone as soon as they are written."""
        self.follows = "csv"
        """The format of a stream whose name says nothing: that of the input, if it is text."""
        self.schema: Any = None
        """The pyarrow schema of the predictions."""
        self.positions: dict[str, OutputPosition | None] = {
            name: getattr(saved, name, None) for name in NAMES
        }
        self.open: dict[str, Output] = {}
        self.behind = Behind()
        self._look(saved)

    def _look(self, saved: RunState | None) -> None:
        """Find out before a long run what would go wrong at its end."""
        for name in NAMES:
            path = getattr(self.job, name)
            if path in (None, "-") or is_stream(path):
                continue
            there = os.path.exists(path) or os.path.exists(
                f"{path}.partial"
            )  # partial again, if a run went on and was killed
            if saved and saved.finished and self.positions[name] and not there:
                raise TrackingError(
                    f"{path} is gone, and the state {self.job.state} goes on from it. Begin anew "
                    "with --force."
                )
            if not saved and not self.job.force and os.path.exists(path):
                raise TrackingError(
                    f"{path} exists already. Give another --output, or replace it with --force."
                )
            # With a state it may be this very run, killed before it had saved anything.
            if self.job.state is None and not self.job.force and os.path.exists(f"{path}.partial"):
                raise TrackingError(
                    f"{path}.partial is there, of a run that was interrupted. "
                    "Go on with its --state, or replace it with --force."
                )

    def begin(self, schema: Any, follows: str) -> None:
        """Open the file of the predictions, unless it is finished and there may be nothing to
        add to it.
        """
        self.schema, self.follows = schema, "csv" if follows == "parquet" else follows
        if self.job.output is not None and not self.finished:
            self._opened("output", schema)
        if (
            self.job.force and self.job.refused is not None
        ):  # it tells of rows of another run, and this one may refuse none
            for path in (self.job.refused, f"{self.job.refused}.partial"):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)

    def write(self, predictions: Any, refusals: Sequence[Refusal]) -> None:
        """Append predictions and refusals; predictions on a stream are there when this returns."""
        if self.job.output is not None:
            self.behind.call(self._append, "output", predictions)
            if self.stream:
                self.behind.drain()
        self.refuse(refusals)

    def refuse(self, refusals: Sequence[Refusal]) -> None:
        """Append refusals."""
        if refusals:
            self.behind.call(self._append, "refused", _table(refusals))

    def _append(self, name: str, rows: Any) -> None:
        self._opened(name, rows.schema).write(rows)

    def _opened(self, name: str, schema: Any) -> Output:
        if name not in self.open:
            self.open[name] = open_output(
                getattr(self.job, name),
                schema,
                format=self._format(name),
                position=self.positions[name],
                overwrite=self.job.force,
                resumable=self.job.state is not None,
            )
        return self.open[name]

    def _format(self, name: str) -> str | None:
        if name != "output" or self.job.output_format is not None:
            return self.job.output_format if name == "output" else None
        named = os.path.splitext(str(self.job.output))[1].lower() in ENDINGS
        return self.follows if self.stream and not named else None

    def sync(self) -> tuple[OutputPosition | None, OutputPosition | None]:
        """Bring everything down to the disk; where it ends there."""
        self.behind.drain()
        for name, output in self.open.items():
            self.positions[name] = output.sync()
        return self.positions["output"], self.positions["refused"]

    def finish(self) -> None:
        """Give the files their names."""
        self.behind.drain()
        if self.job.output is not None:
            self._opened("output", self.schema).finish()
        self.finish_refused()
        self._close()

    def keep(self) -> str | None:
        """Leave the rows that are written where they are, without their final name.

        Where, if it is a file with rows.
        """
        self.behind.drain()
        output = self.open.pop("output", None)
        if output is not None:
            output.keep()
        self.finish_refused()
        return None if self.stream or output is None else f"{self.job.output}.partial"

    def finish_refused(self) -> None:
        """Give the file of refused rows its name, if there are any."""
        self.behind.drain()
        if "refused" in self.open or self.positions["refused"] is not None:
            self._opened("refused", REFUSED).finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.behind.close()
        self._close()

    def _close(self) -> None:
        while self.open:
            self.open.popitem()[1].close()


def _table(refusals: Sequence[Refusal]) -> Any:
    columns = zip(zip(*refusals, strict=True), REFUSED.types, strict=True)
    return pa.record_batch(
        [pa.array(values, type=kind) for values, kind in columns], schema=REFUSED
    )
