"""Labelled text: CSV, CoNLL and whole numbers are read; labels are numbered, counted, and never judged as text."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from yiwen.data.config import DataConfig
from yiwen.data.corpus import CorpusConfig, read_blocks
from yiwen.data.heldout import check_held_out
from yiwen.data.labels import MOST_LABELS, count_labels, numbered
from yiwen.data.loader import lengths_of, load_labelled
from yiwen.data.prepare import Prepared, prepare
from yiwen.data.store import Store
from yiwen.errors import DataError
from yiwen.text.subword import PAD_ID, UNK_ID, Subword, TokenizerConfig, encode_words, train_subword

TOKENIZER = TokenizerConfig(kind="bpe", vocab_size=300, character_coverage=1.0)
LABELLED = {"src_column": "text", "tgt_column": "label"}


def read(corpus: CorpusConfig, base: Path) -> list[tuple[bytes | None, bytes | None]]:
    blocks = read_blocks(corpus, base=base, src_lang="en", tgt_lang="", size=2)
    return [pair for block in blocks for pair in zip(block.src, block.tgt, strict=True)]


def run(folder: Path, *, targets: Any = "label", **settings: Any) -> Prepared:
    name = "train.conll" if targets == "tags" else "train.tsv"
    settings = {"corpora": (CorpusConfig(path=name),), "valid_pairs": 0, "test_pairs": 0} | settings
    return prepare(DataConfig(src_lang="en", **settings), TOKENIZER, root=folder / "runs", base=folder, targets=targets)


def dropped(prepared: Prepared) -> dict[str, int]:
    return {item.reason: item.count for item in prepared.report.dropped}


def texts(n: int) -> list[str]:
    return [f"some words of text number {i} and {'no' * (i % 3)} more" for i in range(n)]


def test_csv_fields_may_hold_commas_quotes_and_line_breaks(tmp_path: Path) -> None:
    rows = [["label", "text"], ["1", 'so "good", really'], ["0", "two\nlines"], ["torn"], [], ["0", "last"]]
    with (tmp_path / "a.csv").open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows(rows)
    assert read(CorpusConfig(path="a.csv", **LABELLED), tmp_path) == [
        (b'so "good", really', b"1"), (b"two\nlines", b"0"), (None, b"torn"), (None, None), (b"last", b"0"),
    ]  # fmt: skip
    (tmp_path / "b.csv").write_bytes(b"1,caf\xe9\n0,fine\n")
    assert read(CorpusConfig(path="b.csv", src_column="2", tgt_column="1"), tmp_path) == [
        (b"caf\xe9", b"1"), (b"fine", b"0"),
    ]  # fmt: skip
    (tmp_path / "c.csv").write_bytes(b"only\n")
    with pytest.raises(DataError, match="2 are needed: 'only'; separate source and target with a comma"):
        read(CorpusConfig(path="c.csv"), tmp_path)


def test_whole_numbers_and_lists_are_labels_and_words(tmp_path: Path) -> None:
    rows = [{"text": "a", "label": 1}, {"text": "b", "label": True}, {"text": ["c", "d"], "label": ["O", "B-X"]}]
    rows += [{"text": "e", "label": 0.5}, {"text": "f", "label": {"x": 1}}]  # type: ignore[list-item]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    assert read(CorpusConfig(path="a.jsonl", **LABELLED), tmp_path) == [
        (b"a", b"1"), (b"b", b"True"), (b"c d", b"O B-X"), (b"e", None), (b"f", None),
    ]  # fmt: skip
    pq.write_table(pa.table({"text": [["a", "b"], ["c"]], "label": [7, None]}), tmp_path / "a.parquet")
    assert read(CorpusConfig(path="a.parquet", **LABELLED), tmp_path) == [(b"a b", b"7"), (b"c", None)]


def test_a_list_of_several_texts_is_no_text(tmp_path: Path) -> None:
    rows = [{"text": ["A dog."], "label": "x"}, {"text": ["A dog.", "It runs."], "label": ["a b", "c"]}]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    assert read(CorpusConfig(path="a.jsonl", **LABELLED), tmp_path) == [(b"A dog.", b"x"), (None, None)]
    chinese = [["一只狗。", "狗在跑。"], ["狗", "跑", "！！", "。"]]
    pq.write_table(pa.table({"text": chinese, "label": ["x", "x"]}), tmp_path / "b.parquet")
    assert read(CorpusConfig(path="b.parquet", **LABELLED), tmp_path) == [
        (None, b"x"),
        ("狗 跑 ！！ 。".encode(), b"x"),
    ]


def test_truth_values_are_the_same_labels_in_every_form(tmp_path: Path) -> None:
    rows = [{"text": "a", "label": True}, {"text": "b", "label": False}]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    with (tmp_path / "a.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["text", "label"], *(row.values() for row in rows)])
    for name in ("a.jsonl", "a.parquet", "a.csv"):
        assert read(CorpusConfig(path=name, **LABELLED), tmp_path) == [(b"a", b"True"), (b"b", b"False")]


def test_remarks_among_lines_with_tabs_are_no_words(tmp_path: Path) -> None:
    text = "# sent-id = 3\n# text[en] = # 5\n# one more free remark\n1\t#\tSYM\n2\t5\tNUM\n"
    (tmp_path / "a.conll").write_text(text, encoding="utf-8")
    assert read(CorpusConfig(path="a.conll", src_column="2", tgt_column="3"), tmp_path) == [(b"# 5", b"SYM NUM")]


def test_conll_sentences_are_words_and_tags(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text(
        "-DOCSTART- -X- O\n\n# newdoc id = a\n# newpar\n"
        "# text = Ann met Bo\nAnn NNP B-PER\nmet VBD O\n# NN O\n\n\nBo B-PER\ntorn\n \n"
        "no\ttab end\tO\n",
        encoding="utf-8",
    )
    assert read(CorpusConfig(path="a.conll"), tmp_path) == [
        (b"Ann met #", b"B-PER O O"), (b"Bo torn", b"B-PER"), (b"no", b"O"),
    ]  # fmt: skip
    assert read(CorpusConfig(path="a.conll", src_column="1", tgt_column="2"), tmp_path)[0][1] == b"NNP VBD NN"
    for src, tgt in (("word", "tgt"), ("1", "tag"), ("0", "1")):
        with pytest.raises(DataError, match="a CoNLL file have no names; give numbers from 1 instead of"):
            read(CorpusConfig(path="a.conll", src_column=src, tgt_column=tgt), tmp_path)


def test_labels_are_counted_numbered_and_not_judged_as_text(tmp_path: Path) -> None:
    lines = [f"{text}\t{i % 3}\n" for i, text in enumerate(texts(61))]
    lines += ["a text without label\t\n", "!?!\t1\n", f"{texts(1)[0]}\t0\n", "in valid ALREADY\t2\n"]
    (tmp_path / "train.tsv").write_text("".join(lines), encoding="utf-8")
    (tmp_path / "valid.tsv").write_text(f"In valid already\t1\n{texts(99)[-1]}\t0\n", encoding="utf-8")
    (tmp_path / "test.tsv").write_text("in valid already\t1\n", encoding="utf-8")
    held_out = {name: CorpusConfig(path=f"{name}.tsv") for name in ("valid", "test")}
    prepared = run(tmp_path, **held_out)
    assert dropped(prepared) == {"no label": 1, "too few letters": 1, "held-out overlap": 1, "duplicate pair": 1}
    assert prepared.report.kept == 61
    assert (prepared.report.tgt_vocab_size, prepared.report.tgt_bytes_share) == (3, 0.0)
    assert "3 labels: 0 21, 1 20, 2 20" in prepared.report.notes
    assert "valid: 1 of 2 pairs share a side with a test pair: 'In valid already'" in prepared.report.notes
    store = Store.open(prepared.folder)
    assert (store.targets, store.labels, store.source is store.target) == ("label", ("0", "1", "2"), True)
    assert [ids.tolist() for ids in store.tgt_ids(np.arange(4))] == [[1], [2], [3], [1]]
    assert lengths_of(store).tgt.tolist() == [0] * 61
    batch = load_labelled(store, np.array([1, 5]), seed=1)
    assert batch.tgt_out.tolist() == [[2], [3]]
    assert (batch.n_tokens, batch.src_ids.shape[0]) == (2, 2)
    assert run(tmp_path, **held_out).reused
    lines = [f"{text}\t{i % 2 * 2}\n" for i, text in enumerate(texts(61))]
    (tmp_path / "train.tsv").write_text("".join(lines), encoding="utf-8")
    message = "validation text 1 has the label '1', which no training text has; there are 0, 2"
    with pytest.raises(DataError, match=message):
        run(tmp_path, **held_out)


def test_labels_are_counted_in_what_is_trained_on(tmp_path: Path) -> None:
    lines = [f"{text}\t{i % 2}\n" for i, text in enumerate(texts(61))]
    long = [f"{' '.join(texts(61)[i:])}\tlong\n" for i in range(3)]
    (tmp_path / "train.tsv").write_text("".join(lines + long), encoding="utf-8")
    prepared = run(tmp_path, max_tokens=40)
    assert dropped(prepared)["too many subwords"] == 3
    assert "3 labels: 0 31, 1 30, long 0" in prepared.report.notes


def test_held_out_labelled_text_is_split_off_by_its_text_alone(tmp_path: Path) -> None:
    rows = [f"{text}\t{label}\n" for text in texts(80) for label in "01"]  # every text with both labels
    (tmp_path / "train.tsv").write_text("".join(rows), encoding="utf-8")
    prepared = run(tmp_path, valid_pairs=7, test_pairs=5)
    store = Store.open(prepared.folder)
    assert (len(store.valid.src), len(store.test.src)) == (7, 5)
    trained = set(store.source.decode(store.src_ids(np.arange(len(store)))))
    assert trained.isdisjoint(store.valid.src + store.test.src)
    assert dropped(prepared) == {"held-out overlap": 12}  # the same texts with the other label
    assert prepared.report.kept == 160 - 2 * 12


def test_a_tag_stands_at_the_first_subword_of_its_word(tmp_path: Path) -> None:
    sentences = [[f"word{i}", "Unbelievable", "x"] for i in range(37)]
    rows = ["".join(f"{word} {'B' if word == 'x' else 'O'}\n" for word in words) + "\n" for words in sentences]
    (tmp_path / "train.conll").write_text("".join([*rows, "torn\n\n", "a\u200b O\n\u200b B\n\n"]), encoding="utf-8")
    prepared = run(tmp_path, targets="tags")
    assert dropped(prepared) == {"no label": 1, "words and tags differ in number": 1}
    store = Store.open(prepared.folder)
    batch = load_labelled(store, np.arange(3), seed=1)
    assert batch.tgt_out.shape == batch.src_ids.shape
    assert batch.n_tokens == 9
    assert lengths_of(store).tgt.tolist() == store.src_lengths.tolist()  # update_tokens counts subwords
    for src, numbers, words in zip(batch.src_ids.tolist(), batch.tgt_out.tolist(), sentences, strict=False):
        first = [i for i, number in enumerate(numbers) if number != PAD_ID]
        pieces = store.source.pieces(src)
        assert all(pieces[i].startswith("▁") for i in first)
        assert [numbers[i] for i in first] == [2, 2, 1]  # B, O
        ends = [*first[1:], src.index(3)]
        assert store.source.decode([src[i:j] for i, j in zip(first, ends, strict=True)]) == words
    (tmp_path / "valid.conll").write_text("one O\ntwo\n", encoding="utf-8")
    with pytest.raises(DataError, match="validation sentence 1 has 1 tags: 'one two'; give one a word, no word"):
        run(tmp_path, targets="tags", valid=CorpusConfig(path="valid.conll"))


def test_text_alone_is_its_own_target(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{text}\n" for text in texts(60)), encoding="utf-8")
    (tmp_path / "a.de").write_text("Ein Text\n", encoding="utf-8")  # of a pair of files, of which one is of no use here
    rows = ["de\ten\n", *(f"Ein Text\t{text} too\n" for text in texts(60))]
    (tmp_path / "b.tsv").write_text("".join(rows), encoding="utf-8")
    corpora = CorpusConfig(src="a.txt", tgt="a.de"), CorpusConfig(path="b.tsv")
    prepared = run(tmp_path, targets="none", corpora=corpora, valid_pairs=3)
    assert (prepared.report.kept, prepared.report.tgt_tokens) == (117, 0)
    store = Store.open(prepared.folder)
    assert store.valid.src == store.valid.tgt
    assert store.where(len(store) - 1) == "b.tsv line 61"
    assert (store.src_lengths == store.tgt_lengths).all()
    assert lengths_of(store).tgt.tolist() == store.src_lengths.tolist()  # update_tokens counts subwords


def test_too_many_labels_are_a_column_of_something_else_and_one_is_nothing_to_learn() -> None:
    assert len(count_labels(map(str, range(MOST_LABELS)), "label")[0]) == MOST_LABELS
    with pytest.raises(DataError, match=rf"{MOST_LABELS + 1:,} \(.*\), not 2 to 1,000; is tgt_column their column"):
        count_labels(map(str, range(MOST_LABELS + 1)), "label")
    with pytest.raises(DataError, match=r"^labels in the training text: 1 \(O 3\), not 2 to 1,000; is tgt_col"):
        count_labels(["O O", "O"], "tags")
    with pytest.raises(DataError, match=r"the training text: 1 \(good 2, bad 0\)"):  # all bad ones are too long
        count_labels(["good", "good"], "label", ("bad", "good"))


@pytest.fixture(scope="module")
def subword() -> Subword:
    return train_subword(lambda: texts(200), TOKENIZER)[1]


@given(
    st.lists(
        st.text(st.sampled_from("abcdef no\u4f60\u2581é")).filter(lambda word: word and " " not in word), min_size=1
    )
)
def test_the_subwords_of_words_are_those_of_the_sentence(subword: Subword, words: list[str]) -> None:
    apart = [id_ for ids in encode_words(subword, [words])[0] for id_ in ids]
    assert apart == subword.encode([" ".join(words)])[0]


def test_a_word_that_a_vocabulary_rewrites_to_nothing_keeps_its_tag() -> None:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts(200)), model_writer=model, vocab_size=300, byte_fallback=True, num_threads=1,
        pad_id=0, unk_id=1, bos_id=2, eos_id=3, normalization_rule_name="nmt_nfkc", model_type="bpe", minloglevel=2,
    )  # fmt: skip
    subword = Subword.from_bytes(model.getvalue())
    assert subword.encode(["\ufffd"]) == [[]]
    ids, numbers = numbered(subword, ["some \ufffd words"], ["A B A"], labels=("A", "B"), targets="tags")
    assert len(ids[0]) == len(numbers[0])
    assert [(id_, n) for id_, n in zip(ids[0], numbers[0], strict=True) if n == 2] == [(UNK_ID, 2)]
    assert encode_words(subword, [["", "some"]]) == [[[], ids[0][: numbers[0].index(2)]]]


def test_a_label_that_the_split_took_out_of_training_is_left_out_of_validation(tmp_path: Path) -> None:
    rows = [f"{text}\t{f'rare{i}' if i % 5 == 0 else i % 2}\n" for i, text in enumerate(texts(97))]
    (tmp_path / "train.tsv").write_text("".join(rows), encoding="utf-8")
    prepared = run(tmp_path, valid_pairs=23, test_pairs=19)
    store = Store.open(prepared.folder)
    report = prepared.report
    left = {"validation": report.valid_split - len(store.valid.src), "test": report.test_split - len(store.test.src)}
    assert min(left.values()) > 0
    assert (
        {*store.valid.tgt, *store.test.tgt} <= {*store.labels} == {"0", "1", *(x for x in store.labels if "rare" in x)}
    )
    for name, n in left.items():
        assert f"{name}: {n} with labels that no training text has left out" in report.notes
    assert (report.valid_pairs, report.test_pairs) == (len(store.valid.src), len(store.test.src))
    assert report.read == 97 == report.kept + report.valid_split + report.test_split


def test_held_out_sentences_are_those_whose_every_tag_can_be_learnt(tmp_path: Path) -> None:
    sentences = [[(f"word{i}", "O"), ("x", f"rare{i}" if i % 5 == 0 else "B")] for i in range(97)]
    rows = ["".join(f"{word} {tag}\n" for word, tag in sentence) + "\n" for sentence in sentences]
    (tmp_path / "train.conll").write_text("".join(rows), encoding="utf-8")
    prepared = run(tmp_path, targets="tags", valid_pairs=23, test_pairs=19)
    store, report = Store.open(prepared.folder), prepared.report
    assert 0 < len(store.valid.src) < report.valid_split
    assert {*" ".join(store.valid.tgt + store.test.tgt).split(" ")} <= {*store.labels}
    (tmp_path / "valid.conll").write_text("one O\ntwo B\n\nthree B\n", encoding="utf-8")
    store = Store.open(run(tmp_path, targets="tags", valid=CorpusConfig(path="valid.conll")).folder)
    assert store.valid == (["one two", "three"], ["O B", "B"])


@pytest.mark.parametrize(("given", "name"), [("test", "test"), ("more_tests", "test-held")])
def test_a_test_with_a_label_that_nothing_teaches_is_refused(given: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("".join(f"{text}\t{i % 2}\n" for i, text in enumerate(texts(61))), "utf-8")
    (tmp_path / "held.tsv").write_text("One text.\t1\nAnother.\tother\n", encoding="utf-8")
    held = CorpusConfig(path="held.tsv")
    with pytest.raises(DataError, match=f"^{name} text 2 has the label 'other', which no training text has; there are"):
        run(tmp_path, **{given: (held,) if given == "more_tests" else held})


def test_blanks_of_held_out_text_make_neither_other_words_nor_other_tags() -> None:
    check_held_out((["one  two\u3000"], ["O  B\u00a0"]), name="valid", labels=("B", "O"), targets="tags")


@pytest.mark.parametrize("targets", ["label", "none"])
def test_long_texts_are_split_off_for_the_test_of_labels_alone(targets: Any, tmp_path: Path) -> None:
    rows = [f"{text}{f' and so on {i}' * 9 if i % 3 == 0 else ''}\t{i % 2}\n" for i, text in enumerate(texts(97))]
    (tmp_path / "train.tsv").write_text("".join(rows), encoding="utf-8")
    prepared = run(tmp_path, targets=targets, valid_pairs=23, test_pairs=19, max_tokens=61)
    store, report = Store.open(prepared.folder), prepared.report
    longest = {name: max(map(len, store.source.encode(getattr(store, name).src))) for name in ("valid", "test")}
    assert longest["valid"] < 61  # validation reads a text whole, and a model may have no positions for longer ones
    assert f"validation: {report.valid_split - len(store.valid.src)} of over 61 subwords left out" in report.notes
    assert (longest["test"] > 61) == (targets == "label")  # labelled in pieces


@pytest.mark.parametrize(("before", "line"), [(b"", 1), (b"a,b\n", 2)])
def test_a_field_that_is_too_long_is_named(before: bytes, line: int, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(before + b"x" * 17_000_000 + b",y\n")
    message = rf"a\.csv is not CSV near line {line} \(field larger.*quotes, or drop the row"
    with pytest.raises(DataError, match=message):
        read(CorpusConfig(path="a.csv"), tmp_path)
