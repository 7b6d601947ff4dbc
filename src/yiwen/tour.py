"""The demo as a tour: from no text at all to a measured translator, and a look inside it, in six stages."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

import yiwen
from yiwen.config import read_toml
from yiwen.data.demo import write_demo
from yiwen.errors import ConfigError, Stopped
from yiwen.files import one_writer, remove, write_json
from yiwen.measure import Measurement, measure
from yiwen.preparing import prepare_recipe
from yiwen.recipe import load_recipe, runs_root
from yiwen.runs import train_recipe
from yiwen.stop import GO_ON, StopFlag, poll
from yiwen.text.normalise import normalise
from yiwen.translator import Translator

RECIPE: Final = "demo-en-zh"
TEXT_VARIABLE: Final = "YIWEN_DEMO"
"""Environment variable in the recipe's paths: the folder of the generated text."""
WIDTH: Final = 80
_FEWEST_PAIRS: Final = 20
"""Of so many training pairs one is there to validate with."""
N_SHOWN: Final = 4
"""Held-out sentences translated before the eyes of the user."""


@dataclass(frozen=True, kw_only=True)
class Tour:
    """What a demo came to."""

    run: Path
    """Folder of the run."""
    bleu: float
    """On held-out combinations of words, in points."""
    signature: str
    """How BLEU was computed."""
    translations: tuple[tuple[str, str], ...]
    """(text, translation) as shown."""
    seconds: float
    """Wall time of everything."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, ready for `json.dumps`."""
        shown = [{"text": text, "translation": translation} for text, translation in self.translations]
        numbers = {"bleu": round(self.bleu, 2), "seconds": round(self.seconds, 1)}
        return vars(self) | numbers | {"run": str(self.run), "translations": shown}


def take_tour(
    *,
    console: Console,
    texts: Sequence[str] = (),
    settings: Sequence[str] = (),
    run: Path | None = None,
    n_pairs: int = 40_000,
    stop: StopFlag | None = None,
) -> Tour:
    """Generate a corpus, train on it, measure, translate and show where the model looks.

    Sets the environment variable YIWEN_DEMO to the folder of the corpus, `demo` below that of all runs.

    Args:
        console: Where it is told.
        texts: English sentences to translate beside the held-out ones; blank ones are left out.
        settings: `key.path=value` overrides of the recipe `demo-en-zh`.
        run: Folder of the run; an earlier demo there is replaced. `demo-en-zh` below that of all runs if not given.
        n_pairs: Training pairs.
        stop: Polled in every long loop.

    Raises:
        ConfigError: If `run` holds something else than a demo, a setting is wrong, or n_pairs is out of range.
        TrainingError: If another process is writing the run.
        Stopped: After a stop signal.
    """
    began = time.perf_counter()
    run = run or runs_root() / RECIPE
    texts = [text for text in texts if normalise(text)]
    if (runs_root() / "demo").resolve().is_relative_to(run.resolve()):  # replacing it would remove all runs
        raise ConfigError(f"--run {run} is where the demo's text lies; give another folder")
    if n_pairs < _FEWEST_PAIRS:
        raise ConfigError(f"--pairs {n_pairs}; use {_FEWEST_PAIRS} or more")
    earlier = _is_earlier_demo(run)
    loaded = load_recipe(RECIPE, settings)  # a wrong setting is told before anything is written
    if not {"bleu", "chrf"} <= {*loaded.recipe.evaluation.metrics}:
        raise ConfigError("evaluation.metrics lacks bleu or chrf, which the demo shows; name both")

    def stage(number: int, name: str) -> None:
        poll(stop, "the demo")
        heading = f"── {number}/6 {name} "
        _say(console, f"\n{heading:─<{WIDTH - 8}} {time.perf_counter() - began:5.1f} s")

    stage(1, "Text: English and Chinese sentences from a grammar")
    folder = write_text(n_pairs)
    os.environ[TEXT_VARIABLE] = str(folder.resolve())
    _say(console, _show_text(folder))
    stage(2, "Prepare: clean the pairs and cut them into subwords")
    report = prepare_recipe(loaded, stop=stop, progress=console.is_terminal).report
    _say(console, f"{report.kept:,} pairs to learn from, {report.tgt_vocab_size:,} subwords for both languages")
    stage(3, "Train: a Transformer as in the paper, but small and pre-norm")
    if earlier:
        _say(console, f"the earlier demo in {run} is replaced")
        remove(run)
    try:
        train_recipe(loaded, run=run, stop=stop, console=console)
    except Stopped as stopped:
        stopped.args = (str(stopped).replace(GO_ON, "the next demo starts anew"),)
        raise
    stage(4, "Measure: sentences whose combinations of words are new to it")
    measured = measure(run / "best", stop=stop)
    _say(console, _show_score(measured))
    stage(5, "Translate")
    translator = Translator.load(run / "best")
    shown = [*_lines(folder / "test.en")[:N_SHOWN], *texts]
    pairs = [(text, str(found)) for text, found in zip(shown, translator.translate(shown, stop=stop), strict=True)]
    known = set(_words((folder / "train.en").read_text(encoding="utf-8")))
    for text, translation in pairs:
        unknown = ", ".join(word for word in dict.fromkeys(_words(text)) if word not in known)
        guess = f"\n(a guess: the training text has no {unknown})" if unknown else ""
        for line in Text(f"{text}\n{translation}{guess}").wrap(console, WIDTH - 2):  # a Chinese character takes two
            _say(console, f"  {line.plain.rstrip()}")
    stage(6, "Look inside: which words it looked at for each word it wrote")
    # The user's first sentence that fits on a screen, else the first held-out one.
    fitting = (pair for pair in pairs[N_SHOWN:] if len(pair[0]) <= WIDTH and "\n" not in pair[0])
    _say(console, attention_of(translator, *next(fitting, pairs[0])))
    seconds = time.perf_counter() - began
    _say(console, _what_next(run, measured, seconds))
    bleu = measured.evaluation["bleu"]
    return Tour(run=run, bleu=bleu.value, signature=bleu.signature, translations=tuple(pairs), seconds=seconds)


