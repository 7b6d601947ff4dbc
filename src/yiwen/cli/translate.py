"""`yiwen translate`: text in, text out, line for line."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from yiwen.cli import options

if TYPE_CHECKING:
    from yiwen.translation import Translation


def translate(
    model: options.Model,
    input_file: options.InputFile = None,
    output_file: options.OutputFile = None,
    beam_size: options.BeamSize = None,
    length_penalty: options.Penalty = None,
    tgt_lang: options.TargetLanguage = "",
    glossary_file: options.GlossaryFile = None,
    by_sentence: Annotated[bool, typer.Option("--by-sentence", help="Translate the sentences one by one.")] = False,
    n_best: Annotated[int | None, typer.Option(help="Translations a line, as LINE, SCORE, TEXT with tabs.")] = None,
    sampling: Annotated[bool, typer.Option("--sampling", help="Draw translations at random.")] = False,
    temperature: Annotated[float | None, typer.Option(help="Sampling: below 1 more careful, above 1 bolder.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Sampling: only the k likeliest subwords; 0: all.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Sampling: the likeliest subwords of this probability.")] = None,
    seed: Annotated[int | None, typer.Option(help="Sampling: where random numbers start.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line, with flags and alternatives.")] = False,
    checks: options.Checks = True,
    strict: Annotated[bool, typer.Option("--strict", help="Name each line with a fault, then exit with 5.")] = False,
    mbr: options.Mbr = None,
    ensemble: options.Ensemble = None,
    engine: options.Engine = "auto",
    device: options.Device = "auto",
    dtype: options.DType = "auto",
    threads: options.Threads = 0,
) -> None:
    """Translate text line by line: a line in gives a line out.

    Search settings that are not given are those of the model's recipe.
    """
    from yiwen.bundle import EXPORTED
    from yiwen.cli.streams import counted, input_lines, output_stream, read_glossary, tell_flags, tell_note
    from yiwen.errors import ConfigError, FaultError
    from yiwen.evaluation.checks import FAULTS
    from yiwen.stop import stop_on_signals
    from yiwen.translator import Translator

    if strict and not checks:
        raise ConfigError("--strict asks for what the checks find; leave --no-checks out")
    glossary = None if glossary_file is None else read_glossary(glossary_file)
    needs_torch = sampling and engine == "auto"
    engine = "torch" if needs_torch else engine
    translator = Translator.load(
        model, engine=engine, device=device, dtype=dtype, threads=threads, ensemble=ensemble or (), tgt_lang=tgt_lang
    )
    is_passed_over = needs_torch and (translator.bundle.folder / EXPORTED).is_dir()
    tell_note("an exported engine cannot sample; using torch" if is_passed_over else translator.note)
    draws = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    search = translator.bundle.info.search.changed(
        beam_size=beam_size, length_penalty=length_penalty, n_best=n_best, mbr=mbr, sampling=sampling or None, **draws
    )
    if not search.sampling:
        options.refuse(draws, "for --sampling alone; add it, or leave this out")
    translate_lines = partial(translator.translate_lines, search=search, glossary=glossary, by_sentence=by_sentence)
    flags: Counter[str] = Counter()
    n_faulty = 0
    output_to = output_stream(output_file, read=(input_file, glossary_file or input_file))
    with stop_on_signals() as stop, input_lines(input_file, stop=stop) as lines, output_to as output:
        translations = translate_lines(lines, with_scores=search.n_best > 1 or as_json, checks=checks, stop=stop)
        for number, translation in enumerate(counted(translations, output), 1):
            flags.update(translation.flags)
            if strict and (faults := sorted(FAULTS.intersection(translation.flags))):
                n_faulty += 1
                print(f"line {number}: {', '.join(faults)}", file=sys.stderr)
            for row in _rows(number, translation, as_json=as_json, n_best=search.n_best):
                output.write(f"{row}\n".encode())
    tell_flags(flags)
    if n_faulty:
        remedy = "all are written and these are named above: look at them, or leave --strict out"
        raise FaultError(f"--strict: {n_faulty} of {number} translations have a fault; {remedy}")


def _rows(number: int, translation: Translation, *, as_json: bool, n_best: int) -> Iterator[str]:
    """What is written for a line: its text, its n-best with scores, or all there is to know of it."""
    if as_json:
        told = {name: getattr(translation, name) for name in ("text", "flags", "confidence", "score")}
        others = [{"text": other.text, "score": other.score} for other in translation.alternatives]
        yield json.dumps({"line": number, **told, "alternatives": others}, ensure_ascii=False)
    elif n_best == 1:
        yield translation.text
    else:
        for alternative in translation.alternatives or (translation,):
            yield f"{number}\t{alternative.score:.4f}\t{alternative.text}"
