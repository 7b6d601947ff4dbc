"""What the tests of the inside share."""

from __future__ import annotations

import pytest
from known_models import Toy, train


@pytest.fixture(scope="session")
def reversing(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    return train("reverse", tmp_path_factory.mktemp("reverse"))


@pytest.fixture(scope="session")
def copying(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """Its alignment head was guided, and it copies all but every sentence."""
    longer = {"training.guided_alignment": 0.3, "training.max_steps": 200}
    return train("copy", tmp_path_factory.mktemp("copy"), **longer)
