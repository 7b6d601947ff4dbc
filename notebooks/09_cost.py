# %% [markdown] lang="en"
# # 9. What attention costs
#
# Table 1 of the paper: self-attention takes $O(n^2 d)$ operations. The position-wise parts, which that table does not
# list, take $O(n d^2)$. For sentences of 20 words the square hardly matters; for books it is everything. Here it is
# measured on your machine, for a layer of yiwen.

# %% [markdown] lang="zh"
# # 9. 注意力的代价
#
# 论文表 1：自注意力需要 $O(n^2 d)$ 次运算；表中没有列出的逐位置部分需要 $O(n d^2)$ 次。对 20 个词的句子，平方项几乎无关紧要；对一本书，它就是全部。这里在你的机器上，用 yiwen 的一层来测量。

# %%
import time

import matplotlib.pyplot as plt
import torch
from lesson import show

from yiwen.model.attention import SelfAttention, fused_attention, plain_attention, use_attention
from yiwen.model.config import ModelConfig
from yiwen.model.layers import FeedForward

torch.manual_seed(0)
D = 256
parts = {
    "attention": SelfAttention(ModelConfig(d_model=D, n_heads=4), rotary=None),
    "feed-forward": FeedForward(D, 4 * D, torch.nn.functional.relu),
}


def seconds(work):
    """The fastest of a few calls: the rest is the noise of the machine."""
    work()
    times = []
    while len(times) < 3 or (sum(times) < 0.15 and len(times) < 40):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


# %% [markdown] lang="en"
# Multiplications of one layer for n positions: attention $4 n d^2 + 2 n^2 d$, feed-forward $8 n d^2$. The two halves
# are equal where $2 n = 4 d$: at $n = 2d = 512$ here.

# %% [markdown] lang="zh"
# 一层处理 n 个位置的乘法次数：注意力 $4 n d^2 + 2 n^2 d$，前馈 $8 n d^2$。两者在 $2 n = 4 d$ 时相等，这里是 $n = 2d = 512$。

# %%
lengths = [16, 32, 64, 128, 256, 512, 1024, 2048]
measured = {name: [] for name in parts}
with torch.inference_mode():
    for n in lengths:
        x = torch.randn(1, n, D)
        measured["attention"].append(seconds(lambda x=x: parts["attention"](x, None)))
        measured["feed-forward"].append(seconds(lambda x=x: parts["feed-forward"](x)))
print("positions   attention   feed-forward    (microseconds a position)")
for place, n in enumerate(lengths):
    print(f"{n:9} {measured['attention'][place] / n * 1e6:11.2f} {measured['feed-forward'][place] / n * 1e6:14.2f}")

# %%
for name, values in measured.items():
    plt.loglog(lengths, [value * 1e3 for value in values], "o-", label=name)
plt.xlabel("positions n")
plt.ylabel("ms")
plt.title("one layer, one sentence, d = 256")
plt.legend()
plt.show()
attention = measured["attention"]
assert attention[-1] / attention[-3] > 4 * 0.7, "four times the length costs more than about four times the time"

# %% [markdown] lang="en"
# The curves may cross at a shorter length than that, as they did where this was written: the softmax and the writing of
# $n^2$ weights are not matrix multiplications and were not counted. A step in a curve, from a few milliseconds on, means
# that the machine is busy: other programs take their turns.
#
# ## Memory, and the fused kernel
#
# The weights are $n^2$ numbers a head: 2,048 positions and 4 heads make 64 MiB in float32, and training keeps them for
# the backward pass. The fused kernel never stores them. On a processor it is not always faster for short sentences,
# which is why yiwen measures instead of guessing.

# %% [markdown] lang="zh"
# 两条曲线相交处的长度可能比算出的短，写这一课的机器上就是如此：softmax 和写出 $n^2$ 个权重不是矩阵乘法，没有算进去。如果曲线从几毫秒处起跳高一级，说明机器正忙，其他程序也要占用处理器。
#
# ## 内存与融合内核
#
# 每个头的权重有 $n^2$ 个数：2,048 个位置、4 个头，在 float32 下就是 64 MiB，训练时还要为反向传播留着。融合内核从不保存这些权重。在处理器上，短句用融合内核不一定更快，所以 yiwen 用测量代替猜测。

# %%
show(plain_attention, fused_attention)
layer = parts["attention"]
with torch.inference_mode():
    for n in (32, 2048):
        x = torch.randn(2048 // n, n, D)
        times = []
        for way in (plain_attention, fused_attention):
            use_attention(layer, way)
            times.append(seconds(lambda x=x: layer(x, None)))
        print(f"{2048 // n:3} sentences of {n:4}: plain {times[0] * 1e3:7.1f} ms, fused {times[1] * 1e3:7.1f} ms")

# %% [markdown] lang="en"
# ## One step of decoding
#
# With a cache a new word costs one row of attention: $O(n d)$. Without it every step would compute all positions
# again, $O(n^2 d)$, so a sentence would cost $O(n^3 d)$. That is what lesson 5's cache is for.

# %% [markdown] lang="zh"
# ## 解码的一步
#
# 有了缓存，一个新词只需要一行注意力：$O(n d)$。没有它，每一步都要把所有位置重算一遍，$O(n^2 d)$，整句就是 $O(n^3 d)$。第 5 课里的缓存就是为此而设。

# %% [markdown] lang="en"
# ## Your turn
#
# At which length does attention multiply twice as often as the feed-forward network, for $d = 256$? And for the paper's
# base model, $d = 512$? Calculate, then run the next cell.

# %% [markdown] lang="zh"
# ## 试一试
#
# $d = 256$ 时，长度达到多少，注意力的乘法次数才是前馈网络的两倍？论文的 base 模型 $d = 512$ 呢？先算，再运行下一格。

# %%
for d in (256, 512):
    n = 6 * d
    assert 4 * n * d**2 + 2 * n**2 * d == 2 * 8 * n * d**2
    print(f"d = {d}: n = 6 d = {n}")
