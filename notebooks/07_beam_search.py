# %% [markdown] lang="en"
# # 7. Beam search by hand
#
# A model gives probabilities for the next word; a search turns them into a sentence. Greedy search takes the
# likeliest word each time and may walk into a dead end. Beam search keeps a few hypotheses alive. We play it through
# on a language of four words, small enough to check by hand, with yiwen's own search.

# %% [markdown] lang="zh"
# # 7. 手算束搜索
#
# 模型给出下一个词的概率，搜索把它们变成句子。贪心搜索每次取最可能的词，可能走进死胡同。束搜索同时保留几个假设。我们用 yiwen 自己的搜索，在一种只有四个词、小到可以手算验证的语言上走一遍。

# %%
import math
from dataclasses import dataclass

import torch
from lesson import show

from yiwen.search.beam import beam_search
from yiwen.search.config import SearchConfig
from yiwen.search.greedy import greedy_search
from yiwen.search.penalties import length_divisor
from yiwen.search.step import Task

BOS, END, A, B, C = range(5)
NAMES = ["<s>", ".", "a", "b", "c"]

# %% [markdown] lang="en"
# The whole model is this table: after the words so far, the probability of the next. The likeliest first word is *a*
# (0.55), but everything that follows it is doubtful; *b* (0.28) leads straight to a good end.

# %% [markdown] lang="zh"
# 整个模型就是这张表：给定已有的词，下一个词的概率。第一个词最可能是 *a*（0.55），但之后怎么走都不确定；*b*（0.28）则直通一个好结尾。

# %%
TABLE = {
    (): {A: 0.55, B: 0.28, C: 0.17},
    (A,): {A: 0.3, B: 0.3, C: 0.3, END: 0.1},
    (B,): {C: 0.8, A: 0.2},
    (B, C): {A: 0.8, END: 0.2},
    (B, C, A): {END: 0.8, A: 0.2},
    (C,): {END: 0.99, A: 0.01},
}
OTHERWISE = {END: 0.6, A: 0.4}


@dataclass
class Words:
    """The words of each hypothesis: all that this model remembers."""

    rows: list[tuple[int, ...]]

    def select(self, rows):
        return Words([self.rows[row] for row in rows.tolist()])

    def select_sentences(self, sentences):
        return self


def step(last_ids, state):
    """(newest words, state) -> (log-probabilities of the next, state): all that a search knows of a model."""
    rows = [(*row, word) if word != BOS else row for row, word in zip(state.rows, last_ids.tolist(), strict=True)]
    probabilities = torch.zeros(len(rows), len(NAMES))
    for place, row in enumerate(rows):
        for word, probability in TABLE.get(row, OTHERWISE).items():
            probabilities[place, word] = probability
    return probabilities.log(), Words(rows)


def translate(search, **settings):
    task = Task(bos_id=BOS, eos_id=END, max_lens=[6], prefixes=[()])
    return search(step, Words([()]), task, SearchConfig(**settings))[0]


def told(hypothesis):
    words = " ".join(NAMES[word] for word in (*hypothesis.ids, *[END] * hypothesis.is_finished))
    return f"{words:10} probability {math.exp(hypothesis.log_prob):.4f}  score {hypothesis.score:.3f}"


# %% [markdown] lang="en"
# Greedy: *a*, then the first of three equals, and so on. Beam search with two hypotheses finds *b c a .* with
# probability $0.28\cdot 0.8\cdot 0.8\cdot 0.8 = 0.143$.

# %% [markdown] lang="zh"
# 贪心：先取 *a*，再从三个并列的词里取第一个，依此类推。束宽为 2 的束搜索找到 *b c a .*，概率 $0.28\cdot 0.8\cdot 0.8\cdot 0.8 = 0.143$。

# %%
print("greedy", told(translate(greedy_search, beam_size=1, penalty="none")[0]))
for hypothesis in translate(beam_search, beam_size=2, n_best=2, penalty="none"):
    print("beam 2", told(hypothesis))
best = translate(beam_search, beam_size=2, penalty="none")[0]
assert best.ids == (B, C, A)
assert abs(math.exp(best.log_prob) - 0.28 * 0.8**3) < 1e-6

# %% [markdown] lang="en"
# ## Length penalty
#
# Each word lowers the probability, so the shortest sentence would win too often. Scores are therefore divided by a
# function of the length: `gnmt` is that of Wu et al. 2016, section 7, `average` is the length itself. Its exponent alpha
# is 1 here. Without a penalty a wider beam finds something likelier, but too short: *c .*.

# %% [markdown] lang="zh"
# ## 长度惩罚
#
# 每多一个词概率就变小，于是最短的句子常常获胜。因此得分要除以一个长度的函数：`gnmt` 是 Wu 等（2016）第 7 节的公式，`average` 就是长度本身；指数 alpha 在这里是 1。没有惩罚时，更宽的束找到了概率更高、却过短的句子：*c .*。

# %%
show(length_divisor)
for penalty in ("none", "average", "gnmt"):
    hypotheses = translate(beam_search, beam_size=5, n_best=3, penalty=penalty)
    print(penalty)
    for hypothesis in hypotheses:
        print("   ", told(hypothesis))
    assert hypotheses[0].ids == ((C,) if penalty == "none" else (B, C, A))

# %% [markdown] lang="en"
# ## The search itself
#
# It knows no model: a step function and a state that can be reordered are all it gets, which is why this table can
# play the Transformer.

# %% [markdown] lang="zh"
# ## 搜索本身
#
# 搜索对模型一无所知：得到的只有一个步进函数和一个可以重新排序的状态，所以这张表才能扮演 Transformer。

# %%
show(beam_search)

# %% [markdown] lang="en"
# ## Your turn
#
# The paper searches with `gnmt` and alpha = 0.6. What are the scores of *b c a .* and of *c .* then, and which wins? The
# end counts as a word. Calculate with the probabilities above, then run the next cell.

# %% [markdown] lang="zh"
# ## 试一试
#
# 论文搜索时用 `gnmt`，alpha = 0.6。这时 *b c a .* 和 *c .* 的得分各是多少，谁胜出？结尾算一个词。用上面的概率算一算，再运行下一格。

# %%
first, second = translate(beam_search, beam_size=5, n_best=2, penalty="gnmt", length_penalty=0.6)
print(told(first), told(second), sep="\n")
assert abs(first.score - math.log(0.28 * 0.8**3) / (9 / 6) ** 0.6) < 1e-6
assert abs(second.score - math.log(0.17 * 0.99) / (7 / 6) ** 0.6) < 1e-6
