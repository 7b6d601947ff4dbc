"""A recipe: one TOML file that says everything about a run, from the corpus to the score."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from yiwen.config import Table, check_bounds, override, parse, read_toml
from yiwen.data.config import DataConfig
from yiwen.errors import ConfigError, expect
from yiwen.evaluation.metrics import EvaluationConfig
from yiwen.model.config import PRESETS, ModelConfig
from yiwen.search.config import SearchConfig
from yiwen.tasks.config import METRICS, TARGETS, EncoderConfig, Task
from yiwen.text.subword import TokenizerConfig
from yiwen.training.config import TrainingConfig

_RECIPES: Final = Path(__file__).with_name("recipes")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The whole of a run; each part is the config of the code that uses it."""

    task: Task = "translate"
    """What the model learns: to translate; to label texts or words (classify, tag); to guess hidden words (mlm), which
    the other tasks can start from; to give texts that mean the same like vectors (embed)."""
    data: DataConfig
    """Which text, and how it is cleaned and split."""
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    """How text is cut into subwords."""
    model: ModelConfig = field(default_factory=ModelConfig)
    """Shape of the model."""
    training: TrainingConfig = field(default_factory=TrainingConfig)
    """How long and how to train."""
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    """What an encoder without a decoder learns: for the tasks other than translate."""
    search: SearchConfig = field(default_factory=SearchConfig)
    """How translations are searched for when the trained model is measured or used."""
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    """How it is scored."""

    def __post_init__(self) -> None:
        check_bounds("", self)
        _check_task(self)
        if self.model.tied_embeddings == "all" and not self.tokenizer.shared:
            remedy = "use tied_embeddings='target' or tokenizer.shared=true"
            raise ConfigError(f"model.tied_embeddings='all' needs one vocabulary, but tokenizer.shared=false; {remedy}")
        if self.data.max_tokens > self.model.max_len:
            both = f"data.max_tokens={self.data.max_tokens} is more than model.max_len={self.model.max_len}"
            raise ConfigError(f"{both}; raise model.max_len or lower data.max_tokens")


def _check_task(recipe: Recipe) -> None:
    """Make sure that text, languages and metric are what the task needs.

    Raises:
        ConfigError: With what is missing.
    """
    task, data = recipe.task, recipe.data
    if recipe.training.metric not in METRICS[task]:
        remedy = f"use {' or '.join(METRICS[task])}"
        raise ConfigError(f"training.metric={recipe.training.metric!r} is not a score of task={task!r}; {remedy}")
    if TARGETS[task] in ("text", "read") and not data.tgt_lang:
        raise ConfigError(f"data.tgt_lang is missing; task={task!r} needs both languages")
    corpora = (*data.corpora, data.valid, data.test, *data.more_tests)
    alone = [corpus.src for corpus in corpora if corpus and corpus.src and not corpus.tgt]
    if TARGETS[task] != "none" and alone:
        raise ConfigError(f"task={task!r} needs a tgt beside each src, {alone[0]!r} has none")
    if task != "translate":
        if recipe.training.batch_tokens == "auto":
            raise ConfigError(f"training.batch_tokens='auto' is for translation; give task={task!r} a number, as 4096")
        for name in ("rdrop", "word_dropout", "guided_alignment"):
            if getattr(recipe.training, name):
                raise ConfigError(f"training.{name} is for task='translate' alone; leave it out, or 0")
    elif recipe.encoder != EncoderConfig():
        raise ConfigError("[encoder] is for tasks without a decoder, task='translate' reads none of it; leave it out")
    if recipe.training.attention == "packed" and (found := against_packing(recipe)):
        raise ConfigError(f"training.attention='packed' cannot go with {' or '.join(found)}; use 'auto' or 'fused'")
    learns_head = task in ("classify", "tag") or (task == "embed" and recipe.encoder.pooling == "attention")
    if recipe.encoder.is_frozen and not learns_head:
        raise ConfigError(f"encoder.is_frozen=true leaves task={task!r} nothing to learn; leave it out")
    if task in ("tag", "mlm") and recipe.encoder.pooling == "attention":
        raise ConfigError(f"encoder.pooling='attention' learns by pooling, which task={task!r} does not; use 'mean'")
    if recipe.encoder.is_frozen and not recipe.training.init_from:
        raise ConfigError("encoder.is_frozen=true keeps random weights; name a model in training.init_from as well")
    if recipe.training.word_dropout and recipe.training.guided_alignment:
        raise ConfigError("training.word_dropout hides words that training.guided_alignment looks for; leave out one")
    if recipe.training.rdrop and not (recipe.model.dropout or recipe.model.attention_dropout):
        raise ConfigError("training.rdrop compares draws of model.dropout, which is 0; raise it, or leave rdrop out")
    tokenizer = recipe.tokenizer
    if task == "tag" and tokenizer.sampling:
        raise ConfigError("tokenizer.sampling cuts words anew, and task='tag' needs them as they are; leave it out")
    if task == "embed" and (tokenizer.sampling or not tokenizer.shared):
        both = f"tokenizer.shared={tokenizer.shared} and tokenizer.sampling={tokenizer.sampling}"
        why = "task='embed' has one encoder for both languages, and knows a text that comes twice by its subwords"
        raise ConfigError(f"{both}, but {why}; use true and 0")


