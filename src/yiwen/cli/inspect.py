"""`yiwen inspect`: how a model translates one sentence, and how good its word alignments are."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

import typer

from yiwen.cli.options import AsJson, BeamSize, Model, Penalty, refuse, stoppable


def inspect(
    model: Model,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The sentence to look into.")] = None,
    target: Annotated[str | None, typer.Option(help="Look at this translation instead of the model's own.")] = None,
    output: Annotated[list[Path] | None, typer.Option(help="A report: .html, .json, .svg or .png. Repeatable.")] = None,
    gold: Annotated[Path | None, typer.Option(help="Gold alignments, as test.align.jsonl: the error rate.")] = None,
    beam_size: BeamSize = None,
    length_penalty: Penalty = None,
    as_json: AsJson = False,
) -> None:
    """Look inside the translation of one sentence.

    Shows the search, attention, word alignment and what mattered, in 80 columns or
    in files (--output). The .html report works without a network and shows most.
    """
    from rich.console import Console

    from yiwen.bundle import open_bundle
    from yiwen.errors import ConfigError

    if (text is None) == (gold is None):
        raise ConfigError("give a sentence to look into, or gold alignments with --gold; one of the two")
    if gold is not None:
        from yiwen.analysis.gold import measure_alignment

        unused = {"target": target, "output": output, "beam_size": beam_size, "length_penalty": length_penalty}
        refuse(unused, "for a sentence, which --gold has none of; leave one of them out")
        with stoppable() as (stop, _):
            rate = measure_alignment(open_bundle(model), gold, stop=stop)
        print(json.dumps(dataclasses.asdict(rate)) if as_json else rate)
        return
    from yiwen.analysis.inspection import inspect_sentence
    from yiwen.analysis.report import require_report, write_report
    from yiwen.analysis.terminal import show

    assert text is not None
    if target is not None:
        refuse({"beam_size": beam_size, "length_penalty": length_penalty}, "for a search; --target has none")
    bundle = open_bundle(model)
    rules = {"beam_size": beam_size, "length_penalty": length_penalty, "n_best": 1, "mbr": 0, "sampling": False}
    search = bundle.info.search.changed(**rules)
    for path in output or ():  # all, before the first is written
        require_report(path)
    seen = inspect_sentence(bundle, text, target=target, search=search)
    for path in output or ():
        write_report(seen, path)
    if as_json:
        print(json.dumps(seen.to_json(), ensure_ascii=False))
    elif not output:
        show(seen, Console(width=80))
    else:
        print(f"wrote {', '.join(map(str, output))}")
