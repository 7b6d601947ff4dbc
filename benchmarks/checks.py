"""How many faults the checks find, how often they cry wolf, what they cost, and what repairs gain.

    python benchmarks/checks.py --model runs/multi30k-en-de --model runs/en-zh --output
    python benchmarks/checks.py --quick         # ends within a minute: the generated demo corpus, no model

Text: people's translations of a development set are taken for good ones. What is usual is measured on every other
line; the rest is checked as it is (false alarms) and with a fault planted in it: a clause omitted, a phrase repeated, a
number changed, a placeholder lost; then the halves change places. Multi30k, Tatoeba, 3AM, Wikipedia, the Python and the
PostgreSQL manual where YIWEN_DATA is set, else the generated demo corpus. Once with weights of subwords learnt from the
set's own training text, and once more with those of each model of the two languages, from all that it was trained on.
It translates nothing here.

Model: the development set of a model's recipe is translated with checks and without, in turn, by processor time. Faults
are planted into the translations that passed. Without --model this part is left out.

`benchmarks/sides/faults.py` holds the faults. Prints one JSON object as its last line.
"""

from __future__ import annotations

import argparse
import datetime
import os
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yiwen
from sides.faults import Pair, changed_number, lost_placeholder, omitted_clause, repeated_phrase
from sides.report import RESULTS, how_many, machine_lines, publish, run_main
from yiwen import hardware
from yiwen.data.config import DataConfig
from yiwen.data.corpus import CorpusConfig
from yiwen.data.demo import write_demo
from yiwen.data.prepare import prepare
from yiwen.data.store import Store
from yiwen.evaluation.calibration import Calibration, Usual, Weights, sentence_scores, usual_lengths
from yiwen.evaluation.checks import FAULTS, check
from yiwen.evaluation.metrics import quick_score
from yiwen.evaluation.review import Answer, Rules, review
from yiwen.evaluation.weights import learn_weights
from yiwen.measure import calibrate_once
from yiwen.recipe import runs_root
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag
from yiwen.text.normalise import normalise
from yiwen.text.subword import Subword, TokenizerConfig
from yiwen.translator import Translator

SETS: tuple[tuple[str, str, str, str, str], ...] = (
    ("multi30k", "train", "val", "en", "de"),
    ("multi30k", "train", "val", "en", "fr"),
    ("tatoeba-en-zh", "train", "dev", "en", "zh"),
    ("tatoeba-en-zh", "train", "dev", "zh", "en"),
    ("3am-en-zh", "train", "dev", "en", "zh"),
    ("mlqe-wiki-en-zh", "train", "dev", "en", "zh"),
    ("pydocs-en-zh", "train", "dev", "en", "zh"),
    ("pgdocs-en-zh", "train", "dev", "en", "zh"),
)
FOUND_BY = {
    "clause omitted": {"omission", "length_ratio"},
    "phrase repeated": {"loop"},
    "number changed": {"numbers"},
    "placeholder lost": {"placeholders"},
}
LARGE = 0.4
"""Share of the characters from which on an omitted clause is counted once more, as a large one."""

Flags = Callable[[Pair], tuple[str, ...]]
"""What the checks say of a pair."""


