"""The application: every endpoint, the page, and what is watched and refused before any of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib import resources
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from yiwen.serve import api_v1
from yiwen.serve.endpoint import Endpoint, error_response, json_response, respond
from yiwen.serve.guard import Guard
from yiwen.serve.service import ApiError, Service

ENDPOINTS: Final = (*api_v1.ENDPOINTS,)


def build_app(service: Service) -> Guard:
    """Join endpoints, page and guard."""

    async def live(request: Request) -> Response:
        return json_response({"status": "ok"})

    async def ready(request: Request) -> Response:
        is_ready = not service.is_draining and service.n_running < service.config.queue_requests
        return json_response({"status": "ok" if is_ready else "busy"}, status=200 if is_ready else 503)

    async def not_found(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        remedy = {404: "nothing is here; see /openapi.json", 405: "not with this method; see /openapi.json"}
        return error_response(ApiError(status, "not_found", remedy.get(status, "refused")), "v1")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        service.close()

    routes: list[Route | Mount] = [
        Route(endpoint.path, _handler(endpoint, service), methods=[endpoint.method]) for endpoint in ENDPOINTS
    ]
    routes += [Route("/live", live), Route("/ready", ready)]
    page = resources.files("yiwen.serve") / "page"
    routes.append(Mount("/", StaticFiles(directory=str(page), html=True, check_dir=False)))
    app = Starlette(routes=routes, exception_handlers={HTTPException: not_found}, lifespan=lifespan)
    return Guard(app, service)


def _handler(endpoint: Endpoint, service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        return await respond(endpoint, service, request)

    return handle
