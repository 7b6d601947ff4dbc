"""What this machine computes with: device, number type, threads, attention, products, allocator. Chosen once, recorded.

A resumed run keeps what its first start chose, because another choice would change the last digits of every loss.
"""

from __future__ import annotations

import ctypes
import os
import platform
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from yiwen.config import check_bounds
from yiwen.errors import ConfigError
from yiwen.measured import faster_attention, faster_precision, faster_products, remembered
from yiwen.once import usable_cores

if TYPE_CHECKING:
    from torch import nn

Precision = Literal["float32", "bf16"]
Attention = Literal["plain", "fused", "packed"]
Products = Literal["torch", "onednn"]

MAX_THREADS: Final = 512
"""More are refused: the system would end the process, without a word."""
_M_TRIM_THRESHOLD, _M_MMAP_MAX, _M_ARENA_MAX = -1, -4, -8  # <malloc.h>


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """One choice for every question that the machine decides."""

    device: str
    """`cpu`, `cuda` or `mps`."""
    precision: Precision
    """Number type of matrix products in training; weights and losses stay float32."""
    threads: int
    """Processor threads in all."""
    attention: Attention
    """How equation 1 is computed: as matrix products, or by PyTorch's fused kernel, of padded or packed sentences."""
    products: Products = "torch"
    """Who computes the products of linear layers: PyTorch, or oneDNN called directly."""
    keeps_memory: bool
    """Whether the C allocator keeps freed memory instead of handing it back to the kernel after each step."""
    shards: int = 1
    """Parts of a micro-batch that are computed side by side, by threads / shards threads each."""
    batch_tokens: int = 0
    """Size of a micro-batch that training.batch_tokens = "auto" found; 0: the recipe says it."""

    def __post_init__(self) -> None:
        threads = ("threads", 1, MAX_THREADS, f"1 to {MAX_THREADS}")
        check_bounds("", self, threads, ("shards", 1, self.threads, "1 to threads"))

    @property
    def is_bf16(self) -> bool:
        """Whether matrix products are computed in bf16."""
        return self.precision == "bf16"


