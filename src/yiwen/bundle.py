"""A model folder: everything that translation needs, verified when it is loaded.

    bundle.json         format version, languages, model config, limits, training data fingerprint, scores
    model.safetensors   the weights, float32, tied ones once
    shared.spm          or source.spm and target.spm: the subword models, raw text in and out
    README.md           a model card
    manifest.json       SHA-256 of each file
    ctranslate2/        optional: the same model for another engine, with a manifest of its own
    calibration/        optional: what is usual for the model, for checks and confidence, with a manifest of its own

A bundle made for machines without torch has `ctranslate2/` and no `model.safetensors`. Nothing in it can run code.
This module imports torch only where weights are read or written.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import yiwen
from yiwen.config import read_stored
from yiwen.errors import CheckpointError, ConfigError, DataError, expect, needing
from yiwen.files import new_folder, verify_manifest, write_json
from yiwen.model.config import AlignmentHead, ModelConfig
from yiwen.search.config import SearchConfig
from yiwen.tasks.config import COMMANDS, Pooling, Task
from yiwen.text.languages import base, canonical
from yiwen.text.reading import Reader
from yiwen.text.subword import Subword, subword_paths

if TYPE_CHECKING:
    from torch import Tensor

    from yiwen.model.transformer import Transformer

WEIGHTS: Final = "model.safetensors"
CARD: Final = "README.md"
"""The model card: for people, who may edit it, so that it is not verified."""
_CARD: Final = Path(__file__).with_suffix(".template").read_text(encoding="utf-8")
EXPORTED: Final = "ctranslate2"
"""Folder of the exported model inside a bundle."""
CALIBRATION: Final = "calibration"
"""Folder inside a bundle that says what is usual for the model (`evaluation.calibration`)."""


@dataclass(frozen=True, kw_only=True)
class BundleInfo:
    """What `bundle.json` says."""

    format_version: int = 1
    """Layout of the folder; another one than this program knows is refused."""
    yiwen_version: str = yiwen.__version__
    """Version that wrote the bundle."""
    task: Task = "translate"
    """What the model has learnt."""
    labels: tuple[str, ...] = ()
    """Labels or tags in the order of the model's scores."""
    pooling: Pooling = "mean"
    """How an encoder's states become one vector."""
    src_lang: str
    """Source language, BCP 47."""
    tgt_lang: str
    """Target language, BCP 47; empty for a task with one language."""
    model: ModelConfig
    """Shape of the model."""
    src_vocab_size: int
    """Source subwords."""
    tgt_vocab_size: int
    """Target subwords."""
    normaliser: Literal["nfc-1"] = "nfc-1"
    """Rules that text passed before it was cut into subwords: those of `text.normalise`, version 1."""
    max_src_tokens: int
    """Longest source in subwords the model was trained on; longer text is translated in pieces."""
    data_fingerprint: str
    """Fingerprint of the prepared training data."""
    step: int
    """Updates the weights have seen."""
    weights: str = "last"
    """Which weights these are: `last`, `ema` or `average of N checkpoints`."""
    search: SearchConfig = field(default_factory=SearchConfig)
    """How translations are looked for unless the user says otherwise: the recipe's search settings."""
    scores: dict[str, float] = field(default_factory=dict)
    """Validation scores at this step, by name."""
    alignment: AlignmentHead | None = None
    """The head that tells word alignments; None where nobody looked for it."""


@dataclass(frozen=True, eq=False)
class Bundle:
    """An opened bundle. Its weights are still on disk: `load_model` reads them."""

    folder: Path
    hashes: Mapping[str, str]
    """Its manifest: a link, or the folder itself, may mean another model when the weights are read."""
    info: BundleInfo
    source: Subword
    target: Subword

    @property
    def room(self) -> int:
        """Subwords, without eos, that the model has positions for on either side."""
        return self.info.model.max_len - 1

    @property
    def limit(self) -> int:
        """Subwords, without eos, of the longest text that is read in one piece: as long as it has seen in training."""
        return max(1, min(self.info.max_src_tokens - 1, self.room))

    @property
    def reader(self) -> Reader:
        """How a translator reads text, with symbols if it has learnt any, and how its answers are written."""
        src_lang, tgt_lang, source = self.info.src_lang, self.info.tgt_lang, self.source
        n = min(source.n_placeholders, self.target.n_placeholders)
        return Reader(src_lang=src_lang, model_lang=tgt_lang, tgt_lang=tgt_lang, subword=source, n_symbols=n)


