"""`yiwen backtranslate`: training text from text in one language only."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from yiwen.cli.options import AsJson, BeamSize, Device, Ensemble, Threads, refuse, stoppable, tell_json


def backtranslate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model of the other direction, or its run.")],
    texts: Annotated[list[Path], typer.Argument(metavar="TEXT", help="Text in the language that it translates.")],
    column: Annotated[str, typer.Option(help="Of a table (.tsv, .jsonl ...), the column with the text.")] = "src",
    forward: Annotated[bool, typer.Option("--forward", help="Make targets: MODEL has the same direction.")] = False,
    tag: Annotated[str | None, typer.Option(help="Tag before each made source; <2bt> if not given, '': none.")] = None,
    sampling: Annotated[bool, typer.Option("--sampling", help="Draw translations at random.")] = False,
    top_k: Annotated[int | None, typer.Option(help="Sampling: only the k likeliest subwords; 0: all.")] = None,
    seed: Annotated[int | None, typer.Option(help="Sampling: where random numbers start.")] = None,
    beam_size: BeamSize = None,
    ensemble: Ensemble = None,
    output: Annotated[Path | None, typer.Option(help="Where to link to the pairs, for a recipe to name.")] = None,
    as_json: AsJson = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Make training pairs of text that has no translation.

    To train English to German, a German to English model translates German
    text. With --forward an English to German model translates English text,
    for a student or for a better model than itself. What is translated is
    kept: a stopped command goes on where it was. The lines to put into a
    recipe are printed at the end.
    """
    from yiwen.data.report import print_report
    from yiwen.synthetic.backtranslate import back_translate
    from yiwen.synthetic.teacher import Teachers

    if not sampling:
        refuse({"top_k": top_k, "seed": seed}, "for --sampling alone; add it, or leave this out")
    search = {"sampling": sampling or None, "top_k": top_k, "seed": seed, "beam_size": beam_size}
    teachers = Teachers(folder=model, ensemble=ensemble or (), search=search, device=device, threads=threads)
    with stoppable() as (stop, console):
        done = back_translate(
            teachers, texts, column=column, forward=forward, tag=tag, output=output, stop=stop, console=console
        )
    print_report(done.report, console)
    console.print(f"made: {done.made}", highlight=False, markup=False, soft_wrap=True)
    dropped = {item.reason: item.count for item in done.report.dropped}
    made = {"folder": str(done.made.folder), "pairs": done.made.n_pairs, "left_out": done.made.left_out}
    tell_json(made | {"dropped": dropped}, wanted=as_json)
    if not as_json:
        print(done.recipe_lines)
