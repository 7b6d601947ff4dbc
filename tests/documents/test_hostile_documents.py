"""Documents made to hurt: refused by name or parsed within bounds, in a child process; the parent goes on."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from papers import Said, by, docx_of, translated_here, upper, zipped

from campaign import noted
from yiwen.documents import Limits, formats, sandbox, translate_document
from yiwen.documents.sandbox import asked
from yiwen.errors import ConfigError, DataError

LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


def translate(data: bytes | str, suffix: str, limits: Limits | None = None) -> bytes:
    data = data.encode() if isinstance(data, str) else data
    return translate_document(data, suffix=suffix, translate=by(str.upper), limits=limits, tgt_lang="de")


def with_flag(data: bytes, flag: int) -> bytes:
    """A zip whose files claim a general purpose flag."""
    content = bytearray(data)
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = content.find(signature)
        content[start + at : start + at + 2] = struct.pack("<H", flag)
    return bytes(content)


SMALL = docx_of("<w:p><w:r><w:t>text</w:t></w:r></w:p>")
STYLED = zipped({"word/document.xml": "<x>a dog</x>", "word/styles.xml": "<style>"})
DAMAGED_STYLES = bytearray(STYLED)
DAMAGED_STYLES[STYLED.index(b"word/styles.xml") + len(b"word/styles.xml") + 2] ^= 0x7F
LOCKED_BY = '<manifest:file-entry manifest:full-path="{}"><manifest:encryption-data manifest:checksum="x"/>'
LOCKED = zipped({"content.xml": bytes(range(128, 256)), "META-INF/manifest.xml": LOCKED_BY.format("content.xml")})
LOCKED_WHOLE = zipped({"encrypted-package": b"\xff", "META-INF/manifest.xml": LOCKED_BY.format("encrypted-package")})
PARAGRAPH = "<w:p><w:r><w:t>x</w:t></w:r></w:p>"
TU = '<tmx><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>{}</seg></tuv></tu></body></tmx>'


@pytest.mark.parametrize(
    ("data", "suffix", "message"),
    [
        (LAUGHS + "]><x>&i;</x>", "xliff", "declares entities"),
        ('<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>' + TU.format("&f;"), "tmx", "declares entities"),
        ('<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:9/x"> %p;]><x/>', "xlf", "declares entities"),
        (
            '<!DOCTYPE tmx SYSTEM "tmx14.dtd">' + TU.format("&unknown;"),
            "tmx",
            "&unknown; is an entity that nothing decl",
        ),
        (zipped({"word/document.xml": LAUGHS + "]><x>&i;</x>"}), "docx", "declares entities"),
        (zipped({"word/document.xml": "<w:document>"}), "docx", "no well-formed XML"),
        ("<xliff>\x00</xliff>", "xliff", "no well-formed XML"),
        (
            zipped({"word/document.xml": b"0" * 60_000_000}),
            "docx",
            "unpacks to 60,000,000 bytes.*allowed are 50,000,000",
        ),
        (zipped({"word/document.xml": b"0" * 9_000_000}), "docx", "times its size.*100 times"),
        (zipped({"word/document.xml": "<x/>", "../../evil": "x"}), "docx", r"named '\.\./\.\./evil'"),
        (zipped({"word/document.xml": "<x/>", "/etc/evil": "x"}), "docx", "not an honest name"),
        (zipped({"word/document.xml": "<x/>", "a\\..\\b": "x"}), "docx", "not an honest name"),
        (zipped({"word/document.xml": "<x/>", "C:evil": "x"}), "docx", "not an honest name"),
        (zipped({"word/document.xml": "<x/>", "word/vbaProject.bin": "x"}), "docx", "holds macros"),
        (with_flag(SMALL, 1), "docx", "is encrypted"),
        (LOCKED, "odt", r"^the document is encrypted \(see META-INF/manifest.xml in it\); save it without a password$"),
        (LOCKED_WHOLE, "ods", r"is encrypted .* save it without a password$"),
        (SMALL[:-30], "docx", "damaged"),
        (SMALL[:60] + b"\xff" * 7 + SMALL[67:], "docx", "damaged"),
        (b"no zip at all", "docx", "no document of its suffix"),
        (b"\xd0\xcf\x11\xe0" + bytes(600), "docx", "has a password, or is of Office 97; save it without one"),
        (bytes(DAMAGED_STYLES), "docx", "damaged"),
        ("Hello dog\n".encode("utf-16-le"), "txt", "UTF-16 without its mark; make it UTF-8 first"),
        (SMALL, "txt", "byte .* is not utf-8"),
        (SMALL, "pptx", "is its suffix right"),
        (
            zipped({"word/header1.xml": "<x/>", "word/text.xml": "<x/>"}),
            "docx",
            r"^an archive without such a document in it; is its suffix right\? If so, save it again",
        ),
        (b"\xff\xfeodd", "txt", "is not utf-16-le"),
        (b"line\n\xe4\n", "srt", r"byte 5 \(line 2\) is not utf-8.*iconv"),
        (b'<meta charset="no-such"><p>text', "html", "'no-such', which is none"),
        (b'<meta charset="zip"><p>text', "html", "'zip', which is none"),
        ("[" * 100_000 + "]" * 100_000, "json", "not JSON.*(recursion|Stack overflow)"),
        ('{"a": nonsense}', "json", "not JSON"),
        ("no entries", "po", "not a PO file"),
    ],
)
def test_what_is_refused_and_why(data: bytes | str, suffix: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        translated_here(data, suffix, tgt_lang="de")
    noted("X4", f"{suffix}: {message}", status="refused")


@pytest.mark.parametrize(
    ("data", "suffix"),
    [
        pytest.param("<b>" * 100_000 + "x" + "</b>", "html", marks=pytest.mark.slow),
        ("<div>" * 50_000 + "x", "html"),
        ("<p>a " + "<i>" * 20_000 + "x", "html"),
        ("> " * 2_000 + "x", "md"),
        ("*a " * 20_000 + "**", "md"),
        ("[" * 20_000 + "x", "md"),
        ("`" * 20_001 + "x", "md"),
        ("{" * 100_000 + "x", "txt"),
        pytest.param("\\(" * 100_000 + "x", "txt", marks=pytest.mark.slow),
        pytest.param("[@[[a" * 10_000 + "x", "md", marks=pytest.mark.slow),
        pytest.param("<ruby><rt>a" * 20_000 + "x", "html", marks=pytest.mark.slow),
        ("{a,plural," * 2_000 + "x", "txt"),
        ("http://" * 10_000, "txt"),
        ("a@" * 20_000, "txt"),
        ("<" * 100_000, "srt"),
        ("1\n00:00 --> 00:01\na,\n\n" * 5_000, "srt"),
        ('"' * 100_001, "csv"),
        (docx_of("<w:ins>" * 20_000 + PARAGRAPH + "</w:ins>" * 20_000), "docx"),
        (
            docx_of(
                "<w:p>" + "<w:r><w:rPr><w:b/></w:rPr><w:t>a</w:t></w:r><w:r><w:t>b </w:t></w:r>" * 2_000 + "</w:p>"
            ),
            "docx",
        ),
        (TU.format("<hi>" * 20_000 + "x" + "</hi>" * 20_000), "tmx"),
        ("msgid " + '"a"\n' * 10_000 + 'msgstr ""\n', "po"),
        ("\u2028\x00\ufeff \r\r\n" * 1_000, "txt"),
        ("\\(" * 40_000 + "x", "md"),
        pytest.param("\\[a\n" * 40_000 + "x", "md", marks=pytest.mark.slow),
        ("import " + " from" * 100_000 + "\nx", "md"),
        pytest.param('<sup><a href="#">' * 20_000 + "x", "html", marks=pytest.mark.slow),
        ("<ul><li translate=no>" * 20_000 + "x", "html"),
        ("<p>x <b {% > %}" * 2_000 + "{%" * 100_000 + ">", "html"),
        ("{a:%" * 50_000 + "$A" + "A" * 50_000 + " $t" + "(" * 50_000 + " x", "txt"),
        (docx_of(f"<w:p><w:r><w:t>x{' ' * 200_000}x</w:t></w:r></w:p>"), "docx"),
        (f"<p x{' ' * 200_000}y={' ' * 200_000}>x", "html"),
        (f'msgid "{" " * 100_000}x"\nmsgstr ""\n', "po"),
        (f'<xliff version="1.2"><trans-unit{" " * 100_000}id="1"><source>x</source></trans-unit></xliff>', "xlf"),
    ],
    ids=range(33),
)
def test_what_is_deep_or_repeats_without_end_is_done(data: bytes | str, suffix: str) -> None:
    """Within 10 seconds of a processor and 256 MB: the child's own limits see to it."""
    assert translate(data, suffix, Limits(max_ratio=1_000))
    noted("X4", f"{suffix}, {len(data):,} long", status="done within the limits")


