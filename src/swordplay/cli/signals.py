"""Ctrl-C and SIGTERM: the first one lets a run finish its batch and save its state, the second
one stops it at once.
"""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any, Self


class Interrupts:
    """Catches SIGINT and SIGTERM while a command runs, and tells the command, when it asks, whether
    one has come.

    The command calls the object between batches; from the first such call on, a signal is only
    remembered, and a second one raises ``KeyboardInterrupt``. Before that call nobody would notice,
    so a signal raises ``KeyboardInterrupt`` at once.
    """

    SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self) -> None:
        self.number: int | None = None
        """The signal that came."""
        self._asked = False
        self._before: dict[int, Any] = {}

    def __call__(self) -> bool:
        """Whether to stop."""
        self._asked = True
        return self.number is not None

    @property
    def exit_code(self) -> int:
        """What a shell expects of a process that ended by this signal."""
        return 128 + (self.number or signal.SIGINT)

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._come) for number in self.SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _come(self, number: int, frame: FrameType | None) -> None:
        again, self.number = self.number is not None, number
        if again or not self._asked:
            raise KeyboardInterrupt
