"""Exporting an encoder to CTranslate2: write, compare with the trained one, and only then publish."""

from __future__ import annotations

import dataclasses
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
from ctranslate2 import get_supported_compute_types
from rich.console import Console

from yiwen.bundle import Bundle
from yiwen.data.store import TextPairs
from yiwen.encoder.facade import Encoder
from yiwen.engines.ct2_encoder import HEAD, CT2Encoder
from yiwen.engines.encoders import TorchEncoder, load_encoder
from yiwen.engines.engine import Sentences
from yiwen.engines.exported import COMPUTE_TYPES, ExportInfo, write_info
from yiwen.errors import ExportError
from yiwen.export.ct2_spec import write_encoder
from yiwen.export.ctranslate2 import ExportReport, new_info, publish_export
from yiwen.export.verify import make_test_set
from yiwen.stop import StopFlag, poll

Figures = dict[str, Any]
"""What a comparison found, as `export.json` keeps it."""
TOLERANCE: Final = 1e-4
"""Greatest difference of a state in float32: it shows that every weight is in its place."""
LEAST_COSINE: Final = 0.99
"""Between a text's vector and its rounded one."""
ACCURACY_LOSS, FEWEST_TEXTS = 0.3, 1000
"""Points that rounding may cost a classifier, where there are enough texts to see them."""


def export_encoder(
    bundle: Bundle, *, dtype: str, valid: TextPairs | None, output: Path | None = None, stop: StopFlag | None = None
) -> ExportReport:
    """Export the encoder of a bundle that has no decoder.

    Args:
        bundle: The trained model.
        dtype: Number type of the weights: a key of `COMPUTE_TYPES`.
        valid: Text to compare both on; None where there is none.
        output: A new bundle that holds the exported model instead of the weights; None: into the bundle itself.
        stop: Polled between batches.

    Raises:
        ConfigError: If dtype is unknown, or output exists or may not be written.
        ExportError: If the model cannot be expressed, or its export computes something else; nothing is left behind.
    """

    def write(folder: Path) -> ExportInfo:
        model, info = load_encoder(bundle), new_info(bundle, dtype)
        sources = make_test_set(bundle.source, valid, limit=bundle.limit).sources
        trained = TorchEncoder(load_encoder(bundle))  # one of its own: what writing does to a model must show

        def write_as(number_type: str, place: Path) -> None:
            write_encoder(place, model.body, subword=bundle.source, dtype=number_type)
            np.savez(place / HEAD, **trained.head)  # type: ignore[arg-type]
            write_info(place, dataclasses.replace(info, dtype=number_type))

        n_layers = bundle.info.model.n_encoder_layers
        exported = partial(CT2Encoder, subword=bundle.source, n_layers=n_layers, threads=0, is_new=True)
        report: Figures = {}
        with TemporaryDirectory(dir=folder) as exact:  # a killed one goes with the folder
            write_as("float32", Path(exact))
            report["float32"] = _compare_exactly(trained, exported(Path(exact)), sources, stop)
        write_as(dtype, folder)
        report["is_verified"] = COMPUTE_TYPES[dtype] in get_supported_compute_types("cpu")
        if report["is_verified"] and dtype != "float32":
            report[dtype] = _compare_rounded(Encoder(bundle, trained), Encoder(bundle, exported(folder)), valid, stop)
        info = dataclasses.replace(info, verification=report)
        write_info(folder, info)
        return info

    return publish_export(bundle, write, output=output)


def _compare_exactly(trained: TorchEncoder, exported: CT2Encoder, sources: Sentences, stop: StopFlag | None) -> Figures:
    n_layers, largest = trained.body.config.n_encoder_layers, 0.0
    for ids in sources:
        poll(stop, "the comparison")
        ours, theirs = (engine.states([ids], layer=n_layers) for engine in (trained, exported))
        difference = float(np.abs(ours - theirs).max())
        if not difference <= TOLERANCE:  # also where it is no number
            what = f"a state differs by {difference:.2g} (a text of {len(ids)} subwords). Nothing was written"
            remedy = "use the torch engine, and please report the recipe's [model] table"
            raise ExportError(f"the exported encoder does not compute what the trained one does: {what}; {remedy}")
        largest = max(largest, difference)
    return {"n_texts": len(sources), "largest_state_difference": largest}


def _compare_rounded(trained: Encoder, exported: Encoder, valid: TextPairs | None, stop: StopFlag | None) -> Figures:
    """Compare as users will use it, on validation text.

    Raises:
        ExportError: If vectors or labels change by more than rounding may cost.
    """
    texts, gold = valid.normalised(trained.bundle.info.src_lang) if valid else (["yiwen"], [])
    ours, theirs = (encoder.features(texts, normalised=True, stop=stop) for encoder in (trained, exported))
    result: Figures = {"n_texts": len(texts), "smallest_cosine": float((ours * theirs).sum(axis=1).min())}
    problem = "" if result["smallest_cosine"] >= LEAST_COSINE else f"a cosine is {result['smallest_cosine']:.3f}"
    if trained.bundle.info.task == "classify" and valid:
        before, after = ([str(p) for p in encoder.classify(texts, stop=stop)] for encoder in (trained, exported))
        right = [100 * float(np.mean(np.array(labels) == np.array(gold))) for labels in (before, after)]
        result["agreement"] = float(np.mean(np.array(before) == np.array(after)))
        result |= {"accuracy_trained": right[0], "accuracy_exported": right[1]}
        if len(texts) >= FEWEST_TEXTS:  # what counts are the labels
            is_worse = right[0] - right[1] > ACCURACY_LOSS
            problem = f"accuracy falls from {right[0]:.2f} to {right[1]:.2f}" if is_worse else ""
    if problem:
        raise ExportError(f"rounding changes too much: {problem}; nothing was written, export with --dtype float32")
    return result


def print_encoder_report(report: ExportReport, console: Console) -> None:
    """Show what was exported and how it compares."""
    exact = report.verification["float32"]
    lines = [f"{report.folder}: {report.dtype}, {report.n_bytes / 1e6:.1f} MB"]
    lines.append(f"  as float32: {exact['n_texts']:,} texts, states within {exact['largest_state_difference']:.1g}")
    rounded = report.verification.get(report.dtype, {}) if report.dtype != "float32" else {}
    lines += [f"  as {report.dtype}: {name.replace('_', ' ')} {value:.6g}" for name, value in rounded.items()]
    if not report.verification["is_verified"]:
        lines.append(f"  unverified: CTranslate2 cannot compute {report.dtype} on this machine's processor")
    console.print("\n".join(lines), soft_wrap=True, highlight=False, markup=False)
