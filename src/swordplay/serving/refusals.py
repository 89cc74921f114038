"""What a server says no to: a status of HTTP, and a sentence that names what was sent and what
to do.
"""

from __future__ import annotations

from typing import Any


class Refusal(Exception):
    """A request that changes nothing.

    Parameters
    ----------
    status
        Of HTTP: 400 what was sent cannot be read, 401 the token is wrong or missing, 403 it comes
        from another web page, 404 there is no such model or ticket, 405 it is sent another way, 408
        it did not arrive in time, 409 it contradicts what was sent before, 413 it is too large, 421
        the server is not called that, 429 models, series, columns or tickets are too many, 500 the
        server failed on it, 503 too much is under way, 507 the disk is full.
    message
        For people.
    where
        For programs: the row, the byte.
    """

    def __init__(self, status: int, message: str, **where: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.where = status, message, where

    def body(self) -> dict[str, Any]:
        """What the client is told."""
        return {"error": self.message, **self.where}
