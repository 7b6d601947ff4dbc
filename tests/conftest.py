"""What all tests share."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main
from hypothesis import settings

from tiny_model import TinyRun, exported, write_tiny_recipe
from toy_labels import write_labelled

# A deadline is a clock, and on a machine busy with other tests it measures those.
settings.register_profile("yiwen", deadline=None)
settings.load_profile("yiwen")


# A script that starts the tests by `&` has SIGINT ignored, by them and by what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


# Nearly all that collecting makes stays to the end: no search for garbage goes through it, now or later.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_runtest_call() -> None:
    """What a test draws without a seed of its own is the same whichever tests came before it."""
    if torch := sys.modules.get("torch"):  # None where a test hides it
        torch.default_generator.manual_seed(1)  # torch.manual_seed notes its callers for every other device, too
        if torch.cuda.is_initialized():
            torch.cuda.manual_seed_all(1)


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder that `make` fills: the first of the test processes that needs it makes it for all of them."""
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    try:
        import fcntl
    except ImportError:  # Windows: each makes its own
        make(folder := factory.mktemp(name))
        return folder
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_made = folder.with_suffix(".made")
        if not is_made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of one that failed
            folder.mkdir()
            make(folder)
            is_made.touch()
    return folder


@pytest.fixture(scope="session", autouse=True)
def _our_own_cache_and_no_waiting_for_the_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is measured of the machine is kept for the session, or every training would measure.

    No test in this process cuts the power, and forcing files to the disk is most of the time of a tiny training.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _commands_are_put_together_once() -> Iterator[None]:
    """What a process does once is not done again for each of the commands that tests run in one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", cache(typer.main.get_command))
        yield


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> TinyRun:
    """Train the tiny model; a few seconds, once a session."""

    def make(base: Path) -> None:
        from yiwen.recipe import load_recipe
        from yiwen.runs import average_run, train_recipe

        recipe = str(write_tiny_recipe(base))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("YIWEN_RUNS", str(base / "runs"))
            folder, _ = train_recipe(load_recipe(recipe, ["training.max_steps=60"]))
            average_run(folder, output=base / "runs" / "early", last=1)
            train_recipe(load_recipe(recipe), resume=True)

    base = made_once(tmp_path_factory, "tiny", make)
    return TinyRun(runs=base / "runs", recipe=base / "tiny.toml", folder=base / "runs" / "tiny")


@pytest.fixture(scope="session")
def tiny_classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a tiny classifier, trained in a few seconds once a session. Read it, never write it."""
    return _labelled_run(tmp_path_factory, "classify", max_steps=120)


@pytest.fixture(scope="session")
def tiny_tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a tiny tagger; likewise."""
    return _labelled_run(tmp_path_factory, "tag", max_steps=160)


@pytest.fixture(scope="session")
def tiny_embedder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a tiny encoder that gives a text and its translation like vectors; likewise."""
    return _labelled_run(tmp_path_factory, "embed", max_steps=120)


def _labelled_run(factory: pytest.TempPathFactory, task: str, *, max_steps: int) -> Path:
    def make(base: Path) -> None:
        from yiwen.recipe import load_recipe
        from yiwen.runs import train_recipe

        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("YIWEN_RUNS", str(base / "runs"))
            train_recipe(load_recipe(str(write_labelled(base, task, max_steps=max_steps))))

    return made_once(factory, f"tiny-{task}", make) / "runs" / task


@pytest.fixture(scope="session")
def exported_bundle(tiny_run: TinyRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model with an exported engine in its bundle. Read it, never write it."""
    return made_once(tmp_path_factory, "exported", lambda base: exported(tiny_run.best, base / "bundle")) / "bundle"
