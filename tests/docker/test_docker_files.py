"""The container files: what they install exists, both images are alike, and the replay knows every step in them."""

from __future__ import annotations

import importlib.util
import re
import signal
import tomllib
from configparser import ConfigParser
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from yiwen.config import override, parse
from yiwen.serve.config import ServeConfig

ROOT = Path(__file__).parents[2]
DOCKER = ROOT / "docker"
FILES = [DOCKER / "cpu.Dockerfile", DOCKER / "gpu.Dockerfile"]


@pytest.fixture(scope="module")
def replay() -> ModuleType:
    spec = importlib.util.spec_from_file_location("replay", DOCKER / "replay.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def extras_in(text: str) -> set[str]:
    return {extra for found in re.findall(r'"[./\w]*\[([\w,]+)\]"', text) for extra in found.split(",")}


def test_every_extra_that_is_installed_exists() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for path in [*FILES, DOCKER / "environment.yml"]:
        asked = extras_in(path.read_text(encoding="utf-8"))
        assert {"train", "serve"} <= asked, path.name
        assert asked <= known.keys(), path.name


def test_conda_asks_for_a_python_that_the_package_allows_and_for_the_same_pins() -> None:
    environment = yaml.safe_load((DOCKER / "environment.yml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    python, _, pip = environment["dependencies"]
    assert project["requires-python"] == ">=3.11"
    assert tuple(map(int, python.removeprefix("python=").split("."))) in [(3, 11), (3, 12), (3, 13)]
    assert "--constraint ../constraints.txt" in pip["pip"]


def test_the_images_differ_in_where_torch_comes_from_alone(replay: ModuleType) -> None:
    cpu, gpu = ([step for step in replay.steps(path) if step[0] != "ARG"] for path in FILES)
    without_index = [(name, re.sub(r" --extra-index-url \S+", "", argument)) for name, argument in cpu]
    assert without_index == gpu
    assert ("USER", "yiwen") in cpu


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_replay_knows_every_step(path: Path, replay: ModuleType, tmp_path: Path) -> None:
    root = replay.Root(tmp_path, None)
    ran: list[str] = []
    root.run = ran.append
    (tmp_path / "etc").mkdir()  # a Debian is there already
    context = tmp_path / "context"
    context.mkdir()
    for name, argument in replay.steps(path):
        root.step(name, argument, context)
    assert root.user == "yiwen"
    assert root.environment["YIWEN_RUNS"] == "/runs"
    assert any(command.startswith("pip install") for command in ran)


def test_the_replay_refuses_what_it_does_not_know(replay: ModuleType, tmp_path: Path) -> None:
    root = replay.Root(tmp_path, None)
    with pytest.raises(ValueError, match="HEALTHCHECK x: this script does not know HEALTHCHECK"):
        root.step("HEALTHCHECK", "x", tmp_path)
    with pytest.raises(ValueError, match="FROM python:3: only debian:RELEASE can be made without Docker"):
        root.step("FROM", "python:3", tmp_path)


def test_services_are_open_to_this_machine_alone() -> None:
    services = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert services.keys() == {"train", "serve", "notebook", "tensorboard"}
    for name, service in services.items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name


@pytest.fixture
def unit() -> ConfigParser:
    unit = ConfigParser(interpolation=None, strict=False)
    unit.read(DOCKER / "yiwen.service", encoding="utf-8")
    return unit


def test_a_service_that_is_stopped_while_it_loads_has_not_failed(unit: ConfigParser) -> None:
    """systemd takes the signal for a good end, and not the status with which commands tell it."""
    assert unit["Service"]["SuccessExitStatus"] == str(128 + signal.SIGTERM)


def test_a_service_whose_database_is_not_there_yet_is_started_for_as_long_as_it_takes(unit: ConfigParser) -> None:
    """Where systemd counts five starts within ten seconds, it makes no sixth one."""
    assert "StartLimitIntervalSec" not in unit["Unit"]
    assert unit["Service"]["Restart"] == "on-failure"
    assert 10 / float(unit["Service"]["RestartSec"]) < 5


def test_the_service_answers_to_local_names_alone_and_has_the_time_to_end() -> None:
    service = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))["services"]["serve"]
    settings = [value for before, value in pairwise(service["command"]) if before == "--set"]
    config = parse(ServeConfig, override({}, settings), source="compose.yaml")
    assert config.allow_hosts == ("localhost", "127.0.0.1")
    assert int(service["stop_grace_period"].removesuffix("s")) > config.drain_s
