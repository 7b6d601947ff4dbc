"""What is measured is measured once a machine, and a cache that fails costs no more than measuring again."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from yiwen import measured
from yiwen.measured import (
    FEWEST_ROUNDS,
    HOPELESS,
    best_seconds,
    faster_attention,
    faster_precision,
    faster_products,
    remembered,
)
from yiwen.model.linear import has_onednn

QUESTION = {"what": "colour", "processor": "p", "threads": 3}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "yiwen"


def ask(answer: str = "red", question: dict[str, str | int] | None = None) -> tuple[str, bool]:
    """The answer, and whether it had to be measured."""
    calls = []

    def measure() -> str:
        calls.append(1)
        return answer

    found = remembered(
        QUESTION if question is None else question, is_answer=lambda given: given in ("red", "blue"), measure=measure
    )
    return found, bool(calls)


def test_an_answer_is_measured_once(cache: Path) -> None:
    assert ask("red") == ("red", True)
    assert ask("blue") == ("red", False)
    (path,) = cache.iterdir()
    assert json.loads(path.read_text(encoding="utf-8")) == {"question": QUESTION, "answer": "red"}


def test_another_question_has_its_own_answer() -> None:
    assert ask("red") == ("red", True)
    assert ask("blue", {**QUESTION, "threads": 2}) == ("blue", True)
    assert ask() == ("red", False)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"[" * 100_000, id="deep"),
        *(b"", b"[]", b"{", b"{}", b"\xff", b'{"question": 1}'),
        json.dumps({"question": QUESTION, "answer": "green"}).encode(),
    ],
)
def test_a_cache_that_cannot_be_read_costs_the_measurement_again(cache: Path, content: bytes) -> None:
    ask()
    (path,) = cache.iterdir()
    path.write_bytes(content)
    assert ask("blue") == ("blue", True)
    assert ask() == ("blue", False)


def test_a_cache_that_cannot_be_written_costs_nothing_else(cache: Path) -> None:
    cache.parent.write_text("a file where the folder should be", encoding="utf-8")
    assert ask() == ("red", True)
    assert ask("blue") == ("blue", True)


def test_without_the_variable_the_cache_is_in_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        monkeypatch.setattr(Path, "expanduser", lambda self: tmp_path / str(self).replace("~", "home"))
        assert measured._cache_folder() == tmp_path / "home" / ".cache" / "yiwen"


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setattr(Path, "expanduser", refuse)
    assert ask("red") == ("red", True)
    assert ask("blue") == ("blue", True)


class Clock:
    """Ways that take as long as they are told to, by a clock of their own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.order: list[str] = []
        monkeypatch.setattr(measured, "time", SimpleNamespace(perf_counter=lambda: self.now))

    def way(self, name: str, *seconds: float) -> Callable[[], None]:
        """One that takes these seconds in turn, the last of them ever after."""
        takes = itertools.chain(seconds, itertools.repeat(seconds[-1]))

        def run() -> None:
            self.order.append(name)
            self.now += next(takes)

        return run


def test_ways_take_turns_and_the_best_of_each_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    ways = [clock.way("slow", 1.0, 4.0, 2.0, 3.0), clock.way("quick", 9.0, 2.0)]
    assert best_seconds(ways, rounds=3, limit=99.0) == [2.0, 2.0]  # the first round warms up
    assert clock.order == ["slow", "quick"] * 4


