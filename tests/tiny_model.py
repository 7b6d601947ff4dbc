"""A tiny model that every test may read: what it is made of. `conftest.tiny_run` trains it."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from yiwen.files import MANIFEST, new_folder, sha256, write_json

MAX_TOKENS = 24
"""Longest side the tiny model was trained on, eos counted: what is longer is translated in pieces."""


@dataclass(frozen=True)
class TinyRun:
    """A run of a tiny model that has learnt to translate a made-up language word by word. Read it, never write it."""

    runs: Path
    """The folder of all runs: what YIWEN_RUNS has to be."""
    recipe: Path
    """Its recipe; corpus files lie beside it."""
    folder: Path
    """The run."""

    @property
    def best(self) -> Path:
        """The best model."""
        return self.folder / "best"

    @property
    def early(self) -> Path:
        """Another model of the run: after a third of the training."""
        return self.runs / "early"


def write_tiny_recipe(folder: Path) -> Path:
    """Write a corpus of a made-up pair of languages, word by word the same, and a recipe for it."""
    rng = random.Random(1)
    syllables = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
    src_words, tgt_words = (["".join(rng.sample(syllables, 2)) for _ in range(20)] for _ in range(2))
    for part, n in (("train", 1500), ("valid", 30), ("test", 40)):
        sentences = [[rng.randrange(20) for _ in range(rng.randint(2, 5))] for _ in range(n)]
        for language, words in (("en", src_words), ("de", tgt_words)):
            lines = (" ".join(words[i] for i in sentence).capitalize() + ".\n" for sentence in sentences)
            (folder / f"{part}.{language}").write_text("".join(lines), encoding="utf-8")
    recipe = folder / "tiny.toml"
    recipe.write_text(
        f"""
[data]
src_lang = "en"
tgt_lang = "de"
corpora = [{{ src = "train.en", tgt = "train.de" }}]
valid = {{ src = "valid.en", tgt = "valid.de" }}
test = {{ src = "test.en", tgt = "test.de" }}
max_tokens = {MAX_TOKENS}
[tokenizer]
vocab_size = 340
[model]
d_model = 32
n_heads = 2
d_ff = 64
n_encoder_layers = 1
n_decoder_layers = 1
norm_order = "pre"
dropout = 0.0
max_len = 96
[training]
batch_tokens = 512
learning_rate = 0.01
warmup_steps = 20
max_steps = 180
validate_every = 60
checkpoint_every = 60
precision = "float32"
threads = 1
ema_decay = 0.9
""",
        encoding="utf-8",
    )
    return recipe


def own_run(tiny: TinyRun, folder: Path) -> Path:
    """A run that may be written: the best model and what says that its folder is a run."""
    shutil.copytree(tiny.best, folder / "best")
    for name in ("recipe.toml", "hardware.json"):
        shutil.copyfile(tiny.folder / name, folder / name)
    return folder


def exported(bundle: Path, folder: Path, *, dtype: str = "float32", has_weights: bool = True) -> Path:
    """A copy of a bundle with an exported engine in it, unverified, with or without the weights it was made from."""
    from yiwen.bundle import load_model, open_bundle
    from yiwen.engines.exported import ExportInfo, write_info
    from yiwen.export.ct2_spec import write_model

    shutil.copytree(bundle, folder)
    opened = open_bundle(folder)
    with new_folder(folder / "ctranslate2") as inside:
        write_model(inside, load_model(opened), source=opened.source, target=opened.target, dtype=dtype, alignment=None)
        max_len, weights = opened.info.model.max_len, sha256(folder / "model.safetensors")
        info = ExportInfo(dtype=dtype, max_len=max_len, yiwen_version="0", ctranslate2_version="0", weights=weights)
        write_info(inside, info)
    if not has_weights:
        (folder / "model.safetensors").unlink()
    return folder


def tampered(bundle: Path, folder: Path, **changes: object) -> Path:
    """A copy of a bundle whose `bundle.json` has other values and whose manifest agrees with that.

    A value of None removes the key.
    """
    shutil.copytree(bundle, folder)
    table = json.loads((folder / "bundle.json").read_text(encoding="utf-8"))
    table = {key: value for key, value in {**table, **changes}.items() if value is not None}
    write_json(folder / "bundle.json", table)
    return signed(folder)


def signed(folder: Path) -> Path:
    """Write the manifest of a folder anew, as if its files had always been as they are."""
    (folder / MANIFEST).unlink()
    write_json(folder / MANIFEST, {path.name: sha256(path) for path in folder.iterdir()})
    return folder
