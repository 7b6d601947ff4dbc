"""What is chosen for a machine, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from yiwen import hardware
from yiwen.errors import ConfigError


@pytest.fixture(autouse=True)
def _no_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)


@pytest.mark.parametrize("has_bf16", [True, False])
def test_bf16_is_chosen_where_the_processor_has_it(monkeypatch: pytest.MonkeyPatch, has_bf16: bool) -> None:
    monkeypatch.setattr(hardware, "has_native_bf16", lambda: has_bf16)
    chosen = hardware.choose()
    assert chosen.device == "cpu"
    assert chosen.precision == ("bf16" if has_bf16 else "float32")
    assert chosen.attention == ("plain" if has_bf16 else "fused")
    assert hardware.choose(precision="float32").attention == "fused"
    assert hardware.choose(precision="bf16").precision == "bf16"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [("fpu avx512_bf16 sse", True), ("fpu amx_bf16", True), ("asimd bf16 i8mm", True), ("fpu avx512f xbf16y", False)],
)
def test_bf16_is_read_off_the_processor_flags(monkeypatch: pytest.MonkeyPatch, flags: str, expected: bool) -> None:
    text = f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t: none\n"
    monkeypatch.setattr(Path, "read_text", lambda self, **_: text)
    assert hardware.has_native_bf16() == expected


def test_without_a_list_of_flags_bf16_is_not_assumed(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(self: Path, **_: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", absent)
    assert not hardware.has_native_bf16()
    assert hardware.describe()["processor"]


@pytest.mark.parametrize(("variable", "expected"), [("3", 3), ("5,2", 5), ("", 7), ("0", 7), ("many", 7)])
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


def test_a_card_is_chosen_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    chosen = hardware.choose()
    assert (chosen.device, chosen.precision, chosen.attention, chosen.keeps_memory) == ("cuda", "bf16", "fused", False)


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
        "chosen = hardware.choose(device='cpu', threads=3)\n"
        "hardware.apply(chosen)\n"
        "print(json.dumps([torch.get_num_threads(), hardware.keep_memory(), hardware.describe()]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    threads, kept, machine = json.loads(done.stdout)
    assert threads == 3
    assert kept == (hardware.platform.libc_ver()[0] == "glibc")
    assert machine["torch"] == torch.__version__
    assert machine["cores"] >= 1
    assert hardware.usable_cores() <= (os.cpu_count() or 1)
