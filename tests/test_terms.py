"""Addresses, codes and glossary terms come through: by symbols that a model has learnt to copy, or by the search."""

from __future__ import annotations

import random
import re
import shutil
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tiny_model import TinyRun, exported, tampered, write_tiny_recipe
from yiwen.bundle import open_bundle
from yiwen.cli.main import main
from yiwen.data.store import TextPairs
from yiwen.engines.engine import FindsTerms, Ids
from yiwen.errors import CheckpointError, ConfigError
from yiwen.evaluation import calibration
from yiwen.evaluation.metrics import quick_score
from yiwen.export.ctranslate2 import export_ctranslate2
from yiwen.measure import calibrate_once
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe
from yiwen.search.config import SearchConfig
from yiwen.search.hypothesis import Hypothesis
from yiwen.text.glossary import Glossary
from yiwen.translator import Translator

SEARCHES = [SearchConfig(beam_size=1), SearchConfig(beam_size=4)]


def codes(rng: random.Random) -> str:
    """A code, a file or an address that was never seen before."""
    word = "".join(rng.choice("bcdfghjklmnpqrstvwxz") for _ in range(rng.randint(3, 6)))
    number = rng.randint(10, 999_999)
    return rng.choice(
        [
            f"{word.upper()}-{number}",
            f"{word}_{number}.txt",
            f"https://{word}.org/{number}",
            f"{{{word}}}",
            f"{word}@{word}.de",
        ]
    )


def with_code(code: str, rng: random.Random, *sides: str) -> list[str]:
    """The sides, which are word by word the same, with a code at the same place."""
    words = [side.removesuffix(".").split() for side in sides]
    place = rng.randint(1, len(words[0]))
    return [" ".join([*side[:place], code, *side[place:]]) + "." for side in words]


