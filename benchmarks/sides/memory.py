"""How much memory a process has held. Imports no torch, so that engines without it can be measured."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_mib() -> float:
    """Most memory that this process has held. `ru_maxrss` is the fall-back: on Linux it also counts the parent's."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").split("\n")
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return size / (2**20 if sys.platform == "darwin" else 2**10)
