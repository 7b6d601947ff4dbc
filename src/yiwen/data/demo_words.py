"""Words of the demo grammar in both languages: fillers, their forms, and number words.

A *filler* is what stands in a slot of a synchronous rule: forms on the English side (`books`, `bought`), forms on the
Chinese side (`书`, the measure word `本`), and labels that say which word of one side renders which of the other.

Notation, read by `words`: words are separated by spaces, `word/x` carries the label x, `~word` carries none.
Words of the two sides with the same label are linked, all with all: `in/p ~the kitchen` and `在/p 厨房 里/p`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from yiwen.text.numbers import ENGLISH

Words = tuple[tuple[str, str | None], ...]
"""Words of one side with their labels; None marks a word that has no counterpart."""

_NAMES = ENGLISH.split()
_ONES, _TENS = _NAMES[:20], ("", "ten", *_NAMES[20:])
_DIGITS = "零一二三四五六七八九"
_AGREEING = {"am": "was do have", "are": "were do have", "is": "was does has"}


@dataclass(frozen=True, slots=True, eq=False)  # one object per word: hashed by identity
class Filler:
    """One choice for a slot of a rule."""

    name: str
    """What combinations call it: an English word, the same for all forms."""
    en: Mapping[str, Words]
    """Form -> English words; the form named "" is the plain one."""
    zh: Mapping[str, Words]
    """Form -> Chinese words."""
    is_third: bool = True
    """As a subject it takes the verb's third person singular."""
    combinations: tuple[tuple[str, ...], ...] = ()
    """Combinations inside the filler, such as (three, book)."""

    @property
    def chinese(self) -> str:
        """The plain Chinese form as it is written."""
        return "".join(word for word, _ in self.zh[""])


def words(text: str, label: str | None = "") -> Words:
    """Read the notation above; words without a mark get `label`."""

    def word(token: str) -> tuple[str, str | None]:
        if token.startswith("~"):
            return token[1:], None
        plain, slash, own = token.partition("/")
        return plain, own if slash else label

    return tuple(word(token) for token in text.split())


def _plain(labelled: Words) -> str:
    return " ".join(word for word, _ in labelled)


def columns(row: str) -> list[str]:
    """A row of a word list, cut at spaces; a low line stands for a space inside a column."""
    return [column.replace("_", " ") for column in row.split()]


def made_of(rows: Iterable[str], make: Callable[..., Filler]) -> tuple[Filler, ...]:
    """A filler of each row of a word list: phrases of "tea 茶", "table_tennis 乒乓球"."""
    return tuple(make(*columns(row)) for row in rows)


def phrase(en: str, zh: str, *, combinations: tuple[tuple[str, ...], ...] = ()) -> Filler:
    """A filler with one form on each side; its name is the English text."""
    return Filler(_plain(words(en)), {"": words(en)}, {"": words(zh)}, combinations=combinations)


def adjective(en: str, more: str, zh: str) -> Filler:
    """With its comparative form, "er": tall, taller, 高; Chinese compares with the plain one."""
    return Filler(en, {"": words(en), "er": words(more)}, {"": words(zh)})


def person(en: str, zh: str, obj: str = "", poss: str = "", be: str = "is") -> Filler:
    """A subject with the forms that agree with it: be, was, do, have; and its object and possessive forms."""
    agreeing = zip(("be", "was", "do", "have"), (be, *_AGREEING[be].split()), strict=True)
    forms = {"": words(en), "obj": words(obj or en), "poss": words(poss or f"{en}'s")}
    forms |= {form: words(word, None) for form, word in agreeing}
    return Filler(_plain(words(en)), forms, {"": words(zh), "poss": (*words(zh), ("的", ""))}, be == "is")


def verb(en: str, zh: str, past: str = "", ing: str = "") -> Filler:
    """A verb with its third person, past and -ing form (irregular ones given); particles stay behind the verb."""
    head, *particles = en.split()
    stem = head if head.endswith("ee") else head.removesuffix("e")
    past = past or _y_to_i(head).removesuffix("e") + "ed"
    forms = {"": head, "s": plural(head), "past": past, "ing": ing or f"{stem}ing"}
    return Filler(en, {form: words(" ".join([word, *particles])) for form, word in forms.items()}, {"": words(zh)})


def noun(en: str, zh: str, measure: str, irregular: str = "") -> Filler:
    """A noun that is counted with a measure word: book, 书, 本 -> two books, 两本书.

    A container counts a mass: `cup/m of/m tea`, 茶, 杯 -> two cups of tea, 两杯茶. The plural is given where it is
    irregular.
    """
    is_container = "/m" in en
    label = "m" if is_container else "q"  # 杯 renders "cup"; 本 goes with the number
    many = en.split()
    head = 0 if is_container else -1  # two cups of tea, two swimming pools
    many[head] = plural(many[head].removesuffix("/m")) + ("/m" if is_container else "")
    one = words(en)
    forms = {"": one, "a": ((article(one[0][0]), None), *one), "pl": words(irregular or " ".join(many))}
    return Filler(_plain(one), forms, {"": words(zh), "m": words(measure, label)})


