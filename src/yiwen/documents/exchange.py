"""Formats that translators exchange: PO, XLIFF 1.2 and 2, TMX. Empty translations are filled in, existing ones kept."""

from __future__ import annotations

import gettext
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from html import escape as escape_html
from itertools import accumulate, pairwise
from typing import Final

from yiwen.documents.assembling import kept_token, of_program, replaced, running, texts_in, units_of
from yiwen.documents.markup import Piece, elements, end_of, escaped, fragment, source_of, string_tokens, xml_pieces
from yiwen.documents.unit import Part, Token, Unit
from yiwen.errors import DataError
from yiwen.text.languages import base, best_match

_QUOTED: Final = r'"(?>(?:[^"\\\n]|\\.)*)"'
_TEXT: Final = rf"{_QUOTED}(?:\s*\n[ \t]*{_QUOTED})*"
_FORM: Final = re.compile(_TEXT)
_ENTRY: Final = re.compile(
    rf"^(?P<flags>(?:#,.*\n)?)(?:#\|.*\n){{0,30}}(?:[ \t]*msgctxt\s*{_TEXT}\s*\n)?"
    rf"[ \t]*msgid\s*(?P<msgid>{_TEXT})\s*\n(?:[ \t]*msgid_plural\s*(?P<plural>{_TEXT})\s*\n)?"
    rf"(?P<forms>(?:[ \t]*msgstr\s*(?:\[\d+\]\s*)?{_TEXT}\s*)+)",
    re.MULTILINE,
)
"""An entry begins with its flags, up to 30 lines of what its text was (each of them may begin one), and its context."""
_LANGUAGE: Final = re.compile(r"^Language:[ \t]*([\w@-]+)", re.MULTILINE)
_NO_LANGUAGE: Final = re.compile(r'\A((?>(?:#.*\n|\n)*)msgid ""\nmsgstr ""\n(?:".*\n)*?"Language: *)(?=\\n"\n)')
_PLURAL: Final = re.compile(r"^Plural-Forms:[^;\n]*;\s*plural\s*=([^;\n]+)", re.MULTILINE)
"""In the header of a PO file."""
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_WRITTEN: Final = str.maketrans({sign: f"\\{letter}" for letter, sign in {**_ESCAPES, "\\": "\\", '"': '"'}.items()})
_CODED: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[0-7x]")
"""A byte by its number, as in \\033: what holds one is left alone."""
_OPENS: Final = frozenset(["g", "pc", "mrk", "hi", "sub"])
"""Inline elements around text; the rest are codes, whose content belongs to the document and not to the text."""
_ENDS: Final = ("ept", "ex", "ec", "em", "CLOSE")
_PAIRS: Final = dict.fromkeys(("bpt", "bx", "sc", "sm", "START"), "open") | dict.fromkeys(_ENDS, "close")
_NAMED: Final = re.compile(r"(START|CLOSE)_(.+?)(?:_\d+)?")
"""How Angular names both sides of a pair, which is of empty elements."""
_TO_DO: Final = ("new", "needs-translation", "initial")
_LINE: Final = re.compile(r"""\sc?type=["']lb["']|xlf:lb|&lt;(?:br\b|mq:ch\s)""")
"""A line break, also as HTML in a code, and what memoQ writes for a line break, a tab and other blanks."""
_STATE: Final = re.compile(r"""(?<!\s)\s*(?:(?<=\s)(?:state|subState|state-qualifier|approved)=["'][^"']*["']|/?>\Z)""")
"""What a start tag says about how far a translation is (XLIFF 1.2 and 2.1), and its end."""