def test_what_is_nested_too_deeply_is_refused() -> None:
    controls = f"{'<w:sdt><w:sdtContent>' * 2_000}<w:r><w:t>x</w:t></w:r>{'</w:sdtContent></w:sdt>' * 2_000}"
    with pytest.raises(DataError, match="the document is nested too deeply; flatten it"):
        translate(docx_of(f"<w:p>{controls}</w:p>"), "docx", Limits(max_ratio=1_000))


def test_a_word_of_any_length_is_done() -> None:
    assert translate("a-1." * 40_000 + "\n", "txt") == b"A-1." * 40_000 + b"\n"


def test_footnotes_never_closed_take_no_time() -> None:
    assert translate("[^" * 6_000 + "x", "md", Limits(seconds=6)).replace(b"\\", b"") == b"[^" * 6_000 + b"X"


def test_lines_of_what_an_entry_was_before_cost_what_they_weigh() -> None:
    text = "#| before\n" * 20_000 + 'msgid "the dog"\nmsgstr ""\n'
    assert translate(text, "po", Limits(seconds=6)).endswith(b'msgid "the dog"\nmsgstr "THE DOG"\n')


def test_a_long_document_is_done() -> None:
    data = docx_of(PARAGRAPH * 5_000)
    out = zipfile.ZipFile(io.BytesIO(translate(data, "docx", Limits(max_ratio=1_000)))).read("word/document.xml")
    assert out.count(b">X</w:t>") == 5_000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_bytes": 7}, "the document has 12 bytes, allowed are 7; split it"),
        ({"max_characters": 7}, "more than 7 characters to translate"),
        ({"memory_mb": 48}, "more than 48 MB of memory"),
    ],
)
def test_limits_name_themselves(changes: dict[str, int], message: str) -> None:
    if "memory_mb" in changes and sys.platform != "linux":
        pytest.skip("only Linux bounds address space")
    data = "two words\n\n\n" if "memory_mb" not in changes else "two words. " * 600_000
    with pytest.raises(DataError, match=message):
        translate(data, "txt", replace(Limits(max_characters=20_000_000), **changes))


