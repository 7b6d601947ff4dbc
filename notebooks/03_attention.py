# %% [markdown] lang="en"
# # 3. Scaled dot-product attention
#
# Equation 1 of the paper: $\mathrm{Attention}(Q,K,V)=\mathrm{softmax}\left(\frac{QK^T}{\sqrt{d_k}}\right)V$. A row of
# $Q$ is a *query*, what one position looks for. It is compared with every row of $K$, the *keys*, and the softmax turns the
# results into weights that sum to 1. What is found is the mean of the rows of $V$, the *values*, with these weights.
# Queries and keys have $d_k$ entries. Below are the lines that compute it in yiwen, a worked example by hand, and an
# experiment that measures why scores are divided by $\sqrt{d_k}$.

# %% [markdown] lang="zh"
# # 3. 缩放点积注意力
#
# 论文的公式 1：$\mathrm{Attention}(Q,K,V)=\mathrm{softmax}\left(\frac{QK^T}{\sqrt{d_k}}\right)V$。$Q$ 的一行是一个*查询*：某个位置在找什么。它与 $K$ 的每一行（*键*）比较，softmax 把比较的结果变成总和为 1 的权重，再用这些权重对 $V$ 的各行（*值*）求加权平均，就是找到的东西。查询和键各有 $d_k$ 个分量。下面是 yiwen 中计算它的那几行、一个手算的例子，以及一个实验，用测量回答为什么要除以 $\sqrt{d_k}$。

# %%
import math

import matplotlib.pyplot as plt
import torch
from lesson import heat, show

from yiwen.model.attention import attention_weights, fused_attention, plain_attention

show(attention_weights, plain_attention)

# %% [markdown] lang="en"
# ## By hand
#
# One query, two keys, $d_k = 4$. The query agrees with the first key (product 2) and not with the second (product 0).
# After scaling by $1/\sqrt 4$ the scores are 1 and 0, and the weights $e/(e+1) = 0.731$ and $1/(e+1) = 0.269$.

# %% [markdown] lang="zh"
# ## 手算
#
# 一个查询，两个键，$d_k = 4$。查询与第一个键匹配（点积为 2），与第二个不匹配（点积为 0）。乘以 $1/\sqrt 4$ 后得分为 1 和 0，权重是 $e/(e+1) = 0.731$ 和 $1/(e+1) = 0.269$。

# %%
query = torch.tensor([1.0, 1, 0, 0]).view(1, 1, 1, 4)
keys = torch.tensor([[1.0, 1, 0, 0], [0, 0, 1, 1]]).view(1, 1, 2, 4)
values = torch.tensor([[10.0, 0, 0, 0], [0, 20, 0, 0]]).view(1, 1, 2, 4)
weights = attention_weights(query, keys, None)[0, 0, 0]
print("weights", weights, "result", plain_attention(query, keys, values)[0, 0, 0])
assert torch.allclose(weights, torch.tensor([math.e, 1]) / (math.e + 1))

# %% [markdown] lang="en"
# PyTorch's fused kernel computes the same without ever storing the weights. yiwen times both on your machine and
# takes the faster.

# %% [markdown] lang="zh"
# PyTorch 的融合内核算出同样的结果，却从不保存权重。yiwen 会在你的机器上测量两者，用更快的那个。

# %%
torch.manual_seed(0)
q, k, v = (torch.randn(2, 3, 7, 16) for _ in range(3))
print("largest difference", float((plain_attention(q, k, v) - fused_attention(q, k, v)).abs().max()))

# %% [markdown] lang="en"
# ## Why divide by the root of d_k?
#
# If the entries of $q$ and $k$ are independent with mean 0 and variance 1, their product has variance $d_k$. Let us
# measure that, then look at what such large scores do to the softmax and, above all, to its gradient.

