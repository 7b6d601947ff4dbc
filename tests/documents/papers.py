"""Sample documents, made here, and ways to translate them without a model."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from yiwen.documents.reading import opened, parsers
from yiwen.documents.sandbox import Limits
from yiwen.documents.translating import translated
from yiwen.documents.unit import Unit


@dataclass(frozen=True)
class Said:
    """A translation."""

    text: str
    sentences: tuple[object, ...] = ()
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Aligned:
    """An alignment worked by hand."""

    src: tuple[tuple[int, int], ...]
    tgt: tuple[tuple[int, int], ...]
    links: tuple[tuple[int, int, float], ...]


@dataclass
class Fake:
    """A translator of known sentences, words linked as given: `[(source word, target word), ...]`, first words 0."""

    known: dict[str, str]
    links: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def translate(self, texts: Sequence[str]) -> list[Said]:
        self.asked += texts
        return [Said(self.known[text]) for text in texts]

    def align(self, sources: Sequence[str], targets: Sequence[str]) -> list[Aligned]:
        return [
            Aligned(words(source), words(target), tuple((i, j, 1.0) for i, j in sorted(self.links.get(source, ()))))
            for source, target in zip(sources, targets, strict=True)
        ]


def words(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(match.span() for match in re.finditer(r"[\u4e00-\u9fff]|\w+|[^\w\s]", text))


def upper(text: str) -> str:
    """Letters in capitals, placeholders as they were: what a perfect model of capitals does."""
    return "".join(
        part if number % 2 else part.upper()
        for number, part in enumerate(re.split(r"(\$?\{+.*?\}+|%\w|https?://\S+|`.*?`)", text))
    )


def by(change: Callable[[str], str]) -> Callable[[Sequence[str]], list[Said]]:
    """A translator that changes each text by itself."""
    return lambda texts: [Said(change(text)) for text in texts]


def translated_here(
    data: bytes | str,
    suffix: str,
    change: Callable[[str], str] = upper,
    *,
    fake: Fake | None = None,
    src_lang: str = "en",
    tgt_lang: str = "",
) -> bytes:
    """What `translate_document` does, in this process."""
    data = data.encode() if isinstance(data, str) else data
    parse = parsers(src_lang=src_lang, tgt_lang=tgt_lang)[suffix]
    document = opened(data, suffix, Limits())
    units = list(document.units(parse))
    travelled = [Unit(unit.text, unit.marks, unit.keep) for unit in units]
    translate = fake.translate if fake else by(change)
    align = fake.align if fake else None
    return document.rebuilt(parse, list(translated(travelled, translate=translate, align=align, progress=None)))


def texts_of(data: bytes | str, suffix: str) -> list[str]:
    """The texts that a translator would be asked for."""
    data = data.encode() if isinstance(data, str) else data
    return [unit.text for unit in opened(data, suffix, Limits()).units(parsers(tgt_lang="zh")[suffix])]


def zipped(files: dict[str, bytes | str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)  # not of now: equal files are equal
    return packed.getvalue()


def saved(document: Any) -> bytes:
    """The bytes of a document of python-docx or python-pptx."""
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def docx_of(body: str) -> bytes:
    """A Word file of one paragraph part, as raw XML."""
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    return zipped({"word/document.xml": f"<w:document {space}><w:body>{body}</w:body></w:document>"})


MARKDOWN = """---
title: left alone
---
# A man *and* his dog ##

