"""Exporting to CTranslate2: write, compare with the trained model, and only then publish."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ctranslate2
from rich.console import Console

import yiwen
from yiwen.bundle import CALIBRATION, CARD, EXPORTED, WEIGHTS, Bundle, load_model
from yiwen.data.store import Store, TextPairs
from yiwen.engines.ct2_engine import CT2Engine
from yiwen.engines.exported import COMPUTE_TYPES, ExportInfo, card_of, write_info
from yiwen.engines.torch_engine import TorchEngine
from yiwen.errors import ConfigError
from yiwen.export import verify
from yiwen.export.ct2_spec import write_model
from yiwen.export.shortlist import add_shortlist
from yiwen.files import may_write, new_folder, require_free
from yiwen.stop import StopFlag
from yiwen.text.subword import subword_paths


@dataclass(frozen=True, kw_only=True)
class ExportReport:
    """What was exported."""

    folder: Path
    """The bundle that holds it."""
    dtype: str
    n_bytes: int
    """Size of the exported model."""
    verification: dict[str, Any]
    """How it compares with the trained model."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`."""
        return {**asdict(self), "folder": str(self.folder)}


def export_ctranslate2(
    bundle: Bundle,
    *,
    dtype: str = "int8",
    valid: TextPairs | None,
    output: Path | None = None,
    shortlist: Store | None = None,
    stop: StopFlag | None = None,
) -> ExportReport:
    """Export a bundle's model and make sure that it translates as the trained one.

    Args:
        bundle: The trained model.
        dtype: Number type of the weights: a key of `COMPUTE_TYPES`.
        valid: Text to compare both on and to score with BLEU; None where there is none.
        output: A new bundle that holds the exported model instead of the weights; None: into the bundle itself.
        shortlist: The text that the model was trained on, to learn from it which target subwords a source subword
            may become (`export.shortlist`); None: all are scored.
        stop: Polled between steps.

    Raises:
        ConfigError: If dtype is unknown, or output exists or may not be written.
        ExportError: If the model cannot be expressed, or its export computes something else; nothing is left behind.
    """
    write = partial(_write_verified, bundle=bundle, dtype=dtype, valid=valid, shortlist=shortlist, stop=stop)
    return publish_export(bundle, write, output=output)


def check_export(bundle: Bundle, output: Path | None) -> None:
    """Make sure, before long work, that an export can be written.

    Raises:
        ConfigError: If output exists or may not be written, or there is none and the bundle may not be written.
    """
    if output is not None:
        require_free(output)
    elif not may_write(bundle.folder / EXPORTED):
        raise ConfigError(f"{bundle.folder} cannot be written; give a new folder by --output")


def publish_export(bundle: Bundle, write: Callable[[Path], ExportInfo], *, output: Path | None) -> ExportReport:
    """Let `write` fill the folder of an exported model, into the bundle or a copy of it without its weights.

    Raises:
        ConfigError: As in `check_export`.
    """
    check_export(bundle, output)
    with nullcontext(bundle.folder) if output is None else new_folder(output) as home:
        with new_folder(home / EXPORTED) as temporary:
            info = write(temporary)
        if output is not None:
            (home / CARD).write_bytes(card_of(bundle))
            for name in ("bundle.json", *{path.name for path in subword_paths(bundle.folder)}):
                shutil.copyfile(bundle.folder / name, home / name)
            if (bundle.folder / CALIBRATION).is_dir():
                shutil.copytree(bundle.folder / CALIBRATION, home / CALIBRATION)
            require_free(output)  # another export may have been quicker
    home = output or bundle.folder
    n_bytes = sum(file.stat().st_size for file in (home / EXPORTED).iterdir())
    return ExportReport(folder=home, dtype=info.dtype, n_bytes=n_bytes, verification=info.verification)


