"""Which engine translates: the exported one where a bundle has one, else the model itself. Imports torch only for that.

engine        what it means
auto          ctranslate2 where BUNDLE/ctranslate2 is there, the device is a CPU, dtype is left open and this
              machine can compute it; else torch
ctranslate2   the exported engine, which computes in the number type it was exported in
torch         the trained model: the reference, and what can do everything
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from yiwen import hardware
from yiwen.bundle import EXPORTED, WEIGHTS, Bundle, load_model, require_translator
from yiwen.engines.exported import COMPUTE_TYPES, check_origin, read_info
from yiwen.errors import ConfigError, MissingDependencyError
from yiwen.once import once
from yiwen.text.languages import canonical

if TYPE_CHECKING:
    import torch

    from yiwen.engines.engine import Engine, FindsTerms
    from yiwen.engines.torch_engine import TorchEngine

ENGINES: Final = ("auto", "torch", "ctranslate2")
DTYPES: Final = ("auto", "float32", "bf16")


@dataclass(frozen=True, kw_only=True)
class Opened:
    """An engine, ready, and what a user should know of how it was chosen."""

    engine: Engine
    n_at_once: int = 1
    """Blocks of a file that it is to be given at the same time, so that no core waits between two of them."""
    note: str = ""
    """Why the exported engine was passed over, where it was; else empty."""
    finder: Callable[[], FindsTerms] | None = None
    """Opens the trained model, whose search can be told terms, where the exported engine was a free choice."""


def open_engine(
    bundle: Bundle,
    *,
    engine: str = "auto",
    device: str = "auto",
    dtype: str = "auto",
    threads: int = 0,
    others: Sequence[Bundle] = (),
) -> Opened:
    """Make the engine of a bundle ready.

    Args:
        bundle: An opened bundle.
        engine: `auto`, `torch` or `ctranslate2`.
        device: `auto`, `cpu`, `cuda` ...
        dtype: `auto`; or `float32` or `bf16`, which only the torch engine can choose.
        threads: Processor threads; 0 for all.
        others: Bundles that translate together with it, which only the torch engine can.

    Raises:
        CheckpointError: If a bundle is no translator, or what the engine reads is not there or damaged.
        ConfigError: If engine, device or dtype is unknown or not to be had together.
        MissingDependencyError: If torch is needed and not installed.
    """
    for each in (bundle, *others):
        require_translator(each)
    if engine not in ENGINES:
        raise ConfigError(f"engine={engine!r} is unknown; use 'auto', 'torch' or 'ctranslate2'")
    check_means(dtype, threads)
    has_export = (bundle.folder / EXPORTED).is_dir()
    if engine == "ctranslate2":
        if others:
            raise ConfigError("engine='ctranslate2' holds one model; an ensemble needs engine='torch' or 'auto'")
        if not has_export:
            remedy = f"make one: yiwen export {bundle.folder} --to ctranslate2"
            raise ConfigError(f"engine='ctranslate2', but {bundle.folder} holds no {EXPORTED} folder; {remedy}")
        if dtype != "auto":
            remedy = "an exported engine computes as it was exported; leave dtype out, or export again with --dtype"
            raise ConfigError(f"dtype={dtype!r} with engine='ctranslate2': {remedy}")
        return Opened(engine=_exported(bundle, device=device, threads=threads), n_at_once=2)
    for other in others:
        _check_alike(bundle, other)
    note = "an exported engine holds one model; using torch" if others and has_export and engine == "auto" else ""
    if engine == "auto" and has_export and not others and device in ("auto", "cpu") and dtype == "auto":
        obstacle = obstacle_of(bundle)
        has_trained = (bundle.folder / WEIGHTS).is_file() and find_spec("torch") is not None
        if not obstacle or not has_trained:  # alone, the exported engine says itself what it cannot do
            trained = replace(bundle, folder=bundle.folder.absolute())  # it is read when terms come: elsewhere by then
            finder = once(partial(_torch, trained, device="cpu", dtype="auto", threads=threads))
            exported = _exported(bundle, device="cpu", threads=threads)
            return Opened(engine=exported, n_at_once=2, finder=finder if has_trained else None)
        note = f"{obstacle}; using torch"
    return Opened(engine=_torch(bundle, device=device, dtype=dtype, threads=threads, others=others), note=note)


def check_means(dtype: str, threads: int) -> None:
    """Make sure that they are a number type and a number of threads.

    Raises:
        ConfigError: If one is none.
    """
    if dtype not in DTYPES:
        raise ConfigError(f"dtype={dtype!r} is unknown; use 'auto', 'float32' or 'bf16'")
    if not (hasattr(threads, "__index__") and 0 <= threads <= hardware.MAX_THREADS):
        raise ConfigError(f"threads={threads!r}; use 1 to {hardware.MAX_THREADS}, or 0 for all cores")


def obstacle_of(bundle: Bundle) -> str:
    """Why the exported model cannot do what is asked of it here; empty where it can."""
    from ctranslate2 import get_supported_compute_types

    if bundle.info.search.sampling:
        return f"the search settings of {bundle.folder} ask for sampling, which an exported engine cannot do"
    dtype = read_info(bundle.folder / EXPORTED).dtype
    if COMPUTE_TYPES[dtype] in get_supported_compute_types("cpu"):
        return ""
    return f"the exported engine of {bundle.folder} computes in {dtype}, which this processor cannot"


def _exported(bundle: Bundle, *, device: str, threads: int) -> Engine:
    from yiwen.engines.ct2_engine import CT2Engine

    check_origin(bundle)
    folder, where = bundle.folder / EXPORTED, "cpu" if device == "auto" else device
    return CT2Engine(folder, source=bundle.source, target=bundle.target, device=where, threads=threads)


def check_pair(bundle: Bundle, other: Bundle) -> None:
    """Make sure that two models translate between the same languages.

    Raises:
        ConfigError: If they do not.
    """
    pairs = [f"{canonical(each.info.src_lang)} -> {canonical(each.info.tgt_lang)}" for each in (bundle, other)]
    if pairs[0] != pairs[1]:
        raise ConfigError(f"{bundle.folder} translates {pairs[0]}, {other.folder} {pairs[1]}; use models of one pair")


def _check_alike(bundle: Bundle, other: Bundle) -> None:
    """Make sure that two models read and write the same subwords, and that the second has room for what the first has.

    Raises:
        ConfigError: If they do not, or if their languages are others.
    """
    check_pair(bundle, other)
    theirs, ours = other.info.model.max_len, bundle.info.model.max_len
    if theirs < ours:
        both = f"{other.folder} has model.max_len={theirs}, less than {bundle.folder} with {ours}"
        raise ConfigError(f"{both}; name the one with the least first")
    for side in ("source", "target"):
        if getattr(bundle, side).fingerprint != getattr(other, side).fingerprint:
            remedy = "train them from one recipe with another training.seed each, or with one tokenizer.model"
            raise ConfigError(f"{bundle.folder} and {other.folder} have different {side} vocabularies; {remedy}")


def _torch(bundle: Bundle, *, device: str, dtype: str, threads: int, others: Sequence[Bundle] = ()) -> TorchEngine:
    if find_spec("torch") is None:
        if (bundle.folder / EXPORTED).is_dir():
            remedy = "leave engine, device, dtype, sampling and ensemble out to use the bundle's exported engine"
        else:
            remedy = f"where torch is installed, make an exported engine with `yiwen export {bundle.folder}`"
        raise MissingDependencyError(f"the torch engine needs torch: pip install 'yiwen[train]'; or {remedy}")
    from yiwen.engines.torch_engine import TorchEngine

    place, number_type = settled(device=device, dtype=dtype, threads=threads)
    model, more = load_model(bundle), [load_model(other) for other in others]
    return TorchEngine(model, device=place, dtype=number_type, alignment=bundle.info.alignment, others=more)


@cache
def _leave_children_one(set_threads: Callable[[int], None]) -> None:
    """A forked child goes on with the models of torch that it has inherited, by one thread (`hardware.usable`)."""
    if hasattr(os, "register_at_fork"):  # Windows has no fork
        os.register_at_fork(after_in_child=partial(set_threads, 1))


def settled(*, device: str, dtype: str, threads: int) -> tuple[str, torch.dtype]:
    """Set the process up for an engine of torch; gives the device and the number type that it is to be told."""
    import torch

    dtype = "float32" if dtype == "auto" else dtype
    # The engine settles attention and products for itself; nothing is to be measured while somebody waits.
    _leave_children_one(torch.set_num_threads)
    hardware.keep_kernels(512)  # sentences that come alone have few shapes, and those again and again
    chosen = hardware.choose(device=device, precision=dtype, threads=threads, attention="plain", products="torch")
    hardware.apply(chosen)
    return chosen.device, torch.bfloat16 if dtype == "bf16" else torch.float32