def check_room(room: int, *, first_line: int = 1, **sides: Sequence[Sequence[int]]) -> None:
    """Make sure that sentences of subwords fit into a model whole, which has positions for so many.

    Raises:
        DataError: If one does not; it is named by its side and its line, counted from first_line.
    """
    for side, sentences in sides.items():
        for line, n_ids in enumerate(map(len, sentences), first_line):
            if n_ids > room:
                raise DataError(f"{side} {line} has {n_ids} subwords, the model has positions for {room}; shorten it")


def save_bundle(folder: Path, *, info: BundleInfo, weights: Mapping[str, Tensor], models: tuple[Path, Path]) -> None:
    """Write a bundle, whole or not at all.

    Args:
        folder: Where; replaced if it exists.
        info: What to write into `bundle.json`.
        weights: Parameters by name, each once.
        models: SentencePiece models of source and target; the same path where one is shared.
    """
    with new_folder(folder) as temporary:
        write_json(temporary / "bundle.json", asdict(info))
        save_tensors(weights, temporary / WEIGHTS)
        names = ("shared.spm",) if models[0] == models[1] else ("source.spm", "target.spm")
        for name, model in zip(names, models, strict=False):
            shutil.copyfile(model, temporary / name)
        (temporary / CARD).write_text(model_card(info), encoding="utf-8")


def find_bundle(folder: str | Path) -> Path:
    """The bundle that is meant by a folder: itself, or the best model of a run.

    Raises:
        CheckpointError: If there is no such folder, or the run has no best model yet.
    """
    folder = Path(expect(folder, str | os.PathLike, "folder", "the path of a bundle or a run"))
    if not folder.is_dir():
        raise CheckpointError(f"{folder} is not a folder; give a bundle, for example runs/NAME/best")
    if (folder / "bundle.json").exists() or not (folder / "recipe.toml").is_file():
        return folder
    if not (folder / "best").is_dir():
        raise CheckpointError(f"{folder} is a run before its first validation; go on by `yiwen train RECIPE --resume`")
    return folder / "best"


def open_bundle(folder: str | Path) -> Bundle:
    """Open a bundle, or the best one of a run, and verify every file that is read here.

    The weights are verified by who reads them (`load_model`, an exported engine): hashing them takes as long as
    everything else.

    Raises:
        CheckpointError: If it is missing, damaged, of a newer format, or its parts do not fit together.
    """
    folder = find_bundle(folder)
    hashes = verify_manifest(folder, leave_out=(WEIGHTS, CARD))
    info = read_stored(BundleInfo, folder / "bundle.json", remedy="give the folder of another bundle")
    source_path, target_path = subword_paths(folder)
    source = Subword.load(source_path)
    target = source if source_path == target_path else Subword.load(target_path)
    for name, subword, expected in (("src", source, info.src_vocab_size), ("tgt", target, info.tgt_vocab_size)):
        if subword.vocab_size != expected:
            sizes = f"the {name} subword model has {subword.vocab_size} entries, bundle.json says {expected}"
            raise CheckpointError(f"{folder}: {sizes}; the files belong to different models")
    return Bundle(folder=folder, hashes=hashes, info=info, source=source, target=target)


def load_model(bundle: Bundle) -> Transformer:
    """Build the translation model and fill in the bundle's weights.

    Raises:
        CheckpointError: If it is no translator, the weights are not there or have changed, or one is missing, left
            over or of another shape; all are named.
        MissingDependencyError: If torch is not installed.
    """
    require_translator(expect(bundle, Bundle, "bundle", "what yiwen.bundle.open_bundle returns"))
    path, info = weights_path(bundle), bundle.info
    with needing("a model needs torch", extra="train"):
        import torch

        from yiwen.model.transformer import Transformer

    with torch.random.fork_rng(devices=[]):  # the first values drawn are overwritten; the caller's state stays
        model = Transformer(info.model, src_vocab_size=info.src_vocab_size, tgt_vocab_size=info.tgt_vocab_size)
    load_weights(dict(model.float().named_parameters()), path)  # float32 where torch makes other numbers, too
    return model.eval()


