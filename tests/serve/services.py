"""Services of the tiny model, each in a thread of the test process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from yiwen.serve.config import ServeConfig
from yiwen.serve.pairs import Pairs
from yiwen.serve.server import listen, make_server
from yiwen.serve.service import Service
from yiwen.serve.store import Store

UNLIMITED: Any = {"characters_per_month": 0, "requests_per_minute": 0}
"""A key that may ask for any number."""


@contextmanager
def running(service: Service) -> Iterator[str]:
    """Serve in a thread; gives the address."""
    server = make_server(service)
    sock = listen(service.config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.005)
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        service.close()


def service_of(folder: Path, *bundles: Path, **settings: Any) -> Service:
    """A service of some bundles with the defaults, but for a free port."""
    config = ServeConfig(**{"port": 0, "requests_per_minute": 0, **settings})
    pairs_of = partial(Pairs.load, bundles, engine="auto", device="auto", threads=1)
    return Service(config, pairs_of, Store(f"sqlite:///{folder}/serve.sqlite"), folder=folder)
