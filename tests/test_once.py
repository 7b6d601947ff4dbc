"""What takes long to load, asked for by several at the same time; threads, and how many cores there are."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import module_from_spec
from pathlib import Path
from threading import get_ident
from types import SimpleNamespace

import pytest

from yiwen.once import in_thread, once, usable_cores
from yiwen.text import chinese, langid


def test_what_several_ask_for_at_the_same_time_is_made_once_for_each_argument() -> None:
    made = []

    @once
    def slow(name: str) -> list[str]:
        made.append(name)
        time.sleep(0.05)
        return [name]

    with ThreadPoolExecutor(7) as threads:
        found = list(threads.map(slow, "ababababababa"))
    assert sorted(made) == ["a", "b"]
    assert [*map("".join, found)] == [*"ababababababa"]
    assert all(one is slow(one[0]) for one in found)


def test_the_first_callers_of_a_service_share_one_model_of_languages_and_one_converter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = []

    def load(what: str, **settings: object) -> SimpleNamespace:
        loaded.append(what)
        time.sleep(0.05)
        return SimpleNamespace(labels=(), rank=lambda prose: [("de", 1.0)], convert=str)

    monkeypatch.setattr("py3langid.langid.MODEL_FILE", "languages")
    monkeypatch.setattr("py3langid.langid.LanguageIdentifier.from_model_file", load)
    monkeypatch.setattr("opencc.OpenCC", load)
    fresh = [module_from_spec(module.__spec__) for module in (langid, chinese) if module.__spec__]
    for module in fresh:
        assert module.__spec__ is not None
        assert module.__spec__.loader is not None
        module.__spec__.loader.exec_module(module)
    with ThreadPoolExecutor(7) as threads:
        assert {*threads.map(fresh[0].detect, ["ein Hund"] * 7)} == {("de", 1.0)}
        assert {*threads.map(fresh[1].in_script, ["a"] * 7, ["zh-Hant"] * 7)} == {"a"}
    assert len(loaded) == len({*loaded})
    assert "languages" in loaded


def test_a_thread_of_its_own_gives_a_result_or_an_error() -> None:
    def fail() -> int:
        raise SystemExit("no")

    assert in_thread(lambda: 7).result(30) == 7
    with pytest.raises(SystemExit, match="no"):
        in_thread(fail).result(30)
    assert in_thread(get_ident).result(30) != get_ident()


def test_the_end_of_a_program_waits_for_what_loads_in_a_thread_when_it_is_interrupted() -> None:
    program = (
        "import time\nfrom yiwen.once import in_thread\n"
        "in_thread(lambda: time.sleep(0.3) or print('loaded'))\n"
        "in_thread(lambda: time.sleep(60) or print('daemon'), daemon=True)\nraise SystemExit(130)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (130, "loaded\n", "")


def test_cores_are_those_that_a_container_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "max 100000\n")
    assert usable_cores() == 2
    monkeypatch.delattr(os, "sched_getaffinity")  # on macOS and Windows
    assert usable_cores() == 7


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("max 100000\n", 7), ("300000 100000\n", 3), ("150000 50000\n", 3), ("20000 100000\n", 1), ("900000 100000\n", 7)],
)
def test_cores_are_no_more_than_a_container_has_time_for(
    monkeypatch: pytest.MonkeyPatch, limit: str, expected: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(7)), raising=False)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: limit)
    assert usable_cores() == expected
