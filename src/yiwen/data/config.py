"""The settings of `prepare`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from yiwen.config import check_bounds
from yiwen.data import lines
from yiwen.data.corpus import CorpusConfig
from yiwen.errors import ConfigError
from yiwen.text.clean import CleaningConfig
from yiwen.text.languages import canonical


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Which text to learn from and which to measure on."""

    src_lang: str
    """Source language, e.g. "en", "zh-Hans" or "zh-Hant" (BCP 47; "zh" and "zh_CN" mean "zh-Hans")."""
    tgt_lang: str = ""
    """Target language; none for tasks with one language (classify, tag, mlm)."""
    corpora: tuple[CorpusConfig, ...]
    """The text to train on: parallel, labelled, tagged or plain, as the task asks."""
    temperature: float = 1.0
    """Corpora are sampled by size ** (1 / temperature): 1 = as they are, 5 = small ones much more often."""
    valid: CorpusConfig | None = None
    """Validation text; if not given, it is split off the training text."""
    test: CorpusConfig | None = None
    """Test text; if not given, it is split off the training text."""
    more_tests: tuple[CorpusConfig, ...] = ()
    """More test text, each scored by itself by `yiwen evaluate`: the domains of a mixed corpus, or the general text
    that a model learnt before it was fine-tuned. None of it is trained on."""
    valid_pairs: int = 1000
    """Pairs to split off for validation, at most a tenth of all."""
    test_pairs: int = 1000
    """Pairs to split off for the test, at most a tenth of all."""
    max_tokens: int = 256
    """Pairs with more subwords than this on a side (eos included) are named in the report and not trained on."""
    cleaning: CleaningConfig = field(default_factory=CleaningConfig)
    """Which pairs are dropped."""

    def __post_init__(self) -> None:
        check_bounds(
            "data.",
            self,
            ("temperature", 0.1, math.inf, "0.1 or more, 1 for shares by size"),  # a size ** 11 may be no number
            ("valid_pairs test_pairs", 0, math.inf, "0 for none or a positive number"),
            ("max_tokens", 2, math.inf, "at least 2 (a subword and eos), say 256"),
        )
        problems = []  # all of them: languages and corpora must be there, so that none can be judged without the others
        for name, language in (("src_lang", self.src_lang), ("tgt_lang", self.tgt_lang or "en")):
            try:
                canonical(language)
            except ConfigError:
                problems.append(f"data.{name} is {language!r}; use a language code such as en, de or zh-Hans")
        if not 1 <= len(self.corpora) <= 255:
            problems.append(f"data.corpora has {len(self.corpora)} entries; give 1 to 255 corpora")
        weights = [corpus.weight for corpus in self.corpora]
        if any(weights) and not all(weights):
            problems.append(f"data.corpora have the weights {weights}; give every corpus a positive weight, or none")
        if any(weights) and self.temperature != 1.0:
            problems.append(f"data.temperature is {self.temperature} beside explicit weights {weights}; use one")
        for name, corpus in (("valid", self.valid), ("test", self.test), *(("more_tests", c) for c in self.more_tests)):
            if corpus and corpus.train_only:
                problems.append(f"data.{name} has train_only=true; leave it out: nothing here is trained on")
        if problems:
            raise ConfigError("; ".join(problems))


def more_tests(data: DataConfig) -> dict[str, CorpusConfig]:
    """The texts of data.more_tests under names of their own: test-FOLDER-FILE."""
    named: dict[str, CorpusConfig] = {}
    for corpus in data.more_tests:
        path = lines.expanded(corpus.src or corpus.path)
        name = "-".join(["test", *([path.parent.name] if path.parent.name else []), path.name.split(".")[0]])
        while name in named:
            name += "-again"
        named[name] = corpus
    return named
