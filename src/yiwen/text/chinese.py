"""What is particular to Chinese: its characters, how text in it is set, Simplified and Traditional.

How it is set, after GB/T 15834-2011: full-width punctuation where Chinese has it, half-width inside of Latin text,
numbers and code, no blanks between Chinese characters or beside their punctuation, quotes and title marks in pairs.
Whether a blank stands between Chinese and Latin is left as it is: both are usual.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from operator import ne
from typing import Final

from yiwen.once import once
from yiwen.text.languages import base, canonical
from yiwen.text.protect import MASK, masked, unmasked
from yiwen.text.scripts import HAN

_HAN_CHARACTER = re.compile(f"[{HAN}]")
_WIDE = re.compile(f"[{HAN}\u1100-\u115f\u3000-\u33ff\ua960-\ua97f\uac00-\ud7a3\uff01-\uff60]+")

_LEFT, _RIGHT, _STOPS, _BLANK = "“‘「『（【《〈", "”’」』）】》〉", "，。！？；：、", "[ \u00a0\u3000\t]"
_BESIDE: Final = f"{HAN}{_LEFT}{_RIGHT}{_STOPS}…—"
_DOTS: Final = r"[.…]*(?:…|\.{3})[.…]*"
_TO_FULL: Final = str.maketrans(",.!?;:", "，。！？；：", " \u00a0\u3000\t")
_TO_HALF: Final = {n: n - 0xFEE0 for n in range(0xFF01, 0xFF5F)} | str.maketrans("、。《》「」【】", ",.“”“”[]")
_WIDE_LETTERS: Final = re.compile("[０-９Ａ-Ｚａ-ｚ＂＇]+")
_WIDE_SIGNS: Final = re.compile(r"(?<=[^\W_])[．－／＠＿](?=[^\W_])|(?<=\d)(?:：(?=\d\d?(?![\w.万个]))|％)", re.ASCII)
_BRACKET: Final = r"[(（](?:[^()（）]|[(（][^()（）]*[)）])*[)）]"


def _half(found: re.Match[str]) -> str:
    return found[0].translate(_TO_HALF)


def _bracket(found: re.Match[str]) -> str:
    is_half = found[0][0] == "(" and found[0][-1] == ")" and not _HAN_CHARACTER.search(found[0])
    return found[0] if is_half else f"（{re.sub(_BRACKET, _bracket, found[0][1:-1])}）"


def _quote(found: re.Match[str]) -> str:
    """A quotation that holds Chinese, or stands beside it, in Chinese quotes."""
    before, after = found.string[max(0, found.start() - 2) : found.start()], found.string[found.end() : found.end() + 2]
    is_chinese = re.search(f"[{_BESIDE}]", before.strip()[-1:] + found[0] + after.strip()[:1])
    return f"“{found[0][1:-1]}”" if is_chinese else found[0]


def _dash(found: re.Match[str]) -> str:
    """A dash, or what stands between the ends of a range: 1998年 — 2000年."""
    before, after = found.string[max(0, found.start() - 4) : found.start()], found.string[found.end() :][:2]
    return "—" if re.search(rf"\d ?[{HAN}]{{1,2}}\Z", before) and re.match(r"第?\d", after) else "——"


_SINGLE: Final = rf"(?<![\dA-Za-z])'(?:([\w ]*[{HAN}][\w ，、。！？]*)|[^']*)'(?![\dA-Za-z])"
_CODE: Final = (
    rf"{_BLANK}*(?:[!?:]+=|[!?][|&>]|::|[.!?:;]+、|\.(?:\*(?![\s*]|\Z)|\.\./)|[;:]-?(?:\)|[(DP]+(?:[\s。！…]|\Z)))"
    rf"|{_BLANK}+(?:\.[*\\{MASK}]|(?:\.\.\.|[.!?:]){_BLANK}(?=[或和与及等表字符]|提示符|运算符)|[!?:;]+[\dA-Za-z{MASK}])"
)
"""What looks like a mark behind Chinese and is none: != and .read(), a sign by itself, a smiley."""
_MARKS: Final = (
    rf"(?<=[{HAN}{_RIGHT}])(?!{_CODE}){_BLANK}*(?:,|[!?]+|[;:]|\.(?![.\w]))|(?<=[{HAN}])\.(?=(?!和|或|开头)[{HAN}])"
    rf"|(?<=[^\s:])(?:[,;:]|[!?]+)(?={_BLANK}*[{HAN}{_LEFT}])|(?<=[！？])[!?]+"
    rf"|(?:(?<=[^\s.'’]\w)|(?<=[{HAN}\d] \w)|(?<=[\d%℃°′″)\]+#{MASK}]))[.!?,;:]\Z"  # not of U.S. or D. J.
)
_BEHIND, _BEFORE = f"(?<=[{HAN}{_RIGHT}])", f"(?=[{HAN}{_LEFT}])"
_SPACED: Final = f"(?:{_BLANK}+[–—]+{_BLANK}*|[–—]+{_BLANK}+)"
_DASH: Final = rf"{_BEHIND}(?:{_BLANK}*--+{_BLANK}*{_BEFORE}|{_SPACED}(?!{_BLANK}))|{_SPACED}{_BEFORE}"
_HEADING: Final = r"\W?第(?: ?\d+ ?|[〇零一二三四五六七八九十百]+)[章节節篇部卷编編回讲講课課条條]"
"""Whose blank stays: 第一章 绪论. So does that of 50， 100, which without it would be a number of thousands."""
_BLANKS: Final = (
    rf"(\A{_HEADING}{_BLANK}){_BLANK}*(?=[\w“《])|(?<=[{_BESIDE}]){_BLANK}+(?=[{_BESIDE}])"
    rf"|{_BLANK}+(?=[{_STOPS}{_RIGHT}（【《〈「『])|(?<=[{_STOPS}{_LEFT}）】》〉」』])(?!(?<=\d，){_BLANK}+\d{{3}}(?!\d)){_BLANK}+"
)
_ELLIPSIS: Final = rf"(?<=[{_BESIDE}])(?<!…)(?!{_CODE}){_BLANK}*{_DOTS}|(?<![.\w{MASK}]){_DOTS}(?=[{HAN}])|。。+"
_INSIDE: Final = r"(?<![A-Za-z\d])(?:(?<!，)\d{1,2}|\d{3})，(?=\d{3}(?!\d))|(?<=\w)（）|(?<=[A-Za-z])＆(?=[A-Za-z])"
_RULES: Final[list[tuple[str, re.Pattern[str], re.Pattern[str], Callable[[re.Match[str]], str]]]] = [
    ("full-width letter", _WIDE_LETTERS, _WIDE_LETTERS, _half),
    ("full-width sign", re.compile("[．－／＠＿：％]"), _WIDE_SIGNS, _half),
    ("full-width sign", re.compile("[，＆]|（）"), re.compile(_INSIDE, re.ASCII), _half),
    ("half-width bracket", re.compile("[(（]"), re.compile(_BRACKET), _bracket),
    # Not from inch to inch.
    ("straight quote", re.compile('"'), re.compile(r'(?<!\d)"[^"]*"|(?<=\d)"[^"]*(?<!\d)"'), _quote),
    ("straight quote", re.compile("'"), re.compile(_SINGLE), lambda found: f"‘{found[1]}’" if found[1] else found[0]),
    ("ellipsis", re.compile(r"…|\.\.|。。"), re.compile(_ELLIPSIS), lambda found: "。" if found[0] == "。。" else "……"),
    ("ellipsis", re.compile(r"…|\.\."), re.compile(rf"(?<=[\w){MASK}])(?:\.{{3}}|…)[.…]*+\Z"), lambda found: "……"),
    ("dash", re.compile("[-–—]"), re.compile(_DASH), _dash),
    ("half-width mark", re.compile("[,.!?;:]"), re.compile(_MARKS), lambda found: found[0].translate(_TO_FULL)),
    ("blank", re.compile(_BLANK), re.compile(_BLANKS), lambda found: found[1] or ""),
    ("interpunct", re.compile("[•‧・]"), re.compile(f"(?<=[{HAN}])[•‧・](?=[{HAN}])"), lambda found: "·"),
]
"""(breach, a sign that is quicker to look for, where it may be, what belongs there), in the order of mending."""
_QUOTE: Final = re.compile('["“”‘「」『』《》]')
_TO_CORNER: Final = str.maketrans("“”‘’", "「」『』")
_TO_MAINLAND: Final = str.maketrans("「」『』衞吿砲", "“”‘’卫告炮")
"""Quotes, and characters that OpenCC leaves: 衞 of Hong Kong."""
_WRITTEN: Final = re.compile(
    "(?<=[原土专巨遗拙卓编论译彰所撰])(?<![讨议谈争辩评翻][论译])着(?![落手重眼力墨色花辫])"
    f"|(?<![{HAN}])着(?=有)|着(?=有[《〈])"
)
"""Where OpenCC takes a 著 that is no particle for one: 原著, 编著, and 著有《 of a writer."""


def visual_length(text: str) -> int:
    """Columns that a terminal gives the text: two for a Chinese, Japanese or Korean character, one for any other.

    A Chinese character says about as much as half an English word, so texts in the two languages have like visual
    lengths, where words or characters have not.

    >>> visual_length("你好 world")
    10
    """
    return len(text) if text.isascii() else 2 * len(text) - len(_WIDE.sub("", text))


def shortened(text: str, width: int) -> str:
    """What of a text fits into so many columns of a terminal, ended by an ellipsis where that is not all.

    >>> shortened("你好，世界", 8), shortened("你好", 4)
    ('你好，…', '你好')
    """
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def is_traditional(text: str) -> bool:
    """True where more characters would change on the way to Simplified Chinese than on the way from it.

    >>> is_traditional("這個軟體"), is_traditional("这个软件"), is_traditional("你好")
    (True, False, False)
    """
    n_on_the_way = _n_changed(text, "t2s") if _HAN_CHARACTER.search(text) else 0
    return n_on_the_way > 0 and n_on_the_way > _n_changed(text, "s2t")


def to_simplified(text: str) -> str:
    """Simplified Chinese, quoted “so”, of Traditional (OpenCC, by phrases, 坐著 as in Taiwan: 坐着)."""
    converted = "么".join(map(_converter("tw2s"), text.split("么")))  # of which Taiwan makes 幺
    return _WRITTEN.sub("著", converted).translate(_TO_MAINLAND)


def to_traditional(text: str) -> str:
    """Traditional Chinese as written in Taiwan, quoted 「so」, of Simplified; words stay those of the mainland."""
    set_out = _converter("s2tw")(text).translate(_TO_CORNER)
    inside = re.sub(rf"(?<=[^\W\d_{HAN}])』(?=[^\W\d_{HAN}])", "’", set_out)
    return re.sub("(『[^『』]*』)|(?<=[A-Za-z])』|』(?=[A-Za-z])", lambda found: found[1] or "’", inside)


def in_script(text: str, lang: str) -> str:
    """Chinese as a language writes it (`zh-Hans`, `zh-Hant`), but for code; for other languages the text as it is."""
    convert = {"zh-Hans": to_simplified, "zh-Hant": to_traditional}.get(canonical(lang))
    if convert is None or not text:
        return text
    prose, spans = (text, []) if MASK in text else masked(text)  # a mask in it: no code is left
    return unmasked(convert(prose), spans)


def rewritten(text: str, lang: str) -> str:
    """Chinese in the script of its language, letters and digits in usual width; each character keeps its place.

    >>> rewritten("這個軟體", "zh"), rewritten("这个ＡＢＣ", "zh"), rewritten("這個軟體", "en")
    ('这个软体', '这个ABC', '這個軟體')
    """
    if base(lang) != "zh":
        return text
    text = _WIDE_SIGNS.sub(_half, _WIDE_LETTERS.sub(_half, text))
    found = text if is_traditional(text) == (canonical(lang) == "zh-Hant") else in_script(text, lang)
    return found if len(found) == len(text) else text


def in_latin(text: str) -> str:
    """Text without a Chinese character, with the marks and blanks of Latin text in place of Chinese ones.

    >>> in_latin("Windows、macOS（M1）。"), in_latin("1，000")
    ('Windows, macOS (M1).', '1,000')
    """
    blank = rf"(?<=[{_STOPS}）】])(?!(?<=\d，)\d{{3}}\b|(?<=\d：)\d\d\b)(?=[\w{_LEFT}{MASK}])|(?<=[\w{MASK}])(?=（)"
    return re.sub(blank, " ", text).translate(_TO_HALF)


def _n_changed(text: str, config: str) -> int:
    return sum(map(ne, text, _converter(config)(text)))


@once
def _converter(config: str) -> Callable[[str], str]:
    from opencc import OpenCC

    return OpenCC(config).convert


def typeset(text: str, *, pairs: bool = True, kept: Iterable[str] = ()) -> str:
    """Set Chinese text as Chinese is set; lines without a Chinese character, addresses and code stay as they are.

    Args:
        text: Any number of lines.
        pairs: Give every quote its partner, too; not for a part of a longer quotation.
        kept: What stays as it is as well, such as Yahoo!; words without signs do so anyway.

    >>> typeset('他说:"用 foo(a, b) 就行 ,大约3.5 秒"...')
    '他说：“用 foo(a, b) 就行，大约3.5 秒”……'
    """
    signed = re.compile("|".join(re.escape(term) for term in kept if not term.isalnum()) or "(?!)")
    return "\n".join(_set(line, pairs, signed) if _HAN_CHARACTER.search(line) else line for line in text.split("\n"))


def violations(text: str) -> tuple[str, ...]:
    """The breaches of the rules in a Chinese text, each named as often as it is there.

    >>> violations("你好,世界 。《书")
    ('half-width mark', 'blank', 'unpaired')
    """
    found: list[str] = []
    for line in filter(_HAN_CHARACTER.search, text.split("\n")):
        prose, _ = masked(line)
        for name, _, pattern, replace in _RULES:
            found += [name for match in pattern.finditer(prose) if replace(match) != match[0]]
        found += ["unpaired"] * (not is_paired(line))
    return tuple(found)


def is_paired(line: str) -> bool:
    """Whether every quote and title mark of a line has its partner. An apostrophe needs none."""
    return not _QUOTE.search(line) or paired(line) == line


def paired(line: str) -> str:
    """Give a quote its partner at the edge of the line; one with other quotes up to there goes, and so do title marks.

    >>> paired("他说：“好。"), paired("”好“，他说。"), paired("他说“好”了”。"), paired("《书")
    ('他说：“好。”', '“好”，他说。', '他说“好”了。', '书')
    """
    if line.count('"') % 2 and not re.search(r'\d"[^"]*\Z', line):  # neither is an inch
        before, after = line.rsplit('"', 1)
        is_opening = re.match(r"\w", after) and not re.search(r"\w\Z", before)
        line = f"{before}{'“' if is_opening else '”'}{after}"
    lonely = _lonely(line, "“", "”")
    if lonely and len(lonely) % 2 == 0 and not re.match("[^“”]*(?:[。！？…]”|”[，。；、])", line):
        line = re.sub("[“”]([^“”]*)[“”]", r"“\1”", line)  # they are the wrong way round
    for left, right in ("“”", "「」", "『』"):
        words = rf"(?=[^\w{left}{right}]*\w)[^{left}{right}]+"
        line = re.sub(rf"\A{words}{right}", rf"{left}\g<0>", line)
        line = re.sub(rf"{left}{words}\Z", rf"\g<0>{right}", line)
    line += "’" * (line.count("‘") > line.count("’"))
    dropped = {place for pair in ("“”", "「」", "『』", "《》") for place in _lonely(line, *pair)}
    return "".join(character for place, character in enumerate(line) if place not in dropped) if dropped else line


def _lonely(line: str, left: str, right: str) -> list[int]:
    """Places of the marks that have no partner."""
    found: list[int] = []
    for mark in re.finditer(f"[{left}{right}]", line):
        if mark[0] == right and found and line[found[-1]] == left:
            found.pop()
        else:
            found.append(mark.start())
    return found


def _set(line: str, pairs: bool, kept: re.Pattern[str]) -> str:
    # What one rule mends may be another's to mend, a quotation its neighbour's. Mostly one round is enough. Of hundreds
    # of quotations that touch each other some are left, for a second call: it would take as many rounds.
    for _ in range(9 + min(line.count('"'), 64)):
        usual = _WIDE_LETTERS.sub(_half, line)  # what is code may show only in usual letters
        mended, spans = masked(usual, [(*term.span(), term[0]) for term in kept.finditer(usual)])
        for _, sign, pattern, replace in _RULES:
            mended = pattern.sub(replace, mended) if sign.search(mended) else mended
        before, line = line, unmasked(paired(mended) if pairs and _QUOTE.search(mended) else mended, spans)
        if line == before:
            break
    return line
