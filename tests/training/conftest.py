"""Tests of training."""

from __future__ import annotations

import os

import pytest


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test here cuts the power, and forcing files to the disk is most of the time of a tiny training."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
