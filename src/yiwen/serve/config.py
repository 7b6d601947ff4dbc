"""What a service allows. Every limit is on by default, because a limit that is off does not exist."""

from __future__ import annotations

import ipaddress
import math
import re
from dataclasses import dataclass
from typing import Final

from yiwen.config import ABOVE_0, check_bounds
from yiwen.errors import ConfigError

_FORMS: Final = {
    "allow_origins": (r"(https?|[a-z]+-extension)://[^/*A-Z]+", "sites as https://example.org, in small letters"),
    "allow_hosts": (r"[^/*:A-Z]+|\[[0-9a-f:]+\]", "names as mt.example.org, in small letters, no port"),
}
"""What the entries of some settings have to be, and how to say it."""


@dataclass(frozen=True, kw_only=True)
class ServeConfig:
    """Limits of a service, and who may ask it."""

    host: str = "127.0.0.1"
    """Address to listen on. One that others reach needs keys, or `insecure`."""
    port: int = 8080
    """Port to listen on; 0 for any free one."""
    require_key: bool = False
    """Whether every caller needs a key, on 127.0.0.1 too; elsewhere it is always so."""
    insecure: bool = False
    """Whether anybody who reaches the address may translate without a key."""
    allow_origins: tuple[str, ...] = ()
    """Web sites, such as `https://example.org`, whose pages may call the service from a browser."""
    allow_hosts: tuple[str, ...] = ()
    """Names under which the service may be asked; empty: localhost for a loopback address, else any."""
    max_body_bytes: int = 1_000_000
    """Longest body of a request."""
    max_document_bytes: int = 10_000_000
    """Longest document."""
    max_text_chars: int = 5_000
    """Longest text."""
    max_texts: int = 50
    """Most texts in a request."""
    max_request_chars: int = 20_000
    """Most characters in a request, all texts together."""
    max_alternatives: int = 8
    """Most translations of one text."""
    max_beam_size: int = 8
    """Widest beam."""
    queue_requests: int = 64
    """Requests under way at a time; one more is told to come again."""
    queue_tokens: int = 32_768
    """Subwords waiting for the engine at a time, those of all requests."""
    max_documents: int = 16
    """Documents waiting, in work or not fetched yet."""
    max_glossaries: int = 100
    """Glossaries that one key may keep."""
    deadline_s: float = 30.0
    """Seconds until an answer must be there."""
    receive_s: float = 10.0
    """Seconds in which a request, head and body, must have arrived."""
    keep_alive_s: int = 5
    """Seconds that an idle connection is kept."""
    drain_s: int = 30
    """Seconds that requests under way are given after SIGTERM."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses of proxies whose X-Forwarded-For says who asks; else everybody behind a proxy is one address."""
    requests_per_minute: int = 120
    """Requests a minute from one address without a key; 0: any number. A key has a rate of its own."""
    cache_bytes: int = 64_000_000
    """Memory for translations of sentences that were asked for before."""

    def __post_init__(self) -> None:
        at_all = "max_documents", "max_glossaries"
        limits = {name for name in vars(self) if name.startswith(("max_", "queue_"))}.difference(at_all)
        check_bounds(
            "",
            self,
            ("port", 0, 65_535, "1 to 65535, or 0 for any free one"),
            (" ".join(limits), 1, math.inf, "1 or more"),
            (" ".join((*at_all, "requests_per_minute", "cache_bytes")), 0, math.inf, "0 or more"),
            ("deadline_s receive_s keep_alive_s drain_s", ABOVE_0, 86_400, "more than 0 and no more than a day, 86400"),
        )
        for name, (pattern, remedy) in _FORMS.items():
            for value in getattr(self, name):
                if not re.fullmatch(pattern, value):
                    raise ConfigError(f"{name} has {value!r}; give {remedy}")
        for proxy in self.trusted_proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError as error:
                raise ConfigError(f"trusted_proxies has {proxy!r} ({error}); write 10.0.0.1 or 10.0.0.0/8") from None

    @property
    def is_loopback(self) -> bool:
        """True where only this machine reaches the address."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")

    @property
    def needs_key(self) -> bool:
        """True where every caller needs a key."""
        return self.require_key or not (self.is_loopback or self.insecure)
