"""One side of `benchmarks/serving.py`, in a process of its own.

direct   the translator called with all texts at once: sentences/s and processor time
load     callers who each wait for an answer before they ask again: sentences/s, latency, processor time
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import time
from pathlib import Path
from typing import Any

import psutil
import uvloop

from yiwen.translator import Translator

BLOCK = 1000
"""Sentences of a direct call."""


def direct(options: argparse.Namespace, lines: list[str]) -> dict[str, Any]:
    """The translator without a service: the same text, beam, scores and checks."""
    translator = Translator.load(options.bundle, threads=options.threads)
    search = translator.bundle.info.search.changed(beam_size=options.beam, n_best=1)
    translator.translate(lines[:64], search=search, by_sentence=True)
    n_sentences = 0
    began, used = time.perf_counter(), time.process_time()
    while time.perf_counter() - began < options.seconds:
        texts = [text_of(lines, options.first + n_sentences + i) for i in range(BLOCK)]
        translator.translate(texts, search=search, by_sentence=True)
        n_sentences += BLOCK
    took, used = time.perf_counter() - began, time.process_time() - used
    return {"sentences_per_s": n_sentences / took, "processor_ms": 1000 * used / n_sentences}


async def load(options: argparse.Namespace, lines: list[str]) -> dict[str, Any]:
    """Callers in one process, each with a connection of its own; no text is asked for twice."""
    server = psutil.Process(options.pid)
    family = [server, *server.children(recursive=True)]
    latencies: list[float] = []
    statuses: dict[str, int] = {}
    numbers = itertools.count(options.first)

    async def caller(until: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", options.port)
        while time.perf_counter() < until:
            body = request_body(options, lines, next(numbers))
            path = b"/v1/translate" if options.api == "v1" else b"/translate"
            head = (
                b"POST %b HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
            )
            began = time.perf_counter()
            writer.write(head % (path, len(body)) + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            latencies.append(time.perf_counter() - began)
            status = answer[9:12].decode()
            statuses[status] = statuses.get(status, 0) + 1
        writer.close()

    def used() -> float:
        return sum(sum(process.cpu_times()[:2]) for process in family)

    began, before = time.perf_counter(), used()
    await asyncio.gather(*(caller(began + options.seconds) for _ in range(options.callers)))
    took, processor = time.perf_counter() - began, used() - before
    latencies.sort()
    return {
        "sentences_per_s": len(latencies) / took,
        "p50_ms": 1000 * latencies[len(latencies) // 2],
        "p95_ms": 1000 * latencies[int(0.95 * len(latencies))],
        "processor_ms": 1000 * processor / len(latencies),
        "callers_processor_ms": 1000 * time.process_time() / len(latencies),
        "statuses": statuses,
        "next": next(numbers),
    }


def text_of(lines: list[str], number: int) -> str:
    """A sentence; from the second turn on with a number behind it, so that no cache can know it."""
    turn, place = divmod(number, len(lines))
    return f"{lines[place]} {turn}" if turn else lines[place]


def request_body(options: argparse.Namespace, lines: list[str], number: int) -> bytes:
    """What a caller sends."""
    text = text_of(lines, number)
    pair = {"source": options.source, "target": options.target}
    if options.api == "v1":
        return json.dumps({"text": text, "beam_size": options.beam, **pair}).encode()
    return json.dumps({"q": text, **pair}).encode()


def main() -> None:
    """One side, its figures as JSON in the last line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=["direct", "load"])
    parser.add_argument("--src", type=Path, required=True)
    parser.add_argument("--bundle", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--callers", type=int, default=1)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--pid", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--api", choices=["v1", "libre"], default="v1")
    parser.add_argument("--source", default="en")
    parser.add_argument("--target", default="de")
    options = parser.parse_args()
    lines = [line for line in options.src.read_text(encoding="utf-8").split("\n") if line.strip()]
    found = direct(options, lines) if options.side == "direct" else uvloop.run(load(options, lines))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
