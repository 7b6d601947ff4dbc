"""The process that parses and rebuilds: one JSON request on stdin, one JSON answer on stdout, limits before both.

It imports nothing of models, opens no file and no socket, and is thrown away after its one answer.
"""

from __future__ import annotations

import base64
import gc
import json
import sys
from contextlib import suppress
from typing import Any

from yiwen.documents.reading import opened, parsers
from yiwen.documents.sandbox import Limits
from yiwen.errors import DataError


def main() -> None:
    """Answer one request."""
    gc.disable()  # it would look through all pieces again and again, of which none is in a cycle
    header = json.loads(sys.stdin.buffer.readline())
    limits = Limits(**header.pop("limits"))
    _limit(limits)
    try:
        answer = _answer(json.loads(sys.stdin.buffer.read()), limits=limits, **header)
    except DataError as error:
        answer = {"error": str(error)}
    except RecursionError:
        answer = {"error": "the document is nested too deeply; flatten it"}
    except MemoryError:
        answer = {"error": f"parsing the document takes more than {limits.memory_mb} MB of memory; split it"}
    json.dump(answer, sys.stdout)


def _answer(request: dict[str, Any], *, limits: Limits, suffix: str, src_lang: str, tgt_lang: str) -> dict[str, Any]:
    """The units of a document or, where there are answers, the document that they make."""
    parse = parsers(src_lang=src_lang, tgt_lang=tgt_lang)[suffix]
    document = opened(base64.b64decode(request["data"]), suffix, limits)
    if request["answers"] is not None:
        return {"data": base64.b64encode(document.rebuilt(parse, request["answers"])).decode()}
    units = [*document.units(parse)]
    if sum(len(unit.text) for unit in units) > limits.max_characters:
        raise DataError(f"there are more than {limits.max_characters:,} characters to translate; split it")
    return {"units": [[u.text, [[m.start, m.end, m.parent, m.is_break] for m in u.marks], u.keep] for u in units]}


def _limit(limits: Limits) -> None:
    """Bound what this process may use, where the system can."""
    try:
        import resource
    except ImportError:  # Windows: the parent's clock alone
        return
    for what, most in (("AS", limits.memory_mb << 20), ("CPU", limits.seconds), ("FSIZE", 0), ("CORE", 0)):
        with suppress(AttributeError, ValueError, OSError):  # macOS bounds no address space
            resource.setrlimit(getattr(resource, f"RLIMIT_{what}"), (most, most))


if __name__ == "__main__":
    main()
