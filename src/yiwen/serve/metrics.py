"""How a running service can be watched: counters for Prometheus, and lines of JSON. Neither holds text or keys."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from pydantic_core import to_json

LOG: Final = logging.getLogger("yiwen.serve")
_SECONDS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SIZES: Final = (1, 2, 4, 8, 16, 32, 64, 128)
_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class Metrics:
    """The counters of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        named: Any = {"registry": self._registry, "namespace": "yiwen"}
        self.requests = Counter("requests", "Requests answered", ["path", "status"], **named)
        self.seconds = Histogram("request_seconds", "Time to the end of an answer", ["path"], buckets=_SECONDS, **named)
        self.characters = Counter("characters", "Characters translated", **named)
        self.cache_hits = Counter("cache_hits", "Sentences that were remembered", **named)
        self.batch_sentences = Histogram("batch_sentences", "Sentences of a batch", buckets=_SIZES, **named)

    def watch(self, name: str, meaning: str, value: Callable[[], float]) -> None:
        """Show a value that is looked up when somebody asks."""
        Gauge(name, meaning, registry=self._registry, namespace="yiwen").set_function(value)

    def exposition(self) -> bytes:
        """All of it, as Prometheus reads it."""
        return generate_latest(self._registry)


class JsonLines(logging.Formatter):
    """One JSON object a line: what happened and its sizes. Of an exception only where: what it says may be text."""

    def format(self, record: logging.LogRecord) -> str:
        """One record."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["where"] = [f"{f.filename}:{f.lineno}" for f in traceback.extract_tb(record.exc_info[2])[-8:]]
        return to_json(line, fallback=str).decode()


def log_to_stderr() -> None:
    """Send the service's log, and that of its server, to stderr."""
    handler = logging.StreamHandler()  # which is stderr
    handler.setFormatter(JsonLines())
    levels = {"yiwen.serve": logging.INFO, "uvicorn.error": logging.WARNING, "python_multipart": logging.ERROR}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
