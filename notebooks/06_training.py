# %% [markdown] lang="en"
# # 6. Training and checkpoints
#
# A model is trained here, in about a minute: English to Chinese, on text that a grammar makes up (no download). We
# look at the text on its way, at the curves, at what a checkpoint (training as it stood at one update, on disk) holds,
# and we stop and resume to see that nothing changes.

# %% [markdown] lang="zh"
# # 6. 训练与检查点
#
# 这里训练一个模型，大约一分钟：英译中，语料由一套文法生成（无需下载）。我们看文本如何一步步变化，看曲线，看检查点（某次更新时的训练状态，存在磁盘上）里有什么，再中断并续训，确认什么都没有改变。

# %%
import json
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from lesson import show, small_demo

run = small_demo()
folder = Path(os.environ["YIWEN_DEMO"])
for language in ("en", "zh"):
    print((folder / f"train.{language}").read_text(encoding="utf-8").split("\n")[:3])

# %% [markdown] lang="en"
# ## Text on its way
#
# Raw text → subwords → ids → batches of like lengths. Subwords are frequent pieces of words; `▁` stands where a word
# begins, instead of the blank. Padding is waste, so sentences of like lengths travel together.

# %% [markdown] lang="zh"
# ## 文本的旅程
#
# 原始文本 → 子词 → 编号 → 长度相近的批次。子词是词中常见的片段；`▁` 代替空格，标出一个词的开头。填充是浪费，所以长度相近的句子放在同一批。

# %%
from yiwen.data.batching import epoch_updates
from yiwen.data.loader import lengths_of, load_batch
from yiwen.data.store import Store
from yiwen.recipe import load_recipe
from yiwen.preparing import prepare_recipe
from yiwen.stop import StopFlag

store = Store.open(prepare_recipe(load_recipe(str(run / "recipe.toml")), stop=StopFlag()).folder)
lengths = lengths_of(store)
updates = epoch_updates(lengths, seed=1, epoch=0, batch_tokens=3000, update_tokens=0)
batch = load_batch(store, updates[0][0], seed=1)
print(f"{len(store):,} pairs, {len(updates)} updates an epoch")
print("a batch:", tuple(batch.src_ids.shape), "->", tuple(batch.tgt_in.shape))
print(store.source.pieces(batch.src_ids[0].tolist()))
batches = [rows for update in updates for rows in update]
src, tgt = lengths.src + 1, lengths.tgt + 1  # with the end
real = sum(int(src[rows].sum() + tgt[rows].sum()) for rows in batches)
padded = sum(len(rows) * int(src[rows].max() + tgt[rows].max()) for rows in batches)
print(f"padding {100 * (1 - real / padded):.1f} %")

# %% [markdown] lang="en"
# The order of an epoch is a pure function of (seed, epoch): asked twice, it is the same. That is half of exact
# resume; the other half is that dropout is drawn from (seed, step).

# %% [markdown] lang="zh"
# 一轮的次序是 (seed, epoch) 的纯函数：问两次，答案一样。这是精确续训的一半；另一半是 dropout 只取决于 (seed, step)。

# %%
again = epoch_updates(lengths, seed=1, epoch=0, batch_tokens=3000, update_tokens=0)
assert all(np.array_equal(a, b) for x, y in zip(updates, again, strict=True) for a, b in zip(x, y, strict=True))
other = epoch_updates(lengths, seed=1, epoch=1, batch_tokens=3000, update_tokens=0)
print("epoch 1 begins otherwise:", not np.array_equal(updates[0][0], other[0][0]))

# %% [markdown] lang="en"
# ## The step
#
# Forward, loss, backward, clip, optimizer. This is all of it. To be quick, this recipe departs from the paper, mainly in
# three things: it normalises before each sub-layer (pre-norm), Muon updates the matrices of the layers instead of Adam,
# and the learning rate falls in a straight line. *The paper beside the code* in the manual has the paper's own settings.

# %% [markdown] lang="zh"
# ## 一步更新
#
# 前向、损失、反向、裁剪、优化器。全部都在这里。为了缩短训练，这份配方与论文主要有三处不同：在每个子层之前归一化（pre-norm）；各层的矩阵由 Muon 而不是 Adam 更新；学习率线性下降。论文自己的设置见手册中的“论文与代码对照”。

# %%
from yiwen.training.schedule import learning_rate
from yiwen.training.step import apply_gradients, compute_gradients

show(compute_gradients, apply_gradients, learning_rate)

# %% [markdown] lang="en"
# ## Curves
#
# The loss is in nats per target token; perplexity, which training prints beside it, is e to the power of the loss. The
# learning rate rises for 60 updates, then falls to zero. BLEU, from 0 to 100, says how many words, pairs, triples and
# fours of words the translations of the validation set share with the references; in Chinese a character counts as a
# word.

