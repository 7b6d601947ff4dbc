r"""What the rules around a model are worth: sources oddly written, Chinese well set, terms of a glossary.

    python benchmarks/odd_input.py --model runs/multi30k-en-de --src val.en --ref val.de
    python benchmarks/odd_input.py --model runs/en-zh --src dev.en --ref dev.zh --texts */dev.en \
        --references */dev.zh --clean val.en val.de val.fr
    python benchmarks/odd_input.py --quick    # ends within two minutes: a model trained for seconds, meaningless scores

Writing: BLEU without case of the same text in usual case, in capitals, in Title Case and in rANdoM cASe, without marks
and (Chinese) with half-width ones, read by the model as it stands and by the rules. Chinese: how many translations of
--texts (greedy) break the rules of setting Chinese, as the model writes them and as they come out; where quotes of
the source have no partners, those of its translation may have none; and how many of people's lines in --references the
rules change. Clean: lines of --clean (a file's suffix is its language) that would be left untranslated, taken for the
language of another of these files. Terms: of each line the word of the reference that the free translation lacks and
that the model's attention links best to one word of the source; BLEU of these lines with and without such a glossary.
Greedy for writing, a beam of 4 for terms, the torch engine. Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import datetime
import random
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yiwen
from sides.materials import demo_model, lines_of
from sides.report import RESULTS, command, how_many, machine_lines, publish, run_main
from yiwen import hardware
from yiwen.evaluation.metrics import evaluate
from yiwen.search.config import SearchConfig
from yiwen.text.chinese import is_paired, typeset, violations
from yiwen.text.glossary import Glossary
from yiwen.text.langid import is_in
from yiwen.text.languages import CHINESE, base
from yiwen.text.normalise import normalise
from yiwen.text.protect import masked
from yiwen.translator import Translator

FEWEST_LETTERS = 4
MARKS = re.compile(r"[，。！？；：、]|[,.!?;:](?!\w)")
TO_HALF = str.maketrans("，。！？；：（）", ",.!?;:()")


def odd_ways(lang: str) -> dict[str, Callable[[str], str]]:
    """Ways to write a line in a language; the random one is the same in every run."""
    rng = random.Random(1)
    ways: dict[str, Callable[[str], str]] = {"usual": str, "no marks": lambda line: MARKS.sub(" ", line).strip()}
    if base(lang) in CHINESE:
        return {**ways, "half-width marks": lambda line: line.translate(TO_HALF)}
    return {
        **ways,
        "capitals": str.upper,
        "title": str.title,
        "random": lambda line: "".join(rng.choice((letter.upper(), letter.lower())) for letter in line),
    }


def bleu(translator: Translator, found: list[str], references: list[str]) -> float:
    """Without case."""
    scores = evaluate(found, references, tgt_lang=translator.tgt_lang, metrics=("bleu",), n_bootstrap=0, lowercase=True)
    return round(scores["bleu"].value, 2)


def as_it_stands(translator: Translator, lines: list[str], search: SearchConfig) -> list[str]:
    """Translations without any rule: subwords in, subwords out."""
    ids = translator.bundle.source.encode([normalise(line) for line in lines])
    groups = translator.engine.search(ids, config=search)
    return translator.bundle.target.decode([group[0].ids for group in groups])


def chinese_table(translator: Translator, texts: list[str]) -> dict[str, int]:
    """Lines with breaches of the rules of setting Chinese, as the model writes and as it comes out."""
    search = SearchConfig(beam_size=1)
    written = as_it_stands(translator, texts, search)
    found = [str(each) for each in translator.translate(texts, search=search)]

    def n_broken(answers: list[str]) -> int:
        return sum(
            any(name != "unpaired" or is_paired(text) for name in violations(answer))
            for text, answer in zip(texts, answers, strict=True)
        )

    return {"n_lines": len(texts), "as_it_stands": n_broken(written), "by_rules": n_broken(found)}


def reference_table(paths: list[Path]) -> dict[str, list[int]]:
    """Of each set of Chinese references: how many lines, and how many of them the rules of setting Chinese change."""
    table = {}
    for path in paths:
        lines = [normalise(line) for line in lines_of(path) if line.strip()]
        table[path.parent.name] = [len(lines), sum(typeset(line) != line for line in lines)]
    return table


def clean_table(paths: list[Path]) -> dict[str, Any]:
    """Lines of all files, and those that are taken for the language of another file."""
    n_lines, taken = 0, []
    languages = {path.suffix[1:] for path in paths}
    for path in paths:
        lang = path.suffix[1:]
        for line in filter(str.strip, lines_of(path)):
            prose, _ = masked(normalise(line))
            n_lines += 1
            taken += [
                [lang, other, line] for other in sorted(languages - {lang}) if is_in(prose, other, rather_than=lang)
            ]
    return {"languages": sorted(languages), "n_lines": n_lines, "taken": taken}


def writing_table(translator: Translator, src: list[str], ref: list[str]) -> dict[str, dict[str, float]]:
    """BLEU by the way of writing, as it stands and by the rules."""
    table = {}
    search = SearchConfig(beam_size=1)
    for name, write in odd_ways(translator.src_lang).items():
        lines = [write(line) for line in src]
        by_rules = [str(each) for each in translator.translate(lines, search=search, checks=False)]
        table[name] = {
            "as_it_stands": bleu(translator, as_it_stands(translator, lines, search), ref),
            "by_rules": bleu(translator, by_rules, ref),
        }
        print(name, table[name], flush=True)
    return table


def chosen_terms(translator: Translator, src: list[str], ref: list[str], free: list[str]) -> dict[int, tuple[str, str]]:
    """A term of each line that has one, by its number."""
    terms = {}
    for line, alignment in enumerate(translator.align(src, ref)):
        links = []
        for i, j, weight in alignment.links:
            one = src[line][slice(*alignment.src[i])].strip(".,!?。，！？")
            other = ref[line][slice(*alignment.tgt[j])].strip(".,!?。，！？")
            is_alone = sum(i == a or j == b for a, b, _ in alignment.links) == 1
            is_word = one.isalpha() and other.isalpha() and len(one) >= FEWEST_LETTERS
            if is_alone and is_word and other.lower() not in free[line].lower():
                links.append((weight, one, other))
        if links:
            terms[line] = max(links)[1:]
    return terms


def term_table(translator: Translator, src: list[str], ref: list[str]) -> dict[str, Any]:
    """Terms held and BLEU, with and without a glossary of one term a line."""
    search = SearchConfig(beam_size=4)
    free = [str(each) for each in translator.translate(src, search=search, checks=False)]
    terms = chosen_terms(translator, src, ref, free)
    bound = [
        translator.translate([src[line]], search=search, glossary=Glossary(dict([term])), checks=False)[0]
        for line, term in terms.items()
    ]
    references = [ref[line] for line in terms]
    return {
        "n_lines": len(terms),
        "n_held": sum("glossary" not in each.flags for each in bound),
        "bleu_free": bleu(translator, [free[line] for line in terms], references) if terms else None,
        "bleu_bound": bleu(translator, [str(each) for each in bound], references) if terms else None,
    }


def report(result: dict[str, Any]) -> str:
    """The result as a page."""
    kinds = result["writing"].items()
    rows = "\n".join(f"| {name} | {row['as_it_stands']} | {row['by_rules']} |" for name, row in kinds)
    terms, chinese = result["terms"], result["chinese"]
    counted = ""
    if chinese:
        counted = (
            f"\nOf {chinese['n_lines']:,} translations {chinese['as_it_stands']:,} break a rule of setting Chinese as "
            f"the model writes them, {chinese['by_rules']:,} as they come out.\n"
        )
    for name, (n_lines, n_changed) in result["references"].items():
        counted += f"\n{name}: the rules change {n_changed / n_lines:.1%} of {n_lines:,} references.\n"
    if (clean := result["clean"])["n_lines"]:
        counted += f"\nOf {clean['n_lines']:,} clean lines ({', '.join(clean['languages'])}) "
        counted += f"{len(clean['taken'])} are taken for another of these languages.\n"
    return (
        f"# Odd input, {result['date']}\n\n`{command()}`\n\n{machine_lines(result['hardware'], result['threads'])}\n\n"
        f"{result['model']}, {result['n_lines']} lines.\n\n"
        f"| writing | BLEU as it stands | by the rules |\n|---|---:|---:|\n{rows}\n\n"
        f"{terms['n_held']} of {terms['n_lines']} terms held; BLEU of these lines {terms['bleu_free']} without and "
        f"{terms['bleu_bound']} with the glossary.\n{counted}"
    )


def main() -> None:
    """Measure and publish."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--src", type=Path)
    parser.add_argument("--ref", type=Path)
    parser.add_argument(
        "--texts", type=Path, nargs="+", default=[], help="for a model that writes Chinese: to count in"
    )
    parser.add_argument("--references", type=Path, nargs="+", default=[], help="Chinese that people wrote: to count in")
    parser.add_argument("--clean", type=Path, nargs="+", default=[], help="files NAME.LANGUAGE: to count in")
    parser.add_argument("--lines", type=how_many, default=400)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path, nargs="?", const=RESULTS)
    options = parser.parse_args()
    if not options.quick and None in (options.model, options.src, options.ref):
        parser.error("give --model, --src and --ref, or --quick")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = options.model or demo_model(folder, steps=20)
        src, ref = options.src or folder / "demo" / "test.en", options.ref or folder / "demo" / "test.zh"
        n_lines = 20 if options.quick else options.lines
        sides = lines_of(src)[:n_lines], lines_of(ref)[:n_lines]
        texts = [line for path in options.texts or [src] for line in lines_of(path) if line.strip()]
        texts = texts[:n_lines] if options.quick else texts
        translator = Translator.load(model, engine="torch")
        info = translator.bundle.info
        result = {
            "benchmark": "odd_input",
            "date": datetime.date.today().isoformat(),
            "model": f"{info.src_lang} to {info.tgt_lang}, {info.step} updates",
            "n_lines": len(sides[0]),
            "writing": writing_table(translator, *sides),
            "chinese": chinese_table(translator, texts) if base(info.tgt_lang) in CHINESE else {},
            "references": reference_table(options.references),
            "clean": clean_table(options.clean),
            "terms": term_table(translator, *sides),
            "threads": hardware.default_threads(),
            "hardware": {**hardware.describe(), "yiwen": yiwen.__version__},
        }
    publish(
        result,
        report(result),
        folder=options.output,
        stem=f"odd_input-{result['date']}-{info.src_lang}-{info.tgt_lang}",
    )


if __name__ == "__main__":
    run_main(main)
