"""Training methods on toy languages: a tiny model still learns with each of them, and made text helps where there is
little."""

from __future__ import annotations

from pathlib import Path

import pytest

from tiny_model import TinyRun
from toy_task import write_task
from yiwen.data.batching import Batch
from yiwen.data.store import Store
from yiwen.evaluation.metrics import quick_score
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe
from yiwen.synthetic.backtranslate import back_translate
from yiwen.synthetic.teacher import Teachers
from yiwen.translator import Translator

pytestmark = pytest.mark.slow

SETTINGS = [
    *("model.d_model=64", "model.dropout=0.1", "training.batch_tokens=512", "training.learning_rate=0.006"),
    *("training.schedule='polynomial'", "training.max_steps=400", "training.ema_decay=0.95"),
    *("training.validate_every=200", "training.checkpoint_every=200", "training.precision='float32'"),
]


@pytest.fixture(autouse=True)
def _own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YIWEN_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("YIWEN_KEEP_MEMORY", "0")


@pytest.mark.parametrize(
    "method",
    [
        ["training.rdrop=2.0"],
        ["training.word_dropout=0.02"],
        ["model.layer_dropout=0.1", "model.n_encoder_layers=2", "model.n_decoder_layers=2"],
        ["tokenizer.sampling=0.1"],
    ],
    ids=lambda method: method[0],
)
def test_a_tiny_model_learns_to_copy_with_each_method(
    tmp_path: Path, method: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    cut = Batch.cut
    monkeypatch.setattr(Batch, "cut", lambda self, size: sizes.append(size) or cut(self, size))
    recipe = load_recipe(str(write_task(tmp_path, "copy", n=1200)), [*SETTINGS, *method])
    run, progress = train_recipe(recipe)
    src, tgt = Store.open(tmp_path / "runs" / ".prepared" / progress.data).valid
    found = Translator.load(run / "best", device="cpu", threads=1).translate(src, checks=False)
    share = sum(str(each) == gold for each, gold in zip(found, tgt, strict=True)) / len(tgt)
    assert share >= 0.9
    is_sampled = recipe.recipe.tokenizer.sampling > 0
    assert {*sizes} == ({recipe.recipe.training.batch_tokens} if is_sampled else set())


def test_back_translated_text_helps_a_model_that_has_little(tmp_path: Path, tiny_run: TinyRun) -> None:
    """German to English from 60 pairs; the tiny English to German model makes sources for 1,400 more lines."""
    lines = {lang: tiny_run.recipe.with_name(f"train.{lang}").read_text("utf-8").split("\n") for lang in ("en", "de")}
    for lang in ("en", "de"):
        (tmp_path / f"few.{lang}").write_text("".join(f"{line}\n" for line in lines[lang][:60]), encoding="utf-8")
    (tmp_path / "mono.en").write_text("".join(f"{line}\n" for line in lines["en"][60:1460]), encoding="utf-8")
    made = back_translate(Teachers(folder=tiny_run.best, threads=1), [tmp_path / "mono.en"]).made.folder
    text = tiny_run.recipe.read_text(encoding="utf-8").replace(
        'src_lang = "en"\ntgt_lang = "de"', 'src_lang = "de"\ntgt_lang = "en"'
    )
    for name in ("valid", "test"):
        text = text.replace(f'src = "{name}.en", tgt = "{name}.de"',
            f'src = "{tiny_run.recipe.with_name(name)}.de", tgt = "{tiny_run.recipe.with_name(name)}.en"')  # fmt: skip
    text = text.replace("vocab_size = 340", 'vocab_size = 345\nsymbols = ["<2bt>"]')
    more = f', {{ src = "{made}/corpus-0.de", tgt = "{made}/corpus-0.en" }}'
    scores = []
    for name, extra in (("alone", ""), ("more", more)):
        corpora = f'corpora = [{{ src = "few.de", tgt = "few.en" }}{extra}]'
        recipe = tmp_path / f"{name}.toml"
        recipe.write_text(text.replace('corpora = [{ src = "train.en", tgt = "train.de" }]', corpora), encoding="utf-8")
        run, progress = train_recipe(load_recipe(str(recipe), SETTINGS))
        src, tgt = Store.open(tmp_path / "runs" / ".prepared" / progress.data).test
        found = Translator.load(run / "best", device="cpu", threads=1).translate(src, checks=False)
        scores.append(quick_score([str(each) for each in found], tgt, tgt_lang="en", metric="chrf"))
    assert scores[1] > scores[0] + 10
