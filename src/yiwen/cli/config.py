"""`yiwen config`: what a recipe resolves to, and what each setting means."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from yiwen.cli.options import Settings


def config(
    recipe: Annotated[str | None, typer.Argument(metavar="RECIPE", help="Built-in name or path of a .toml.")] = None,
    settings: Settings = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema for editors instead.")] = False,
) -> None:
    """Print a recipe with every setting and its meaning.

    Without one, name the built-in recipes.
    """
    from yiwen.config import json_schema, to_toml
    from yiwen.errors import ConfigError
    from yiwen.recipe import Recipe, builtin_names, load_recipe

    if (settings and recipe is None) or (schema and recipe is not None):
        raise ConfigError("--set needs a RECIPE to change, and --schema is that of all recipes; leave one of them out")
    if schema:
        print(json.dumps(json_schema(Recipe), indent=2, ensure_ascii=False))
    elif recipe is None:
        print("\n".join(builtin_names()))
    else:
        print(to_toml(load_recipe(recipe, settings or ()).recipe, with_meaning=True), end="")
