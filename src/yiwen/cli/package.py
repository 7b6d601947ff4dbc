"""`yiwen package`: an exported model, packed for other programs to install."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from yiwen.cli.options import Model


def package(
    model: Model,
    to: Annotated[Literal["argos"], typer.Option(help="For Argos Translate and LibreTranslate.")] = "argos",
    output: Annotated[Path | None, typer.Option(help="Where to write; named by its languages if not given.")] = None,
) -> None:
    """Pack an exported model for Argos and LibreTranslate."""
    from yiwen.bundle import open_bundle
    from yiwen.export.argos import package_argos

    bundle = open_bundle(model)
    written = package_argos(bundle, output)
    if bundle.reader.n_symbols:
        typer.echo("note: Argos knows no symbols: addresses and codes are spelt, and ⟦0⟧ may be written", err=True)
    typer.echo(f"{written}: install it with `argospm install {written}`", err=True)
