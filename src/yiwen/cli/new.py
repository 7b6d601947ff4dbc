"""`yiwen new`: look at a corpus, write a recipe for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from yiwen.cli.options import stoppable

_CORPUS: Final = "A TSV, CSV, JSONL, Parquet, Arrow or TMX, or two texts."


def new(
    corpus: Annotated[list[Path], typer.Argument(metavar="CORPUS [CORPUS2]", help=_CORPUS)],
    src_lang: Annotated[str, typer.Option("--from", metavar="LANGUAGE", help="Source language, e.g. en.")],
    tgt_lang: Annotated[str, typer.Option("--to", metavar="LANGUAGE", help="Target language, e.g. zh.")],
    output: Annotated[Path | None, typer.Option(help="The recipe to write; CORPUS.toml here if not given.")] = None,
    src_column: Annotated[str | None, typer.Option(help="Column of the source; found out if not given.")] = None,
    tgt_column: Annotated[str | None, typer.Option(help="Column of the target; found out if not given.")] = None,
) -> None:
    """Look at a corpus, size the model by it, write a recipe."""
    from yiwen.errors import ConfigError
    from yiwen.newrecipe import new_recipe, what_next

    if (src_column is None) != (tgt_column is None):
        raise ConfigError("give both --src-column and --tgt-column, or neither")
    columns = None if src_column is None or tgt_column is None else (src_column, tgt_column)
    with stoppable() as (stop, console), console.status("counting pairs"):
        path, survey, size = new_recipe(
            tuple(corpus), src_lang=src_lang, tgt_lang=tgt_lang, output=output, columns=columns, stop=stop
        )
    print(what_next(path, survey, size))
