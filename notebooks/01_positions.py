# %% [markdown] lang="en"
# # 1. Where a word stands
#
# Attention looks at all words at once and does not know their order: *dog bites man* and *man bites dog* would be the
# same bag of three vectors. The paper (Vaswani et al. 2017, section 3.5) adds to each word's vector one that says
# where the word stands. This notebook draws that vector, and shows what survives once the model multiplies it by a
# matrix.

# %% [markdown] lang="zh"
# # 1. 词在何处
#
# 注意力一次看到所有的词，却不知道它们的先后：“狗咬人”和“人咬狗”只是同样三个向量的集合。论文（Vaswani 等，2017，3.5 节）给每个词的向量加上一个表示位置的向量。本课画出这个向量，并说明模型用一个矩阵乘它之后还剩下什么。

# %%
import matplotlib.pyplot as plt
import torch
from lesson import heat, show

from yiwen.model.positions import alibi_bias, sinusoids

show(sinusoids)

# %% [markdown] lang="en"
# Each column is a wave. The first columns turn quickly, the last ones so slowly that they hardly move over a
# sentence: together they count, like the digits of a number, only smoothly. A position is a row.

# %% [markdown] lang="zh"
# 每一列都是一个波。前几列变化得快，后几列慢到在一句话里几乎不动：合在一起像数字的各位一样计数，只是变化平滑。一行就是一个位置。

# %%
table = sinusoids(100, 64)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
heat(left, table, title="PE(position, dimension)", cmap="RdBu")
left.set(xlabel="dimension", ylabel="position")
for dimension in (0, 8, 16, 32):
    right.plot(table[:, dimension], label=f"dimension {dimension}")
right.set(xlabel="position", title="four columns as waves")
right.legend(fontsize=8)
plt.show()

# %% [markdown] lang="en"
# ## What attention sees of it
#
# Attention compares vectors by their product. The product of two position vectors depends on their *distance* alone
# and is the same to the left and to the right: $PE(p)\cdot PE(p+k) = \sum_i \cos(k\,\omega_i)$, where
# $\omega_i = 10000^{-2i/d_{model}}$ is how fast the $i$-th pair of columns turns. The next cell checks both: its three
# curves lie on one another.

# %% [markdown] lang="zh"
# ## 注意力从中看到什么
#
# 注意力用点积比较向量。两个位置向量的点积只取决于它们的*距离*，向左向右完全相同：$PE(p)\cdot PE(p+k) = \sum_i \cos(k\,\omega_i)$，其中 $\omega_i = 10000^{-2i/d_{model}}$ 是第 $i$ 对列转动的快慢。下一格同时验证这两点：图中的三条曲线重合在一起。

# %%
products = table @ table.T
distances = torch.arange(-30, 31)
for position in (30, 50, 69):
    plt.plot(distances, products[position, position + distances], label=f"p = {position}", alpha=0.7)
plt.xlabel("k")
plt.title("PE(p) · PE(p + k): one curve, and symmetric")
plt.legend()
plt.show()
assert torch.allclose(products[30, 20], products[30, 40], atol=1e-4)
assert torch.allclose(products[30, 35], products[60, 65], atol=1e-4)

# %% [markdown] lang="en"
# But attention never compares the vectors themselves. Two learnt matrices come first: $W_q$ turns a vector into a
# *query* (what this word looks for), $W_k$ into a *key* (what it can be found by), and each query is compared with all
# keys (lesson 3). So what counts of two positions is $PE(p)\, W_q W_k^T\, PE(p+k)^T$. With random matrices the symmetry
# is gone, and with it any pattern a person could see. That is no defect: it is where a model begins. In lesson 8 you
# will see what training makes of it.

# %% [markdown] lang="zh"
# 但注意力比较的从来不是这些向量本身。每个向量要先乘以两个学来的矩阵：乘以 $W_q$ 得到*查询*（这个词在找什么），乘以 $W_k$ 得到*键*（凭什么找到这个词），然后每个查询与所有的键比较（第 3 课）。所以两个位置之间真正起作用的是 $PE(p)\, W_q W_k^T\, PE(p+k)^T$。换成随机矩阵，对称性就消失了，人眼能看出的规律也随之消失。这不是缺陷：模型正是从这里开始的。第 8 课会看到训练把它变成了什么。

# %%
generator = torch.Generator().manual_seed(0)
w_q, w_k = (torch.randn(64, 64, generator=generator) / 8 for _ in range(2))
figure, axes = plt.subplots(1, 2, figsize=(11, 3.4))
heat(axes[0], products, title="identity: symmetric, distance only", cmap="viridis")
heat(axes[1], table @ w_q @ w_k.T @ table.T, title="random W_q W_k^T: neither", cmap="viridis")
plt.show()

# %% [markdown] lang="en"
# ## Later ways to say the same
#
# *Learned* positions are a table of weights (Table 3, row E: no better, no worse). *Rotary* positions turn queries and
# keys by an angle, so that their product depends on the distance whatever the matrices are: below, each diagonal has one
# colour. *ALiBi* simply subtracts a little for every step of distance, with a different slope for each head. In yiwen
# they are values of one setting, `model.positions`.

# %% [markdown] lang="zh"
# ## 后来的几种做法
#
# *可学习*的位置编码是一张权重表（表 3 的 E 行：效果相当）。*旋转*位置编码把查询和键各转一个角度，于是不论矩阵是什么，点积都只取决于距离：下图中每条对角线颜色相同。*ALiBi* 干脆按距离逐步扣分，每个头的斜率不同。在 yiwen 里，选哪一种只是一项设置：`model.positions`。

# %%
from yiwen.model.positions import RotaryPositions

rotary = RotaryPositions(max_len=64, d_head=16)
q_11LK, k_11LK = (torch.randn(1, 1, 1, 16, generator=generator).expand(1, 1, 64, 16) for _ in range(2))
scores = (rotary(q_11LK) @ rotary(k_11LK).transpose(-1, -2))[0, 0]
assert torch.allclose(scores[5, 9], scores[40, 44], atol=1e-4), "rotary: only the distance counts"

figure, axes = plt.subplots(1, 2, figsize=(11, 3.4))
heat(axes[0], scores, title="rotary: one query, one key, all positions", cmap="viridis")
heat(axes[1], alibi_bias(4, 64, 64)[0, 1], title="ALiBi: what head 2 takes away", cmap="viridis")
plt.show()

# %% [markdown] lang="en"
# ## Your turn
#
# The paper chose sinusoids because one matrix, the same for every $p$, turns $PE(p)$ into $PE(p+1)$. It consists of one
# 2 x 2 block for each pair (sine, cosine). Which four numbers stand in the block of $\omega$? Write them down (the sums
# of angles will help: $\sin(a+b)$, $\cos(a+b)$), then let the next cell check.

# %% [markdown] lang="zh"
# ## 试一试
#
# 论文选用正弦和余弦，是因为存在一个与 $p$ 无关的矩阵，能把 $PE(p)$ 变成 $PE(p+1)$。它由许多 2 x 2 的小块组成，每对（正弦，余弦）一块。$\omega$ 的那一块是哪四个数？先写下来（用和角公式：$\sin(a+b)$、$\cos(a+b)$），再用下一格验证。

# %%
angles = 10000 ** (-torch.arange(0, 64, 2) / 64)
blocks = [torch.tensor([[w.cos(), -w.sin()], [w.sin(), w.cos()]]) for w in angles]
assert torch.allclose(table[:-1] @ torch.block_diag(*blocks), table[1:], atol=1e-4)
print("the block of the first pair, one step on:", blocks[0], sep="\n")
