"""`yiwen evaluate`: scores of translations with signatures, of labels, tags and vectors with intervals."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from yiwen.cli import options


def evaluate(
    model: options.Model,
    src: Annotated[Path | None, typer.Option(help="Source text; the recipe's test set where not given.")] = None,
    ref: Annotated[Path | None, typer.Option(help="Its reference translation.")] = None,
    compare: Annotated[Path | None, typer.Option(help="Another model: is the difference more than chance?")] = None,
    beam_size: options.BeamSize = None,
    length_penalty: options.Penalty = None,
    lowercase: Annotated[bool, typer.Option("--lowercase", help="Ignore case.")] = False,
    output: Annotated[Path | None, typer.Option(help="JSON file; beside the run where not given.")] = None,
    report: Annotated[Path | None, typer.Option(help="HTML: scores, lengths, worst lines, flags, confidence.")] = None,
    as_json: options.AsJson = False,
    checks: options.Checks = True,
    mbr: options.Mbr = None,
    ensemble: options.Ensemble = None,
    engine: options.Engine = "auto",
    device: options.Device = "auto",
    dtype: options.DType = "auto",
    threads: options.Threads = 0,
) -> None:
    """Score a model on a test set, whatever its task is.

    For the tasks without a decoder --ref holds labels, tags or translations, a line each.
    Detokenised text is scored, with the tokeniser that the target language asks for.
    What is not given is taken from the recipe of the model.
    """
    from yiwen.bundle import open_bundle
    from yiwen.measure import measure, print_measurement

    bundle = open_bundle(model)
    how: dict[str, Any] = {"src": src, "ref": ref, "output": output, "engine": engine, "device": device, "dtype": dtype,
                           "threads": threads}  # fmt: skip
    if bundle.info.task != "translate":
        from yiwen.encoder.measuring import measure_encoder, print_encoder_measurement

        unused = {"compare": compare, "report": report, "lowercase": lowercase or None, "beam_size": beam_size,
                  "length_penalty": length_penalty, "mbr": mbr, "ensemble": ensemble or None,
                  "no_checks": None if checks else True}  # fmt: skip
        options.refuse(unused, f"for translations; {bundle.folder} has task={bundle.info.task!r}")
        with options.stoppable(stderr=as_json) as (stop, console):
            of_tests = measure_encoder(bundle.folder, stop=stop, **how)
        for each in of_tests:
            print_encoder_measurement(each, console)
        first, *more = [each.to_json() for each in of_tests]
        options.tell_json(first | ({"more_tests": more} if more else {}), wanted=as_json)
        return
    search = bundle.info.search.changed(beam_size=beam_size, length_penalty=length_penalty, mbr=mbr)
    measured = partial(measure, compare_with=compare, ensemble=ensemble or (), lowercase=lowercase, report=report)
    with options.stoppable(stderr=as_json) as (stop, console):
        tell = partial(print_measurement, console=console)
        measurement = measured(model, search=search, checks=checks, tell=tell, stop=stop, **how)
    tell(measurement)
    options.tell_json(measurement.to_json(), wanted=as_json)