def choose(
    *,
    device: str = "auto",
    precision: str = "auto",
    threads: int = 0,
    attention: str = "auto",
    products: str = "auto",
    batch_tokens: int = 0,
    may_pack: bool = False,
) -> Hardware:
    """Decide everything that is left open; on a CPU by measurements, once per machine.

    Args:
        device: `auto`, or a device of torch.
        precision: `auto`, `float32` or `bf16`.
        threads: 0 for all cores that this process may use (OMP_NUM_THREADS is respected); beside a GPU for one.
        attention: `auto`, `plain`, `fused` or `packed`.
        products: `auto`, `torch` or `onednn`.
        batch_tokens: Positions of a training micro-batch, to be computed in shards; 0: in one piece.
        may_pack: Whether `auto` may be packed sentences.

    Raises:
        ConfigError: If a device or a library is asked for that is not there.
    """
    import torch

    keep_kernels()  # before the first product
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    check_device(device)
    is_cpu = device == "cpu"
    is_native = device.startswith("cuda") and torch.cuda.get_device_capability(device) >= (8, 0)  # Ampere
    threads = usable(threads or (default_threads() if is_cpu else 1))  # more get in each other's way there
    shards = _shards(threads, batch_tokens) if is_cpu else 1
    if precision == "auto" and is_cpu:  # some processors multiply bf16 themselves, and float32 faster
        precision = _measured("precision", "", threads // shards) if has_native_bf16() else "float32"
    elif precision == "auto":
        precision = "bf16" if is_native else "float32"
    check_ways(attention, products, device=device, precision=precision)
    if attention == "auto" and is_cpu:
        attention = _measured("attention", precision, threads // shards)
    elif attention == "auto":  # no kernel for packed sentences runs on older GPUs
        attention = "packed" if may_pack and is_native and precision == "bf16" else "fused"
    if products == "auto":
        products = _measured("products", precision, threads // shards) if is_cpu else "torch"
    return Hardware(
        device=device,
        precision=cast(Precision, precision),
        threads=threads,
        attention=cast(Attention, attention),
        products=cast(Products, products),
        shards=shards,
        keeps_memory=is_cpu and platform.libc_ver()[0] == "glibc" and os.environ.get("YIWEN_KEEP_MEMORY", "1") != "0",
    )


@cache
def _first_process() -> int:
    return os.getpid()


def usable(threads: int) -> int:
    """As many threads, but one in a child that was forked from a process that has computed.

    The threads of that process did not come along: with more than one the child would wait for them for ever.
    """
    return threads if os.getpid() == _first_process() else 1


def _shards(threads: int, batch_tokens: int) -> int:
    """As many as there are threads, but none with fewer than 1,000 positions: small operations are all overhead."""
    return max((n for n in range(1, threads + 1) if threads % n == 0 and batch_tokens // n >= 1000), default=1)


def question(*, precision: str, threads: int, device: str = "cpu") -> dict[str, str | int]:
    """What every measurement depends on, besides what is measured."""
    import torch

    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else processor_name()
    return {"processor": name, "device": device, "torch": torch.__version__, "precision": precision, "threads": threads}


def in_words(hardware: Hardware) -> str:
    """One line for the user: what was chosen."""
    threads = f"{hardware.threads} thread{'s' if hardware.threads > 1 else ''}"
    if hardware.shards > 1:
        threads += f", batches in {hardware.shards} shards"
    parts = [
        f"computing on {hardware.device} in {hardware.precision}, {threads}",
        f"{hardware.attention} attention",
        f"products by {hardware.products}",
        f"freed memory is {'kept' if hardware.keeps_memory else 'given back'}",
    ]
    if hardware.batch_tokens:
        parts.append(f"micro-batches of {hardware.batch_tokens:,} positions")
    return "; ".join(parts)


def apply_to_model(model: nn.Module, hardware: Hardware) -> None:
    """Let a model compute as chosen."""
    from yiwen.model.attention import fused_attention, plain_attention, use_attention
    from yiwen.model.linear import onednn_product, torch_product, use_product

    use_attention(model, plain_attention if hardware.attention == "plain" else fused_attention)
    use_product(model, onednn_product if hardware.products == "onednn" else torch_product)


def check_device(device: str) -> None:
    """Make sure that a device is there.

    Raises:
        ConfigError: If torch does not know it or does not see it.
    """
    import torch

    kind, _, index = str(device).partition(":")
    if kind not in ("cpu", "cuda", "mps") or (index and not (kind == "cuda" and index.isdecimal())):
        raise ConfigError(f"device={device!r} is unknown; use 'auto', 'cpu', 'cuda', 'cuda:1' ... or 'mps'")
    if kind == "cuda" and int(index or 0) >= torch.cuda.device_count():
        seen = f"torch {torch.__version__} sees {torch.cuda.device_count() or 'no'} CUDA devices"
        raise ConfigError(f"device={device!r}, but {seen}; use 'cpu' or 'auto'")
    if kind == "mps" and not torch.backends.mps.is_available():
        raise ConfigError(f"device='mps', but torch {torch.__version__} sees none; use 'cpu' or 'auto'")


def apply(hardware: Hardware) -> None:
    """Set the process up as chosen: threads, room for oneDNN's kernels, and the allocator where it is glibc's."""
    import torch

    keep_kernels()
    torch.set_num_threads(usable(hardware.threads // hardware.shards))
    if hardware.keeps_memory:
        keep_memory()


def keep_kernels(n_shapes: int = 0) -> None:
    """Let oneDNN keep the kernels of so many shapes; to be called before the process's first product.

    It makes a kernel for every new shape, in 0.25 ms, and a batch has some thirty, which the next batch, of other
    lengths, has no use for. Each takes 270 KB, and as much again in each thread in which PyTorch keeps it: memory that
    is strewn with thousands of them costs more than making them anew.

    Args:
        n_shapes: 0 for what training wants: two batches for each thread, which may have batches of its own.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(n_shapes or max(128, 64 * default_threads())))
    os.environ.setdefault("LRU_CACHE_CAPACITY", "16")


def keep_memory() -> bool:
    """Tell glibc to keep freed memory; True where that worked.

    Big temporaries are otherwise given back to the kernel after every step and faulted in again page by page at
    the next, which costs time.
    """
    # -1 is the largest size_t: never trim. The parameter is a C int, so that 8 GiB would arrive as 0.
    # One arena for all threads: each of their own would be kept, too.
    return all(_glibc("mallopt", *one) for one in ((_M_TRIM_THRESHOLD, -1), (_M_MMAP_MAX, 0), (_M_ARENA_MAX, 1)))


def release_memory() -> bool:
    """Hand what glibc keeps free back to the kernel; True where that worked.

    Batches of ever new shapes leave gaps that nothing fits into: without this a process that keeps its memory grows
    for hours. Called between stretches of training it costs a few page faults.
    """
    return _glibc("malloc_trim", 0)


def _glibc(function: str, *arguments: int) -> bool:
    try:
        return bool(getattr(ctypes.CDLL(None), function)(*arguments))
    except (AttributeError, OSError, TypeError):  # another C library, or Windows
        return False


def has_native_bf16() -> bool:
    """True where the processor multiplies bf16 numbers itself (AVX512-BF16, AMX, Arm BF16)."""
    return not {"avx512_bf16", "amx_bf16", "bf16"}.isdisjoint(_cpuinfo().lower().split())


def default_threads() -> int:
    """Processor threads where nobody says how many.

    OMP_NUM_THREADS, or the first of its numbers where it lists one a level; or all cores that this process may use.
    """
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return min(int(first) if first.isdecimal() else 0, MAX_THREADS) or usable_cores()


def _measured(what: str, precision: str, threads: int) -> str:
    answers, measure = {
        "precision": (Precision, partial(faster_precision, threads=threads)),
        "attention": (Attention, partial(faster_attention, precision=precision, threads=threads)),
        "products": (Products, partial(faster_products, precision=precision, threads=threads)),
    }[what]
    asked = {"what": what, **question(precision=precision, threads=threads)}
    return remembered(asked, is_answer=lambda answer: answer in get_args(answers), measure=measure)


def check_ways(attention: str, products: str, *, device: str, precision: str) -> None:
    """Make sure that attention and products can be computed in the ways asked for.

    Raises:
        ConfigError: If sentences are to be packed or oneDNN is to multiply, and cannot.
    """
    import torch

    from yiwen.model.linear import has_onednn

    if attention == "packed" and not (device.startswith("cuda") and precision == "bf16"):
        raise ConfigError(f"attention='packed' is for CUDA in bf16, and here is {device} in {precision}; use 'fused'")
    if products == "onednn" and device != "cpu":
        raise ConfigError(f"products='onednn', but it is for the CPU and device={device!r}; use 'auto' or 'torch'")
    if products == "onednn" and not has_onednn(torch.bfloat16 if precision == "bf16" else torch.float32):
        why = f"this torch has none that computes {precision} on this processor"
        raise ConfigError(f"products='onednn', but {why}; use 'auto' or 'torch'")


def memory_gib() -> float | None:
    """Memory this process may use; None where the system does not tell."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return None
    with suppress(OSError, ValueError):  # a container's limit, or the word "max"
        size = min(size, int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return round(size / 2**30, 1)


def describe() -> dict[str, Any]:
    """Facts about this machine for reports: processor, cores, memory, versions."""
    import torch

    return {
        "processor": processor_name(),
        "cores": usable_cores(),
        "memory_gib": memory_gib(),
        "native_bf16": has_native_bf16(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
    }


def processor_name() -> str:
    """As the system calls it; with family and model on x86, where a virtual machine may say no more than AMD EPYC."""
    first, _, _ = _cpuinfo().partition("\n\n")
    if not first:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.split("\n"))}
    name = facts.get("model name", platform.machine())
    return f"{name}, family {facts['cpu family']}, model {facts['model']}" if "cpu family" in facts else name


def _cpuinfo() -> str:
    """What Linux says of the processor; nothing elsewhere."""
    with suppress(OSError):
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    return ""
