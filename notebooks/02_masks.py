# %% [markdown] lang="en"
# # 2. Masks: who may look at whom
#
# A mask is a table of yes and no. The Transformer has three: no source position may look at padding, no target position
# may look ahead, and no target position may look at the source's padding. Each keeps something from leaking.
# `padding_mask` makes the first and the third, which are the same; `target_mask` makes the second out of `causal_mask`,
# and hides the target's own padding with it. We take away each of the two and watch what leaks.

# %% [markdown] lang="zh"
# # 2. 掩码：谁可以看谁
#
# 掩码是一张“可以 / 不可以”的表。Transformer 有三种：源端不得看填充，目标端不得看后面的词，目标端不得看源端的填充。每一种都防止一种泄漏。第一种和第三种相同，由 `padding_mask` 得出；第二种由 `target_mask` 得出：它用到 `causal_mask`，同时遮住目标端自己的填充。我们把这两个函数逐一拿掉，看看漏了什么。

# %%
import matplotlib.pyplot as plt
import torch
from lesson import heat, show

from yiwen.data.batching import collate
from yiwen.model.config import ModelConfig
from yiwen.model.transformer import Transformer
from yiwen.model.masks import causal_mask, padding_mask, target_mask

show(padding_mask, causal_mask, target_mask)

# %% [markdown] lang="en"
# Two sentences of different length make a batch with padding (id 0), and a start (2) or an end (3). True means: may
# attend; it is yellow below. Rows look, columns are looked at.

# %% [markdown] lang="zh"
# 两个长短不一的句子组成一个带填充（编号 0）的批次，另有开头（2）或结尾（3）。True 表示“可以看”，图中为黄色。每一行是看的位置，每一列是被看的位置。

# %%
batch = collate([[5, 6, 7, 8, 9], [5, 6]], [[11, 12, 13, 14], [11, 12]])
print(batch.src_ids, batch.tgt_in, batch.tgt_out, sep="\n")
figure, axes = plt.subplots(1, 3, figsize=(12, 3))
heat(axes[0], padding_mask(batch.src_ids, 0)[1, 0].int(), title="source padding, sentence 2", y=["all"], vmin=0, vmax=1)
heat(axes[1], causal_mask(5, torch.device("cpu"))[0, 0].int(), title="causal", vmin=0, vmax=1)
heat(axes[2], target_mask(batch.tgt_in, 0)[1, 0].int(), title="both, sentence 2", vmin=0, vmax=1)
plt.show()

# %% [markdown] lang="en"
# ## With the masks, nothing leaks
#
# The second sentence must have the same states whether it is computed alone or in a batch with a longer one, and no
# position may change when a later token does: below, only the last one changes, which reads the changed token itself.

# %% [markdown] lang="zh"
# ## 有掩码，就不会泄漏
#
# 第二句无论单独处理还是与更长的句子同批，状态都必须相同；改动后面的词，不得影响前面的任何位置：下面只有最后一个位置变了，它读到的正是改动的词。

# %%
torch.manual_seed(0)
config = ModelConfig(d_model=16, n_heads=2, d_ff=32, n_encoder_layers=2, n_decoder_layers=2, dropout=0.0)
model = Transformer(config, src_vocab_size=20, tgt_vocab_size=20).eval()


@torch.inference_mode()
def states(batch):
    return model(batch.src_ids, batch.tgt_in)


alone = collate([[5, 6]], [[11, 12]])
together = states(batch)[1, :3]
print("padding:", float((states(alone)[0] - together).abs().max()), "(rounding)")
assert torch.allclose(states(alone)[0], together, atol=1e-5)
changed = collate([[5, 6, 7, 8, 9], [5, 6]], [[11, 12, 13, 19], [11, 12]])
difference = (states(changed) - states(batch))[0].abs().amax(dim=1)
print("look ahead:", difference)
assert difference[:4].max() == 0 < difference[4]

# %% [markdown] lang="en"
# ## Without them
#
# Replace each mask by one that allows everything and measure the same two differences. Without the causal mask the
# training loss would fall to almost nothing, because each position could read off the token it has to guess;
# translation would then fail, because there is nothing to read yet.

# %% [markdown] lang="zh"
# ## 没有掩码时
#
# 把每种掩码换成“全部允许”，再测同样的两个差值。没有因果掩码，训练损失会降到几乎为零，因为每个位置都能直接读到要猜的词；而翻译时那些词还不存在，模型就不会翻译了。

# %%
import yiwen.model.transformer as home


def leak(name):
    """Differences with one of the masks replaced by 'everything is allowed'."""
    real = getattr(home, name)
    setattr(home, name, lambda *arguments: torch.ones_like(real(*arguments)))
    try:
        padding = (states(alone)[0] - states(batch)[1, :3]).abs().max()
        ahead = (states(changed) - states(batch))[0, :4].abs().max()
    finally:
        setattr(home, name, real)
    return float(padding), float(ahead)


for name in ("padding_mask", "target_mask"):
    padding, ahead = leak(name)
    print(f"without {name:13} padding leaks {padding:.3f}, the future leaks {ahead:.3f}")
assert leak("padding_mask")[0] > 0.01
assert leak("target_mask")[1] > 0.01

# %% [markdown] lang="en"
# ## Your turn
#
# How many times does True stand in the target mask of the first sentence, and of the second? Count with the figure in
# mind, then run the next cell.

# %% [markdown] lang="zh"
# ## 试一试
#
# 第一句的目标端掩码里有几个 True？第二句呢？先对照上面的图数一数，再运行下一格。

# %%
print(target_mask(batch.tgt_in, 0).sum(dim=(1, 2, 3)).tolist())
assert target_mask(batch.tgt_in, 0).sum(dim=(1, 2, 3)).tolist() == [1 + 2 + 3 + 4 + 5, 1 + 2 + 3 + 3 + 3]
