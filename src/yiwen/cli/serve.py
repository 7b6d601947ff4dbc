"""`yiwen serve`: bundles behind HTTP, and a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from yiwen.cli.options import Device, Engine, Settings, Threads


def serve(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Folders of models, or of runs.")],
    host: Annotated[str, typer.Option(help="Address to listen on; others than 127.0.0.1 need keys.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0: any free one.")] = 8080,
    insecure: Annotated[bool, typer.Option("--insecure", help="Anybody may translate, without a key.")] = False,
    settings: Settings = None,
    engine: Engine = "auto",
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Serve models over HTTP: a page, an API, and those of DeepL, LibreTranslate and OpenAI."""
    from yiwen.config import override, parse
    from yiwen.serve.batcher import Cache
    from yiwen.serve.config import ServeConfig
    from yiwen.serve.pairs import Pairs
    from yiwen.serve.server import make_server
    from yiwen.serve.service import Service

    table = override({"host": host, "port": port, "insecure": insecure}, settings or ())
    config = parse(ServeConfig, table, source="yiwen serve")
    pairs = Pairs.load(
        models,
        engine=engine,
        device=device,
        threads=threads,
        queue_tokens=config.queue_tokens,
        cache=Cache(config.cache_bytes),
        observe=lambda n: None,
    )
    make_server(Service(config, pairs)).run()