def po(source: str, *, tgt_lang: str) -> list[Part]:
    """gettext: each empty `msgstr` gets the translation of its `msgid`, or of `msgid_plural`, and its entry is fuzzy.

    Raises:
        DataError: If there is no entry, or its header names another language than `tgt_lang`.
    """
    source = _NO_LANGUAGE.sub(rf"\g<1>{tgt_lang.replace('-', '_')}", source)
    if not (entries := list(_ENTRY.finditer(source))):
        raise DataError("not a PO file: it has no msgid and msgstr with texts in quotes; give one that gettext reads")
    header = next((_unquoted(entry["forms"]) for entry in entries if not _unquoted(entry["msgid"])), "")
    named, counts = _LANGUAGE.search(header), _counts(header)
    _check_language("targets", named[1] if named else "", tgt_lang, "Language")
    out, at = list[Part](), 0
    for entry in entries:
        forms = [*_FORM.finditer(source, *entry.span("forms"))]
        one, several = entry["msgid"], entry["plural"] or entry["msgid"]
        # The form of 1 may be that of 21, too, and "one dog" would say so where "%d dogs" is meant.
        if len(forms) == 1 or (counts.count(counts[1]) > 2 and any(c in several and c not in one for c in "%{")):
            one = several
        filled, start = list[Part](), entry.end("flags")
        for number, form in enumerate(forms):
            text = _unquoted(one if number == counts[1] else several)
            if not _unquoted(form[0]):
                filled += [source[start : form.start() + 1], *replaced(text, texts_in(text), _strings, escape=_quoted)]
                start = form.end() - 1
        if any(isinstance(part, Unit) for part in filled) and not _CODED.search(one + several):
            flags = re.sub("^#,(?!.*fuzzy)", "#, fuzzy,", entry["flags"]) or "#, fuzzy\n"
            out += [source[at : entry.start()], flags, *filled]
            at = start
    return [*out, source[at:]]


def _counts(header: str) -> list[int]:
    """The number of the form in which the header of a PO file has each of the first thousand numbers."""
    rule = _PLURAL.search(header)
    with suppress(ValueError, ArithmeticError):  # gettext reads no such file
        return [*map(gettext.c2py(rule[1] if rule else "n != 1"), range(1000))]
    return [1, 0]


def _unquoted(quoted: str) -> str:
    text = "".join(part[1:-1] for part in re.findall(_QUOTED, quoted))
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text)


def _quoted(text: str) -> str:
    return text.translate(_WRITTEN)


def _strings(text: str) -> list[Part]:
    return [*map(of_program, units_of(string_tokens(text, escape=_quoted), escape=_quoted))]


def _check_language(side: str, named: str, wanted: str, where: str) -> None:
    if named and wanted and best_match([named], wanted) is None:
        raise DataError(f"the file has {side} in {named}, not {wanted}; use a model for {named}, or correct {where}")


def xliff(source: str, *, src_lang: str = "", tgt_lang: str) -> list[Part]:
    """XLIFF 1.2 (`trans-unit`) and 2 (`segment`): a target that is missing, empty or to be done is filled.

    Where there are targets, XLIFF 2 must name their language (OASIS, XLIFF 2.1: trgLang).

    Raises:
        DataError: If the targets are to be in another language than `tgt_lang`, or the sources are not in `src_lang`.
    """
    out, wanted = list[Part](), [True]  # and whether what is open is to be translated

    def is_wanted(piece: Piece) -> bool:
        is_locked = {*map(piece.attributes.get, ("mq:locked", "m:locked"))} & {"locked", "true"}  # by memoQ, by Phrase
        return not is_locked and {"no": False, "yes": True}.get(piece.attributes.get("translate", ""), wanted[-1])

    pieces = [*_with_lines(xml_pieces(source))]
    for inner in elements(pieces, lambda piece: piece.opens("trans-unit", "segment") and is_wanted(piece)):
        piece, is_alone = inner[0], len(inner) == 1
        if is_alone and piece.kind == "open":
            wanted.append(is_wanted(piece))
            is_2 = piece.name == "xliff" and piece.attributes.get("version", "").startswith("2")
            src, tgt = ("srcLang", "trgLang") if is_2 else ("source-language", "target-language")
            _check_language("targets", piece.attributes.get(tgt, ""), tgt_lang, tgt)
            _check_language("sources", base(piece.attributes.get(src, "")), base(src_lang), src)
            if is_2 and tgt_lang and "trgLang" not in piece.attributes:
                piece = piece._replace(raw=f'{piece.raw[:-1]} trgLang="{escape_html(tgt_lang)}">')
        elif piece.kind == "close":
            wanted.pop()
        out += [piece.raw] if is_alone else _if_wanted(_with_target(inner), inner)
    return out


