"""Which engine translates, and what is said where it cannot."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import ctranslate2
import pytest

from tiny_model import TinyRun, exported, tampered
from yiwen.bundle import open_bundle
from yiwen.engines.ct2_engine import CT2Engine
from yiwen.engines.select import Opened, open_engine, settled
from yiwen.errors import CheckpointError, ConfigError, MissingDependencyError
from yiwen.search.config import SearchConfig
from yiwen.translator import Translator


def opened(folder: Path, **options: str) -> Opened:
    return open_engine(open_bundle(folder), threads=1, **options)


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)


@pytest.fixture(scope="session")
def lean_bundle(tiny_run: TinyRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An exported engine without the weights it was made from."""
    return exported(tiny_run.best, tmp_path_factory.mktemp("lean") / "bundle", has_weights=False)


@pytest.mark.parametrize(
    ("options", "description"),
    [
        ({}, "CTranslate2 float32"),
        ({"device": "cpu"}, "CTranslate2 float32"),
        ({"engine": "ctranslate2"}, "CTranslate2 float32"),
        ({"engine": "torch"}, "torch float32 on cpu"),
        ({"dtype": "float32"}, "torch float32 on cpu"),
        ({"dtype": "bf16", "device": "cpu"}, "torch bfloat16 on cpu"),
    ],
)
def test_the_exported_engine_is_used_where_nothing_asks_for_another(
    options: dict[str, str], description: str, exported_bundle: Path
) -> None:
    found = opened(exported_bundle, **options)
    assert found.engine.description.startswith(description)
    assert found.note == ""
    assert found.n_at_once == (1 if description.startswith("torch") else 2)


@pytest.mark.parametrize("engine", ["auto", "ctranslate2"])
def test_an_exported_engine_computes_as_many_batches_at_once_as_it_is_given_threads(
    engine: str, exported_bundle: Path
) -> None:
    found = open_engine(open_bundle(exported_bundle), engine=engine, threads=3).engine
    assert isinstance(found, CT2Engine)
    assert found.replicas == 3


