"""What a bundle is told of the data that its model was trained on."""

from __future__ import annotations

from pathlib import Path

from tiny_model import write_tiny_recipe
from yiwen.bundle import open_bundle
from yiwen.data.store import Store
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe
from yiwen.text.subword import subword_paths

TWO_VOCABULARIES = ["tokenizer.shared=false", "tokenizer.vocab_size=999", "model.tied_embeddings='target'"]
SHORT = ["training.max_steps=2", "training.warmup_steps=1"]


def test_a_translator_with_a_vocabulary_for_each_language_is_written_with_both(tmp_path: Path) -> None:
    recipe = load_recipe(str(write_tiny_recipe(tmp_path)), [*TWO_VOCABULARIES, *SHORT])
    run, progress = train_recipe(recipe, root=tmp_path / "runs")
    assert run == tmp_path / "runs" / "tiny"
    store = Store.open(tmp_path / "runs" / ".prepared" / progress.data)
    assert store.source.vocab_size != store.target.vocab_size
    info = open_bundle(run / "final").info
    assert (info.src_vocab_size, info.tgt_vocab_size) == (store.source.vocab_size, store.target.vocab_size)
    written = [path.read_bytes() for path in subword_paths(run / "final")]
    assert written == [store.source_model.read_bytes(), store.target_model.read_bytes()]
    assert (info.src_lang, info.tgt_lang, info.data_fingerprint) == ("en", "de", progress.data)
