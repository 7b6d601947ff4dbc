"""Sequence-level knowledge distillation (Kim and Rush 2016): a student learns what its teacher would have written.

A teacher's translations are simpler than people's: the same source words give the same target words more often, and a
smaller model can learn that by heart. The student is an ordinary run of an ordinary recipe; only its text is made here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console

from yiwen.bundle import open_bundle, require_translator
from yiwen.data.config import DataConfig
from yiwen.data.store import Store
from yiwen.errors import ConfigError
from yiwen.files import absolute_path
from yiwen.hardware import keep_kernels
from yiwen.preparing import initial_model, prepare_recipe
from yiwen.recipe import LoadedRecipe, Recipe, runs_root
from yiwen.runs import check_start, refuse_changes, train_recipe
from yiwen.stop import StopFlag
from yiwen.synthetic.pairs import absolute, corpus_name, student_data
from yiwen.synthetic.teacher import Made, Teachers, make_pairs
from yiwen.text.languages import canonical
from yiwen.text.subword import TokenizerConfig
from yiwen.training.state import Progress


@dataclass(frozen=True)
class Distilled:
    """A teacher's translations of a recipe's training text."""

    made: Made
    """The pairs."""
    data: DataConfig
    """The recipe's data with them in place of its own training text."""


def distil(
    teachers: Teachers,
    loaded: LoadedRecipe,
    *,
    run: Path | None = None,
    resume: bool = False,
    stop: StopFlag | None = None,
    console: Console | None = None,
) -> tuple[Path, Progress]:
    """Train a student: a recipe whose training text is what a teacher makes of its sources.

    Args:
        teachers: Who translates.
        loaded: The student's recipe: its text, its tokenizer, its smaller model.
        run: Folder of the student's run; `runs/NAME-student` where not given.
        resume: Go on with an existing run. Text that was translated before is found again with or without it.
        stop: Polled in every long loop.
        console: Where progress is shown.

    Returns:
        The folder of the run and where it stands.

    Raises:
        CheckpointError, ConfigError, DataError: As in `translate_corpus` and `yiwen.runs.train_recipe`.
        Stopped: After a stop signal; the same call with `resume` goes on.
    """
    name = loaded.name if loaded.name.endswith("-student") else f"{loaded.name}-student"
    run = run or runs_root() / name
    check_start(run, loaded.recipe, resume=resume)  # before hours go into translating
    initial_model(loaded)

    def check(store: Store, pairs: Path) -> None:
        from yiwen.training.validation import require_texts

        require_texts(store.valid.src)
        before = run / "recipe.toml"
        if before.is_file() and f"{pairs.parent.name}/{pairs.name}" not in before.read_text(encoding="utf-8"):
            corpora = [*map(corpus_name, np.unique(store.corpus))]
            refuse_changes(run, _student(loaded, student_data(loaded, pairs, store, corpora)))

    keep_kernels()  # as few as training wants, before a teacher in torch asks for more
    distilled = translate_corpus(teachers, loaded, check=check, stop=stop, console=console)
    student = LoadedRecipe(recipe=_student(loaded, distilled.data), name=name, base=distilled.made.folder)
    return train_recipe(student, run=run, resume=resume, stop=stop, console=console)


def _student(loaded: LoadedRecipe, data: DataConfig) -> Recipe:
    """The recipe with a teacher's pairs for its data; what it names has paths that hold everywhere."""
    old, initial = loaded.recipe, initial_model(loaded)
    tokenizer = replace(old.tokenizer, model=absolute(old.tokenizer.model, loaded.base))
    training = replace(old.training, init_from=str(absolute_path(initial.folder)) if initial else "")
    return replace(old, data=data, tokenizer=tokenizer, training=training)


def translate_corpus(
    teachers: Teachers,
    loaded: LoadedRecipe,
    *,
    check: Callable[[Store, Path], None] = lambda store, pairs: None,
    stop: StopFlag | None = None,
    console: Console | None = None,
) -> Distilled:
    """Translate a recipe's training text, or what is missing of it, with a teacher.

    Args:
        teachers: Who translates.
        loaded: Whose prepared text is translated.
        check: As for `make_pairs`.
        stop: Polled between batches.
        console: Where progress is shown, if it is a terminal.

    Raises:
        CheckpointError: If the teacher is missing or damaged.
        ConfigError: If it translates between other languages than the recipe.
        DataError: If no translation can be used.
        TrainingError: If another process is translating the same.
    """
    _require_same_languages(teachers.folder, loaded)
    translator = teachers.load()  # what is wrong with it is said before the text is prepared
    store = _plain_text(loaded, stop=stop, progress=console is not None)
    made = make_pairs(teachers, translator, store, loaded.recipe.data, check=check, stop=stop, console=console)
    if console is not None:
        console.print(f"distilled: {made}", highlight=False, markup=False, soft_wrap=True)
    return Distilled(made, student_data(loaded, made.folder, store, made.corpora))


def _plain_text(loaded: LoadedRecipe, *, stop: StopFlag | None, progress: bool) -> Store:
    """A recipe's text without symbols (`tokenizer.placeholders`): a teacher is to read what stands there."""
    recipe = loaded.recipe
    own = TokenizerConfig(vocab_size=recipe.tokenizer.vocab_size)  # where a ready one has symbols or loses text
    learnt = {"tokenizer": replace(recipe.tokenizer, placeholders=0)}
    for changes in (learnt, {"tokenizer": own, "training": replace(recipe.training, init_from="")}):
        plain = replace(loaded, recipe=replace(recipe, **changes))
        store = Store.open(prepare_recipe(plain, stop=stop, progress=progress).folder)
        if not store.source.n_placeholders and store.source.has_bytes and store.source.keeps_text:
            break
    return store


def _require_same_languages(teacher: Path, loaded: LoadedRecipe) -> None:
    bundle, data = open_bundle(teacher), loaded.recipe.data
    require_translator(bundle)
    if loaded.recipe.task != "translate":
        raise ConfigError(f"{loaded.name} has task={loaded.recipe.task!r}; a student of a translator translates")
    pairs = [f"{canonical(each.src_lang)} -> {canonical(each.tgt_lang)}" for each in (bundle.info, data)]
    if pairs[0] != pairs[1]:
        both = f"the teacher {teacher} translates {pairs[0]}, the recipe {loaded.name} is for {pairs[1]}"
        raise ConfigError(f"{both}; give a teacher and a recipe of the same languages")
