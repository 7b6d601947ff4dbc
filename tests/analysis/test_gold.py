"""The alignment error rate: worked by hand, projected to other words, read from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tiny_model import TinyRun
from yiwen.analysis.alignment import Alignment
from yiwen.analysis.gold import Gold, error_rate, measure_alignment, projected, read_gold
from yiwen.bundle import open_bundle
from yiwen.data.demo import write_demo
from yiwen.errors import DataError

# "I drink tea" / "我喝茶": word for word
GOLD = Gold(
    src="I drink tea",
    tgt="我喝茶",
    src_spans=((0, 1), (2, 7), (8, 11)),
    tgt_spans=((0, 1), (1, 2), (2, 3)),
    alignment=((0, 0), (1, 1), (2, 2)),
)


def alignment(tgt: tuple[tuple[int, int], ...], *links: tuple[int, int]) -> Alignment:
    return Alignment(GOLD.src_spans, tgt, tuple((i, j, 0.5) for i, j in links))


def test_the_error_rate_is_that_of_the_paper() -> None:
    # A = {00, 11, 21}, S = P = {00, 11, 22}: 1 - (2 + 2) / (3 + 3)
    found = error_rate([alignment(GOLD.tgt_spans, (0, 0), (1, 1), (2, 1))], [GOLD])
    assert found.aer == pytest.approx(1 / 3)
    assert (found.precision, found.recall, found.n_pairs) == (pytest.approx(2 / 3), pytest.approx(2 / 3), 1)
    assert str(found) == "alignment error rate 0.333 (precision 0.667, recall 0.667) on 1 pairs"


def test_links_of_a_subword_that_is_two_words_are_possible_and_not_sure() -> None:
    whole = alignment(((0, 1), (1, 3)), (0, 0), (1, 1))  # 喝茶 is one subword
    assert projected(whole, GOLD) == ({(0, 0)}, {(0, 0), (1, 1), (2, 1)})
    assert error_rate([whole], [GOLD]).aer == 0.0
    wrong = alignment(((0, 1), (1, 3)), (0, 1))
    assert error_rate([wrong], [GOLD]).aer == 1.0


def test_half_words_inherit_the_links_of_their_word() -> None:
    gold = Gold(src="tea", tgt="茶", src_spans=((0, 3),), tgt_spans=((0, 1),), alignment=((0, 0),))
    halves = Alignment(((0, 2), (2, 3)), ((0, 1),), ((0, 0, 1.0),))
    assert projected(halves, gold)[0] == {(0, 0), (1, 0)}
    assert error_rate([halves], [gold]).recall == 0.5


def test_no_links_at_all_are_as_wrong_as_can_be_and_nothing_to_find_is_right() -> None:
    assert error_rate([alignment(GOLD.tgt_spans)], [GOLD]).aer == 1.0
    assert error_rate([], []).aer == 1.0


def test_the_demo_writes_gold_files(tmp_path: Path) -> None:
    corpus = write_demo(tmp_path, n_train=2000, n_valid=7, n_test=11)
    gold = read_gold(tmp_path / "test.align.jsonl")
    assert [pair.src for pair in gold] == [pair.src for pair in corpus.test]
    assert gold[3].alignment == corpus.test[3].alignment
    assert gold[3].tgt_spans == corpus.test[3].tgt_spans


LINE = '{"src": "a", "tgt": "b", "src_spans": [[0, 1]], "tgt_spans": [[0, 1]], "alignment": [[0, 0]]}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (f"{LINE}\nnonsense\n", r"gold.jsonl, line 2: no gold alignment \(Expecting value"),
        (LINE.replace('"tgt": "b", ', ""), r"line 1: no gold alignment \('tgt'\)"),
        (LINE.replace("[[0, 0]]", "[[0, 1]]"), r"line 1: no gold alignment \(a link names a span that is not there\)"),
        (LINE.replace("[[0, 0]]", "[[-1, 0]]"), "line 1: .* a span that is not there"),
        (LINE.replace("[[0, 0]]", "[[0, -1]]"), "line 1: .* a span that is not there"),
        (LINE.replace('"tgt_spans": [[0, 1]]', '"tgt_spans": [[0, 3]]'), r"line 1: .* \(a span is not within its text"),
        (LINE.replace('"src": "a"', '"src": null'), "line 1: no gold alignment"),
        ("", "line 1: no gold alignment"),
    ],
)
def test_a_line_that_is_no_gold_alignment_is_named(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_gold(tmp_path / "gold.jsonl")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gold.jsonl cannot be read \(No such file"):
        read_gold(tmp_path / "gold.jsonl")


def test_the_error_rate_of_a_model_is_that_of_its_alignments(tiny_run: TinyRun, tmp_path: Path) -> None:
    lines = (tiny_run.recipe.parent / "test.en").read_text(encoding="utf-8").split("\n")[:5]
    targets = (tiny_run.recipe.parent / "test.de").read_text(encoding="utf-8").split("\n")[:5]
    rows = []
    for src, tgt in zip(lines, targets, strict=True):
        spans = []
        for text in (src, tgt):
            ends = [i for i, char in enumerate(text) if char in " ."]
            starts = [0, *(end + 1 for end in ends[:-1])]
            spans.append([[start, end] for start, end in zip(starts, ends, strict=True)])
        links = [[i, i] for i in range(len(spans[0]))]
        rows.append({"src": src, "tgt": tgt, "src_spans": spans[0], "tgt_spans": spans[1], "alignment": links})
    (tmp_path / "gold.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    found = measure_alignment(open_bundle(tiny_run.best), tmp_path / "gold.jsonl")
    assert found.n_pairs == 5
    assert 0.0 < found.aer < 0.8