def test_a_few_rounds_are_timed_whatever_they_take(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    best_seconds([clock.way("slow", 5.0)], rounds=50, limit=1.0)
    assert clock.order == ["slow"] * (1 + FEWEST_ROUNDS)


def test_what_is_hopeless_takes_no_time_from_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    ways = [clock.way("quick", 1.0), clock.way("slower", HOPELESS), clock.way("hopeless", HOPELESS + 0.1)]
    assert best_seconds(ways, rounds=4, limit=99.0) == pytest.approx([1.0, HOPELESS, HOPELESS + 0.1])
    assert [clock.order.count(name) for name in ("quick", "slower", "hopeless")] == [5, 5, 2]  # warming up counted


needs_bf16 = pytest.mark.skipif(not has_onednn(torch.bfloat16), reason="oneDNN has no bf16 on this processor")


@pytest.mark.parametrize("precision", ["float32", pytest.param("bf16", marks=needs_bf16)])
def test_the_faster_way_is_taken_and_the_threads_are_put_back(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = torch.get_num_threads()
    for seconds, attention, products in (
        ([1.0, 0.9], "fused", "onednn"),
        ([0.9, 1.0], "plain", "torch"),
        ([1.0, 0.99], "plain", "onednn"),  # a tie
        ([0.99, 1.0], "plain", "onednn"),
    ):
        seen = []

        def timed(ways: list, *, seconds: list[float] = seconds, seen: list = seen, **_: float) -> list[float]:
            seen.append(torch.get_num_threads())
            for way in ways:
                way()
            return seconds

        monkeypatch.setattr(measured, "best_seconds", timed)
        monkeypatch.setattr(measured, "_ROWS", 2)
        assert faster_attention(precision=precision, threads=3) == attention
        assert faster_products(precision=precision, threads=3) == products
        assert set(seen) == {3}
        assert torch.get_num_threads() == threads


@pytest.mark.parametrize(("precision", "dtype"), [("float32", torch.float32), ("bf16", torch.bfloat16)])
def test_attention_is_timed_in_the_precision_of_the_training(
    precision: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()
    queries = []

    def attend(*inputs: torch.Tensor) -> torch.Tensor:
        seen.update(each.dtype for each in inputs)
        queries.append(inputs[0])
        return inputs[0] * 1

    for way in ("plain_attention", "fused_attention"):
        monkeypatch.setattr(f"yiwen.model.attention.{way}", attend)
    monkeypatch.setattr(measured, "_ROWS", 2)
    faster_attention(precision=precision, threads=1)
    assert seen == {dtype}
    assert all(query.grad is not None for query in queries), "and backward, too"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [([(3.0, 1.0), (1.0, 1.0), (1.0, 1.2)], "fused"), ([(1.0, 0.5), (1.0, 1.0), (1.0, 3.0)], "plain")],
)
def test_attention_is_chosen_for_short_and_long_sentences_together(
    seconds: list[tuple[float, float]], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = iter(seconds)
    monkeypatch.setattr(measured, "best_seconds", lambda ways: next(taken))
    monkeypatch.setattr(measured, "_ROWS", 2)
    assert faster_attention(precision="float32", threads=1) == expected


def test_what_is_measured_is_the_processor_where_another_device_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    def once_each(ways: list[Callable[[], object]], **_: float) -> list[float]:
        for way in ways:
            way()  # of tensors on two devices this fails
        return [7.0 for _ in ways]

    monkeypatch.setattr(measured, "best_seconds", once_each)
    with torch.device("meta"):
        assert faster_attention(precision="float32", threads=1) == "plain"
        faster_products(precision="float32", threads=1)


def test_without_onednn_pytorch_computes_the_products(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "best_seconds", None)  # there is nothing to choose from
    monkeypatch.setattr("yiwen.model.linear.has_onednn", lambda dtype: False)
    assert faster_products(precision="float32", threads=1) == "torch"
    monkeypatch.setattr("yiwen.model.linear.has_onednn", lambda dtype: dtype != torch.bfloat16)  # imitated by PyTorch
    assert faster_products(precision="bf16", threads=1) == "torch"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        ([0.9, 1.0, 1.0, 1.0], "float32"),
        ([1.0, 0.9, 1.0, 1.0], "float32"),
        ([1.0, 1.0, 0.5, 2.0], "bf16"),
        ([1.0, 1.0, 2.0, 0.5], "bf16"),
        ([0.99, 1.0, 1.0, 1.0], "bf16"),  # a tie
    ],
)
def test_a_precision_is_as_fast_as_its_faster_library(
    seconds: list[float], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    types = []

    def products(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, _: bool) -> torch.Tensor:
        types.append(torch.is_autocast_enabled("cpu"))
        return torch.nn.functional.linear(x[:2], weight, bias)  # bf16 may be imitated here, and slow

    def timed(ways: list, **_: float) -> list[float]:
        for way in ways:
            way()
        assert torch.get_num_threads() == 3
        return seconds

    monkeypatch.setattr("yiwen.model.linear.has_onednn", lambda dtype: True)
    monkeypatch.setattr("yiwen.model.linear.torch_product", products)
    monkeypatch.setattr("yiwen.model.linear.onednn_product", products)
    monkeypatch.setattr(measured, "best_seconds", timed)
    assert faster_precision(threads=3) == expected
    assert types == [False] * 4 + [True] * 4  # a layer has two products
