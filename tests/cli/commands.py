"""Running commands in this process: exit code, stdout and stderr as bytes; stdin from a file, as the shell does it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from yiwen.cli.main import main

YIWEN = "import sys; from yiwen.cli.main import main; sys.exit(main())"
"""The command in a process of its own: `python -c YIWEN ARGUMENTS`."""
Asked = Callable[[str], list[dict[str, Any]]]
"""What the fixture `asked_of` is."""


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[str]:
        """stdout without the last line end, split on LF alone."""
        return self.out.decode("utf-8").removesuffix("\n").split("\n") if self.out else []


class Commands:
    """`run("translate", folder, stdin=b"...")` as a shell would."""

    def __init__(self, capture: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._capture, self._monkeypatch, self._stdin = capture, monkeypatch, folder / "stdin"

    def __call__(self, *arguments: str | Path | int, stdin: bytes = b"") -> Done:
        """Run one command line."""
        self._stdin.write_bytes(stdin)
        before = os.dup(0)
        self._capture.readouterr()
        with self._stdin.open("rb") as file:
            os.dup2(file.fileno(), 0)
            try:
                with open(0, encoding="utf-8", closefd=False) as text:
                    self._monkeypatch.setattr(sys, "stdin", text)
                    code = main([str(argument) for argument in arguments])
            finally:
                os.dup2(before, 0)
                os.close(before)
        captured = self._capture.readouterr()
        return Done(code, captured.out, captured.err.decode("utf-8"))