def test_rebuilding_has_twice_the_room_of_parsing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What passes a limit narrowly when it is parsed is not refused after an hour of translating."""
    allowed: list[Limits] = []

    def spy(*args: Any, limits: Limits, **kwargs: Any) -> Any:
        allowed.append(limits)
        return asked(*args, limits=limits, **kwargs)

    monkeypatch.setattr("yiwen.documents.document.asked", spy)
    assert translate("two words", "txt") == b"TWO WORDS"
    assert allowed == [Limits(), Limits(memory_mb=512, seconds=20, clock_seconds=600)]


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit there")
def test_a_child_that_computes_for_too_long_is_ended() -> None:
    with pytest.raises(DataError, match="takes more than 1 seconds of a processor"):
        translate("[" * 300_000 + "x", "md", Limits(seconds=1))


def test_a_child_that_waits_for_too_long_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sleeper = tmp_path / "python"
    sleeper.write_text("#!/bin/sh\nexec sleep 600\n", encoding="utf-8")
    sleeper.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(sleeper))
    with pytest.raises(DataError, match="takes more than 1 seconds; split it"):
        asked(b"text", limits=Limits(clock_seconds=1), header={})
    assert not [child for child in psutil.Process().children() if child.name() == "sleep"]


def test_a_child_that_falls_over_is_told_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\ncat > /dev/null\necho Trace >&2\necho 'Oops: it' >&2\nexit 7\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    with pytest.raises(DataError, match=r"cannot be parsed \(Oops: it\)"):
        asked(b"text", limits=Limits(), header={})


def test_a_frozen_program_is_not_started_again_as_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)  # as PyInstaller does
    with pytest.raises(ConfigError, match=r"is frozen, and documents are parsed by a Python; use `yiwen serve`$"):
        translate("two words", "txt")


def test_the_child_knows_no_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spy = tmp_path / "python"
    spy.write_text(f"#!/bin/sh\ncat > /dev/null\nenv > '{tmp_path}/seen'\necho '{{}}'\n", encoding="utf-8")
    spy.chmod(0o755)
    monkeypatch.setenv("YIWEN_KEY", "secret")
    monkeypatch.setattr(sys, "executable", str(spy))
    assert asked(b"text", limits=Limits(), header={}) == {}
    assert "secret" not in (tmp_path / "seen").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="no such groups there")
def test_ctrl_c_is_not_for_the_child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spy = tmp_path / "python"
    program = "import json, os, sys\nsys.stdin.read()\nprint(json.dumps({'group': os.getpgrp()}))\n"
    spy.write_text(f"#!{sys.executable}\n{program}", encoding="utf-8")
    spy.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(spy))
    assert asked(b"text", limits=Limits(), header={})["group"] != os.getpgrp()


@pytest.mark.skipif(sys.platform == "win32", reason="no shell there")
def test_the_child_looks_for_packages_where_its_parent_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where each package has a folder of its own, and Python libraries of its own, as modules of a cluster have."""
    spy = tmp_path / "python"
    spy.write_text(f"#!/bin/sh\ncat > /dev/null\nenv > '{tmp_path}/seen'\necho '{{}}'\n", encoding="utf-8")
    spy.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(spy))
    own = Path(sandbox.__file__).parents[2]
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/python/lib")
    for value, expected in (("/opt/a:/opt/b", f"{own}:/opt/a:/opt/b"), ("", f"{own}")):
        monkeypatch.setenv("PYTHONPATH", value)
        assert asked(b"text", limits=Limits(), header={}) == {}
        seen = (tmp_path / "seen").read_text(encoding="utf-8").split("\n")
        assert {f"PYTHONPATH={expected}", "LD_LIBRARY_PATH=/opt/python/lib"} <= set(seen)


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit there")
def test_the_child_writes_no_file(tmp_path: Path) -> None:
    program = "import sys; from yiwen.documents import child, sandbox; child._limit(sandbox.Limits()); "
    program += "file = open(sys.argv[1], 'w'); file.write('x'); file.flush()"
    done = subprocess.run([sys.executable, "-c", program, tmp_path / "x"], capture_output=True, text=True, check=False)
    assert "File too large" in done.stderr
    assert (tmp_path / "x").read_bytes() == b""