def text_part(folder: Path, models: Sequence[tuple[str, Translator]], *, is_quick: bool) -> list[dict[str, Any]]:
    """A row for each development set, and one more for each model of its languages."""
    data = os.environ.get("YIWEN_DATA", "")
    if data and not is_quick:
        corpora = [
            (f"{name} {src}-{tgt}", Path(data) / name, train, dev, src, tgt) for name, train, dev, src, tgt in SETS
        ]
    else:
        write_demo(folder / "demo", n_train=4_000, n_valid=400, n_test=1)
        corpora = [("demo en-zh", folder / "demo", "train", "valid", "en", "zh")]
    rows = []
    for name, home, train, dev, src, tgt in corpora:
        pair = CorpusConfig(src=str(home / f"{train}.{src}"), tgt=str(home / f"{train}.{tgt}"))
        valid = CorpusConfig(src=str(home / f"{dev}.{src}"), tgt=str(home / f"{dev}.{tgt}"))
        config = DataConfig(src_lang=src, tgt_lang=tgt, corpora=(pair,), valid=valid, test_pairs=0)
        prepared = prepare(config, TokenizerConfig(), root=folder, base=home, stop=StopFlag(), progress=False)
        store = Store.open(prepared.folder)
        pairs = [(normalise(a), normalise(b)) for a, b in zip(*store.valid, strict=True)]
        pairs = [both for both in pairs if all(both)]
        ways: list[tuple[str | None, Weights, Subword, Subword]] = [
            (None, learn_weights(store), store.source, store.target)
        ]
        for each, translator in models:
            bundle = translator.bundle
            if (bundle.info.src_lang, bundle.info.tgt_lang) == (src, tgt) and translator.usual is not None:
                ways.append((each, translator.usual.weights, bundle.source, bundle.target))
        for model, weights, source, target in ways:
            began = time.perf_counter()
            rows.append({"set": name, "model": model} | checked_set(pairs, weights, source, target, src, tgt))
            print(f"{name}, weights of {model or 'its own'}: {time.perf_counter() - began:.0f} s", flush=True)
    return rows


def checked_set(
    pairs: Sequence[Pair], weights: Weights, source: Subword, target: Subword, src: str, tgt: str
) -> dict[str, Any]:
    """Check one development set, clean and with faults."""
    rng = random.Random(1)
    alarms: Counter[str] = Counter()
    faults: list[tuple[str, bool, float]] = []
    for half in (0, 1):
        seen = pairs[half::2]
        sources, references = zip(*seen, strict=True)
        ids = source.encode(sources), target.encode(references)
        lengths = usual_lengths(*ids, weights)
        nothing: dict[str, Any] = {"good_at": 0.0, "weights": (), "error": 0.0, "reliability": ()}
        usual = Usual(Calibration(n_pairs=len(seen), **lengths, **nothing), weights)
        flags = flags_of(usual, source, target, src, tgt)
        for pair in pairs[1 - half :: 2]:
            found = flags(pair)
            alarms.update({*found, "any"} if found else ())
            faults += planted(pair, flags, src, tgt, rng)
    false_alarms = {flag: n / len(pairs) for flag, n in sorted(alarms.items())}
    return {"lines": len(pairs), "false_alarms": false_alarms, "found": summary(faults)}


def flags_of(usual: Usual | None, source: Subword, target: Subword, src: str, tgt: str) -> Flags:
    """The checks as a function of a pair."""

    def flags(pair: Pair) -> tuple[str, ...]:
        (src_ids,), (tgt_ids,) = source.encode([pair[0]]), target.encode([pair[1]])
        more = usual.faults(src_ids, tgt_ids) if usual is not None else ()
        return check(*pair, src_lang=src, tgt_lang=tgt, more=more)

    return flags


def planted(pair: Pair, flags: Flags, src: str, tgt: str, rng: random.Random) -> list[tuple[str, bool, float]]:
    """Of each fault that can be planted into a pair: its name, whether it was found, how much of the words it took."""
    with_placeholder, without = lost_placeholder(*pair, rng=rng)
    made: dict[str, Pair | None] = {
        "clause omitted": omitted_clause(*pair, tgt_lang=tgt, rng=rng),
        "phrase repeated": repeated_phrase(*pair, tgt_lang=tgt, rng=rng),
        "number changed": changed_number(*pair, src_lang=src, tgt_lang=tgt, rng=rng),
        "placeholder lost": without if not FOUND_BY["placeholder lost"] & {*flags(with_placeholder)} else None,
    }
    return [
        (name, bool(FOUND_BY[name] & {*flags(bad)}), 1 - len(bad[1]) / len(pair[1]))
        for name, bad in made.items()
        if bad is not None
    ]


