"""A recipe for your own text: look at the corpus, size everything by it, write TOML with a reason on each line."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from yiwen.config import read_toml, toml_text
from yiwen.data.corpus import ENTITY, ONE_FILE, CorpusConfig, column_pair, read_blocks
from yiwen.data.lines import find, plain_suffix
from yiwen.errors import ConfigError, DataError
from yiwen.files import absolute_path, require_place, write_text
from yiwen.recipe import runs_root
from yiwen.stop import StopFlag, poll
from yiwen.text.chinese import is_traditional, shortened
from yiwen.text.langid import is_in
from yiwen.text.languages import base, canonical, name_of
from yiwen.text.protect import masked
from yiwen.text.scripts import script_of

FEWEST_PAIRS: Final = 100
"""Fewer cannot be split into a training, a validation and a test part that mean anything."""
N_SAMPLES: Final = 3
WIDTH: Final = 77
"""Columns of a terminal that a sample may take, where a Chinese character takes two."""
_MANY_SPANS: Final = 0.05
_MANY_ENTITIES: Final = 0.01
_TEMPLATE: Final = Path(__file__).with_suffix(".template").read_text(encoding="utf-8")
_CHECKED: Final = 1000
"""Pairs whose language is looked at, to notice two sides that are swapped."""
_SEEN: Final = 10_000
"""Characters of each that are: a file without line ends is one text, whose language takes minutes to tell."""
_CONVERT: Final = "from GBK: `iconv -f GB18030 -t UTF-8 OLD > NEW`, from Western Europe: `-f WINDOWS-1252`"
"""What makes other encodings UTF-8. Read as GB18030, the ü of über and the letter behind it are a Chinese character."""
FEWEST_STEPS: Final = 500
"""Updates below which hardly anything is learnt, however small the corpus."""
MAX_STEPS: Final = 300_000
"""Updates of the big model in the paper; more are seldom worth it."""
LETTERLIKE: Final = ("Han", "Japanese", "Korean")
"""Scripts of thousands of characters, of which few make a subword."""
_BESIDE_LETTERS: Final = 1000
"""Subwords beside one for each letter of a small corpus: 256 bytes, special ones, and the most frequent words."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """What fits a corpus of up to so many pairs."""

    below: float
    """Pairs."""
    name: str
    """What it is called in the recipe."""
    preset: str
    """Of the model."""
    dropout: float
    vocab_size: int
    epochs: int
    """Times through the text."""
    update_tokens: int
    """Target tokens an update, of which `batch_tokens` at a time."""
    batch_tokens: int
    optimizer: str
    learning_rate: float
    warmup_steps: int
    advice: str
    """What its owner should know."""


_TABLE: Final = read_toml(Path(__file__).with_suffix(".toml"))
SIZES: Final = tuple(Size(**row) for row in _TABLE["sizes"])
"""Classes of corpora, smallest first."""


@dataclass
class Survey:
    """What a corpus holds."""

    n_rows: int = 0
    """Lines, rows or units."""
    n_broken: tuple[int, int] = (0, 0)
    """Those whose source, and whose target, is not UTF-8."""
    n_pairs: int = 0
    """Those with text on both sides."""
    n_chars: tuple[int, int] = (0, 0)
    """Characters on the source and on the target sides."""
    letters: set[str] = field(default_factory=set)
    """The different ones of the first few thousand pairs, on both sides."""
    samples: list[tuple[str, str]] = field(default_factory=list)
    """The first few pairs."""
    n_spans: int = 0
    """Of the first thousand pairs, those with the same address, code or file name on both sides."""
    n_escaped: int = 0
    """Of the first thousand pairs, those with more entities of HTML on one side than on the other."""


def new_recipe(
    files: tuple[Path, ...],
    *,
    src_lang: str,
    tgt_lang: str,
    output: Path | None = None,
    columns: tuple[str, str] | None = None,
    stop: StopFlag | None = None,
) -> tuple[Path, Survey, Size]:
    """Look at a corpus and write a recipe for it.

    Args:
        files: One file of pairs, or a file of sources and one of their translations.
        src_lang: Source language.
        tgt_lang: Target language.
        output: The recipe; NAME.toml here, after the corpus, where not given.
        columns: Names of the two columns in a file of pairs; found out where not given.
        stop: Polled while reading.

    Returns:
        Where the recipe is, what the corpus holds and what size was chosen.

    Raises:
        ConfigError: If the recipe exists, or languages or files are not what they have to be.
        DataError: If the corpus cannot be read, its sides do not fit, or it holds too few pairs.
    """
    if len(files) not in (1, 2):
        raise ConfigError(f"{len(files)} files were given; give one file of pairs, or one of each language")
    typed = src_lang, tgt_lang  # the columns of a file may be called so
    src_lang, tgt_lang = canonical(src_lang), canonical(tgt_lang)
    if src_lang == tgt_lang:
        raise ConfigError(f"--from and --to are both {src_lang}; give two languages, for example --from en --to zh")
    output = output or Path(f"{files[0].name.split('.')[0] or 'recipe'}.toml")  # train.en.gz: train
    if output.suffix != ".toml":
        raise ConfigError(f"--output {output} is not a .toml file; a recipe's name ends in .toml")
    if output.exists():
        raise ConfigError(f"{output} exists already; give another --output, or remove it first")
    require_place(output, name="--output")
    found = tuple(find(str(file), base=Path()) for file in files)
    if len(files) == 2 and (of_pairs := [file for file in found if plain_suffix(file) in ONE_FILE]):
        raise ConfigError(f"{of_pairs[0]} holds pairs; give it alone, and others as [[data.corpora]] of the recipe")
    if plain_suffix(found[0]) == ".tmx":  # which may hold pt-PT and pt-BR
        src_lang, tgt_lang = (code if {*code} & {*"-_"} else canonical(code) for code in typed)
    corpus = _corpus(files, columns or column_pair(found, *typed))
    survey = survey_corpus(corpus, src_lang=src_lang, tgt_lang=tgt_lang, stop=stop)
    if tuple(plain_suffix(file)[1:] for file in found) == typed[::-1]:
        raise ConfigError(f"{files[0]} is named for {tgt_lang} and comes first; swap the files, or --from and --to")
    written = "zh-Hant" if is_traditional("".join(sorted(survey.letters))) else "zh-Hans"
    is_told = base(tgt_lang) == "zh" and script_of(src_lang) not in ("Han", "Japanese", "Korean")
    if is_told and written != canonical(tgt_lang):
        raise ConfigError(f"--to is {tgt_lang}, but the translations are {name_of(written)[0]}; give --to {written}")
    if survey.n_pairs < FEWEST_PAIRS:
        told = [f"{survey.n_pairs} of {survey.n_rows} rows have text on both sides", *_no_utf_8(survey)]
        needed = f"training needs at least {FEWEST_PAIRS} pairs, and some ten thousand to be of use"
        raise DataError(f"{' and '.join(map(str, files))}: {', '.join(told)}; {needed}")
    size = next(size for size in SIZES if survey.n_pairs < size.below)
    write_text(output, recipe_text(corpus, survey, size, src_lang=src_lang, tgt_lang=tgt_lang, folder=output.parent))
    return output, survey, size


def _no_utf_8(survey: Survey) -> list[str]:
    sides = zip(survey.n_broken, ("sources", "targets"), strict=True)
    return [f"{n} {side} are not UTF-8 ({_CONVERT})" for n, side in sides if n]


def survey_corpus(corpus: CorpusConfig, *, src_lang: str, tgt_lang: str, stop: StopFlag | None = None) -> Survey:
    """Count the pairs of a corpus and look at the first; memory does not grow with it.

    Raises:
        DataError: If it cannot be read, or its sides seem to be swapped.
    """
    survey, straight = Survey(), 0
    for block in read_blocks(corpus, base=Path(), src_lang=src_lang, tgt_lang=tgt_lang):
        poll(stop, "counting pairs")
        survey.n_rows += len(block.src)
        for raw_src, raw_tgt in zip(block.src, block.tgt, strict=True):
            if not (raw_src and raw_tgt and raw_src.strip() and raw_tgt.strip()):
                continue
            src, tgt = raw_src.decode("utf-8", "replace"), raw_tgt.decode("utf-8", "replace")
            is_broken = src.encode("utf-8") != raw_src, tgt.encode("utf-8") != raw_tgt
            if any(is_broken):
                survey.n_broken = survey.n_broken[0] + is_broken[0], survey.n_broken[1] + is_broken[1]
                continue
            survey.n_pairs += 1
            survey.n_chars = survey.n_chars[0] + len(src), survey.n_chars[1] + len(tgt)
            if survey.n_pairs < SIZES[0].below:
                survey.letters.update(src, tgt)
            if len(survey.samples) < N_SAMPLES:
                survey.samples.append((src, tgt))
            if survey.n_pairs <= _CHECKED:
                (src_prose, src_spans), (tgt_prose, tgt_spans) = masked(src[:_SEEN]), masked(tgt[:_SEEN])
                survey.n_spans += any(span in tgt_spans and span[0] != "&" for span in src_spans)  # no entities
                survey.n_escaped += len(ENTITY.findall(raw_src)) != len(ENTITY.findall(raw_tgt))
                for prose, right, wrong in ((src_prose, src_lang, tgt_lang), (tgt_prose, tgt_lang, src_lang)):
                    straight += is_in(prose, right, rather_than=wrong) - is_in(prose, wrong, rather_than=right)
    if straight < -min(survey.n_pairs, _CHECKED) / 4:  # of two a pair, of which some are mistaken
        src, tgt = (shortened(text, WIDTH) for text in survey.samples[0])
        remedy = "swap the files, the columns (--src-column, --tgt-column) or --from and --to"
        raise DataError(f"the sides seem to be swapped: {src!r} should be {src_lang} and {tgt!r} {tgt_lang}; {remedy}")
    return survey


def recipe_text(corpus: CorpusConfig, survey: Survey, size: Size, *, src_lang: str, tgt_lang: str, folder: Path) -> str:
    """The recipe as TOML, for a file in `folder`."""
    letterlike = [script_of(language) in LETTERLIKE for language in (src_lang, tgt_lang)]
    n_checked = min(survey.n_pairs, _CHECKED)
    share, share_escaped = survey.n_spans / n_checked, survey.n_escaped / n_checked
    optional = _TABLE["optional"]
    steps, epochs = _length(survey, size, letterlike)
    return _TEMPLATE.format(
        src_lang=src_lang,
        tgt_lang=tgt_lang,
        survey=survey,
        size=size,
        # A thousand sentences tell one BLEU point from chance; a small corpus cannot spare as many.
        held_out=min(1000, survey.n_pairs // 20),
        corpus=_corpus_lines(corpus, folder),
        vocab_size=max(size.vocab_size, _rounded(len(survey.letters) + _BESIDE_LETTERS)),
        symbols=optional["symbols"].format(share) if share > _MANY_SPANS else "",
        unescape=optional["unescape"].format(share_escaped) if share_escaped > _MANY_ENTITIES else "",
        update=optional["update"].format(size.update_tokens) if size.update_tokens else "",
        learnt="" if size.update_tokens else ", and what an update learns from",
        steps=steps,
        epochs=epochs,
        warmup_steps=min(size.warmup_steps, steps // 4),
        validate_every=max(100, _rounded(steps / 15)),
    )


def what_next(output: Path, survey: Survey, size: Size) -> str:
    """What was found and what to type next."""
    rows = f" ({survey.n_rows:,} rows)" if survey.n_rows != survey.n_pairs else ""
    samples = [f"  {shortened(text, WIDTH)}" for pair in survey.samples for text in pair]
    found = "\n".join([*samples, *(f"left out: {told}" for told in _no_utf_8(survey))])
    recipe = shlex.quote(str(output))
    model = shlex.quote(str(runs_root() / output.stem / "best"))
    return f"""\
{survey.n_pairs:,} pairs{rows}, such as
{found}
{size.name}: a {size.preset} model. {size.advice}
{output} is written. What to type next:
  yiwen prepare {recipe}   # what is dropped, and why
  yiwen train {recipe}
  yiwen evaluate {model}"""


def _corpus(files: tuple[Path, ...], columns: tuple[str, str]) -> CorpusConfig:
    if len(files) == 2:
        return CorpusConfig(src=str(files[0]), tgt=str(files[1]))
    return CorpusConfig(path=str(files[0]), src_column=columns[0], tgt_column=columns[1])


def _length(survey: Survey, size: Size, letterlike: list[bool]) -> tuple[int, int]:
    """Updates, and how often they go through the text by a rough count of subwords."""
    # Seen with vocabularies of 8,000: a subword is 1.5 characters of Chinese or 4 of a language with an alphabet.
    per_subword = [1.5 if is_one else 4 for is_one in letterlike]
    src, tgt = (n / chars + survey.n_pairs for n, chars in zip(survey.n_chars, per_subword, strict=True))
    # A micro-batch counts its longer side, and of some sentences that is the other one: a tenth is none of it.
    per_update = size.update_tokens or size.batch_tokens * 0.9 * tgt / max(src, tgt)
    steps = min(MAX_STEPS, max(FEWEST_STEPS, _rounded(size.epochs * tgt / per_update)))
    return steps, max(1, _rounded(steps * per_update / tgt))


def _rounded(number: float) -> int:
    """Two significant digits: more would pretend to know."""
    return int(float(f"{number:.1e}"))


def _corpus_lines(corpus: CorpusConfig, folder: Path) -> str:
    paths = {name: getattr(corpus, name) for name in ("src", "tgt", "path")}
    lines = {name: _path_from(folder, Path(path)) for name, path in paths.items() if path}
    if (corpus.src_column, corpus.tgt_column) != ("src", "tgt"):
        lines |= {"src_column": corpus.src_column, "tgt_column": corpus.tgt_column}
    return "\n".join(f"{name} = {toml_text(value)}" for name, value in lines.items())


def _path_from(folder: Path, path: Path) -> str:
    """Relative where the file is below the folder, so that both can be moved together; else absolute."""
    absolute, start = absolute_path(path), absolute_path(folder)
    return absolute.relative_to(start).as_posix() if absolute.is_relative_to(start) else str(absolute)
