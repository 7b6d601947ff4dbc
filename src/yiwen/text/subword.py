"""Subwords: text to ids and back with SentencePiece (Kudo and Richardson 2018), BPE or unigram, with byte fallback.

The piece ids are fixed for every model of ours: pad 0, unk 1, bos 2, eos 3. Normalisation is ours (`normalise`),
the model's own is the identity, so `decode(encode(x)) == x` for normalised text of any script.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, cast

import sentencepiece

from yiwen.config import BELOW_1, check_bounds
from yiwen.errors import CheckpointError, ConfigError, DataError
from yiwen.text.normalise import normalise
from yiwen.text.protect import MOST_SYMBOLS, symbols
from yiwen.text.sampling import SubwordSampler

if TYPE_CHECKING:
    import numpy as np

PAD_ID: Final = 0
UNK_ID: Final = 1
BOS_ID: Final = 2
EOS_ID: Final = 3
N_SPECIAL: Final = 4
N_BYTES: Final = 256
"""Byte pieces, ids 4 to 259 where no symbols are defined: a character outside the vocabulary is spelt in UTF-8."""

# SentencePiece writes spaces as U+2581 and cannot tell a real one from a space. A noncharacter stands in for it,
# which `normalise` removes from any text, so the two never meet.
_REAL_BLOCK = "\u2581"
_STAND_IN = "\ufdd0"
_SPECIAL: Final = frozenset((PAD_ID, BOS_ID, EOS_ID))
_FEW: Final = 12
"""Texts that are cut or joined one by one: a list costs a thread, which takes longer than so many sentences."""
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig:
    """How text is cut into subwords."""

    kind: Literal["bpe", "unigram"] = "unigram"
    """Way of cutting: bpe (Sennrich et al. 2016) or unigram (Kudo 2018)."""
    vocab_size: int = 8000
    """Subwords in the vocabulary, special and byte pieces counted; the largest possible where the text has fewer."""
    shared: bool = True
    """One vocabulary for both languages; false trains one for each."""
    character_coverage: float = 0.9999
    """Share of all characters of the text that get a piece of their own; the rest is spelt in bytes."""
    symbols: tuple[str, ...] = ()
    """Strings that are always one piece, such as "<2zh>" or a placeholder. A source that begins with one is to be one
    sentence: where a text is cut into sentences, only the first has it."""
    placeholders: int = 0
    """Number of symbols, 10 at most, that stand for addresses, file names, codes and other spans that are not
    language: the model copies the symbols, and the spans are put back. 0 = none."""
    sample_pairs: int = 200_000
    """Pairs that the vocabulary is learnt from, drawn at random where the corpus has more."""
    sampling: float = 0.0
    """Cut anew in each epoch: BPE-dropout probability (Provilkov et al. 2020; with SentencePiece, 0.05 cuts as finely
    as 0.1 in the paper) or unigram alpha (Kudo 2018); 0 = off."""
    model: str = ""
    """Path of a ready SentencePiece .model to use for both languages instead of learning one; empty = learn one."""

    def __post_init__(self) -> None:
        check_bounds(
            "tokenizer.",
            self,
            ("character_coverage", 0.98, 1, "0.98 to 1.0, say 0.9999"),  # SentencePiece's own bounds
            ("placeholders", 0, MOST_SYMBOLS, f"0 for none or up to {MOST_SYMBOLS}"),
            ("sample_pairs", 1, math.inf, "at least 1, for example 200000"),
            ("sampling", 0, BELOW_1, "0 (off) or less than 1, for example 0.1"),
        )
        smallest = N_SPECIAL + N_BYTES + len(self.symbols) + self.placeholders
        remedy = f"more than {smallest} (special pieces, bytes and symbols) and at most 1000000, for example 8000"
        check_bounds("tokenizer.", self, ("vocab_size", smallest + 1, 1_000_000, remedy))
        for symbol in self.symbols:
            if not symbol or " " in symbol or normalise(symbol) != symbol:
                raise ConfigError(f"tokenizer.symbols holds {symbol!r}; a symbol is normalised text without spaces")
            if symbol in ("<pad>", "<unk>", "<s>", "</s>") or re.fullmatch("<0x[0-9A-F]{2}>", symbol):
                raise ConfigError(f"tokenizer.symbols holds {symbol!r}, which SentencePiece uses itself; rename it")
        if len({*self.symbols, *symbols(self.placeholders)}) < len(self.symbols) + self.placeholders:
            raise ConfigError(f"tokenizer.symbols {list(self.symbols)} names a symbol or placeholder twice; remove one")
        if self.model and (self.symbols or self.placeholders or not self.shared):
            remedy = "leave out symbols, placeholders and shared"
            raise ConfigError(f"tokenizer.model {self.model!r} is used as it is, for both languages; {remedy}")


class Subword:
    """One SentencePiece model, read from its file. Cheap to share; safe to use from several threads."""

    def __init__(self, processor: Any) -> None:
        self._processor = processor
        self._sampler: SubwordSampler | None = None

    @classmethod
    def load(cls, path: Path) -> Subword:
        """Read a SentencePiece model file.

        Raises:
            CheckpointError: If it is missing, damaged, or numbers its special pieces in another way.
        """
        try:
            return cls.from_bytes(path.read_bytes(), name=str(path))
        except OSError as error:
            remedy = "give the path of a SentencePiece .model"
            raise CheckpointError(f"{path} cannot be read ({error.strerror or error}); {remedy}") from error

    @classmethod
    def from_bytes(cls, content: bytes, *, name: str = "the model") -> Subword:
        """Read a SentencePiece model from its bytes; `name` is for the messages."""
        try:
            processor = sentencepiece.SentencePieceProcessor(model_proto=content)
        except (RuntimeError, ValueError, OSError) as error:
            raise CheckpointError(f"{name} is no SentencePiece model ({error}); restore it or train again") from error
        found = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        wanted = (PAD_ID, UNK_ID, BOS_ID, EOS_ID)
        if found != wanted:
            ids = f"{name} has the special ids pad, unk, bos, eos {found}, ours are {wanted}"
            options = "--pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3 --normalization_rule_name=identity --byte_fallback"
            raise CheckpointError(f"{ids}; train it with {options}, or let `yiwen prepare` do it")
        return cls(processor)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Subword is read from its file in every process, never pickled; pass the path instead")

    @property
    def vocab_size(self) -> int:
        """Number of pieces, special and byte pieces counted."""
        return int(self._processor.get_piece_size())

    @property
    def fingerprint(self) -> str:
        """Hash of the whole model."""
        return hashlib.sha256(self._processor.serialized_model_proto()).hexdigest()

    @property
    def n_placeholders(self) -> int:
        """Symbols for spans that are no language which the model has (`tokenizer.placeholders`)."""
        return sum(int(self._processor.piece_to_id(symbol)) != UNK_ID for symbol in symbols(MOST_SYMBOLS))

    @property
    def first_word(self) -> int:
        """The first id that is neither special nor a symbol: SentencePiece puts both before the bytes."""
        return max(N_SPECIAL, int(self._processor.piece_to_id("<0x00>")))

    @property
    def keeps_text(self) -> bool:
        """True where nothing is rewritten before it is cut; by SentencePiece's own default "，" becomes ","."""
        return "，！①" in str(self._processor.normalize("，！①"))

    @property
    def has_bytes(self) -> bool:
        """True where unknown characters are spelt in bytes, so that nothing becomes unk."""
        return bool(self._processor.is_byte(self._processor.piece_to_id("<0x00>")))

    def has_piece(self, piece: str) -> bool:
        """Whether the vocabulary holds this very piece."""
        return str(self._processor.id_to_piece(self._processor.piece_to_id(piece))) == piece

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Cut normalised texts into ids; bos and eos are not added."""
        if len(texts) < _FEW:
            return [self._processor.encode(_shielded(text)) for text in texts]
        return cast("list[list[int]]", self._processor.encode([*map(_shielded, texts)], num_threads=1))

    def encode_with_spans(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """The ids of `encode` for one text, each with the characters [start, end) that it stands for.

        The space before a word is counted to it. A character that is spelt in bytes belongs to the last of them, the
        others stand for nothing, nor does the mark at the beginning of the text.
        """
        found = self._processor.encode(_shielded(text), return_type="offset_mapping")
        return found["ids"], found["offsets"]

    def encode_sampled(self, texts: Sequence[str], *, sampling: float, seed: int) -> list[list[int]]:
        """Cut texts at random, so that a model meets a word in several spellings.

        Args:
            texts: Normalised texts.
            sampling: BPE-dropout probability (Provilkov et al. 2020), or alpha of Kudo 2018, section 3.3.
            seed: Equal seeds give equal ids, in every process.
        """
        if self._sampler is None or self._sampler.sampling != sampling:
            self._sampler = SubwordSampler(self._processor, sampling)
        return self._sampler.encode([*map(_shielded, texts)], seed)

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Put ids together again without pad, bos and eos. A line break becomes a space: a line stays a line."""
        plain = [[int(piece) for piece in row if piece not in _SPECIAL] for row in ids]
        decode = self._processor.decode
        texts: list[str] = [*map(decode, plain)] if len(plain) < _FEW else decode(plain, num_threads=1)
        return [_CONTROL.sub(" ", text.replace(_STAND_IN, _REAL_BLOCK)) for text in texts]

    def decode_with_spans(self, ids: Sequence[int]) -> tuple[str, list[tuple[int, int]]]:
        """The text of `decode` for one sequence without pad, bos and eos, and the characters of each id in it."""
        found = self._processor.decode(list(ids), return_type="offset_mapping")
        return _CONTROL.sub(" ", found["text"].replace(_STAND_IN, _REAL_BLOCK)), found["offsets"]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The written form of each id, e.g. ["▁a", "b"]."""
        return [str(self._processor.id_to_piece(int(piece))) for piece in ids]

    def is_byte(self) -> np.ndarray:
        """Which ids are byte pieces, (V,), bool."""
        import numpy as np  # translating needs none, and it takes as long to import as half of what does

        return np.array([self._processor.is_byte(piece) for piece in range(self.vocab_size)])


def encode_words(subword: Subword, sentences: Sequence[Sequence[str]]) -> list[list[list[int]]]:
    """The ids of each word of each sentence, so that nobody has to guess from pieces where a word begins.

    Subwords that we learn never cross a blank: put together, these are the ids of the whole sentence. A word that a
    vocabulary from elsewhere rewrites to nothing is unknown: without a subword its tag would be that of the next one.
    """
    ids = iter(subword.encode([word for words in sentences for word in words]))
    return [[next(ids) or [UNK_ID] * bool(word) for word in words] for words in sentences]


def subword_paths(folder: Path) -> tuple[Path, Path]:
    """The subword models of source and target in a model folder; the same path where one is shared.

    Raises:
        CheckpointError: If one is missing.
    """
    shared, source, target = (folder / f"{name}.spm" for name in ("shared", "source", "target"))
    if shared.is_file():
        return shared, shared
    for path in (source, target):
        if not path.is_file():
            raise CheckpointError(f"{folder} holds neither shared.spm nor {path.name}; it is not a complete bundle")
    return source, target


def train_subword(texts: Callable[[], Iterable[str]], config: TokenizerConfig) -> tuple[bytes, Subword]:
    """Learn a model from normalised texts; equal texts give equal bytes.

    Args:
        texts: Gives the texts anew at every call: a vocabulary too large for them costs a second round.
        config: Kind, size, coverage and symbols.

    Returns:
        The bytes of the .model file and the model.

    Raises:
        ConfigError: If the vocabulary cannot hold the characters of the text.
        DataError: If there is no text.
    """
    size = config.vocab_size
    for _ in range(3):
        try:
            content = _train(texts(), config, size)
            return content, Subword.from_bytes(content)
        except RuntimeError as error:
            message = str(error)
        if found := re.search(r"too high \(\d+\).*<= (\d+)", message):
            size = int(found[1])  # the largest that this text supports
        elif found := re.search(r"required_chars\. \d+ vs (\d+)", message):
            remedy = f"use more, for example {int(found[1]) + 1000}, or a lower tokenizer.character_coverage"
            needed = f"the text has {found[1]} characters and special pieces"
            raise ConfigError(f"tokenizer.vocab_size is {config.vocab_size}, {needed}; {remedy}")
        elif "sentences_.empty()" in message:
            raise DataError("no text is left to learn subwords from; look at what the report says was dropped")
        else:
            break
    raise DataError(f"SentencePiece cannot learn {size} subwords from this text: {message}; try another vocab_size")


def _train(texts: Iterable[str], config: TokenizerConfig, size: int) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=map(_shielded, texts),
        model_writer=model,
        model_type=config.kind,
        vocab_size=size,
        character_coverage=config.character_coverage,
        user_defined_symbols=[*config.symbols, *symbols(config.placeholders)],
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        pad_id=PAD_ID,
        unk_id=UNK_ID,
        bos_id=BOS_ID,
        eos_id=EOS_ID,
        num_threads=1,  # two threads give other pieces in every run
        shuffle_input_sentence=False,
        max_sentence_length=1 << 24,  # bytes; longer texts would be left out without a word
        # Of a unigram model; a million costs twice the time and gains nothing.
        seed_sentencepiece_size=min(16 * config.vocab_size, 1_000_000),
        minloglevel=2,
    )
    return model.getvalue()


def _shielded(text: str) -> str:
    return text.replace(_REAL_BLOCK, _STAND_IN)
