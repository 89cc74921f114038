"""Requests that change nothing: health, metrics, models, OpenAPI and the live page."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from swordplay.serving.errors import RequestError
from swordplay.serving.limits import Limits
from swordplay.serving.messages import encode_json, openapi
from swordplay.serving.metrics import Metrics
from swordplay.serving.series import Series
from swordplay.serving.storage import Storage

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
"""Media type of metrics."""
SECONDS_BETWEEN_EVENTS = 1.0
QUIET_EVENTS = 15
"""Intervals without news after which an event is sent to keep the connection open."""


class PageFile(NamedTuple):
    """A file of the live page."""

    body: bytes
    media_type: str
    policy: str = "default-src 'none'"
    """Content security policy: what a browser may load and run for it."""


PageFiles = Callable[[], Mapping[str, PageFile]]
"""Returns the files of the live page by path; called when it is first requested."""


class ServerPages:
    """Handlers of the requests that change nothing.

    Parameters
    ----------
    storage, metrics, limits
        Models, counts and limits of the server.
    files
        Files of the live page.
    """

    def __init__(
        self, storage: Storage, metrics: Metrics, limits: Limits, files: PageFiles
    ) -> None:
        self.storage = storage
        self.metrics = metrics
        self.limits = limits
        self.stop = asyncio.Event()
        """Set when the server stops; ends the events of live pages."""
        self._files = functools.cache(files)

    def app(self) -> Starlette:
        """Return the ASGI application."""
        routes = [
            Route("/health", self.get_health),
            Route("/metrics", self.get_metrics),
            Route("/models", self.get_models),
            Route("/models/{name}", self.get_model),
            Route("/models/{name}/summary", self.get_summary),
            Route("/openapi.json", self.get_openapi),
            Route("/events", self.get_events),
            Route("/", self.get_file),
            Route("/favicon.ico", self.get_favicon),
        ]
        handlers = {RequestError: _respond_with_error, HTTPException: _respond_not_found}
        app = Starlette(routes=routes, exception_handlers=handlers)
        app.router.redirect_slashes = False  # /models/ gets an error in words, no redirect
        return app

    async def get_health(self, request: Request) -> Response:
        """Return the status of the server and the number of the newest event."""
        storage = self.storage
        return _json({"status": "ok", "event": storage.number, "unsaved": storage.unsaved})

    async def get_metrics(self, request: Request) -> Response:
        """Return metrics for Prometheus."""
        return Response(self.metrics.text(self.storage), media_type=PROMETHEUS)

    async def get_models(self, request: Request) -> Response:
        """Return counts of all models."""
        return _json({"models": [self._counts(name) for name in self.storage.models.kinds]})

    async def get_model(self, request: Request) -> Response:
        """Return counts of a model."""
        return _json(self._counts(request.path_params["name"]))

    async def get_summary(self, request: Request) -> Response:
        """Return the figures of a series and the report of its model."""
        name, key = request.path_params["name"], request.query_params.get("key", "")
        series = dict(self.storage.models.series_of(name)).get(key)
        if series is None:
            raise RequestError(404, "the model has no such key yet. Ask first.")
        figures = series_figures(series)
        return _json({"model": name, "key": key} | figures | {"text": series.late.summary()})

    async def get_openapi(self, request: Request) -> Response:
        """Return the description of the API."""
        return _json(openapi(self.limits))

    async def get_events(self, request: Request) -> Response:
        """Stream the figures of a series while they change."""
        if self.metrics.live_pages >= self.limits.watchers:
            raise RequestError(503, f"at most {self.limits.watchers} live pages may be open.")
        query = request.query_params
        events = stream_events(
            self.storage, query.get("model", ""), query.get("key", ""), self.stop
        )

        async def count_pages() -> AsyncIterator[bytes]:
            self.metrics.live_pages += 1
            try:
                async for event in events:
                    yield event
            finally:
                self.metrics.live_pages -= 1

        return StreamingResponse(
            count_pages(), media_type="text/event-stream", headers={"cache-control": "no-store"}
        )

    async def get_favicon(self, request: Request) -> Response:
        """Return nothing: browsers ask for an icon that the page does not have."""
        return Response(status_code=204)

    async def get_file(self, request: Request) -> Response:
        """Return a file of the live page."""
        files = await asyncio.to_thread(self._files)
        found = files.get(request.url.path)
        if found is None:
            raise HTTPException(404)
        headers = {
            "content-security-policy": found.policy,
            "x-content-type-options": "nosniff",
            "cache-control": "no-cache",
        }
        return Response(found.body, media_type=found.media_type, headers=headers)

    def _counts(self, name: str) -> dict[str, Any]:
        series = self.storage.models.series_of(name)
        return {
            "model": name,
            "target": self.storage.models.kinds[name],
            "keys": [key for key, _ in series],
            "asks": sum(one.stats.counts.asks for _, one in series),
            "tells": sum(one.stats.counts.tells for _, one in series),
            "pending": sum(len(one.pending) for _, one in series),
        }


# ---------------------------------------------------------------------- figures of the live page


def live_snapshot(storage: Storage, model: str, key: str) -> dict[str, Any]:
    """Return what the live page shows of a series; only the list of series if it does not exist."""
    models = storage.models
    names = [
        {"model": name, "key": key, "target": models.kinds[name]} for name, key in models.series
    ]
    snapshot = {"event": storage.number, "series": names, "model": model, "key": key}
    series = models.series.get((model, key))
    return snapshot if series is None else snapshot | {"now": series_figures(series)}


def series_figures(series: Series) -> dict[str, Any]:
    """Return counts, errors, curves and the newest rows of a series."""
    stats = series.stats
    return {
        "target": series.kind,
        "asks": stats.counts.asks,
        "tells": stats.counts.tells,
        "drops": stats.counts.drops,
        "pending": len(series.pending),
        "recent": stats.recent(),
        "ever": stats.overall(),
        "step_size": series.step_size(),
        "points": stats.points,
        "last": stats.newest(),
    }


async def stream_events(
    storage: Storage, model: str, key: str, stop: asyncio.Event
) -> AsyncIterator[bytes]:
    """Yield server-sent events with a snapshot whenever something has changed.

    Parameters
    ----------
    storage
        Models of the server.
    model, key
        The series; the first one of the server if the model is empty.
    stop
        Set when the server stops.
    """
    sent_event, quiet = -1, 0
    while not stop.is_set():
        if storage.number != sent_event or quiet >= QUIET_EVENTS:
            sent_event, quiet = storage.number, 0
            chosen = (model, key) if model else next(iter(storage.models.series), ("", ""))
            snapshot = live_snapshot(storage, *chosen)
            yield b"retry: 1000\ndata: " + encode_json(snapshot) + b"\n\n"
        quiet += 1
        try:
            async with asyncio.timeout(SECONDS_BETWEEN_EVENTS):
                await stop.wait()
        except TimeoutError:
            pass
    yield b"event: stopped\ndata: {}\n\n"


# ---------------------------------------------------------------------- responses


def _json(value: Any, status: int = 200) -> Response:
    return Response(encode_json(value), status, media_type="application/json")


async def _respond_with_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return _json(error.body(), error.status)


async def _respond_not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json(
        {"error": f"{error.detail}: see /openapi.json for all addresses."}, error.status_code
    )
