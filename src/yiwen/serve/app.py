"""The application: every endpoint, the page, monitoring, and the guard around all of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib import resources
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from yiwen.serve import api_deepl, api_libre, api_openai, api_v1
from yiwen.serve.endpoint import error_response, json_response, respond, secret_of
from yiwen.serve.errors import ApiError
from yiwen.serve.guard import Guard
from yiwen.serve.openapi import describe
from yiwen.serve.service import Service

ENDPOINTS: Final = (*api_v1.ENDPOINTS, *api_deepl.ENDPOINTS, *api_libre.ENDPOINTS, *api_openai.ENDPOINTS)


def build_app(service: Service) -> Guard:
    """Join endpoints, page and guard."""
    config = service.config
    page = resources.files("yiwen.serve") / "page"
    description = json_response(describe(ENDPOINTS)).body

    async def index(request: Request) -> Response:
        return FileResponse(str(page / "index.html"), headers={"cache-control": "no-cache"})

    async def openapi(request: Request) -> Response:
        return Response(description, media_type="application/json")

    async def live(request: Request) -> Response:
        return json_response({"status": "ok"})

    async def ready(request: Request) -> Response:
        is_ready = service.is_ready
        return json_response({"status": "ok" if is_ready else "busy"}, status=200 if is_ready else 503)

    async def metrics(request: Request) -> Response:
        if config.needs_key:
            try:
                service.admit(secret_of(request, is_needed=True), request.client.host if request.client else "")
            except ApiError as error:
                return error_response(error)
        return Response(service.metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service.store.start()
        yield
        service.close()

    routes = [
        *(Route(each.path, partial(respond, each, service), methods=[each.method]) for each in ENDPOINTS),
        Route("/", index),
        Route("/openapi.json", openapi),
        Route("/live", live),
        Route("/ready", ready),
        Route("/metrics", metrics),
        Mount("/page", StaticFiles(directory=str(page), check_dir=False)),
    ]
    rest = Starlette(routes=routes, exception_handlers={HTTPException: _refused}, lifespan=lifespan)
    rest.router.redirect_slashes = False  # a proxy's scheme and prefix are not known here
    # What is asked a thousand times a second finds its way without a search through all routes.
    direct = {(each.path, each.method): partial(respond, each, service) for each in ENDPOINTS if "{" not in each.path}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        handle = direct.get((scope["path"], scope["method"])) if scope["type"] == "http" else None
        if handle is None:
            await rest(scope, receive, send)
        else:
            response = await handle(Request(scope, receive, send))
            await response(scope, receive, send)

    if not config.allow_origins:
        return Guard(app, service)
    cors = CORSMiddleware(
        app,
        allow_origins=config.allow_origins,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],  # clients add their own; nothing here goes by a cookie
        expose_headers=["Retry-After"],
        max_age=600,
    )
    return Guard(cors, service)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code, message = {404: "not_found", 405: "method"}.get(error.status_code, "refused"), "nothing is here"
    if error.status_code == 405:
        path, routes = request.scope["path"], (route for route in request.app.routes if isinstance(route, Route))
        here = {method for route in routes if route.path_regex.match(path) for method in route.methods or ()}
        error.headers = {"Allow": ", ".join(sorted(here or {"GET", "HEAD"}))}  # no route: a file of the page
        message = f"{path} is not for {request.method}; use {error.headers['Allow']}"
    response = error_response(ApiError(error.status_code, code, f"{message}; see /openapi.json"))
    response.headers.update(error.headers or {})
    return response
