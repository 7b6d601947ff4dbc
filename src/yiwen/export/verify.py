"""Is the exported model the trained one? Both translate the same sentences, and the export fails where they disagree.

float32     the same weights in the same precision: log-probabilities agree to 1e-4 a token, and greedy search takes
            the same token wherever two candidates are further apart than 1e-3. Checked whatever is exported: it shows
            that every weight is in its place.
the rest    rounded on purpose: it may lose 0.3 BLEU, measured on 1,000 lines with references.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import numpy as np

from yiwen.bundle import Bundle
from yiwen.data.store import TextPairs
from yiwen.engines.ct2_engine import GREEDY, CT2Engine
from yiwen.engines.engine import Engine, Ids, Sentences
from yiwen.engines.exported import Golden
from yiwen.errors import ExportError
from yiwen.evaluation.metrics import quick_score
from yiwen.search.hypothesis import Hypothesis
from yiwen.stop import StopFlag
from yiwen.text.normalise import normalise
from yiwen.text.reading import Reader, Reading
from yiwen.text.subword import EOS_ID, N_SPECIAL, Subword

LOG_PROB_TOLERANCE: Final = 1e-4
MARGIN: Final = 1e-3
"""Candidates closer than this are a tie: rounding decides between them."""
BLEU_TOLERANCE: Final = 0.3
BLEU_LINES: Final = 1000
"""Lines that the bound on BLEU needs, and the most that are translated."""
_GOLDEN_LENGTHS: Final = range(4, 30)


@dataclass(frozen=True)
class TestSet:
    """What both engines translate."""

    __test__ = False  # no test of pytest's

    sources: list[list[int]]
    """Those that the program makes up from the vocabulary; behind them those of the validation text that a model
    translates in one piece."""
    readings: list[Reading]
    """How the latter were read."""
    references: list[str]
    """Their translations."""


def make_test_set(source: Subword, valid: TextPairs | None, *, limit: int, reader: Reader | None = None) -> TestSet:
    """The sentences to verify with.

    Args:
        source: Source subwords.
        valid: Validation text; the first 1,000 lines that are neither blank nor overlong are used.
        limit: Longest source in subwords that is translated in one piece.
        reader: How a translator reads a user's text, which its exported model is given too.
    """
    pairs = zip(*valid, strict=True) if valid is not None else ()
    read = ((reader.read(src) if reader else Reading(normalise(src)), tgt) for src, tgt in pairs)
    encoded = ((source.encode([reading.text])[0], reading, tgt) for reading, tgt in read)
    kept = list(islice((each for each in encoded if 0 < len(each[0]) <= limit), BLEU_LINES))
    sources = fixed_sources(source.vocab_size, limit=limit) + [ids for ids, _, _ in kept]
    return TestSet(sources, [reading for _, reading, _ in kept], [tgt for _, _, tgt in kept])


def fixed_sources(vocab_size: int, *, limit: int) -> list[list[int]]:
    """The same made-up sources for the same vocabulary: of 1 subword up to the limit, common pieces and rare ones.

    Ids near the start of a vocabulary are bytes, those near its end the rarest pieces.
    """
    rng = random.Random(1)
    lengths = sorted({min(length, limit) for length in (1, 2, 3, 5, 8, 13, 21, 34, 55, limit)})
    sources = [[rng.randrange(N_SPECIAL, vocab_size) for _ in range(length)] for length in lengths]
    sources += [list(range(vocab_size - length, vocab_size)) for length in (1, 7) if vocab_size - length >= N_SPECIAL]
    sources += [[min(N_SPECIAL + 1, vocab_size - 1)] * min(11, limit)]
    return [row[:limit] for row in sources]


def compare_exactly(trained: Engine, exported: Engine, sources: Sentences, *, stop: StopFlag | None) -> dict[str, Any]:
    """Compare in float32: forced log-probabilities and greedy translations.

    Returns:
        Sentences, tokens, ties among their choices, largest difference of a log-probability.

    Raises:
        ExportError: Where they disagree; the first sentences are named with their figures.
    """
    ours = [group[0] for group in trained.search(sources, config=GREEDY, stop=stop)]
    theirs = [group[0] for group in exported.search(sources, config=GREEDY, stop=stop)]
    targets = [hypothesis.ids for hypothesis in ours]
    rows = zip(trained.score(sources, targets, stop=stop), exported.score(sources, targets, stop=stop), strict=True)
    # By NumPy, whose largest is no number where one is none; Python's max passes over it.
    differences = [float(np.max([abs(a - b) for a, b in zip(*pair, strict=True)])) for pair in rows]
    problems = [
        f"sentence {i + 1} ({len(sources[i])} subwords): a log-probability differs by {difference:.2g}"
        for i, difference in enumerate(differences)
        if not difference <= LOG_PROB_TOLERANCE  # also where it is no number
    ]
    n_ties = 0
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a.ids == b.ids and a.is_finished == b.is_finished:
            continue
        place, margin = _first_difference(trained, sources[i], a, b)
        if abs(margin) <= MARGIN:  # below 0 where an end was taken that our rules forbid
            n_ties += 1
        else:  # also where it is no number
            problems.append(f"sentence {i + 1}: greedy token {place + 1} differs where the margin is {margin:.2g}")
    if problems:
        found = f"{len(problems)} differences in {len(sources)} sentences; {'; '.join(problems[:3])}"
        remedy = "Nothing was written; use the torch engine, and please report the recipe's [model] table"
        raise ExportError(f"the exported model does not compute what the trained one does: {found}. {remedy}")
    return {
        "n_sentences": len(sources),
        "n_tokens": sum(len(ids) + 1 for ids in targets),
        "n_ties": n_ties,
        "largest_log_prob_difference": max(differences, default=0.0),
    }


def compare_quality(
    trained: Engine, exported: Engine, test_set: TestSet, *, bundle: Bundle, remedy: str, stop: StopFlag | None = None
) -> dict[str, Any]:
    """Compare a rounded model with the trained one, as users will use it.

    Args:
        trained: The trained model.
        exported: What is to be published.
        test_set: What both translate.
        bundle: Its search rules, its target subwords, and its target language, which chooses BLEU's tokeniser.
        remedy: How to export so that this cannot fail.
        stop: Polled between batches.

    Returns:
        Share of equal translations, differences of forced log-probabilities, BLEU of both.

    Raises:
        ExportError: If it loses more than 0.3 BLEU on at least 1,000 lines, or gives something that is no number.
    """
    search = bundle.info.search.changed(sampling=False, n_best=1, mbr=0)
    n_lines = len(test_set.references)
    sources = test_set.sources[-n_lines:]  # what users write, where there is some; else all
    ours = [group[0].ids for group in trained.search(sources, config=search, stop=stop)]
    theirs = [group[0].ids for group in exported.search(sources, config=search, stop=stop)]
    pairs = zip(trained.score(sources, ours, stop=stop), exported.score(sources, ours, stop=stop), strict=True)
    differences = [abs(a - b) for pair in pairs for a, b in zip(*pair, strict=True)]
    result: dict[str, Any] = {
        "n_sentences": len(sources),
        "agreement": sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(sources),
        "mean_log_prob_difference": math.fsum(differences) / len(differences),
        "largest_log_prob_difference": max(differences),
        "n_lines": n_lines,
        "is_bleu_checked": n_lines >= BLEU_LINES,
    }
    if not math.isfinite(result["mean_log_prob_difference"]):
        remedy = "its weights do not fit into this dtype: export with --dtype float32"
        raise ExportError(f"the exported model gives log-probabilities that are not numbers; {remedy}")

    def bleu(answers: Sentences) -> float:
        texts = list(map(bundle.reader.write, test_set.readings, bundle.target.decode(answers)))
        return quick_score(texts, test_set.references, tgt_lang=bundle.info.tgt_lang, metric="bleu")

    if n_lines:
        before, after = bleu(ours), bleu(theirs)
        result |= {"bleu_trained": before, "bleu_exported": after, "bleu_loss": before - after}
        if n_lines >= BLEU_LINES and before - after > BLEU_TOLERANCE:
            both = f"the exported model has BLEU {after:.2f} on {n_lines} lines, the trained one {before:.2f}"
            loss = f"{before - after:.2f}, more than {BLEU_TOLERANCE}"
            raise ExportError(f"{both}: it loses {loss}; nothing was written, export {remedy}")
    return result


def choose_golden(exported: CT2Engine, sources: Sentences) -> Golden:
    """The sentence that the model is surest of, subword by subword: no other rounding will change it."""
    candidates = [ids for ids in sources if len(ids) in _GOLDEN_LENGTHS] or list(sources)
    outputs = exported.greedy(candidates)
    rows = exported.score(candidates, outputs)
    best = max(range(len(candidates)), key=lambda i: (len(outputs[i]) > 0, min(rows[i])))
    return Golden(source=tuple(candidates[best]), output=outputs[best], log_probs=tuple(rows[best]))


def _first_difference(trained: Engine, source: Ids, a: Hypothesis, b: Hypothesis) -> tuple[int, float]:
    """Where two translations part, and how much likelier the trained model finds the first one's token there."""
    first, second = ((*h.ids, EOS_ID) if h.is_finished else h.ids for h in (a, b))
    place = next((t for t, (x, y) in enumerate(zip(first, second, strict=False)) if x != y), None)
    if place is None:  # one is the beginning of the other: a limit was applied in another way
        return min(len(first), len(second)), math.inf
    rows = trained.score([source, source], [a.ids, b.ids])
    return place, rows[0][place] - rows[1][place]
