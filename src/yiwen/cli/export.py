"""`yiwen export`: a trained model as a fast engine, verified to translate as the model does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from yiwen.cli.options import AsJson, Model, stoppable, tell_json

DType = Literal["int8", "int8_float32", "float32", "float16", "bf16"]


def export(
    model: Model,
    to: Annotated[Literal["ctranslate2"], typer.Option(help="What to export to.")] = "ctranslate2",
    dtype: Annotated[DType, typer.Option(help="Number type of the weights.")] = "int8",
    output: Annotated[Path | None, typer.Option(help="A new folder without the weights; else into MODEL.")] = None,
    shortlist: Annotated[bool, typer.Option("--shortlist", help="Score only what training made likely.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a model fast: export it to CTranslate2.

    Every weight is compared in float32. A rounded translator may lose 0.3 BLEU,
    checked where there are 1,000 validation pairs. `yiwen translate` then uses it.
    """
    from yiwen.bundle import find_bundle, open_bundle
    from yiwen.data.store import Store
    from yiwen.encoder.exporting import export_encoder, print_encoder_report
    from yiwen.errors import ConfigError
    from yiwen.evaluations import prepared_folder
    from yiwen.export.ctranslate2 import check_export, export_ctranslate2, print_report
    from yiwen.measure import calibrate_once
    from yiwen.translator import Translator

    folder = find_bundle(model)
    bundle = open_bundle(folder.resolve())  # training may mean another model by the link soon
    check_export(bundle, output)
    if shortlist and bundle.info.task != "translate":
        raise ConfigError(f"--shortlist: for translations; {folder} has task={bundle.info.task!r}")
    prepared = prepared_folder(bundle)
    store = Store.open(prepared) if prepared.is_dir() else None
    if shortlist and store is None:
        text = f"the text that {bundle.folder} was trained on, which is not prepared here ({prepared})"
        raise ConfigError(f"--shortlist learns from {text}; run `yiwen prepare` with its recipe, or leave it out")
    valid = store.valid if store else None
    with stoppable(stderr=as_json) as (stop, console):
        if bundle.info.task == "translate":
            # Before there is an export: one that a stop leaves uncalibrated would stay so, and be in its own way.
            calibrate_once(Translator.load(bundle.folder, engine="torch"), stop=stop)
            report = export_ctranslate2(
                bundle, dtype=dtype, valid=valid, output=output, shortlist=store if shortlist else None, stop=stop
            )
            if output is None or report.verification["is_verified"]:  # else nothing here computes with what it holds
                calibrate_once(Translator.load(report.folder), stop=stop)
            print_report(report, console)
        else:
            report = export_encoder(bundle, dtype=dtype, valid=valid, output=output, stop=stop)
            print_encoder_report(report, console)
    tell_json(report.to_json(), wanted=as_json)