def summary(faults: Sequence[tuple[str, bool, float]]) -> dict[str, dict[str, float]]:
    """How many faults of each kind there were, and the share that was found."""
    groups = {name: [found for kind, found, _ in faults if kind == name] for name in FOUND_BY}
    large = [found for kind, found, share in faults if kind == "clause omitted" and share >= LARGE]
    groups["clause omitted, 40 % or more"] = large
    return {
        name: {"n": len(found), "share": sum(found) / len(found)} for name, found in sorted(groups.items()) if found
    }


def model_part(translator: Translator, rounds: int) -> dict[str, Any]:
    """Cost, repairs, confidence, and faults in a model's own translations."""
    info = translator.bundle.info
    valid = Store.open(runs_root() / ".prepared" / info.data_fingerprint).valid
    sources, references = zip(*[(normalise(s), r) for s, r in zip(*valid, strict=True) if normalise(s)], strict=True)
    result: dict[str, Any] = {"engine": translator.engine.description, "lines": len(sources), "beams": {}}
    for beam in (5, 1):
        search = info.search.changed(beam_size=beam, n_best=1)
        times: dict[bool, list[float]] = {True: [], False: []}
        found: dict[bool, Any] = {}
        for _ in range(rounds):
            for checks in times:
                began = time.process_time()
                found[checks] = translator.translate(sources, search=search, checks=checks)
                times[checks].append(time.process_time() - began)
        before, looking = looked_at(translator, sources, [plain.text for plain in found[False]])
        result["beams"][str(beam)] = {
            "plain_s": statistics.median(times[False]),
            "looking": looking / statistics.median(times[False]),
            "all": statistics.median(a / b for a, b in zip(times[True], times[False], strict=True)) - 1,
            **gains(found[False], found[True], references, before, info.tgt_lang),
        }
        if beam == 5:
            bundle = translator.bundle
            vocabularies, languages = (bundle.source, bundle.target), (info.src_lang, info.tgt_lang)
            flags = flags_of(translator.usual, *vocabularies, *languages)
            passed = [(s, t.text) for s, t in zip(sources, found[True], strict=True) if not FAULTS & {*t.flags}]
            rng = random.Random(1)
            faults = [fault for pair in passed for fault in planted(pair, flags, *languages, rng)]
            result["found"] = summary(faults)
    if translator.usual is not None:
        calibration = translator.usual.calibration
        result["calibration_error"], result["reliability"] = calibration.error, calibration.reliability
    return result


def looked_at(translator: Translator, sources: Sequence[str], texts: Sequence[str]) -> tuple[list[Any], float]:
    """Faults of translations, and the processor time of finding them."""
    bundle = translator.bundle
    src_ids, tgt_ids = bundle.source.encode(list(sources)), bundle.target.encode(list(texts))
    answers = [
        Answer([Hypothesis(tuple(ids), -1.0, -9.0, True)], [text]) for ids, text in zip(tgt_ids, texts, strict=True)
    ]
    several = bundle.info.search.changed(beam_size=2, n_best=2)  # for which nothing is searched again
    rules = Rules(bundle=bundle, engine=translator.engine, usual=translator.usual, search=several)
    began = time.process_time()
    reviewed = review(answers, list(zip(sources, src_ids, strict=True)), rules=rules)
    return [answer.flags for answer in reviewed], time.process_time() - began


def gains(plain: Any, checked: Any, references: Sequence[str], before: Sequence[Any], tgt_lang: str) -> dict[str, Any]:
    """What repairs change."""
    changed = [i for i, (a, b) in enumerate(zip(plain, checked, strict=True)) if a.text != b.text]
    scores = {
        name: [
            quick_score([t.text for t in side], references, tgt_lang=tgt_lang, metric=name) for side in (plain, checked)
        ]
        for name in ("bleu", "chrf")
    }
    of_changed = [
        sentence_scores([side[i].text for i in changed], [references[i] for i in changed], tgt_lang=tgt_lang)
        for side in (plain, checked)
    ]
    return {
        "flagged_before": sum(map(bool, before)) / len(plain),
        "flagged_after": sum(bool(FAULTS & {*t.flags}) for t in checked) / len(plain),
        "repaired": sum("repaired" in t.flags for t in checked) / len(plain),
        **scores,
        "changed": len(changed),
        "changed_chrf": [statistics.mean(side) if side else None for side in of_changed],
        "changed_better": sum(b > a for a, b in zip(*of_changed, strict=True)) / max(len(changed), 1),
    }


