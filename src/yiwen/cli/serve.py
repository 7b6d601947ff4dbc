"""`yiwen serve`: models over HTTP, and a page."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Annotated, Final

import typer

from yiwen.cli.options import Database, Device, Engine, Threads, need_serve, state_folder

_LIMIT: Final = "Change a limit, as in queue_requests=200."


def serve(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL", help="Folders of models, or of runs.")],
    host: Annotated[str, typer.Option(help="Address to listen on; any but 127.0.0.1 needs keys.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0: any free one.")] = 8080,
    require_key: Annotated[bool, typer.Option("--require-key", help="Refuse requests without a key.")] = False,
    insecure: Annotated[bool, typer.Option("--insecure", help="Let anybody in, from anywhere, without a key.")] = False,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help=_LIMIT)] = None,
    database: Database = None,
    engine: Engine = "auto",
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Serve models over HTTP: a page and several APIs.

    Clients of DeepL, LibreTranslate and OpenAI work.

    The manual lists the limits that --set changes.
    """
    from contextlib import closing
    from functools import partial

    from yiwen.config import override, parse
    from yiwen.errors import YiwenError

    need_serve()
    from yiwen.serve.config import ServeConfig
    from yiwen.serve.metrics import log_to_stderr
    from yiwen.serve.pairs import Pairs
    from yiwen.serve.server import ignore_hangup, listen, make_server, reload_on_hangup
    from yiwen.serve.service import Service
    from yiwen.serve.store import open_store

    ignore_hangup()
    table = {"host": host, "port": port, "require_key": require_key, "insecure": insecure}
    config = parse(ServeConfig, override(table, settings or ()), source="yiwen serve")
    store = open_store(database, folder=state_folder(), config=config)
    with listen(config) as sock:
        pairs_of = partial(Pairs.load, models, engine=engine, device=device, threads=threads)
        log_to_stderr()
        service = Service(config, pairs_of, store, folder=state_folder())
        gc.set_threshold(100_000, 50, 100)  # a request leaves hardly a cycle behind: seldom worth a look
        reload_on_hangup(service)
        shown = f"[{config.host}]" if ":" in config.host else config.host
        names = ", ".join(sorted(way.name for way in service.pairs.ways.values()))
        server = make_server(service)
        # Signals drain from the moment the address is told; a second one ends the server at once, and all is closed.
        with closing(service), server.capture_signals():
            print(f"serving {names}", f"http://{shown}:{sock.getsockname()[1]}", sep="\n", flush=True)
            server.run(sockets=[sock])
    if store.n_unwritten:
        raise YiwenError(f"the database was locked or away: {store.n_unwritten} characters of usage are not written")