# %% [markdown] lang="zh"
# ## 曲线
#
# 损失的单位是纳特（nat），按每个目标词元计算；训练时一同打印的困惑度（perplexity）是 $e^L$，$L$ 就是这里的损失。学习率在前 60 次更新里上升，然后降到零。BLEU 从 0 到 100，衡量验证集的译文与参考译文有多少共同的词，以及共同的连续两个、三个、四个词；中文里一个字算一个词。

# %%
lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").strip().split("\n")]
losses = [(line["step"], line["loss"]) for line in lines if "loss" in line]
scores = [(line["step"], line["valid_bleu"]) for line in lines if "valid_bleu" in line]
rates = [(line["step"], line["learning_rate"]) for line in lines if "learning_rate" in line]
figure, axes = plt.subplots(1, 3, figsize=(13, 3))
for axis, values, title in zip(axes, (losses, rates, scores), ("loss", "learning rate", "BLEU, valid"), strict=True):
    axis.plot(*zip(*values, strict=True), "o-", markersize=3)
    axis.set(title=title, xlabel="update")
plt.show()
print(scores)
assert scores[-1][1] > 30

# %% [markdown] lang="en"
# ## What a checkpoint holds
#
# Weights, their running mean, the optimizer's state, and a few numbers that say where training stands. No pickle:
# nothing that is loaded can run code. The manifest is written last, so a checkpoint is whole or absent.

# %% [markdown] lang="zh"
# ## 检查点里有什么
#
# 权重、权重的滑动平均、优化器状态，以及说明训练进行到哪里的几个数。没有 pickle：加载时不会执行任何代码。清单最后写入，所以检查点要么完整，要么不存在。

# %%
checkpoint = sorted((run / "checkpoints").glob("step-*"))[-1]
for path in sorted(checkpoint.iterdir()):
    print(f"{path.name:24} {path.stat().st_size:>10,} bytes")
print((checkpoint / "state.json").read_text(encoding="utf-8")[:400])

# %% [markdown] lang="en"
# ## Stop and resume
#
# Two runs of 20 updates: one in one go, one that ends after 10 and is resumed. Their losses are compared digit for
# digit.

# %% [markdown] lang="zh"
# ## 中断与续训
#
# 两次训练，各 20 次更新：一次连续跑完，一次到第 10 次更新为止，再续训。逐位比较两者每一步的损失。

# %%
import shutil

from yiwen.runs import train_recipe

settings = ["training.checkpoint_every=10", "training.validate_every=20", "training.log_every=1"]
for name, stops in (("straight", [20]), ("broken", [10, 20])):
    shutil.rmtree(run.parent / name, ignore_errors=True)
    for stop in stops:
        recipe = load_recipe("demo-en-zh", [*settings, f"training.max_steps={stop}", "training.schedule=constant"])
        train_recipe(recipe, run=run.parent / name, resume=stop != stops[0])
straight, broken = (
    [json.loads(line) for line in (run.parent / name / "metrics.jsonl").read_text().strip().split("\n")]
    for name in ("straight", "broken")
)
losses = [[(line["step"], line["loss"]) for line in lines if "loss" in line] for lines in (straight, broken)]
print(losses[0][-2:])
assert losses[0] == losses[1], "digit for digit"

# %% [markdown] lang="en"
# ## Your turn
#
# BLEU is close to 100, yet the loss stays above 1. Label smoothing is the reason (section 5.4 of the paper): the target
# is not 1 at the right token but 0.9, and 0.1 is spread over all $V$ tokens. The loss is least where the model gives
# exactly these probabilities. How large is it then, for $V = 2400$? Calculate, then run the next cell. (What is left of
# the difference: mistakes, dropout, and the loss that teaches one head of the demo to align.)

# %% [markdown] lang="zh"
# ## 试一试
#
# BLEU 接近 100，损失却一直大于 1。原因是标签平滑（论文 5.4 节）：正确词元的目标不是 1 而是 0.9，另外 0.1 平摊给全部 $V$ 个词元。模型给出的概率恰好与此相同时损失最小。$V = 2400$ 时最小是多少？先算，再运行下一格。（其余的差距来自错误、dropout，以及演示配方教一个头学对齐所加的损失。）

# %%
import math

V, smoothing = 2400, 0.1
right, wrong = 1 - smoothing + smoothing / V, smoothing / V
least = -right * math.log(right) - (V - 1) * wrong * math.log(wrong)
last_loss = [line["loss"] for line in lines if "loss" in line][-1]
print(f"least possible loss {least:.3f}, last loss {last_loss:.3f}")
assert least < last_loss < least + 0.5
