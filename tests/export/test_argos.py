"""A package for Argos Translate holds what Argos reads, and Argos translates with it as CTranslate2 does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import ctranslate2
import pytest

from tiny_model import TinyRun, exported, tampered
from yiwen.bundle import open_bundle
from yiwen.cli.main import main
from yiwen.errors import CheckpointError, ConfigError
from yiwen.export.argos import package_argos

TEXTS = ["Deti gedi bapu.", "Kabe robu.", "Gedi"]


def test_a_package_holds_what_argos_reads(exported_bundle: Path, tmp_path: Path) -> None:
    bundle = open_bundle(exported_bundle)
    path = tmp_path / "a.argosmodel"
    assert package_argos(bundle, path) == path
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        name = "translate-en_de-1_0"
        assert {f"{name}/metadata.json", f"{name}/sentencepiece.model", f"{name}/model/model.bin"} < names
        assert all(inside.startswith(f"{name}/") and ".." not in inside for inside in names)
        assert not {f"{name}/model/export.json", f"{name}/model/manifest.json"} & names, "ours alone"
        metadata = json.loads(archive.read(f"{name}/metadata.json"))
        for entry in archive.infolist():  # equal bundles, equal packages; and others may read what they unpack
            assert (entry.date_time, entry.external_attr >> 16) == ((1980, 1, 1, 0, 0, 0), 0o644)
        archive.extractall(tmp_path)
    assert (metadata["from_code"], metadata["from_name"]) == ("en", "English")
    assert (metadata["to_code"], metadata["to_name"], metadata["package_version"]) == ("de", "German", "1.0")
    config = json.loads((tmp_path / name / "model" / "config.json").read_text())
    assert config["add_source_eos"] is True, "Argos adds no end token"
    assert path.read_bytes() == package_argos(bundle, tmp_path / "b.argosmodel").read_bytes()


def test_a_bundle_whose_card_was_removed_gets_a_new_one(exported_bundle: Path, tmp_path: Path) -> None:
    bundle = open_bundle(Path(shutil.copytree(exported_bundle, tmp_path / "bare")))
    (bundle.folder / "README.md").unlink()
    with zipfile.ZipFile(package_argos(bundle, tmp_path / "a.argosmodel")) as archive:
        assert b"# en -> de" in archive.read("translate-en_de-1_0/README.md")


def test_chinese_has_the_names_that_argos_gives_it(tiny_run: TinyRun, tmp_path: Path) -> None:
    for code, expected in (("zh", "zh"), ("zh-TW", "zt")):
        folder = exported(tampered(tiny_run.best, tmp_path / f"t-{code}", tgt_lang=code), tmp_path / code)
        with zipfile.ZipFile(package_argos(open_bundle(folder), tmp_path / f"{code}.argosmodel")) as archive:
            assert json.loads(archive.read(f"translate-en_{expected}-1_0/metadata.json"))["to_code"] == expected


def test_a_package_that_cannot_be_written_is_told(exported_bundle: Path, tmp_path: Path) -> None:
    for path, message in ((tmp_path, "is a folder or may not be"), (tmp_path / "no" / "a", "does not exist; make it")):
        with pytest.raises(ConfigError, match=rf"^--output {path}.* {message}"):
            package_argos(open_bundle(exported_bundle), path)


def test_what_cannot_be_packed_is_told(tiny_run: TinyRun, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"holds no exported engine; make one: yiwen export"):
        package_argos(open_bundle(tiny_run.best))
    two = open_bundle(exported(tiny_run.best, tmp_path / "two"))
    shared = two.folder / "shared.spm"
    for side in ("source", "target"):
        (two.folder / f"{side}.spm").write_bytes(shared.read_bytes())
    shared.unlink()
    with pytest.raises(ConfigError, match=r"one model for both; train with tokenizer\.shared = true"):
        package_argos(two)
    torn = open_bundle(exported(tiny_run.best, tmp_path / "torn"))
    (torn.folder / "ctranslate2" / "model.bin").write_bytes(b"torn")
    with pytest.raises(CheckpointError, match=r"model\.bin has changed"):
        package_argos(torn)


def test_what_is_no_translator_or_not_this_one_is_not_packed(
    tiny_run: TinyRun, exported_bundle: Path, tmp_path: Path
) -> None:
    pooled = exported(tiny_run.best, tmp_path / "pooled")
    (pooled / "ctranslate2").rename(tmp_path / "ctranslate2")
    encoder = open_bundle(tampered(pooled, tmp_path / "encoder", task="embed"))
    (tmp_path / "ctranslate2").rename(encoder.folder / "ctranslate2")
    with pytest.raises(CheckpointError, match=r"has task='embed' and is no translator; use `yiwen embed`"):
        package_argos(encoder)
    upgraded = Path(shutil.copytree(exported_bundle, tmp_path / "upgraded"))
    shutil.copytree(tiny_run.early, upgraded, dirs_exist_ok=True)
    with pytest.raises(CheckpointError, match="made from other weights"):
        package_argos(open_bundle(upgraded))


def test_the_command_says_how_to_install_it(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["package", str(exported_bundle), "--to", "argos"]) == 0
    assert "argospm install translate-en_de-1_0.argosmodel" in capsys.readouterr().err
    assert zipfile.is_zipfile(tmp_path / "translate-en_de-1_0.argosmodel")


def test_a_package_of_another_model_of_the_same_languages_is_replaced_only_where_it_is_named(
    exported_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    other = Path("translate-en_de-1_0.argosmodel")
    other.write_bytes(b"of another model")
    with pytest.raises(ConfigError, match=f"{other} exists already, .*; to replace it, give it by --output"):
        package_argos(open_bundle(exported_bundle))
    assert other.read_bytes() == b"of another model"
    assert package_argos(open_bundle(exported_bundle), other) == other
    assert zipfile.is_zipfile(other)


ARGOS = """
import json, sys
from argostranslate import package, translate
package.install_from_path(sys.argv[1])
way = translate.get_translation_from_codes("en", "de")
print(json.dumps([way.translate(text) for text in json.loads(sys.argv[2])]))
"""
SPLITTER = """
class SBDetect:
    def __init__(self, *arguments, **options): pass
    def sentences(self, text): return [text]