def test_a_card_means_torch_and_is_asked_for_in_vain_where_there_is_none(
    exported_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(ConfigError, match="device='cuda', but torch"):
        opened(exported_bundle, device="cuda")


def test_the_trained_model_beside_an_exported_one_is_found_from_another_folder(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(exported_bundle.parent)
    found = opened(Path(exported_bundle.name))
    monkeypatch.chdir(tmp_path)
    assert found.finder is not None
    assert found.finder().description.startswith("torch")
    assert found.finder() is found.finder(), "it is opened once"


def test_without_an_export_torch_translates(tiny_run: TinyRun) -> None:
    assert opened(tiny_run.best, device="cpu").engine.description == "torch float32 on cpu"


def test_an_exported_engine_needs_no_weights_beside_it(lean_bundle: Path, no_torch: None) -> None:
    assert opened(lean_bundle).finder is None
    assert [str(translation) for translation in Translator.load(lean_bundle, threads=1).translate([""])] == [""]
    assert Translator.load(lean_bundle, threads=1).translate(["Deti gedi."])[0].text


def test_what_is_unknown_or_not_there_is_refused_with_the_way_out(tiny_run: TinyRun, exported_bundle: Path) -> None:
    with pytest.raises(ConfigError, match="engine='onnx' is unknown; use 'auto', 'torch' or 'ctranslate2'"):
        opened(exported_bundle, engine="onnx")
    with pytest.raises(ConfigError, match="dtype='int8' is unknown; use 'auto', 'float32' or 'bf16'"):
        opened(exported_bundle, dtype="int8")
    for threads in (-1, 100_000, "2", 2.5):
        with pytest.raises(ConfigError, match=f"threads={threads!r}; use 1 to 512, or 0 for all cores"):
            open_engine(open_bundle(exported_bundle), threads=threads)  # type: ignore[arg-type]
    message = f"engine='ctranslate2', but {tiny_run.best} holds no ctranslate2 folder; make one: yiwen export "
    with pytest.raises(ConfigError, match=message):
        opened(tiny_run.best, engine="ctranslate2")
    for dtype in ("bf16", "float32"):
        message = f"dtype='{dtype}' with engine='ctranslate2': .* leave dtype out, or export again with --dtype"
        with pytest.raises(ConfigError, match=message):
            opened(exported_bundle, engine="ctranslate2", dtype=dtype)


def test_the_torch_engine_needs_the_weights(lean_bundle: Path) -> None:
    with pytest.raises(CheckpointError, match=r"holds no model\.safetensors: it was exported for machines without"):
        opened(lean_bundle, engine="torch")


def test_an_engine_that_was_made_from_other_weights_is_refused(
    tiny_run: TinyRun, exported_bundle: Path, tmp_path: Path
) -> None:
    upgraded = Path(shutil.copytree(exported_bundle, tmp_path / "model"))
    shutil.copytree(tiny_run.early, upgraded, dirs_exist_ok=True)
    for engine in ("auto", "ctranslate2"):
        with pytest.raises(CheckpointError, match=r"made from other weights than .* holds; export again: yiwen export"):
            opened(upgraded, engine=engine)
    assert opened(upgraded, engine="torch").note == ""


def test_without_torch_both_ways_out_are_named(tiny_run: TinyRun, exported_bundle: Path, no_torch: None) -> None:
    with pytest.raises(MissingDependencyError) as caught:
        opened(tiny_run.best)
    assert "pip install 'yiwen[train]'" in str(caught.value)
    assert f"where torch is installed, make an exported engine with `yiwen export {tiny_run.best}`" in str(caught.value)
    assert opened(exported_bundle).finder is None
    with pytest.raises(MissingDependencyError, match="or leave engine, device, dtype, sampling and ensemble out to"):
        opened(exported_bundle, dtype="float32")


def test_what_this_processor_cannot_compute_falls_back_to_torch_and_says_so(
    lean_bundle: Path, exported_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", lambda *device: {"int8"})
    found = opened(exported_bundle)
    assert found.engine.description == "torch float32 on cpu"
    assert found.note == (
        f"the exported engine of {exported_bundle} computes in float32, which this processor cannot; using torch"
    )
    for folder, options in ((lean_bundle, {}), (exported_bundle, {"engine": "ctranslate2"})):
        with pytest.raises(ConfigError, match=r"is exported as float32, which CTranslate2 cannot compute on this"):
            opened(folder, **options)


def test_search_settings_that_ask_for_sampling_fall_back_to_torch_and_say_so(
    exported_bundle: Path, tmp_path: Path
) -> None:
    settings = {"sampling": True, "beam_size": 1}
    found = opened(tampered_export(exported_bundle, tmp_path / "b", settings))
    assert found.engine.description == "torch float32 on cpu"
    assert found.note.endswith("ask for sampling, which an exported engine cannot do; using torch")


def tampered_export(bundle: Path, folder: Path, search: dict[str, object]) -> Path:
    plain = shutil.copytree(bundle, folder.with_name("plain"))
    (plain / "ctranslate2").rename(folder.with_name("ctranslate2"))
    tampered(plain, folder, search=search)
    folder.with_name("ctranslate2").rename(folder / "ctranslate2")
    return folder


def test_sampling_is_refused_where_the_exported_engine_was_asked_for(exported_bundle: Path) -> None:
    translator = Translator.load(exported_bundle, engine="ctranslate2", threads=1)
    with pytest.raises(ConfigError, match="use engine='torch' to sample"):
        translator.translate(["Deti."], search=SearchConfig(sampling=True))


NO_EXTRAS = """
import sys
from pathlib import Path
from yiwen.cli.main import main
from yiwen.translator import Translator
folder, text = sys.argv[1:]
print(Translator.load(folder, threads=1).translate(["Deti gedi."])[0])
assert main(["translate", folder, "--input", text, "--threads", "1"]) == 0
assert main(["score", folder, text, text, "--threads", "1"]) == 0
heavy = {"torch", "safetensors", "pyarrow", "sacrebleu", "numpy", "rich", "lxml", "tensorboard"}
loaded = {name.partition(".")[0] for name in sys.modules}
assert not heavy & loaded, heavy & loaded
assert not [name for name in sys.modules if name.startswith(("ctranslate2.specs", "ctranslate2.converters"))]
"""


def test_translating_with_an_exported_engine_imports_nothing_that_it_does_not_need(
    exported_bundle: Path, tmp_path: Path
) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"Deti gedi.\n\nKabe robu.\n")
    command = [sys.executable, "-c", NO_EXTRAS, str(exported_bundle), str(text)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.split("\n")
    assert lines[0] == lines[1] != ""
    assert lines[2] == ""


OUTLIVING = """
import sys, threading
from yiwen.translator import Translator

def work():
    threading.main_thread().join()
    print(Translator.load(sys.argv[1], threads=1).translate(["Deti gedi."])[0].text != "")

threading.Thread(target=work).start()
"""


def test_a_thread_that_outlives_the_main_one_loads_a_model(exported_bundle: Path) -> None:
    command = [sys.executable, "-c", OUTLIVING, str(exported_bundle)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("True\n", "")


TORCH = """
import sys
from yiwen.encoder import Encoder
from yiwen.translator import Translator
for load in (Translator.load, Encoder.load):
    model = load(sys.argv[1], engine="torch", threads=1)
    assert len(model.translate(["Deti gedi."]) if load == Translator.load else model.features(["Deti gedi."])) == 1
assert "torch" in sys.modules
assert "torch._dynamo" not in sys.modules, "torch's compiler takes as long to import as all else of torch"
"""


def test_computing_with_torch_does_not_import_its_compiler(tiny_run: TinyRun) -> None:
    command = [sys.executable, "-c", TORCH, str(tiny_run.best)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_engine_keeps_the_kernels_of_more_shapes_than_a_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences that come alone have some hundred and fifty, all of which come again."""
    name = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
    monkeypatch.setenv(name, "")
    monkeypatch.delenv(name)
    settled(device="cpu", dtype="auto", threads=1)
    assert os.environ[name] == "512"
