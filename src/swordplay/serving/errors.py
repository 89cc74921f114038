"""The exception for requests that the server rejects: an HTTP status and a message."""

from __future__ import annotations

from typing import Any


class RequestError(Exception):
    """A request is rejected and changes nothing.

    Parameters
    ----------
    status
        HTTP status: 400 the request is invalid, 401 the token is missing or wrong, 403 the request
        comes from another web page, 404 there is no such model or ticket, 405 the method is not
        allowed, 408 the request did not arrive in time, 409 it contradicts an earlier request, 413
        it is too large, 421 the host name is not one of the server, 429 a limit on models, series,
        columns or tickets is reached, 500 the server failed, 503 the server is overloaded or
        stopping, 507 the disk is full.
    message
        What is wrong, the value received, and what to do.
    where
        The place in the request, for programs: ``row``, ``byte`` or ``line``.
    """

    def __init__(self, status: int, message: str, **where: Any) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.where = where

    def body(self) -> dict[str, Any]:
        """The body of the response."""
        return {"error": self.message, **self.where}
