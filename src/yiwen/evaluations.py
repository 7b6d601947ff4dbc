"""What a model is measured on and where results are kept: the run, prepared text and test sets of a bundle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

from yiwen.bundle import Bundle
from yiwen.config import parse, read_toml
from yiwen.data.lines import decoded, lines_of
from yiwen.errors import ConfigError, DataError
from yiwen.evaluation.metrics import EvaluationConfig
from yiwen.recipe import runs_root
from yiwen.text.normalise import normalise


class Test(NamedTuple):
    """Text to translate and what people made of it."""

    name: str
    sources: list[str]
    references: list[str]


def tests_of(bundle: Bundle, src: Path | None, ref: Path | None) -> list[Test]:
    """The text that a model is to be measured on: that given, or the test sets of its recipe.

    Raises:
        ConfigError: If only one of src and ref is given, or there is no recipe to take a test set from.
        DataError: If the text is missing, empty, no UTF-8, or the sides differ in length.
    """
    if (src is None) != (ref is None):
        raise ConfigError("give both --src and --ref, or neither for the test set of the model's recipe")
    if src is not None and ref is not None:
        sources, references = _read(src), [normalise(line) for line in _read(ref)]  # as models write
        if len(sources) != len(references) or not sources:
            sizes = f"{src} has {len(sources)} lines, {ref} has {len(references)}"
            raise DataError(f"{sizes}; give one reference a line, and at least one line")
        return [Test(src.name.removesuffix(f".{bundle.info.src_lang}"), sources, references)]
    from yiwen.data.store import Store

    folder = prepared_folder(bundle)
    if not folder.is_dir():
        remedy = "give --src and --ref, or set YIWEN_RUNS to the folder of its runs"
        raise ConfigError(f"{bundle.folder} was trained on data that is not prepared here ({folder}); {remedy}")
    store = Store.open(folder)
    tests = [Test(name, *pairs) for name, pairs in {"test": store.test, **store.more_tests}.items() if pairs.src]
    if not tests:
        raise ConfigError(f"the recipe of {bundle.folder} has no test set; give --src and --ref")
    return tests


def _read(path: Path) -> list[str]:
    return [normalize("NFC", line) for line in decoded(lines_of(path), path)]


def prepared_folder(bundle: Bundle) -> Path:
    """Where the text that a model was trained on lies, if it was prepared here: with all runs, or with the model's."""
    roots = (runs_root(), *bundle.folder.absolute().parents[:3], *bundle.folder.resolve().parents[:3])
    folders = [root / ".prepared" / bundle.info.data_fingerprint for root in roots]
    return next(filter(Path.is_dir, folders), folders[0])


def settings_of(model: Path) -> EvaluationConfig:
    """The evaluation settings of the run that a bundle belongs to; the default ones where there is none."""
    run = run_of(model)
    table = read_toml(run / "recipe.toml").get("evaluation", {}) if run is not None else {}
    return parse(EvaluationConfig, table, source=f"{run}/recipe.toml")


def run_of(bundle: Path) -> Path | None:
    """The run that a bundle belongs to, its best or one of many; None where there is no recipe above it."""
    above = (*bundle.parents[:2], *bundle.absolute().parents[:2], *bundle.resolve().parents[:2])
    files = ("recipe.toml", "hardware.json")  # a recipe alone may lie anywhere
    return next((folder for folder in above if all((folder / name).is_file() for name in files)), None)


def kept_at(bundle: Path, test: Test, *, is_given: bool, how: str, others: Sequence[str] = ()) -> Path | None:
    """Where the result of a run's model is kept; None for a model of no run.

    Args:
        bundle: The model.
        test: What it was measured on.
        is_given: It is no test set of the recipe.
        how: What was unusual, as part of the name.
        others: Models that translated together with it.
    """
    name = f"{bundle.absolute().name}-{'given-' if is_given else ''}{test.name[:40]}{how}"
    if is_given or others or len(test.name) > 40:  # others may go by the same name
        hashed = hashlib.sha256(json.dumps([test.sources, test.references, others]).encode())
        name += f"-{hashed.hexdigest()[:8]}"
    run = run_of(bundle)
    return None if run is None else run / "evaluations" / f"{name}.json"
