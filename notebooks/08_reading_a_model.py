# %% [markdown] lang="en"
# # 8. Reading a trained model
#
# The model of lesson 6 is opened: what its heads look at, which source word each target word came from, and what
# training made of the positions.

# %% [markdown] lang="zh"
# # 8. 读懂训练好的模型
#
# 打开第 6 课的模型：各个头在看什么，译文的每个词来自原文的哪个词，训练又把位置变成了什么。

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import torch
from lesson import heat, show, small_demo

from yiwen import Translator
from yiwen.analysis.gold import measure_alignment, read_gold
from yiwen.bundle import load_model
from yiwen.data.batching import collate
from yiwen.model.attention import recorded_attention
from yiwen.model.positions import sinusoids

plt.rcParams["font.sans-serif"] = [
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Microsoft YaHei",
    "PingFang SC",
    "DejaVu Sans",
]
run = small_demo()
translator = Translator.load(run / "best", engine="torch")
model = load_model(translator.bundle)
folder = Path(os.environ["YIWEN_DEMO"])
text = (folder / "test.en").read_text(encoding="utf-8").split("\n")[0]
translation = translator.translate([text])[0]
print(text, "->", translation, f"(score {translation.score:.2f})")

# %% [markdown] lang="en"
# ## Heads
#
# Every attention of the model is recorded while it reads this pair, and two are drawn. Rows look, columns are looked at.
# A row of the decoder is labelled with the token that is about to be written; what it has read ends one token earlier.

# %% [markdown] lang="zh"
# ## 头
#
# 模型读这一对句子时，每一个注意力都被记录下来，这里画出其中两个。每一行是看的位置，每一列是被看的位置。解码器的一行标的是即将写出的词元，它读到的内容止于前一个词元。

# %%
(src_ids,), (tgt_ids,) = translator.bundle.source.encode([text]), translator.bundle.target.encode([str(translation)])
batch = collate([src_ids], [tgt_ids])
with recorded_attention(model) as maps, torch.inference_mode():
    model(batch.src_ids, batch.tgt_in)
src_tokens = [*translator.bundle.source.pieces(src_ids), "</s>"]
tgt_tokens = [*translator.bundle.target.pieces(tgt_ids), "</s>"]
last = model.config.n_decoder_layers - 1
for name in ("encoder.layers.0.self_attention", f"decoder.layers.{last}.cross_attention"):
    heads = maps[name][0]
    figure, axes = plt.subplots(1, len(heads), figsize=(15, 3.4), layout="constrained")
    rows = tgt_tokens if "cross" in name else src_tokens
    for number, axis in enumerate(axes):
        heat(
            axis,
            heads[number],
            title=f"head {number + 1}",
            x=src_tokens,
            y=rows if number == 0 else [],
            vmin=0,
            vmax=1,
        )
        axis.tick_params(axis="x", rotation=90)
    figure.suptitle(name)
    plt.show()

# %% [markdown] lang="en"
# How sharp is each head? Entropy in bits: 0 looks at one token, $\log_2 S$ at all alike.

# %% [markdown] lang="zh"
# 每个头有多专注？用熵（比特）衡量：0 表示只看一个词元，$\log_2 S$ 表示一视同仁。

# %%
for name, weights in maps.items():
    entropy = -(weights * weights.clamp_min(1e-9).log2()).sum(-1)[0].mean(-1)
    print(f"{name:36}", "  ".join(f"{bits:.2f}" for bits in entropy.tolist()))

# %% [markdown] lang="en"
# ## Which word came from which
#
# `Translator.align` reads one head of the cross-attention, the one that was taught to align (in the layer before the one
# drawn above), joins subwords into words and gives their places in the text; a word of Chinese is a subword here, as
# nothing marks where words end. The grammar that made the text knows the truth, so we can compare, and count over the
# whole test set: the error rate is 0 where all links are right.

# %% [markdown] lang="zh"
# ## 哪个词来自哪个词
#
# `Translator.align` 读取交叉注意力中学过对齐的那一个头（在上图那一层的前一层），把子词合成词，并给出它们在文本中的位置；中文里没有任何标记说明词在哪里结束，所以这里的中文词就是子词。语料由文法生成，文法知道正确答案，所以可以对照，还可以在整个测试集上计算错误率：连线全对时为 0。

# %%
print(translator.bundle.info.alignment, "counted from 0\n")
alignment = translator.align([text], [str(translation)])[0]
for i, j, weight in sorted(alignment.links, key=lambda link: link[1]):
    (a, b), (c, d) = alignment.src[i], alignment.tgt[j]
    print(f"{str(translation)[c:d]:8} <- {text[a:b]:12} {weight:.2f}")
