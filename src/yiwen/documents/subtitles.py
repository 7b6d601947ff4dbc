"""SubRip and WebVTT: sentences run over several cues, so they are joined, translated and cut again.

A cue goes on in the next one where it ends no sentence and the next starts with a small letter, or where it ends with a
comma. Times, numbers, settings, styles and notes stay as they are; a line that starts with a dash, with >>, with a
voice of WebVTT or a name in capitals is another speaker's, and one that starts with a note is sung.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from yiwen.documents.assembling import pairs, running, units_of
from yiwen.documents.markup import string_tokens
from yiwen.documents.unit import SENTENCE_END, Part, Token

_NEXT: Final = r"(?:\d+[^\S\n]*\n)?.*-->"
_VTT: Final = re.compile(rf"^.*-->.*\n(?P<text>(?:(?!{_NEXT}).+(?:\n|\Z))+)", re.MULTILINE)
"""A cue ends at a line without a character, or where the next begins without one."""
_SRT: Final = re.compile(rf"^.*-->.*\n(?P<text>(?:(?!(?:[^\S\n]*\n){{0,3}}{_NEXT})(?:.*\n|.+\Z))+)", re.MULTILINE)
"""Here blank lines inside of a cue, and before its text, are its own."""
_COMMA: Final = re.compile(r"[,，、،][\"'”’」』)）]*\s*$")
_DASH: Final = re.compile(r"\s*+(?>(?:<[^<>]*>|\{\\[^{}]*\})*)\s*+(?:[-–—♪♫]|(?:>|&gt;){2,3})")
_VOICE: Final = re.compile(r"^[^\S\n]*+(?:<v[ .\t][^<>]*>|[A-Z][A-Z .'’-]+:(?=\s.*[a-z]))", re.MULTILINE)
_TAGS: Final = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
_MOST_CUES: Final = 50
"""What is joined at most: captions made by a machine have neither capitals nor marks, and would be one text."""


def cues(source: str, *, is_vtt: bool) -> list[Part]:
    """The units of a file of subtitles."""
    found = (_VTT if is_vtt else _SRT).finditer(source)
    spans = [(m.start("text"), m.start("text") + len(m["text"].rstrip("\r\n"))) for m in found]
    spans.append((len(source), len(source)))
    tokens: list[Token | Part] = [source[: spans[0][0]]]
    n_joined = 0
    for (start, end), following in pairwise(spans):
        between = source[end : following[0]]
        is_joined = n_joined < _MOST_CUES and _goes_on(source[start:end], source[slice(*following)])
        n_joined = n_joined + 1 if is_joined else 0
        tokens += [*_cue(source[start:end], is_vtt=is_vtt), Token("break", between, between) if is_joined else between]
    return running(tokens, lambda text: units_of(_going_on(text), escape=_vtt if is_vtt else _srt))


def _goes_on(text: str, following: str) -> bool:
    """True where the sentence at the end of a cue goes on in the next one."""
    words, next_words = (_TAGS.sub("", cue).strip() for cue in (text, following))
    voice = _VOICE.match(following)
    is_another_speaker = _DASH.match(following) or (voice and _VOICE.findall(text)[-1:] != [voice[0]])
    is_said_again = words.split("\n")[-1] == next_words.split("\n")[0]  # in captions that roll
    is_over = not next_words or SENTENCE_END.search(words) or is_another_speaker or is_said_again
    return not is_over and (_COMMA.search(words) is not None or next_words[0].islower())


def _cue(text: str, *, is_vtt: bool) -> Iterator[Token | str]:
    """The tokens of one cue; a speaker's dash stays in front of its own text."""
    rows = text.split("\n")
    for number, row in enumerate(rows):
        if number:
            is_apart = _DASH.match(row) or _VOICE.match(row) or not row.strip() or not rows[number - 1].strip()
            yield "\n" if is_apart else Token("break", "\n")
        if dash := _DASH.match(row):
            yield Token("point", dash[0])
        for token in string_tokens(row[dash.end() :] if dash else row):
            yield token._replace(text=html.unescape(token.text)) if is_vtt and token.kind == "text" else token


def _going_on(tokens: Sequence[Token]) -> list[Token]:
    """Tokens with one break where formatting ends with a line and the same begins with the next: it is around both."""
    out, partner = [*tokens], pairs(tokens)
    for number in reversed(range(2, len(tokens) - 2)):
        before, closing, line_end, opening, behind = tokens[number - 2 : number + 3]
        is_same = closing.kind == "close" and tokens[partner.get(number - 1, number)].raw == opening.raw
        # A break at the edge of the formatting would stand outside of it.
        if is_same and line_end.kind == "break" and before.text.strip() and behind.text.strip():
            raw = f"{closing.raw}{line_end.raw}{opening.raw}"
            out[number - 1 : number + 2] = [Token("break", raw, raw if line_end.text else "")]
    return out


def _srt(text: str) -> str:
    return re.sub(r"\s*[\r\n]\s*", " ", text).replace("-->", "→")


def _vtt(text: str) -> str:
    return html.escape(_srt(text), quote=False)