class models:
    cache_dir = ""
    @staticmethod
    def list_models(): return ["en"]
"""


@pytest.mark.slow
def test_argos_translates_as_ctranslate2_does(exported_bundle: Path, tmp_path: Path) -> None:
    """In an environment of its own; its sentence splitters, which are downloaded, are left out."""
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    wanted = ["ctranslate2", "sentencepiece", "packaging", "sacremoses", "numpy"]
    for arguments in (["--no-deps", "argostranslate==1.11.0"], wanted):
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
        if subprocess.run(install, capture_output=True).returncode != 0:
            pytest.skip("argostranslate cannot be installed here")
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    (stubs / "stanza.py").write_text("")
    (stubs / "minisbd.py").write_text(SPLITTER)
    path = package_argos(open_bundle(exported_bundle), tmp_path / "a.argosmodel")
    environment = {
        **os.environ,
        "PYTHONPATH": str(stubs),
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }
    environment |= {"XDG_CONFIG_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    command = [str(python), "-c", ARGOS, str(path), json.dumps(TEXTS)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    subword = open_bundle(exported_bundle).source
    # Argos asks for the fastest type there is, whatever the weights are stored in.
    runtime = ctranslate2.Translator(str(exported_bundle / "ctranslate2"), compute_type="auto")
    tokens = [subword.pieces(ids) for ids in subword.encode(TEXTS)]
    results = runtime.translate_batch(tokens, beam_size=4, length_penalty=0.2)
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=str(exported_bundle / "shared.spm"))
    expected = [processor.decode_pieces(result.hypotheses[0]) for result in results]
    assert json.loads(done.stdout.strip().split("\n")[-1]) == expected
