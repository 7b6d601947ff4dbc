"""What a training begins with: the data of its recipe, prepared, and the model that it starts from.

Imports no torch, which preparing text does without.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Final

from yiwen.bundle import Bundle, open_bundle, weights_path
from yiwen.data import lines
from yiwen.data.fingerprint import fingerprint_of, ready_models
from yiwen.data.prepare import Prepared, prepare
from yiwen.errors import ConfigError, naming
from yiwen.recipe import LoadedRecipe, runs_root
from yiwen.stop import StopFlag
from yiwen.tasks.config import TARGETS
from yiwen.text.languages import canonical
from yiwen.text.subword import TokenizerConfig, subword_paths

_FREE_TO_CHANGE: Final = ("preset", "dropout", "attention_dropout", "layer_dropout")
"""Settings of a model that its weights do not depend on."""
_OF_THE_DECODER: Final = ("n_decoder_layers", "tied_embeddings")
"""Settings of a translator that its encoder's weights do not depend on."""


def prepare_recipe(
    loaded: LoadedRecipe, *, stop: StopFlag | None, progress: bool = False, root: Path | None = None
) -> Prepared:
    """Prepare the data of a recipe below `root`, or the folder of all runs, or find it prepared already.

    Raises:
        CheckpointError, ConfigError: As in `initial_model`; also if one table of subwords is to serve two vocabularies.
    """
    recipe, root = loaded.recipe, root or runs_root()
    tokenizer, targets = _tokenizer(loaded), TARGETS[recipe.task]
    return prepare(recipe.data, tokenizer, root=root, base=loaded.base, targets=targets, stop=stop, progress=progress)


def data_of(loaded: LoadedRecipe) -> str:
    """Fingerprint of the data of a recipe as `prepare_recipe` would prepare it; raises the same."""
    recipe = loaded.recipe
    return fingerprint_of(recipe.data, _tokenizer(loaded), base=loaded.base, targets=TARGETS[recipe.task])


def _tokenizer(loaded: LoadedRecipe) -> TokenizerConfig:
    """The subwords of a recipe: those of the model that it starts from, if it names one."""
    recipe, initial = loaded.recipe, initial_model(loaded)
    tokenizer = recipe.tokenizer
    has_one_table = recipe.task == "embed" or (recipe.task == "translate" and recipe.model.tied_embeddings == "all")
    if tokenizer.model and has_one_table and len(ready_models(tokenizer.model, base=loaded.base)) > 1:
        setting = f"task={recipe.task!r} with model.tied_embeddings={recipe.model.tied_embeddings!r}"
        why = f"holds a vocabulary for each language, and {setting} has one table of subwords"
        remedy = "name one file for both, or translate with tied_embeddings='target'"
        raise ConfigError(f"tokenizer.model {tokenizer.model!r} {why}; {remedy}")
    if initial is not None:
        # An encoder has one vocabulary, of a translator's two that of the source.
        path = initial.folder if recipe.task == "translate" else subword_paths(initial.folder)[0]
        tokenizer = TokenizerConfig(model=str(path.resolve()), sampling=tokenizer.sampling)
    return tokenizer


def initial_model(loaded: LoadedRecipe) -> Bundle | None:
    """The model that `training.init_from` names; None where a recipe names none.

    Raises:
        CheckpointError: If there is no such model, or one without weights.
        ConfigError: If it is of other languages or another shape than the recipe asks for; all differences are named.
    """
    recipe = loaded.recipe
    if not recipe.training.init_from:
        return None
    path = lines.expanded(recipe.training.init_from)
    with naming("training.init_from"):
        bundle = open_bundle(loaded.base / path if (loaded.base / path).is_dir() else path)
        weights_path(bundle)  # refused now, not after the text is prepared
    info, is_translator = bundle.info, recipe.task == "translate"
    pairs: dict[str, tuple[Any, Any]] = {"task": (info.task, recipe.task)} if is_translator else {}
    for name in ("src_lang", "tgt_lang") if is_translator else ("src_lang",):
        there, here = (code and canonical(code) for code in (getattr(info, name), getattr(recipe.data, name)))
        if is_translator or info.task != "embed" or here != canonical(info.tgt_lang):  # embed has read both
            pairs[f"data.{name}"] = there, here
    free = _FREE_TO_CHANGE if is_translator else (*_FREE_TO_CHANGE, *_OF_THE_DECODER)
    for name in dataclasses.asdict(recipe.model):
        if name not in free:
            value = "kv_heads" if name == "n_kv_heads" else name  # 0 means as many as n_heads
            pairs[f"model.{name}"] = getattr(info.model, value), getattr(recipe.model, value)
    n_symbols = bundle.source.n_placeholders
    pairs["tokenizer.placeholders"] = n_symbols, recipe.tokenizer.placeholders or n_symbols  # 0: as it has them
    if is_translator and not recipe.tokenizer.shared:
        pairs["tokenizer.shared"] = len(set(subword_paths(bundle.folder))) == 1, False
    problems = [f"{name}: {there!r} there, {here!r} here" for name, (there, here) in pairs.items() if there != here]
    unknown = [symbol for symbol in recipe.tokenizer.symbols if not bundle.source.has_piece(symbol)]
    problems += [f"tokenizer.symbols: {symbol!r} is not in its vocabulary" for symbol in unknown]
    if recipe.tokenizer.model:
        problems.append(f"tokenizer.model: its own vocabulary is used, not {recipe.tokenizer.model!r}")
    if problems:
        told = "\n  ".join((f"training.init_from: {bundle.folder} is not of this recipe's kind:", *problems))
        raise ConfigError(f"{told}\nchange the recipe so that they agree, or start from another model")
    return bundle