@dataclass(frozen=True)
class LoadedRecipe:
    """A recipe, the name of its run, and the folder that its relative paths start from: that of the file or, for the
    recipe of a run, where they started when the run began."""

    recipe: Recipe
    name: str
    base: Path


def load_recipe(name_or_path: str | Path, settings: Sequence[str] = ()) -> LoadedRecipe:
    """Read a built-in recipe by its name, or one's own by its path.

    Args:
        name_or_path: `multi30k-en-de`, or `my/recipe.toml`.
        settings: `key.path=value` overrides, as given to `--set`; a single one needs no list.

    Raises:
        ConfigError: With every problem found; an unknown name lists the known ones.
    """
    path = Path(expect(name_or_path, str | os.PathLike, "a recipe", "its name or its path"))
    folder = base = path.resolve().parent
    with suppress(OSError, ValueError, KeyError, TypeError):  # of a run: its text lies where it did
        base = Path(json.loads((folder / "hardware.json").read_text(encoding="utf-8"))["base"])
    if path.suffix != ".toml" and not path.is_file():
        names = builtin_names()
        if str(path) not in names:
            remedy = f"built in are {', '.join(names)}; a file ends in .toml"
            raise ConfigError(f"{str(name_or_path)!r} is neither a file nor a built-in recipe; {remedy}")
        path, base = _RECIPES / f"{name_or_path}.toml", Path.cwd()  # nobody's text lies in the package
    table, settings = read_toml(path), [settings] if isinstance(settings, str) else settings
    match table, override(table, settings):
        case {"model": {"preset": str(old), **given}}, {"model": {"preset": new}} if old != new and old in PRESETS:
            # `yiwen config` and the recipe of a run write out what a preset means: the new one says that anew.
            kept = {name: value for name, value in given.items() if (name, value) not in PRESETS[old].items()}
            table["model"] = {"preset": old, **kept}
    table = with_metric(with_preset(override(table, settings)))
    source = f"{path}{' with --set' if settings else ''}"
    name = folder.name if path.name == "recipe.toml" and base != folder else path.stem
    return LoadedRecipe(recipe=parse(Recipe, table, source=source), name=name, base=base)


def with_preset(table: Table) -> Table:
    """Fill the model's settings that are not given from the preset it names."""
    match table:
        case {"model": {"preset": str(preset), **given}} if preset in PRESETS:
            return {**table, "model": {**PRESETS[preset], "preset": preset, **given}}
    return table  # what is wrong with it is told with all other mistakes


def with_metric(table: Table) -> Table:
    """Without a decoder, the best model is found by accuracy where no score is named."""
    given = table.get("training", {})
    is_encoder = table.get("task", "translate") != "translate"
    return {**table, "training": {"metric": "accuracy", **given}} if is_encoder and isinstance(given, dict) else table


def builtin_names() -> list[str]:
    """Names of the recipes in the package."""
    return sorted(path.stem for path in _RECIPES.glob("*.toml"))


def runs_root() -> Path:
    """The folder of all runs: YIWEN_RUNS, or `runs` here."""
    return Path(os.environ.get("YIWEN_RUNS") or "runs")


def against_packing(recipe: Recipe) -> list[str]:
    """Settings with which sentences cannot be packed into one row."""
    reasons = {
        f"task={recipe.task!r}": recipe.task != "translate",
        "model.positions='alibi'": recipe.model.positions == "alibi",
        "model.attention_dropout": recipe.model.attention_dropout > 0,
        "model.layer_dropout": recipe.model.layer_dropout > 0,
        "heads whose width is no multiple of 8 up to 256": recipe.model.d_head % 8 > 0 or recipe.model.d_head > 256,
        "training.guided_alignment": recipe.training.guided_alignment > 0,
        "tokenizer.sampling": recipe.tokenizer.sampling > 0,
    }
    return [name for name, is_so in reasons.items() if is_so]
