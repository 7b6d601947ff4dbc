"""The application: every endpoint, the page, monitoring, and the guard around all of it."""

from __future__ import annotations

from functools import partial
from importlib import resources
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from yiwen.serve import api_deepl, api_libre, api_openai, api_v1
from yiwen.serve.call import Call
from yiwen.serve.endpoint import Endpoint, error_response, json_response, respond
from yiwen.serve.errors import ApiError
from yiwen.serve.guard import Guard
from yiwen.serve.openapi import describe
from yiwen.serve.service import Service

ENDPOINTS: Final = (*api_v1.ENDPOINTS, *api_deepl.ENDPOINTS, *api_libre.ENDPOINTS, *api_openai.ENDPOINTS)


def build_app(service: Service) -> Guard:
    """Join endpoints, page and guard."""

    rest = Starlette(routes=_routes(service), exception_handlers={HTTPException: _refused})
    rest.router.redirect_slashes = False  # a proxy's scheme and prefix are not known here
    # What is asked a thousand times a second finds its way without a search through all routes.
    direct = {(each.path, each.method): partial(respond, each, service) for each in ENDPOINTS if "{" not in each.path}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        handle = direct.get((scope["path"], scope["method"]))
        answer: ASGIApp = rest if handle is None else await handle(Request(scope, receive, send))
        await answer(scope, receive, send)

    if not service.config.allow_origins:
        return Guard(app, service)
    cors = CORSMiddleware(
        app,
        allow_origins=service.config.allow_origins,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],  # clients add their own; nothing here goes by a cookie
        expose_headers=["Retry-After"],
    )
    return Guard(cors, service)


def _routes(service: Service) -> list[BaseRoute]:
    page = resources.files("yiwen.serve") / "page"
    return [
        *(Route(each.path, partial(respond, each, service), methods=[each.method]) for each in (*ENDPOINTS, _METRICS)),
        Route("/", lambda request: FileResponse(str(page / "index.html"), headers={"cache-control": "no-cache"})),
        # The second of two is what LibreTranslate calls it.
        *(Route(path, json_response(describe(ENDPOINTS)), methods=["GET"]) for path in ("/openapi.json", "/spec")),
        *(Route(path, json_response({"status": "ok"}), methods=["GET"]) for path in ("/live", "/health")),
        Route("/ready", partial(_ready, service)),
        Mount("/page", StaticFiles(directory=str(page), check_dir=False)),
    ]


async def _ready(service: Service, request: Request) -> Response:
    is_busy = service.is_draining or service.n_running >= service.config.queue_requests
    return json_response({"status": "busy"}, 503) if is_busy else json_response({"status": "ok"})


async def _exposition(asked: None, call: Call) -> Response:
    """The counters, as Prometheus reads them."""
    return Response(call.service.metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")


_METRICS: Final = Endpoint("GET", "/metrics", _exposition)
"""For whoever may translate; no part of the API that is described."""


async def _refused(request: Request, error: Any) -> Response:
    """Where there is no endpoint, or none for this method: told as the clients of the nearest one expect it."""
    path, headers = request.scope["path"], dict[str, str]()
    code, message = "not_found", "nothing is here"
    if error.status_code == 405:
        code, headers["Allow"] = "method", ", ".join(_methods(request))
        message = f"{path} is not for {request.method}; use {headers['Allow']}"
    # False sorts before True: the one that shares most of its path, from the left.
    nearest = max(ENDPOINTS, key=lambda each: [*map(str.__eq__, each.path.split("/"), path.split("/"))])
    response = error_response(ApiError(error.status_code, code, f"{message}; see /openapi.json"), nearest.dialect)
    response.headers.update(headers)
    return response


def _methods(request: Request) -> list[str]:
    """What a path may be asked by."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    here = [route.methods or () for route in routes if route.path_regex.match(request.scope["path"])]
    return sorted({method for methods in here for method in methods} or {"GET", "HEAD"})  # no route: a file of the page