def as_markdown(result: dict[str, Any]) -> str:
    """The result for a reader."""
    kinds = sorted({kind for row in result["sets"] for kind in row["found"]})
    header = ["development set", "weights of", "lines", "false alarms", *kinds]
    lines = [" | ".join(header), " | ".join(["---", "---", *["---:"] * (len(header) - 2)])]
    for row in result["sets"]:
        shares = [
            f"{row['found'][kind]['share']:.0%} of {row['found'][kind]['n']}" if kind in row["found"] else ""
            for kind in kinds
        ]
        alarms = f"{row['false_alarms'].get('any', 0):.2%}"
        lines.append(" | ".join([row["set"], row["model"] or "its own", f"{row['lines']:,}", alarms, *shares]))
    table = "\n".join(f"| {line} |" for line in lines)
    return f"""# Checks, {result["date"]}

{machine_lines(result["hardware"], 1)}
- command: `{result["command"]}`

What is usual was measured on every other line; false alarms and planted faults are those of the rest, both ways.

{table}

{chr(10).join(map(model_markdown, result["models"])) or "- not measured: a model, give one by --model"}
"""


def model_markdown(model: dict[str, Any]) -> str:
    """The model's part."""
    rows = [
        f"| {beam} | {b['looking']:.1%} | {b['all']:.1%} | {b['flagged_before']:.1%} | {b['flagged_after']:.1%} | "
        f"{b['bleu'][0]:.2f} → {b['bleu'][1]:.2f} | {b['chrf'][0]:.2f} → {b['chrf'][1]:.2f} | "
        f"{b['changed_better']:.0%} of {b['changed']} |"
        for beam, b in model["beams"].items()
    ]
    found = ", ".join(f"{kind}: {f['share']:.1%} of {f['n']}" for kind, f in model["found"].items())
    error = f"{model['calibration_error']:.1%}" if "calibration_error" in model else "not calibrated"
    return f"""Model {model["name"]} ({model["engine"]}), {model["lines"]:,} lines of its development set:

| beam | looking costs | with repairs | flagged | flagged after | BLEU | chrF2 | repairs with a higher chrF2 |
|---:|---:|---:|---:|---:|---:|---:|---:|
{chr(10).join(rows)}

Faults planted into translations that passed: {found}. Expected calibration error of the confidence: {error}.
"""


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--model",
        type=Path,
        action="append",
        default=[],
        help="a bundle or a run whose text lies prepared; repeatable; none: no part on a model",
    )
    parser.add_argument("--rounds", type=how_many, default=3, help="translations with checks and without, in turn")
    parser.add_argument("--quick", action="store_true", help="the generated demo corpus")
    parser.add_argument("--output", type=Path, nargs="?", const=RESULTS, help="folder for .md and .json")
    return parser.parse_args()


def main() -> None:
    """Measure, show, and write where asked to."""
    options = parsed()
    models = []
    for path in options.model:
        translator = Translator.load(path, threads=1)
        calibrate_once(translator)
        name = path.absolute().parent.name if path.name in ("best", "final") else path.name
        models.append((name, translator))
    with tempfile.TemporaryDirectory() as name:
        sets = text_part(Path(name), models, is_quick=options.quick)
    result = {
        "benchmark": "checks",
        "date": datetime.date.today().isoformat(),
        "command": " ".join(["python benchmarks/checks.py", *(f"--model runs/{name}" for name, _ in models)]),
        "sets": sets,
        "models": [{"name": name} | model_part(translator, options.rounds) for name, translator in models],
        "hardware": {**hardware.describe(), "yiwen": yiwen.__version__},
    }
    publish(result, as_markdown(result), folder=options.output, stem=f"checks-{result['date']}")


if __name__ == "__main__":
    run_main(main)