def test_the_child_loads_nothing_of_models_of_their_checks_or_of_placing_marks() -> None:
    """A document takes two of them, and each import is made in both."""
    heavy = {"numpy", "torch", "sentencepiece", "pydantic", "yiwen.evaluation", "yiwen.text.numbers"}
    heavy |= {"yiwen.text.chinese", "yiwen.documents.placing"}
    program = f"import sys, yiwen.documents.child; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_unknown_formats_and_missing_languages_are_usage_errors() -> None:
    with pytest.raises(
        ConfigError,
        match=r"'exe' is not a format of documents here; convert it to one of .arb, .csv, .docx, .epub, .htm",
    ):
        translate_document(b"", suffix=".exe", translate=by(upper))
    with pytest.raises(ConfigError, match="say which one to write"):
        translate_document(b"", suffix="tmx", translate=by(upper))
    assert len(formats()) == len(set(formats())) == 28


@pytest.mark.parametrize(
    ("alias", "data"), [(".MARKDOWN", "a *b* c"), ("tab", "a b\tc d"), ("pot", 'msgid "a b"\nmsgstr ""\n')]
)
def test_other_suffixes_of_a_format(alias: str, data: str) -> None:
    assert translate(data, alias) != data.encode()


def test_texts_travel_as_they_are() -> None:
    seen: list[str] = []

    def keep(texts: object) -> list[Said]:
        seen.extend(texts)  # type: ignore[call-overload]
        return [Said(text.upper() + "\u2028\x00\U0001f600\ud83d") for text in texts]  # type: ignore[attr-defined]

    data = json.dumps(["a\u2028b\x00", "\U0001f600 x"]).encode()
    out = translate_document(data, suffix="json", translate=keep, align=None)
    assert seen == ["a\u2028b\x00", "\U0001f600 x"]
    assert json.loads(out) == ["A\u2028B\x00\u2028\x00\U0001f600\ud83d", "\U0001f600 X\u2028\x00\U0001f600\ud83d"]
