"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tiny_model import TinyRun, exported, write_tiny_recipe
from toy_labels import write_labelled

# A deadline is a clock, and on a machine busy with other tests it measures those.
settings.register_profile("yiwen", deadline=None)
settings.load_profile("yiwen")


@pytest.fixture(scope="session", autouse=True)
def _our_own_cache_and_no_waiting_for_the_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is measured of the machine is kept for the session, or every training would measure.

    No test in this process cuts the power, and forcing files to the disk is most of the time of a tiny training.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory) -> TinyRun:
    """Train the tiny model; a few seconds, once a session."""
    from yiwen.recipe import load_recipe
    from yiwen.runs import average_run, train_recipe

    base = tmp_path_factory.mktemp("tiny")
    recipe = write_tiny_recipe(base)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("YIWEN_RUNS", str(base / "runs"))
        folder, _ = train_recipe(load_recipe(str(recipe), ["training.max_steps=60"]))
        average_run(folder, output=base / "runs" / "early", last=1)
        train_recipe(load_recipe(str(recipe)), resume=True)
    return TinyRun(runs=base / "runs", recipe=recipe, folder=folder)


@pytest.fixture(scope="session")
def tiny_classifier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a tiny classifier, trained in a few seconds once a session. Read it, never write it."""
    return _labelled_run(tmp_path_factory.mktemp("labels"), "classify", max_steps=120)


@pytest.fixture(scope="session")
def tiny_tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a tiny tagger; likewise."""
    return _labelled_run(tmp_path_factory.mktemp("tags"), "tag", max_steps=160)


@pytest.fixture(scope="session")
def tiny_embedder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a tiny encoder that gives a text and its translation like vectors; likewise."""
    return _labelled_run(tmp_path_factory.mktemp("pairs"), "embed", max_steps=120)


def _labelled_run(base: Path, task: str, *, max_steps: int) -> Path:
    from yiwen.recipe import load_recipe
    from yiwen.runs import train_recipe

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("YIWEN_RUNS", str(base / "runs"))
        return train_recipe(load_recipe(str(write_labelled(base, task, max_steps=max_steps))))[0]


@pytest.fixture(scope="session")
def exported_bundle(tiny_run: TinyRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model with an exported engine in its bundle. Read it, never write it."""
    return exported(tiny_run.best, tmp_path_factory.mktemp("exported") / "bundle")
