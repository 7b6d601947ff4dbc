"""Labelled toy text that a tiny encoder learns in seconds, with a recipe for each task without a decoder."""

from __future__ import annotations

import random
from pathlib import Path

WORDS = ["ba", "be", "bi", "bo", "bu", "da", "de", "di", "do", "du", "ka", "ke"]
MAX_TOKENS = 29

RECIPE = """
task = "{task}"
[data]
src_lang = "en"
{tgt_lang}
corpora = [{{ {corpus} }}]
valid_pairs = 23
test_pairs = 19
max_tokens = 29
[data.cleaning]
drop_copied = false
[tokenizer]
kind = "bpe"
vocab_size = 300
[model]
d_model = 32
n_heads = 2
d_ff = 64
n_encoder_layers = 2
norm_order = "pre"
max_len = 61
dropout = {dropout}
[training]
batch_tokens = 211
learning_rate = 0.01
warmup_steps = 10
max_steps = {max_steps}
validate_every = 20
checkpoint_every = 10
log_every = 3
threads = 1
ema_decay = 0.9
metric = "accuracy"
precision = "float32"
{training}
[encoder]
{encoder}
"""


def label_of(words: list[str]) -> str:
    """What the text says more of: words that begin with b, with d, or neither."""
    n_b, n_d = (sum(word.startswith(letter) for word in words) for letter in "bd")
    return "equal" if n_b == n_d else "b" if n_b > n_d else "d"


def tag_of(words: list[str], i: int) -> str:
    """A span of words with k, and its kind by the word before it."""
    if not words[i].startswith("k"):
        return "O"
    start = i
    while start > 0 and words[start - 1].startswith("k"):
        start -= 1
    kind = "ODD" if start == 0 or words[start - 1].startswith("b") else "EVEN"
    return f"{'B' if start == i else 'I'}-{kind}"


def write_labelled(
    folder: Path,
    task: str,
    *,
    n: int = 500,
    max_steps: int = 40,
    dropout: float = 0.1,
    training: str = "",
    encoder: str = "",
    seed: int = 1,
) -> Path:
    """Write a corpus for a task and its recipe; returns the recipe's path."""
    rng = random.Random(seed)
    texts = list({tuple(rng.choice(WORDS) for _ in range(rng.randint(2, 6))): None for _ in range(n)})
    match task:
        case "classify":
            rows = [f"{' '.join(words)}\t{label_of(list(words))}\n" for words in texts]
            corpus = 'path = "classify.tsv"'
        case "tag":
            rows = [
                "".join(f"{words[i]} {tag_of(list(words), i)}\n" for i in range(len(words))) + "\n" for words in texts
            ]
            corpus = 'path = "tag.conll"'
        case "mlm":
            rows = [f"{' '.join(words)}\n" for words in texts]
            corpus = 'src = "mlm.txt"'
        case _:
            rows = [f"{' '.join(words)}\t{' '.join(word[::-1] for word in words)}\n" for words in texts]
            corpus = 'path = "embed.tsv"'
    suffix = {"tag": "conll", "mlm": "txt"}.get(task, "tsv")
    (folder / f"{task}.{suffix}").write_text("".join(rows), encoding="utf-8")
    recipe = folder / f"{task}.toml"
    text = RECIPE.format(
        task=task,
        tgt_lang='tgt_lang = "de"' if task == "embed" else "",
        corpus=corpus,
        max_steps=max_steps,
        dropout=dropout,
        training=training,
        encoder=encoder,
    )
    recipe.write_text(text, encoding="utf-8")
    return recipe
