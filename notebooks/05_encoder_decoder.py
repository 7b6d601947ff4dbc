# %% [markdown] lang="en"
# # 5. Encoder and decoder, layer by layer
#
# One sentence goes through the whole model of figure 1 in the paper, and we write down every shape on the way.
# Letters: B sentences, S source and T target positions, D model width, H heads, V vocabulary.

# %% [markdown] lang="zh"
# # 5. 编码器与解码器，逐层来看
#
# 一个句子走完论文图 1 的整个模型，我们记下途中每一个形状。字母的含义：B 句数，S 源端位置，T 目标端位置，D 模型宽度，H 头数，V 词表大小。

# %%
import torch
from lesson import show

from yiwen.data.batching import collate
from yiwen.model.config import ModelConfig
from yiwen.model.masks import attention_bias, padding_mask, target_mask
from yiwen.model.text_encoder import embed
from yiwen.model.transformer import Transformer

config = ModelConfig(d_model=24, n_heads=3, d_ff=48, n_encoder_layers=2, n_decoder_layers=2, dropout=0.0)
torch.manual_seed(0)
model = Transformer(config, src_vocab_size=31, tgt_vocab_size=31).eval()
print(sum(parameter.numel() for parameter in model.parameters()), "parameters")
show(Transformer.forward, Transformer.encode, Transformer.decode)

# %% [markdown] lang="en"
# ## Text to numbers
#
# A batch holds the source, ending in eos (3); the target shifted right after bos (2), as input; and the target ending
# in eos, as the answer to be predicted. 0 is padding.

# %% [markdown] lang="zh"
# ## 从文本到数字
#
# 一个批次包含三样：源句，以 eos（3）结尾；解码器的输入，即前面加上 bos（2）、整体右移一位的目标句；要预测的答案，即以 eos 结尾的目标句。0 是填充。

# %%
batch = collate([[5, 6, 7, 8], [9, 10]], [[11, 12, 13], [14, 15, 16, 17, 18]])
for name in ("src_ids", "tgt_in", "tgt_out"):
    print(f"{name:8}", getattr(batch, name).tolist())

# %% [markdown] lang="en"
# ## Encoder
#
# Embeddings times $\sqrt{D}$ plus positions, then N times: self-attention and a position-wise network, each inside a
# residual connection. Why $\sqrt{D}$? The same matrix gives the logits below, so its entries begin small, with a
# deviation of $1/\sqrt{D}$; times $\sqrt{D}$ they are about as large as the sines and cosines that are added.

# %% [markdown] lang="zh"
# ## 编码器
#
# 词嵌入乘以 $\sqrt{D}$ 再加上位置，然后重复 N 次：自注意力和逐位置前馈网络，各在一个残差连接之内。为什么要乘 $\sqrt{D}$？下面的 logits 也由同一个矩阵算出，所以矩阵的初始值较小，标准差为 $1/\sqrt{D}$；乘以 $\sqrt{D}$ 之后，才与加上的正弦、余弦大小相当。

# %%
with torch.inference_mode():
    x_BSD = embed(model, batch.src_ids, model.src_embedding, model.src_positions)
    print("embedded source ", tuple(x_BSD.shape))
    src_bias = attention_bias(padding_mask(batch.src_ids, 0), x_BSD.dtype)
    for number, layer in enumerate(model.encoder.layers, 1):
        x_BSD = layer(x_BSD, src_bias)
        print(f"encoder layer {number} ", tuple(x_BSD.shape), f"mean {x_BSD.mean():+.3f}, deviation {x_BSD.std():.3f}")
    memory_BSD = model.encoder.final_norm(x_BSD)
    assert torch.equal(memory_BSD, model.encode(batch.src_ids))
show(type(model.encoder.layers[0]))

# %% [markdown] lang="en"
# Width and length never change: that is what lets layers be stacked, and lets each add to what came before. After a
# post-norm layer, one that normalises after each sum as in the paper, every position has mean 0 and deviation 1 (until
# training changes the norm's own scale and shift).
#
# ## Decoder
#
# The same, except that self-attention does not look ahead (lesson 2), and that a look at the encoder's output (the
# *memory*) comes after it. The memory's keys and values are projected once; when translating, that saves most of the
# work.