def require_language(bundle: Bundle, tgt_lang: str) -> None:
    """Make sure that a bundle writes a language.

    Raises:
        ConfigError: If it writes another one, or the language is no text.
    """
    wanted, own = expect(tgt_lang, str, "tgt_lang", "a code such as 'zh-Hant'"), bundle.info.tgt_lang
    if canonical(wanted) != canonical(own) and {base(wanted), base(own)} != {"zh"}:
        remedy = "leave the language out, or use another model (only Simplified and Traditional Chinese are converted)"
        raise ConfigError(f"{bundle.folder} translates into {own}, not into {wanted}; {remedy}")


def require_translator(bundle: Bundle) -> None:
    """Make sure that a bundle translates.

    Raises:
        CheckpointError: If it has learnt something else.
    """
    if (task := bundle.info.task) != "translate":
        raise CheckpointError(f"{bundle.folder} has task={task!r} and is no translator; use `yiwen {COMMANDS[task]}`")


def weights_path(bundle: Bundle) -> Path:
    """The file of a bundle's weights, verified.

    Raises:
        CheckpointError: If it is not there or has changed, or belongs to another model by now.
    """
    path = bundle.folder / WEIGHTS
    if WEIGHTS not in bundle.hashes or (not path.is_file() and (bundle.folder / EXPORTED).is_dir()):
        why = "it was exported for machines without torch"
        remedy = "use the bundle that it was exported from or, where that can do it, engine='ctranslate2'"
        raise CheckpointError(f"{bundle.folder} holds no {WEIGHTS}: {why}; {remedy}")
    if verify_manifest(bundle.folder, leave_out=(CARD,)) != bundle.hashes:
        raise CheckpointError(f"{bundle.folder} holds another model than when it was opened; load it again")
    return path


def save_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write tensors as a safetensors file, to be read by whoever may read its folder.

    Raises:
        OSError: If the disk is full or fails; safetensors has an error of its own for that, which nobody expects.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as error:
        if not (found := re.search(r"os error (\d+)", str(error))):
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1])), str(path)) from error
    path.chmod(path.parent.stat().st_mode & 0o666)  # it is born readable by its owner alone, whatever the umask


def load_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file.

    Raises:
        CheckpointError: If it cannot be read.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{path} cannot be read ({error}); restore it from a copy") from error


def load_weights(parameters: Mapping[str, Tensor], path: Path, *, has_more: bool = False) -> None:
    """Copy tensors of a safetensors file into parameters of the same names, in place; it may hold more if so said.

    Raises:
        CheckpointError: If the file cannot be read, or names or shapes differ.
    """
    weights = load_tensors(path)
    problems = [f"{name} is missing" for name in parameters.keys() - weights.keys()]
    if not has_more:
        problems += [f"{name} is not part of the model" for name in weights.keys() - parameters.keys()]
    shapes = [(name, weights[name].shape, parameter.shape) for name, parameter in parameters.items() if name in weights]
    problems += [f"{name} has shape {tuple(a)}, the model {tuple(b)}" for name, a, b in shapes if a != b]
    if problems:
        raise CheckpointError(f"{path} does not fit the model: {'; '.join(sorted(problems))}")
    for name, parameter in parameters.items():
        parameter.detach().copy_(weights[name])


def model_card(info: BundleInfo) -> str:
    """A short README for whoever is handed the folder."""
    rows = "\n".join(f"| {name} | {value:.4g} |" for name, value in info.scores.items())
    evaluate = f"    yiwen evaluate THIS_FOLDER --src test.{info.src_lang} --ref test.{info.tgt_lang or 'labels'}"
    if info.task == "translate":
        tag, title, suffix = "translation", f"{info.src_lang} -> {info.tgt_lang}", info.tgt_lang
        layers = f"{info.model.n_encoder_layers} + {info.model.n_decoder_layers}"
        subwords = f"{info.src_vocab_size} source and {info.tgt_vocab_size} target"
    else:
        tag, title, suffix = info.task, f"{info.task}: {info.src_lang} {info.tgt_lang}".rstrip(), "txt"
        layers, subwords = f"{info.model.n_encoder_layers} encoder", str(info.src_vocab_size)
    return _CARD.format(
        info=info,
        languages=json.dumps([lang for lang in (info.src_lang, info.tgt_lang) if lang]),
        tag=tag,
        title=title,
        layers=layers,
        subwords=subwords,
        labels=f"{len(info.labels)} labels: {', '.join(info.labels[:20])}" if info.labels else "",
        scores=f"\n| validation | value |\n|---|---|\n{rows}\n" if rows else "",
        command=COMMANDS[info.task],
        suffix=suffix,
        evaluate=evaluate if info.task != "mlm" else "",
    )
