"""Parsing in a child process: a hostile document can hurt only what holds nothing and lives for seconds."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from yiwen.errors import ConfigError, DataError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one document may cost; more is refused with a message that names the limit.

    Rebuilding it may take twice the memory and time of parsing: what was translated is not lost for a little.
    """

    max_bytes: int = 10_000_000
    """Size of the file."""
    max_unpacked_bytes: int = 50_000_000
    """Sum of what a packed document, as .docx is, says that its files unpack to."""
    max_ratio: int = 100
    """Unpacked bytes for each byte of the file."""
    max_characters: int = 2_000_000
    """Text to translate."""
    memory_mb: int = 256
    """Address space of the process that parses (where the system has such a limit)."""
    seconds: int = 10
    """Processor time of the process that parses."""
    clock_seconds: int = 300
    """The same by the clock, which goes on where the machine is busy with something else."""


def asked(data: bytes, *, limits: Limits, header: dict[str, str], answers: list[Any] | None = None) -> Any:
    """Ask a new child process for the units of a document or, with answers, for the document rebuilt.

    Raises:
        ConfigError: If there is no Python to start.
        DataError: If the document is refused, or takes more time or memory than it may.
    """
    if getattr(sys, "frozen", False):  # it would start itself again, and that one itself
        raise ConfigError(f"{sys.executable} is frozen, and documents are parsed by a Python; use `yiwen serve`")
    first = json.dumps({"limits": asdict(limits), **header})
    request = {"data": base64.b64encode(data).decode(), "answers": answers}
    # Of the parent's environment, which may hold keys, only where Python, the package and what it needs are found.
    environment = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ}
    places = filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")])
    environment |= {"PYTHONPATH": os.pathsep.join(places), "PYTHONUTF8": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-B", "-P", "-m", "yiwen.documents.child"],
            input=f"{first}\n{json.dumps(request)}".encode(),
            capture_output=True,
            env=environment,
            timeout=limits.clock_seconds,
            start_new_session=True,  # Ctrl-C is for the parent, which may have to go on to the end of its work
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DataError(f"parsing the document takes more than {limits.clock_seconds} seconds; split it") from None
    if done.returncode in (-24, -9):  # SIGXCPU, SIGKILL: the kernel ended it at a limit
        raise DataError(f"parsing the document takes more than {limits.seconds} seconds of a processor; split it")
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().split("\n")[-1]
        raise DataError(f"the document cannot be parsed ({last or done.returncode}); save it anew or split it")
    if "error" in (answer := json.loads(done.stdout)):
        raise DataError(answer["error"])
    return answer