def plural(word: str) -> str:
    """Add -s by the rules of spelling: boxes, dictionaries, keys (verbs in the third person follow the same)."""
    stem = _y_to_i(word)
    return stem + ("es" if stem != word or word.endswith(("s", "x", "ch", "sh", "o")) else "s")


def _y_to_i(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and word[-2] not in "aeiou" else word


def article(word: str) -> str:
    """The indefinite article before an English word of this lexicon: an umbrella, a uniform."""
    return "an" if word[0] in "aeiou" and not word.startswith("uni") else "a"


@cache
def counted(count: int, thing: Filler) -> Filler:
    """`count` of a noun: 1 book -> a book, 一本书; 2 -> two books, 两本书. Its name is the noun's."""
    one = article(thing.en[""][0][0])
    amount = Filler("a", {"": ((one, "q"),)}, {"": (("一", "q"),)}) if count == 1 else number(count)
    last = amount.zh[""][-1][1]
    measure = tuple((word, last if label == "q" else label) for word, label in thing.zh["m"])
    en = (*amount.en[""], *thing.en["" if count == 1 else "pl"])
    zh = (*amount.zh[""], *measure, *thing.zh[""])
    combinations = (amount.name, thing.name), *amount.combinations
    return Filler(thing.name, {"": en}, {"": zh}, is_third=count == 1, combinations=combinations)


@cache
def number(value: int) -> Filler:
    """A quantity in words, 1 to 99,999: two hundred and thirty-seven, 二百三十七. Two alone is 两.

    Labels: k for thousands, h for hundreds, u for what is left, z for `and` where Chinese has 零 in its place.
    From twenty-one on, the words that make up the number are a combination.
    """
    en = _english(value)
    zh = (("两", "u"),) if value == 2 else _chinese(value)
    name = _plain(en)
    parts = tuple(name.replace("-", " ").split())
    return Filler(name, {"": en}, {"": zh}, value == 1, combinations=(parts,) if len(parts) > 1 else ())


def english_number(value: int) -> str:
    """English number word, 0 to 99,999: 237 -> two hundred and thirty-seven."""
    return _plain(_english(value))


def chinese_number(value: int) -> str:
    """Chinese number word, 0 to 99,999: 237 -> 二百三十七, 10,030 -> 一万零三十.

    Where both 二 and 两 are heard: 两 before a leading 千 or 万, 二 before 百 and before a 千 that follows 万
    (两万二千二百), as Lü Shuxiang's *Xiandai Hanyu Babai Ci* recommends.
    """
    return "".join(word for word, _ in _chinese(value))


def _english(value: int) -> Words:
    rest = value % 100
    result: list[tuple[str, str | None]] = []
    for n, unit, label in ((value // 1000, "thousand", "k"), (value // 100 % 10, "hundred", "h")):
        if n:
            result += [(_english_below_100(n), label), (unit, label)]
    if result and rest:
        result.append(("and", "z"))
    if rest or not result:
        result.append((_english_below_100(rest), "u"))
    return tuple(result)


def _english_below_100(value: int) -> str:
    tens, ones = divmod(value, 10)
    if tens < 2:
        return _ONES[value]
    return _TENS[tens] if ones == 0 else f"{_TENS[tens]}-{_ONES[ones]}"


def _chinese(value: int) -> Words:
    rest, hundreds = value % 100, value // 100 % 10
    result: list[tuple[str, str | None]] = []
    for n, unit, label in ((value // 10000, "万", "k"), (value // 1000 % 10, "千", "k"), (hundreds, "百", "h")):
        if n:
            if unit == "百" and result and result[-1][0].endswith("万"):
                result.append(("零", None))
            digit = "两" if n == 2 and unit != "百" and not result else _DIGITS[n]
            result.append((digit + unit, label))
    if rest or not result:
        if result and (rest < 10 or not hundreds):
            result.append(("零", "z"))
        result.append((_chinese_below_100(rest, leading=not result), "u"))
    return tuple(result)


def _chinese_below_100(value: int, *, leading: bool) -> str:
    tens, ones = divmod(value, 10)
    if tens == 0:
        return _DIGITS[ones]
    text = "十" if tens == 1 and leading else _DIGITS[tens] + "十"
    return text + (_DIGITS[ones] if ones else "")
