"""Every command that the READMEs and the manual print runs, on generated text and tiny models.

A page's commands run in order in a folder that holds what they name. What takes long is shortened by settings, or is
run by another test, which is named here.
"""

from __future__ import annotations

import re
import shlex
import shutil
import zipfile
from pathlib import Path

import pytest
from commands import Commands

from tiny_model import TinyRun

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/en/index.md", "docs/en/commands.md", "docs/en/quality.md"]
MODELS = ["corpus", "other", "fine", "a", "b", "c", "multi30k-de-en", "multi30k-en-de"]
MODELS += ["multi30k-en-de-student", "multi30k-en-de-quality"]
ELSEWHERE = {
    "demo": "tests/cli/test_demo.py",
    "distil": "tests/cli/test_distil.py",
    "serve": "tests/serve/test_shutdown.py",
    "sweep": "tests/cli/test_sweep_command.py",
    "backtranslate": "tests/cli/test_backtranslate.py",
}
"""Commands that another test runs as they are printed."""
_SMALL = ["tokenizer.vocab_size=400", "model.d_model=8", "model.n_heads=2", "training.max_steps=2"]
_SMALL += ["model.n_encoder_layers=1", "model.n_decoder_layers=1", "search.max_len_ratio=0.2", "search.max_len_extra=5"]
MORE = {
    "train": ["--run", "runs/fresh", *(word for setting in _SMALL for word in ("--set", setting))],
    "export": ["--dtype", "float32"],
}
"""What makes a command quick."""


def commands_of(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:bash|sh)\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").split("\n")]
    return [re.split(r"\s+#\s", line)[0] for line in lines if line.startswith("yiwen ")]


def write_sides(stem: Path, pairs: list[tuple[str, str]], *languages: str) -> None:
    """A file for each language: the first has the sources, each other one the targets."""
    stem.parent.mkdir(exist_ok=True)
    for number, language in enumerate(languages):
        lines = (f"{pair[min(number, 1)]}\n" for pair in pairs)
        stem.with_name(f"{stem.name}.{language}").write_text("".join(lines), encoding="utf-8")


def write_text(folder: Path) -> None:
    pairs = [(f"This is line {n} of a text about boats.", f"Dies ist Zeile {n}, Boote {n * 7}.") for n in range(240)]
    for name in ("train", "val", "test_2016_flickr", "test_2017_flickr"):
        named = [(f"{name} {src}", f"{name} {tgt}") for src, tgt in pairs]
        write_sides(folder / "multi30k" / name, named, "en", "de", "fr")
    for name in ("captions-de-en", "captions-en-de", "captions-en-de-quality", "captions-en-fr"):
        write_sides(folder / name / "corpus-0", [(f"{src} Ja.", f"{tgt} Ja.") for src, tgt in pairs], "en", "de", "fr")
    for name, first in (("train", 0), ("dev", 180), ("test", 200)):
        lines = [(f"This is line {n} about boats.", f"这是第{n}行，说的是船。") for n in range(first, first + 150)]
        write_sides(folder / "tatoeba-en-zh" / name, lines, "en", "zh")
    for name in ("train", "test", "dev"):
        write_sides(folder / name, pairs[:150], "en", "zh", "de")
    for name, side in (("in.txt", 0), ("src.txt", 0), ("tgt.txt", 1)):
        (folder / name).write_text("".join(f"{pair[side]}\n" for pair in pairs[:5]), encoding="utf-8")
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{src}</seg></tuv><tuv xml:lang="zh"><seg>这是第{n}行。</seg></tuv></tu>'
        for n, (src, _) in enumerate(pairs)
    )
    tmx = f'<?xml version="1.0"?><tmx version="1.4"><header srclang="en"/><body>{units}</body></tmx>'
    (folder / "corpus.tmx").write_text(tmx, encoding="utf-8")


def write_docx(path: Path) -> None:
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType='
        '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
    )
    body = (
        f'<w:document xmlns:w="{main}"><w:body><w:p><w:r><w:t>Deti gedi bapu.</w:t></w:r></w:p></w:body></w:document>'
    )
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("[Content_Types].xml", types)
        file.writestr("word/document.xml", body)


@pytest.fixture
def world(
    tmp_path: Path, tiny_run: TinyRun, tiny_classifier: Path, tiny_tagger: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A folder with everything that the pages name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("YIWEN_DATA", str(tmp_path))
    monkeypatch.delenv("YIWEN_RUNS", raising=False)
    write_text(tmp_path)
    for name in ("in.docx", "a.docx", "report.docx"):
        write_docx(tmp_path / name)
    shutil.copytree(tiny_run.runs / ".prepared", tmp_path / "runs" / ".prepared", symlinks=True)
    for name, run in (
        *((name, tiny_run.folder) for name in MODELS),
        ("reviews", tiny_classifier),
        ("names", tiny_tagger),
    ):
        shutil.copytree(run, tmp_path / "runs" / name, symlinks=True)
    return tmp_path


def test_what_runs_elsewhere_does() -> None:
    for command, path in ELSEWHERE.items():
        test = ROOT / path
        assert test.is_file(), command
        assert f'"{command}"' in test.read_text(encoding="utf-8"), command


@pytest.mark.parametrize("page", [*PAGES[:2], *(pytest.param(page, marks=pytest.mark.slow) for page in PAGES[2:])])
def test_the_commands_of_a_page_run(page: str, world: Path, run: Commands) -> None:
    lines = [line for line in commands_of(page) if shlex.split(line)[1] not in ELSEWHERE]
    assert len(lines) >= 5
    for line in lines:
        stdin = (world / "in.txt").read_bytes() if "<" in line else b""
        target = re.search(r">\s*(\S+)", line)
        name, *words = shlex.split(re.split(r"\s[<>]", line)[0])[1:]
        fresh = world / "runs" / "fresh"
        if name == "train" and "--resume" not in words:
            shutil.rmtree(fresh, ignore_errors=True)
        done = run(name, *words, *MORE.get(name, []), stdin=stdin)
        # A tiny model of a made-up language loses numbers, and --strict says so.
        assert done.code in ((0, 5) if "--strict" in words else (0,)), f"{line}\n{done.err}"
        if target is not None:
            (world / target[1]).write_bytes(done.out)


def test_the_python_of_the_front_page_runs(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = [
        re.findall(r"```python\n(.*?)```", (ROOT / "docs" / name / "index.md").read_text("utf-8"), re.DOTALL)
        for name in ("en", "zh")
    ]
    assert code[0] == code[1]
    assert len(code[0]) == 1
    exec(compile(code[0][0], "index.md", "exec"), {})
    assert capsys.readouterr().out.count("\n") == 1


def test_the_chinese_pages_print_the_same_commands() -> None:
    for page in PAGES:
        chinese = page.replace("docs/en/", "docs/zh/").replace("README.md", "README.zh-CN.md")
        assert commands_of(page) == commands_of(chinese), page
