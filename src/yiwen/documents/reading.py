"""Which format a document has, and its bytes as texts and back: encodings, line ends, packed files."""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from yiwen.documents import book, exchange, markdown, office, opendocument, subtitles, tables, web
from yiwen.documents.sandbox import Limits
from yiwen.documents.unit import Answer, Parser, Part, Unit
from yiwen.documents.writing import all_written
from yiwen.errors import DataError

_OFFICE: Final = {"docx": office.DOCX, "pptx": office.PPTX, "xlsx": office.XLSX}
_OPEN: Final = dict.fromkeys(("odp", "ods", "odt"), opendocument.PARTS)
_PACKED: Final = {**_OFFICE, **_OPEN, "epub": book.PAGES, "mqxlz": re.compile(r".*\.mqxliff")}
_HAS_STRINGS: Final = re.compile(rb'"inlineStr"|t="str"[^>]*><(?:\w+:)?v\b').search
"""True of a sheet of Excel whose cells hold their own strings instead of the numbers of shared ones."""
_BODY: Final = re.compile(r"(?i)word/document|ppt/slides/slide|xl/workbook|content\.xml|.*(?:html?|mqxliff)\Z")
"""How the names of those files begin that a document has at least one of."""
_MARKUP: Final = ("htm", "html", "mqxliff", "mxliff", "sdlxliff", "tmx", "xlf", "xliff", *_PACKED)
_MARKED: Final = ("utf-8", "utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
"""Encodings of texts that begin with a mark of byte order; that of UTF-32 starts as that of UTF-16 does."""
_DECLARED: Final = re.compile(
    rb"(?im)(?:<(?:\?xml|meta)\b[^>]*?|^(?:msgstr)?[ \t]*\"(?:[^\"\n]*\\n)?Content-Type:[^\n]*?)"  # XML, HTML; PO
    rb"(?<![\w-])(?:encoding|charset)\s*=\s*[\"']?([\w.:-]+)"
)


_READ_AS = {"charset": "utf-8", "big5": "cp950", "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "windows-31j": "cp932"}
_READ_AS |= dict.fromkeys(("gb2312", "gbk", "x-gbk"), "gb18030") | dict.fromkeys(("shift_jis", "x-sjis"), "cp932")
"""What programs write and what it means: HTML's labels (WHATWG Encoding), and what xgettext leaves to be filled in."""
_SIGNS: Final = {"gb2312": {0x2014: 0x2015, 0xB7: 0x30FB}}
"""The dash and the dot of GB 2312, and what Python's codec of that name, alone, takes them for."""


def parsers(*, src_lang: str = "", tgt_lang: str = "") -> dict[str, Sequence[Parser]]:
    """What finds the texts of each format, by suffix; a later one is given what those before have written."""
    languages = {"src_lang": src_lang, "tgt_lang": tgt_lang}
    found: dict[str, Sequence[Parser]] = {
        "csv": (partial(tables.cells, is_tsv=False),),
        "docx pptx": tuple(partial(office.paragraphs, in_boxes=each, **languages) for each in (True, False)),
        "epub": (partial(book.attributes, **languages), book.texts),
        "htm html": (partial(web.attributes, **languages), web.texts),
        "arb json": (partial(tables.values, tgt_lang=tgt_lang),),
        "markdown md": (markdown.texts,),
        "odp ods odt": (partial(opendocument.turned, **languages), *opendocument.ROUNDS),
        "po pot": (partial(exchange.po, tgt_lang=tgt_lang),),
        "srt": (partial(subtitles.cues, is_vtt=False),),
        "tab tsv": (partial(tables.cells, is_tsv=True),),
        "tmx": (partial(exchange.tmx, **languages),),
        "txt": (tables.lines,),
        "vtt": (partial(subtitles.cues, is_vtt=True),),
        "xlsx": (office.cells,),
        "mqxliff mqxlz mxliff sdlxliff xlf xliff": (partial(exchange.xliff, **languages),),
    }
    return {suffix: found[suffixes] for suffixes in found for suffix in suffixes.split()}


class Text(NamedTuple):
    """A text file and how its bytes say it."""

    text: str
    mark: bytes
    """Byte order mark."""
    encoding: str
    line_end: str


class Document(NamedTuple):
    """A document as texts: one, or those of a packed file by name."""

    data: bytes
    suffix: str
    texts: dict[str, Text]
    names: frozenset[str]
    """Texts of a workbook that something finds by what they say, in small letters."""

    def parts(self, parser: Parser, text: str) -> list[Part]:
        """What a text consists of; names and codes of a spreadsheet are no units."""
        return [p.raw if isinstance(p, Unit) and self._stays(p.text) else p for p in parser(text)]

    def _stays(self, text: str) -> bool:
        return self.suffix in ("ods", "xlsx") and (text.casefold() in self.names or tables.is_code(text))

    def units(self, parse: Sequence[Parser]) -> Iterator[Unit]:
        """All units, in the order in which `rebuilt` wants their translations."""
        for parser in parse:
            for text in self.texts.values():
                yield from (part for part in self.parts(parser, text.text) if isinstance(part, Unit))

    def rebuilt(self, parse: Sequence[Parser], answers: Sequence[Answer]) -> bytes:
        """The bytes of the document with each unit's translation in its place; where none differs, as they were.

        A PO file whose encoding lacks a character of them becomes UTF-8: all of it is translated by now.
        """
        left = iter(answers)
        texts = {name: text.text for name, text in self.texts.items()}
        for parser in parse:
            for name, text in texts.items():
                parts = self.parts(parser, text)
                written = all_written(parts, left)
                # Runs are taken apart, cells say their text once: equal in meaning, not in bytes. Styles are one part.
                as_parsed = "".join(part if isinstance(part, str) else part.raw for part in parts)
                texts[name] = text if self.suffix in _OFFICE | _OPEN and written == as_parsed and parts[1:] else written
        changed = {name: self._encoded(name, text) for name, text in texts.items() if text != self.texts[name].text}
        if not changed or self.suffix not in _PACKED:
            return changed.get("", self.data)
        if book := texts.get("xl/workbook.xml"):  # formulas show what cells said before, until Excel computes them
            book = re.sub(r"(<(?:\w+:)?calcPr\b)(?![^>]*fullCalcOnLoad)", r'\1 fullCalcOnLoad="1"', book)
            changed["xl/workbook.xml"] = self._encoded("xl/workbook.xml", book)
        packed = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(self.data)) as old, zipfile.ZipFile(packed, "w") as new:
            for info in old.infolist():
                new.writestr(info, changed.get(info.filename) or old.read(info))
        return packed.getvalue()

    def _encoded(self, name: str, text: str) -> bytes:
        _, mark, encoding, line_end = self.texts[name]
        errors = "xmlcharrefreplace" if self.suffix in _MARKUP else "strict"
        try:
            return mark + text.replace("\n", line_end).translate(_SIGNS.get(encoding, {})).encode(encoding, errors)
        except UnicodeEncodeError:  # in PO, which has no way to spell a character that its encoding lacks
            utf_8 = text.replace("\n", line_end).encode()
            return _DECLARED.sub(lambda found: found[0].removesuffix(found[1]) + b"UTF-8", utf_8, count=1)


def opened(data: bytes, suffix: str, limits: Limits) -> Document:
    """The texts of a document.

    Raises:
        DataError: If it is not what its suffix says, or unpacks to more than the limits allow.
    """
    files = _unpacked(data, _PACKED[suffix], limits) if suffix in _PACKED else {"": data}
    names = office.names(file.decode(errors="replace") for file in files.values() if suffix in ("ods", "xlsx"))
    texts = {n: _decoded(files[n], suffix) for n in files if "/worksheets/" not in n or _HAS_STRINGS(files[n])}
    return Document(data, suffix, texts, names)


def _decoded(data: bytes, suffix: str) -> Text:
    """The text of a file in the encoding that it declares, or that its suffix stands for."""
    if re.match(rb"(?:[^\0]\0){4}|(?:\0[^\0]){4}", data):
        raise DataError("the document is UTF-16 without its mark; make it UTF-8 first (iconv -f UTF-16LE -t UTF-8)")
    marks = (("\ufeff".encode(name), name) for name in _MARKED)
    mark, encoding = next((found for found in marks if data.startswith(found[0])), (b"", "utf-8"))
    declared = _DECLARED.search(data, 0, 4096) if suffix in (*_MARKUP, "po", "pot") and not mark else None
    label = declared[1].decode().lower() if declared else encoding
    is_html = suffix in ("htm", "html")
    encoding = "cp1252" if is_html and label == "iso-8859-1" else _READ_AS.get(label, label)
    try:
        text = data[len(mark) :].decode(encoding)
    except LookupError:
        raise DataError(f"the document says that its encoding is {encoding!r}, which is none; correct it") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        remedy = "this is not text, or of another encoding; convert the document to UTF-8 first (iconv -f OLD -t UTF-8)"
        raise DataError(f"byte {error.start + len(mark)} (line {line}) is not {encoding}: {remedy}") from error
    line_ends = {match[0] for match in re.finditer("\r\n?|\n", text)}
    line_end = line_ends.pop() if len(line_ends) == 1 else "\n"
    # Browsers read all of GB 18030 under these names, and what reads XML and PO does not, unless it does so already.
    is_old = label in ("gb2312", "gbk") and not is_html and "\ufffd" not in data.decode(label, "replace")
    return Text(text.replace(line_end, "\n"), mark, label if is_old else encoding, line_end)


def _unpacked(data: bytes, wanted: re.Pattern[str], limits: Limits) -> dict[str, bytes]:
    """The wanted files of a packed document, after a look at what all of them claim."""
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise DataError("the document has a password, or is of Office 97; save it without one, as .docx, .pptx, .xlsx")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            _check(packed, len(data), limits)
            if bad := packed.testzip():  # found now, not after all is translated
                raise zipfile.BadZipFile(f"{bad} is damaged")
            files = {info.filename: packed.read(info) for info in packed.infolist() if wanted.fullmatch(info.filename)}
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError) as error:
        raise DataError(f"no document of its suffix, or a damaged one ({error}); save it again") from error
    if not any(map(_BODY.match, files)):
        raise DataError("an archive without such a document in it; is its suffix right? If so, save it again")
    return files


def _check(packed: zipfile.ZipFile, n_bytes: int, limits: Limits) -> None:
    infos = packed.infolist()
    unpacked = sum(info.file_size for info in infos)
    if unpacked > limits.max_unpacked_bytes or unpacked > limits.max_ratio * n_bytes:
        allowed = f"allowed are {limits.max_unpacked_bytes:,} bytes and {limits.max_ratio} times"
        found = f"{unpacked:,} bytes, {unpacked // n_bytes} times its size"
        raise DataError(f"the document unpacks to {found}; {allowed}: split it, or save it anew")
    n_named = Counter(info.filename for info in infos)
    for info in infos:
        name = info.filename
        if name.startswith("/") or re.search(r"[\\:]|(?:^|/)\.\.(?:/|$)", name) or n_named[name] > 1:
            raise DataError(f"the document holds a file named {name!r}, which is not an honest name; save it anew")
        if info.flag_bits & 1 or (name == "META-INF/manifest.xml" and b":encryption-data" in packed.read(info)):
            raise DataError(f"the document is encrypted (see {name} in it); save it without a password")
        if name.endswith("vbaProject.bin"):
            raise DataError(f"the document holds macros ({name}); save it without them")
