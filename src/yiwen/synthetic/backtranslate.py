"""Back-translation (Sennrich et al. 2016): pairs for a model from text that exists in only one of its languages.

Of text in the target language: a model of the other direction translates what people wrote; the new model then learns
to make what people wrote from what a machine wrote. A tag before every such source tells it which is which (Caswell et
al. 2019): without one it learns to take machine text for the usual thing.

Of text in the source language, forwards: a model of the same direction translates it, and the new model learns to do as
the first did (the self-learning of Zhang and Zong 2016; for a smaller one, `distil` does it with the training text).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console

from yiwen.config import toml_text
from yiwen.data.config import DataConfig
from yiwen.data.corpus import ONE_FILE, CorpusConfig
from yiwen.data.lines import plain_suffix
from yiwen.data.prepare import prepare
from yiwen.data.report import Report
from yiwen.data.store import Store
from yiwen.errors import ConfigError
from yiwen.files import absolute_path, may_write, swap_link
from yiwen.recipe import runs_root
from yiwen.stop import StopFlag
from yiwen.synthetic.teacher import Made, Teachers, make_pairs
from yiwen.text.clean import has_markup
from yiwen.text.subword import TokenizerConfig

TAG: Final = "<2bt>"
"""No markup, which `prepare` would drop pairs for."""


class BackTranslated(NamedTuple):
    """Text in one language beside what a model made of it."""

    made: Made
    """The pairs."""
    report: Report
    """What became of the text before it was translated."""
    recipe_lines: str
    """What to put into the recipe of the new model."""


def back_translate(
    teachers: Teachers,
    texts: Sequence[Path],
    *,
    column: str = "src",
    forward: bool = False,
    tag: str | None = None,
    output: Path | None = None,
    stop: StopFlag | None = None,
    console: Console | None = None,
) -> BackTranslated:
    """Translate text into the other language of a model to be trained. What was translated before is found again.

    Args:
        teachers: Who translates, from the language of the texts; drawing at random (`sampling`) is often better than a
            beam where there is much text (Edunov et al. 2018).
        texts: Files with a sentence a line, or tables and translation memories as `yiwen.data.corpus` reads them.
        column: Of a table, the one with the text.
        forward: The text is in the source language of the model to be trained: what is made are targets.
        tag: What every made source starts with, `TAG` if not given; "" for nothing.
        output: A link to the pairs, for recipes to name; an old link to pairs is put straight.
        stop: Polled in every long loop.
        console: Where progress is shown.

    Raises:
        CheckpointError: If the teacher is missing or damaged.
        ConfigError: If the tag holds a blank, is markup or meant for targets, a search setting is wrong, or `output`
            cannot be a link.
        DataError: If there is no text, or no translation can be used.
        TrainingError: If another process is translating the same.
    """
    tag = _checked_tag(tag, forward=forward)
    is_ours = output is not None and output.is_symlink() and output.resolve().parent.parent.name == ".distilled"
    is_taken = output is not None and output.exists() and not is_ours
    if output is not None and (is_taken or not (output.parent.is_dir() and may_write(output.parent / "link"))):
        raise ConfigError(f"--output {output} cannot be a link: give a free name in a folder of yours that is there")
    translator = teachers.load()
    info = translator.bundle.info
    data = DataConfig(
        src_lang=info.src_lang,
        tgt_lang=info.tgt_lang,
        corpora=tuple(_corpus(text, column) for text in texts),
        valid_pairs=0,
        test_pairs=0,
        max_tokens=min(info.max_src_tokens, info.model.max_len),
    )
    subword = translator.bundle.source
    is_exact = subword.keeps_text and subword.has_bytes  # else the store has to keep the text beside its subwords
    tokenizer = TokenizerConfig(model=str(absolute_path(translator.bundle.folder)), sampling=0.0 if is_exact else 0.05)
    root, is_shown = runs_root(), console is not None
    prepared = prepare(data, tokenizer, root=root, base=Path.cwd(), targets="none", stop=stop, progress=is_shown)
    made = make_pairs(teachers, translator, Store.open(prepared.folder), data, tag=tag, stop=stop, console=console)
    if output is not None:
        swap_link(output.parent.resolve() / output.name, made.folder.resolve())
    recipe_lines = _recipe_lines(made, output or made.folder, data, forward=forward, tag=tag)
    return BackTranslated(made, prepared.report, recipe_lines)


def _checked_tag(tag: str | None, *, forward: bool) -> str:
    """The tag that was asked for, or the usual one; none where targets are made."""
    if tag is None:
        return "" if forward else TAG
    if forward and tag:
        raise ConfigError(f"--tag {tag!r} marks made sources, and --forward makes targets; leave one of them out")
    TokenizerConfig(symbols=(tag,) if tag else ())  # checks it
    if has_markup(tag, ""):
        raise ConfigError(f"--tag {tag!r} looks like markup, for which `yiwen prepare` drops pairs; use one like {TAG}")
    return tag


def _corpus(text: Path, column: str) -> CorpusConfig:
    is_one_file = plain_suffix(text) in ONE_FILE
    return CorpusConfig(path=str(text), src_column=column) if is_one_file else CorpusConfig(src=str(text))


def _recipe_lines(made: Made, pairs: Path, data: DataConfig, *, forward: bool, tag: str) -> str:
    """The corpora as a recipe of the teacher's direction names them, or one of the other."""
    lines = [f"# [tokenizer] symbols = {toml_text([tag])}"] if tag else []
    folder = absolute_path(pairs)
    languages = (data.src_lang, data.tgt_lang) if forward else (data.tgt_lang, data.src_lang)
    for name in made.corpora:
        src, tgt = (f"{folder}/{name}.{language}" for language in languages)
        lines += ["[[data.corpora]]", f"src = {toml_text(src)}", f"tgt = {toml_text(tgt)}", "train_only = true"]
    return "\n".join(lines)
