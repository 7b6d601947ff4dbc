"""The folder of an exported model: what is in it, and which model it belongs to. Imports neither torch nor a runtime.

model.bin              the weights in CTranslate2's format
config.json            its settings
shared_vocabulary.json or source_vocabulary.json and target_vocabulary.json: the subwords in the order of their ids
head.npz               of an encoder: what its task needs beside the states
vmap.txt               optional: which target subwords a source subword makes likely
export.json            how it was made, how it compares with the trained model, and a golden sentence
manifest.json          SHA-256 of each file
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from yiwen.bundle import CARD, EXPORTED, WEIGHTS, Bundle, model_card
from yiwen.config import read_stored
from yiwen.errors import CheckpointError, ConfigError
from yiwen.files import read_json, write_json
from yiwen.text.subword import Subword

_INFO: Final = "export.json"

COMPUTE_TYPES: Final = {name: name for name in ("float32", "int8", "int8_float32", "float16")} | {"bf16": "bfloat16"}
"""Our names of number types, and CTranslate2's."""


@dataclass(frozen=True, kw_only=True)
class Golden:
    """One sentence and what the exported model makes of it on the machine where it was verified."""

    source: tuple[int, ...]
    """Subword ids without eos."""
    output: tuple[int, ...]
    """Greedy translation."""
    log_probs: tuple[float, ...]
    """Log-probability of each of its subwords, eos last where it was reached."""


@dataclass(frozen=True, kw_only=True)
class ExportInfo:
    """What `export.json` says."""

    format_version: int = 2
    """What the folder holds; another than this program writes is refused, since an export is made again in minutes. 1
    could write `<pad>` and `<s>`."""
    dtype: str
    """Number type: a key of `COMPUTE_TYPES`."""
    max_len: int
    """Longest sequence in subwords, eos included, that the model has positions for."""
    yiwen_version: str
    """Version that wrote the folder."""
    ctranslate2_version: str
    """Version of the runtime that it was verified with."""
    weights: str
    """SHA-256 of the model.safetensors that it was made from."""
    golden: Golden | None = None
    """Checked on load; None where the machine that exported could not run this number type."""
    verification: dict[str, Any] = field(default_factory=dict)
    """How it compares with the trained model."""

    def __post_init__(self) -> None:
        if self.dtype not in COMPUTE_TYPES:
            raise ConfigError(f"dtype={self.dtype!r} is unknown to CTranslate2; use one of {', '.join(COMPUTE_TYPES)}")


def write_info(folder: Path, info: ExportInfo) -> None:
    """Write `export.json`."""
    write_json(folder / _INFO, asdict(info))


def read_info(folder: Path) -> ExportInfo:
    """Read `export.json`.

    Raises:
        CheckpointError: If it cannot be read or is of another format.
    """
    return read_stored(ExportInfo, folder / _INFO, remedy="export the model again")


def check_origin(bundle: Bundle) -> None:
    """Make sure that the exported model of a bundle was made from the weights that the bundle has now.

    Raises:
        CheckpointError: If it was made from others, as where a newer model was copied over an exported one.
    """
    folder, made_from = bundle.folder, read_info(bundle.folder / EXPORTED).weights
    if made_from != bundle.hashes.get(WEIGHTS, made_from):  # a bundle for machines without torch lists none
        remedy = f"export again: yiwen export {folder}"
        raise CheckpointError(f"{folder / EXPORTED} was made from other weights than {folder} holds; {remedy}")


def vocabulary(subword: Subword) -> list[str]:
    """The written form of each subword, in the order of the ids."""
    return subword.pieces(range(subword.vocab_size))


def check_vocabulary(folder: Path, *, source: Subword, target: Subword) -> None:
    """Make sure that a folder numbers subwords as the subword models do; the runtime itself checks nothing.

    Raises:
        CheckpointError: If a vocabulary is missing, unreadable, or names or orders subwords in another way.
    """
    for side, subword in (("source", source), ("target", target)):
        names = ("shared_vocabulary.json", "vocabulary.json", f"{side}_vocabulary.json")  # an encoder has the second
        path = next((folder / name for name in names if (folder / name).is_file()), folder / names[-1])
        if read_json(path, "export the model again") != vocabulary(subword):
            held = f"the {subword.vocab_size} subwords of the {side} in their order"
            raise CheckpointError(f"{path} does not hold {held}; it is another model's: export the model again")


def card_of(bundle: Bundle) -> bytes:
    """The model card that travels along, as somebody may have edited it; a new one where it was removed."""
    path = bundle.folder / CARD
    return path.read_bytes() if path.is_file() else model_card(bundle.info).encode()