@pytest.fixture(scope="module")
def coded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with symbols, trained on sentences of which many hold a code, and an exported engine in it."""
    base = tmp_path_factory.mktemp("coded")
    recipe = write_tiny_recipe(base)
    rng = random.Random(5)
    for part in ("train", "valid"):
        sides = [(base / f"{part}.{lang}").read_text("utf-8").split("\n")[:-1] for lang in ("en", "de")]
        pairs = [with_code(codes(rng), rng, *pair) for pair in zip(*sides, strict=True)]
        for lang, side in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
            (base / f"{part}.{lang}").write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    text = recipe.read_text("utf-8").replace("vocab_size = 340", "vocab_size = 400\nplaceholders = 3")
    text = text.replace("max_tokens = 24", "max_tokens = 60").replace("max_steps = 180", "max_steps = 350")
    recipe.write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("YIWEN_RUNS", str(base / "runs"))
        folder, _ = train_recipe(load_recipe(str(recipe)))
    return exported(folder / "best", base / "bundle")


@pytest.fixture(scope="module")
def sources(tiny_run: TinyRun) -> list[str]:
    return (tiny_run.recipe.parent / "test.en").read_text("utf-8").split("\n")[:-1]


@pytest.fixture(scope="module")
def dictionary(tiny_run: TinyRun, sources: list[str]) -> dict[str, str]:
    """The language of the tiny model, word by word."""
    references = (tiny_run.recipe.parent / "test.de").read_text("utf-8").split("\n")[:-1]
    pairs = zip(" ".join(sources).lower().split(), " ".join(references).lower().split(), strict=True)
    return {src.strip("."): tgt.strip(".") for src, tgt in pairs}


def test_words_are_aligned_as_the_model_reads_codes(
    coded: Path, sources: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator.load(coded, engine="torch", threads=1)
    asked: list[list[list[int]]] = []
    attend = translator.engine.attend
    monkeypatch.setattr(
        translator.engine, "attend", lambda *sides, **more: asked.extend(sides) or attend(*sides, **more)
    )
    text = "Deti a-1.txt gedi."
    (found,) = translator.align([text], ["Det b.py, gedi a-1.txt!"])
    given = ["Deti ⟦0⟧ gedi."], ["Det b.py, gedi ⟦0⟧!"]
    bundle = translator.bundle
    assert asked == [bundle.source.encode(given[0]), bundle.target.encode(given[1])]
    assert [text[start:end] for start, end in found.src] == ["Deti", "a-1.txt", "gedi", "."]
    code = len(found.tgt) - 2  # before the "!"
    assert {(i, j) for i, j, _ in found.links if i == 1 or j == code} == {(1, code)}, "what is kept is itself"


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_codes_that_were_never_seen_are_kept(engine: str, coded: Path, sources: list[str]) -> None:
    translator = Translator.load(coded, engine=engine, threads=1)
    rng = random.Random(6)
    kept = [codes(rng) for _ in sources]
    texts = [with_code(code, rng, source)[0] for code, source in zip(kept, sources, strict=True)]
    for search in SEARCHES:
        found = translator.translate(texts, search=search)
        lost = [t for t, code in zip(found, kept, strict=True) if t.text.count(code) != 1]
        assert len(lost) <= len(texts) / 10
        assert all("placeholders" in t.flags for t in lost)
        assert not any("⟦" in t.text for t in found)


def test_more_codes_than_symbols_and_our_own_symbols_do_no_harm(coded: Path, sources: list[str]) -> None:
    translator = Translator.load(coded, threads=1)
    many = " ".join(f"AB-{number}" for number in range(9))
    (found, own) = translator.translate([f"{sources[0]} {many}", f"{sources[0]} ⟦2⟧"])
    assert "AB-" in found.text
    assert "⟦" not in found.text
    assert set(re.findall("⟦.⟧", own.text)) <= {"⟦2⟧"}


def test_what_is_usual_is_measured_on_text_as_a_model_with_symbols_reads_it(
    coded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(coded.parent / "runs"))
    monkeypatch.setattr(calibration, "MIN_PAIRS", 30)
    translator = Translator.load(shutil.copytree(coded, tmp_path / "model"), engine="torch", threads=1)
    asked, measured, search = [], [], translator.engine.search

    def spied(sources: Sequence[Ids], **how: Any) -> list[list[Hypothesis]]:
        asked.extend(translator.bundle.source.decode(sources))
        return search(sources, **how)

    def lengths(src: Sequence[Ids], ref: Sequence[Ids], weights: calibration.Weights) -> dict[str, Any]:
        measured.extend(translator.bundle.target.decode(ref))
        return usual_lengths(src, ref, weights)

    usual_lengths = calibration.usual_lengths
    monkeypatch.setattr(translator.engine, "search", spied)
    monkeypatch.setattr(calibration, "usual_lengths", lengths)
    calibrate_once(translator)
    assert translator.usual is not None
    assert [text.count("⟦0⟧") for text in asked + measured] == [1] * 60


def test_an_export_is_compared_on_text_as_users_have_it_read_and_written(
    coded: Path, tmp_path: Path, tiny_run: TinyRun
) -> None:
    sides = ((tiny_run.recipe.parent / f"test.{lang}").read_text("utf-8").split("\n")[:-1] for lang in ("en", "de"))
    rng = random.Random(7)
    pairs = [with_code(codes(rng), rng, *pair) for pair in zip(*sides, strict=True)]
    sources, references = map(list, zip(*pairs, strict=True))
    found = Translator.load(coded, engine="torch", threads=1).translate(sources, checks=False)
    bleu = quick_score([t.text for t in found], references, tgt_lang="de", metric="bleu")
    valid = TextPairs(sources, references)
    report = export_ctranslate2(open_bundle(coded), dtype="int8", valid=valid, output=tmp_path / "new")
    assert report.verification["int8"]["n_lines"] == len(sources)
    assert report.verification["int8"]["bleu_trained"] == pytest.approx(bleu)


def test_who_packs_a_model_with_symbols_is_told_that_argos_knows_none(
    coded: Path, tiny_run: TinyRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for model in (coded, exported(tiny_run.best, tmp_path / "plain")):
        assert main(["package", str(model), "--output", str(tmp_path / "a.argosmodel")]) == 0
        told.append("note: Argos knows no symbols" in capsys.readouterr().err)
    assert told == [True, False]


def test_a_translation_is_as_likely_when_it_is_scored_as_when_it_was_found(coded: Path, sources: list[str]) -> None:
    translator = Translator.load(coded, engine="torch", threads=1)
    rng = random.Random(8)
    texts = [with_code(codes(rng), rng, source)[0] for source in sources]
    search = SearchConfig(beam_size=1, length_penalty=1.0)
    found = translator.translate(texts, search=search, checks=False)
    scores = translator.score(texts, [t.text for t in found])
    same = [t.score == pytest.approx(score.per_token, abs=1e-3) for t, score in zip(found, scores, strict=True)]
    assert sum(same) >= 0.9 * len(texts), "all but those that are cut into subwords in another way than they came"
    composed = "Deti caf\u00e9.txt gedi."
    in_parts = unicodedata.normalize("NFD", composed)
    (expected,) = translator.score([composed], [composed])
    assert translator.score([in_parts], [composed]) == [expected], "a name is one name however its accents are written"


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_terms_of_a_glossary_stand_in_the_translation(
    engine: str, coded: Path, sources: list[str], dictionary: dict[str, str]
) -> None:
    translator = Translator.load(coded, engine=engine, threads=1)
    words = sorted(dictionary)[:8]
    # Half of the terms are translated in another way, half are not translated at all.
    glossary = Glossary({word: ("Xaver" if i % 2 else word) for i, word in enumerate(words)})
    texts = [source for source in sources if len(glossary.find(source)) == 1]
    assert len(texts) > 10
    for search in SEARCHES:
        found = translator.translate(texts, glossary=glossary, search=search)
        wanted = [[target for _, _, target in glossary.find(text)] for text in texts]
        has_all = [
            all(term.lower() in t.text.lower() for term in terms) for t, terms in zip(found, wanted, strict=True)
        ]
        assert sum(has_all) >= (1.0 if engine == "torch" else 0.9) * len(texts)
        assert [not each for each in has_all] == ["glossary" in t.flags for t in found]
    plain = translator.translate(texts)
    assert not any("Xaver" in t.text for t in plain)


def test_a_term_that_a_prefix_holds_is_not_written_once_more(coded: Path, sources: list[str]) -> None:
    translator = Translator.load(coded, engine="ctranslate2", threads=1)
    glossary = Glossary(dict.fromkeys([source.split()[0].lower() for source in sources[:6]], "xaver"))
    texts = [source for source in sources if len(glossary.find(source)) == 1]
    free = [t.text for t in translator.translate(texts, glossary=glossary)]
    for prefixes in ([text[: text.find("xaver") + 5] for text in free], ["Xaver"] * len(texts)):  # inside, in front
        found = [t.text for t in translator.translate(texts, glossary=glossary, prefixes=prefixes)]
        assert all(text.startswith(prefix) for text, prefix in zip(found, prefixes, strict=True))
        assert sum(text.lower().count("xaver") == 1 for text in found) >= 0.9 * len(texts)


def test_the_search_holds_every_term_and_costs_little_where_the_model_knows_it(
    tiny_run: TinyRun, sources: list[str], dictionary: dict[str, str]
) -> None:
    translator = Translator.load(tiny_run.best, threads=1)
    known = Glossary(dict(list(dictionary.items())[:5]))
    search = SearchConfig(beam_size=4)
    texts = [source for source in sources if known.find(source)]
    free = translator.translate(texts, search=search, checks=False)
    bound = translator.translate(texts, search=search, glossary=known, checks=False)
    assert all("glossary" not in t.flags for t in bound)
    same = [a.text == b.text for a, b in zip(free, bound, strict=True)]
    assert sum(same) > 0.6 * len(texts)
    changed = sum(a.score - b.score for a, b in zip(free, bound, strict=True)) / len(texts)
    assert abs(changed) < 0.5


def test_a_text_that_is_a_term_is_its_translation_and_case_follows_the_source(tiny_run: TinyRun) -> None:
    translator = Translator.load(tiny_run.best, threads=1)
    glossary = Glossary({"deti": "haus", "iPhone": "iPhone"})
    found = translator.translate(["Deti", "iPhone!", "deti", ""], glossary=glossary)
    assert [t.text for t in found] == ["haus", "iPhone!", "haus", ""]
    assert [t.flags for t in found] == [(), (), (), ()]
    (begun,) = translator.translate(["Deti gedi bapu."], glossary=Glossary({"deti": "haus"}), prefixes=["haus"])
    assert begun.text.startswith("Haus")
    (begun,) = translator.translate(["Deti gedi bapu."], glossary=Glossary({"deti": "haus"}), prefixes=["Gemi"])
    assert begun.text.startswith("Gemi")
    assert "haus" in begun.text


@pytest.mark.parametrize("search", [{"mbr": 1}, {"mbr": 3}, {"n_best": 2}, {"sampling": True}])
def test_terms_go_with_every_search(tiny_run: TinyRun, search: dict[str, int]) -> None:
    translator = Translator.load(tiny_run.best, threads=1)
    config = SearchConfig(**search)  # type: ignore[arg-type]
    (found,) = translator.translate(["Deti gedi bapu."], glossary=Glossary({"deti": "haus"}), search=config)
    assert "haus" in found.text.lower()


def test_what_most_candidates_agree_on_holds_the_terms_too(tiny_run: TinyRun, monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator.load(tiny_run.best, threads=1)
    search = translator.engine.search
    sentence, other = "Deti gedi bapu.", "Beti peku lino mero."
    said = [translator.translate([text], checks=False)[0].text for text in (sentence, other)]
    ids = [translator.bundle.source.encode([text])[0] for text in (sentence, other)]
    word = next(word for word in said[0].rstrip(".").split() if word.lower() not in said[1].lower())

    def candidates(sources: Sequence[Ids], **how: Any) -> list[list[Hypothesis]]:
        (first, *_), (second, *_) = search(ids, **how)
        return [[first, second, second, second]]

    monkeypatch.setattr(translator.engine, "search", candidates)
    agreed = SearchConfig(beam_size=4, mbr=4)
    (free,) = translator.translate([sentence], search=agreed, checks=False)
    (bound,) = translator.translate([sentence], search=agreed, glossary=Glossary({"deti": word}), checks=False)
    assert (free.text, bound.text, bound.flags) == (said[1], said[0], ())


def test_terms_stand_inside_of_chinese_without_a_blank(tiny_run: TinyRun) -> None:
    from yiwen.asking import term_ids
    from yiwen.bundle import open_bundle

    target = open_bundle(tiny_run.best).target
    for lang, blank in (("zh", ""), ("de", " ")):
        ids = term_ids("头发", target, lang)
        assert target.decode([[*target.encode(["a"])[0], *ids]]) == [f"a{blank}头发"]


def test_terms_are_searched_for_in_the_script_that_the_model_writes(
    tiny_run: TinyRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tampered(tiny_run.best, tmp_path / "zh", tgt_lang="zh-Hans")
    translator = Translator.load(folder, threads=1, tgt_lang="zh-Hant")
    engine, told = translator.engine, []
    assert isinstance(engine, FindsTerms)
    search_terms = engine.search_terms

    def watched(sources: Sequence[Ids], terms: Sequence[Sequence[Ids]], **how: Any) -> list[list[Hypothesis]]:
        told.extend(translator.bundle.target.decode(terms[0]))
        return search_terms(sources, terms, **how)

    monkeypatch.setattr(engine, "search_terms", watched)
    (found,) = translator.translate(["Deti gedi bapu."], glossary=Glossary({"deti": "頭髮"}))
    assert told == ["头发"]
    assert "頭髮" in found.text
    assert "glossary" not in found.flags


def test_an_exported_model_without_symbols_asks_the_trained_one_for_what_lacks_its_terms(exported_bundle: Path) -> None:
    exported, trained = (Translator.load(exported_bundle, engine=name, threads=1) for name in ("auto", "torch"))
    assert exported.engine.description.startswith("CTranslate2")
    sentences, glossary = ["Deti gedi bapu.", "Beti peku lino mero."], Glossary({"deti": "haus"})
    ours, theirs = (each.translate(sentences, glossary=glossary) for each in (exported, trained))
    assert [t.text for t in ours] == [t.text for t in theirs]
    assert "aus" in ours[0].text
    assert [t.flags for t in ours] == [t.flags for t in theirs]


def test_a_sentence_that_is_nothing_but_a_term_is_a_part_of_its_own(tiny_run: TinyRun) -> None:
    translator = Translator.load(tiny_run.best, threads=1)
    text, glossary = "Deti. Gedi bapu.\n\n Deti.", Glossary({"deti": "haus"})
    (found,) = translator.translate([text], glossary=glossary, by_sentence=True)
    assert [text[piece.src_start : piece.src_end] for piece in found.sentences] == ["Deti.", "Gedi bapu.", "Deti."]
    written = [found.text[piece.tgt_start : piece.tgt_end] for piece in found.sentences]
    assert (written[0], written[2]) == ("haus.", "haus.")


def test_a_model_that_can_keep_to_no_glossary_says_so(exported_bundle: Path) -> None:
    translator = Translator.load(exported_bundle, engine="ctranslate2", threads=1)
    with pytest.raises(ConfigError, match="a glossary needs engine='torch', or a model with symbols"):
        translator.translate(["Deti."], glossary=Glossary({"deti": "haus"}))


def test_a_model_that_was_replaced_is_not_asked_for_terms(tiny_run: TinyRun, tmp_path: Path) -> None:
    """What the exported engine has no search for is read from the folder later, which may hold another model then."""
    bundle = exported(tiny_run.best, tmp_path / "bundle")
    translator, glossary = Translator.load(bundle, threads=1), Glossary({"deti": "haus"})
    (before,) = translator.translate(["Deti gedi bapu."])
    shutil.rmtree(bundle)
    exported(tiny_run.early, bundle)
    assert translator.translate(["Deti gedi bapu."]) == [before]
    with pytest.raises(CheckpointError, match="bundle holds another model than when it was opened; load it again"):
        translator.translate(["Deti gedi bapu."], glossary=glossary)
    assert "haus" in Translator.load(bundle, threads=1).translate(["Deti gedi bapu."], glossary=glossary)[0].text


def test_a_fault_is_searched_for_anew_where_no_search_was_told_a_term(
    tiny_run: TinyRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator.load(tiny_run.best, engine="torch", threads=1)
    said_anyway = translator.translate(["Deti bapu 1234."], checks=False)[0].text.split()[0].lower()
    search, beams = translator.engine.search, []

    def watched(sources: Sequence[Ids], *, config: SearchConfig, **how: Any) -> list[list[Hypothesis]]:
        beams.append((len(sources), config.beam_size))
        return search(sources, config=config, **how)

    monkeypatch.setattr(translator.engine, "search", watched)
    for term, n_again in (("haus", 1), (said_anyway, 2)):
        beams.clear()
        translator.translate(["Gedi bapu 1234.", "Deti bapu 1234."], glossary=Glossary({"deti": term}))
        assert beams == [(2, 5), (n_again, 10)]
