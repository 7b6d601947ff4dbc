"""What is chosen for a machine, and what is refused."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from yiwen import hardware
from yiwen.errors import ConfigError
from yiwen.hardware import Hardware
from yiwen.measured import computing_with
from yiwen.model.attention import MultiHeadAttention, fused_attention, plain_attention
from yiwen.model.config import ModelConfig
from yiwen.model.linear import Linear, onednn_product, torch_product
from yiwen.model.transformer import Transformer
from yiwen.once import usable_cores


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, str, int]]:
    """No graphics card, an empty cache, and a processor where fused attention and oneDNN win in float32 alone.

    What is measured is listed: (what, precision, threads).
    """
    seen: list[tuple[str, str, int]] = []

    def attention(*, precision: str, threads: int) -> str:
        seen.append(("attention", precision, threads))
        return "fused" if precision == "float32" else "plain"

    def products(*, precision: str, threads: int) -> str:
        seen.append(("products", precision, threads))
        return "onednn" if precision == "float32" else "torch"

    def precision(*, threads: int) -> str:
        seen.append(("precision", "", threads))
        return "bf16" if threads > 1 else "float32"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(hardware, "faster_attention", attention)
    monkeypatch.setattr(hardware, "faster_products", products)
    monkeypatch.setattr(hardware, "faster_precision", precision)
    return seen


@pytest.mark.parametrize(("threads", "expected"), [(1, "float32"), (2, "bf16")])
def test_bf16_is_chosen_where_the_processor_has_it_and_is_faster_with_it(
    asked: list, threads: int, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hardware, "has_native_bf16", lambda: True)
    for _ in range(2):
        chosen = hardware.choose(threads=threads)
        assert (chosen.device, chosen.precision) == ("cpu", expected)
    assert asked[0] == ("precision", "", threads)
    assert [what for what, *_ in asked] == ["precision", "attention", "products"]  # once
    monkeypatch.setattr(hardware, "has_native_bf16", lambda: False)
    assert hardware.choose(threads=threads).precision == "float32"


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_precision_asked_for_is_not_measured(asked: list, precision: str) -> None:
    assert hardware.choose(precision=precision, threads=2).precision == precision
    assert "precision" not in [what for what, *_ in asked]


def test_attention_and_products_are_measured_once_for_each_precision_and_number_of_threads(asked: list) -> None:
    for _ in range(2):
        chosen = hardware.choose(precision="float32", threads=2)
        assert (chosen.attention, chosen.products) == ("fused", "onednn")
        chosen = hardware.choose(precision="bf16", threads=2)
        assert (chosen.attention, chosen.products) == ("plain", "torch")
    hardware.choose(precision="bf16", threads=3)
    assert asked == [
        *(("attention", "float32", 2), ("products", "float32", 2)),
        *(("attention", "bf16", 2), ("products", "bf16", 2)),
        *(("attention", "bf16", 3), ("products", "bf16", 3)),
    ]


@pytest.mark.parametrize(
    ("threads", "batch_tokens", "expected"),
    [(1, 4096, 1), (2, 4096, 2), (2, 1999, 1), (3, 4096, 3), (4, 4096, 4), (16, 4096, 4), (6, 4096, 3), (8, 0, 1)],
)
def test_batches_are_cut_into_shards_of_a_thousand_positions_or_more(
    threads: int, batch_tokens: int, expected: int
) -> None:
    chosen = hardware.choose(precision="bf16", threads=threads, batch_tokens=batch_tokens)
    assert chosen.shards == expected
    assert chosen.threads == threads
    assert (f"batches in {expected} shards" in hardware.in_words(chosen)) == (expected > 1)


def test_ways_are_measured_with_the_threads_that_a_shard_has(asked: list, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "has_native_bf16", lambda: True)
    hardware.choose(threads=6, batch_tokens=3000)
    assert asked == [("precision", "", 2), ("attention", "bf16", 2), ("products", "bf16", 2)]


def test_another_processor_and_another_torch_are_measured_anew(asked: list, monkeypatch: pytest.MonkeyPatch) -> None:
    hardware.choose(precision="bf16", threads=2)
    monkeypatch.setattr(hardware, "processor_name", lambda: "another")  # of several that share a home
    hardware.choose(precision="bf16", threads=2)
    monkeypatch.setattr(torch, "__version__", "another")
    hardware.choose(precision="bf16", threads=2)
    assert asked == [("attention", "bf16", 2), ("products", "bf16", 2)] * 3


def test_shards_share_the_threads() -> None:
    before = torch.get_num_threads()
    try:
        hardware.apply(
            Hardware(device="cpu", precision="bf16", threads=6, attention="plain", shards=3, keeps_memory=False)
        )
        assert torch.get_num_threads() == 2
        with computing_with(6):
            assert torch.get_num_threads() == 6
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_room_for_kernels_is_asked_for_unless_the_user_did(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")  # of the process; of each of its threads
    for name in names:
        monkeypatch.setenv(name, "17")
    hardware.keep_kernels()
    assert [os.environ[name] for name in names] == ["17", "17"]
    for name in names:
        monkeypatch.delenv(name)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    hardware.keep_kernels()
    assert [os.environ.get(name) for name in names] == ["448", "16"]
    hardware.keep_kernels(512)
    assert [os.environ[name] for name in names] == ["448", "16"]  # the first one counts
    monkeypatch.delenv(names[0])
    hardware.keep_kernels(512)
    assert os.environ[names[0]] == "512"
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv(names[0])
    hardware.choose(threads=1)
    assert os.environ[names[0]] == "128"


def test_a_run_that_keeps_what_its_first_start_chose_is_set_up_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    monkeypatch.setattr(hardware, "keep_memory", lambda: kept.append(1))
    for keeps_memory in (False, True):
        monkeypatch.delenv("ONEDNN_PRIMITIVE_CACHE_CAPACITY", raising=False)
        chosen = Hardware(
            device="cpu",
            precision="bf16",
            threads=torch.get_num_threads(),
            attention="plain",
            keeps_memory=keeps_memory,
        )
        hardware.apply(chosen)
        assert "ONEDNN_PRIMITIVE_CACHE_CAPACITY" in os.environ
        assert len(kept) == keeps_memory


def test_what_a_user_decides_is_not_measured(asked: list, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yiwen.model.linear.has_onednn", lambda dtype: True)
    chosen = hardware.choose(precision="float32", attention="plain", products="torch")
    assert (chosen.attention, chosen.products) == ("plain", "torch")
    chosen = hardware.choose(precision="bf16", attention="fused", products="onednn")
    assert (chosen.attention, chosen.products) == ("fused", "onednn")
    assert asked == []


def test_onednn_is_refused_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yiwen.model.linear.has_onednn", lambda dtype: dtype != torch.bfloat16)
    with pytest.raises(ConfigError, match="onednn', but this torch has none that computes bf16 on this processor; use"):
        hardware.choose(precision="bf16", products="onednn")
    monkeypatch.setattr(hardware, "check_device", lambda device: None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    with pytest.raises(ConfigError, match="products='onednn', but it is for the CPU and device='cuda'"):
        hardware.choose(device="cuda", products="onednn")


@pytest.mark.parametrize(("device", "precision"), [("cpu", "bf16"), ("cuda", "float32"), ("mps", "bf16")])
def test_packed_sentences_are_refused_where_their_kernel_is_not(
    monkeypatch: pytest.MonkeyPatch, device: str, precision: str
) -> None:
    monkeypatch.setattr(hardware, "check_device", lambda device: None)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    message = f"attention='packed' is for CUDA in bf16, and here is {device} in {precision}; use 'fused'"
    with pytest.raises(ConfigError, match=message):
        hardware.choose(device=device, precision=precision, attention="packed")
    chosen = hardware.choose(device="cuda:1", precision="bf16", attention="packed")
    assert (chosen.attention, chosen.products) == ("packed", "torch")
    assert "; packed attention; " in hardware.in_words(chosen)


@pytest.mark.parametrize("attention", ["plain", "fused"])
@pytest.mark.parametrize("products", ["torch", "onednn"])
def test_a_model_computes_as_chosen(attention: str, products: str) -> None:
    model = Transformer(
        ModelConfig(d_model=8, n_heads=2, d_ff=12, n_encoder_layers=1, n_decoder_layers=1),
        src_vocab_size=11,
        tgt_vocab_size=11,
    )
    hardware.apply_to_model(model, hardware.choose(attention=attention, products=products))
    attend = plain_attention if attention == "plain" else fused_attention
    product = torch_product if products == "torch" else onednn_product
    assert {module.attend for module in model.modules() if isinstance(module, MultiHeadAttention)} == {attend}
    assert {module.product for module in model.modules() if isinstance(module, Linear)} == {product}


def test_the_choice_is_said_in_one_line() -> None:
    chosen = Hardware(device="cpu", precision="bf16", threads=2, attention="plain", keeps_memory=True)
    assert hardware.in_words(chosen) == (
        "computing on cpu in bf16, 2 threads; plain attention; products by torch; freed memory is kept"
    )
    found = Hardware(
        device="cuda", precision="bf16", threads=1, attention="fused", keeps_memory=False, batch_tokens=16384
    )
    assert hardware.in_words(found) == (
        "computing on cuda in bf16, 1 thread; fused attention; products by torch; freed memory is given back; "
        "micro-batches of 16,384 positions"
    )


@pytest.mark.parametrize(
    ("flags", "expected"),
    [("fpu avx512_bf16 sse", True), ("fpu amx_bf16", True), ("asimd bf16 i8mm", True), ("fpu avx512f xbf16y", False)],
)
def test_bf16_is_read_off_the_processor_flags(monkeypatch: pytest.MonkeyPatch, flags: str, expected: bool) -> None:
    text = f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t: none\n"
    monkeypatch.setattr(Path, "read_text", lambda self, **_: text)
    assert hardware.has_native_bf16() == expected


@pytest.mark.parametrize(("limit", "expected"), [("max\n", 8.0), (f"{3 * 2**30}\n", 3.0), (f"{2**60}\n", 8.0)])
def test_memory_is_the_machines_or_what_a_container_may_use(
    monkeypatch: pytest.MonkeyPatch, limit: str, expected: float
) -> None:
    monkeypatch.setattr(os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2**21}.__getitem__)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: limit)
    assert hardware.memory_gib() == expected
    monkeypatch.delattr(os, "sysconf")  # on Windows
    assert hardware.memory_gib() is None


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_another_c_library_keeps_and_releases_nothing(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    def refuse(name: None) -> None:
        raise error

    monkeypatch.setattr("ctypes.CDLL", refuse)
    assert not hardware.keep_memory()
    assert not hardware.release_memory()


def test_without_a_list_of_flags_bf16_is_not_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(self: Path, **_: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", absent)
    assert not hardware.has_native_bf16()
    assert hardware.describe()["processor"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "processor\t: 0\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n\nmodel name: B\n",
            "AMD EPYC, family 25, model 17",
        ),
        ("processor\t: 0\nmodel name\t: Cortex: A\n", "Cortex: A"),
        ("processor\t: 0\nFeatures\t: fp asimd\n", platform.machine()),  # most of Arm's have no name
    ],
)
def test_processors_of_one_name_and_two_kinds_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: str
) -> None:
    monkeypatch.setattr(Path, "read_text", lambda self, **_: text)
    assert hardware.processor_name() == expected


@pytest.mark.parametrize(
    ("variable", "expected"), [("3", 3), ("5,2", 5), (" 5 , 2", 5), ("", 7), ("0", 7), ("many", 7), ("9999", 512)]
)
def test_threads_are_asked_for_or_all(monkeypatch: pytest.MonkeyPatch, variable: str, expected: int) -> None:
    monkeypatch.setattr(hardware, "usable_cores", lambda: 7)
    monkeypatch.setenv("OMP_NUM_THREADS", variable)
    assert hardware.choose().threads == expected
    assert hardware.choose(threads=2).threads == 2


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cuda", "device='cuda', but torch .* sees no CUDA devices; use 'cpu' or 'auto'"),
        ("cuda:1", "device='cuda:1', but torch .* sees no CUDA devices"),
        ("mps", "device='mps', but torch .* sees none"),
        ("gpu", "device='gpu' is unknown; use 'auto', 'cpu', 'cuda', 'cuda:1' ... or 'mps'"),
        ("cuda:x", "device='cuda:x' is unknown"),
        ("cpu:0", "device='cpu:0' is unknown"),
    ],
)
def test_a_device_that_is_not_there_is_refused(device: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        hardware.choose(device=device)


def test_a_card_beyond_the_last_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    hardware.check_device("cuda:1")
    with pytest.raises(ConfigError, match="sees 2 CUDA devices"):
        hardware.check_device("cuda:2")


def test_a_card_is_chosen_where_there_is_one(monkeypatch: pytest.MonkeyPatch, asked: list) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    chosen = hardware.choose()
    assert (chosen.device, chosen.precision, chosen.attention, chosen.keeps_memory) == ("cuda", "bf16", "fused", False)
    assert (chosen.products, chosen.threads) == ("torch", 1)
    several = hardware.choose(threads=3, batch_tokens=9000)
    assert (several.threads, several.shards) == (3, 1)
    assert hardware.choose(may_pack=True).attention == "packed"
    assert hardware.choose(may_pack=True, precision="float32").attention == "fused"
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert hardware.choose(may_pack=True, precision="bf16").attention == "fused"  # a T4 has no kernel for packed ones
    assert asked == []
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device="cuda": f"the card of {device}")
    assert hardware.describe()["device"] == "the card of cuda"
    assert hardware.question(precision="bf16", threads=1, device="cuda:1")["processor"] == "the card of cuda:1"


def test_the_card_that_is_asked_for_decides_the_number_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    capabilities = {"cuda": (9, 0), "cuda:0": (9, 0), "cuda:1": (7, 5)}
    monkeypatch.setattr(torch.cuda, "get_device_capability", capabilities.get)
    chosen = [hardware.choose(device=device) for device in ("cuda", "cuda:0", "cuda:1")]
    assert [each.precision for each in chosen] == ["bf16", "bf16", "float32"]


def test_memory_is_kept_unless_asked_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware.platform, "libc_ver", lambda: ("glibc", "2.39"))
    monkeypatch.delenv("YIWEN_KEEP_MEMORY", raising=False)
    assert hardware.choose().keeps_memory
    monkeypatch.setenv("YIWEN_KEEP_MEMORY", "0")
    assert not hardware.choose().keeps_memory
    monkeypatch.setattr(hardware.platform, "libc_ver", lambda: ("", ""))
    monkeypatch.delenv("YIWEN_KEEP_MEMORY")
    assert not hardware.choose().keeps_memory


def test_what_is_chosen_is_applied_to_the_process() -> None:
    """In a process of its own: how memory is kept cannot be taken back."""
    program = (
        "import json, torch; from yiwen import hardware\n"
        "chosen = hardware.choose(device='cpu', threads=3, attention='plain', products='torch')\n"
        "hardware.apply(chosen)\n"
        "print(json.dumps([torch.get_num_threads(), hardware.keep_memory(), hardware.describe()]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    threads, kept, machine = json.loads(done.stdout)
    assert threads == 3
    assert kept == (hardware.platform.libc_ver()[0] == "glibc")
    assert machine["torch"] == torch.__version__
    assert machine["cores"] >= 1
    assert usable_cores() <= (os.cpu_count() or 1)