def write_text(n_pairs: int) -> Path:
    """Write the demo corpus to `demo` below the folder of all runs, unless the same is there; returns the folder.

    Raises:
        ConfigError: If n_pairs is out of range, or the folder holds something else.
    """
    folder = runs_root() / "demo"
    note = folder / "demo.json"
    n_valid = min(500, n_pairs // _FEWEST_PAIRS)
    wanted = {"yiwen": yiwen.__version__, "n_train": n_pairs, "n_valid": n_valid, "n_test": 2 * n_valid}
    if note.is_file() and note.read_text(encoding="utf-8") == json.dumps(wanted, indent=2) + "\n":
        return folder
    if folder.exists() and not note.exists() and any(folder.iterdir()) and not (folder / "train.en").exists():
        raise ConfigError(f"{folder} is needed for the demo's text and holds something else; rename it")
    remove(note)  # written last: it vouches for the files beside it
    write_demo(folder, n_train=n_pairs, n_valid=n_valid, n_test=2 * n_valid)
    write_json(note, wanted)
    return folder


def attention_of(translator: Translator, text: str, translation: str) -> str:
    """A picture of the attention behind a translation: rows are its words, columns those of the text."""
    from yiwen.analysis.inspection import inspect_sentence
    from yiwen.analysis.terminal import picture

    seen = inspect_sentence(translator.bundle, text, target=translation)
    return picture(seen, seen.aligning).plain


def _is_earlier_demo(run: Path) -> bool:
    """True where `run` may be replaced, with all that it holds; False where there is nothing yet.

    Raises:
        ConfigError: If it holds something else than a demo.
        TrainingError: If another process is writing it.
    """
    recipe = run / "recipe.toml"
    # A run that has not trained yet holds a lock and hardware.json.
    if not run.is_file() and all(path.is_dir() or path.name in ("lock", "hardware.json") for path in run.rglob("*")):
        return False
    if not recipe.is_file() or f"${{{TEXT_VARIABLE}}}" not in str(read_toml(recipe).get("data", {})):
        raise ConfigError(f"{run} holds something else than a demo and would be removed; give another --run FOLDER")
    with one_writer(run):
        return True


def _show_text(folder: Path) -> str:
    sources, targets = _lines(folder / "train.en"), _lines(folder / "train.zh")
    examples = "\n".join(f"  {src}\n  {tgt}" for src, tgt in zip(sources[:2], targets[:2], strict=True))
    return f"{len(sources):,} pairs in {folder}, such as\n{examples}"


def _show_score(measured: Measurement) -> str:
    bleu, chrf = measured.evaluation["bleu"], measured.evaluation["chrf"]
    scores = f"BLEU {bleu.value:.2f}, chrF2 {chrf.value:.2f} on {measured.evaluation.n_lines:,} sentences"
    return f"{scores}; BLEU was computed as\n  {bleu.signature}"


def _what_next(run: Path, measured: Measurement, seconds: float) -> str:
    model = shlex.quote(str(run / "best"))
    return f"""
BLEU {measured.evaluation["bleu"].value:.2f} after {seconds:.0f} s. The model is {model}
What to type next:
  echo 'Is Paris colder than London?' | yiwen translate {model}
  yiwen inspect {model} 'Is Paris colder than London?'
  yiwen evaluate {model}
  yiwen new YOUR_TEXT.tsv --from en --to zh   # a recipe for text of your own"""


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").rstrip("\n").split("\n")


def _words(text: str) -> list[str]:
    return "".join(char if char.isalnum() or char == "'" else " " for char in text).lower().split()


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False, markup=False, soft_wrap=True)
