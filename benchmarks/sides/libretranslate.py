"""LibreTranslate with a model of ours, from an environment of its own, for `benchmarks/serving.py`.

    python3 -m venv LT
    LT/bin/pip install libretranslate==1.9.6

Without a network it has neither its list of models nor its sentence splitter, so that it is given two packages (then
it does not look for more) and a splitter that leaves one sentence whole, which is what it is sent.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from yiwen.bundle import open_bundle
from yiwen.export.argos import package_argos

_SPLITTER = """
class SBDetect:
    def __init__(self, *arguments, **options): pass
    def sentences(self, text): return [text]
class models:
    cache_dir = ""
    @staticmethod
    def list_models(): return ["en"]
def download_models(*arguments, **options): pass
"""
_INSTALL = "import sys; from argostranslate import package; [package.install_from_path(path) for path in sys.argv[1:]]"


@contextmanager
def libretranslate(python: Path, bundle: Path, folder: Path, *, port: int, threads: int) -> Iterator[int]:
    """Serve a bundle; gives the process id once it answers."""
    package = package_argos(open_bundle(bundle), folder / "there.argosmodel")
    back = _turned(package, folder / "back.argosmodel")
    (folder / "stubs").mkdir()
    (folder / "stubs" / "minisbd.py").write_text(_SPLITTER, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment |= {"PYTHONPATH": str(folder / "stubs"), "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data")}
    environment |= {"ARGOS_INTER_THREADS": str(threads), "ARGOS_INTRA_THREADS": "1", "OMP_NUM_THREADS": "1"}
    subprocess.run([python, "-c", _INSTALL, package, back], env=environment, check=True, capture_output=True)
    command: list[str | Path] = [python.with_name("libretranslate"), "--host", "127.0.0.1", "--port", str(port)]
    options = ["--disable-web-ui", "--load-only", ",".join(_codes(package)), "--threads", "64"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, *options], env=environment, stdout=log, stderr=log, cwd=folder)
    try:
        _wait(process, port, folder / "log")
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)


def _codes(package: Path) -> tuple[str, str]:
    with zipfile.ZipFile(package) as archive:
        name = next(name for name in archive.namelist() if name.endswith("metadata.json"))
        metadata = json.loads(archive.read(name))
    return metadata["from_code"], metadata["to_code"]


def _turned(package: Path, path: Path) -> Path:
    """A package that says it translates the other way."""
    src, tgt = _codes(package)
    with zipfile.ZipFile(package) as archive, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as other:
        for name in archive.namelist():
            content = archive.read(name)
            if name.endswith("metadata.json"):
                table = json.loads(content)
                turned = {
                    "from_code": tgt,
                    "to_code": src,
                    "from_name": table["to_name"],
                    "to_name": table["from_name"],
                }
                content = json.dumps(table | turned).encode()
            other.writestr(name.replace(f"{src}_{tgt}", f"{tgt}_{src}"), content)
    return path


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    for _ in range(240):
        if process.poll() is not None:
            raise SystemExit(f"LibreTranslate ended: {log.read_text(errors='replace')[-500:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.5)
    raise SystemExit("LibreTranslate does not answer after two minutes")
