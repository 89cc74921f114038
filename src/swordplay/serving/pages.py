"""What can be looked at: health, counts, models, the interface and the live page.

Nothing here changes anything.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from swordplay.serving import live, openapi, replies
from swordplay.serving.keeper import Keeper
from swordplay.serving.limits import Limits
from swordplay.serving.metrics import Counts
from swordplay.serving.refusals import Refusal

PLAIN = "text/plain; version=0.0.4; charset=utf-8"
"""What Prometheus expects."""


class File(NamedTuple):
    """A part of the live page: its bytes, and what they are."""

    body: bytes
    kind: str
    policy: str = "default-src 'none'"
    """What a browser may load and run for it."""


Files = Callable[[], Mapping[str, File]]
"""The live page by address; made when it is first looked at."""


class Pages:
    """Answers by address.

    Parameters
    ----------
    keeper, counts, limits
        What is told.
    files
        The live page.
    """

    def __init__(self, keeper: Keeper, counts: Counts, limits: Limits, files: Files) -> None:
        self.keeper, self.counts, self.limits = keeper, counts, limits
        self.stop = asyncio.Event()
        """Set when the server stops: live pages are told."""
        self._files = functools.cache(files)

    def app(self) -> Starlette:
        """The application."""
        routes = [
            Route("/health", self.health),
            Route("/metrics", self.metrics),
            Route("/models", self.models),
            Route("/models/{name}", self.model),
            Route("/models/{name}/summary", self.summary),
            Route("/openapi.json", self.description),
            Route("/events", self.events),
            Route("/", self.file),
            Route("/favicon.ico", self.nothing),
        ]
        app = Starlette(
            routes=routes, exception_handlers={Refusal: _refused, HTTPException: _unknown}
        )
        app.router.redirect_slashes = False  # /models/ is no address, and says so in words
        return app

    async def health(self, request: Request) -> Response:
        """Whether it works, and how far it has got."""
        return _json({"status": "ok", "event": self.keeper.number, "unsaved": self.keeper.unsaved})

    async def metrics(self, request: Request) -> Response:
        """Counts, for Prometheus."""
        return Response(self.counts.text(self.keeper), media_type=PLAIN)

    async def models(self, request: Request) -> Response:
        """What there is."""
        return _json({"models": [self._about(name) for name in self.keeper.models.kinds]})

    async def model(self, request: Request) -> Response:
        """One of them."""
        return _json(self._about(request.path_params["name"]))

    async def summary(self, request: Request) -> Response:
        """What a model has to say about a series, in figures and in words."""
        name, key = request.path_params["name"], request.query_params.get("key", "")
        found = dict(self.keeper.models.of(name)).get(key)
        if found is None:
            raise Refusal(404, "the model has no such key yet. Ask first.")
        return _json(
            {"model": name, "key": key} | live.told(found) | {"text": found.late.summary()}
        )

    async def description(self, request: Request) -> Response:
        """The interface, as OpenAPI."""
        return _json(openapi.description(self.limits))

    async def events(self, request: Request) -> Response:
        """The figures of a series while they change."""
        if self.counts.watchers >= self.limits.watchers:
            raise Refusal(503, f"at most {self.limits.watchers} live pages may be open.")
        chosen = request.query_params
        stream = live.stream(self.keeper, chosen.get("model", ""), chosen.get("key", ""), self.stop)

        async def counted() -> Any:
            self.counts.watchers += 1
            try:
                async for part in stream:
                    yield part
            finally:
                self.counts.watchers -= 1

        return StreamingResponse(
            counted(), media_type="text/event-stream", headers={"cache-control": "no-store"}
        )

    async def nothing(self, request: Request) -> Response:
        """What browsers ask for and do not need."""
        return Response(status_code=204)

    async def file(self, request: Request) -> Response:
        """A part of the live page."""
        files = await asyncio.to_thread(self._files)
        found = files.get(request.url.path)
        if found is None:
            raise HTTPException(404)
        headers = {
            "content-security-policy": found.policy,
            "x-content-type-options": "nosniff",
            "cache-control": "no-cache",
        }
        return Response(found.body, media_type=found.kind, headers=headers)

    def _about(self, name: str) -> dict[str, Any]:
        series = self.keeper.models.of(name)
        return {
            "model": name,
            "target": self.keeper.models.kinds[name],
            "keys": [key for key, _ in series],
            "asks": sum(one.watch.asks for _, one in series),
            "tells": sum(one.watch.tells for _, one in series),
            "pending": sum(len(one.pending) for _, one in series),
        }


def _json(value: Any, status: int = 200) -> Response:
    return Response(replies.body(value), status, media_type="application/json")


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return _json(error.body(), error.status)


async def _unknown(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _json(
        {"error": f"{error.detail}: see /openapi.json for what there is."}, error.status_code
    )
