"""`yiwen keys`: who may use a service, and how much."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from yiwen.cli.options import Database, need_serve, state_folder

Action = Literal["create", "list", "revoke"]


def keys(
    action: Annotated[Action, typer.Argument(metavar="ACTION", help="create, list or revoke.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="create: whose key it is; revoke: the id of a key.")] = "",
    characters: Annotated[int, typer.Option(help="create: characters a month; 0: any number.")] = 0,
    requests: Annotated[int, typer.Option(help="create: requests a minute; 0: any number.")] = 600,
    database: Database = None,
) -> None:
    """Make, list and revoke keys of a service. A key is shown once; only its hash is kept."""
    from yiwen.errors import ConfigError

    need_serve()
    from yiwen.serve.store import open_store

    store = open_store(database, folder=state_folder())
    if action != "list" and not name.strip():
        raise ConfigError(f"yiwen keys {action} needs {'a name' if action == 'create' else 'the id of a key'}")
    if action == "create":
        key, secret = store.create_key(name, characters_per_month=characters, requests_per_minute=requests)
        typer.echo(f"{key.id} is the id of the key of {name}; the key is shown this once:", err=True)
        print(secret)
    elif action == "revoke":
        store.revoke_key(name)
        typer.echo(f"{name} is revoked; a running service refuses it within a second or two", err=True)
    else:
        for key in store.all_keys():
            state = f"revoked {key.revoked}" if key.revoked else "valid"
            limit = key.characters_per_month or "any"
            print(f"{key.id}\t{key.name}\t{state}\t{store.used(key.id)} of {limit}\t{key.requests_per_minute}/min")
    store.close()