gold = read_gold(folder / "test.align.jsonl")[0]
print("\nthe grammar, for its own translation", gold.tgt)
for i, j in sorted(gold.alignment, key=lambda link: link[1]):
    (a, b), (c, d) = gold.src_spans[i], gold.tgt_spans[j]
    print(f"{gold.tgt[c:d]:8} <- {gold.src[a:b]}")
print(measure_alignment(translator.bundle, folder / "test.align.jsonl"))

# %% [markdown] lang="en"
# ## What training made of the positions
#
# Lesson 1 drew $PE\, W_q W_k^T PE^T$ for random matrices: no pattern to be seen. Here are the trained matrices of
# the first encoder layer. After so short a training, on sentences of some ten tokens, there is structure again,
# but no clean band along the diagonal: words matter more than positions.

# %% [markdown] lang="zh"
# ## 训练把位置变成了什么
#
# 第 1 课画过随机矩阵的 $PE\, W_q W_k^T PE^T$，看不出规律。这里是编码器第一层训练后的矩阵。训练这么短，句子又不过十来个词元，结构重新出现了，但还没有沿对角线的清晰条带：词比位置更重要。

# %%
show(sinusoids)
D, H = model.config.d_model, model.config.n_heads
K = D // H
table = sinusoids(16, D)
figure, axes = plt.subplots(1, H, figsize=(14, 3), layout="constrained")
with torch.inference_mode():
    w_q, w_k, _ = model.encoder.layers[0].self_attention.qkv_proj.weight.split(D, dim=0)
    for head, axis in enumerate(axes):
        rows = slice(head * K, (head + 1) * K)
        heat(axis, (table @ w_q[rows].T) @ (table @ w_k[rows].T).T / K**0.5, title=f"head {head + 1}", cmap="viridis")
plt.show()

# %% [markdown] lang="en"
# What counts is what the heads do with real sentences: how far from its own place does each look, on average over 200
# of them? A peak at 1 looks at the next token, at -1 at the one before; most heads of this model look at their own place
# first, at 0.

# %% [markdown] lang="zh"
# 真正重要的是各个头怎么处理真实的句子：在 200 句上平均，每个头看的地方离自己的位置有多远？峰在 1 就是看后一个词元，在 -1 就是看前一个；这个模型的多数头最先看的是自己的位置，也就是 0。

# %%
sources = translator.bundle.source.encode((folder / "test.en").read_text(encoding="utf-8").split("\n")[:200])
reach = range(-4, 5)
profile = {}
for ids in sources:
    batch = collate([ids], [[5]])
    with recorded_attention(model) as maps, torch.inference_mode():
        model.encode(batch.src_ids)
    for name, weights in maps.items():
        for head, square in enumerate(weights[0]):
            row = profile.setdefault((name.split(".")[2], head), torch.zeros(len(reach)))
            row += torch.tensor([float(square.diagonal(k).sum() / len(square)) for k in reach]) / len(sources)
figure, axis = plt.subplots(figsize=(8, 4.5))
names = [f"layer {int(layer) + 1}, head {head + 1}" for layer, head in profile]
heat(axis, torch.stack(list(profile.values())), x=list(reach), y=names, title="weight by distance")
plt.show()

# %% [markdown] lang="en"
# ## What else it might have said
#
# The five best translations and their scores; the difference between the first two says how sure the model was.

# %% [markdown] lang="zh"
# ## 它还可能怎么说
#
# 五条最好的译文及其得分；前两名的差距说明模型有多确定。

# %%
from dataclasses import replace

search = replace(translator.bundle.info.search, beam_size=5, n_best=5)
for alternative in translator.translate([text], search=search)[0].alternatives:
    print(f"{alternative.score:7.3f}  {alternative.text}")

# %% [markdown] lang="en"
# ## Your turn
#
# One head gives a half of its weight to one token and a quarter to each of two others; another gives an eighth to each
# of eight. What are their entropies in bits? Calculate, then run the next cell.

# %% [markdown] lang="zh"
# ## 试一试
#
# 一个头把一半的权重给一个词元，另外两个词元各得四分之一；另一个头给八个词元各八分之一。它们的熵各是多少比特？先算，再运行下一格。

# %%
for weights in (torch.tensor([0.5, 0.25, 0.25]), torch.full((8,), 0.125)):
    print(weights.tolist(), "->", float(-(weights * weights.log2()).sum()), "bits")
