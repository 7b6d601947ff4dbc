"""A service that runs in a thread of the test process."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from services import running, service_of


@pytest.fixture
def serve(exported_bundle: Path, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts services of the tiny model: `serve(queue_requests=2)` gives the address."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(running(service_of(tmp_path, exported_bundle, **settings)))


@pytest.fixture(scope="session")
def address(exported_bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with the default limits."""
    with running(service_of(tmp_path_factory.mktemp("serve"), exported_bundle)) as url:
        yield url


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """DeepL's client, which looks for its documents every 5 seconds, looks every 10 ms."""
    monkeypatch.setattr("deepl.translator.time", SimpleNamespace(time=time.time, sleep=lambda s: time.sleep(s / 500)))


@pytest.fixture
def http(address: str) -> Iterator[httpx.Client]:
    """Speaks to the service with the default limits."""
    with httpx.Client(timeout=60, base_url=address) as client:
        yield client