def new_info(bundle: Bundle, dtype: str) -> ExportInfo:
    """What an export of this bundle says of itself before it is compared with the trained model."""
    return ExportInfo(
        dtype=dtype,
        max_len=bundle.info.model.max_len,
        yiwen_version=yiwen.__version__,
        ctranslate2_version=ctranslate2.__version__,
        weights=bundle.hashes[WEIGHTS],
    )


def _write_verified(
    folder: Path, *, bundle: Bundle, dtype: str, valid: TextPairs | None, shortlist: Store | None, stop: StopFlag | None
) -> ExportInfo:
    """Write an exported model with its `export.json` after it was compared with the trained one."""
    source, target, model = bundle.source, bundle.target, load_model(bundle)
    info = new_info(bundle, dtype)
    test_set = verify.make_test_set(source, valid, limit=bundle.limit, reader=bundle.reader)
    write_model(folder, model, source=source, target=target, dtype=dtype, alignment=bundle.info.alignment)
    write_info(folder, info)
    report: dict[str, Any] = {}
    opened = partial(CT2Engine, threads=0, source=source, target=target, is_new=True)
    with TemporaryDirectory(dir=folder) as exact_folder:  # a killed one goes with the folder
        exact = Path(exact_folder)
        write_model(exact, model, source=source, target=target, dtype="float32", alignment=bundle.info.alignment)
        write_info(exact, replace(info, dtype="float32"))
        trained = TorchEngine(model)  # takes the model over: nothing is written from it afterwards
        report["float32"] = verify.compare_exactly(trained, opened(exact), test_set.sources, stop=stop)
    is_verified = report["is_verified"] = COMPUTE_TYPES[dtype] in ctranslate2.get_supported_compute_types("cpu")
    compare = partial(verify.compare_quality, trained, test_set=test_set, bundle=bundle, stop=stop)
    golden = None
    if is_verified:
        engine = opened(folder)
        if dtype != "float32":
            report[dtype] = compare(engine, remedy="with --dtype float32")
        golden = verify.choose_golden(engine, test_set.sources)
        del engine
    if shortlist is not None:
        add_shortlist(folder, shortlist)
        if is_verified:
            report["shortlist"] = compare(opened(folder), remedy="without --shortlist")
    info = replace(info, golden=golden, verification=report)
    write_info(folder, info)
    return info


def print_report(report: ExportReport, console: Console) -> None:
    """Show what was exported and how it compares."""
    exact, shortlist = report.verification["float32"], report.verification.get("shortlist")
    rounded = report.verification.get(report.dtype) if report.dtype != "float32" else None
    lines = [
        f"{report.folder / EXPORTED}: {report.dtype}, {report.n_bytes / 1e6:.1f} MB",
        f"  as float32: {exact['n_sentences']:,} sentences, {exact['n_tokens']:,} greedy tokens equal "
        f"({exact['n_ties']} ties), log-probabilities within {exact['largest_log_prob_difference']:.1g}",
    ]
    if not report.verification["is_verified"]:
        lines.append(f"  unverified: CTranslate2 cannot compute {report.dtype} on this machine's processor")
    for name, found in ((f"as {report.dtype}", rounded), ("with its shortlist", shortlist)):
        if found:
            lines += _quality_lines(name, found)
    console.print("\n".join(lines), soft_wrap=True, highlight=False, markup=False)


def _quality_lines(name: str, found: dict[str, Any]) -> list[str]:
    """How a model that is meant to differ a little compares."""
    equal = f"{found['agreement']:.1%} of {found['n_sentences']:,} translations equal"
    lines = [f"  {name}: {equal}, log-probabilities {found['mean_log_prob_difference']:.1g} apart on average"]
    if found["n_lines"]:
        bleu = f"BLEU {found['bleu_exported']:.2f}, trained {found['bleu_trained']:.2f}"
        lines.append(f"  {bleu}, on {found['n_lines']:,} lines")
    if not found["is_bleu_checked"]:
        lines.append(f"  note: the bound on BLEU was not checked, it needs {verify.BLEU_LINES:,} validation lines")
    return lines