# %% [markdown] lang="zh"
# 宽度和长度始终不变：正因如此层才能叠起来，每层都只是在前面的结果上添加。post-norm 层（像论文那样在求和之后归一化）的输出，每个位置均值为 0、标准差为 1（训练会改变归一化自身的缩放和平移，此后便不再如此）。
#
# ## 解码器
#
# 结构相同，但自注意力不能看后面的词（第 2 课），之后还要看一眼编码器的输出，代码里叫 *memory*。memory 的键和值只投影一次；翻译时，这省下了大部分计算。

# %%
with torch.inference_mode():
    y_BTD = embed(model, batch.tgt_in, model.tgt_embedding, model.tgt_positions)
    tgt_bias = attention_bias(target_mask(batch.tgt_in, 0), y_BTD.dtype)
    memories = model.decoder.project(memory_BSD)
    print("keys of the memory", tuple(memories[0].key.shape), "= (B, H, S, D / H)")
    for number, (layer, memory) in enumerate(zip(model.decoder, memories, strict=True), 1):
        y_BTD = layer(y_BTD, memory, tgt_bias, src_bias)
        print(f"decoder layer {number}  ", tuple(y_BTD.shape))
    states_BTD = model.decoder.final_norm(y_BTD)
    logits_BTV = model.logits(states_BTD)
    print("logits            ", tuple(logits_BTV.shape))
    assert torch.equal(states_BTD, model(batch.src_ids, batch.tgt_in))

# %% [markdown] lang="en"
# ## Numbers to probabilities
#
# Logits come from the same matrix as the embeddings (section 3.4: one matrix in three places). An untrained model knows
# nothing. Giving every token the same probability would cost $\ln V$ per token; the model's random scores cost more.

# %% [markdown] lang="zh"
# ## 从数字到概率
#
# logits 由词嵌入的那个矩阵算出（3.4 节：一个矩阵用在三处）。未经训练的模型什么也不知道。如果给每个词元同样的概率，每个词元的损失是 $\ln V$；模型的得分是随机的，损失比这更高。

# %%
import math

from yiwen.tasks.translate import translation_loss

assert model.output_weight is model.src_embedding.weight is model.tgt_embedding.weight
loss_sum, n_tokens = translation_loss(0.0)(model, batch)
print(f"loss {float(loss_sum.detach()) / n_tokens:.2f} nats a token, ln V = {math.log(31):.2f}")

# %% [markdown] lang="en"
# ## One word at a time
#
# In training all positions are computed at once, each after the right words before it (teacher forcing). When
# translating, a word is known only once it has been chosen (section 3 calls that auto-regressive); a cache keeps the
# keys and values of all earlier words, so that each step costs one position. Both ways give the same scores.

# %% [markdown] lang="zh"
# ## 一次一个词
#
# 训练时所有位置同时计算，每个位置之前都是正确的词（teacher forcing，教师强制）。翻译时，一个词要选出来之后才知道（论文第 3 节称为自回归）；缓存保留前面所有词的键和值，于是每一步只算一个位置。两种方式得到同样的得分。

# %%
with torch.inference_mode():
    cache = model.start(memory_BSD, padding_mask(batch.src_ids, 0))
    for t in range(4):
        step_logits, cache = model.step(batch.tgt_in[:, t], cache)
        assert torch.allclose(step_logits, logits_BTV[:, t], atol=1e-4)
print("four cached steps equal the first four columns")

# %% [markdown] lang="en"
# ## Your turn
#
# The first cell said 25,128 parameters. Account for them: the one embedding matrix, two encoder layers and two decoder
# layers with $D = 24$, inner width $F = 48$, $V = 31$. An attention has $4D^2 + 4D$ (lesson 4), a normalisation $2D$.
# Calculate, then run the next cell.

# %% [markdown] lang="zh"
# ## 试一试
#
# 第一格说有 25,128 个参数。算清它们从哪里来：唯一的词嵌入矩阵、两个编码器层、两个解码器层，$D = 24$，前馈内层宽 $F = 48$，$V = 31$。一个注意力有 $4D^2 + 4D$ 个（第 4 课），一次归一化有 $2D$ 个。先算，再运行下一格。

# %%
D, F, V = 24, 48, 31
attention, feed_forward, norm = 4 * D**2 + 4 * D, 2 * D * F + F + D, 2 * D
encoder_layer = attention + feed_forward + 2 * norm
decoder_layer = 2 * attention + feed_forward + 3 * norm
total = V * D + 2 * encoder_layer + 2 * decoder_layer
print(f"{V * D} + 2 x {encoder_layer} + 2 x {decoder_layer} = {total:,}")
assert total == sum(parameter.numel() for parameter in model.parameters())
