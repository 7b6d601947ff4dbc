"""What `benchmarks/translation.py` measures: the text, the model in its exported forms, and the rows of the table."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from yiwen import hardware
from yiwen.bundle import EXPORTED, Bundle, open_bundle
from yiwen.data.demo import write_demo
from yiwen.data.store import Store
from yiwen.export.ctranslate2 import export_ctranslate2
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe


@dataclass(frozen=True, kw_only=True)
class Row:
    """One engine of the table."""

    name: str
    engine: str
    folder: Path
    dtype: str = "auto"


@dataclass(frozen=True, kw_only=True)
class Text:
    """What is translated."""

    name: str
    src: Path
    ref: list[str] | None
    """None where scores would mean nothing."""


def test_text(options: argparse.Namespace, bundle: Bundle, folder: Path) -> Text:
    """The text to translate, as many lines of it as asked for."""
    root = Path(os.environ.get("YIWEN_DATA", "")) / "multi30k"
    languages = (bundle.info.src_lang, bundle.info.tgt_lang)
    if options.src is not None:
        name, src, ref = options.src.name, options.src, options.ref
    elif options.model is None:
        name, src, ref = "test set of the generated demo corpus", folder / "demo" / "test.en", None
    elif languages == ("en", "de") and root.is_dir():
        name, src, ref = "Multi30k test_2016_flickr", *(root / f"test_2016_flickr.{x}" for x in languages)
    else:
        raise SystemExit("no text for this model: set YIWEN_DATA for Multi30k en-de, or give --src and --ref")
    cut = folder / "text.src"
    cut.write_text("".join(f"{line}\n" for line in lines_of(src)[: options.lines]), encoding="utf-8")
    return Text(name=name, src=cut, ref=None if ref is None else lines_of(ref)[: options.lines])


def lines_of(path: Path) -> list[str]:
    """Lines of a text."""
    return path.read_text(encoding="utf-8").rstrip("\n").split("\n")


def demo_model(folder: Path, *, steps: int) -> Path:
    """A small model that learnt the demo corpus for some seconds: enough to end its sentences."""
    write_demo(folder / "demo", n_train=4_000, n_valid=50, n_test=1_000)
    os.environ |= {"YIWEN_DEMO": str(folder / "demo"), "YIWEN_RUNS": str(folder / "runs")}
    settings = [f"training.max_steps={steps}", f"training.validate_every={steps}", f"training.checkpoint_every={steps}"]
    run, _ = train_recipe(load_recipe("demo-en-zh", [*settings, "training.batch_tokens=1000"]))
    return run


def exported(bundle: Bundle, dtype: str, folder: Path, *, shortlist: Store | None = None) -> Path:
    """A copy of a bundle with its export in a number type."""
    shutil.copytree(bundle.folder.resolve(), folder, ignore=shutil.ignore_patterns(EXPORTED))
    export_ctranslate2(open_bundle(folder), dtype=dtype, valid=None, shortlist=shortlist)
    return folder


def prepared_text(bundle: Bundle) -> Store | None:
    """The text that a model of a run was trained on, where it still lies prepared beside the run."""
    for runs in (bundle.folder.absolute().parents[1], *bundle.folder.resolve().parents[1:3]):
        if (folder := runs / ".prepared" / bundle.info.data_fingerprint).is_dir():
            return Store.open(folder)
    return None


def rows_of(bundle: Bundle, student: Bundle | None, folder: Path) -> tuple[list[Row], list[str]]:
    """Export what is to be measured; gives the rows and why some are missing."""
    skipped = []
    kinds: list[tuple[str, str, Store | None]] = [("float32", "float32", None), ("int8", "int8", None)]
    if (store := prepared_text(bundle)) is not None:
        kinds.append(("int8 + shortlist", "int8", store))
    else:
        skipped.append("int8 + shortlist: the text that the model was trained on is not prepared beside its run")
    rows = [
        Row(
            name=f"CTranslate2 {name}", engine="ctranslate2", folder=exported(bundle, dtype, folder / name, shortlist=s)
        )
        for name, dtype, s in kinds
    ]
    if student is not None:
        path = exported(student, "int8", folder / "student")
        rows.append(Row(name="student, CTranslate2 int8", engine="ctranslate2", folder=path))
    else:
        skipped.append("student: give one by --student")
    torch_rows = [Row(name=f"torch {x}", engine="torch", folder=bundle.folder, dtype=x) for x in ("float32", "bf16")]
    if not hardware.has_native_bf16():
        skipped.append(f"{torch_rows.pop().name}: this processor has no bf16")
    if importlib.util.find_spec("transformers") is not None:
        name = f"Hugging Face {metadata.version('transformers')} `generate`"
        rows.append(Row(name=name, engine="huggingface", folder=bundle.folder))
    else:
        skipped.append("Hugging Face Marian `generate`: transformers is not installed")
    return torch_rows + rows, skipped
