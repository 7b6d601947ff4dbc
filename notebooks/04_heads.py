# %% [markdown] lang="en"
# # 4. Multi-head attention in four steps
#
# One attention can look at one thing at a time. Section 3.2.2 of the paper lets $h$ of them look side by side, each
# in a narrow space of its own: **project, split, attend, join**. We walk through the four steps with yiwen's own
# parts, then compare the whole with `torch.nn.MultiheadAttention`.

# %% [markdown] lang="zh"
# # 4. 四步看懂多头注意力
#
# 一个注意力一次只能看一样东西。论文 3.2.2 节让 $h$ 个注意力并行，各自在一个较窄的子空间里计算：**投影、切分、计算注意力、合并**。我们用 yiwen 自己的部件走完这四步，再把整体与 `torch.nn.MultiheadAttention` 对比。

# %%
import matplotlib.pyplot as plt
import torch
from lesson import heat, show
from torch import nn

from yiwen.model.attention import SelfAttention, merge_heads, plain_attention, split_heads
from yiwen.model.config import ModelConfig

B, L, D, H = 2, 5, 12, 3
torch.manual_seed(0)
attention = SelfAttention(ModelConfig(d_model=D, n_heads=H), rotary=None)
x_BLD = torch.randn(B, L, D)
show(split_heads, merge_heads)

# %% [markdown] lang="en"
# **1. Project.** Queries, keys and values come from one product (three matrices stacked: faster than three products).
# **2. Split** the width $D = 12$ into $H = 3$ heads of $K = 4$. Mind the order: first cut the last dimension, then
# move the heads in front of the positions. The other way round mixes positions.

# %% [markdown] lang="zh"
# **1. 投影。** 查询、键、值由一次矩阵乘法得出（三个矩阵叠在一起，比乘三次快）。**2. 切分**：宽度 $D = 12$ 切成 $H = 3$ 个头，每个 $K = 4$。注意次序：先切最后一维，再把头移到位置之前。反过来就会把位置混在一起。

# %%
q_BLD, k_BLD, v_BLD = attention.qkv_proj(x_BLD).split(D, dim=2)
q_BHLK, k_BHLK, v_BHLK = (split_heads(part, D // H) for part in (q_BLD, k_BLD, v_BLD))
print("before", tuple(q_BLD.shape), "after", tuple(q_BHLK.shape))
wrong = q_BLD.reshape(B, H, L, D // H)
print("the tempting shortcut gives the same shape and other numbers:", not torch.equal(wrong, q_BHLK))

# %% [markdown] lang="en"
# **3. Attend**, each head by itself: the heads are just one more batch dimension. **4. Join** and project once more:
# only here do the heads meet.

# %% [markdown] lang="zh"
# **3. 计算注意力**：每个头各算各的，头只是多出来的一个批次维。**4. 合并**，再投影一次：头与头只在这里相遇。

# %%
out_BHLK = plain_attention(q_BHLK, k_BHLK, v_BHLK)
out_BLD = attention.heads.out_proj(merge_heads(out_BHLK))
assert torch.allclose(out_BLD, attention(x_BLD, None), atol=1e-6)
print("four steps equal the module:", tuple(out_BLD.shape))

# %% [markdown] lang="en"
# ## The same weights in torch.nn

# %% [markdown] lang="zh"
# ## 把同样的权重放进 torch.nn

# %%
reference = nn.MultiheadAttention(D, H, batch_first=True)
with torch.no_grad():
    reference.in_proj_weight.copy_(attention.qkv_proj.weight)
    reference.in_proj_bias.copy_(attention.qkv_proj.bias)
    reference.out_proj.weight.copy_(attention.heads.out_proj.weight)
    reference.out_proj.bias.copy_(attention.heads.out_proj.bias)
theirs, weights = reference(x_BLD, x_BLD, x_BLD, average_attn_weights=False)
print("largest difference", float((theirs - out_BLD).abs().max().detach()))
assert torch.allclose(theirs, out_BLD, atol=1e-6)

# %% [markdown] lang="en"
# Three heads, three ways of looking at the same sentence (untrained: no meaning yet).

# %% [markdown] lang="zh"
# 三个头，以三种方式看同一个句子（尚未训练，还没有意义）。

# %%
figure, axes = plt.subplots(1, H, figsize=(12, 3))
for head, axis in enumerate(axes):
    heat(axis, weights[0, head].detach(), title=f"head {head + 1}", vmin=0, vmax=0.6)
plt.show()

# %% [markdown] lang="en"
# ## Heads cost nothing
#
# Eight heads of width 64 need as many multiplications as one of 512. The paper's Table 3 (A) varies the number at equal
# cost: 1 head 24.9 BLEU, 8 heads 25.8, 32 heads 25.4. The parameters stay the same; count them:

# %% [markdown] lang="zh"
# ## 多头不增加计算量
#
# 8 个 64 宽的头与 1 个 512 宽的头，乘法次数一样多。论文表 3（A）在计算量相同的前提下改变头数：1 个头 24.9 BLEU，8 个 25.8，32 个 25.4。参数量不变，数数看：

# %%
for n_heads in (1, 8, 32):
    module = SelfAttention(ModelConfig(d_model=512, n_heads=n_heads), rotary=None)
    print(n_heads, "heads:", sum(parameter.numel() for parameter in module.parameters()), "parameters")

# %% [markdown] lang="en"
# ## Your turn
#
# Where does 1,050,624 come from? Write it as a formula in $d = 512$: matrices and biases of all four projections. How
# many are there with $d = 256$? Calculate, then run the next cell.

# %% [markdown] lang="zh"
# ## 试一试
#
# 1,050,624 是怎么来的？用 $d = 512$ 写出公式：四个投影的矩阵和偏置。$d = 256$ 时是多少？先算，再运行下一格。

# %%
for d in (512, 256):
    module = SelfAttention(ModelConfig(d_model=d, n_heads=8), rotary=None)
    assert sum(parameter.numel() for parameter in module.parameters()) == 4 * d**2 + 4 * d
    print(f"d = {d}: 4 d^2 + 4 d = {4 * d**2 + 4 * d:,}")