# %% [markdown] lang="zh"
# ## 为什么要除以 $\sqrt{d_k}$？
#
# 如果 $q$ 与 $k$ 的各分量独立，均值为 0，方差为 1，那么点积的方差是 $d_k$。先测量这一点，再看这么大的得分对 softmax，尤其是对 softmax 的梯度，有什么影响。

# %%
sizes = [4, 16, 64, 256, 1024]
variances, gradients = [], {"scaled": [], "not scaled": []}
for d_k in sizes:
    q, k = torch.randn(200, 1, d_k), torch.randn(200, 32, d_k)
    scores = (q @ k.transpose(1, 2))[:, 0]
    variances.append(float(scores.var()))
    for name, scale in (("scaled", d_k**-0.5), ("not scaled", 1.0)):
        p = (scores * scale).softmax(dim=-1)
        # How much a weight still answers to its own score: the diagonal of the softmax's Jacobian, p (1 - p).
        gradients[name].append(float((p * (1 - p)).sum(dim=-1).mean()))
for d_k, variance in zip(sizes, variances, strict=True):
    print(f"d_k {d_k:5}: variance of the scores {variance:8.1f}")
assert abs(variances[2] / 64 - 1) < 0.1

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.2))
left.loglog(sizes, variances, "o-", label="measured")
left.loglog(sizes, sizes, "--", label="d_k")
left.set(xlabel="d_k", title="variance of q · k")
left.legend()
for name, values in gradients.items():
    right.semilogx(sizes, values, "o-", label=name)
right.set(xlabel="d_k", title="how much the softmax still answers (sum of p (1 - p))")
right.legend()
plt.show()
assert gradients["scaled"][-1] > 5 * gradients["not scaled"][-1]

# %% [markdown] lang="en"
# Unscaled, at $d_k = 1024$ the softmax puts nearly all its weight on one key and hardly responds to a change: no
# gradient, no learning. Scaled, the curve stays flat: the width of a head no longer matters. Here is the same in one
# picture: weights of ten queries over 32 keys ($32 = \sqrt{1024}$, too, so queries times 32 undo the scaling).

# %% [markdown] lang="zh"
# 不缩放时，$d_k = 1024$ 的 softmax 把几乎全部权重放在一个键上，对变化几乎没有反应：没有梯度，就学不到东西。缩放之后曲线保持平直：头的宽度不再有影响。画成一张图就是：十个查询在 32 个键上的权重（$\sqrt{1024}$ 也是 32，所以查询乘以 32 就抵消了缩放）。

# %%
q, k = torch.randn(1, 1, 10, 1024), torch.randn(1, 1, 32, 1024)
figure, axes = plt.subplots(1, 2, figsize=(11, 2.6))
heat(axes[0], attention_weights(q, k, None)[0, 0], title="scaled")
heat(axes[1], attention_weights(q * 32, k, None)[0, 0], title="not scaled")
plt.show()

# %% [markdown] lang="en"
# ## Your turn
#
# A third key (1, 1, 1, 1) joins the two of the example by hand. What are the three weights? And what are they if the
# first key is forbidden, as a mask does it, by a bias of minus infinity? Calculate, then run the next cell.

# %% [markdown] lang="zh"
# ## 试一试
#
# 在手算的例子里加上第三个键 (1, 1, 1, 1)。三个权重各是多少？如果像掩码那样，用负无穷的偏置禁止看第一个键，又是多少？先算，再运行下一格。

# %%
three_keys = torch.cat([keys, torch.ones(1, 1, 1, 4)], dim=2)
free = attention_weights(query, three_keys, None)[0, 0, 0]
forbidden = attention_weights(query, three_keys, torch.tensor([-torch.inf, 0, 0]))[0, 0, 0]
print("all three", free, "without the first", forbidden)
assert torch.allclose(free, torch.tensor([math.e, 1, math.e]) / (2 * math.e + 1))
assert torch.allclose(forbidden, torch.tensor([0, 1, math.e]) / (math.e + 1))