Two **big
dogs** run to `make test`, see [the red house](http://x.org/a_b "Title").

- [ ] one cat
- two cats with {n} tails

> a quoted
> line

| head | other |
|---|---|
| cell one | **cell** two |

    indented code

```python
print("code")
```

<div align="center"><p>inside HTML</p></div>

[ref]: http://x.org
"""

HTML = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>A dog &amp; a man</title>
<meta name="description" content="About dogs"><script>var a = "<b>no text</b>";</script>
<style>p { color: red }</style></head><body>
<p>A <b>big <i>red</i></b> dog &lt;runs&gt;<br>to the <a href="x?a=1&b=2">house</a>.</p>
<p translate="no">never this</p><pre>  code  </pre><img src="x.png" alt="a dog">
<ul><li>one<li>two <code>x = 1</code></ul><!-- a comment --></body></html>
"""

SRT = """1
00:00:01,000 --> 00:00:02,500
<i>A man in a red shirt,</i>

2
00:00:02,500 --> 00:00:04,000
{\\an8}stands on a ladder
and sings.

3
00:00:05,000 --> 00:00:06,000
- Who is it?
- A friend.
"""

VTT = """WEBVTT - a title

NOTE
nobody reads this

STYLE
::cue { color: red }

intro
00:01.000 --> 00:02.000 align:start
<v Anna>Fish &amp; <c.loud>chips</c>

00:03.000 --> 00:04.000
two <00:03.500>words
"""

PO = """# a comment
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"

#: main.c:7
#, c-format
msgid "Hello %s, "
"<b>dear</b> friend\\n"
msgstr ""

msgid "kept"
msgstr "behalten"

msgid "one file"
msgid_plural "{n} files"
msgstr[0] ""
msgstr[1] ""

#~ msgid "obsolete"
#~ msgstr ""
"""

XLIFF = """<?xml version="1.0" encoding="utf-8"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2"><file original="a" source-language="en"
 target-language="de" datatype="html"><body>
<trans-unit id="1"><source>A <g id="1">red</g> dog<x id="2"/> runs</source></trans-unit>
<trans-unit id="2"><source>done</source><target>fertig</target>
<alt-trans><source>no</source><target/></alt-trans></trans-unit>
<trans-unit id="3"><source>to do</source><target state="new">to do</target></trans-unit>
<trans-unit id="4" translate="no"><source>never</source></trans-unit>
<trans-unit id="5"><source><bpt id="1">&lt;b></bpt>bold<ept id="1">&lt;/b></ept> text</source>
<seg-source>x</seg-source></trans-unit>
</body></file></xliff>
"""

XLIFF2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="en" trgLang="de"><file id="f">
<unit id="1"><segment><source>A <pc id="1">red</pc> dog<ph id="2"/></source></segment>
<ignorable><source> </source></ignorable><segment><source>done</source><target>fertig</target></segment></unit>
<unit id="2" translate="no"><segment><source>never</source></segment></unit></file></xliff>
"""

TMX = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-US" datatype="plaintext" segtype="sentence" adminlang="en" o-tmf="x"
 creationtool="x" creationtoolversion="1"/><body>
<tu><tuv xml:lang="en-GB"><seg>A <hi>red</hi> dog</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>done</seg></tuv><tuv xml:lang="de-DE"><seg>fertig</seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>un chien</seg></tuv></tu>
</body></tmx>
"""

JSON = """{
  "title": "A red dog",  "url": "http://x.org/a", "count": 1.50, "key": "menu.open",
  "html": "Press <b>start<\\/b> or \\"stop\\" \\u00e9", "list": ["one dog", null, true, {"deep": "{n} cats"}]
}
"""

CSV = 'id,text,more\r\nSKU-7,"Hello, ""you""",plain dog\r\n8,"two\nlines",=1+2\r\n'
TSV = 'id\ttext\n1\tsay "hi" to him\n2\t"quoted"\n'
TXT = "\ufeffA title\r\n\r\n- one dog\r\n  2. two dogs \u2028 here\r\n\x00\r\nlast line".replace("\ufeff", "")

TEXTS = {
    "md": MARKDOWN,
    "html": HTML,
    "srt": SRT,
    "vtt": VTT,
    "json": JSON,
    "csv": CSV,
    "tsv": TSV,
    "txt": TXT,
}
"""Documents in which everything that can be translated is replaced in its place."""
