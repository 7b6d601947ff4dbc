"""A service that runs in a thread of the test process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from yiwen.serve.batcher import Cache
from yiwen.serve.config import ServeConfig
from yiwen.serve.pairs import Pairs
from yiwen.serve.server import make_server
from yiwen.serve.service import Service


@contextmanager
def running(service: Service) -> Iterator[str]:
    """Serve in a thread; gives the address."""
    server = make_server(service)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


def service_of(*bundles: Path, **settings: Any) -> Service:
    """A service of some bundles with the defaults, but for a free port."""
    config = ServeConfig(**{"port": 0, "requests_per_minute": 0, **settings})
    pairs = Pairs.load(
        bundles,
        engine="auto",
        device="auto",
        threads=1,
        queue_tokens=config.queue_tokens,
        cache=Cache(config.cache_bytes),
        observe=lambda n: None,
    )
    return Service(config, pairs)


@pytest.fixture
def serve(exported_bundle: Path) -> Iterator[Callable[..., str]]:
    """Starts services of the tiny model: `serve(queue_requests=2)` gives the address."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(running(service_of(exported_bundle, **settings)))


@pytest.fixture(scope="session")
def address(exported_bundle: Path) -> Iterator[str]:
    """A service with the default limits."""
    with running(service_of(exported_bundle)) as url:
        yield url


@pytest.fixture
def http(address: str) -> Iterator[httpx.Client]:
    """Speaks to the service with the default limits."""
    with httpx.Client(base_url=address) as client:
        yield client
