"""Model folders made to hurt: code hidden wherever something is read. It never runs; the file is refused by name."""

from __future__ import annotations

import io
import json
import pickle
import shutil
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from campaign import noted
from tiny_model import TinyRun
from yiwen.errors import YiwenError
from yiwen.files import MANIFEST, sha256, write_json
from yiwen.recipe import load_recipe
from yiwen.runs import train_recipe
from yiwen.translator import Translator


class Touch:
    """Writes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return Path.touch, (self.marker,)


def pickled(marker: Path) -> bytes:
    return pickle.dumps(Touch(marker))


def torch_saved(marker: Path) -> bytes:
    buffer = io.BytesIO()
    torch.save({"weights": Touch(marker)}, buffer)
    return buffer.getvalue()


def numpy_objects(marker: Path) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, weight=np.array([Touch(marker)], dtype=object))
    return buffer.getvalue()


def yaml_tag(marker: Path) -> bytes:
    return f'!!python/object/apply:os.system ["touch {marker}"]\n'.encode()


def slipping_zip(marker: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"../../../../../../../..{marker}", "")
    return buffer.getvalue()


def huge_header(marker: Path) -> bytes:
    return struct.pack("<Q", 1 << 62) + json.dumps({"__metadata__": {"marker": str(marker)}}).encode()


PAYLOADS = [pickled, torch_saved, numpy_objects, yaml_tag, slipping_zip, huge_header]


def sign(folder: Path) -> None:
    """As if the files had always been as they are, so that whoever reads them has to refuse them."""
    names = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    write_json(folder / MANIFEST, {name: sha256(folder / name) for name in names})


def files_of(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file() and path.name not in (MANIFEST, "README.md"))


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.__name__)
@pytest.mark.parametrize("is_signed", [False, True])
def test_nothing_in_a_model_can_run(
    payload: Callable[[Path], bytes], is_signed: bool, exported_bundle: Path, tmp_path: Path
) -> None:
    n_refused = 0
    for place, engine in ((".", "torch"), ("ctranslate2", "ctranslate2")):
        for name in files_of(exported_bundle / place):
            folder, marker = tmp_path / f"{engine}-{name}", tmp_path / "marker"
            shutil.copytree(exported_bundle, folder)
            (folder / place / name).write_bytes(payload(marker))
            if is_signed:
                sign(folder / place)
            with pytest.raises(YiwenError) as caught:
                Translator.load(folder, engine=engine, threads=1).translate(["Deti gedi bapu."])
            assert name in str(caught.value) or place in str(caught.value)
            assert not marker.exists()
            n_refused += 1
    assert n_refused >= 6
    noted("X3", f"{payload.__name__} in every file of a model", refused=n_refused, ran=0)


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: payload.__name__)
def test_nothing_in_a_checkpoint_can_run(payload: Callable[[Path], bytes], tiny_run: TinyRun, tmp_path: Path) -> None:
    run, marker = tmp_path / "run", tmp_path / "marker"
    names = files_of(sorted((tiny_run.folder / "checkpoints").iterdir())[-1])
    assert "model.safetensors" in names
    for name in names:
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(tiny_run.folder, run)
        for checkpoint in (run / "checkpoints").iterdir():
            (checkpoint / name).write_bytes(payload(marker))
            sign(checkpoint)
        recipe = load_recipe(str(tiny_run.recipe), ["training.max_steps=100000"])
        with pytest.raises(YiwenError) as caught:
            train_recipe(recipe, run=run, root=tmp_path, resume=True)
        assert name in str(caught.value), caught.value
        assert not marker.exists()


def test_a_folder_that_leads_elsewhere_is_no_model(exported_bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret", encoding="utf-8")
    folder = Path(shutil.copytree(exported_bundle, tmp_path / "b"))
    write_json(folder / MANIFEST, {"../secret": sha256(tmp_path / "secret")})
    with pytest.raises(YiwenError, match="points outside the folder"):
        Translator.load(folder, threads=1)
