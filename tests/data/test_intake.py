"""Rows of the spill file are found again: their text, their corpus, their place, whichever batch they are in."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from yiwen.data.config import DataConfig
from yiwen.data.corpus import CorpusConfig
from yiwen.data.intake import Intake, Job
from yiwen.data.report import Example
from yiwen.errors import Stopped
from yiwen.stop import StopFlag
from yiwen.text.subword import TokenizerConfig

BATCHES = [
    {"src": ["one", "two", "three"], "tgt": ["eins", "zwei", "drei"], "line": [1, 2, 5]},
    {"src": ["four", "five"], "tgt": ["vier", "fünf"], "line": [7, 11]},
    {"src": ["six", "seven"], "tgt": ["sechs", "sieben"], "line": [1, 3]},
]


@pytest.fixture
def intake(tmp_path: Path) -> Intake:
    """Two batches of the first corpus and one of the second."""
    corpora = (CorpusConfig(path="a.tsv"), CorpusConfig(path="b.tsv"))
    for corpus in corpora:
        (tmp_path / corpus.path).touch()
    job = Job(
        data=DataConfig(src_lang="en", tgt_lang="de", corpora=corpora),
        tokenizer=TokenizerConfig(),
        base=tmp_path,
        folder=tmp_path,
        n_workers=1,
        stop=StopFlag(),
        tick=lambda step, n_pairs: None,
    )
    batches = [pa.record_batch(columns) for columns in BATCHES]
    with pa.ipc.new_file(str(job.spill), batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return Intake(job, np.array([0, 0, 1]), np.array([0, 3, 5, 7]), [5, 2])


def test_rows_are_read_from_the_batches_that_hold_them(intake: Intake) -> None:
    assert intake.row_corpus().tolist() == [0, 0, 0, 0, 0, 1, 1]
    rows = np.array([1, 2, 6])
    assert intake.pairs(rows) == (["two", "three", "seven"], ["zwei", "drei", "sieben"])
    assert list(intake.texts(rows, "src", "tgt")) == ["two", "three", "zwei", "drei", "seven", "sieben"]
    assert intake.places(rows) == ["a.tsv line 2", "a.tsv line 5", "b.tsv line 3"]
    assert intake.examples(rows[1:]) == [
        Example(where="a.tsv line 5", src="three", tgt="drei"),
        Example(where="b.tsv line 3", src="seven", tgt="sieben"),
    ]


def test_reading_stops_between_two_texts(intake: Intake) -> None:
    texts = intake.texts(np.arange(7), "src")
    assert next(texts) == "one"
    intake.job.stop.signum = signal.SIGTERM
    with pytest.raises(Stopped, match="stopped by SIGTERM during prepare"):
        next(texts)