def _with_lines(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Pieces whose codes say of themselves that they break a line where their original data does (XLIFF 2, dataRef)."""
    lines = set[str]()
    for before, piece in pairwise([Piece("other", ""), *pieces]):
        if piece.opens("unit"):
            lines.clear()
        if before.opens("data") and _LINE.search(piece.raw):
            lines.add(before.attributes.get("id", ""))
        is_line = piece.attributes.get("dataRef") in lines
        yield piece._replace(attributes={**piece.attributes, "type": "lb"}) if is_line else piece


def _if_wanted(parts: Iterator[Part], pieces: Sequence[Piece]) -> list[Part]:
    """A unit of a file as these parts; as it was where they hold nothing to translate."""
    found = [*parts]
    return found if any(isinstance(part, Unit) for part in found) else [source_of(pieces)]


def _with_target(pieces: Sequence[Piece]) -> Iterator[Part]:
    """A unit of XLIFF with its target filled."""
    unit, found = pieces[0], _children(pieces)
    source = found.get("source", (0, 1))
    prefix = pieces[source[0]].raw[1:].partition("source")[0]
    segmented = found.get("seg-source", source)
    start, end = found.get("target", (segmented[1], segmented[1]))  # XLIFF 1.2 wants it behind seg-source
    target = pieces[start] if start < end else Piece("open", f"<{prefix}target>")
    # The segments of a tool are wanted back, also where there is no target yet (XLIFF 1.2, seg-source).
    first, last = segmented if any(piece.name == "mrk" for piece in pieces[slice(*segmented)]) else source
    locked = {piece.attributes.get("id") for piece in pieces if piece.attributes.get("locked") == "true"}  # by Trados
    wanted, there = list[Piece](), pieces[start + 1 : end - 1]
    for inner in elements(pieces[first + 1 : last - 1], _is_whole):
        wanted += [inner[0], *inner[1:][-1:]] if inner[0].attributes.get("mid", "") in locked else inner
    state = {**unit.attributes, **target.attributes}.get("state")  # XLIFF 2 has it at the segment
    if state not in _TO_DO and any(piece.text.strip() or piece.name not in {"", *_OPENS} for piece in there):
        wanted = [*_with_gaps_filled(there, wanted)]
    yield _STATE.sub("", unit.raw) + (' state="translated">' if "state" in unit.attributes else ">")
    yield source_of(pieces[1:start]) + _STATE.sub("", target.raw)
    yield ' state="needs-review-translation">' if unit.name == "trans-unit" else ">"
    yield from _running(wanted)
    yield f"</{prefix}target>" + source_of(pieces[end:])


def _with_gaps_filled(target: Sequence[Piece], source: Sequence[Piece]) -> Iterator[Piece]:
    """A target with the segments of the source in the place of empty ones, and the rest as it is."""
    numbered = {inner[0].attributes.get("mid"): inner for inner in elements(source, _is_whole)}
    for inner in elements(target, _is_whole):
        missing = None if source_of(inner[1:-1]).strip() else numbered.get(inner[0].attributes.get("mid", ""))
        yield from missing or [Piece("other", source_of(inner))]


def tmx(source: str, *, src_lang: str, tgt_lang: str) -> list[Part]:
    """TMX: a unit without a variant in the target language gets one, and an empty one is filled.

    Args:
        source: The document.
        src_lang: Language of the texts to translate; that of the header where not given.
        tgt_lang: Language to write.
    """
    pieces = xml_pieces(source)
    src_lang = src_lang or next((p.attributes.get("srclang", "") for p in pieces if p.name == "header"), "")
    languages = sorted({_language(piece) for piece in pieces if piece.name == "tuv"} - {""})
    if languages and best_match(languages, src_lang) is None:
        raise DataError(f"no unit has a text in {src_lang!r}; there is {', '.join(languages)}: say from which")
    units = elements(pieces, lambda piece: piece.opens("tu"))
    return [part for inner in units for part in _if_wanted(_with_variant(inner, src_lang, tgt_lang), inner)]


def _with_variant(pieces: Sequence[Piece], src_lang: str, tgt_lang: str) -> Iterator[Part]:
    """A unit of TMX with a variant in the target language: one that is there and empty, or one behind its source."""
    starts = [number for number, piece in enumerate(pieces) if piece.opens("tuv")]
    languages = [_language(pieces[start]) for start in starts]
    place, there = best_match(languages, src_lang), best_match(languages, tgt_lang)
    start, end = (0, 0) if place is None else (starts[place], end_of(pieces, starts[place]))
    variant = pieces[start:end]
    first, last = _children(variant).get("seg", (0, 1))
    begin, stop = end, end
    before, after = f'<tuv xml:lang="{escape_html(tgt_lang)}"><seg>', "</seg></tuv>"
    if there is not None:
        target = pieces[starts[there] : end_of(pieces, starts[there])]
        at_its_end = (len(target) - 1, len(target) - 1)
        begin, stop = (starts[there] + number for number in _children(target).get("seg", at_its_end))
        before, after = "<seg>", "</seg>"
    yield source_of(pieces[:begin]) + before
    if not any(piece.text.strip() for piece in pieces[begin:stop]):
        yield from _running(variant[first + 1 : last - 1])
    yield after + source_of(pieces[stop:])


def _language(variant: Piece) -> str:
    return variant.attributes.get("xml:lang") or variant.attributes.get("lang", "")


def _children(pieces: Sequence[Piece]) -> dict[str, tuple[int, int]]:
    """Where the elements stand that are directly inside of the first: from their first piece to behind their last."""
    inside = [*elements(pieces[1:-1], lambda piece: piece.kind == "open")]
    places = pairwise(accumulate(map(len, inside), initial=1))
    named = [(inner[0].name, place) for inner, place in zip(inside, places, strict=True)]
    return dict(reversed(named))  # of several by one name the first


def _running(pieces: Sequence[Piece]) -> list[Part]:
    """The texts inside of a source element, each segment by itself, and what stands between them.

    Formatting becomes marks, codes become points.
    """
    raw = source_of(pieces)
    return replaced(raw, texts_in(raw), lambda text: _texts(pieces if text == raw else fragment(text)))


def _texts(pieces: Sequence[Piece]) -> list[Part]:
    tokens: list[Token | Part] = []
    for inner in elements(pieces, _is_whole):
        piece, raw = inner[0], source_of(inner)
        if piece.kind == "text":
            tokens += string_tokens(piece.text, escape=escaped)  # of a program that puts its own texts into the file
        elif len(inner) > 1 and piece.attributes.get("mtype") == "seg":
            tokens += [piece.raw, *_running(inner[1:-1]), inner[-1].raw]
        elif len(inner) > 1 and piece.name in _OPENS:
            tokens.append(kept_token(inner))
        elif piece.name in _OPENS and piece.kind != "empty":
            tokens.append(Token("open" if piece.kind == "open" else "close", raw, key=piece.name))
        else:
            tokens.append(_code(piece, raw))
    return running(tokens, lambda text: [*map(of_program, units_of(text, escape=escaped))])


def _code(piece: Piece, raw: str) -> Token:
    """A code of the document: a line break, one side of a pair, or a point."""
    if _LINE.search(raw) or piece.attributes.get("type") == "lb":
        return Token("break", raw, raw)
    side, key = piece.name, next(filter(None, map(piece.attributes.get, ("rid", "i", "startRef", "id"))), "")
    if named := _NAMED.fullmatch(key):
        side, key = named.groups()
    return Token(_PAIRS.get(side, "point"), raw, key=key)  # type: ignore[arg-type]


def _is_whole(piece: Piece) -> bool:
    is_apart = piece.attributes.get("translate") == "no" or piece.attributes.get("mtype") in ("protected", "seg")
    return piece.kind == "open" and (is_apart or piece.name not in _OPENS)
